"""What an engine answers."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum, unique
from functools import cached_property

from acked.base.errors import ExitCode
from acked.base.frozen import frozen
from acked.checker.question.marks import marks_at_end
from acked.checker.question.question import Question
from acked.invariants.property import Kind, Property
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

Words = tuple[int, ...]
"""A packed state: W 64-bit words, unsigned, in which `Schema` gives every leaf its bits. Ordered as tuples are."""


@unique
class Verdict(Enum):
    """`HOLDS` only if every reachable state was seen and something was asked.

    >>> check(ask(toylog, nothing_lost, brokers=2, records=1)).verdict is Verdict.HOLDS
    True
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    INCOMPLETE = "incomplete"


@unique
class StopReason(Enum):
    """Why a search ended.

    >>> check(ask(toylog, nobody_lags, brokers=2, records=1)).stopped.name
    'VIOLATION'
    """

    COMPLETE = "every reachable state was seen"
    VIOLATION = "a property is violated"
    MAX_DEPTH = "the depth bound was reached"
    MAX_STATES = "the bound on states was reached"
    BUDGET = "every reachable state was seen, but a property is violated only because of a bound of the model"
    MEMORY = "the memory budget was reached"
    INTERRUPTED = "interrupted"


@frozen
class Run:
    """A run of the protocol: packed states, and between each two the action instance that was fired.

    An infinite one is a lasso: it continues from its last state as from the one of number `loop`, which is the same.
    If that is the last one itself, the trace stutters there for ever.
    """

    states: tuple[Words, ...]
    actions: tuple[ActionInstance, ...]
    loop: int | None = None

    def __repr__(self) -> str:
        return f"<Run of {len(self.actions)} steps>"

    def then(self, instance: Instance, *steps: ActionInstance) -> Run:
        """The run with further steps, which are fired by the plain evaluator."""
        states = [*self.states]
        for step in steps:
            states.append(instance.schema.pack(instance.fire(step, instance.schema.unpack(states[-1]))))
        return Run(tuple(states), (*self.actions, *steps))


@frozen
class Violation:
    """A property and the canonical trace that violates it: in its last state, by its last step, or, as a lasso, forever.

    >>> [violation] = check(ask(toylog, nobody_lags, brokers=2, records=1)).violations
    >>> violation.property.name, [step.label for step in violation.run.actions], violation.trace_length
    ('NobodyLags', ['Append()'], 2)
    """

    property: Property
    """The property that is violated."""
    run: Run
    """The trace: packed states, and the actions between them; `Trace.of` makes it readable."""

    def __repr__(self) -> str:
        return f"<Violation of {self.property.name}: {len(self.run.actions)} steps>"

    @builtins.property  # the field of that name hides the decorator here
    def trace_length(self) -> int:
        """States of the trace, one more than its steps."""
        return len(self.run.states)


@frozen
class Counterexample:
    """A run of a question, under a title, and the property that it violates; see `Violation`.

    `property` is None for a run that violates nothing and only shows something, such as a walk of the explorer.
    """

    title: str
    question: Question
    run: Run
    property: Property | None = None

    @classmethod
    def of(cls, title: str, question: Question, violation: Violation) -> Counterexample:
        """A violation that the search of `question` found."""
        return cls(title, question, violation.run, violation.property)


def exit_code_of(violations: Iterable[Violation]) -> ExitCode:
    """Of several violations the shortest counts, ties by the spec's order."""
    shortest = min(violations, key=lambda violation: violation.trace_length)
    return {
        Kind.STATE: ExitCode.INVARIANT,
        Kind.STEP: ExitCode.STEP_OR_LIVENESS,
        Kind.DEADLOCK: ExitCode.DEADLOCK,
        Kind.REACH: ExitCode.HOLDS,
        Kind.RECOVERABLE: ExitCode.STEP_OR_LIVENESS,
        Kind.LIVENESS: ExitCode.STEP_OR_LIVENESS,
    }[shortest.property.kind]


def shown_by(question: Question, violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """The violations, then one of everything else that is violated by the last state or the last step of one of their traces.

    No shorter trace violates that: a search that reports one of several has seen all earlier levels.
    """
    found = {item.property.name: item for item in violations}
    asked = {item.name: item for item in question.properties}
    for item in [*found.values()] if asked.keys() - found.keys() else ():
        marks = marks_at_end(question, item.run.states, item.run.actions) if item.run.loop is None else ()
        for name in (mark.property for mark in marks if mark.holds is False):
            found.setdefault(name, Violation(asked[name], item.run))
    return tuple(found.values())


@frozen
class ActionCount:
    """How often an action was fired, and how often into a state not reached in an earlier level."""

    enabled: int = 0
    new: int = 0


@frozen
class Result:
    """The answer of an exhaustive search; its counts cover exactly the levels 1 to `depth`.

    >>> result = check(ask(toylog, nothing_lost, brokers=3, records=3))
    >>> result.verdict.value, result.distinct_states, result.depth, result.never_fired
    ('holds', 150, 14, [])
    """

    question: Question
    """What was asked."""
    engine: str
    """Where the search ran: "local" or "spark"."""
    workers: int
    """Threads or tasks that searched."""
    stopped: StopReason
    """Why the search ended."""
    distinct_states: int
    """Reachable states in the levels covered."""
    generated_states: int
    """Successors that were computed for them, each as often as it was reached; the initial state counts as well."""
    depth: int
    """Levels covered; the initial state is the first."""
    level_sizes: tuple[int, ...]
    """New states of each level."""
    actions: dict[str, ActionCount]
    """By name of an action: how often it was enabled, and how many new states it led to."""
    violations: tuple[Violation, ...]
    """A shortest violation of each property that was found to be violated."""
    seconds: float
    """Wall time of the search, without compilation."""
    memory_bytes: int
    """Memory of states and table at the end of the search."""
    notes: tuple[str, ...] = field(default=())
    """Sentences for people, such as where a dead end begins."""
    stored_levels: int = 0
    """Levels that were read from a run directory: `seconds` is not the time that they took."""
    undecided: tuple[str, ...] = ()
    """Properties that would be violated, were it not for a bound of the model."""
    probes: Mapping[str, int | None] = field(default_factory=dict)
    """By name of a probe of the question: the first level that meets it, or None if none of those covered does."""

    def __repr__(self) -> str:
        counts = f"{self.distinct_states:,} distinct states, {self.generated_states:,} generated, {self.depth} levels"
        found = "".join(f", {item!r}" for item in self.violations)
        return f"<Result: {self.verdict.value}{found}; {counts}, in {self.seconds:.2g} s; of {self.question!r}>"

    @property
    def verdict(self) -> Verdict:
        """What the search decided."""
        if self.violations:
            return Verdict.VIOLATED
        asks = self.question.properties or any(probe.is_sought for probe in self.question.probes)
        if self.stopped is StopReason.COMPLETE and asks:
            return Verdict.HOLDS
        return Verdict.INCOMPLETE

    @property
    def reported(self) -> dict[str, int]:
        """By name of a property of `violations`: the states of its trace, one more than its steps."""
        return {violation.property.name: violation.trace_length for violation in self.violations}

    @cached_property
    def shown(self) -> tuple[Violation, ...]:
        """The violations, then what else their traces violate; a search that ended at its first violation reports one."""
        return shown_by(self.question, self.violations)

    @property
    def violated(self) -> dict[str, int]:
        """By name of a violated property, as far as its traces show it: the states of its shortest trace."""
        return {violation.property.name: violation.trace_length for violation in self.shown}

    @property
    def never_fired(self) -> list[str]:
        """Actions that were enabled in none of the states covered."""
        return [name for name, count in self.actions.items() if count.enabled == 0]

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of `acked check` for this answer; of several violations the shortest one decides."""
        if self.violations:
            return exit_code_of(self.violations)
        if self.stopped is StopReason.INTERRUPTED:
            return ExitCode.INTERRUPTED
        return ExitCode.HOLDS if self.verdict is Verdict.HOLDS else ExitCode.TOO_LARGE
