"""What a level means: when its counts are committed, where a violated search stops, which violation is reported.

An engine expands one level at a time and reports totals; the ledger decides whether to go on.

A level is complete once all its states are known and every property is decided on it. Counts cover the complete levels
1..d: their states, and the firings from levels 1..d-1; once nothing new is found, also those of the last level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from operator import add

from acked.base.frozen import frozen
from acked.checker.question.question import OVERFLOW_BIT, Question
from acked.checker.question.result import ActionCount, Result, StopReason, Violation, Words


@unique
class StopPolicy(Enum):
    """When a search ends before the space does.

    >>> unheld = invariant("Unheld", "end[0] == 0")
    >>> result = check(ask(toylog, nobody_lags, unheld, brokers=2, records=1), policy=StopPolicy.EVERY_PROPERTY)
    >>> result.violated
    {'NobodyLags': 2, 'Unheld': 2}
    """

    FIRST_VIOLATION = "report the shortest violation"
    EVERY_PROPERTY = "go on, and report one shortest violation of every property"
    UNTIL_DECIDED = "the same, but end as soon as every property is violated"


_ALL_SEEN = (StopReason.COMPLETE, StopReason.BUDGET)


@frozen
class LevelReport:
    """One expanded level, or one worker's part of it.

    `enabled` and `new` count by action instance; the least violations stand by kernel position and by check bit.
    `is_expanded` is False if memory ended first: all states were checked, but not all successors are known.
    """

    states: int
    next_states: int
    enabled: tuple[int, ...]
    new: tuple[int, ...]
    bad_states: dict[int, Words]
    bad_steps: dict[int, tuple[Words, int]]
    is_expanded: bool = True

    @classmethod
    def of(cls, parts: Sequence[LevelReport]) -> LevelReport:
        """The report of a level from those of the workers that share it; the order of the workers does not matter."""
        if len(parts) == 1:
            return parts[0]
        bad_states: dict[int, Words] = {}
        bad_steps: dict[int, tuple[Words, int]] = {}
        for part in parts:
            for p, words in part.bad_states.items():
                bad_states[p] = min(bad_states.get(p, words), words)
            for bit, edge in part.bad_steps.items():
                bad_steps[bit] = min(bad_steps.get(bit, edge), edge)
        return cls(
            states=sum(part.states for part in parts),
            next_states=sum(part.next_states for part in parts),
            enabled=tuple(map(sum, zip(*(part.enabled for part in parts), strict=True))),
            new=tuple(map(sum, zip(*(part.new for part in parts), strict=True))),
            bad_states=bad_states,
            bad_steps=bad_steps,
            is_expanded=all(part.is_expanded for part in parts),
        )


@frozen
class Finding:
    """The canonical violation of a property: a state of level `depth`, or the edge from one by an action instance."""

    position: int
    depth: int
    state: Words
    action: int | None

    @property
    def trace_length(self) -> int:
        """States in the trace."""
        return self.depth + (self.action is not None)


@frozen
class _Counts:
    sizes: tuple[int, ...] = ()
    enabled: tuple[int, ...] = ()
    new: tuple[int, ...] = ()

    def plus(self, enabled: Sequence[int], new: Sequence[int]) -> _Counts:
        return _Counts(
            self.sizes,
            tuple(map(add, self.enabled, enabled)),
            tuple(map(add, self.new, new)),
        )


class LeavesDomain(Exception):
    """A step of the level that is committed leaves a field's domain.

    Raised through the engine, which looks for the way there when its workers have ended: on Spark they hold the slots.
    """

    def __init__(self, found: Finding) -> None:
        super().__init__(found)
        self.found = found


@dataclass
class Ledger:
    """Commits levels one by one and decides when to stop."""

    question: Question
    policy: StopPolicy
    max_depth: int | None = None
    max_states: int | None = None
    findings: dict[int, Finding] = field(default_factory=dict)
    met: dict[int, int] = field(default_factory=dict)
    """By position of a probe: the first level that has a state, or the source of a step, that meets it."""
    undecided: tuple[str, ...] = ()
    """Properties of the whole graph that only a bound of the model keeps from holding."""
    stopped: StopReason | None = None
    _counts: _Counts = field(default_factory=_Counts)
    _pending: LevelReport | None = None
    _tie: tuple[_Counts, Finding] | None = None

    def __post_init__(self) -> None:
        zero = (0,) * len(self.question.instance.actions)
        self._counts = _Counts((), zero, zero)

    @property
    def depth(self) -> int:
        """Complete levels."""
        return len(self._counts.sizes)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """States of every complete level."""
        return self._counts.sizes

    @property
    def distinct_states(self) -> int:
        """States of the complete levels."""
        return sum(self._counts.sizes)

    @property
    def generated_states(self) -> int:
        """Initial states and firings covered by the counts."""
        return sum(self._counts.sizes[:1]) + sum(self._counts.enabled)

    @property
    def fired(self) -> tuple[int, ...]:
        """By action instance, the firings covered by the counts."""
        return self._counts.enabled

    def action_counts(self) -> dict[str, ActionCount]:
        """Firings by action name, instances added up, every action of the protocol listed."""
        instance = self.question.instance
        counts = {item.name: ActionCount() for item in instance.action_rules}
        for item, enabled, new in zip(instance.actions, self._counts.enabled, self._counts.new, strict=True):
            old = counts[item.action.name]
            counts[item.action.name] = ActionCount(old.enabled + enabled, old.new + new)
        return counts

    def probes_met(self) -> dict[str, int | None]:
        """By name of a probe: the first level that meets it, or None."""
        return {probe.name: self.met.get(position) for position, probe in enumerate(self.question.probes)}

    def findings_to_report(self) -> list[Finding]:
        """The violations to report, shortest first, ties by the spec's order."""
        ordered = sorted(self.findings.values(), key=lambda found: (found.trace_length, found.position))
        # Once all states were seen, what the whole graph says of the other properties is known, too.
        is_first_only = self.policy is StopPolicy.FIRST_VIOLATION and self.stopped not in _ALL_SEEN
        return ordered[:1] if is_first_only else ordered

    def result(
        self,
        engine: str,
        workers: int,
        violations: Sequence[Violation],
        *,
        seconds: float,
        memory_bytes: int,
        notes: Sequence[str] = (),
        stored_levels: int = 0,
    ) -> Result:
        """The answer of a search that has ended, whichever engine's; `violations` are those to report, with their runs."""
        assert self.stopped is not None
        return Result(
            question=self.question,
            engine=engine,
            workers=workers,
            stopped=self.stopped,
            distinct_states=self.distinct_states,
            generated_states=self.generated_states,
            depth=self.depth,
            level_sizes=self.level_sizes,
            actions=self.action_counts(),
            violations=tuple(violations),
            seconds=seconds,
            memory_bytes=memory_bytes,
            notes=tuple(notes),
            stored_levels=stored_levels,
            undecided=self.undecided,
            probes=self.probes_met(),
        )

    def add_graph_violations(self, violated: Mapping[int, Finding | None]) -> None:
        """Adds the graph properties that do not hold; None for those that only a bound of the model violates."""
        self.findings.update({position: found for position, found in violated.items() if found is not None})
        self.undecided = tuple(self.question.properties[at].name for at, found in violated.items() if found is None)
        if self.undecided:
            self.stopped = StopReason.BUDGET

    def interrupt(self) -> list[str]:
        """Ends the search for Ctrl-C; what there is to note about it."""
        names = ", ".join(self.question.properties[at].name for at in self.findings)
        self.abandon(StopReason.INTERRUPTED)
        return [f"{names} is violated, but the search was interrupted before the trace was rebuilt"] if names else []

    def commit(self, report: LevelReport) -> bool:
        """Takes an expanded level into account; whether to expand the next one."""
        if not self._take(report):
            return False
        if not report.is_expanded:
            self.abandon(StopReason.MEMORY)
        elif self.max_states is not None and sum(self.level_sizes) + report.next_states > self.max_states:
            self.abandon(StopReason.MAX_STATES)
        return self.stopped is None

    def _take(self, report: LevelReport) -> bool:
        if self._pending is not None:
            self._counts = self._counts.plus(self._pending.enabled, self._pending.new)
        self._counts = _Counts((*self._counts.sizes, report.states), self._counts.enabled, self._counts.new)
        self._pending = report
        if OVERFLOW_BIT in report.bad_steps:
            raise LeavesDomain(Finding(-1, self.depth, *report.bad_steps[OVERFLOW_BIT]))
        fresh = self._take_findings(report)
        # Of a level that was not expanded to its end, some successor is missing for sure.
        is_last = report.next_states == 0 and report.is_expanded
        if self._tie is not None:
            return self._break_tie(fresh)
        if fresh and self.policy is StopPolicy.FIRST_VIOLATION:
            least = self.findings_to_report()[0]
            if least.action is not None and self._may_tie(least) and not is_last and not self._at_max_depth:
                self._tie = (self._counts, least)
                return True
            return self._stop(StopReason.VIOLATION)
        is_decided = 0 < len(self.findings) == len(self.question.properties)
        if is_decided and self.policy is StopPolicy.UNTIL_DECIDED:
            return self._stop(StopReason.VIOLATION)
        if is_last:
            self._counts = self._counts.plus(report.enabled, report.new)
            return self._stop(StopReason.COMPLETE)
        if self._at_max_depth:
            return self._stop(StopReason.MAX_DEPTH)
        return True

    def abandon(self, reason: StopReason) -> None:
        """The engine gives up in the middle of a level, which does not count."""
        if self._tie is not None:
            self._break_tie([])
        else:
            self._stop(reason)

    @property
    def _at_max_depth(self) -> bool:
        return self.max_depth is not None and self.depth >= self.max_depth

    def _stop(self, reason: StopReason) -> bool:
        self.stopped = reason
        return False

    def _take_findings(self, report: LevelReport) -> list[Finding]:
        if not report.bad_states and not report.bad_steps:
            return []
        states, steps = len(self.question.state_properties), len(self.question.step_properties)
        probes = len(self.question.state_probes)
        met = [self.question.state_probes[p - states] for p in report.bad_states if states <= p < states + probes]
        met += [self.question.step_probes[bit - 1 - steps] for bit in report.bad_steps if bit > steps]
        for position in met:
            self.met.setdefault(position, self.depth)
        fresh = [
            Finding(self.question.state_properties[p], self.depth, words, None)
            for p, words in report.bad_states.items()
            if p < states
        ]
        fresh += [
            Finding(self.question.step_properties[bit - 1], self.depth, words, action)
            for bit, (words, action) in report.bad_steps.items()
            if OVERFLOW_BIT < bit <= steps
        ]
        fresh = [found for found in fresh if found.position not in self.findings]
        self.findings.update({found.position: found for found in fresh})
        return fresh

    def _may_tie(self, least: Finding) -> bool:
        """Whether an invariant that the spec names before this step property could fail in a trace of equal length."""
        return any(position < least.position for position in self.question.state_properties)

    def _break_tie(self, fresh: list[Finding]) -> bool:
        assert self._tie is not None
        counts, least = self._tie
        equal = [found for found in fresh if found.action is None and found.position < least.position]
        if equal:
            best = min(equal, key=lambda found: found.position)
            self.findings = {best.position: best}
        else:
            self.findings = {least.position: least}
            self._counts = counts
        return self._stop(StopReason.VIOLATION)
