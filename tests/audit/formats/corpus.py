"""The corpus of files in the formats that people have, each with what it is expected to be read as beside it.

`kafka.yaml.expected` has a line for every setting, `LINE WHOSE NAME@CLUSTER KEY = VALUE` with `-` for what the file does not
say and no `@CLUSTER` where it names none, or the one line `refused CODE: SENTENCE`, in which FILE stands for the path.
"""

from __future__ import annotations

from pathlib import Path

from acked.audit.clusters.units import groups_of_units, units_of
from acked.audit.decision.gather import Given, recognise
from acked.audit.formats.reading import read_all
from acked.base.errors import AckedError
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.note import (
    Assigned,
    Controllers,
    Described,
    Fact,
    Imported,
    Listed,
    Nodes,
    Noticed,
    Read,
    Unreleased,
)
from tests.audit.reading import gather
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


def shown(one: Read) -> str:
    """A setting, or a note, as the files of expectations have it."""
    scope = "-" if one.scope is None else one.scope.value.replace(" ", "-")
    said = f"{one.key} = {one.value}" if isinstance(one, SettingEntry) else noted(one.fact, one.entity)
    cluster = f"@{one.cluster}" if one.cluster else ""
    return f"{one.line} {scope} {one.entity or '-'}{cluster} {said}"


def noted(fact: Fact, entity: str | None) -> str:
    """A fact that is no setting, as the files of expectations have it."""
    match fact:
        case Described():
            return f"is described = {entity or ''}"
        case Listed():
            return f"is listed = {entity}"
        case Nodes(count):
            return f"brokers = {count}"
        case Controllers(count):
            return f"controllers = {count}"
        case Unreleased(image):
            return f"image without release = {image}"
        case Imported(other):
            return f"imported file = {other}"
        case Noticed(_, words):
            return f"replicas in sync now = {words}"
        case Assigned(_, partition, replicas):
            return f"replicas now = {partition} {','.join(map(str, replicas))}"
    raise AssertionError(fact)


def reading(path: Path) -> str:
    """What a file is read as, in that form."""
    try:
        entries = read_all([path])
        units = units_of(recognise(entries))
        if len(units) > 1 or path.parent.name == "clients":  # Of several topics each is a group.
            groups_of_units(units)
        else:
            gather(entries)
    except AckedError as error:
        return f"refused {error.exit_code}: {str(error).replace(str(path), 'FILE')}\n"
    return "".join(f"{shown(entry)}\n" for entry in entries)


def understood(path: Path) -> Given | None:
    """The settings of a file that count; None if it is refused, or several clusters are described."""
    try:
        entries = read_all([path])
        return None if len(units_of(recognise(entries))) > 1 else gather(entries)
    except AckedError:
        return None
