"""The command `simulate`: random traces, for constants that no search reaches."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.frozen import frozen
from acked.base.names import repeats
from acked.checker.explore.simulate import Plan, Simulation
from acked.checker.explore.simulate import simulate as run
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, exit_code_of
from acked.invariants.property import ONE_TRACE
from acked.reports.console import Console
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import view_of
from acked.reports.shell.options import TRACE_OUT, WORKERS, AskedSpec, asks_spec, collects, option, shows
from acked.reports.shell.output import Output, TraceFile
from acked.reports.tables.simulation import print_simulation, simulation_document


class _Weight(click.ParamType[tuple[str, int]]):
    """ACTION=NUMBER."""

    name = "action=number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        name, _, number = str(value).partition("=")
        if not number.strip().isdecimal() or int(number) > 1000:
            self.fail(f"{value!r} is not a weight; use ACTION=NUMBER, 0 to 1000, e.g. LeaderWrite=5", param, ctx)
        return name.strip(), int(number)


@frozen
class Draws:
    """Which random traces are made."""

    runs: int
    depth: int
    seed: int | None
    weights: tuple[tuple[str, int], ...]

    def plan(self) -> Plan:
        """The same with a seed."""
        if twice := repeats(name for name, _ in self.weights):
            raise ConfigurationError(f"--weight {', '.join(twice)} is given twice; give each action once")
        seed = secrets.randbelow(1 << 32) if self.seed is None else self.seed
        return Plan(self.runs, self.depth, seed, dict(self.weights))


_draws = collects(
    "draws",
    Draws,
    runs=option("--runs", type=click.IntRange(1, 100_000_000), default=10_000, show_default=True, help="Number of traces."),
    depth=option("--depth", type=click.IntRange(1, 10_000), default=100, show_default=True,
                 help="Steps of the longest trace."),
    seed=option("--seed", type=click.IntRange(0, (1 << 63) - 1),
                help="Makes the same traces again; default: others every time."),
    weights=option("--weight", type=_Weight(), multiple=True, help="Take an action more often, or with 0 never."),
)  # fmt: skip


@click.command(short_help="Look for a violation in random traces, where no search ends.")
@asks_spec
@_draws
@option(
    "--playable", metavar="V",
    help="Of `partition` and `transactions`: take only steps that brokers of this release can be led through.",
).under("brokers")
@WORKERS.saying("Threads; the answer does not depend on them.").under("workers")
@collects("trace_out", TraceFile, path=TRACE_OUT.saying("Write the shortened counterexample to this file."))
@shows
def simulate(
    asked: AskedSpec, draws: Draws, brokers: str | None, workers: int | None, trace_out: TraceFile, output: Output
) -> int:
    """Look for a violation in random traces of SPEC's protocol.

    For constants at which `acked check` runs out of memory. Every step is chosen among all enabled ones, each as likely as
    any other, unless --weight makes an action more likely. A counterexample is shortened: steps are left out while what
    remains is a trace that violates the property. The seed in the answer makes the same traces again, on any number of
    threads.

    \b
    acked simulate kip101 -c replicas=5 --runs 100000 --depth 60
    acked simulate stale-ends-bug --kafka-version 4.4 --playable 4.4.0 --trace-out t.json      for `acked reproduce t.json`

    Finding nothing is not a proof, so that exits with 152; a violation with 11, 12 or 13, as `acked check` does.
    """
    spec = asked.load()
    if not spec.properties:
        raise ConfigurationError(f"{asked.name} asks for no property; name invariants in [check]")
    trace_out.check()
    if other := [item.name for item in spec.properties if item.kind not in ONE_TRACE]:
        raise ConfigurationError(
            f"random traces cannot decide {', '.join(other)}: that takes every reachable state; use `acked check`"
        )
    question = Question(spec.question().instance, spec.properties)
    walked = question if brokers is None else _playable(question, brokers)
    plan = draws.plan()
    began = time.perf_counter()
    with output.batch_progress("traces") as progress:
        found = run(walked, plan, workers, progress)
    seconds = time.perf_counter() - began
    if brokers is not None and found.violation is not None:
        from acked.cluster.playing.protocol import restore_actions

        found = replace(found, violation=replace(found.violation, run=restore_actions(question, found.violation.run)))
    if found.violation is not None:
        trace_out.write(Counterexample.of(spec.title, question, found.violation))
    output.emit(
        lambda: simulation_document(asked.name, spec.title, question, found, seconds),
        lambda console: _print(console, spec.title, question, found, seconds),
    )
    trace_out.announce(output, found.violation is not None)
    return int(_code(found))


def _playable(question: Question, version: str) -> Question:
    """The question about the traces that brokers of a release can be led through; `ConfigurationError` where none can."""
    from acked.cluster.playing.setting import Brokers
    from acked.cluster.reports.reproductions.words import presentation_of

    played = presentation_of(question).played
    return played.playable(question, played.fit(Brokers(version), question), True)


def _print(console: Console, title: str, question: Question, found: Simulation, seconds: float) -> None:
    if found.violation is not None:
        print_trace(console, view_of(Counterexample.of(title, question, found.violation)))
        console.print()
    print_simulation(console, title, question, found, seconds)


def _code(found: Simulation) -> ExitCode:
    return ExitCode.TOO_LARGE if found.violation is None else exit_code_of([found.violation])
