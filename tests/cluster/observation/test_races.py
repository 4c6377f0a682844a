"""Threads of real brokers that race: lines come in another order than what they tell of."""

from __future__ import annotations

import pytest

from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.lanes import Slack
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import Verdict, validate
from tests.cluster.observation.moments import said, verdict_of


@pytest.mark.parametrize("other", ["append", "fetch", "metadata", "late append", "late metadata"])
def test_another_thread_may_tell_of_the_rise_that_is_due_to_a_fetch(other: str) -> None:
    """A leader notes the fetch before it looks at its high watermark under the lock; seen on 3.9.1, of metadata on 3.7.2."""
    lines = {
        "append": said(40, 0, Says.APPENDS, offset=1, next=2, hw=1),
        "fetch": said(40, 0, Says.NOTES_FETCH, follower=2, offset=0, hw=1),
        "metadata": said(40, 0, Says.LEARNS_ISR, isr={0, 1}, epoch=0, hw=0, raised=1),
        "late append": said(5_000, 0, Says.APPENDS, offset=1, next=2, hw=1),
        "late metadata": said(5_000, 0, Says.LEARNS_ISR, isr={0, 1}, epoch=0, hw=0, raised=1),
    }
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(3, 2, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1),
        said(20, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(21, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(50, 0, Says.NOTES_FETCH, follower=1, offset=1),
        lines[other],
        said(6_000, 0, Says.APPENDS, offset=2 if "append" in other else 1, next=3),
    )
    assert found.is_valid == ("late" not in other)


FEW = Slack(nodes=20)
"""So few steps are tried at a dead end that none lies far behind it."""


def rounds(leader: int, follower: int, begin: int, first: int = 0) -> list[Event]:
    """Thirty records that a follower fetches, one after the other, from a moment on; it has asked for the first before."""
    lines = []
    for n in range(first, first + 30):
        at, hw = begin + 10 * (n - first), {"hw": n} if n else {}
        lines += [
            said(at, leader, Says.APPENDS, offset=n, next=n + 1),
            said(at + 2, follower, Says.TAKES_ANSWER, leader=leader, offset=n, records=1, leader_hw=n, **hw),
            said(at + 4, leader, Says.NOTES_FETCH, follower=follower, offset=n + 1, hw=n + 1),
        ]
    return lines


def found_in(events: list[Event]) -> Verdict:
    """The verdict on events of three brokers, of which broker 0 leads first, with few steps at a dead end."""
    created = said(0, CONTROLLER, Says.CREATES, replicas={0, 1, 2}, isr={0, 1, 2}, leader=0, epoch=0)
    begins = [
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        *(said(2, broker, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0) for broker in (1, 2)),
    ]
    ordered = sorted([*begins, *events], key=lambda event: event.at)
    return validate(Subject("4.1", [0, 1, 2], {}), created, ordered, slack=FEW)


@pytest.mark.parametrize("noted", [1_016, 4_000])
def test_a_last_fetch_that_a_leader_notes_late_came_before_its_follower_heard_of_the_next(noted: int) -> None:
    """2.8.2, seed 3: the former leader prints nothing more for seconds, while the next one and its follower go on."""
    events = [
        said(990, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={1, 2}, leader=1, epoch=1),
        said(995, 1, Says.LEADS, epoch=1, offset=0, hw=0, isr={1, 2}),
        said(1_000, 2, Says.FOLLOWS, leader=1, epoch=1, offset=0, hw=0),
        said(1_050, 1, Says.NOTES_FETCH, follower=2, offset=0),
        *rounds(1, 2, 1_100),
        said(noted, 0, Says.NOTES_FETCH, follower=2, offset=0),
        said(5_000, 0, Says.FOLLOWS, leader=1, epoch=1, offset=0, hw=0),
    ]
    found = found_in(events)
    assert found.is_valid, found.stuck
    assert found.slack == FEW  # No dead end was worth another try.


def test_a_broker_that_stands_still_over_two_moves_heard_of_the_first_before_the_second() -> None:
    """3.3.2, seed 71: it prints both afterwards, while the next leader and another follower go on."""
    events = [
        said(990, CONTROLLER, Says.CHANGES, leader=1, epoch=1),
        said(995, 1, Says.LEADS, epoch=1, offset=0, hw=0, isr={0, 1, 2}),
        said(1_000, 0, Says.FOLLOWS, leader=1, epoch=1, offset=0, hw=0),
        said(1_005, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={0, 1}, leader=0, epoch=2),
        said(1_010, 0, Says.LEADS, epoch=2, offset=0, hw=0, isr={0, 1}),
        said(1_015, 1, Says.FOLLOWS, leader=0, epoch=2, offset=0, hw=0),
        said(1_050, 0, Says.NOTES_FETCH, follower=1, offset=0),
        *rounds(0, 1, 1_100),
        said(4_000, 2, Says.FOLLOWS, leader=1, epoch=1, offset=0, hw=0),
        said(4_001, 2, Says.FOLLOWS, leader=0, epoch=2, offset=0, hw=0),
    ]
    found = found_in(events)
    assert found.is_valid, found.stuck
    assert found.slack == FEW


def test_a_second_try_looks_ahead_too() -> None:
    """3.3.2, seed 71: a line was later than the first try allows for, and moves came afterwards."""
    events = [
        said(100, 0, Says.APPENDS, offset=0, next=1),
        said(110, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(120, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(130, 0, Says.NOTES_FETCH, follower=2, offset=0),
        said(140, 2, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(150, 0, Says.NOTES_FETCH, follower=1, offset=1),
        said(160, 0, Says.RAISES_HW, hw=1),
        said(900, 0, Says.NOTES_FETCH, follower=2, offset=1),
        said(990, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={1, 2}, leader=1, epoch=1),
        said(995, 1, Says.LEADS, epoch=1, offset=1, hw=0, isr={1, 2}),
        said(1_000, 2, Says.FOLLOWS, leader=1, epoch=1, offset=1, hw=0),
        said(1_050, 1, Says.NOTES_FETCH, follower=2, offset=1, hw=1),
        *rounds(1, 2, 1_100, first=1),
        said(2_500, 0, Says.NOTES_FETCH, follower=2, offset=1),
        said(5_000, 0, Says.FOLLOWS, leader=1, epoch=1, offset=1, hw=1),
    ]
    found = found_in(events)
    assert found.is_valid, found.stuck
    assert found.slack == FEW.more()


def test_a_fetch_that_is_asked_again_is_noted_before_it_is_answered() -> None:
    """An answer has only partitions of which there is news, so of what became of one no line may tell."""
    events = (
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(20, 0, Says.APPENDS, offset=0, next=1, hw=1),
        said(22, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(23, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=1, hw=1),
        said(24, 0, Says.NOTES_FETCH, follower=1, offset=1),
    )
    found = verdict_of({0}, *events)
    assert found.is_valid
    assert found.tried <= len(events)  # None is taken back.


@pytest.mark.parametrize(("gives_up", "is_valid"), [(None, False), ({0, 1, 2}, True), ({0, 1}, False)])
def test_a_leader_that_is_refused_an_isr_goes_back_to_the_one_before_and_may_ask_again(
    gives_up: set[int] | None, is_valid: bool
) -> None:
    """By itself, while another request waits to be sent, or by the controller (`handleAlterPartitionError`)."""
    events = [
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        said(10, 0, Says.ASKS_TO_SHRINK, followers={2}),
        *([] if gives_up is None else [said(20, 0, Says.GIVES_UP_ISR, isr=gives_up)]),
        said(30, 0, Says.ASKS_TO_SHRINK, followers={2}),
    ]
    assert verdict_of({0, 1, 2}, *events).is_valid == is_valid


@pytest.mark.parametrize(("begins", "is_valid"), [(1, True), (2, False)])
def test_only_what_is_below_the_high_watermark_is_deleted(begins: int, is_valid: bool) -> None:
    found = verdict_of(
        {0},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0}),
        said(2, 0, Says.APPENDS, offset=0, next=1, hw=1),
        said(10, 0, Says.DELETES, **{"from": begins}),
    )
    assert found.is_valid == is_valid
    assert found.held[0].start == (begins if is_valid else 0)


@pytest.mark.parametrize(("isr", "is_valid"), [({0, 1, 3}, True), ({0, 1, 2}, False)])
def test_a_partition_moves_to_another_broker(isr: set[int], is_valid: bool) -> None:
    """As KIP-455 has it: one is added, joins the ISR, and with that change the former one goes, in another leader epoch."""
    created = said(0, CONTROLLER, Says.CREATES, replicas={0, 1, 2}, isr={0, 1, 2}, leader=0, epoch=0)
    found = validate(
        Subject("4.1", [0, 1, 2, 3], {}), created,
        [
            said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
            said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
            said(10, CONTROLLER, Says.CHANGES, replicas={0, 1, 2, 3}, version=1),
            said(11, 3, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
            said(20, 0, Says.NOTES_FETCH, follower=3, offset=0, asks_to_add=3),
            said(30, CONTROLLER, Says.COMMITS_ISR, leader=0, was={0, 1, 2}, isr=isr, epoch=1, replicas={0, 1, 3}, version=2),
            said(31, 0, Says.LEADS, epoch=1, offset=0, hw=0, isr={0, 1, 3}),
            said(32, 3, Says.FOLLOWS, leader=0, epoch=1, offset=0, hw=0),
        ],
    )  # fmt: skip
    assert found.is_valid == is_valid, found.stuck


@pytest.mark.parametrize(("elects", "epoch", "is_valid"), [(1, 1, True), (0, 1, False), (None, 1, False), (1, 2, False)])
def test_with_a_leader_that_goes_when_a_reassignment_is_complete_another_is_elected(
    elects: int | None, epoch: int, is_valid: bool
) -> None:
    """3.6.2 and 3.3.2: the ISR for which it asks is granted without it, in the same change (NEW_LEADER_ELECTED)."""
    created = said(0, CONTROLLER, Says.CREATES, replicas={0, 1}, isr={0, 1}, leader=0, epoch=0)
    change = {"was": {0, 1}, "isr": {1, 2}, "epoch": epoch, "replicas": {1, 2}, "version": 2, "elects": elects}
    found = validate(
        Subject("4.1", [0, 1, 2], {}), created,
        [
            said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
            said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
            said(10, CONTROLLER, Says.CHANGES, replicas={0, 1, 2}, version=1),
            said(11, 2, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
            said(20, 0, Says.NOTES_FETCH, follower=2, offset=0, asks_to_add=2),
            said(30, CONTROLLER, Says.COMMITS_ISR, leader=0, **change),
            said(31, 1, Says.LEADS, epoch=1, offset=0, hw=0, isr={1, 2}),
            said(32, 2, Says.FOLLOWS, leader=1, epoch=1, offset=0, hw=0),
        ],
    )  # fmt: skip
    assert found.is_valid == is_valid, found.stuck


@pytest.mark.slow
@pytest.mark.parametrize(("end", "is_valid"), [(0, True), (1, False)])
def test_a_broker_to_which_a_partition_moves_back_has_an_empty_log(end: int, is_valid: bool) -> None:
    """3.6.2: its former log was deleted when the partition moved away."""
    found = verdict_of(
        {0, 1, 2},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        *(said(2, broker, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0) for broker in (1, 2)),
        said(5, 0, Says.APPENDS, offset=0, next=1),
        *(said(6, 0, Says.NOTES_FETCH, follower=broker, offset=0) for broker in (1, 2)),
        *(said(7, broker, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0) for broker in (1, 2)),
        said(10, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={0, 1}, replicas={0, 1}, epoch=1, version=1),
        said(11, 0, Says.LEADS, epoch=1, offset=1, hw=0, isr={0, 1}),
        said(1_000, CONTROLLER, Says.CHANGES, replicas={0, 1, 2}, version=2),
        said(1_001, 2, Says.RESTARTS, hw=0, end=0),
        said(1_002, 2, Says.FOLLOWS, leader=0, epoch=1, offset=end, hw=0),
        said(1_003, 0, Says.NOTES_FETCH, follower=2, offset=end),
        said(1_004, 2, Says.TAKES_ANSWER, leader=0, offset=end, records=1 - end, leader_hw=0),
    )
    assert found.is_valid == is_valid, found.stuck
    assert not is_valid or found.held[2].end == 1


def test_each_of_two_fetches_at_one_offset_is_answered_where_there_are_two_answers() -> None:
    """The first brings a high watermark alone, in the millisecond in which the second is noted (4.3.1, transactions)."""
    events = (
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(5, 0, Says.APPENDS, offset=0, next=1),
        said(6, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(7, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(8, 0, Says.NOTES_FETCH, follower=1, offset=1, hw=1),
        said(9, 1, Says.TAKES_ANSWER, leader=0, offset=1, records=0, leader_hw=1, hw=1),
        said(9, 0, Says.NOTES_FETCH, follower=1, offset=1),
        said(12, 0, Says.APPENDS, offset=1, next=2),
        said(13, 1, Says.TAKES_ANSWER, leader=0, offset=1, records=1, leader_hw=1),
        said(14, 0, Says.NOTES_FETCH, follower=1, offset=2, hw=2),
    )
    found = verdict_of({0, 1}, *events)
    assert found.is_valid, found.stuck
    assert found.tried <= len(events)


@pytest.mark.parametrize(("again", "is_valid"), [({}, False), ({"again": True}, True)])
def test_a_leader_asks_again_for_an_isr_only_if_a_record_has_made_it_forget_that_it_asked(
    again: dict[str, bool], is_valid: bool
) -> None:
    """4.4.0, 50 partitions: the controller grants the first request, and refuses the second for its partition epoch."""
    events = [
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 2}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.NOTES_FETCH, follower=1, offset=0, asks_to_add=1, isr={0, 2}),
        said(11, 0, Says.LEARNS_ISR, isr={0, 2}, epoch=0, hw=0),
        said(20, CONTROLLER, Says.COMMITS_ISR, leader=0, was={0, 2}, isr={0, 1, 2}),
        said(30, 0, Says.NOTES_FETCH, follower=1, offset=0, asks_to_add=1, isr={0, 2}, **again),
        said(40, 0, Says.LEARNS_ISR, isr={0, 1, 2}, epoch=0, hw=0),
    ]
    assert verdict_of({0, 2}, *events).is_valid == is_valid


@pytest.mark.parametrize(("dies", "end", "is_valid"), [(0, 2, True), (0, 1, True), (1, 2, False)])
def test_a_leader_may_be_killed_between_an_append_and_its_line(dies: int, end: int, is_valid: bool) -> None:
    """4.4.0, 50 partitions: its log has a record more than its lines tell; a follower's lines tell of the answer before."""
    elected = {"leader": 1, "epoch": 1} if dies == 0 else {}
    events = [
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1),
        said(20, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(21, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(3_000, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={0, 1, 2} - {dies}, **elected),
        said(5_000, dies, Says.RESTARTS, hw=0, end=end),
    ]
    assert verdict_of({0, 1, 2}, *events).is_valid == is_valid


@pytest.mark.parametrize(("records", "asks_next", "is_valid"), [(1, True, True), (1, False, True), (2, True, False)])
def test_a_leader_that_stood_still_answers_the_fetch_that_waited_with_what_it_appends_then(
    records: int, asks_next: bool, is_valid: bool
) -> None:
    """3.3.2, seed 78: leadership moves away and back, and the follower asks another leader meanwhile."""
    created = said(0, CONTROLLER, Says.CREATES, replicas={0, 1, 2}, isr={0, 1, 2}, leader=0, epoch=0)
    events = [
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        *(said(2, broker, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0) for broker in (1, 2)),
        said(10, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(20, CONTROLLER, Says.CHANGES, leader=2, epoch=1),
        said(22, 2, Says.LEADS, epoch=1, offset=0, hw=0, isr={0, 1, 2}),
        said(23, 1, Says.FOLLOWS, leader=2, epoch=1, offset=0, hw=0),
        *([said(30, 2, Says.NOTES_FETCH, follower=1, offset=0)] if asks_next else []),
        said(40, CONTROLLER, Says.CHANGES, leader=0, epoch=2),
        *(said(42, broker, Says.FOLLOWS, leader=0, epoch=2, offset=0, hw=0) for broker in (1, 2)),
        said(6_000, 0, Says.APPENDS, offset=0, next=1),
        said(6_010, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=records, leader_hw=0),
        said(6_020, 0, Says.LEADS, epoch=2, offset=1, hw=0, isr={0, 1, 2}),
        said(6_030, 0, Says.APPENDS, offset=1, next=2),
        said(6_040, 0, Says.NOTES_FETCH, follower=1, offset=records),
    ]
    found = validate(Subject("3.4.1", [0, 1, 2], {}), created, events, slack=FEW)
    assert found.is_valid == is_valid, found.stuck
    assert (found.steps.get("FetchLate", 0) == found.steps.get("LateRecordsCount", 0) == 1) == is_valid
