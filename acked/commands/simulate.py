"""The command `simulate`: random runs, for constants that no search reaches."""

from __future__ import annotations

import json
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked.asking.options import Binding, say
from acked.asking.specs import changed, find_spec
from acked.checker.errors import ConfigurationError, ExitCode
from acked.checker.files import check_writable, write_text

if TYPE_CHECKING:
    from acked.checker.explore.simulate import Simulation
    from acked.checker.spec.spec import Spec


class _Weight(click.ParamType[tuple[str, int]]):
    """ACTION=NUMBER."""

    name = "action=number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        name, _, number = str(value).partition("=")
        if not number.strip().isdecimal() or int(number) > 1000:
            self.fail(f"{value!r} is no weight; write, say, LeaderWrite=5, with a number from 0 to 1000", param, ctx)
        return name.strip(), int(number)


@click.command()
@click.argument("spec")
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of the spec.")
@click.option("--runs", type=click.IntRange(1, 100_000_000), default=10_000, show_default=True, help="How many runs.")
@click.option("--depth", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Steps of the longest run.")
@click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), help="Makes the same runs again; default: another every time.")
@click.option("--weight", "weights", type=_Weight(), multiple=True, help="Take an action more often, or with 0 never.")
@click.option("-w", "--workers", type=click.IntRange(1, 256), help="Threads; no answer depends on it.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the violating run to this file.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What stdout gets.")
def simulate(
    spec: str,
    constants: tuple[tuple[str, Any], ...],
    runs: int,
    depth: int,
    seed: int | None,
    weights: tuple[tuple[str, int], ...],
    workers: int | None,
    trace_out: Path | None,
    form: str,
) -> int:
    """Make random runs of SPEC's protocol, and look for a violation in them.

    For constants at which `acked check` runs out of memory. Every step is chosen among all that are possible, each as
    likely as any other, unless --weight makes an action more likely. A violating run is shortened: steps are left out while
    what remains is a run that breaks the promise. The seed in the answer makes the same runs again, on any number of threads.

    Nothing found is no proof, so that exits with 152; a violation with 11, 12 or 13, as `acked check` does.
    """
    from acked.checker.explore.simulate import Plan
    from acked.checker.explore.simulate import simulate as run

    chosen = find_spec(spec)
    if constants:
        chosen = changed(chosen, dict(constants), False)
    if not chosen.properties:
        raise ConfigurationError(f"{spec} asks nothing; name invariants in [check]")
    if trace_out is not None:
        check_writable(trace_out, "trace")
    from acked.checker.question.question import Question
    from acked.invariants.property import Kind

    if other := [item.name for item in chosen.properties if item.kind not in (Kind.STATE, Kind.STEP, Kind.DEADLOCK)]:
        raise ConfigurationError(f"random runs cannot decide {', '.join(other)}, which is about all runs; use `acked check`")
    question = Question(chosen.question().instance, chosen.properties)
    plan = Plan(runs, depth, secrets.randbelow(1 << 32) if seed is None else seed, dict(weights))
    began = time.perf_counter()
    found = run(question, plan, workers)
    seconds = time.perf_counter() - began
    if trace_out is not None and found.violation is not None:
        from acked.checker.question.result import Counterexample
        from acked.reports.runs.document import trace_document

        document = trace_document(Counterexample.of(chosen.title, question, found.violation))
        write_text(trace_out, json.dumps(document, indent=1) + "\n", "trace")
    if form == "json":
        from acked.reports.tables.simulation import simulation_document

        click.echo(json.dumps(simulation_document(spec, chosen.title, question, found, seconds), indent=1))
    else:
        _print_text(chosen, question, found, seconds)
        if trace_out is not None:
            say(f"the trace is in {trace_out}" if found.violation else "nothing is violated, so no trace was written")
    return int(_code(found))


def _print_text(spec: Spec, question: Any, found: Simulation, seconds: float) -> None:
    from acked.checker.question.result import Counterexample
    from acked.reports.console import open_console
    from acked.reports.runs.terminal import print_trace
    from acked.reports.runs.view import view_of
    from acked.reports.tables.simulation import print_simulation

    console = open_console(sys.stdout)
    if found.violation is not None:
        print_trace(console, view_of(Counterexample.of(spec.title, question, found.violation)))
        console.print()
    print_simulation(console, spec.title, question, found, seconds)


def _code(found: Simulation) -> ExitCode:
    from acked.invariants.property import Kind

    if found.violation is None:
        return ExitCode.TOO_LARGE
    codes = {Kind.STEP: ExitCode.STEP_OR_LIVENESS, Kind.DEADLOCK: ExitCode.DEADLOCK}
    return codes.get(found.violation.property.kind, ExitCode.INVARIANT)
