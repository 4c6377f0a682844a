"""The picture of `share`: the log, what leaders know of its records, what the share coordinator keeps, who was given what.

Everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a part that the
configuration turns off has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from acked.model.language.protocol import Instance
from acked.model.language.telling import CONSUMER, CONTROLLER, PRODUCER, Sort
from acked.model.share.common import COORDINATOR
from acked.model.share.protocol import share
from acked.model.share.state import ACKNOWLEDGED, ACQUIRED, ARCHIVED, EXPIRED, NO_LOCK, OPEN, RUNNING, SPENT, TOLD, UNKNOWN
from acked.reports.pictures.picture import (
    Badge,
    Box,
    Cell,
    Explained,
    Fact,
    Look,
    Marker,
    MarkerKind,
    Moment,
    Picture,
    Pictures,
    Row,
    Sign,
    State,
    Tone,
)

Given = tuple[str, ...]
"""For every record how often a run has given it to a consumer so far, and by whom, in words."""

_FINAL = (ACKNOWLEDGED, ARCHIVED)


def _records(state: State) -> int:
    return len(state["fate"]) - 1


def _written(state: State) -> int:
    written: int = state.get("produced", _records(state))
    return written


def _leader(epoch: int) -> str:
    return f"leader e{epoch}"


# -- rows -----------------------------------------------------------------------------------------------------------------


def _log(state: State) -> Row:
    written = _written(state)
    cells = [Cell(o, f"r{o}" if o < written else None, None, False, state["fate"][o] == TOLD) for o in range(_records(state))]
    first = [] if state.get("first") is None else [Marker(MarkerKind.OTHER, "the group began at", state["first"])]
    badges = [Badge(f"skipped {o}", f"r{o} is skipped", Tone.WRONG) for o in _skipped(state)]
    badges += [Badge(f"again {o}", f"r{o} is to be delivered again", Tone.WRONG) for o in _again(state)]
    return Row("log", "log", None, tuple(cells), (*first, Marker(MarkerKind.LOG_END, "log end", written)), tuple(badges))


def _known(record: State) -> str | None:
    """What is known of a record, with its delivery count; with … what is not there for good."""
    if record["state"] == UNKNOWN:
        return None
    return f"{record['state']} ×{record['count']}{'…' if record.get('settling') else ''}"


def _leader_row(state: State, epoch: int) -> Row:
    mine = state["leader"][epoch - 1]
    cells = [Cell(o, _known(mine["record"][o]), None) for o in range(_records(state))]
    markers = [Marker(MarkerKind.OTHER, "start", mine["start"]), Marker(MarkerKind.LOG_END, "end", mine["end"])]
    return Row(
        _leader(epoch), _leader(epoch), None, tuple(cells), tuple(markers) if mine["active"] else (),
        tuple(_badges(state, epoch)),
    )  # fmt: skip


def _badges(state: State, epoch: int) -> Iterator[Badge]:
    mine = state["leader"][epoch - 1]
    if epoch > state["epoch"]:
        yield Badge("leads", "not elected", Tone.ABSENT)
    elif epoch == state["epoch"]:
        yield Badge("leads", "leads", Tone.STRONG)
    elif mine["active"]:
        yield Badge("leads", "former, goes on", Tone.WRONG)
    else:
        yield Badge("leads", "former", Tone.ABSENT)
    if epoch == state["epoch"] and not mine["active"]:
        yield Badge("reads", "has read nothing", Tone.ABSENT)
    for o in _locked_for_ever(mine):
        yield Badge(f"lock {o}", f"r{o}'s lock never ends", Tone.WRONG)
    for o in range(_records(state)):
        if mine["record"][o]["lock"] == EXPIRED and o not in _locked_for_ever(mine):
            yield Badge(f"lock {o}", f"r{o}'s lock is over", Tone.ASIDE)
    for at, write in enumerate(mine["writes"]["records"]):
        awaited = "" if write["awaited"] else ", not awaited"
        text = f"writes r{write['offset']} {write['state']} ×{write['count']}, start {write['start']}{awaited}"
        yield Badge(f"write {at}", text, Tone.PENDING)


def _kept(state: State) -> Row:
    cells = [Cell(o, _known(state["kept"][o]), None) for o in range(_records(state))]
    start = state["kept_start"]
    markers = () if start is None else (Marker(MarkerKind.OTHER, "start", start),)
    nothing = [Badge("start", "no start offset", Tone.ABSENT)] if start is None else []
    fences = f"read by epoch {state['kept_epoch']}, refuses older ones" if state["kept_epoch"] > 1 else "refuses nobody"
    return Row(
        COORDINATOR.name, COORDINATOR.name, None, tuple(cells), markers, (*nothing, Badge("fences", fences, Tone.ASIDE))
    )  # fmt: skip


# -- who was given what ----------------------------------------------------------------------------------------------------


def _is_given(before: State, after: State, epoch: int, offset: int) -> bool:
    """A leader has delivered the record in this step: it is acquired once more often."""
    was, now = before["leader"][epoch]["record"][offset], after["leader"][epoch]["record"][offset]
    return bool(now["state"] == ACQUIRED and now["lock"] != NO_LOCK and now["count"] > was["count"])


def _remember(moment: Moment) -> Given:
    """Who has delivered each record, up to a moment of a run."""
    after, before = moment.after, moment.before
    old: Given = moment.memory or ("",) * _records(after)
    if before is None:
        return old
    found: list[str] = []
    for o, was in enumerate(old):
        by = [e for e in range(len(after["leader"])) if _is_given(before, after, e, o)]
        now = [f"by epoch {e + 1} ×{after['leader'][e]['record'][o]['count']}" for e in by]
        found.append(", ".join([was, *now] if was else now))
    return tuple(found)


def _consumers(state: State, given: Given) -> Box:
    facts = [Fact(f"given {o}", f"given r{o} {who}") for o, who in enumerate(given) if who]
    facts += [Fact(f"told {o}", f"told that r{o} is settled", Tone.STRONG) for o, fate in _fates(state) if fate == TOLD]
    facts += [Fact(f"spent {o}", f"r{o}'s deliveries are used up", Tone.STRONG) for o, fate in _fates(state) if fate == SPENT]
    for o, times in enumerate(state.get("times", ())[: _records(state)]):
        if times:
            facts.append(Fact(f"times {o}", f"r{o} came {times} times, the last count is {state['shown'][o]}"))
    return Box(CONSUMER.name, CONSUMER.name, None, tuple(facts) or (Fact("given", "given nothing", Tone.ABSENT),))


def _fates(state: State) -> list[tuple[int, str]]:
    return [(o, state["fate"][o]) for o in range(_records(state))]


# -- what exactly violates a property --------------------------------------------------------------------------------------


def _newest(state: State) -> State:
    mine: State = state["leader"][state["epoch"] - 1]
    return mine


def _is_awaited(mine: State, offset: int) -> bool:
    return any(write["awaited"] and write["offset"] == offset for write in mine["writes"]["records"])


def _passed(state: State) -> list[int]:
    """The records that the newest leader is past, or that are final to it."""
    mine = _newest(state)
    if not mine["active"]:
        return []
    return [o for o in range(_written(state)) if o < mine["start"] or mine["record"][o]["state"] in _FINAL]


def _first(state: State) -> int:
    first: int = state["first"] if state.get("first") is not None else 0
    return first


def _skipped(state: State) -> list[int]:
    mine = _newest(state)
    return [o for o in _passed(state) if o >= _first(state) and state["fate"][o] == OPEN and not _is_awaited(mine, o)]


def _gaps(state: State) -> list[int]:
    mine, first = _newest(state), _first(state)
    places = range(mine["start"], mine["end"])
    return [o for o in places if mine["record"][o]["state"] == UNKNOWN and state["fate"][o] == OPEN and o >= first]


def _again(state: State) -> list[int]:
    mine, passed = _newest(state), _passed(state)
    return [o for o in range(_written(state)) if mine["active"] and state["fate"][o] == TOLD and o not in passed]


def _locked_for_ever(mine: State) -> list[int]:
    states = enumerate(mine["record"])
    return [o for o, one in states if one["state"] == ACQUIRED and not one["settling"] and one["lock"] != RUNNING]


def _points_at_again(state: State) -> Iterator[str]:
    for o in _again(state):
        yield f"a consumer was told that record {o} is settled, and the leader of epoch {state['epoch']} delivers it again"


def _points_at_skipped(state: State) -> Iterator[str]:
    for o in [*_skipped(state), *_gaps(state)]:
        yield f"nobody has acknowledged record {o}, and the leader of epoch {state['epoch']} delivers it to nobody"


def _points_at_locks(state: State) -> Iterator[str]:
    for o in _locked_for_ever(_newest(state)):
        yield f"a consumer has record {o}, and no timer of its lock runs"


def _points_at_deliveries(state: State) -> Iterator[str]:
    most = max(state["times"])
    return (f"record {o} was delivered {times} times" for o, times in enumerate(state["times"]) if times == most)


def _points_at_counts(state: State) -> Iterator[str]:
    mine = _newest(state)
    for o, shown in enumerate(state["shown"]):
        count = mine["record"][o]["count"]
        if count + 1 < shown and o >= mine["start"]:
            yield f"record {o} was shown with delivery count {shown}, and comes next with {count + 1}"


_IN_STATE: dict[str, Callable[[State], Iterator[str]]] = {
    "AcknowledgedRecordsStay": _points_at_again,
    "NoRecordIsSkipped": _points_at_skipped,
    "LocksEnd": _points_at_locks,
    "DeliveriesAreLimited": _points_at_deliveries,
    "DeliveryCountsNeverFall": _points_at_counts,
}


class SharePictures(Pictures):
    """The provider of `share`."""

    protocol = share
    beginning = "initially no leader has read what is kept, and nothing is delivered"
    in_state = _IN_STATE
    look = Look(
        row="who",
        legend=(
            Explained(Sign.RECORD, "record 0", "r0"),
            Explained(Sign.LOG_END, "end of the log, or of what a leader has delivered"),
            Explained(Sign.ACKED, "a consumer was told that it is settled"),
            Explained(Sign.BADGE, "state and delivery count; … until its write is answered", "acquired ×1…"),
        ),
        first_badge=len("has read nothing"),
    )

    def name(self, sort: Sort, number: int) -> str:
        """A leader is known by its epoch."""
        return _leader(number)

    def tells(self, field: str) -> bool:
        """The picture shows every field."""
        return True

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, Given]:
        """The picture of a moment; who has delivered what is told over the run so far."""
        state, given = moment.after, _remember(moment)
        leaders: Sequence[Row] = [_leader_row(state, epoch + 1) for epoch in range(len(state["leader"]))]
        rows = (_log(state), *leaders, _kept(state))
        lanes = (CONTROLLER.name, PRODUCER.name, CONSUMER.name, *[row.name for row in leaders], COORDINATOR.name)
        return Picture(rows, (_consumers(state, given),), lanes), given


SHARE = SharePictures()
