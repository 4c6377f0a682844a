"""Which promises of the model brokers have broken, by what is seen of them and by what producers were answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, pairwise

from acked.base.frozen import frozen
from acked.cluster.observe.disk import Replica
from acked.cluster.playing.script import Script
from acked.cluster.replicating.compare import replica_of, value_of
from acked.cluster.replicating.producers import Answers
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import PartitionView
from acked.model.partition.state import FAILED


def leader_of(seen: TopicView) -> int | None:
    """The broker that leads, as the controller has it."""
    return None if seen.partition is None or seen.partition.leader < 0 else seen.partition.leader


def lost_records(acknowledged: Collection[int], seen: TopicView, leader: int | None) -> tuple[int, ...]:
    """The acknowledged records that the leader's log lacks; none where nobody leads."""
    if leader is None:
        return ()
    return tuple(sorted(record for record in acknowledged if value_of(record) not in replica_of(seen, leader).values))


def forks(replicas: Collection[Replica]) -> tuple[int, ...]:
    """The offsets below two replicas' high watermarks at which they have different records."""
    found = set()
    for one, other in combinations(replicas, 2):
        for offset in range(min(one.high_watermark or 0, other.high_watermark or 0)):
            if one.log[offset : offset + 1] != other.log[offset : offset + 1]:
                found.add(offset)
    return tuple(sorted(found))


def repeated_records(seen: TopicView, leader: int | None) -> tuple[str, ...]:
    """The records that the leader's log has more than once, as they are written."""
    log = () if leader is None else replica_of(seen, leader).values
    return tuple(sorted({value for value in log if log.count(value) > 1}, key=lambda value: (len(value), value)))


def has_gone(reads: Collection[tuple[int, str]], seen: TopicView, leader: int | None) -> bool:
    """Whether the leader's log does not have, at its offset, something that a consumer has read."""
    log = () if leader is None else replica_of(seen, leader).values
    return leader is not None and any(log[offset : offset + 1] != (value,) for offset, value in reads)


def ends_out_of_sync(views: Sequence[PartitionView], targets: Collection[frozenset[int]]) -> bool:
    """Whether the replicas became those of a target while one of these was not in the ISR.

    Each target leaves out a replica, so that it is the whole assignment only when the reassignment has ended.
    """
    pairs = [(set(before.replicas), after) for before, after in pairwise(views)]
    ended = [after for before, after in pairs if before != set(after.replicas) and set(after.replicas) in targets]
    return any(not set(after.replicas) <= set(after.isr) for after in ended)


def is_reordered(visible: Sequence[str]) -> bool:
    """Whether a record comes first after one that its producer was given later, repetitions aside."""
    numbers = [int(value[1:]) for value in dict.fromkeys(visible)]
    return numbers != sorted(numbers)


def has_gap(visible: Sequence[str]) -> bool:
    """Whether a record comes before the first copy of the one that its producer was given before it."""
    seen: set[int] = set()
    for value in visible:
        if int(value[1:]) not in {0, *(number + 1 for number in seen)}:
            return True
        seen.add(int(value[1:]))
    return False


def broken_promises(
    acknowledged: Mapping[int, int], seen: TopicView, leader: int | None, failed: Collection[int] = ()
) -> dict[str, bool]:
    """By name of a promise that is decided here, whether it is broken; `failed` are the records that were given up."""
    isr = () if seen.partition is None else seen.partition.isr
    values = [value_of(record) for record in acknowledged]
    held = {value for one in seen.replicas for value in one.values}
    return {
        "AckedRecordsSurvive": bool(lost_records(acknowledged, seen, leader)),
        "AckedRecordsInIsr": any(value not in replica_of(seen, member).values for member in isr for value in values),
        "AckedRecordsExist": any(value not in held for value in values),
        "CommittedInIsr": leader is not None and any(not _has_committed(seen, leader, member) for member in isr),
        "LogsAgreeBelowHw": bool(forks(seen.replicas)),
        "NoDuplicates": bool(repeated_records(seen, leader)),
        "RefusalsAreTrue": leader is not None and any(value_of(record) in _visible(seen, leader) for record in failed),
    }


@frozen
class Judge:
    """What promises are judged by: the script, what producers were answered, all that was seen, the last of it in the end,
    the brokers that live and have a session, what consumers have read, and the latest offsets that clients were told.
    """

    script: Script
    answers: Answers
    moments: Sequence[TopicView]
    alive: Collection[int]
    reads: Collection[tuple[int, str]]
    latest: Sequence[int]

    def broken_promises(self) -> dict[str, bool]:
        """By name of a promise that is decided by this, whether it is broken in the end."""
        last, acknowledged, steps = self.moments[-1], self.answers.acknowledged, self.script.steps
        leader = leader_of(last)
        given = steps[-1].after["producer"]["status"] if steps else ()
        failed = [record for record, status in enumerate(given) if status == FAILED and record not in acknowledged]
        isr = () if last.partition is None else last.partition.isr
        return {
            **broken_promises(acknowledged, last, leader, failed),
            "ReadsStay": has_gone(self.reads, last, leader),
            "LatestOffsetStays": list(self.latest) != sorted(self.latest),
            "IsrIsAlive": leader is not None and not set(isr) <= set(self.alive),
            **self._judge_moves(),
        }

    def _judge_moves(self) -> dict[str, bool]:
        """Decided of reassignments that leave out a replica: of one that only adds some nobody sees when it has ended."""
        steps = [step for step in self.script.steps if step.action == "Reassign"]
        targets = {
            frozenset(step.arguments["target"])
            for step in steps if set(step.before["controller"]["replicas"]) - set(step.arguments["target"])
        }  # fmt: skip
        if not targets or len(targets) < len(steps):
            return {}
        views = [one.partition for one in self.moments if one.partition is not None]
        return {"MovesEndInSync": ends_out_of_sync(views, targets)}


def sayings(seen: TopicView, leader: int | None) -> dict[str, bool]:
    """By name of what is said of Kafka, or of the order of records, whether what is seen contradicts it."""
    if leader is None or seen.partition is None:
        return {}
    mine, isr = replica_of(seen, leader), seen.partition.isr
    mark, visible = mine.high_watermark or 0, _visible(seen, leader)
    return {
        "HwBelowLogEnd": 0 < len(mine.log) <= mark,
        "EveryoneHoldsWhatIsVisible": any(one.log[:mark] != mine.log[:mark] for one in seen.replicas),
        "FollowersKnowHw": any((replica_of(seen, member).high_watermark or 0) != mark for member in isr),
        "InSyncIsCaughtUp": any(len(replica_of(seen, member).log) < len(mine.log) for member in isr),
        "NoReordering": is_reordered(visible),
        "NoGaps": has_gap(visible),
    }


def _visible(seen: TopicView, leader: int) -> tuple[str, ...]:
    """What consumers of the leader can read."""
    mine = replica_of(seen, leader)
    return mine.values[: mine.high_watermark or 0]


def _has_committed(seen: TopicView, leader: int, member: int) -> bool:
    end = replica_of(seen, leader).high_watermark or 0
    return replica_of(seen, member).log[:end] == replica_of(seen, leader).log[:end]

