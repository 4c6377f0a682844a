"""The rows of a hunt's table: sightings of one loss together, what is new first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, unique

from acked.base.frozen import frozen
from acked.checker.batch.outcome import Task
from acked.checker.spec.question_text import QuestionText
from acked.hunt.playing.outcome import Played
from acked.hunt.search.hunt import Hunt, Sighting, Tally, faults_of
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.runs.sentences import sentences_of
from acked.reports.shell.bundled import broker_outcomes

OF_PRODUCERS = ("retries", "idempotence")
"""What users set beside the settings that a question tells apart."""


@unique
class State(Enum):
    """What a row is: new; a known defect or surprise; or what a setting or a fault is documented to cost."""

    NEW = "new"
    OPEN = "known, open"
    COST = "known, documented"


@frozen
class HuntRow:
    """One loss: the promises that it breaks, under which faults and settings its shortest trace was found, how often seen.

    `known_as` is empty of what is new. `played` is what real brokers did, `story` the shortest trace in sentences, the last
    one what it breaks. `is_shortest` is false where no shorter trace was looked for in every state.
    """

    state: State
    known_as: str
    title: str
    protocol: str
    promises: tuple[str, ...]
    faults: tuple[str, ...]
    settings: Mapping[str, int | str]
    length: int
    is_shortest: bool
    questions: int
    played: str
    story: tuple[str, ...]
    sighting: Sighting


@frozen
class Hunted:
    """A whole hunt: the release, how far it got, and its rows; `reason` says why it ended, empty if everything was asked."""

    release: str
    plane: str
    seed: int
    tally: Tally
    rows: tuple[HuntRow, ...]
    reason: str = ""

    def count(self, state: State) -> int:
        """How many different losses of a state there are: rows of one known loss count once."""
        rows = [row for row in self.rows if row.state is state]
        return len(rows) if state is State.NEW else len({row.known_as for row in rows})


def state_of(sighting: Sighting) -> State:
    """What a sighting is."""
    if sighting.known is None:
        return State.NEW
    return State.OPEN if sighting.known.is_open else State.COST


def rows_of(hunt: Hunt, played: Mapping[tuple[str, ...], Played]) -> tuple[HuntRow, ...]:
    """A row for each new loss, for each open one under each set of faults, and for each documented cost."""
    groups: dict[tuple[object, ...], list[tuple[str, ...]]] = {}
    for key, sighting in hunt.sightings.items():
        state = state_of(sighting)
        apart = {State.NEW: key, State.OPEN: (key[0], key[2], *key[3:]), State.COST: (key[0], key[2])}
        groups.setdefault((state, *apart[state]), []).append(key)
    rows = [_row(hunt, keys, played) for keys in groups.values()]
    order = [*State]
    return tuple(sorted(rows, key=lambda row: (order.index(row.state), row.protocol, row.known_as, row.length, row.faults)))


def _row(hunt: Hunt, keys: Iterable[tuple[str, ...]], played: Mapping[tuple[str, ...], Played]) -> HuntRow:
    found = {key: hunt.sightings[key] for key in keys}
    protocol = PROTOCOLS[next(iter(found))[0]]
    order = list(properties_of(protocol))
    first = min(found, key=lambda key: (order.index(key[1]), found[key].loss.run.trace_length))
    sighting = found[first]
    loss, known = sighting.loss, sighting.known
    declared = {item.name: item for item in protocol.constants}
    constants, settings = dict(loss.constants), dict(sighting.question.settings)
    story = sentences_of(Task(QuestionText(protocol.name, loss.constants, (loss.promise,))), loss.run)
    return HuntRow(
        state_of(sighting),
        "" if known is None else known.id,
        "" if known is None else known.title,
        protocol.name,
        tuple(sorted({key[1] for key in found}, key=order.index)),
        faults_of(sighting),
        {name: declared[name].show(constants[name]) for name in (*settings, *OF_PRODUCERS) if name in constants},
        len(loss.run.fired),
        loss.is_shortest,
        sum(hunt.counts[key] for key in found),
        _played(sighting, played.get(first)),
        (*story.steps, story.happened),
        sighting,
    )


def _played(sighting: Sighting, played: Played | None) -> str:
    if played is not None:
        if not played.times:
            return f"not played: {played.reason}"
        beside = f"; one event apart {played.apart} of {played.times_apart}" if played.times_apart else ""
        return f"lost {played.lost} of {played.times}{beside}" + (f"; {played.reason}" if played.reason else "")
    if sighting.known is None:
        return "not played"
    outcomes = broker_outcomes()
    known = (outcomes.get(name.rpartition("/")[2]) for name in sighting.known.specs)
    return next((text for text in known if text), "not played")
