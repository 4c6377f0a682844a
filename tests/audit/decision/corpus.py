"""The corpus of files in the formats that people have, each with what it is expected to be read as beside it.

`kafka.yaml.expected` has a line for every setting, `LINE WHOSE NAME KEY = VALUE` with `-` for what the file does not say, or
the one line `refused CODE: SENTENCE`, in which FILE stands for the path.
"""

from __future__ import annotations

from pathlib import Path

from acked.audit.decision.gather import Given, gather
from acked.audit.formats.read import read_all
from acked.base.errors import AckedError
from acked.cluster.vocabulary.entry import SettingEntry
from tests.places import DATA

CORPUS = DATA / "audit" / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.suffix != ".expected")
TRAPS = [path for path in FILES if path.parent.name == "traps"]


def name_of(path: Path) -> str:
    """`compose/map.yml`."""
    return path.relative_to(CORPUS).as_posix()


def expected(path: Path) -> str:
    """What the file beside it says."""
    return path.with_name(f"{path.name}.expected").read_text("utf-8")


def shown(entry: SettingEntry) -> str:
    """A setting as the files of expectations have it."""
    scope = "-" if entry.scope is None else entry.scope.value.replace(" ", "-")
    return f"{entry.line} {scope} {entry.entity or '-'} {entry.key} = {entry.value}"


def reading(path: Path) -> str:
    """What a file is read as, in that form."""
    try:
        entries = read_all([path])
        gather(entries)
    except AckedError as error:
        return f"refused {error.exit_code}: {str(error).replace(str(path), 'FILE')}\n"
    return "".join(f"{shown(entry)}\n" for entry in entries)


def understood(path: Path) -> Given | None:
    """The settings of a file that count; None if it is refused."""
    try:
        return gather(read_all([path]))
    except AckedError:
        return None
