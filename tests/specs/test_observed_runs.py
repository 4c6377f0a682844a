"""Recorded runs of real clusters are behaviours of `partition`, under the rules of their release.

What lives here: six runs of Kafka 3.9.1 and 4.4.0, line by line in `tests/data/observed/`, and what shows that the search for
a behaviour says no where it should: without the actions that two of the runs asked for, and of lines that were changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from acked.model.language.protocol import Instance
from tests.observed import Event, Explainer, Explanation, RecordedRun, instance_for, parse_event, recorded

UNTROUBLED = ("k4-s1", "k39-s1", "k4-s3", "k39-s3")
ONE_BATCH_A_FETCH = ("k4-s5", "k39-s5")
"""The followers are behind, so an answer is read at once: with the high watermark from before the leader notes the fetch."""

READ_BEFORE_NOTED = frozenset({"FetchAtOnce", "FetchWhileHwWaits"})
"""The actions in which an answer is read before its fetch is noted."""


@cache
def run(name: str) -> RecordedRun:
    return recorded(name)


@cache
def instance(name: str) -> Instance:
    return instance_for(run(name))


@cache
def explainer(name: str, without: frozenset[str] = frozenset()) -> Explainer:
    return Explainer(instance(name), without)


def explain(name: str, without: frozenset[str] = frozenset()) -> Explanation:
    return explainer(name, without).explain(run(name).events)


def explain_changed(name: str, line: Event, *instead: Event) -> Explanation:
    """The run with other lines, or none, in the place of one."""
    place = run(name).events.index(line)
    events = run(name).events
    return explainer(name).explain([*events[:place], *instead, *events[place + 1 :]])


def the_line(name: str, by: int | str, says: str, **fields: Any) -> Event:
    """The first line by somebody that says so."""
    return next(e for e in run(name).events if (e.by, e.says) == (by, says) and fields.items() <= e.fields.items())


@pytest.mark.parametrize("name", [*UNTROUBLED, *ONE_BATCH_A_FETCH])
def test_a_recorded_run_is_a_behaviour_of_partition(name: str) -> None:
    found = explain(name)
    assert found.behaviour is not None, f"nothing explains one of {found.open}"
    explained = [line for lines, _ in found.behaviour for line in lines]
    assert sorted(map(id, explained)) == sorted(map(id, run(name).events))


@pytest.mark.parametrize("name", ONE_BATCH_A_FETCH)
def test_one_batch_a_fetch_is_explained_only_by_answers_that_are_read_before_the_fetch_is_noted(name: str) -> None:
    found = explain(name, without=READ_BEFORE_NOTED)
    assert found.behaviour is None
    # The follower that raised the high watermark to 1 by fetching at 1 is told, with the next record, that it is 0.
    stale = [line for line in found.open if line.says == "takes answer"]
    assert {"offset": 1, "records": 1, "leader_hw": 0}.items() <= stale[0].fields.items()


@pytest.mark.parametrize("name", UNTROUBLED)
def test_runs_in_which_followers_wait_for_records_need_no_answer_read_before(name: str) -> None:
    assert explain(name, without=READ_BEFORE_NOTED).behaviour is not None


def numbers_printed(name: str) -> Iterator[tuple[Event, str]]:
    """Every number of every line; but a fetch that says nothing new may as well have been another's, or another time's."""
    for line in run(name).events:
        for field in line.fields:
            if line.says != "notes fetch" or field == "hw":
                yield line, field


@pytest.mark.slow
@pytest.mark.parametrize("by_how_much", [-1, 1])
def test_no_number_that_a_follower_a_client_s_append_or_a_high_watermark_has_could_be_another(by_how_much: int) -> None:
    explained = [
        (line, field)
        for line, field in numbers_printed("k4-s5")
        if explain_changed("k4-s5", line, line.edited(**{field: (line[field] + by_how_much) % 5})).behaviour is not None
    ]
    assert explained == []


CHANGES: tuple[tuple[int | str, str, dict[str, Any]], ...] = (
    ("controller", "changes partition", {"leader": 2}),
    ("controller", "changes partition", {"isr": frozenset({0, 1, 2})}),
    ("controller", "commits ISR", {"isr": frozenset({0, 1})}),
    (1, "leads", {"isr": frozenset({0, 1, 2})}),
    (1, "leads", {"hw": 2}),
    (1, "learns ISR", {"isr": frozenset({0, 1})}),
    (0, "follows", {"epoch": 2}),
    (0, "loads log", {"hw": 2}),
    (0, "truncates", {"to": 0}),
)
"""What a line of the run in which a leader is killed might say instead, and could not."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k4-s3", "k39-s3"])
def test_a_line_about_the_killed_leader_that_is_changed_is_not_explained(name: str) -> None:
    lines = [(the_line(name, by, says), fields) for by, says, fields in CHANGES]
    explained = [(line, to) for line, to in lines if explain_changed(name, line, line.edited(**to)).behaviour is not None]
    assert explained == []


@pytest.mark.parametrize(
    ("name", "by", "says"),
    [
        ("k4-s5", 0, "appends"),
        ("k4-s5", 1, "takes answer"),
        ("k4-s3", "controller", "changes partition"),
        ("k4-s3", "controller", "commits ISR"),
        ("k4-s3", 1, "leads"),
        ("k4-s3", 0, "truncates"),
        ("k4-s3", 0, "starts"),
    ],
)
def test_a_run_that_lacks_a_line_is_not_explained(name: str, by: int | str, says: str) -> None:
    fields = {"records": 1} if says == "takes answer" else {}
    assert explain_changed(name, the_line(name, by, says, **fields)).behaviour is None


def test_lines_of_one_broker_are_taken_in_their_order() -> None:
    first, second = (the_line("k4-s5", 2, "takes answer", offset=offset, records=1) for offset in (0, 1))
    events = list(run("k4-s5").events)
    here, there = events.index(first), events.index(second)
    events[here], events[there] = second, first
    assert explainer("k4-s5").explain(events).behaviour is None


def test_a_line_must_tell_what_lines_of_its_kind_tell() -> None:
    with pytest.raises(ValueError, match=r"a line that says 'appends' tells \['next', 'offset'\], not \['offset'\]"):
        parse_event({"at": 0.5, "by": 0, "says": "appends", "offset": 1})
