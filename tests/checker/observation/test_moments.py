"""Moments of real clusters that `acked exercise` met first: epochs without a leader, shutdowns, processes cut short."""

from __future__ import annotations

from typing import Any

import pytest

from acked.checker.observation.events import CONTROLLER, Event, Says, checked
from acked.checker.observation.subject import Subject
from acked.checker.observation.validation import Verdict, validate
from acked.cluster.lines.recorded import Recording
from tests.observations import OBSERVED


def said(at: int, by: int, says: Says, **fields: Any) -> Event:
    sets = {name: frozenset(value) if isinstance(value, set) else value for name, value in fields.items()}
    return checked(Event(at, by, says, sets, "log", at, f"{by} {says.value}"))


def verdict_of(isr: set[int], *events: Event) -> Verdict:
    created = said(0, CONTROLLER, Says.CREATES, replicas={0, 1, 2}, isr=isr, leader=0, epoch=0)
    return validate(Subject("4.1", [0, 1, 2]), created, events)


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


def test_a_run_with_zookeeper_is_valid_from_its_files() -> None:
    recording = Recording([str(OBSERVED / "zookeeper-2.8.2")], "exercise", 0)
    begun = recording.begin()
    subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), begun.settings)
    found = validate(subject, begun.created, recording.events())
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
