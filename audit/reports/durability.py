"""The durability table: in the terminal, as plain rows for files, and as a page whose cells open their traces.

What a cell says in words, the terminal's layout, CSV, Parquet, JSON, HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from acked.audit.decision.durability import DurabilityCell, Filled, Place, State
from acked.base.optional import optional_packages
from acked.checker.batch.outcome import Task
from acked.checker.question.result import Counterexample
from acked.invariants.property import Property
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import csv_text
from acked.reports.pages.page import render, render_report, trace_data
from acked.reports.runs.sentences import sentences_of
from acked.reports.table import Mark, Table, TableCell, print_table, table
from acked.reports.units import plural

_STYLES = {State.KEEPS: "bold green", State.BREAKS: "bold red", State.UNWRITABLE: "dim", State.UNDECIDED: "bold yellow"}

_MARKS = {State.KEEPS: Mark.GOOD, State.BREAKS: Mark.BAD, State.UNWRITABLE: Mark.NONE, State.UNDECIDED: Mark.OPEN}

FORMAT = "acked-durability/1"


def cell_in_words(cell: DurabilityCell) -> str:
    """`keeps`, `breaks in 4 steps`, `unwritable`, `undecided`."""
    if cell.story is not None:
        return f"breaks in {plural(cell.story.trace_length - 1, 'step')}"
    return cell.state.value


def detail(cell: DurabilityCell) -> str:
    """What a cell's answer stands on: bounds, and how much was seen."""
    constants, outcome = dict(cell.task.asked.constants), cell.outcome
    sizes = ", ".join(plural(constants[name], word) for name, word in
                      (("replicas", "broker"), ("log_size", "offset"), ("records", "record")))  # fmt: skip
    bounds = f"{sizes}, unbounded leader epochs; {cell.place.crashes.words}"
    if outcome is None:
        return f"{cell.failure} ({bounds})"
    seen = f"{plural(outcome.distinct_states, 'distinct state')}, {plural(outcome.depth, 'level')}"
    if cell.state is State.UNDECIDED:
        return f"undecided: {outcome.stopped.value} after {seen} ({bounds})"
    if cell.state is State.BREAKS:
        return f"the shortest counterexample; {seen} seen before ({bounds})"
    if cell.state is State.UNWRITABLE:
        return f"no record is ever accepted, so none is lost; every reachable state was seen: {seen} ({bounds})"
    return f"every reachable state was seen: {seen} ({bounds})"


def row_title(place: Place) -> str:
    """A row's place, without the axis that makes the columns."""
    unclean = "on" if place.unclean_election else "off"
    in_sync = f"{place.min_insync_replicas} of {place.replicas}"
    return f"{place.version}, acks {place.acks}, min.insync {in_sync}, unclean {unclean}"


def rows_of(filled: Filled) -> list[list[DurabilityCell]]:
    """The cells by row; the columns are the kinds of crashes."""
    width = len(filled.table.axes.crashes)
    return [list(filled.cells[at : at + width]) for at in range(0, len(filled.cells), width)]


def summary(filled: Filled) -> str:
    """How many cells say what."""
    found = Counter(cell.state for cell in filled.cells)
    parts = [f"{found[state]} {state.value}" for state in State if found[state]]
    return f"{plural(len(filled.cells), 'cell')}: {', '.join(parts)}"


def print_durability(console: Console, filled: Filled) -> None:
    """The table: a row a configuration, a column a kind of crashes."""
    asked = filled.table
    put_paragraph(console, f"{asked.property}: {plural(asked.log_size, 'offset')}, {plural(asked.records, 'record')}", "bold")
    put(console, [])
    print_table(console, durability_table(filled))
    put(console, [])
    put_paragraph(console, summary(filled), "bold")
    for kind in asked.axes.crashes:
        put_paragraph(console, kind.words, "dim", f"  {kind.value:<12}", " " * 14)
    states = {cell.state for cell in filled.cells}
    if State.UNWRITABLE in states:
        put_paragraph(console, "no record is ever accepted, so none is lost", "dim", "  unwritable  ", " " * 14)
    if State.UNDECIDED in states:
        text = "a bound was reached before every state was seen: not known to be safe"
        put_paragraph(console, text, "yellow", "  undecided   ", " " * 14)
    for warning in filled.warnings:
        put_paragraph(console, f"note: {warning}", "dim")


def durability_table(filled: Filled) -> Table:
    """A row a configuration, a column a kind of crashes."""
    rows = [[TableCell(row_title(row[0].place)), *map(_cell, row)] for row in rows_of(filled)]
    return table(("release and settings", *(kind.value for kind in filled.table.axes.crashes)), rows)


def _cell(cell: DurabilityCell) -> TableCell:
    text = plural(cell.story.trace_length - 1, "step") if cell.story is not None else cell.state.value
    return TableCell(text, _STYLES[cell.state], _MARKS[cell.state])


# -- files --------------------------------------------------------------------------------------------------------------


def cell_rows(filled: Filled) -> list[dict[str, object]]:
    """A row a cell, under the axes' names; `steps` is null where nothing is broken, `story` empty."""
    stories = Stories()
    return [
        {
            "version": cell.place.release,
            "control_plane": cell.place.plane,
            "acks": cell.place.acks,
            "min_insync_replicas": cell.place.min_insync_replicas,
            "replicas": cell.place.replicas,
            "unclean_election": cell.place.unclean_election,
            "crashes": cell.place.crashes.value,
            "property": filled.table.property,
            "answer": cell.state.value,
            "steps": None if cell.story is None else cell.story.trace_length - 1,
            "distinct_states": None if cell.outcome is None else cell.outcome.distinct_states,
            "log_size": filled.table.log_size,
            "records": filled.table.records,
            "detail": detail(cell),
            "story": "\n".join(stories.sentences(cell)),
        }
        for cell in filled.cells
    ]


class Stories:
    """The stories of cells, whose last sentence says what is violated; each is made once."""

    def __init__(self) -> None:
        self._made: dict[Task, tuple[str, ...]] = {}

    def sentences(self, cell: DurabilityCell) -> tuple[str, ...]:
        """A sentence for each step and one for the end; none where nothing is broken."""
        if cell.story is None:
            return ()
        if cell.task not in self._made:
            run = sentences_of(cell.task, cell.story)
            self._made[cell.task] = (*run.steps, run.happened)
        return self._made[cell.task]


def rows_csv(rows: list[dict[str, object]]) -> str:
    """The rows with a line of names."""
    return csv_text(list(rows[0]), [list(row.values()) for row in rows])


def write_parquet(rows: list[dict[str, object]], path: Path) -> None:
    """The rows as a Parquet file, under its name only when it is whole."""
    with optional_packages():
        import pyarrow as pa
        import pyarrow.parquet as pq

    whole = pa.int64()
    types = {"min_insync_replicas": whole, "replicas": whole, "unclean_election": pa.bool_(), "steps": whole,
             "distinct_states": whole, "log_size": whole, "records": whole}  # fmt: skip
    schema = pa.schema([(name, types.get(name, pa.string())) for name in rows[0]])
    temporary = path.with_name(f".{path.name}.part")
    try:
        pq.write_table(pa.Table.from_pylist(rows, schema), temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def durability_document(filled: Filled, rows: list[dict[str, object]]) -> dict[str, object]:
    """The table as JSON."""
    return {
        "format": FORMAT,
        "property": filled.table.property,
        "is_decided": filled.is_decided,
        "cells": rows,
        "warnings": list(filled.warnings),
    }


# -- the page, and the pages of traces ----------------------------------------------------------------------------------


def story_pages(filled: Filled, promise: Property) -> Iterator[tuple[Task, str, str]]:
    """For every story its task, a file name, and the viewer's page; cells with the same search share one."""
    seen: dict[Task, str] = {}
    for cell in filled.cells:
        if cell.story is None or cell.task in seen:
            continue
        place = cell.place
        unclean = "unclean" if place.unclean_election else "clean"
        seen[cell.task] = (
            f"{place.version}-acks-{place.acks}-min-{place.min_insync_replicas}-of-{place.replicas}-{unclean}-"
            f"{place.crashes.value}.html"
        ).replace(" ", "-").replace(":", "-")
        title = f"{promise.name} with {row_title(place)}, {place.crashes.value} crashes"
        question = cell.task.question()
        data = trace_data(Counterexample(title, question, cell.story.run(question), promise))
        yield cell.task, seen[cell.task], render(data, packed=True)


def durability_page(filled: Filled, promise: Property, pages: Mapping[Task, str] | None = None) -> str:
    """The page; it needs no script and no network. `pages` are the addresses of the stories' pages, if there are any."""
    stories = Stories()
    rows = [
        {
            "place": row[0].place,
            "cells": [
                {
                    "state": cell.state.value,
                    "words": cell_in_words(cell),
                    "detail": detail(cell),
                    "story": stories.sentences(cell),
                    "page": (pages or {}).get(cell.task),
                }
                for cell in row
            ],
        }
        for row in rows_of(filled)
    ]
    data = {
        "property": promise.name,
        "promise": promise.promise,
        "kinds": filled.table.axes.crashes,
        "rows": rows,
        "summary": summary(filled),
    }
    return render_report("durability.html.j2", data)
