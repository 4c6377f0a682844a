"""The command `check`."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked.base.bounds import Bounds
from acked.base.errors import ExitCode
from acked.base.observer import Observer
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.overflow import Overflow
from acked.checker.question.result import Counterexample, Result, StopReason
from acked.checker.spec.spec import Spec
from acked.reports.console import Console, open_console
from acked.reports.shell.engines import AUTO, ENGINE_CHOICES, EngineOptions, answer
from acked.reports.shell.groups import STARTED, Epilogue
from acked.reports.shell.options import (
    AskedSpec,
    KeyValue,
    RunPlace,
    SearchLimits,
    asks_spec,
    collects,
    option,
    searches,
    shows,
    warn_without_cache,
    writes_trace,
)
from acked.reports.shell.output import Output, TraceFile, say
from acked.reports.shell.specs import with_symmetry
from acked.reports.tables.summary import print_expectation, print_result

if TYPE_CHECKING:
    from acked.asking.explanation import ExplainedViolation

_chooses_engine = collects(
    "options",
    partial(EngineOptions, ""),
    engine=option("--engine", type=click.Choice(ENGINE_CHOICES), default=AUTO, show_default=True,
                  help="Where to search; auto: here, and over the executors of --master once memory is full."),
    master=option("--master", help="Spark's master, e.g. local[2] or spark://HOST:PORT; --engine spark: default local[*]."),
    run_dir=option("--run-dir", type=RunPlace(), metavar="DIR",
                   help="Keep every completed level in this new folder, for --resume; over Spark also hdfs:, s3a: or file:."),
    resume=option("--resume", type=RunPlace(), metavar="DIR",
                  help="Go on after the completed levels of a run directory."),
    disk=option("--disk", type=click.Path(path_type=Path), metavar="DIR",
                help="Go on in this folder when memory is full: slower, but as far as the disk reaches. The same command "
                     "continues a run that was stopped."),
    buckets=option("--buckets", type=int, help="Parts into which a stored search divides the states; default: 64."),
    conf=option("--conf", type=KeyValue("spark.executor.memory=2g"), multiple=True,
                help="A setting for Spark, e.g. spark.executor.memory=2g."),
    ship=option("--ship/--no-ship", default=None,
                help="Bring acked and llvmlite to Spark's executors; by default to those of other machines."),
)  # fmt: skip


@click.command(
    cls=Epilogue,
    short_help="Explore every reachable state of a spec.",
    epilog="""\
A spec is a TOML file that asks one question:

  title    = "KIP-320 fencing keeps every committed record"
  protocol = "kip320"
  [constants]
  replicas = 3
  log_size = 2
  max_records = 2
  max_leader_epoch = 2
  [check]
  invariants = ["WeakIsr", "StrongIsr"]
  [expect]
  verdict = "holds"

Instead of, or besides, invariants: [liveness.NAME] leads_to = ["TRIGGER", "GOAL"] or eventually = "GOAL", under
[fairness] weak = ["Action"], strong = ["Action(parameter)"]; [check] recoverable = ["GOAL"].

Exit codes: 0 holds, 11 deadlock, 12 invariant violated, 13 step property, liveness or recoverability violated,
14 real brokers did as the model says, and no promise was seen broken, 1 holds but not as expected, 152 incomplete,
130 interrupted, 150 file unreadable, 151 usage or configuration (also `acked` alone), 153 system.""",
)
@asks_spec
@searches
@click.option("--continue", "go_on", is_flag=True, help="Go on after a violation: a shortest trace for every property.")
@click.option("--deadlock", is_flag=True, help="Also ask whether some action is enabled in every reachable state.")
@click.option("--symmetry", is_flag=True, help="Visit states that differ only in the names of brokers once.")
@_chooses_engine
@click.option("--easiest", is_flag=True, help="Of all shortest counterexamples show the one that is easiest to follow.")
@click.option("--explain", is_flag=True, help="Also show which actions a violation needs, and the nearest trace without it.")
@writes_trace
@shows
def check(
    asked: AskedSpec,
    search: SearchLimits,
    go_on: bool,
    deadlock: bool,
    symmetry: bool,
    options: EngineOptions,
    easiest: bool,
    explain: bool,
    trace_out: TraceFile,
    output: Output,
) -> int:
    """Explore every reachable state of SPEC, a TOML file or the name of a bundled spec.

    Level by level from the initial state (breadth first): invariants and step properties are decided in every state and on
    every step, so the first counterexample is a shortest one. Once all states are known, so are the other properties:
    whether the cluster can always recover (recoverable), and whether it does in every fair infinite trace ([liveness.NAME]);
    a counterexample to the latter is a lasso, shown with the steps that repeat. The exit code is the verdict: 0 only if all
    reachable states were explored and every property holds.

    \b
    acked check kip320                             a bundled spec
    acked check kip320 -c replicas=2 -c log_size=3 with other constants
    acked check acks-1-loses --kafka-version 3.6   `partition` with the rules of a release
    acked check my.toml --trace-out trace.json     keep the counterexample; then `acked view trace.json`
    """
    options = replace(options, spec=asked.name, memory=search.memory)
    options.check(has_workers=search.workers is not None)
    warn_without_cache()
    spec = asked.load(deadlock)
    if symmetry and not spec.symmetry:
        spec = with_symmetry(spec)
    trace_out.check()
    policy = StopPolicy.EVERY_PROPERTY if go_on else spec.policy
    question = output.question(spec)
    for warning in spec.warnings:
        say(f"warning: {spec.where('constants')}{warning}")
    bounds = search.bounds
    try:
        with output.progress() as observer:
            result = answer(question, options, bounds, policy, observer)
            violations = _explain(result, bounds, observer, easiest, explain)
    except Overflow as overflow:
        _show_overflow(Counterexample(spec.title, overflow.question, overflow.run), str(overflow), trace_out, output)
        if output.is_json or spec.expect is None or not spec.expect.overflow:
            raise
        click.echo("✓ a step leaves the domain of its field, as the spec expects")
        return int(ExitCode.ASSUMPTION)
    seconds = time.perf_counter() - STARTED
    differences = spec.expect.differences(result) if spec.expect else None
    if violations:
        first = violations[0].violation
        trace_out.write(Counterexample.of(spec.title, question, first))
    output.emit(
        lambda: _document(asked.name, spec, result, violations, seconds, differences),
        lambda console: _print(console, spec, result, violations, seconds, differences),
    )
    trace_out.announce(output, bool(violations))
    code = result.exit_code
    return int(ExitCode.UNMET_EXPECTATION if differences and code == ExitCode.HOLDS else code)


def _explain(
    result: Result, bounds: Bounds, observer: Observer, easiest: bool, explain: bool
) -> list[ExplainedViolation]:
    if not result.violations:
        return []  # Without importing what shows a trace.
    from acked.asking.explanation import explain_violations

    return explain_violations(result, bounds, observer, easiest, explain)


def _show_overflow(way: Counterexample, told: str, trace_out: TraceFile, output: Output) -> None:
    """The way to a step that leaves a field's domain, and that step."""
    from acked.reports.runs.terminal import print_trace
    from acked.reports.runs.view import view_of

    trace_out.write(way)
    if not output.is_json:
        print_trace(open_console(sys.stdout), view_of(way))
        step = told.partition("; the state is ")[0].removeprefix(f"{way.question.instance.protocol.name}: ")
        click.echo(f"\n{len(way.run.states):2}  ✗ {step}\n")
    trace_out.announce(output, is_written=True)


def _document(
    name: str, spec: Spec, result: Result, violations: list[ExplainedViolation], seconds: float, differences: list[str] | None
) -> dict[str, Any]:

    from acked.reports.runs.document import check_document

    expectation = None
    if differences is not None and (differences or not _is_open(result)):
        expectation = {"met": not differences, "differences": differences}
    document = check_document(name, spec.title, result, seconds, expectation)
    for explained in violations:
        for key, more in explained.document(spec.title, result).items():
            document.setdefault(key, []).append(more)
    return document


def _print(
    console: Console,
    spec: Spec,
    result: Result,
    violations: list[ExplainedViolation],
    seconds: float,
    differences: list[str] | None,
) -> None:

    for explained in violations:
        explained.show(console, spec.title, result)
    print_result(console, None if violations else spec.title, result, seconds)
    if differences is not None:
        print_expectation(console, result.verdict, differences, _is_open(result))


def _is_open(result: Result) -> bool:
    """Whether the search was interrupted, so that what it has not found says nothing."""
    return result.stopped is StopReason.INTERRUPTED
