"""Which releases of Kafka keep which promises: the table in the terminal, as JSON, and as the page that docs keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template

from acked.audit.releases.table import FaultClass, Kept, Release, ReleaseCell, ReleaseVerdict
from acked.reports import units
from acked.reports.console import Console, put, put_paragraph
from acked.reports.table import Mark, Table, TableCell, print_table, table, table_markdown

_LOOK = {
    ReleaseVerdict.PROVED: ("green", Mark.GOOD),
    ReleaseVerdict.REFUTED: ("bold red", Mark.BAD),
    ReleaseVerdict.OPEN: ("bold yellow", Mark.OPEN),
    ReleaseVerdict.NOT_ASKED: ("dim", Mark.NONE),
}
_SHORT = {
    FaultClass.CLEAN: "clean crashes",
    FaultClass.OUTSIDE: "log lost outside the ISR",
    FaultClass.SESSIONS: "sessions lost",
    FaultClass.MOVES: "leadership moves",
    FaultClass.MACHINE: "one machine dies",
}
_MOST_NAMED = 6
"""Missing obligations that are named; the rest is counted."""


def print_releases(console: Console, cells: Sequence[ReleaseCell], total_seconds: float) -> None:
    """A table for each promise, and under it what refutes it and what is missing."""
    for promise in Kept:
        put_paragraph(console, promise.value, "bold underline")
        print_table(console, verdicts_table(cells, promise))
        put(console, [])
        for line in _notes(cells, promise):
            put_paragraph(console, line, "", "  ", "      ")
        put(console, [])
    put_paragraph(console, f"{units.duration(total_seconds)} in all", "dim")


def releases_document(cells: Sequence[ReleaseCell], total_seconds: float) -> dict[str, object]:
    """The document of `prove releases`; `steps` counts those of the shortest trace that the search of the spec found."""
    return {
        "method": "induction for all constants, and explicit search of specs under the release's rules",
        "cells": [
            {
                "version": item.release[0],
                "control_plane": item.release[1],
                "faults": item.faults.value,
                "promise": item.promise.value,
                "properties": list(item.promise.goals),
                "verdict": item.verdict.value,
                "obligations": item.obligations,
                "missing": list(item.missing),
                "broken": list(item.broken),
                "refutation": _refutation(item),
            }
            for item in cells
        ],
        "total_seconds": total_seconds,
    }


def releases_markdown(cells: Sequence[ReleaseCell], command: str) -> Iterator[str]:
    """The lines of the page that docs keep; `command` is what writes it."""
    faults = "\n".join(f"- *{_SHORT[fault]}*: {fault.value}" for fault in dict.fromkeys(item.faults for item in cells))
    is_open = any(item.verdict is ReleaseVerdict.NOT_ASKED for item in cells)
    not_asked = "\n“Not asked”: the run that wrote this page was ended before; nothing is claimed." if is_open else ""
    how = "and goes on where it was interrupted"
    if "--no-cache" in command.split():
        how = "in one run that asked everything. Without `--no-cache` it goes on where it was interrupted"
    page = Template(files("acked.reports").joinpath("web", "releases.txt").read_text("utf-8"))
    yield from page.substitute(faults=faults, not_asked=not_asked, command=command, how=how).splitlines()
    for promise in Kept:
        yield ""
        yield f"## {promise.value.capitalize()}"
        yield ""
        yield f"{', '.join(promise.goals)}."
        yield ""
        yield from table_markdown(verdicts_table(cells, promise))
        notes = list(_notes(cells, promise, code=True))
        if notes:
            yield ""
            yield from (f"- {line}" for line in notes)


def verdicts_table(cells: Sequence[ReleaseCell], promise: Kept) -> Table:
    """A row per release and control plane, a column for what may go wrong."""
    mine = [item for item in cells if item.promise is promise]
    faults = list(dict.fromkeys(item.faults for item in mine))
    rows = []
    for release in dict.fromkeys(item.release for item in mine):
        found = {item.faults: item for item in mine if item.release == release}
        row: list[str | TableCell] = [*release, *(_cell(found[fault]) for fault in faults)]
        rows.append(row)
    return table(("release", "control plane", *(_SHORT[fault] for fault in faults)), rows)


def _cell(item: ReleaseCell) -> TableCell:
    style, mark = _LOOK[item.verdict]
    steps = f", {units.plural(item.refutation.steps, 'step')}" if item.refutation is not None else ""
    return TableCell(f"{item.verdict.value}{steps}", style, mark)


def _notes(cells: Sequence[ReleaseCell], promise: Kept, code: bool = False) -> Iterator[str]:
    """What refutes the promise, a line for each question; then what is missing, alike cells together."""
    mine = [item for item in cells if item.promise is promise]
    quote = "`" if code else ""
    refuting: dict[str, list[ReleaseCell]] = {}
    for item in mine:
        if item.refutation is not None:
            refuting.setdefault(item.refutation.command, []).append(item)
    for command, items in refuting.items():
        found = items[0].refutation
        assert found is not None
        columns = ", ".join(_SHORT[item.faults] for item in items)
        steps = units.plural(found.steps, "step")
        yield f"{_name_of(items[0].release)}, {columns}: {quote}{command}{quote} violates {found.violated} in {steps}"
    missing: dict[tuple[FaultClass, tuple[str, ...]], list[Release]] = {}
    for item in mine:
        if item.verdict is ReleaseVerdict.OPEN:
            named = tuple(f"{name} (a step breaks it)" if name in item.broken else name for name in item.missing)
            missing.setdefault((item.faults, named), []).append(item.release)
    for (fault, obligations), releases in missing.items():
        text = "; ".join(obligations[:_MOST_NAMED])
        more = len(obligations) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        yield f"{', '.join(map(_name_of, releases))}, {_SHORT[fault]}: open, because there is no proof of {text}{rest}"


def _name_of(release: Release) -> str:
    return " ".join(release)


def _refutation(item: ReleaseCell) -> dict[str, object] | None:
    found = item.refutation
    if found is None:
        return None
    return {"spec": found.spec, "command": found.command, "property": found.violated, "steps": found.steps}
