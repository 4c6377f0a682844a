"""More about a violation than its canonical trace: `--easiest` and `--explain` of `acked check`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.checker.diagnosis.easiest import Easiest, easiest_of
from acked.checker.diagnosis.necessary import Necessity, necessity
from acked.checker.question.observer import Observer
from acked.checker.question.result import Counterexample, Result, Violation
from acked.invariants.property import ONE_TRACE
from acked.reports.console import Console
from acked.reports.runs.effort import effort_of
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import view_of
from acked.reports.shell.output import say
from acked.reports.tables.necessity import easiest_document, necessity_document, print_easiest, print_necessity


@frozen
class ExplainedViolation:
    """A violation with the trace that is shown for it; the other fields are None unless they were asked for."""

    violation: Violation
    easiest: Easiest | None
    necessity: Necessity | None

    def document(self, title: str, result: Result) -> dict[str, dict[str, Any]]:
        """What is said of it under further keys of `check --format json`; nothing for what was not asked."""
        question, found = result.question, {}
        if self.easiest is not None:
            found["easiest"] = easiest_document(title, question, self.easiest)
        if self.necessity is not None:
            found["explained"] = necessity_document(title, question, self.violation, self.necessity)
        return found

    def show(self, console: Console, title: str, result: Result) -> None:
        """Prints the trace, what it was chosen for, and what it needs."""
        print_trace(console, view_of(Counterexample.of(title, result.question, self.violation)))
        if self.easiest is not None:
            console.print()
            print_easiest(console, self.easiest)
        if self.necessity is not None:
            print_necessity(console, result.question, self.violation, self.necessity)
        console.print()


def explain_violations(
    result: Result, bounds: Bounds, observer: Observer, easiest: bool, explain: bool
) -> list[ExplainedViolation]:
    """Every violation of a result, in its order, with its easiest trace and its explanation if they are asked for."""
    made = []
    for violation in result.violations:
        explained = ExplainedViolation(violation, None, None)
        if (easiest or explain) and violation.property.kind not in ONE_TRACE:
            option = "--easiest" if easiest else "--explain"
            say(f"note: {option} is for invariants, step properties and deadlock; {violation.property.name} is shown without")
            made.append(explained)
            continue
        if easiest:
            observer.phase("comparing the shortest counterexamples")
            found = easiest_of(result.question, violation, effort_of(result.question.instance), bounds, observer)
            explained = replace(explained, violation=found.violation, easiest=found)
        if explain:
            observer.phase("searching without one action at a time")
            explained = replace(explained, necessity=necessity(result.question, explained.violation, bounds))
        made.append(explained)
    return made
