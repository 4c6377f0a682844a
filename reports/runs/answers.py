"""A result in words and per property, for the terminal and for documents alike.

The one place that decides what may be claimed of a property after a search that stopped early.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.frozen import frozen
from acked.checker.question.result import Result, StopReason, Verdict, Violation
from acked.checker.replay.explain import in_words
from acked.invariants.property import Property
from acked.model.language.protocol import Instance
from acked.reports.units import plural


@frozen
class PropertyAnswer:
    """A property and what the search found: `holds` is None if nothing was found but not every state was seen."""

    property: Property
    holds: bool | None
    violation: Violation | None


def answers(result: Result) -> tuple[PropertyAnswer, ...]:
    """One answer per property of the question, in its order."""
    found = {item.property.name: item for item in result.shown}
    # A search that stopped at its first violation has not decided the other properties.
    otherwise = True if result.stopped in (StopReason.COMPLETE, StopReason.BUDGET) else None
    return tuple(
        PropertyAnswer(
            item,
            False if item.name in found else None if item.name in result.undecided else otherwise,
            found.get(item.name),
        )
        for item in result.question.properties
    )


def violated_how(violation: Violation) -> str:
    """`in 8 steps`, or how an infinite trace goes on."""
    steps, loop = violation.trace_length - 1, violation.run.loop
    if loop is None:
        return f"in {plural(steps, 'step')}"
    if loop == steps:
        return f"by staying forever in the state after {plural(steps, 'step')}"
    return f"in {plural(steps, 'step')}, the last {steps - loop} of which repeat forever"


def verdict_in_words(result: Result) -> str:
    """One line: the verdict and why, and for an incomplete search what it covered."""
    covered = f"{plural(result.depth, 'complete level')}, {plural(result.distinct_states, 'distinct state')}"
    if result.verdict is Verdict.HOLDS:
        return f"holds: {result.stopped.value} ({plural(result.distinct_states, 'distinct state')})"
    if result.verdict is Verdict.VIOLATED:
        return f"violated: {', '.join(f'{item.property.name} {violated_how(item)}' for item in result.shown)}"
    if result.stopped is StopReason.BUDGET:
        return f"incomplete: budget: {result.stopped.value} ({plural(result.distinct_states, 'distinct state')})"
    if result.stopped is StopReason.COMPLETE:
        return f"incomplete: {result.stopped.value}, but no property was checked; covered: {covered}"
    return f"incomplete: {result.stopped.value}; covered: {covered}"


# -- what an answer is about --------------------------------------------------------------------------------------------


def dropped_clauses(instance: Instance) -> tuple[str, ...]:
    """The guard clauses that were left out of the protocol, as spec files name them: `LeaderWrite: room in the log`."""
    return tuple(f"{action}: {label}" for action, label in sorted(instance.dropped))


def subject_in_words(instance: Instance) -> str:
    """`kip320: replicas=3, log_size=2`, and what was dropped: an answer about a weakened protocol must say so."""
    return subject(instance.protocol.name, tuple(instance.telling_constants.items()), dropped_clauses(instance))


def subject(protocol: str, constants: Sequence[tuple[str, object]], dropped: Sequence[str]) -> str:
    """As `subject_in_words`, of a trace whose instance is not at hand."""
    bound = ", ".join(f"{name}={in_words(value)}" for name, value in constants)
    text = f"{protocol}: {bound}" if bound else protocol
    return f"{text}; weakened, without {'; '.join(map(repr, dropped))}" if dropped else text
