"""Where the log starts: DeleteRecords, old segments, and a follower that is told of it.

Sources: `UnifiedLog.maybeIncrementLogStartOffset`, `deletableSegments`, `deleteSegments`, `truncateFullyAndStartAt`,
`AbstractFetcherThread.fetchOffsetAndTruncate` of 4.3.1; `ReplicaManager.updateFollowerLogReadResults` of 1.1.0.
"""

from __future__ import annotations

from acked.model.compaction.common import BROKER, first_segment, greater, high_watermark, offsets, segment_end
from acked.model.compaction.settings import deletes, expires, follows, one_reading, starts_later
from acked.model.compaction.state import GONE, Kept, Offset, State
from acked.model.language.action import action, require
from acked.model.language.quantify import ite, named, smaller
from acked.model.language.telling import Course, Role, Telling, Tells

ADMIN = Role("administrator")
FOLLOWER = Role("follower")


@action(
    says=lambda t: f"records below offset {t.to} are deleted: the log starts there", when=lambda: deletes.on, actor=ADMIN,
    messages=(Tells(ADMIN, BROKER, lambda t: f"delete to {t.to}"),),
)
def delete_records(s: State, to: Offset) -> None:
    """DeleteRecords moves the log start (`Partition.deleteRecordsOnLeader`)."""
    require("it is in the log, and replicated", (to > s.start) & (to <= high_watermark(s)))
    s.start = to


@action(
    says=lambda t: f"the first segment is old: the log starts at offset {t.after.start}", when=lambda: expires.on,
    actor=BROKER,
)
def expire(s: State) -> None:
    """The first segment is too old, or one too many, and replicated (`UnifiedLog.deletableSegments`)."""
    first = first_segment(s)
    end = segment_end(s, first)
    require("it has batches", first < end)
    require("it is replicated", end <= high_watermark(s))
    require("it is not below the log start", end > s.start)
    s.base[end] = True
    s.start = end
    _drop(s, first, end)


@action(
    says=lambda t: f"the segment below log start offset {t.before.start} is deleted", when=lambda: starts_later.on,
    actor=BROKER,
)
def drop_segment(s: State) -> None:
    """A segment that is wholly below the log start is deleted (`UnifiedLog.deleteLogStartOffsetBreachedSegments`)."""
    first = first_segment(s)
    end = segment_end(s, first)
    require("another follows", s.base[end] & (first < end))
    require("it is below the log start", end <= s.start)
    _drop(s, first, end)


def _drop(s: State, first: Offset, end: Offset) -> None:
    """A segment and its part of the transaction index are gone."""
    s.base[first] = False
    for o in offsets():
        batch = s.log.at(o)
        is_dropped = (o >= first) & (o < end)
        batch.indexed = batch.indexed & ~is_dropped
        batch.horizon = ite(is_dropped, None, batch.horizon)
        batch.kept = ite(is_dropped, named(Kept, GONE), batch.kept)


# -- a follower -------------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"the leader reads records up to offset {t.until} for the follower", when=lambda: follows.on, actor=BROKER,
    messages=(Tells(BROKER, FOLLOWER, lambda t: f"up to {t.until}", Course.DEPARTS),),
)
def read_for_follower(s: State, until: Offset) -> None:
    """A leader reads as much as a fetch asks for (`ReplicaManager.readFromLog`)."""
    mine = s.copy
    require("it fetches", ~mine.has_stopped & (mine.until == 0))
    require("it has what is before", mine.end >= s.start)
    require("there is more", (until > mine.end) & (until <= s.log.end))
    mine.until = until
    mine.told = s.start


def _says_answer(t: Telling) -> str:
    copied = f"the follower has the log up to offset {t.after.copy.end}"
    return f"{copied}, is told that it starts above that, and stops" if t.after.copy.has_stopped else copied


@action(
    says=_says_answer, when=lambda: follows.on, actor=FOLLOWER,
    messages=(Tells(BROKER, FOLLOWER, lambda t: f"up to {t.after.copy.end}", Course.ARRIVES),),
)
def answer_follower(s: State) -> None:
    """A follower appends what it gets, and moves its log start to the leader's (`ReplicaFetcherThread.processPartitionData`).

    That is refused above its high watermark, and the fetcher fails.
    """
    mine = s.copy
    require("an answer is on its way", mine.until > 0)
    told = mine.told if one_reading.on else s.start
    hw = smaller(mine.until, high_watermark(s))
    fails = told > hw
    mine.end = mine.until
    mine.has_stopped = fails
    mine.start = ite(fails, mine.start, greater(mine.start, told))
    mine.until = 0
    mine.told = 0


@action(
    says=lambda t: f"the follower is below the leader's log start, truncates all, and starts at offset {t.after.copy.start}",
    when=lambda: follows.on, actor=FOLLOWER,
)
def start_over(s: State) -> None:
    """OFFSET_OUT_OF_RANGE: a follower begins at the leader's log start (`Log.truncateFullyAndStartAt`)."""
    mine = s.copy
    require("it fetches", ~mine.has_stopped & (mine.until == 0))
    require("it is below the leader's log start", mine.end < s.start)
    mine.end = s.start
    mine.start = s.start
