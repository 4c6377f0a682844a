"""The picture of `compaction`: what was written, what is left of it on disk, segment by segment, and who reads or copies it.

Everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a part that the
configuration turns off has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acked.model.compaction.common import BROKER
from acked.model.compaction.deleting import FOLLOWER
from acked.model.compaction.protocol import compaction
from acked.model.compaction.state import ABORT, COMMIT, EMPTY, GONE, TOMBSTONE, VALUE, WHOLE
from acked.model.language.protocol import Instance
from acked.model.language.telling import CONSUMER, Sort
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

_WHAT_IS_LEFT = "on disk"

# -- what the log means -----------------------------------------------------------------------------------------------


def _end(state: State) -> int:
    end: int = state["log"]["end"]
    return end


def _start(state: State) -> int:
    start: int = state.get("start", 0)
    return start


def _hw(state: State) -> int:
    hw: int = state.get("hw", _end(state))
    return hw


def _batch(state: State, offset: int) -> State:
    batch: State = state["log"]["records"][offset]
    return batch


def _is_data(batch: State) -> bool:
    return batch["kind"] in (VALUE, TOMBSTONE)


def _is_transactional(batch: State) -> bool:
    return batch.get("producer") is not None


def _offsets(state: State) -> list[int]:
    return list(range(_end(state)))


def _whole(state: State) -> list[int]:
    return [o for o in _offsets(state) if _batch(state, o)["kept"] == WHOLE]


def _markers_after(state: State, offset: int) -> list[int]:
    """The markers that come after a record of the same producer, as they were written."""
    mine = _batch(state, offset)["producer"]
    others = [(o, _batch(state, o)) for o in range(offset + 1, _end(state))]
    return [o for o, other in others if not _is_data(other) and other["producer"] == mine]


def _outcome(state: State, offset: int) -> str | None:
    """Which marker ended the record's transaction; a record without one counts as committed, None is open."""
    if not _is_transactional(_batch(state, offset)):
        return COMMIT
    after = _markers_after(state, offset)
    if not after:
        return None
    outcome: str = _batch(state, after[0])["kind"]
    return outcome


def _ended_in_a_copy(state: State, offset: int) -> str | None:
    """Which marker ends it for who copies the log: the first that is left."""
    after = [o for o in _markers_after(state, offset) if _batch(state, o)["kept"] == WHOLE]
    if not after:
        return None
    outcome: str = _batch(state, after[0])["kind"]
    return outcome


def _last_stable(state: State) -> int:
    """Up to where consumers with read_committed may read."""
    end, hw = _end(state), _hw(state)
    records = [o for o in _offsets(state) if _is_data(_batch(state, o))]
    unstable = [o for o in records if _outcome(state, o) is None]
    unstable += [_batch(state, m)["first"] for m in range(hw, end) if not _is_data(_batch(state, m))]
    first = min([*unstable, end])
    return min(hw, max(first, _start(state)))


def _readable(state: State, outcome: str) -> list[int]:
    """The records that are on disk below the last stable offset, and whose transactions ended so."""
    until = _last_stable(state)
    return [
        o for o in _whole(state)
        if _start(state) <= o < until and _is_data(_batch(state, o)) and _outcome(state, o) == outcome
    ]  # fmt: skip


def _last_of_keys(state: State) -> list[tuple[int, int]]:
    """By key the last record that was committed and may be read: key and offset."""
    records = [(o, _batch(state, o)) for o in range(_start(state), _last_stable(state))]
    counted = [(o, batch["key"]) for o, batch in records if _is_data(batch) and _outcome(state, o) == COMMIT]
    return [(key, max([o for o, mine in counted if mine == key])) for key in sorted({key for _, key in counted})]


def _is_hidden(state: State, offset: int) -> bool:
    """The transaction index has consumers with read_committed pass it over."""
    mine = _batch(state, offset)["producer"]
    for m in range(_start(state), _end(state)):
        entry = _batch(state, m)
        if entry["indexed"] and entry["producer"] == mine and entry["first"] <= offset:
            over = [x for x in range(entry["first"], offset) if x in _whole(state) and _batch(state, x)["kind"] == ABORT]
            if not [x for x in over if _batch(state, x)["producer"] == mine]:
                return True
    return False


# -- rows and boxes ---------------------------------------------------------------------------------------------------


def _label(batch: State) -> str:
    of = f" P{batch['producer']}" if _is_transactional(batch) else ""
    if not _is_data(batch):
        return f"{batch['kind']}{of}"
    return f"k{batch['key']}{'' if batch['kind'] == VALUE else ' deleted'}{of}"


def _segment(state: State, offset: int) -> int:
    """The number of an offset's segment."""
    return len([o for o in range(1, offset + 1) if state["base"][o]])


def _cell(state: State, offset: int, is_left: bool) -> Cell:
    """What was written at an offset, or what is left of it there."""
    if offset >= _end(state):
        return Cell(offset, None, None)
    batch = _batch(state, offset)
    is_gone, is_empty = is_left and batch["kept"] == GONE, is_left and batch["kept"] == EMPTY
    label = None if is_gone else "empty" if is_empty else _label(batch)
    is_committed = _is_data(batch) and _outcome(state, offset) == COMMIT and not is_empty and not is_gone
    return Cell(offset, label, _segment(state, offset) if is_left else None, offset < _hw(state), is_committed)


def _written(state: State) -> Row:
    cells = tuple(_cell(state, o, False) for o in range(len(state["base"]) - 1))
    start = [Marker(MarkerKind.OTHER, "start", _start(state))] if _start(state) else []
    hw = [Marker(MarkerKind.HIGH_WATERMARK, "high watermark", state["hw"])] if "hw" in state else []
    stable = [Badge("stable", f"last stable offset {_last_stable(state)}", Tone.ASIDE)]
    badges = [*stable, *[Badge(text, text, Tone.WRONG) for text in _wrongs(state)]]
    markers = (*start, *hw, Marker(MarkerKind.LOG_END, "log end", _end(state)))
    return Row("written", "written", None, cells, markers, tuple(badges))


def _on_disk(state: State) -> Row:
    cells = tuple(_cell(state, o, True) for o in range(len(state["base"]) - 1))
    badges = [Badge("dirty", f"cleaned to {state['dirty']}", Tone.ASIDE)]
    for o in _offsets(state):
        batch = _batch(state, o)
        if batch.get("indexed"):
            badges.append(Badge(f"index {o}", f"the index hides P{batch['producer']} from {batch['first']}", Tone.ASIDE))
        if batch.get("horizon") is not None:
            badges.append(Badge(f"horizon {o}", f"{o} is kept for its age, since {batch['horizon']}", Tone.PENDING))
    begins = [o for o, is_base in enumerate(state["base"]) if is_base]
    segments = [Marker(MarkerKind.OTHER, f"segment {_segment(state, o)}", o) for o in begins]
    return Row("disk", _WHAT_IS_LEFT, None, cells, tuple(segments), tuple(badges))


def _follower(state: State) -> Row:
    mine = state["copy"]
    cells = tuple(
        _cell(state, o, False) if mine["start"] <= o < mine["end"] else Cell(o, None, None)
        for o in range(len(state["base"]) - 1)
    )
    start = [Marker(MarkerKind.OTHER, "start", mine["start"])] if mine["start"] else []
    badges = [Badge("stopped", "its fetcher has failed", Tone.WRONG)] if mine["has_stopped"] else []
    if mine["until"]:
        told = f", start {mine['told']}"
        badges.append(Badge("answer", f"up to {mine['until']} is on its way{told}", Tone.PENDING))
    return Row(
        FOLLOWER.name, FOLLOWER.name, None, cells, (*start, Marker(MarkerKind.LOG_END, "log end", mine["end"])), tuple(badges)
    )


def _broker(state: State) -> Box:
    known = [p for p, is_known in enumerate(state.get("known", ())) if is_known]
    facts = [Fact("time", f"time {state['now']}")]
    facts += [Fact(f"known {p}", f"remembers P{p}") for p in known]
    return Box(BROKER.name, BROKER.name, None, tuple(facts))


def _consumer(state: State) -> Box:
    scan = state["scan"]
    if not scan["has_begun"]:
        return Box(CONSUMER.name, CONSUMER.name, None, (Fact("position", "reads nothing", Tone.ABSENT),))
    facts = [Fact("position", f"is to read {scan['position']}"), Fact("since", f"began at time {scan['since']}", Tone.ASIDE)]
    facts += [Fact(f"key {key}", f"has a value of k{key}") for key, has in enumerate(state["believed"]) if has]
    return Box(CONSUMER.name, CONSUMER.name, None, tuple(facts))


# -- what exactly violates a property ---------------------------------------------------------------------------------


def _lost_values(state: State) -> Iterator[str]:
    for key, o in _last_of_keys(state):
        is_value = _batch(state, o)["kind"] == VALUE
        if is_value and o not in _whole(state):
            yield f"the last value of key {key}, at offset {o}, is gone"
        older = [x for x in _readable(state, COMMIT) if x < o and _batch(state, x)["key"] == key]
        values = [x for x in older if _batch(state, x)["kind"] == VALUE]
        if not is_value and o not in _whole(state) and values:
            yield f"key {key} was deleted at offset {o}, and its value at offset {values[0]} is read again"


def _aborted_read(state: State) -> Iterator[str]:
    for o in _readable(state, ABORT):
        if not _is_hidden(state, o):
            yield f"record {o} was aborted, and nothing in the transaction index hides it"
        if _ended_in_a_copy(state, o) == COMMIT:
            yield f"record {o} was aborted, and the marker that is left for who copies the log commits it"


def _committed_hidden(state: State) -> Iterator[str]:
    for o in _readable(state, COMMIT):
        if _is_transactional(_batch(state, o)):
            if _is_hidden(state, o):
                yield f"record {o} was committed, and the transaction index hides it"
            if _ended_in_a_copy(state, o) == ABORT:
                yield f"record {o} was committed, and the marker that is left for who copies the log aborts it"


def _hanging(state: State) -> Iterator[str]:
    left = [o for o in range(_start(state), _last_stable(state)) if _batch(state, o)["kept"] != GONE]
    for o in left:
        batch = _batch(state, o)
        if _is_data(batch) and _is_transactional(batch) and _ended_in_a_copy(state, o) is None:
            yield f"the transaction of record {o} is decided, and no marker is left that ends it"


def _kept_by_reader(state: State) -> Iterator[str]:
    for key, o in _last_of_keys(state):
        if _batch(state, o)["kind"] == TOMBSTONE and state["believed"][key]:
            yield f"the consumer has read all, and has a value of key {key}, which offset {o} deleted"


def _end_gone(state: State) -> Iterator[str]:
    end = _end(state)
    if end > _start(state) and _batch(state, end - 1)["kept"] == GONE:
        yield f"nothing is left of offset {end - 1}: who copies the log does not get to its end"


def _stopped(state: State) -> Iterator[str]:
    if state["copy"]["has_stopped"]:
        yield f"the follower was told of log start {_start(state)} with records up to {state['copy']['end']}, and stopped"


_IN_STATE: dict[str, Callable[[State], Iterator[str]]] = {
    "LastValuesStay": _lost_values,
    "AbortedRecordsStayHidden": _aborted_read,
    "CommittedRecordsStayReadable": _committed_hidden,
    "TransactionsEnd": _hanging,
    "ReadersSeeDeletions": _kept_by_reader,
    "CopiesCatchUp": _end_gone,
    "FollowersGoOn": _stopped,
}


def _wrongs(state: State) -> list[str]:
    """What is wrong with a log, whatever was asked; in few words."""
    found = [f"k{key} is not what was written last" for key, o in _last_of_keys(state) if _is_wrong(state, key, o)]
    if "known" in state:
        found += [f"aborted {o} is read" for o in _readable(state, ABORT) if not _is_hidden(state, o)]
        transactional = [o for o in _readable(state, COMMIT) if _is_transactional(_batch(state, o))]
        found += [f"committed {o} is hidden" for o in transactional if _is_hidden(state, o)]
    return found


def _is_wrong(state: State, key: int, offset: int) -> bool:
    """What a reader gets of a key is not its last record."""
    read = [x for x in _readable(state, COMMIT) if _batch(state, x)["key"] == key]
    last = read[-1] if read else None
    if _batch(state, offset)["kind"] == VALUE:
        return last != offset
    return last is not None and _batch(state, last)["kind"] == VALUE


class CompactionPictures(Pictures):
    """The provider of `compaction`."""

    protocol = compaction
    beginning = "initially the log is empty, and has one segment"
    in_state = _IN_STATE
    look = Look(
        row="log",
        legend=(
            Explained(Sign.RECORD, "record with key 0; on disk its segment has a colour", "k0"),
            Explained(Sign.LOG_END, "log end"),
            Explained(Sign.HIGH_WATERMARK, "high watermark"),
            Explained(Sign.ACKED, "its record is committed"),
            Explained(Sign.REMOVED, "batch removed"),
        ),
        first_badge=len("last stable offset 0"),
    )

    def name(self, sort: Sort, number: int) -> str:
        """Producers have numbers."""
        return f"producer {number}"

    def tells(self, field: str) -> bool:
        """The picture shows every field."""
        return True

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, None]:
        """The picture of a moment; nothing has to be remembered."""
        state = moment.after
        follower = [_follower(state)] if "until" in state.get("copy", {}) else []
        consumer = [_consumer(state)] if "position" in state.get("scan", {}) else []
        return Picture((_written(state), _on_disk(state), *follower), (_broker(state), *consumer), ()), None


COMPACTION = CompactionPictures()
