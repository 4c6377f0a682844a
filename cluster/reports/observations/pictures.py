"""How states of a validated run are drawn: in the picture of the model, with stretches of offsets in the place of offsets.

Real logs have thousands of offsets. Between two neighbouring break points (log ends, high watermarks, starts of epochs, of
all states that are shown) every rule has one value, so a column stands for a whole stretch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State
from acked.model.language.telling import CONTROLLER, says_set
from acked.reports.pictures.picture import Badge, Box, Cell, Fact, Marker, MarkerKind, Picture, Row, Tone
from acked.reports.pictures.protocols.kafka import IN_ISR, KAFKA, LEADER, LEADERLESS, OUT_OF_ISR, STALE_LEADER, follows

_COLUMNS = 14
"""Stretches that are shown apart, the newest; what is below them is one."""


class Stretches:
    """The offsets of some states of one run as columns."""

    def __init__(self, subject: Subject, states: Iterable[State]) -> None:
        self._subject = subject
        points = {0}
        for state in states:
            for index, place in enumerate(subject.at):
                points |= {state[place.end], state[place.hw]}
                points |= {first for first, _ in subject.concrete.runs(state, index)}
        newest = sorted(points)
        self._points = newest if len(newest) <= _COLUMNS + 1 else [0, *newest[-_COLUMNS:]]

    def picture(self, state: State) -> Picture:
        """What brokers and the controller hold."""
        rows = tuple(self._row(state, index) for index in range(len(self._subject.brokers)))
        return Picture(rows, (self._controller(state),), ())

    def _row(self, state: State, index: int) -> Row:
        place, broker = self._subject.at[index], self._subject.brokers[index]
        runs = [(record[0], first) for first, record in self._subject.concrete.runs(state, index)]
        end, hw = state[place.end], state[place.hw]
        cells = []
        for column, (first, after) in enumerate(self._columns()):
            is_there = first < end
            last = min(after, end) - 1
            epochs = {next((epoch for epoch, start in reversed(runs) if start <= offset), None) for offset in (first, last)}
            epoch = epochs.pop() if is_there and len(epochs) == 1 else None
            name = (f"{first}" if last <= first else f"{first}-{last}") if is_there else None
            cells.append(Cell(column, name, epoch, is_there and last < hw))
        marks = (
            Marker(MarkerKind.HIGH_WATERMARK, f"high watermark {hw}", self._column(hw)),
            Marker(MarkerKind.LOG_END, f"log end {end}", self._column(end)),
        )
        epoch = state[place.epoch] - 1 if state[place.epoch] else None
        return Row(str(broker), name_of(broker), epoch, tuple(cells), marks, tuple(self._badges(state, index)))

    def _columns(self) -> list[tuple[int, int]]:
        return [*zip(self._points, self._points[1:], strict=False)]

    def _column(self, offset: int) -> int:
        return bisect_left(self._points, offset)

    def _badges(self, state: State, index: int) -> Iterator[Badge]:
        subject, place = self._subject, self._subject.at[index]
        yield IN_ISR if state[subject.isr] >> index & 1 else OUT_OF_ISR
        yield Badge("offsets", f"log end {state[place.end]}, HW {state[place.hw]}", Tone.ASIDE)
        if state[place.down]:
            yield Badge("down", "down", Tone.WRONG)
            return
        if state[subject.gone] >> index & 1:
            yield Badge("session", "no session", Tone.WRONG)
        leader = state[place.leader] - 1
        if leader < 0:
            yield LEADERLESS
        elif leader != index:
            yield follows(subject.brokers[leader])
        else:
            is_true = state[subject.leader] == index + 1 and state[place.epoch] == state[subject.epoch] + 1
            yield LEADER if is_true else STALE_LEADER
            known = {subject.brokers[other]: state[leaf] - 1 for other, leaf in enumerate(place.known) if state[leaf]}
            told = ", ".join(f"{broker}: {end}" for broker, end in known.items())
            yield Badge("known", f"knows log ends {told}", Tone.ASIDE)
            if state[place.pending]:
                yield Badge("pending", f"asked for ISR {_set(subject, state[place.pending])}")

    def _controller(self, state: State) -> Box:
        subject = self._subject
        leader = f"leader: broker {subject.brokers[state[subject.leader] - 1]}" if state[subject.leader] else "no leader"
        facts = (Fact("leader", leader), Fact("isr", f"ISR {_set(subject, state[subject.isr])}"))
        return Box(CONTROLLER.name, CONTROLLER.name, state[subject.epoch], facts)


def name_of(broker: int) -> str:
    """A broker's row and lane."""
    return f"{KAFKA.row} {broker}"


def _set(subject: Subject, mask: int) -> str:
    members: Sequence[int] = sorted(subject.members(mask))
    return says_set(list(members))
