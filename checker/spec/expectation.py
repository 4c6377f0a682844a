"""What a spec expects, and in what an answer departs from it.

`Expectation`, and `Departure` with the closed list of its reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, unique
from typing import Protocol as Interface

from acked.base.frozen import frozen
from acked.checker.question.result import StopReason, Verdict
from acked.checker.question.user_properties import reach_lengths


@unique
class Reason(Enum):
    """Why a gate is red; the values are the names in documents."""

    NO_SPEC = "no-spec"
    UNREADABLE = "unreadable"
    NO_EXPECTATION = "no-expectation"
    NO_ANSWER = "no-answer"
    INCOMPLETE = "incomplete"
    VERDICT = "verdict"
    PROPERTY = "property"
    LONGER_TRACE = "longer-trace"
    SHORTER_TRACE = "shorter-trace"
    COUNT = "count"
    FLOOR = "floor"
    NEVER_FIRED = "never-fired"
    FIRED = "fired"
    VACUOUS = "vacuous"
    UNREACHED = "unreached"
    REACHED = "reached"


@frozen
class Departure:
    """One thing that is not as expected: the reason, a sentence, and the spec's key that speaks of it."""

    reason: Reason
    sentence: str
    key: str = ""


class Facts(Interface):
    """What an expectation is compared with: a `Result` or an `Outcome`."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def stopped(self) -> StopReason: ...
    @property
    def distinct_states(self) -> int: ...
    @property
    def generated_states(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def reported(self) -> Mapping[str, int]: ...
    @property
    def violated(self) -> Mapping[str, int]: ...
    @property
    def never_fired(self) -> Sequence[str]: ...
    @property
    def probes(self) -> Mapping[str, int | None]: ...


@frozen
class Expectation:
    """What a spec says the answer is; None where it says nothing. `violates` names every violated property.

    `holds` names properties that must be asked and not be violated, so that none can be taken out of [check] unnoticed.
    """

    verdict: Verdict
    violates: tuple[str, ...] = ()
    trace_length: int | None = None
    distinct_states: int | None = None
    generated_states: int | None = None
    depth: int | None = None
    never_fired: tuple[str, ...] = ()
    at_least_distinct_states: int | None = None
    holds: tuple[str, ...] = ()
    budget: bool = False
    """Whether the search is expected to be incomplete for no other reason than a bound of the model."""
    overflow: bool = False
    """Whether there is expected to be no answer, because a step leaves the domain of a field."""
    unreachable: tuple[str, ...] = ()
    """Of what the spec looks for: what no reachable state is expected to be; everything else is expected to be reached."""

    def differences(self, found: Facts) -> list[str]:
        """How an answer differs, one sentence each; nothing if it meets the expectation.

        Where it is open only what no further search could put right, such as a violation that is not expected.
        """
        if self.is_open(found):
            return self._settled_differences(found)
        return [departure.sentence for departure in self.departures(found)]

    def is_open(self, found: Facts) -> bool:
        """Whether a search ended so early that what it has not found says nothing: by an interruption, or at a bound that its
        user has set where the spec expects an answer."""
        is_bounded = found.verdict is Verdict.INCOMPLETE and found.stopped in (StopReason.MAX_DEPTH, StopReason.MAX_STATES)
        return found.stopped is StopReason.INTERRUPTED or (is_bounded and self.verdict is not Verdict.INCOMPLETE)

    def _settled_differences(self, found: Facts) -> list[str]:
        """What differs already, however the search would have gone on."""
        sentences = []
        if found.violated:
            unexpected = [name for name in found.reported if self.violates and name not in self.violates]
            if self.verdict is not Verdict.VIOLATED:
                sentences.append(f"verdict is {found.verdict.value}, expected {self.verdict.value}")
            elif unexpected:
                sentences.append(f"violated: {', '.join(unexpected)}; expected: {', '.join(self.violates)}")
            if broken := [name for name in self.holds if name in found.violated]:
                sentences.append(f"violated: {', '.join(broken)}; expected to hold")
            # Levels are searched one after the other, so the first counterexample is a shortest one.
            sentences += [item.sentence for item in self._pin_departures(found) if item.key == "expect.trace_length"]
        counts = (
            ("distinct_states", found.distinct_states, self.distinct_states),
            ("generated_states", found.generated_states, self.generated_states),
            ("depth", found.depth, self.depth),
        )
        sentences += [
            f"{name} is {got} already, expected {want}" for name, got, want in counts if want is not None and got > want
        ]
        sentences += [departure.sentence for departure in self._reach_departures(found) if departure.reason is Reason.REACHED]
        return sentences

    def departures(self, found: Facts) -> list[Departure]:
        """How an answer differs, with reasons; nothing if it meets the expectation."""
        if self.overflow:
            sentence = f"verdict is {found.verdict.value}, expected a step that leaves the domain of its field"
            return [Departure(Reason.VERDICT, sentence, "expect.verdict")]
        departures = [*self._verdict_departures(found), *self._pin_departures(found)]
        return [*departures, *self._action_departures(found), *self._reach_departures(found)]

    def _verdict_departures(self, found: Facts) -> list[Departure]:
        departures = []
        if found.verdict is not self.verdict:
            reason = Reason.INCOMPLETE if found.verdict is Verdict.INCOMPLETE else Reason.VERDICT
            sentence = f"verdict is {found.verdict.value}, expected {self.verdict.value}"
            departures.append(Departure(reason, sentence, "expect.verdict"))
        elif self.budget and found.stopped is not StopReason.BUDGET:
            sentence = f"incomplete because {found.stopped.value}, expected: because a bound of the model is spent"
            departures.append(Departure(Reason.INCOMPLETE, sentence, "expect.verdict"))
        if self.violates and set(found.reported) != set(self.violates):
            sentence = f"violated: {', '.join(found.reported) or 'nothing'}; expected: {', '.join(self.violates)}"
            departures.append(Departure(Reason.PROPERTY, sentence, "expect.violates"))
        elif broken := [name for name in self.holds if name in found.violated]:
            sentence = f"violated: {', '.join(broken)}; expected to hold"
            departures.append(Departure(Reason.PROPERTY, sentence, "expect.holds"))
        return departures

    def _pin_departures(self, found: Facts) -> list[Departure]:
        shortest = min(found.violated.values(), default=None)
        trace = Reason.COUNT
        if shortest is not None and self.trace_length is not None:
            trace = Reason.LONGER_TRACE if shortest > self.trace_length else Reason.SHORTER_TRACE
        pins = (
            ("distinct_states", found.distinct_states, self.distinct_states, Reason.COUNT),
            ("generated_states", found.generated_states, self.generated_states, Reason.COUNT),
            ("depth", found.depth, self.depth, Reason.COUNT),
        )
        departures = [
            Departure(reason, f"{name} is {got}, expected {want}", f"expect.{name}")
            for name, got, want, reason in pins
            if want is not None and got != want
        ]
        if self.trace_length is not None and shortest != self.trace_length:
            length = "there is no counterexample"
            if shortest is not None:
                length = f"the shortest counterexample has {_steps(shortest)}"
            sentence = f"{length}, expected {_steps(self.trace_length)} (trace_length = {self.trace_length} states)"
            departures.insert(0, Departure(trace, sentence, "expect.trace_length"))
        floor = self.at_least_distinct_states
        if floor is not None and found.distinct_states < floor:
            sentence = f"distinct_states is {found.distinct_states}, expected at least {floor}"
            departures.append(Departure(Reason.FLOOR, sentence, "expect.at_least_distinct_states"))
        return departures

    def _action_departures(self, found: Facts) -> list[Departure]:
        if self.verdict is not Verdict.HOLDS or found.stopped is not StopReason.COMPLETE:
            return []
        departures = []
        if silent := set(found.never_fired) - set(self.never_fired):
            sentence = f"never fired: {', '.join(sorted(silent))}; list them in never_fired if that is meant"
            departures.append(Departure(Reason.NEVER_FIRED, sentence, "expect.never_fired"))
        if fired := set(self.never_fired) - set(found.never_fired):
            sentence = f"fired: {', '.join(sorted(fired))}; expected never to fire"
            departures.append(Departure(Reason.FIRED, sentence, "expect.never_fired"))
        return departures

    def _reach_departures(self, found: Facts) -> list[Departure]:
        departures = []
        for name, length in reach_lengths(found.probes.items()).items():
            key = "expect.unreachable" if name in self.unreachable else f"reach.{name}"
            if length is not None and name in self.unreachable:
                sentence = f"{name} is reached in {_steps(length)}; expected to be unreachable"
                departures.append(Departure(Reason.REACHED, sentence, key))
            elif length is None and found.stopped is not StopReason.COMPLETE:
                sentence = f"whether {name} can be reached is not decided: {found.stopped.value}"
                departures.append(Departure(Reason.INCOMPLETE, sentence, key))
            elif length is None and name not in self.unreachable:
                sentence = f"{name} is unreachable; list it in unreachable if that is meant"
                departures.append(Departure(Reason.UNREACHED, sentence, key))
        return departures


def _steps(states: int) -> str:
    """The length of a trace of so many states."""
    return "1 step" if states == 2 else f"{states - 1} steps"
