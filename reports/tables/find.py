"""What `acked find` found: which predicates some reachable state satisfies, in the terminal and as JSON."""

from __future__ import annotations

from enum import Enum
from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, Run, StopReason
from acked.checker.replay.trace_file import trace_document
from acked.invariants.property import Property
from acked.reports.console import Console, glyphs_of, put_paragraph
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import view_of
from acked.reports.units import plural


class Reach(Enum):
    """Whether a predicate holds in a reachable state."""

    REACHED = "reached"
    UNREACHABLE = "unreachable"
    INCOMPLETE = "incomplete"


@frozen
class PredicateSearch:
    """A search for predicates, its result, and the properties that are shown beside the states on the way."""

    title: str
    result: Result
    predicates: tuple[Property, ...]
    beside: tuple[Property, ...]

    def shortest_run(self, predicate: Property) -> Run | None:
        """The shortest run to a state in which the predicate holds, if one was found."""
        violations = self.result.violations
        return next((item.run for item in violations if item.property.name == predicate.name), None)

    def reach(self, predicate: Property) -> Reach:
        """Unreachable is what no reachable state satisfies, and only if all of them were seen."""
        if self.shortest_run(predicate) is not None:
            return Reach.REACHED
        return Reach.UNREACHABLE if self.result.stopped is StopReason.COMPLETE else Reach.INCOMPLETE

    def trace(self, predicate: Property) -> Counterexample | None:
        """The shortest trace to such a state, as it is shown and written: with the properties beside, and the predicate."""
        if (run := self.shortest_run(predicate)) is None:
            return None
        question = Question(self.result.question.instance, (*self.beside, predicate))
        return Counterexample(self.title, question, run, predicate)


def print_find(console: Console, search: PredicateSearch) -> None:
    """The shortest trace to each predicate, and then a line for each of them."""
    for item in search.predicates:
        if (found := search.trace(item)) is not None:
            print_trace(console, view_of(found))
            console.print()
    for item in search.predicates:
        _print_answer(console, search, item)


def _print_answer(console: Console, search: PredicateSearch, predicate: Property) -> None:
    result, run, glyphs = search.result, search.shortest_run(predicate), glyphs_of(console)
    if run is not None:
        style, glyph = "bold green", glyphs.good
        text = f"reached in {plural(len(run.actions), 'step')}: {predicate.text}"
    elif search.reach(predicate) is Reach.UNREACHABLE:
        style, glyph = "bold", glyphs.bad
        text = f"unreachable: none of the {plural(result.distinct_states, 'reachable state')} satisfies {predicate.text}"
    else:
        style, glyph = "bold yellow", glyphs.open
        seen = f"{plural(result.distinct_states, 'state')} of {plural(result.depth, 'level')}"
        text = f"not found in the {seen}, and the search is incomplete ({result.stopped.value}): {predicate.text}"
    put_paragraph(console, text, style, f"{glyph} ", "  ")


def find_document(name: str, search: PredicateSearch, seconds: float) -> dict[str, Any]:
    """What was found as JSON; `name` is what the user called the spec."""
    result, instance = search.result, search.result.question.instance
    return {
        "spec": name,
        "title": search.title,
        "protocol": instance.protocol.name,
        "constants": instance.shown_constants,
        "found": [_entry(search, item) for item in search.predicates],
        "stopped": result.stopped.name.lower(),
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "workers": result.workers,
        "seconds": seconds,
    }


def _entry(search: PredicateSearch, predicate: Property) -> dict[str, Any]:
    found = search.trace(predicate)
    return {
        "name": predicate.name,
        "predicate": predicate.text,
        "verdict": search.reach(predicate).value,
        "trace_length": None if found is None else len(found.run.states),
        "trace": None if found is None else trace_document(found),
    }
