"""Recorded runs of real clusters are valid, and what was changed in them is found.

What lives here: six runs of Kafka 3.9.1 and 4.4.0 from their lines to a verdict, mutations of their events (a few by default,
all of them with `-m long`), events that are missing, doubled or swapped, lines of another run, and what a rejection says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from acked.base.errors import ConfigurationError
from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.subject import Subject, rules_of
from acked.cluster.observation.validation import Verdict, validate
from tests.cluster.observation.fields import checked
from tests.cluster.observation.simulated import CREATED, Simulated
from tests.observations import RUNS, Run, edited, run


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_valid_line_by_line(name: str) -> None:
    recorded = run(name)
    verdict = recorded.validated()
    assert verdict.is_valid, verdict.stuck or verdict.broken
    assert verdict.explained == len(recorded.events) == sum(verdict.events.values())
    assert min(verdict.checked.values()) > 0
    assert len({(held.end, held.hw) for held in verdict.held}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k39-s5", "k4-s5"])
def test_a_run_with_one_batch_a_fetch_needs_answers_that_are_read_before_their_fetch_is_noted(name: str) -> None:
    recorded = run(name)
    assert recorded.validated(without=frozenset({"FetchAtOnce", "FetchWhileHwWaits"})).stuck is not None


def test_the_killed_leader_is_explained_by_its_crash_its_restart_and_a_truncation() -> None:
    steps = run("k4-s3").validated().steps
    assert {"Crash", "Restart", "ElectLeader", "FetchDiverging", "AskToExpand", "CommitAlterPartition"} <= steps.keys()


# -- mutations ----------------------------------------------------------------------------------------------------------

SAME_AS_ANOTHER = {Says.NOTES_FETCH: ("offset", "follower"), Says.FENCES: ("broker",), Says.UNFENCES: ("broker",)}
"""What may as well be said otherwise: a fetch that brings no news is as any other of these followers, at any time; and
who is fenced shows itself in the change of the ISR."""


def mutations(recorded: Run) -> Iterator[tuple[Event, Event]]:
    """Every event with every field of it as another one: numbers one more and one less, in sets broker 1 in or out."""
    for event in recorded.events:
        for name, value in event.fields.items():
            if value is None or name == "version" or name in SAME_AS_ANOTHER.get(event.says, ()):
                continue
            others = [value ^ {1}] if isinstance(value, frozenset) else [value + 1, *([value - 1] if value else [])]
            for other in others:
                yield event, edited(event, **{name: other})


def died_with_its_broker(recorded: Run, event: Event, mutation: Event) -> bool:
    """An append that nobody fetched before its broker died may have been longer: the next start tells what is left."""
    if event.says is not Says.APPENDS or mutation["next"] <= event["next"]:
        return False
    later = [other for other in recorded.events if other.by == event.by and other.at > event.at]
    died = next((other.at for other in later if other.says is Says.RESTARTS), None)
    fetched = [e for e in later if e.says is Says.NOTES_FETCH and e.at < (died or 0) and e["offset"] >= event["next"]]
    return died is not None and not fetched


def names_it(verdict: Verdict, mutation: Event) -> bool:
    """Whether the first line that is not explained is the mutation, or comes when that has been taken, or just before it."""
    if verdict.stuck is None:
        return False
    first = verdict.stuck.open[0][0]
    still_open = [event for event, _ in verdict.stuck.open]
    return first is mutation or mutation not in still_open or abs(first.at - mutation.at) <= 100


def unexplained(recorded: Run, chosen: list[tuple[Event, Event]]) -> list[str]:
    """The mutations that are not found, or not there."""
    missed = []
    for event, mutation in chosen:
        verdict = recorded.validated(recorded.changed(event, mutation))
        if not names_it(verdict, mutation):
            missed.append(f"{event} as {mutation}: {verdict.stuck and verdict.stuck.open[0]}")
    return missed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k4-s1"])
def test_what_a_line_says_could_not_be_otherwise(name: str) -> None:
    recorded = run(name)
    every = list(mutations(recorded))
    assert len(every) >= 40
    assert unexplained(recorded, every[:: len(every) // 5]) == []


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_nothing_that_any_line_says_could_be_otherwise(name: str) -> None:
    recorded = run(name)
    chosen = [(event, other) for event, other in mutations(recorded) if not died_with_its_broker(recorded, event, other)]
    assert unexplained(recorded, chosen) == []


CHANGES: tuple[tuple[Says, dict[str, Any], dict[str, Any]], ...] = (
    (Says.CHANGES, {}, {"leader": 2}),
    (Says.COMMITS_ISR, {}, {"isr": frozenset({0, 1})}),
    (Says.LEADS, {"by": 1}, {"hw": 2}),
    (Says.LEARNS_ISR, {}, {"isr": frozenset({0, 1})}),
    (Says.RESTARTS, {}, {"hw": 2}),
    (Says.RESTARTS, {}, {"end": 3}),
    (Says.TRUNCATES, {"by": 0, "to": 1}, {"to": 0}),
)


@pytest.mark.long
@pytest.mark.parametrize("name", ["k4-s3", "k39-s3"])
def test_a_line_about_the_killed_leader_that_is_changed_is_not_explained(name: str) -> None:
    recorded = run(name)
    chosen = [(event := recorded.the(says, **which), edited(event, **to)) for says, which, to in CHANGES]
    assert unexplained(recorded, chosen) == []


@pytest.mark.parametrize(
    ("name", "says", "fields"),
    [
        ("k4-s1", Says.APPENDS, {}),
        ("k4-s1", Says.TAKES_ANSWER, {"records": 1}),
        ("k4-s1", Says.LEADS, {}),
        pytest.param("k4-s3", Says.CHANGES, {}, marks=pytest.mark.long),
        pytest.param("k4-s3", Says.COMMITS_ISR, {}, marks=pytest.mark.long),
        pytest.param("k4-s3", Says.TRUNCATES, {"by": 0, "to": 1}, marks=pytest.mark.long),
    ],
)
def test_a_run_that_lacks_a_line_is_not_valid(name: str, says: Says, fields: dict[str, Any]) -> None:
    recorded = run(name)
    assert recorded.validated(recorded.changed(recorded.the(says, **fields))).stuck is not None


@pytest.mark.slow
def test_who_died_may_have_died_before_the_controller_says_so_and_only_the_next_start_tells() -> None:
    recorded = run("k4-s3")
    event = recorded.the(Says.CHANGES)
    found = recorded.validated(recorded.changed(event, edited(event, isr=frozenset({0, 1, 2}))))
    assert found.is_valid  # Leadership moves, and the crash, of which no line tells at its time, takes out broker 0.


def test_without_the_line_of_its_restart_a_killed_broker_counts_as_one_that_lost_its_session() -> None:
    recorded = run("k4-s3")
    found = recorded.validated(recorded.changed(recorded.the(Says.RESTARTS)))
    assert found.is_valid
    assert "Crash" not in found.steps
    assert found.steps["LoseSession"] == 1


@pytest.mark.slow
def test_a_line_that_is_there_twice_is_not_explained() -> None:
    recorded = run("k4-s1")
    append = recorded.the(Says.APPENDS)
    again = replace(append, at=append.at + 1)
    verdict = recorded.validated(recorded.changed(append, append, again))
    assert names_it(verdict, again)


@pytest.mark.slow
def test_a_line_of_another_run_is_not_explained() -> None:
    recorded = run("k4-s1")
    foreign = replace(run("k4-s3").the(Says.APPENDS, by=1), at=recorded.events[-1].at)
    verdict = recorded.validated([*recorded.events, foreign])
    assert verdict.stuck is not None
    assert verdict.stuck.open[0][0] is foreign


@pytest.mark.slow
def test_lines_of_one_broker_are_taken_in_their_order() -> None:
    recorded = run("k4-s5")
    first, second = (recorded.the(Says.TAKES_ANSWER, by=2, offset=offset, records=1) for offset in (0, 1))
    swapped = [replace(first, at=second.at), replace(second, at=first.at)]
    others = [event for event in recorded.events if event not in (first, second)]
    assert recorded.validated([*others, *swapped]).stuck is not None


# -- what a rejection says ----------------------------------------------------------------------------------------------


def test_a_rejection_names_the_line_the_clause_that_forbids_it_and_its_values() -> None:
    recorded = run("k4-s1")
    append = recorded.the(Says.APPENDS)
    verdict = recorded.validated(recorded.changed(append, replace(append, by=1)))
    assert verdict.stuck is not None
    reasons = {event.by: why for event, why in verdict.stuck.open}
    assert any("“presumes leadership” is not so (broker 1 has log end 0" in reason for reason in reasons[1]), reasons


def test_an_event_must_tell_what_events_of_its_kind_tell() -> None:
    for name in RUNS:
        for event in run(name).events:
            assert checked(event) is event
    with pytest.raises(ValueError, match=r"a line that says 'appends' tells \['next', 'offset'\], not \['offset'\]"):
        checked(Event(0, CONTROLLER, Says.APPENDS, {"offset": 1}))


def test_the_rules_are_those_of_the_newest_version_that_is_not_newer_than_the_release() -> None:
    assert [rules_of(release) for release in ("3.9.1", "3.9.2", "4.4.0", "3.4.0", "2.8.2")] == [
        "3.9.1", "3.9.1", "4.4", "3.4", "2.8.1",
    ]  # fmt: skip
    with pytest.raises(ConfigurationError, match="'abc' is not a release of Kafka"):
        rules_of("abc")


def test_more_replicas_than_the_model_has_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="the partition has 6 replicas"):
        Subject("4.1", range(6))


# -- runs that the model takes by itself ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "release"), [(0, "4.1"), (2, "3.9")])
def test_what_the_model_does_by_itself_is_valid_however_lines_race(seed: int, release: str) -> None:
    simulated = Simulated(seed, release, failures=50, delay=100)
    events = simulated.run(400)
    verdict = validate(simulated.subject, CREATED, events)
    assert verdict.is_valid, verdict.stuck or verdict.broken
    assert verdict.explained == len(events) > 150
    assert {"Crash", "Restart", "ElectLeader", "FetchAtOnce"} <= verdict.steps.keys()


@pytest.mark.long
@pytest.mark.parametrize("release", ["3.3", "3.6", "3.9", "4.1"])
@pytest.mark.parametrize("seed", range(5))
def test_long_runs_of_the_model_are_valid(seed: int, release: str) -> None:
    simulated = Simulated(seed, release)
    events = simulated.run(3_000)
    verdict = validate(simulated.subject, CREATED, events)
    assert verdict.is_valid, verdict.stuck or verdict.broken
    assert verdict.explained == len(events) > 1_000
