"""The command `matrix`: the durability table."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from acked.asking.engines import batch_runner
from acked.asking.options import MemorySize
from acked.checker.errors import ConfigurationError, ExitCode, SystemFailure
from acked.checker.files import check_writable, write_text

if TYPE_CHECKING:
    from acked.checker.audit.durability import Filled
    from acked.checker.batch.outcome import Task
    from acked.invariants.property import Property

MOST_VALUES = 1000


@click.command(short_help="The durability table: settings, releases, crashes.")
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path))
@click.option("--version", "version", metavar="V,…", help="Releases, such as 0.10,2.8 or 3.9:zookeeper.")
@click.option("--acks", metavar="A,…", help="0, 1, all.")
@click.option("--min-isr", "min_insync_replicas", metavar="N,…", help="min.insync.replicas, such as 1,2 or 1-3.")
@click.option("--replicas", metavar="N,…", help="Replicas, such as 3 or 2-3.")
@click.option("--unclean", "unclean_election", metavar="S,…", help="Unclean election: off, on.")
@click.option("--crashes", metavar="K,…", help="none, clean, outside-isr, one-machine, one-lossy, lossy.")
@click.option("--property", "property_", metavar="P", help="What is asked; default: AckedRecordsSurvive.")
@click.option("--log-size", type=click.IntRange(1), help="Offsets in a log; default 1.")
@click.option("--records", type=click.IntRange(1), help="Records; default 2.")
@click.option("--max-states", type=click.IntRange(1), help="Leave a cell undecided after so many distinct states.")
@click.option("--memory", type=MemorySize(), help="Bytes for the states of each search, e.g. 2GB.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Searches at a time; default: one per core.")
@click.option("--master", help="Search in tasks of this Spark, such as local[2] or spark://HOST:PORT.")
@click.option("--cache/--no-cache", "use_cache", default=True, help="Take answers found before: an interrupted run goes on.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the table as a page, whose cells open their stories.")
@click.option("--stories", type=click.Path(path_type=Path), metavar="DIR", help="With --html: viewer pages of all stories.")
@click.option("--csv", "csv_", type=click.Path(path_type=Path), help="Write the cells as CSV.")
@click.option("--parquet", type=click.Path(path_type=Path), help="Write the cells as Parquet.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="On stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def matrix(
    file: Path | None,
    version: str | None,
    acks: str | None,
    min_insync_replicas: str | None,
    replicas: str | None,
    unclean_election: str | None,
    crashes: str | None,
    property_: str | None,
    log_size: int | None,
    records: int | None,
    max_states: int | None,
    memory: int | None,
    jobs: int | None,
    master: str | None,
    use_cache: bool,
    html: Path | None,
    stories: Path | None,
    csv_: Path | None,
    parquet: Path | None,
    form: str,
    quiet: bool,
) -> int:
    """The durability table: releases, acks, min.insync.replicas, replicas, unclean election, kinds of crashes.

    Every cell is decided by its own exhaustive search of `partition`; one that met a bound is undecided, never safe. FILE
    is TOML: property = "…", [axes] with a list for each axis (version, acks, min_insync_replicas, replicas,
    unclean_election, crashes), [bounds] with log_size, records, max_states. Options override it.

    Exit codes: 0 if every cell is decided, whatever it says, 152 if one is not.
    """
    from acked.checker.audit.durability import Table, fill, read_table, with_axis
    from acked.commands.gate import result_cache
    from acked.reports.audit.durability import as_document, as_rows, print_durability

    table = Table() if file is None else read_table(file)
    given = {"version": version, "acks": acks, "min_insync_replicas": min_insync_replicas, "replicas": replicas,
             "unclean_election": unclean_election, "crashes": crashes}  # fmt: skip
    for name, text in given.items():
        if text is not None:
            table = replace(table, axes=with_axis(table.axes, name, _values(name, text)))
    table = replace(
        table,
        property=property_ or table.property,
        log_size=log_size or table.log_size,
        records=records or table.records,
        max_states=max_states or table.max_states,
    )
    for path, what in ((html, "page"), (csv_, "CSV file"), (parquet, "Parquet file")):
        if path is not None:
            check_writable(path, what)
    if parquet is not None:
        from acked.checker.optional import optional_packages

        with optional_packages():
            import pyarrow  # noqa: F401  # Missed now, and not once the table is filled.
    if stories is not None and html is None:
        raise ConfigurationError("--stories writes the pages that the table's page links to; name that one with --html")
    cache = result_cache() if use_cache else None
    filled = fill(table, batch_runner(jobs, memory, master), cache, _progress(quiet))
    if html is not None:
        from acked.checker.spec.spec import property_named
        from acked.model.partition.protocol import partition
        from acked.reports.audit.durability_page import durability_page

        promise = property_named(partition, table.property)
        pages = {} if stories is None else _write_stories(stories, html, filled, promise)
        write_text(html, durability_page(filled, promise, pages), "page")
    rows = as_rows(filled) if csv_ is not None or parquet is not None or form == "json" else []
    if csv_ is not None:
        from acked.reports.audit.durability import as_csv

        write_text(csv_, as_csv(rows), "CSV file")
    if parquet is not None:
        from acked.reports.audit.durability import write_parquet

        try:
            write_parquet(rows, parquet)
        except OSError as error:
            raise SystemFailure(f"cannot write the Parquet file to {parquet}: {error.strerror or error}") from None
    if form == "json":
        click.echo(json.dumps(as_document(filled, rows), indent=1))
    else:
        from acked.reports.console import open_console

        print_durability(open_console(sys.stdout), filled)
    return int(ExitCode.HOLDS if filled.is_decided else ExitCode.TOO_LARGE)


def _write_stories(folder: Path, page: Path, filled: Filled, promise: Property) -> dict[Task, str]:
    """Writes every story's page; their addresses as the table's page says them."""
    from acked.reports.audit.durability_page import story_pages

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemFailure(f"cannot make the folder {folder}: {error.strerror}") from None
    where = os.path.relpath(folder.resolve(), page.resolve().parent)
    addresses = {}
    for task, name, text in story_pages(filled, promise):
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
        if last < first or last - first > MOST_VALUES:
            raise ConfigurationError(f"axis {name}: {part} is no range; write, say, 1-3")
        values += map(str, range(first, last + 1))
    return values


def _progress(quiet: bool) -> Callable[[int, int], None]:
    """One line on a terminal that says how many cells are decided."""
    is_shown = not quiet and sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        if is_shown:
            end = "\r\x1b[K" if done == total else ""
            click.echo(f"\r{done} of {total} cells{end}", nl=False, err=True)

    return tell
