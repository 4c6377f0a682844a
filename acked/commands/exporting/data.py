"""The command `states` and those below it, `query`, `stats` and `graph`: reachable states as data."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import click

from acked.base.errors import ConfigurationError, ExitCode, SystemFailure
from acked.base.files import check_writable, write_text
from acked.checker.dataset.profile import read_profile
from acked.checker.explore.graph import GraphBounds, collapse_states, state_graph
from acked.checker.question.result import Words
from acked.checker.replay.trace_file import read_trace
from acked.model.language.protocol import Instance
from acked.reports import units
from acked.reports.console import open_console
from acked.reports.exports.graphs import FORMATS
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.groups import Branching
from acked.reports.shell.options import OUT, QUIET, AskedSpec, SpecChanges, asks_spec, changes_spec
from acked.reports.shell.output import put_text, say
from acked.reports.tables.profile import draw_profile, print_profile
from acked.reports.tables.rows import print_rows, rows_csv, rows_json

_FORMS = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


class _Levels(click.ParamType[frozenset[int]]):
    """Levels such as 1-4,7."""

    name = "levels"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[int]:
        if isinstance(value, frozenset):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if not 1 <= first <= last:
                self.fail(f"{part!r} is not a list of levels; use e.g. 1-4,7", param, ctx)
            found.update(range(first, last + 1))
        return frozenset(found)


@click.command(cls=Branching, branches={name: f"commands.exporting.data:{name}" for name in ("query", "stats", "graph")},
               short_help="Write the reachable states as Parquet; query, stats, graph.")
@asks_spec
@click.option("--out", required=True, metavar="DIR|URI",
              help="The new folder for the dataset; with --master also hdfs://…, s3a://… or whatever else Spark writes to.")
@click.option("--transitions", is_flag=True, help="Also write every transition from one state to another.")
@click.option("--levels", type=_Levels(), help="Only states of these levels, e.g. 1-4,7; the initial state is level 1.")
@click.option("--where", help="Only states in which this holds, e.g. 'quorum.isr == {0}'; or SQL, which needs Java.")
@click.option("--run-dir", type=click.Path(path_type=Path), metavar="DIR",
              help="Take the states of this run directory instead of searching.")
@click.option("--master", help="Have the executors of this Spark write, e.g. local[2] or spark://HOST:PORT.")  # fmt: skip
@QUIET.under("quiet")
def states(
    asked: AskedSpec,
    out: str,
    transitions: bool,
    levels: frozenset[int] | None,
    where: str | None,
    run_dir: Path | None,
    master: str | None,
    quiet: bool,
) -> int:
    """Write the reachable states of SPEC as a Parquet dataset, one column per field of the state.

    Spark, pandas, DuckDB and Polars read it as it is: states/*.parquet, transitions/*.parquet, levels.parquet. Violations do
    not end the search. A condition that is not written as in traces and `acked find` is taken as Spark SQL, e.g.
    'size(quorum.isr) = 1'. With --master, executors read the run directory, which they must see, and write a folder for each
    level; so a run of any size becomes data, in any file system that Spark has.

    \b
    acked states kip320 --out states --where "quorum.isr == {0}"
    acked states kip320-large --run-dir run --master spark://HOST:PORT --out hdfs://HOST/states
    """
    from acked.asking.datasets import write_states

    chosen = asked.load()
    written = write_states(chosen, out, transitions, levels, where, run_dir, master, quiet)
    more = f" and {units.plural(written.transitions, 'transition')}" if written.transitions else ""
    click.echo(f"{units.plural(written.states, 'state')}{more} of {chosen.title!r} are in {out}")
    return 0


@click.command(short_help="Query the reachable states with SQL.")
@click.argument("source", metavar="SPEC|DIR", shell_complete=bundled_or_file)
@click.argument("sql")
@changes_spec
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write all rows to this .csv, .json or .parquet file.")  # fmt: skip
@click.option("--rows", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Rows to print at most.")
@click.option("--master", help="Have this Spark answer, e.g. local[2] or spark://HOST:PORT; default: local[*] if needed.")
@QUIET.under("quiet")
def query(
    source: str, sql: str, changes: SpecChanges, out: Path | None, rows: int, master: str | None, quiet: bool
) -> int:
    """Query with SQL the reachable states of a spec, or of a dataset that `acked states` wrote, by its folder or URI.

    The views are `states` (id, level, and the state's fields), `transitions` (source, target, level, action, arguments),
    `levels` and `actions`. The language is Spark SQL: size(quorum.isr), replica[0].hw, exists(replica, r -> r.leader = 1).
    Counts (count, min, max and sum of one view, with WHERE, GROUP BY, ORDER BY and LIMIT) are answered here, whatever else by
    Spark, which takes some seconds to start.

    \b
    acked states query kip320 "select level, count(*) from states where size(quorum.isr) = 1 group by level order by level"
    """
    from acked.asking.datasets import answer_query

    form = None
    if out is not None:
        form = _FORMS.get(out.suffix)
        if form is None:
            raise ConfigurationError(f"--out {out} does not end in a known format; use .csv, .json or .parquet")
        check_writable(out, "rows")
    most = None if out is not None else rows + 1
    table = answer_query(source, changes, sql, most, master, quiet)
    names = list(dict.fromkeys(table.column_names))
    if len(names) < table.num_columns:
        raise ConfigurationError("two columns of the result have the same name; give them names with AS")
    if out is not None and form == "parquet":
        import pyarrow.parquet as pq

        _replace(out, lambda temporary: pq.write_table(table, temporary))
    else:
        listed = table.to_pylist()
        if out is None:
            print_rows(open_console(sys.stdout), names, listed[:rows], len(listed) > rows)
        else:
            write_text(out, rows_csv(names, listed) if form == "csv" else rows_json(listed), "rows")
    if out is not None:
        say(f"{table.num_rows:,} rows are in {out}")
    return 0


@click.command(short_help="Show the levels, actions and growth of a finished search.")
@click.argument("place", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it into this .svg file.")
def stats(place: Path, out: Path | None) -> int:
    """Show the levels, actions and growth of a run directory or of a dataset that `acked states` wrote.

    \b
    acked states kip320 --out states
    acked states stats states
    """
    if out is not None:
        if out.suffix != ".svg":
            raise ConfigurationError(f"--out {out}: the picture is SVG; give it a name that ends in .svg")
        check_writable(out, "picture")
    profile = read_profile(place)
    print_profile(open_console(sys.stdout), profile)
    if out is not None:
        write_text(out, draw_profile(profile), "picture")
        say(f"the picture is in {out}")
    return int(ExitCode.HOLDS)


@click.command(short_help="Write a small state space as a graph.")
@asks_spec
@click.option("--to", "form", type=click.Choice(tuple(FORMATS)), required=True, help="The format.")
@OUT.under("out")
@click.option("--levels", type=click.IntRange(1), help="Only this many levels, the initial state being the first.")
@click.option("--from", "start", metavar="TRACE", type=click.Path(path_type=Path),
              help="Begin in the last state of this trace instead of the initial state.")  # fmt: skip
@click.option("--collapse", metavar="FIELD", multiple=True, help="Merge states that agree in these fields into one node.")
@click.option("--max-states", type=click.IntRange(1, 100_000), default=2000, show_default=True,
              help="Refuse a graph of more states, which nobody could read.")  # fmt: skip
def graph(
    asked: AskedSpec,
    form: str,
    out: Path | None,
    levels: int | None,
    start: Path | None,
    collapse: tuple[str, ...],
    max_states: int,
) -> None:
    """Write the reachable states of SPEC as GraphML, Graphviz, SVG or JSON.

    A graph is for looking at, so a large one is refused with its size; --levels, --from and -c make it smaller, and
    --collapse merges states that agree in the fields that matter into one node, e.g. --collapse quorum.

    \b
    acked states graph kip320 -c replicas=2 --levels 4 --to svg -o states.svg
    """
    check_writable(out, "graph")
    instance = asked.load().question().instance
    made = state_graph(instance, GraphBounds(max_states, levels), None if start is None else _end_of(start, instance))
    shown = collapse_states(made, instance, collapse) if collapse else made
    text = FORMATS[form](shown)
    put_text(text, out, "graph")
    nodes = f", collapsed to {len(shown):,} nodes" if collapse else ""
    say(f"{len(made):,} states, {made.number_of_edges():,} transitions{nodes}")


def _end_of(path: Path, instance: Instance) -> Words:
    """The last state of a trace of the same protocol and constants."""
    shown = read_trace(path, instance.protocol)
    theirs = shown.question.instance
    if (theirs.protocol, theirs.constants, theirs.dropped) != (instance.protocol, instance.constants, instance.dropped):
        raise ConfigurationError(f"{path} is a trace of another protocol, or of other constants, than the spec")
    return shown.run.states[-1]


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under a temporary name and then renames it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise SystemFailure(f"cannot write {path}: {error.strerror}; choose another place or make room") from None
    finally:
        temporary.unlink(missing_ok=True)
