"""What Kafka does by its sources and on real brokers, as traces of `partition`: each was impossible, or allowed too much."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.release import LATEST
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.model.partition.rules.settings import RULES
from acked.model.partition.rules.versions import VERSIONS, planes_of, profile
from tests.playing import TINY, can, play, release

PRODUCER: dict[str, Any] = {"acks": "all", "retries": False, "idempotence": False}
TWO_RECORDS: dict[str, Any] = {"replicas": 3, "log_size": 2, "records": 2, **PRODUCER}
FIRST, SECOND = (f"Produce(leader=0, record={record}, answered=True)" for record in (0, 1))
CRASH_OF_2 = ("Crash(broker=2, log_end=0, checkpoint=0)", "LearnIsr(leader=0)")


@pytest.mark.slow
def test_one_answer_brings_several_records_and_the_leader_knows_of_none_of_them() -> None:
    state = play(release(LATEST, **TWO_RECORDS), FIRST, SECOND, "FetchAtOnce(follower=1, leader=0, end=2)")
    assert state["log"][1]["end"] == 2
    assert state["known_end"][0][1] == 0


def test_an_answer_at_once_carries_the_high_watermark_from_before_its_fetch_was_noted() -> None:
    instance = release(LATEST, **{**TWO_RECORDS, "replicas": 2})
    state = play(instance, FIRST, "FetchRecord(follower=1, leader=0)", SECOND, "FetchAtOnce(follower=1, leader=0, end=2)")
    assert (state["log"][1]["end"], state["broker"][0]["hw"], state["broker"][1]["hw"]) == (2, 1, 0)
    waited = play(instance, FIRST, "FetchRecord(follower=1, leader=0)", SECOND, "FetchRecord(follower=1, leader=0)")
    assert (waited["log"][1]["end"], waited["broker"][0]["hw"], waited["broker"][1]["hw"]) == (2, 1, 1)


@pytest.mark.slow
def test_the_high_watermark_may_wait_for_a_follower_outside_the_isr_that_has_fetched() -> None:
    # Broker 2 was removed for lagging and has fetched since; the leader's high watermark may wait for it.
    instance = release(LATEST, **TWO_RECORDS)
    removed = (
        FIRST, "AskToShrink(leader=0, followers=[2])", "CommitAlterPartition(leader=0)", "LearnIsr(leader=0)",
        "FetchUnanswered(follower=2, leader=0)", "FetchRecord(follower=1, leader=0)",
    )  # fmt: skip
    waits = play(instance, *removed, "FetchWhileHwWaits(follower=1, leader=0, end=1)")
    assert (waits["broker"][0]["isr"], waits["known_end"][0][1], waits["broker"][0]["hw"]) == ([0, 1], 1, 0)
    assert waits["producer"]["status"][0] == 1
    rises = play(instance, *removed, "FetchUnanswered(follower=1, leader=0)")
    assert rises["broker"][0]["hw"] == 1


@pytest.mark.slow
def test_nobody_waits_for_a_follower_outside_the_isr_that_the_leader_never_heard_of() -> None:
    # Broker 2 lives and follows, and was removed before its first fetch.
    instance = release(LATEST, **TWO_RECORDS)
    removed = (
        FIRST, "AskToShrink(leader=0, followers=[2])", "CommitAlterPartition(leader=0)", "LearnIsr(leader=0)",
        "FetchRecord(follower=1, leader=0)",
    )  # fmt: skip
    waits = "FetchWhileHwWaits(follower=1, leader=0, end=1)"
    assert not can(instance, waits, *removed)
    assert can(instance, waits, *removed[:4], "FetchUnanswered(follower=2, leader=0)", removed[4])


@pytest.mark.slow
@pytest.mark.parametrize(("version", "waits"), [("2.6", True), (LATEST, False)])
def test_who_is_down_may_be_waited_for_until_those_who_may_not_join_are_left_out(version: str, waits: bool) -> None:
    instance = release(version, **TWO_RECORDS, max_leader_epoch=2, shrink_bumps_epoch=False)
    dies = (
        "FetchUnanswered(follower=2, leader=0)", FIRST, "Crash(broker=2, log_end=0, checkpoint=0)", "LearnIsr(leader=0)",
        "FetchRecord(follower=1, leader=0)",
    )  # fmt: skip
    assert can(instance, "FetchWhileHwWaits(follower=1, leader=0, end=1)", *dies) is waits


@pytest.mark.slow
@pytest.mark.parametrize(("version", "waits"), [("0.10", False), ("0.10.2", True)])
def test_waiting_for_followers_outside_the_isr_came_with_0_10_2(version: str, waits: bool) -> None:
    instance = release(version, **TWO_RECORDS)
    # Broker 2 fetched while the log was empty, was removed for lagging behind the first record, and is waited for, or not.
    heard = (
        "FetchUnanswered(follower=2, leader=0)", FIRST, "ShrinkIsr(leader=0, followers=[2])",
        "FetchRecord(follower=1, leader=0)",
    )  # fmt: skip
    assert can(instance, "FetchWhileHwWaits(follower=1, leader=0, end=1)", *heard) is waits
    assert can(instance, "FetchUnanswered(follower=1, leader=0)", *heard)


@pytest.mark.slow
def test_one_request_takes_out_several_followers_and_all_of_them_stay_eligible() -> None:
    instance = release("4.1", **TWO_RECORDS, min_insync_replicas=2)
    state = play(instance, FIRST, "AskToShrink(leader=0, followers=[1, 2])", "CommitAlterPartition(leader=0)")
    assert (state["controller"]["isr"], state["controller"]["elr"]) == ([0], [1, 2])
    # One after the other leaves one of them out: the ISR was large enough after the first.
    singly = (FIRST,)
    for follower in (1, 2):
        singly += (f"AskToShrink(leader=0, followers=[{follower}])", "CommitAlterPartition(leader=0)", "LearnIsr(leader=0)")
    assert play(instance, *singly)["controller"]["elr"] == [2]


@pytest.mark.parametrize(
    ("version", "fetches", "truncates"),
    [("2.0.1", True, True), ("2.1", True, False), ("2.4", True, False), ("2.5", False, False)],
)
def test_truncation_is_fenced_from_2_1_and_fetches_from_2_5_because_sessions_dropped_the_epoch(
    version: str, fetches: bool, truncates: bool
) -> None:
    instance = release(version, **TINY, acks="1", retries=False, leadership_moves=True)
    # Leadership moved away and back; broker 0 knows its new epoch, broker 1 still the first one.
    ahead = ("MoveLeadership(broker=1)", "MoveLeadership(broker=0)", "BecomeLeader(leader=0)")
    assert can(instance, "FetchNothingNew(follower=1, leader=0)", *ahead) is fetches
    follows = ("MoveLeadership(broker=1)", "BecomeLeader(leader=1)", "BecomeFollower(follower=0, leader=1)")
    again = ("MoveLeadership(broker=0)", "MoveLeadership(broker=1)", "BecomeLeader(leader=1)")
    assert can(instance, "TruncateByEpoch(follower=0, leader=1)", *follows, *again) is truncates


@pytest.mark.parametrize(("version", "fetches"), [("2.0.1", True), ("2.1", False), ("2.4", False)])
def test_the_first_fetch_after_a_lost_answer_opens_a_session_and_is_fenced_from_2_1(version: str, fetches: bool) -> None:
    instance = release(version, **TINY, acks="1", retries=False, leadership_moves=True, crashes="clean")
    fetch, lost = "FetchNothingNew(follower=1, leader=0)", "FetchUnanswered(follower=1, leader=0)"
    ahead = ("MoveLeadership(broker=1)", "MoveLeadership(broker=0)", "BecomeLeader(leader=0)")
    assert can(instance, fetch, lost, *ahead) is fetches
    # A fetch that is answered in between opens the session.
    assert can(instance, fetch, lost, fetch, *ahead)


@pytest.mark.slow
def test_kip_279_in_2_0_0_is_not_there_for_a_follower_without_an_epoch_as_low_as_the_leaders() -> None:
    sizes = {"replicas": 3, "log_size": 2, "records": 3, "min_insync_replicas": 1}
    instance = release("2.0", **sizes, **PRODUCER, crashes="clean")
    gone = "Crash(broker={}, log_end=1, checkpoint=0)"
    # Broker 1 has a record of epoch 1 alone; its leader one of epoch 0 and one of epoch 2.
    state = play(
        instance, FIRST, "FetchRecord(follower=2, leader=0)", gone.format(0), "ElectLeader(broker=1)",
        "BecomeLeader(leader=1)", "Produce(leader=1, record=1, answered=True)", gone.format(1),
        "Restart(broker=1, is_clean=True)", "ElectLeader(broker=2)", "BecomeLeader(leader=2)",
        "Produce(leader=2, record=2, answered=True)", "BecomeFollower(follower=1, leader=2)",
        "TruncateByEpoch(follower=1, leader=2)",
    )  # fmt: skip
    assert (state["log"][1]["end"], state["log"][2]["end"]) == (1, 2)


def test_a_leader_without_a_fetch_of_a_follower_does_not_take_it_in_but_may_take_it_out() -> None:
    instance = release("3.9", **TINY, acks="all", retries=False, leadership_moves=True)
    assert play(instance)["known_end"][0][1] is None
    assert can(instance, "AskToShrink(leader=0, followers=[1])")
    assert not can(instance, "AskToShrink(leader=0, followers=[1])", "FetchNothingNew(follower=1, leader=0)")
    # Broker 1 leads with an empty log; broker 0 has a record of its own, and is outside the ISR: its log has parted.
    parted = (
        FIRST, "MoveLeadership(broker=1)", "BecomeLeader(leader=1)", "AskToShrink(leader=1, followers=[0])",
        "CommitAlterPartition(leader=1)", "LearnIsr(leader=1)", "BecomeFollower(follower=0, leader=1)",
    )  # fmt: skip
    assert not can(instance, "AskToExpand(leader=1, follower=0)", *parted)
    cut = (*parted, "FetchDiverging(follower=0, leader=1)")
    assert not can(instance, "AskToExpand(leader=1, follower=0)", *cut)
    assert can(instance, "AskToExpand(leader=1, follower=0)", *cut, "FetchNothingNew(follower=0, leader=1)")


MOVED = {"replicas": 2, "log_size": 2, "records": 2, "leadership_moves": True, "late_answers": True, **PRODUCER}
TO_1 = ("MoveLeadership(broker=1)", "BecomeLeader(leader=1)")
TOLD_TO_TRUNCATE = (
    ("FetchDiverging(follower=0, leader=1)",), ("FetchDivergingLate(follower=0, leader=1)", "LateAnswerCounts(follower=0)"),
)  # fmt: skip


@pytest.mark.parametrize("told", TOLD_TO_TRUNCATE, ids=["at once", "late"])
@pytest.mark.parametrize(("version", "falls", "rises"), [("2.8", 0, 1), ("3.4", 0, 1), ("3.4.1", 1, 0)])
def test_from_2_8_to_3_4_0_a_follower_takes_the_high_watermark_of_an_answer_that_tells_it_to_truncate(
    told: tuple[str, ...], version: str, falls: int, rises: int
) -> None:
    """AbstractFetcherThread.processFetchRequest before and after KAFKA-14704, in 3.4.1 and 3.5.0."""
    instance = release(version, "zookeeper", **MOVED)
    copied = (FIRST, "FetchAtOnce(follower=1, leader=0, end=1)")
    heard = (*copied, "FetchUnanswered(follower=1, leader=0)", SECOND, *TO_1, "BecomeFollower(follower=0, leader=1)")
    # The former leader's is 1 and the new one's 0, as it reads the answer.
    assert [broker["hw"] for broker in play(instance, *heard)["broker"]] == [1, 0]
    state = play(instance, *heard, *told)
    assert (state["log"][0]["end"], state["broker"][0]["hw"]) == (1, falls)
    removed = ("AskToShrink(leader=1, followers=[0])", "CommitAlterPartition(leader=1)", "LearnIsr(leader=1)")
    alone = (*copied, SECOND, *TO_1, *removed, "BecomeFollower(follower=0, leader=1)")
    # The new leader's, alone in the ISR, is 1, and the former one's 0.
    assert [broker["hw"] for broker in play(instance, *alone)["broker"]] == [0, 1]
    state = play(instance, *alone, *told)
    assert (state["log"][0]["end"], state["broker"][0]["hw"]) == (1, rises)


LATE_AND_EMPTY: dict[str, Any] = {
    "replicas": 3, "log_size": 1, "records": 2, "acks": "1", "retries": False, "idempotence": False, "crashes": "none",
    "leadership_moves": True, "late_answers": True,
}  # fmt: skip
LED_AGAIN = (
    FIRST, "FetchRecord(follower=2, leader=0)", "FetchLate(follower=2, leader=0, end=1)",
    "MoveLeadership(broker=1)", "BecomeLeader(leader=1)", "BecomeFollower(follower=0, leader=1)",
    "FetchDiverging(follower=0, leader=1)", "MoveLeadership(broker=0)", "BecomeLeader(leader=0)",
    "BecomeFollower(follower=2, leader=0)",
)  # fmt: skip
"""Broker 0 led, truncated its record under the next leader, and leads again; broker 2 has it, and awaits an answer."""


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "noticed"), [("3.5", True), ("3.5.1", False), ("3.6", False), ("3.7", True), ("3.9.1", True)]
)
def test_from_3_5_1_to_3_6_2_a_first_answer_without_records_makes_fetches_name_no_epoch(version: str, noticed: bool) -> None:
    """AbstractFetcherThread.processFetchRequest since KAFKA-15080 (3.5.1, 3.6.0), and after KAFKA-15510 (3.7.0)."""
    instance = release(version, "kraft", **LATE_AND_EMPTY)
    arrives = () if version == "3.9.1" else ("LateRecordsCount(follower=2)",)
    written = (*LED_AGAIN, SECOND, *arrives)
    fetches = "FetchNothingNew(follower=2, leader=0)"
    assert can(instance, "FetchDiverging(follower=2, leader=0)", *written) is noticed
    assert can(instance, fetches, *written) is not noticed
    if not noticed:
        assert play(instance, *written, fetches)["known_end"][0][2] == 1
        # Without an answer the fetch names the epoch; beyond the leader's log it is found out by its offset alone.
        assert can(instance, "FetchDiverging(follower=2, leader=0)", *LED_AGAIN, SECOND, "LateAnswerIsDropped(follower=2)")
        state = play(instance, *LED_AGAIN, *arrives, "FetchDiverging(follower=2, leader=0)")
        assert (state["log"][2]["end"], state["broker"][2]["names_no_epoch"]) == (0, False)


@pytest.mark.slow
def test_a_record_or_the_next_leader_epoch_has_fetches_name_an_epoch_again() -> None:
    instance = release("3.6", "kraft", **{**LATE_AND_EMPTY, "log_size": 2, "max_leader_epoch": 4})
    first = (FIRST, "FetchUnanswered(follower=1, leader=0)", "FetchRecord(follower=1, leader=0)")

    def names_none(*steps: str) -> bool:
        return bool(play(instance, *steps)["broker"][1]["names_no_epoch"])

    # The first answer of the epoch brought a record: later ones that bring none change nothing.
    assert not names_none(*first, "FetchNothingNew(follower=1, leader=0)")
    again = ("MoveLeadership(broker=2)", "BecomeLeader(leader=2)", "MoveLeadership(broker=0)", "BecomeLeader(leader=0)")
    followed = (*first, *again, "BecomeFollower(follower=1, leader=0)", "FetchNothingNew(follower=1, leader=0)")
    assert names_none(*followed)
    assert not names_none(*followed, SECOND, "FetchRecord(follower=1, leader=0)")
    assert not names_none(*followed, *again, "BecomeFollower(follower=1, leader=0)")


@pytest.mark.slow
def test_whether_fetches_name_an_epoch_is_kept_only_where_logs_may_part_within_a_leader_epoch() -> None:
    def has_field(version: str, **more: Any) -> bool:
        instance = release(version, "kraft", **{**LATE_AND_EMPTY, "late_answers": False, **more})
        return any("names_no_epoch" in leaf.name for leaf in instance.schema.leaves if leaf.bits)

    assert not has_field("3.6")
    assert has_field("3.6", late_answers=True)
    assert has_field("3.6", crashes="lossy", unnoticed_restarts=True)
    assert not has_field("3.6", crashes="clean", unnoticed_restarts=True)
    assert has_field("3.6", crashes="clean", unnoticed_restarts=True, empty_disks=1)
    assert not has_field("3.7", late_answers=True)
    assert not has_field("3.6", late_answers=True, answer_names_epoch=True)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "states"), [("3.4", 39_362), ("3.4.1", 39_286)])
def test_what_is_taken_with_a_truncation_leads_to_states_of_its_own(version: str, states: int) -> None:
    instance = release(version, **{**MOVED, "crashes": "none", "late_answers": False})
    assert search(Question(instance, ()), Bounds(workers=1)).distinct_states == states


@pytest.mark.slow
def test_with_kraft_to_3_9_a_broker_that_comes_back_unnoticed_keeps_its_place_without_its_log() -> None:
    faults = {"crashes": "lossy", "unnoticed_restarts": True}
    instance = release("3.9", "kraft", **{**TWO_RECORDS, "records": 1}, **faults)
    copied = (FIRST, "FetchRecord(follower=1, leader=0)")
    state = play(instance, *copied, "RestartUnnoticed(broker=1, log_end=0, checkpoint=0)")
    assert (state["controller"]["isr"], state["log"][1]["end"], state["broker"][1]["leader"]) == ([0, 1, 2], 0, None)
    leader = play(instance, FIRST, "RestartUnnoticed(broker=0, log_end=0, checkpoint=0)", "BecomeLeader(leader=0)")
    assert (leader["controller"]["leader_epoch"], leader["broker"][0]["leader"], leader["log"][0]["end"]) == (0, 0, 0)
    for version, plane in (("3.9", "zookeeper"), ("4.0", None)):
        other = release(version, plane, **{**TWO_RECORDS, "records": 1}, **faults)
        assert not any(item.action.name == "RestartUnnoticed" for item in other.actions)


def test_where_nothing_may_die_nobody_restarts_unnoticed() -> None:
    orderly = release("3.9", "kraft", **TINY, acks="1", retries=False, kills=False, unnoticed_restarts=True)
    assert not any(item.action.name == "RestartUnnoticed" for item in orderly.actions)


def test_with_zookeeper_an_unnoticed_restart_keeps_the_log_because_a_machine_is_away_for_longer() -> None:
    instance = release("1.1", **TINY, acks="1", retries=False, crashes="lossy", unnoticed_restarts=True)
    copied = (FIRST, "FetchRecord(follower=1, leader=0)")
    assert can(instance, "RestartUnnoticed(broker=1, log_end=1, checkpoint=0)", *copied)
    assert not can(instance, "RestartUnnoticed(broker=1, log_end=0, checkpoint=0)", *copied)


def test_setting_min_insync_replicas_forgets_eligible_and_last_leader_and_moving_a_directory_forgets_the_eligible() -> None:
    down = ("Crash(broker=1, log_end=0, checkpoint=0)", "Crash(broker=0, log_end=0, checkpoint=0)")
    faults = {"config_changes": True, "directories_move": True}
    instance = release("4.2", **TINY, min_insync_replicas=2, acks="all", retries=False, **faults)
    assert play(instance, *down)["controller"]["elr"] == [0, 1]
    changed = play(instance, *down, "ChangeConfiguration()")["controller"]
    assert (changed["elr"], changed["last_leader"]) == ([], None)
    assert not can(instance, "MoveDirectory()", *down)
    moved = play(instance, *down, "Restart(broker=0, is_clean=False)", "MoveDirectory()")["controller"]
    assert (moved["elr"], moved["last_leader"]) == ([], 0)
    mended = release("4.3", **TINY, min_insync_replicas=2, acks="all", retries=False, **faults)
    assert not any(item.action.name == "MoveDirectory" for item in mended.actions)


def test_a_disk_that_is_replaced_is_empty_and_the_controller_does_not_hear_of_it() -> None:
    instance = release("3.9", **TINY, acks="1", retries=False, kills=False, empty_disks=1)
    down = (FIRST, "ShutDown(broker=1)", "ShutDown(broker=0)")
    assert not can(instance, "ReplaceDisk(broker=1)", *down), "it holds nothing"
    assert not can(instance, "ReplaceDisk(broker=0)", *down[:2]), "it runs"
    before, after = play(instance, *down), play(instance, *down, "ReplaceDisk(broker=0)")
    assert (before["log"][0]["end"], after["log"][0]["end"], after["broker"][0]["hw"]) == (1, 0, 0)
    assert (after["controller"], after["disks_left"]) == (before["controller"], 0)
    back = play(instance, *down, "ReplaceDisk(broker=0)", "Restart(broker=0, is_clean=True)", "ElectLeader(broker=0)")
    assert (back["controller"]["leader"], back["log"][0]["end"]) == (0, 0)


def test_the_clean_shutdown_file_of_an_eligible_leader_was_on_the_disk_that_is_replaced() -> None:
    instance = release("4.1", **TINY, min_insync_replicas=2, acks="all", retries=False, kills=False, empty_disks=1)
    down = ("ShutDown(broker=1)", "ShutDown(broker=0)")
    assert can(instance, "Restart(broker=1, is_clean=True)", *down)
    replaced = (*down, "ReplaceDisk(broker=1)")
    assert not can(instance, "Restart(broker=1, is_clean=True)", *replaced)
    assert play(instance, *replaced, "Restart(broker=1, is_clean=False)")["controller"]["elr"] == [0]
    assert not can(instance, "ReplaceDisk(broker=0)", *replaced), "one disk is replaced"


@pytest.mark.slow
def test_to_4_2_a_new_disk_makes_the_controller_forget_the_eligible_leaders_because_it_is_another_directory() -> None:
    constants = {"min_insync_replicas": 2, "acks": "all", "retries": False, "kills": False, "empty_disks": 1}
    back = ("ShutDown(broker=1)", "ShutDown(broker=0)", "ReplaceDisk(broker=0)", "Restart(broker=0, is_clean=False)")
    elected, reported = "ElectLeader(broker=0)", "ReportDirectory(broker=0)"
    instance = release("4.2", **TINY, **constants)
    assert not can(instance, elected, *back), "broker 1 is eligible"
    assert not can(instance, reported, *back[:3]), "it is down"
    heard = play(instance, *back, reported)
    assert (heard["controller"]["elr"], heard["controller"]["last_leader"], heard["unreported"]) == ([], 0, [])
    assert can(instance, elected, *back, reported)
    mended = release("4.3", **TINY, **constants)
    assert "ReportDirectory" not in {item.action.name for item in mended.actions}
    assert not can(mended, elected, *back)


def test_a_broker_may_be_back_with_an_empty_disk_where_it_may_be_back_unnoticed() -> None:
    faults = {"kills": False, "unnoticed_restarts": True, "empty_disks": 1}
    instance = release("2.1", **TINY, acks="1", retries=False, **faults)
    state = play(instance, FIRST, "ReturnWithEmptyDisk(broker=0)")
    assert (state["controller"]["isr"], state["log"][0]["end"], state["broker"][0]["leader"]) == ([0, 1], 0, None)
    assert not can(instance, "ReturnWithEmptyDisk(broker=1)", FIRST), "it holds nothing"
    noticed = release("2.2", **TINY, acks="1", retries=False, **faults)
    assert not any(item.action.name == "ReturnWithEmptyDisk" for item in noticed.actions)


def test_without_empty_disks_or_without_crashes_there_is_neither_a_field_nor_an_action_for_them() -> None:
    for constants in ({"empty_disks": 0}, {"empty_disks": 1, "crashes": "none"}):
        instance = release("2.1", **{**TINY, "acks": "1", "retries": False, "unnoticed_restarts": True, **constants})
        assert not {"ReplaceDisk", "ReturnWithEmptyDisk"} & {item.action.name for item in instance.actions}
        assert [leaf.bits for leaf in instance.schema.leaves if leaf.name == "disks_left"] == [0]


@pytest.mark.slow
def test_a_change_that_names_a_fenced_broker_is_refused_and_the_leader_goes_back_to_the_committed_isr() -> None:
    instance = release("3.4", "kraft", **{**TWO_RECORDS, "records": 1})
    # In 3.4 the controller's removal takes a new leader epoch, which the leader hears of by taking office again.
    back = (
        CRASH_OF_2[0], "BecomeLeader(leader=0)", "Restart(broker=2, is_clean=True)", "BecomeFollower(follower=2, leader=0)",
        "FetchNothingNew(follower=2, leader=0)", "AskToExpand(leader=0, follower=2)",
    )  # fmt: skip
    assert play(instance, *back)["broker"][0]["pending"] == [0, 1, 2]
    zombie = release("3.5", "zookeeper", **{**TWO_RECORDS, "records": 1}, zombies=True)
    fenced = (*back, "LoseSession(broker=2)")
    assert can(zombie, "CommitAlterPartition(leader=0)", *back)
    assert not can(zombie, "CommitAlterPartition(leader=0)", *fenced)
    assert play(zombie, *fenced, "RefuseAlterPartition(leader=0)")["broker"][0]["pending"] == []


@pytest.mark.slow
def test_a_broker_that_was_fenced_and_did_not_restart_keeps_its_broker_epoch() -> None:
    instance = release("3.9", "kraft", **{**TWO_RECORDS, "records": 1}, zombies=True)
    asked = (
        *CRASH_OF_2, "Restart(broker=2, is_clean=True)", "BecomeFollower(follower=2, leader=0)",
        "FetchNothingNew(follower=2, leader=0)", "AskToExpand(leader=0, follower=2)", "LoseSession(broker=2)",
    )  # fmt: skip
    assert not can(instance, "CommitAlterPartition(leader=0)", *asked)
    assert can(instance, "CommitAlterPartition(leader=0)", *asked, "RegainSession(broker=2)")


def test_every_rule_has_a_value_in_every_release() -> None:
    """A rule that no row of the releases names would have its default in all of them, as if nobody had looked."""
    for version in VERSIONS:
        for plane in planes_of(version):
            assert {rule.name for rule in RULES} - profile(version, plane).keys() == set(), (version, plane)
