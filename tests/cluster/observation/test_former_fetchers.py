"""A follower's fetcher goes on with the former leader after its broker has heard of the next one, until it is removed.

What lives here: lines of a real 3.7.2 in which that happened, the same with the removal told earlier, and the same said of
other releases, where an answer of a former epoch does not count once the fetcher is removed (KAFKA-18991).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from acked.cluster.lines.recording import Recording
from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.lanes import Slack
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import Verdict, validate
from tests.cluster.observation.test_moments import said, verdict_of, verdict_on_files
from tests.observations import OBSERVED

REAL = "fetcher-3.7.2"


def with_removal_first() -> Verdict:
    """The verdict on the real run, in which broker 2's fetcher is said to be removed before it takes the answer."""
    recording = Recording([str(OBSERVED / REAL)], "exercise", 0)
    begun = recording.begin()
    events = list(recording.events())
    heard = next(e for e in events if e.says is Says.FOLLOWS and e.by == 2 and e["epoch"] == 1)
    removed = next(e for e in events if e.says is Says.REMOVES_FETCHER and e.by == 2 and e.at > heard.at)
    events.remove(removed)
    events.insert(events.index(heard) + 1, replace(removed, at=heard.at))
    subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), begun.settings)
    return validate(subject, begun.created, events, slack=Slack(nodes=20))


def test_a_real_3_7_2_appends_an_answer_of_the_former_leader_after_it_has_heard_of_the_next() -> None:
    """Broker 2 follows broker 1 at 56.070, takes record 3 and high watermark 3 of broker 0, and lets it go at 56.299."""
    found = verdict_on_files(REAL)
    assert found.is_valid, found.stuck or found.broken
    assert (found.steps["BecomeFollowerBeforeRemoval"], found.steps["RemoveFormerFetcher"]) == (1, 1)


def test_without_the_rule_the_real_answer_is_not_explained() -> None:
    found = verdict_on_files(REAL, Slack(nodes=20), fetcher_stops_first=True)
    assert found.stuck is not None
    assert "2026-11-24 15:06:56.157" in found.stuck.open[0][0].text


def test_the_same_answer_after_the_removal_of_the_fetcher_is_not_explained() -> None:
    found = with_removal_first()
    assert found.stuck is not None
    first, reasons = found.stuck.open[0]
    assert (first.by, first.says, first["leader"], first["offset"]) == (2, Says.TAKES_ANSWER, 0, 3)
    assert any("FetchAtOnce(follower 2, leader 0) is forbidden: “follows”" in reason for reason in reasons)


REMOVES = said(60, 1, Says.REMOVES_FETCHER)


def moved(*events: Event) -> tuple[Event, ...]:
    """Leadership moves from broker 0, of which broker 1 has asked for more, to broker 2; what broker 1 does then."""
    return (
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1, 2}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(3, 2, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1),
        said(11, 2, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0),
        said(12, 0, Says.NOTES_FETCH, follower=2, offset=0),
        said(13, 0, Says.NOTES_FETCH, follower=1, offset=0),
        said(20, CONTROLLER, Says.CHANGES, leader=2, epoch=1),
        said(30, 1, Says.FOLLOWS, leader=2, epoch=1, offset=0, hw=0),
        said(40, 0, Says.FOLLOWS, leader=2, epoch=1, offset=1, hw=0),
        said(41, 2, Says.LEADS, epoch=1, offset=1, hw=0, isr={0, 1, 2}),
        *events,
    )


TAKES = said(50, 1, Says.TAKES_ANSWER, leader=0, offset=0, records=1, leader_hw=0)
GOES_ON = (
    said(70, 1, Says.TAKES_ANSWER, leader=2, offset=1, records=0, leader_hw=0),
    said(71, 2, Says.NOTES_FETCH, follower=1, offset=1),
)


@pytest.mark.parametrize("release", ["2.8.2", "3.9.0", "3.9.1", "4.3.1"])
@pytest.mark.parametrize("is_told", [True, False])
def test_an_answer_counts_until_the_fetcher_is_removed_whatever_the_former_leader_has_heard(
    release: str, is_told: bool
) -> None:
    """Where the log does not tell of the removal it may be at any time before the next leader is asked."""
    events = moved(TAKES, *([REMOVES] if is_told else []), *GOES_ON)
    found = verdict_of({0, 1, 2}, *events, release=release)
    assert found.is_valid, found.stuck
    assert (found.steps["BecomeFollowerBeforeRemoval"], found.steps["RemoveFormerFetcher"]) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["2.8.2", "3.9.0", "3.9.1", "4.3.1"])
def test_an_answer_after_the_removal_of_the_fetcher_does_not_count(release: str) -> None:
    assert not verdict_of({0, 1, 2}, *moved(replace(REMOVES, at=45), TAKES, *GOES_ON), release=release).is_valid


@pytest.mark.slow
def test_after_it_has_asked_the_next_leader_a_follower_takes_nothing_of_the_former() -> None:
    late = replace(TAKES, at=80)
    asks = said(71, 2, Says.NOTES_FETCH, follower=1, offset=0)
    assert not verdict_of({0, 1, 2}, *moved(asks, late), release="4.3.1").is_valid
