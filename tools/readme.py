"""README as an index of packages shows it, with links that work there; hatchling calls this when it builds.

A link to a file of the repository becomes an address below `Source` of `[project.urls]`. Where that is not set, nobody can
say where the file is: the link becomes its text, and a picture is left out, so that nothing on the page is broken.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.site import with_links  # noqa: E402


def long_description(readme: str, source: str | None) -> str:
    """README for readers who do not have the repository before them, but perhaps its address."""

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        if ":" in target or target.startswith("#"):
            return match[0]
        if source is None:
            return "" if match["bang"] else match["text"]
        kind = "raw" if match["bang"] else "blob"
        return f"{match['bang']}[{match['text']}]({source.rstrip('/')}/{kind}/HEAD/{target})"

    return with_links(readme, link)


class CustomMetadataHook(MetadataHookInterface):
    """Gives the package its long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets `readme`, which pyproject.toml declares as dynamic."""
        readme = (ROOT / "README.md").read_text("utf-8")
        text = long_description(readme, metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
