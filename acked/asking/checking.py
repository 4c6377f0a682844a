"""What `acked check` does with a spec: the question, its search, and the answer as text or JSON."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from acked.base.bounds import Bounds
from acked.base.errors import ExitCode
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.overflow import Overflow
from acked.checker.question.result import Counterexample, Result
from acked.checker.search.tiers import begin_beside
from acked.checker.spec.spec import Spec
from acked.reports.console import Console, open_console
from acked.reports.shell.answering import answer
from acked.reports.shell.engines import EngineOptions
from acked.reports.shell.groups import STARTED
from acked.reports.shell.options import AskedSpec, SearchLimits
from acked.reports.shell.output import Output, TraceFile, put_text, say
from acked.reports.shell.specs import with_symmetry
from acked.reports.tables.summary import print_expectation, print_result

if TYPE_CHECKING:
    from acked.asking.explanation import ExplainedViolation


def answer_spec(
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
    """Searches and shows what came of it, with the parameters of the command; the exit code."""
    spec = asked.load(deadlock)
    if symmetry and not spec.symmetry:
        spec = with_symmetry(spec)
    trace_out.check()
    policy = StopPolicy.EVERY_PROPERTY if go_on else spec.policy
    if not options.chosen.capabilities.is_distributed:
        begin_beside(spec.protocol, spec.constants)
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
        put_text("✓ a step leaves the domain of its field, as the spec expects\n", None, "answer")
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
        put_text(f"\n{len(way.run.states):2}  ✗ {step}\n\n", None, "answer")
    trace_out.announce(output, is_written=True)


def _document(
    name: str, spec: Spec, result: Result, violations: list[ExplainedViolation], seconds: float, differences: list[str] | None
) -> dict[str, Any]:

    from acked.reports.runs.document import check_document

    expectation = None
    if differences is not None and (differences or not _is_open(spec, result)):
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
        print_expectation(console, result.verdict, differences, result.stopped.value if _is_open(spec, result) else "")


def _is_open(spec: Spec, result: Result) -> bool:
    """Whether what the search has not found says nothing of what the spec expects."""
    return spec.expect is not None and spec.expect.is_open(result)
