"""Which promises are broken, by what is seen."""

from __future__ import annotations

from acked.cluster.observe.disk import Replica
from acked.cluster.replicating.promises import (
    broken_promises,
    ends_out_of_sync,
    forks,
    has_gap,
    has_gone,
    is_reordered,
    lost_records,
    repeated_records,
    sayings,
)
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record


def replica(broker: int, mark: int, *values: str) -> Replica:
    return Replica(broker, tuple(Record(at, 0, value.encode()) for at, value in enumerate(values)), None, mark)


def seen(leader: int, isr: tuple[int, ...], *replicas: Replica) -> TopicView:
    return TopicView(PartitionView(0, leader, (0, 1), isr, 0), replicas, (0, 1))


LOST = seen(1, (0, 1), replica(0, 1, "r0"), replica(1, 0))
DIFFER = seen(0, (0,), replica(0, 1, "r1"), replica(1, 1, "r0"))


def test_what_the_leader_lacks_is_lost_and_what_a_member_of_the_isr_lacks_may_be() -> None:
    assert lost_records([0], LOST, 1) == (0,)
    assert lost_records([0], LOST, None) == ()
    found = broken_promises({0: 0}, LOST, 1)
    promised = ("AckedRecordsSurvive", "AckedRecordsInIsr", "AckedRecordsExist", "CommittedInIsr")
    assert [found[name] for name in promised] == [True, True, False, False]
    kept = broken_promises({0: 0}, seen(0, (0,), replica(0, 1, "r0"), replica(1, 0)), 0)
    assert not any(kept[name] for name in promised)
    assert broken_promises({1: 0}, LOST, 1)["AckedRecordsExist"]


def test_different_records_below_both_high_watermarks_are_a_fork() -> None:
    assert forks(DIFFER.replicas) == (0,)
    assert forks((replica(0, 1, "r1"), replica(1, 0, "r0"))) == ()
    assert broken_promises({}, DIFFER, 0)["LogsAgreeBelowHw"]
    assert not broken_promises({}, DIFFER, 0)["CommittedInIsr"], "who differs is not in the ISR"
    assert broken_promises({}, seen(0, (0, 1), *DIFFER.replicas), 0)["CommittedInIsr"]


def test_a_record_that_is_there_twice_is_repeated() -> None:
    assert repeated_records(seen(0, (0,), replica(0, 3, "r0", "r1", "r0"), replica(1, 0)), 0) == ("r0",)


def test_what_was_read_is_gone_if_it_is_not_where_it_was_read() -> None:
    assert not has_gone([(0, "r1")], DIFFER, 0)
    assert has_gone([(0, "r1")], DIFFER, 1)
    assert has_gone([(1, "r1")], DIFFER, 0)
    assert not has_gone([(0, "r1")], DIFFER, None)


def test_a_move_that_ends_while_a_new_replica_lags_ends_out_of_sync() -> None:
    def view(replicas: tuple[int, ...], isr: tuple[int, ...]) -> PartitionView:
        return PartitionView(0, 0, replicas, isr, 0)

    target = [frozenset({0, 1})]
    before, during = view((0, 1, 2), (0, 2)), view((0, 1, 2), (0, 1, 2))
    assert ends_out_of_sync([before, view((0, 1), (0,))], target), "as 3.7.1 does"
    assert not ends_out_of_sync([before, before, before], target), "as 3.9.1 does: it goes on"
    assert not ends_out_of_sync([before, during, view((1, 0), (0, 1))], target)
    assert not ends_out_of_sync([before, during, view((0, 1), (0, 1)), view((0, 1), (0,))], target), "who lags later may"
    assert not ends_out_of_sync([before, view((0, 2), (0,))], target), "another move"


def test_what_is_only_said_of_kafka_is_contradicted_by_what_is_seen() -> None:
    trailing = seen(0, (0, 1), replica(0, 2, "r1", "r0", "r2"), replica(1, 1, "r1", "r0"))
    assert sayings(trailing, 0) == {
        "HwBelowLogEnd": False, "EveryoneHoldsWhatIsVisible": False, "FollowersKnowHw": True, "InSyncIsCaughtUp": True,
        "NoReordering": True, "NoGaps": True,
    }  # fmt: skip
    whole = sayings(seen(0, (0,), replica(0, 2, "r0", "r1"), replica(1, 0)), 0)
    assert [name for name, is_contradicted in whole.items() if is_contradicted] == [
        "HwBelowLogEnd", "EveryoneHoldsWhatIsVisible",
    ]  # fmt: skip
    repeats = sayings(seen(0, (0,), replica(0, 3, "r0", "r1", "r0"), replica(1, 0)), 0)
    assert not repeats["NoReordering"], "a repetition is no other order"
    assert sayings(trailing, None) == {}


def test_what_is_read_may_be_out_of_order_or_lack_what_was_sent_before() -> None:
    assert [is_reordered(log) for log in (("r0", "r1"), ("r1", "r0"), ("r0", "r1", "r0"))] == [False, True, False]
    assert [has_gap(log) for log in (("r0", "r1"), ("r1",), ("r0", "r2"), ("r0", "r0", "r1"))] == [False, True, True, False]


def test_what_is_often_said_of_followers_and_high_watermarks_is_judged_by_what_is_seen() -> None:
    last = seen(0, (0, 1), replica(0, 1, "r0"), replica(1, 0))
    behind = {**broken_promises({}, last, 0, failed=[0]), **sayings(last, 0)}
    names = ("RefusalsAreTrue", "HwBelowLogEnd", "FollowersKnowHw", "InSyncIsCaughtUp", "EveryoneHoldsWhatIsVisible")
    assert [behind[name] for name in names] == [True] * 5
    last = seen(0, (0, 1), replica(0, 1, "r0", "r1"), replica(1, 1, "r0", "r1"))
    same = {**broken_promises({}, last, 0, failed=[1]), **sayings(last, 0)}
    assert [same[name] for name in names] == [False] * 5
