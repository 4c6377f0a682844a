"""Builds `acked-slim`, the same sources without the heavy engines, as a wheel and a source archive.

    python tools/archives/slim.py dist

An extra can only add, so this is a distribution of its own: pyproject.toml with another name and fewer dependencies, as
`[tool.acked.slim]` there says, given to the same backend. It needs hatchling and tomlkit, and nothing of acked.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import tomlkit
from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).resolve().parents[2]


def slim_pyproject(text: str) -> str:
    """The pyproject.toml of the slim distribution, from that of the whole one."""
    document = tomlkit.parse(text).unwrap()
    project, chosen = document["project"], document["tool"]["acked"]["slim"]
    needed = {_name(item): item for item in project["dependencies"]}
    if unknown := sorted({*chosen["left-out"]} - {*needed}):
        raise SystemExit(f"slim: acked does not need {', '.join(unknown)}; correct left-out of [tool.acked.slim]")
    engines = [needed.pop(name) for name in chosen["left-out"]]
    project |= {"name": "acked-slim", "dependencies": [*needed.values(), *chosen["added"]]}
    extras = project["optional-dependencies"]
    project["optional-dependencies"] = {"engines": engines, **{name: extras[name] for name in ("cluster", "mcp", "watch")}}
    return tomlkit.dumps(document)


def build(target: Path) -> None:
    """Writes both archives into a folder."""
    with TemporaryDirectory() as name:
        for entry in ROOT.iterdir():
            if not entry.name.startswith(".") and entry.name != "pyproject.toml":
                (Path(name) / entry.name).symlink_to(entry)
        text = (ROOT / "pyproject.toml").read_text("utf-8")
        (Path(name) / "pyproject.toml").write_text(slim_pyproject(text), "utf-8")
        os.chdir(name)
        print(build_wheel(str(target)), build_sdist(str(target)), sep="\n")
        os.chdir(ROOT)


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    build(Path(sys.argv[1]).absolute())
