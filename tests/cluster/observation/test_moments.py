"""Moments of real clusters that `acked kafka exercise` met first: epochs without a leader, shutdowns, processes cut short."""

from __future__ import annotations

from typing import Any

import pytest

from acked.cluster.lines.recording import Recording
from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.lanes import Slack
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import Verdict, validate
from tests.cluster.observation.moments import said, verdict_of
from tests.observations import OBSERVED


@pytest.mark.parametrize(("elected_in", "is_valid"), [(2, True), (1, False), (3, False)])
def test_an_epoch_in_which_nobody_leads_counts_and_the_next_leader_has_the_one_after(elected_in: int, is_valid: bool) -> None:
    found = verdict_of(
        {0},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0}),
        said(1_000, CONTROLLER, Says.CHANGES, leader=-1, epoch=1),
        said(1_500, CONTROLLER, Says.UNFENCES, broker=0),
        said(2_000, CONTROLLER, Says.CHANGES, leader=0, epoch=elected_in),
        said(3_000, 0, Says.LEADS, epoch=elected_in, offset=0, hw=0, isr={0}),
    )
    assert found.is_valid == is_valid
    assert sum(found.steps.values()) == sum(number for name, number in found.steps.items() if name[0].isupper())


@pytest.mark.parametrize(("isr", "epoch", "is_valid"), [({1}, 2, True), ({0, 1}, 2, False), ({1}, 3, False)])
def test_an_unclean_election_leaves_out_of_the_isr_who_has_lost_its_session_before(
    isr: set[int], epoch: int, is_valid: bool
) -> None:
    """Without eligible leaders the last one stays in the ISR when nobody leads (4.0.0, played as unclean-only-acks-1)."""
    found = verdict_of(
        {0},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0}),
        said(2, 0, Says.APPENDS, offset=0, next=1, hw=1),
        said(1_000, CONTROLLER, Says.CHANGES, leader=-1, epoch=1),
        said(2_000, CONTROLLER, Says.CHANGES, was={0}, isr=isr, leader=1, epoch=epoch),
        said(2_100, 1, Says.LEADS, epoch=epoch, offset=0, hw=0, isr=isr),
        release="4.0",
    )
    assert found.is_valid == is_valid
    assert found.steps.get("ElectUncleanly", 0) == is_valid


def test_a_broker_that_shuts_down_in_an_orderly_way_hears_of_the_next_leader() -> None:
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(1_000, CONTROLLER, Says.CHANGES, was={0, 1}, isr={1}, leader=1, epoch=1),
        said(1_001, 0, Says.FOLLOWS, leader=1, epoch=1, offset=0, hw=0),
        said(1_002, 1, Says.LEADS, epoch=1, offset=0, hw=0, isr={1}),
    )
    assert found.is_valid
    assert found.steps["RegainSession"] == 1


@pytest.mark.parametrize("cut", [True, None])
def test_a_rise_of_the_high_watermark_whose_fetch_was_not_printed_any_more_needs_the_end_of_the_process(
    cut: bool | None,
) -> None:
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(100, 0, Says.APPENDS, offset=0, next=1),
        said(101, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(110, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(120, 0, Says.RAISES_HW, hw=1, **({"cut": cut} if cut else {})),
    )
    assert found.is_valid == bool(cut)


@pytest.mark.parametrize(("appends", "is_valid"), [(False, True), (True, False)])
def test_a_broker_that_starts_again_may_lead_in_a_former_epoch_and_does_nothing_then(appends: bool, is_valid: bool) -> None:
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(1_000, CONTROLLER, Says.CHANGES, was={0, 1}, isr={1}, leader=1, epoch=1),
        said(1_001, 1, Says.LEADS, epoch=1, offset=0, hw=0, isr={1}),
        said(2_000, 0, Says.RESTARTS, hw=0, end=0),
        said(2_001, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        *([said(2_002, 0, Says.APPENDS, offset=0, next=1)] if appends else []),
        said(2_100, 0, Says.FOLLOWS, leader=1, epoch=1, offset=1 if appends else 0, hw=0),
    )
    assert found.is_valid == is_valid


def verdict_on_files(folder: str, slack: Slack | None = None, **settings: object) -> Verdict:
    recording = Recording([str(OBSERVED / folder)], "exercise", 0)
    begun = recording.begin()
    subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), {**begun.settings, **settings})
    return validate(subject, begun.created, recording.events(), slack=slack)


@pytest.mark.slow
def test_a_run_with_zookeeper_is_valid_from_its_files() -> None:
    found = verdict_on_files("zookeeper-2.8.2")
    assert found.is_valid, found.stuck or found.broken
    assert found.explained > 3_000
    steps = {"Crash", "Restart", "ElectLeader", "LoseSession", "RegainSession", "AskToExpand", "CommitAlterPartition"}
    assert steps <= set(found.steps)


def test_a_follower_that_ends_with_an_answer_may_have_appended_it_without_a_word_of_the_high_watermark() -> None:
    begins = [
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1),
        said(20, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(21, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(22, 0, Says.NOTES_FETCH, follower=1, offset=1, hw=1),
        said(23, 0, Says.APPENDS, offset=1, next=2),
    ]
    answer = {"leader": 0, "offset": 1, "records": 1, "leader_hw": 1}
    restart = said(3_000, 1, Says.RESTARTS, hw=0, end=2)
    assert verdict_of({0, 1}, *begins, said(24, 1, Says.TAKES_ANSWER, **answer, cut=True), restart).is_valid
    assert not verdict_of({0, 1}, *begins, said(24, 1, Says.TAKES_ANSWER, **answer), restart).is_valid


def test_an_answer_that_is_held_up_for_seconds_is_one_that_its_leader_gave_then() -> None:
    quick = [
        event
        for number in range(1, 400)
        for event in (
            said(100 + 10 * number, 0, Says.APPENDS, offset=number, next=number + 1, hw=number + 1),
        )
    ]
    found = verdict_of(
        {0},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1, hw=1),
        said(20, 0, Says.NOTES_FETCH, follower=1, offset=0),
        *quick,
        said(6_000, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=1, hw=1),
    )
    assert found.is_valid, found.stuck


def replicated(first: int, last: int, at: int) -> list[Event]:
    """Records from one offset to another that broker 0 appends and broker 1 gets, every ten ms, with nothing committed."""
    told = []
    for offset in range(first, last):
        moment = at + 10 * (offset - first)
        told += [
            said(moment, 0, Says.APPENDS, offset=offset, next=offset + 1),
            said(moment + 2, 1, Says.TAKES_ANSWER, leader=0, offset=offset, records=1, leader_hw=0),
            said(moment + 4, 0, Says.NOTES_FETCH, follower=1, offset=offset + 1),
        ]
    return told


def test_a_broker_that_is_back_within_its_session_leaves_the_isr_when_the_controller_says_so() -> None:
    found = verdict_of(
        {0, 1, 2},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(3, 2, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(4, 0, Says.NOTES_FETCH, follower=1, offset=0),
        *replicated(0, 100, 1_000),
        said(1_500, 2, Says.RESTARTS, hw=0, end=0),
        *replicated(100, 300, 2_000),
        said(4_000, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={0, 1}, version=1),
        said(4_010, 0, Says.LEARNS_ISR, isr={0, 1}, raised=300),
        said(4_020, 2, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
    )
    assert found.is_valid
    assert found.steps["LoseSession"] == 1
    assert found.tried < 2 * found.explained


@pytest.mark.parametrize(("release", "is_valid"), [("4.1.0", True), ("4.3.1", False)])
def test_a_new_directory_makes_the_controller_forget_eligible_leaders_to_4_2(release: str, is_valid: bool) -> None:
    """As a real 4.1.0 does; from 4.3 an assignment keeps them, and min.insync.replicas was not set anew either."""
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(1_000, CONTROLLER, Says.CHANGES, was={0, 1}, isr={0}, elr={1}, version=1),
        said(2_000, CONTROLLER, Says.CHANGES, elr=set(), version=2),
        release=release,
        min_insync_replicas=2,
        config_changes=False,
    )
    assert found.is_valid == is_valid
    assert not is_valid or found.steps["MoveDirectory"] == 1


# -- answers that are late --------------------------------------------------------------------------------------------


def late(waited: bool, records: int = 1, hw: int = 0) -> tuple[Event, ...]:
    """Broker 0 notes a fetch and answers it, at once or when there is a record; broker 1 takes that in epoch 1."""
    appends = said(12, 0, Says.APPENDS, offset=0, next=1)
    notes = said(13 if not waited else 11, 0, Says.NOTES_FETCH, follower=1, offset=0)
    return (
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        *sorted((appends, notes), key=lambda event: event.at),
        said(20, CONTROLLER, Says.CHANGES, was={0, 1, 2}, isr={0, 1}, epoch=1),
        said(21, 1, Says.FOLLOWS, leader=0, epoch=1, offset=0, hw=0),
        said(25, 0, Says.LEADS, epoch=1, offset=1, hw=0, isr={0, 1}),
        said(30, 0, Says.APPENDS, offset=1, next=2),
        said(40, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=records, leader_hw=hw),
        said(50, 0, Says.NOTES_FETCH, follower=1, offset=records, **({"hw": 1} if records else {})),
    )


@pytest.mark.parametrize("release", ["3.4.1", "3.5.1"])
@pytest.mark.parametrize("waited", [False, True])
def test_an_answer_to_a_fetch_of_the_former_epoch_is_taken_in_the_next_one_to_3_5(waited: bool, release: str) -> None:
    found = verdict_of({0, 1, 2}, *late(waited), release=release)
    assert found.is_valid
    assert (found.steps["FetchLate"], found.steps["LateRecordsCount"]) == (1, 1)
    assert (found.held[1].end, found.held[1].epochs) == (1, ((0, 0),))


def test_an_answer_brings_what_the_leader_had_when_it_read_it() -> None:
    """Two records, of which the second was appended after the follower had left the epoch; a high watermark of later."""
    assert not verdict_of({0, 1, 2}, *late(True, records=2), release="3.4.1").is_valid
    assert not verdict_of({0, 1, 2}, *late(True, hw=1), release="3.4.1").is_valid


@pytest.mark.parametrize("appending", [True, None])
def test_a_follower_hears_who_leads_while_its_fetcher_appends_an_answer(appending: bool | None) -> None:
    """The line of the new epoch has the log end from before the answer, which was taken in the former one."""
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1),
        said(11, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(12, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(13, CONTROLLER, Says.CHANGES, leader=0, was={0, 1}, isr={0}, epoch=1),
        said(14, 1, Says.FOLLOWS, leader=0, epoch=1, offset=0, hw=0, **({"appending": appending} if appending else {})),
        release="3.4.1",
    )
    assert found.is_valid == bool(appending)


# -- answers that tell to truncate --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_real_3_3_2_takes_the_high_watermark_that_comes_with_the_news_that_logs_diverge() -> None:
    """A former leader's falls from 37 to 36 before it truncates from 38 to 37 (KAFKA-14704)."""
    found = verdict_on_files("truncation-3.3.2")
    assert found.is_valid, found.stuck or found.broken
    assert found.steps["FetchDiverging"] == 1
    mended = verdict_on_files("truncation-3.3.2", Slack(nodes=20), truncation_before_hw=True)
    assert mended.stuck is not None
    first, reasons = mended.stuck.open[0]
    assert (first.says, first["leader_hw"], first["hw"], first["to"]) == (Says.TRUNCATES, 36, 36, 37)
    assert "after FetchDiverging(follower 0, leader 1): the line says HW 36, and by the rules it is 37" in reasons


def deposed(*events: Event) -> tuple[Event, ...]:
    """Broker 0 has a record more than broker 1, which leads after it in epoch 1."""
    return (
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(3, 0, Says.APPENDS, offset=0, next=1),
        said(4, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(5, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(6, 0, Says.APPENDS, offset=1, next=2),
        said(10, CONTROLLER, Says.CHANGES, leader=1, epoch=1),
        said(11, 1, Says.LEADS, epoch=1, offset=1, hw=0, isr={0, 1, 2}),
        *events,
    )


SHRINKS = (
    said(900, 1, Says.ASKS_TO_SHRINK, followers={0, 2}),
    said(1_000, CONTROLLER, Says.COMMITS_ISR, leader=1, was={0, 1, 2}, isr={1}, epoch=2),
)
"""To 3.5 each removal from the ISR takes a leader epoch, of which the leader hears as of any other."""
LEADS_ALONE = said(1_020, 1, Says.LEADS, epoch=2, offset=1, hw=0, isr={1}, raised=1)


@pytest.mark.parametrize(
    ("release", "told", "is_valid"),
    [
        ("3.3.2", {"leader_hw": 1, "hw": 1}, True),
        ("3.3.2", {}, True),
        ("3.3.2", {"leader_hw": 1, "hw": 0}, False),
        ("3.3.2", {"leader_hw": 2, "hw": 2}, False),
        ("3.3.2", {"leader_hw": 1, "hw": 1, "leader": 2}, False),
        ("3.4.1", {"leader_hw": 1, "hw": 1}, False),
        ("3.4.1", {}, False),
    ],
)
def test_to_3_4_0_a_follower_takes_the_high_watermark_that_comes_with_the_news_that_logs_diverge(
    release: str, told: dict[str, Any], is_valid: bool
) -> None:
    """By the line of the next leader epoch the follower's is 1, as its leader's was (KAFKA-14704)."""
    events = deposed(
        *SHRINKS,
        LEADS_ALONE,
        said(1_100, 0, Says.FOLLOWS, leader=1, epoch=2, offset=2, hw=0),
        said(1_200, 0, Says.TRUNCATES, to=1, **{"leader": 1, **told}),
        said(9_000, CONTROLLER, Says.CHANGES, leader=-1, epoch=3),
        said(9_100, 0, Says.FOLLOWS, leader=-1, epoch=3, offset=1, hw=1),
        said(9_500, CONTROLLER, Says.UNFENCES, broker=1),
        said(9_900, CONTROLLER, Says.CHANGES, leader=1, epoch=4),
        said(10_000, 0, Says.FOLLOWS, leader=1, epoch=4, offset=1, hw=1),
    )
    assert verdict_of({0, 1, 2}, *events, release=release).is_valid == is_valid


@pytest.mark.parametrize(("to", "most", "is_valid"), [(1, 1, True), (1, 2, True), (2, None, True), (2, 1, False)])
def test_a_log_that_is_not_cut_as_far_as_its_leader_says_is_not_explained(to: int, most: int | None, is_valid: bool) -> None:
    """A cut to the log's own end is none; a follower keeps nothing that its leader's epoch has not."""
    told = {} if most is None else {"most": most}
    events = deposed(
        *SHRINKS,
        LEADS_ALONE,
        said(1_100, 0, Says.FOLLOWS, leader=1, epoch=2, offset=2, hw=0),
        said(1_200, 0, Says.TRUNCATES, to=to, leader=1, **told),
    )
    found = verdict_of({0, 1, 2}, *events, release="3.5.1")
    assert found.is_valid == is_valid
    if found.stuck is not None:
        _, reasons = found.stuck.open[0]
        assert any("the leader's log is told to go to 1, and the cut is to 2" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("release", "told", "names_epoch", "is_valid"),
    [
        ("3.3.2", {"leader_hw": 0, "hw": 0}, False, True),
        ("3.3.2", {"leader_hw": 0, "hw": 1}, False, False),
        ("3.5.1", {}, False, True),
        ("3.5.1", {}, True, False),
    ],
)
@pytest.mark.parametrize("heard", [True, False])
def test_an_answer_of_the_former_epoch_truncates_in_the_next_one_where_releases_take_it(
    heard: bool, release: str, told: dict[str, Any], names_epoch: bool, is_valid: bool
) -> None:
    """The leader's high watermark rises as it hears of the next epoch, or it dies before it hears of that."""
    events = deposed(
        said(20, 0, Says.FOLLOWS, leader=1, epoch=1, offset=2, hw=0),
        *SHRINKS,
        said(1_001, 0, Says.FOLLOWS, leader=1, epoch=2, offset=2, hw=0),
        said(1_002, 0, Says.REMOVES_FETCHER),
        said(1_010, 0, Says.TRUNCATES, to=1, leader=1, **told),
        LEADS_ALONE if heard else said(9_000, 1, Says.RESTARTS, hw=0, end=1),
    )
    found = verdict_of({0, 1, 2}, *events, release=release, answer_names_epoch=names_epoch)
    if heard and release == "3.5.1":
        assert found.is_valid  # Nothing tells it from an answer that came at once.
        return
    assert found.is_valid == is_valid
    if is_valid:
        assert (found.steps["FetchDivergingLate"], found.steps["LateAnswerCounts"]) == (1, 1)
