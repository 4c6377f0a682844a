"""What every guard clause of a protocol is there for: each is left out in turn, and the promises decided again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchLimits, answer_all
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.checker.question.coverage import clauses_of
from acked.checker.question.result import StopReason
from acked.checker.spec.spec import Spec


@frozen
class Ablated:
    """What is broken without a clause; `failure` says why that is not known. `task` is the question without the clause.

    `is_bound` tells that the clause keeps a field within its domain: without it, the search meets a state that the protocol's
    constants have no room for.
    """

    action: str
    label: str
    task: Task
    outcome: Outcome | None
    failure: str
    is_bound: bool = False

    @property
    def name(self) -> str:
        """As spec files name it."""
        return f"{self.action}: {self.label}"

    @property
    def broken(self) -> tuple[FoundViolation, ...]:
        """The promises that break, the shortest run first."""
        found = self.outcome.violations if self.outcome is not None else ()
        return tuple(sorted(found, key=lambda item: item.trace_length))

    @property
    def is_idle(self) -> bool:
        """Whether everything was seen and no promise needs the clause."""
        return self.outcome is not None and self.outcome.stopped is StopReason.COMPLETE and not self.broken


@frozen
class Ablation:
    """A spec's protocol without each of its clauses; `whole` is the answer with all of them."""

    spec: Spec
    whole: Outcome
    clauses: tuple[Ablated, ...]
    warnings: tuple[str, ...]


def ablate(
    spec: Spec,
    limits: BatchLimits | None = None,
    cache: ResultCache | None = None,
    max_states: int | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> Ablation:
    """Decides every promise of the spec without each clause that it does not leave out anyway.

    Only properties that hold with all clauses are reported, so nothing is where that could not be decided. `max_states`
    bounds every search but the one with all clauses; `on_done` is told how many of how many are finished.
    `SystemFailure` if the search with all clauses died.
    """
    instance = spec.question().instance
    whole = replace(Task.of(spec), every_property=True)
    clauses = clauses_of(instance)
    weakened = [replace(whole, asked=whole.asked.without(clause), max_states=max_states) for clause in clauses]
    tasks = [whole, *weakened]
    answers = {}
    for done, answered in enumerate(answer_all(tasks, limits, cache), 1):
        answers[answered.task] = answered
        on_done(done, len(tasks))
    base = answers[0]
    if base.outcome is None:
        raise SystemFailure(f"{spec.where()}the protocol with all clauses has no answer: {base.failure}")
    known = set(base.outcome.reported)
    is_known = base.outcome.stopped is StopReason.COMPLETE
    found = []
    for number, (action, label) in enumerate(clauses, 1):
        outcome = answers[number].outcome
        if not is_known:
            why = f"with all clauses the answer is incomplete, too: {base.outcome.stopped.value}"
            found.append(Ablated(action, label, tasks[number], None, why))
            continue
        if outcome is not None:
            outcome = replace(outcome, violations=tuple(item for item in outcome.violations if item.property not in known))
        found.append(Ablated(action, label, tasks[number], outcome, answers[number].failure, answers[number].is_overflow))
    return Ablation(spec, base.outcome, tuple(found), tuple(cache.warnings if cache is not None else ()))
