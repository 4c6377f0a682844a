"""What is known of rises of a high watermark of which lines tell, whichever thread prints them."""

from __future__ import annotations

import pytest

from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.lanes import Rises, Slack
from tests.cluster.observation.test_moments import said, verdict_of


def rises(*events: Event) -> Rises:
    found = Rises(Slack(within=300))
    for event in events:
        found.note(event)
    return found


def raised(at: int, hw: int, by: int = 0) -> Event:
    return said(at, by, Says.RAISES_HW, hw=hw)


@pytest.mark.parametrize(("at", "is_told"), [(700, True), (699, False), (1_300, True), (1_301, False)])
def test_a_rise_is_told_by_a_line_of_its_broker_near_it(at: int, is_told: bool) -> None:
    known = rises(raised(1_000, 5))
    assert known.are_told(0, 5, at) == is_told
    assert not known.are_told(0, 4, 1_000)
    assert not known.are_told(1, 5, 1_000)


@pytest.mark.parametrize(("at", "owed"), [(1_300, 0), (1_301, 5), (2_300, 5), (2_301, 7)])
def test_a_rise_is_owed_some_time_after_its_line(at: int, owed: int) -> None:
    assert rises(raised(1_000, 5), raised(2_000, 7)).owed(0, at) == owed


@pytest.mark.parametrize("anew", [
    said(1_500, 0, Says.LEADS, epoch=1, offset=0, hw=0, isr={0}), said(1_500, 0, Says.RESTARTS, hw=0, end=0),
])  # fmt: skip
def test_nothing_is_owed_of_before_a_broker_starts_again_or_takes_office(anew: Event) -> None:
    known = rises(raised(1_000, 5), anew)
    assert (known.owed(0, 9_000), known.last(0)) == (0, None)
    later = raised(2_000, 3)
    known.note(later)
    assert (known.owed(0, 9_000), known.last(0)) == (3, later)


def test_old_rises_are_forgotten_and_the_last_ones_are_not() -> None:
    known = rises(*(raised(50 * n, n) for n in range(1, 30_001)))
    assert known.owed(0, 50 * 30_000) == 30_000 - 7  # The last that is more than 300 ms ago.
    assert known.are_told(0, 30_000 - 8_000, 50 * (30_000 - 8_000))
    assert not known.are_told(0, 1, 50)


@pytest.mark.parametrize(("told", "is_valid"), [(None, True), (1, False)])
def test_a_rise_that_the_last_line_tells_and_no_fetch_brings_is_not_explained(told: int | None, is_valid: bool) -> None:
    found = verdict_of(
        {0, 1},
        said(1, 0, Says.LEADS, epoch=0, offset=0, hw=0, isr={0, 1}),
        said(2, 1, Says.FOLLOWS, leader=0, epoch=0, offset=0, hw=0),
        said(10, 0, Says.APPENDS, offset=0, next=1, **({} if told is None else {"hw": told})),
    )
    assert found.is_valid == is_valid
    if found.stuck is not None:
        [(event, reasons)] = found.stuck.open
        assert event.says is Says.APPENDS
        assert reasons == ("lines of this broker say HW 1 up to this one, and by the rules it is 0",)
