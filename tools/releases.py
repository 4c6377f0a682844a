"""What docs/releases.md is made of: the answers of `acked prove --releases`, in docs/releases.json.

    acked prove --releases --format json --jobs 1 --timeout 120 > docs/releases.json

`tools/made.py` puts the tables there. Of the document only `cells` are read.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.audit.releases.report import releases_markdown, verdicts_table  # noqa: E402
from acked.audit.releases.table import FaultClass, Kept, Refutation, ReleaseCell, ReleaseVerdict  # noqa: E402
from acked.reports.table import table_markdown  # noqa: E402

ANSWERS = ROOT / "docs" / "releases.json"


def cells() -> list[ReleaseCell]:
    """Every answer of the file."""
    return [_cell(told) for told in json.loads(ANSWERS.read_text("utf-8"))["cells"]]


def _cell(told: dict[str, Any]) -> ReleaseCell:
    release, refuted = (told["version"], told["control_plane"]), told.get("refutation")
    refutation = None
    if refuted is not None:
        options = shlex.split(refuted["command"])
        changes = dict(options[at + 1].split("=") for at, word in enumerate(options) if word == "-c")
        refutation = Refutation(refuted["spec"], release, changes, refuted["property"], refuted["steps"])
    asked = release, FaultClass(told["faults"]), Kept(told["promise"])
    missing, broken = (tuple(told.get(key, ())) for key in ("missing", "broken"))
    return ReleaseCell(*asked, ReleaseVerdict(told["verdict"]), told.get("obligations", 0), missing, broken, refutation)


def part() -> Iterator[str]:
    """The tables of all promises, with what refutes them and what is missing."""
    lines = list(releases_markdown(cells(), ""))
    yield from lines[next(at for at, line in enumerate(lines) if line.startswith("## ")) :]


def kept() -> list[str]:
    """The table of the first promise, as git keeps it."""
    return table_markdown(verdicts_table(cells(), Kept.ACKED))
