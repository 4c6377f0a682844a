"""The command `graph`: the reachable states of a small instance as a graph."""

from __future__ import annotations

from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable
from acked.checker.explore.graph import GraphBounds, collapse_states, state_graph
from acked.checker.question.result import Words
from acked.checker.replay.trace_file import read_trace
from acked.model.language.protocol import Instance
from acked.reports.exports.graphs import FORMATS
from acked.reports.shell.options import OUT, AskedSpec, asks_spec
from acked.reports.shell.output import put_text, say


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
    if out is not None:
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
