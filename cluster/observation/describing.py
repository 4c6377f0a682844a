"""What brokers and the controller hold in a state, in words with the brokers' own ids, and what a line says of it."""

from __future__ import annotations

from acked.cluster.observation.events import Event, value_in_words
from acked.cluster.observation.moves import Move, Statement
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State

_BROKERS = ("leader", "follower", "broker")
"""Parameters of steps that name brokers."""


def step_in_words(subject: Subject, item: Move) -> str:
    """A step with the brokers' own ids."""
    told = [f"{name} {subject.brokers[v] if isinstance(v, int) and name in _BROKERS else v}" for name, v in item.bound]
    return f"{item.action}({', '.join(told)})"


def involved_in_words(subject: Subject, item: Move, state: State) -> str:
    """What the brokers of a step, and the controller, hold in a state."""
    involved = dict.fromkeys(value for name, value in item.bound if name in _BROKERS)
    told = [_broker_in_words(subject, state, index) for index in involved if isinstance(index, int)]
    leader = subject.brokers[state[subject.leader] - 1] if state[subject.leader] else "nobody"
    isr = value_in_words(subject.members(state[subject.isr]))
    return "; ".join([*told, f"the controller has leader {leader} in epoch {state[subject.epoch]} and ISR {isr}"])


def _broker_in_words(subject: Subject, state: State, index: int) -> str:
    """What a broker holds."""
    place, brokers = subject.at[index], subject.brokers
    if state[place.down]:
        return f"broker {brokers[index]} is down with log end {state[place.end]} and HW {state[place.hw]}"
    leader = brokers[state[place.leader] - 1] if state[place.leader] else "nobody"
    epoch = state[place.epoch] - 1 if state[place.epoch] else "none"
    text = f"broker {brokers[index]} has log end {state[place.end]}, HW {state[place.hw]}, leader epoch {epoch}, "
    text += f"leader {leader}"
    if state[place.leader] == index + 1:
        known = {brokers[r]: state[leaf] - 1 for r, leaf in enumerate(place.known) if state[leaf]}
        pending = subject.members(state[place.pending])
        text += f", ISR {value_in_words(subject.members(state[place.isr]))}, known log ends {known}"
        text += f", asked for ISR {value_in_words(pending)}" if pending else ""
    return text


def _code_in_words(subject: Subject, leaf: int, code: int) -> str:
    """What a code says at its place in a state."""
    concrete = subject.concrete
    value = concrete.layout.leaves[leaf].domain.to_plain(code, concrete.constants)
    if isinstance(value, list):
        return value_in_words(subject.members(code))
    if isinstance(value, int) and concrete.layout.leaves[leaf].path[-1] == "leader":
        return str(subject.brokers[value])
    return str(value)


def has_code(subject: Subject, leaf: int, code: int, what: str, told: object, before: bool = False) -> Statement:
    """That a leaf of the state has a code, before or after the steps; `what` and `told` are what the line says of it."""

    def check(was: State, now: State) -> str | None:
        found = was[leaf] if before else now[leaf]
        if found == code:
            return None
        return f"the line says {what} {value_in_words(told)}, and by the rules it is {_code_in_words(subject, leaf, found)}"

    return check


def cuts_far_enough(truncates: Event) -> Statement:
    """That a log is cut to where the leader's epoch ends, or further (`AbstractFetcherThread.getOffsetTruncationState`)."""
    to, most = truncates["to"], truncates.get("most")
    wrong = None if most is None or to <= most else f"the leader's log is told to go to {most}, and the cut is to {to}"
    return lambda *_: wrong
