"""The command `matrix`: the durability table."""

from __future__ import annotations

import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from acked.audit.decision.durability import DurabilityTable, Filled, fill, read_table, set_axis
from acked.audit.decision.fault_words import CRASHES, names_of
from acked.audit.reports.durability import (
    cell_rows,
    durability_document,
    durability_page,
    print_durability,
    rows_csv,
    story_pages,
    write_parquet,
)
from acked.base.errors import ConfigurationError, ExitCode, SystemFailure
from acked.base.files import check_writable, write_text
from acked.base.frozen import frozen
from acked.checker.batch.outcome import Task
from acked.checker.spec.resolve import property_named
from acked.invariants.property import Property
from acked.model.partition.protocol import partition
from acked.reports.shell.batches import BatchOptions, searches_many_anywhere
from acked.reports.shell.completion import completions_in_list
from acked.reports.shell.options import collects, option, shows
from acked.reports.shell.output import Output, make_folder

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MAX_VALUES = 1000
"""Values of one range on the command line."""


@frozen
class AxisValues:
    """The values of each axis as the command line writes them; None for what FILE or the default says."""

    version: str | None
    acks: str | None
    min_insync_replicas: str | None
    replicas: str | None
    unclean_election: str | None
    crashes: str | None

    def put_into(self, table: DurabilityTable) -> DurabilityTable:
        """The table with these axes."""
        for field in fields(self):
            text = getattr(self, field.name)
            if text is not None:
                table = replace(table, axes=set_axis(table.axes, field.name, _values(field.name, text)))
        return table


@frozen
class CellSearch:
    """What is asked in every cell, and within which bounds; None for what FILE or the default says."""

    property: str | None
    log_size: int | None
    records: int | None
    max_states: int | None

    def put_into(self, table: DurabilityTable) -> DurabilityTable:
        """The table with this question."""
        return replace(table, **{name: value for name, value in vars(self).items() if value})


@frozen
class TableFiles:
    """What is written besides stdout."""

    html: Path | None
    stories: Path | None
    csv: Path | None
    parquet: Path | None

    def check(self) -> None:
        """Fails before long work if one of them cannot be written."""
        for path, what in ((self.html, "page"), (self.csv, "CSV file"), (self.parquet, "Parquet file")):
            check_writable(path, what)
        if self.parquet is not None:
            import pyarrow  # noqa: F401  # Missed now, and not once the table is filled.
        if self.stories is not None and self.html is None:
            raise ConfigurationError("--stories writes the pages that the table's page links to; name that page with --html")

    def write(self, filled: Filled, property: str, rows: list[dict[str, Any]]) -> None:
        """Writes those that are named; `rows` are the cells of CSV and Parquet."""
        if self.html is not None:
            asked = property_named(partition, property)
            pages = {} if self.stories is None else _write_stories(self.stories, self.html, filled, asked)
            write_text(self.html, durability_page(filled, asked, pages), "page")
        if self.csv is not None:
            write_text(self.csv, rows_csv(rows), "CSV file")
        if self.parquet is not None:
            try:
                write_parquet(rows, self.parquet)
            except OSError as error:
                reason = error.strerror or error
                raise SystemFailure(f"cannot write the Parquet file to {self.parquet}: {reason}") from None


def _complete_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from acked.model.partition.rules.versions import VERSIONS

    return completions_in_list(VERSIONS, incomplete)


_chooses_axes = collects(
    "axes",
    AxisValues,
    version=option("--version", "--kafka-version", metavar="V,…", shell_complete=_complete_releases,
                   help="Releases, e.g. 0.10,2.8 or 3.9:zookeeper."),
    acks=option("--acks", metavar="A,…", help="0, 1, all."),
    min_insync_replicas=option("--min-isr", metavar="N,…", help="min.insync.replicas, e.g. 1,2 or 1-3."),
    replicas=option("--replicas", metavar="N,…", help="Replicas, e.g. 3 or 2-3."),
    unclean_election=option("--unclean", metavar="S,…", help="Unclean leader election: off, on."),
    crashes=option("--crashes", metavar="K,…", help=f"{names_of(CRASHES)}."),
)
_asks_cells = collects(
    "cell",
    CellSearch,
    property=option("--property", metavar="P", help="The property to check; default: AckedRecordsSurvive."),
    log_size=option("--log-size", type=click.IntRange(1), help="Offsets in a log; default 1."),
    records=option("--records", type=click.IntRange(1), help="Records; default 2."),
    max_states=option("--max-states", type=click.IntRange(1),
                      help="Leave a cell undecided once its search knows more distinct states."),
)  # fmt: skip
_writes_files = collects(
    "files",
    TableFiles,
    html=option("--html", type=click.Path(path_type=Path), metavar="FILE",
                help="Write the table as a page; a click on a cell shows its counterexample."),
    stories=option("--stories", type=click.Path(path_type=Path), metavar="DIR",
                   help="With --html: write a viewer page for every counterexample."),
    csv=option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells as CSV."),
    parquet=option("--parquet", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells as Parquet."),
)  # fmt: skip


@click.command(short_help="Table of Kafka releases and settings: where can acknowledged records be lost?")
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path))
@_chooses_axes
@_asks_cells
@searches_many_anywhere
@_writes_files
@shows
def matrix(
    file: Path | None, axes: AxisValues, cell: CellSearch, batch: BatchOptions, files: TableFiles, output: Output
) -> int:
    """The durability table: releases, acks, min.insync.replicas, replicas, unclean leader election, kinds of crashes.

    Every cell is decided by its own exhaustive search of `partition`; one that met a bound is undecided, never safe. FILE
    is TOML: property = "…", [axes] with a list for each axis (version, acks, min_insync_replicas, replicas,
    unclean_election, crashes), [bounds] with log_size, records, max_states. Options override it.

    \b
    acked audit matrix --kafka-version 2.8,3.9 --acks 1,all --min-isr 1,2 --replicas 3 --crashes clean

    Exit codes: 0 if every cell is decided, whatever the answers are, 152 if one is not.
    """
    table = cell.put_into(axes.put_into(DurabilityTable() if file is None else read_table(file)))
    files.check()
    cache = batch.cache()
    with output.batch_progress("cells") as progress:
        filled = fill(table, batch.runner(), cache, progress)
    has_rows = files.csv is not None or files.parquet is not None or output.is_json
    rows = cell_rows(filled) if has_rows else []
    files.write(filled, table.property, rows)
    output.emit(lambda: durability_document(filled, rows), lambda console: print_durability(console, filled))
    return int(ExitCode.HOLDS if filled.is_decided else ExitCode.TOO_LARGE)


def _write_stories(folder: Path, page: Path, filled: Filled, property: Property) -> dict[Task, str]:
    """Writes the page of every counterexample; their addresses relative to the table's page."""
    make_folder(folder)
    where = os.path.relpath(folder.resolve(), page.resolve().parent)
    addresses = {}
    for task, name, text in story_pages(filled, property):
        write_text(folder / name, text, "page")
        addresses[task] = quote(Path(where, name).as_posix())
    return addresses


def _values(name: str, text: str) -> list[str]:
    """`1,3` and, of numbers, `1-3`."""
    values: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        span = re.fullmatch(r"(\d{1,4})-(\d{1,4})", part)
        if span is None:
            values.append(part)
            continue
        first, last = int(span[1]), int(span[2])
        if last < first or last - first > MAX_VALUES:
            raise ConfigurationError(f"axis {name}: {part} is not a range; use e.g. 1-3")
        values += map(str, range(first, last + 1))
    return values
