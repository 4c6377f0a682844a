"""The command `graph`: the reachable states of a small instance as a graph."""

from __future__ import annotations

from pathlib import Path

import click

from acked.asking.options import Binding, say
from acked.asking.specs import changed, find_spec
from acked.checker.errors import ConfigurationError
from acked.checker.files import check_writable, write_text
from acked.checker.question.result import Words
from acked.model.language.protocol import Instance


@click.command(short_help="Write a small state space as a graph.")
@click.argument("spec")
@click.option("--to", "form", type=click.Choice(["graphml", "dot", "svg", "json"]), required=True, help="The format.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write to this file; default: stdout.")
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of the spec.")
@click.option("--levels", type=click.IntRange(1), help="Only so many levels, the first counted.")
@click.option("--from", "start", metavar="TRACE", type=click.Path(path_type=Path), help="Begin where this trace ends.")
@click.option("--collapse", metavar="FIELD", multiple=True, help="Make states one that agree in these fields.")
@click.option("--max-states", type=click.IntRange(1, 100_000), default=2000, show_default=True, help="Refuse more.")
def graph(
    spec: str,
    form: str,
    out: Path | None,
    constants: tuple[tuple[str, int], ...],
    levels: int | None,
    start: Path | None,
    collapse: tuple[str, ...],
    max_states: int,
) -> None:
    """Write the reachable states of SPEC as GraphML, Graphviz, SVG or JSON.

    A graph is for looking at, so a large one is refused with its size; --levels, --from and -c make it smaller, --collapse
    makes one node of states that agree in the fields that matter, such as --collapse quorum.
    """
    from acked.checker.explore.graph import GraphBounds, collapsed, state_graph
    from acked.reports.exports.graphs import FORMATS

    if out is not None:
        check_writable(out, "graph")
    chosen = find_spec(spec)
    if constants:
        chosen = changed(chosen, dict(constants), False)
    instance = chosen.question().instance
    made = state_graph(instance, GraphBounds(max_states, levels), None if start is None else _end_of(start, instance))
    shown = collapsed(made, instance, collapse) if collapse else made
    text = FORMATS[form](shown)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text, "graph")
    told = f", collapsed to {len(shown):,} nodes" if collapse else ""
    say(f"{len(made):,} states, {made.number_of_edges():,} steps{told}")


def _end_of(path: Path, instance: Instance) -> Words:
    """The last state of a trace of the same protocol and constants."""
    from acked.checker.replay.trace_file import read_trace

    shown = read_trace(path, instance.protocol)
    theirs = shown.question.instance
    if (theirs.protocol, theirs.constants, theirs.dropped) != (instance.protocol, instance.constants, instance.dropped):
        raise ConfigurationError(f"{path} is a trace of another protocol, or of other constants, than the spec")
    return shown.run.states[-1]
