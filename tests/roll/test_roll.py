"""Each verdict was worked out by hand; its test's name says how."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from acked.cli import main
from acked.roll.partitions.described import partitions_in
from acked.roll.questions.ask import Answer, Asker, Failing, Stop
from tests.roll.asking import answer, rules, shape

DATA = Path(__file__).resolve().parents[1] / "data" / "roll"


@pytest.fixture(scope="module")
def asker() -> Asker:
    """What is asked once need not be asked again by another test."""
    return Asker()


def kinds(found: Answer) -> list[str]:
    assert not found.open_
    return [failing.value for failing in found.by]


# -- what one partition loses ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stop", Stop)
@pytest.mark.parametrize("version", ["3.9", "4.1"])
def test_of_three_in_sync_any_may_go_because_two_hold_all_and_one_more_failure_leaves_one(
    asker: Asker, version: str, stop: Stop
) -> None:
    for place in (0, 1):
        assert kinds(answer(asker, rules(version, 2), shape("LII", place), stop)) == []


@pytest.mark.slow
def test_of_two_in_sync_the_other_alone_remains_and_its_machine_takes_what_it_had_not_flushed(asker: Asker) -> None:
    found = answer(asker, rules("3.9", 2), shape("LIU", 0))
    assert kinds(found) == ["machine", "disk"], "its process keeps its log"
    assert found.worst is not None
    assert [step for step in found.worst.steps if "machine" in step] == [
        "broker 1 loses its machine; record 0 had not been flushed and is gone"
    ]


@pytest.mark.slow
def test_with_eligible_leaders_a_clean_stop_is_better_than_a_crash_because_the_controller_waits_for_who_left_cleanly(
    asker: Asker,
) -> None:
    """Stopped cleanly it stays eligible, and the machine that dies is not; only its own disk is then needed (KIP-966)."""
    assert kinds(answer(asker, rules("4.1", 2), shape("LIU", 0), Stop.CLEANLY)) == ["disk"]
    assert kinds(answer(asker, rules("4.1", 2), shape("LIU", 0), Stop.BY_KILL)) == ["machine", "disk"]


@pytest.mark.slow
def test_the_last_in_sync_replica_with_unclean_elections_loses_at_once_because_one_that_lacks_records_is_elected(
    asker: Asker,
) -> None:
    found = answer(asker, rules("3.9", 2, unclean=True), shape("LUU", 0))
    assert kinds(found) == ["nothing"]
    assert found.worst is not None
    assert "uncleanly" in found.worst.steps[1]
    assert kinds(answer(asker, rules("3.9", 2), shape("LUU", 0))) == ["machine", "disk"], "without them it is waited for"


@pytest.mark.slow
def test_with_unclean_elections_two_in_sync_are_too_few_even_for_a_process_because_the_third_is_elected(asker: Asker) -> None:
    assert kinds(answer(asker, rules("3.9", 1, unclean=True), shape("LIU", 1))) == ["process", "machine", "disk"]


@pytest.mark.slow
def test_a_broker_that_is_out_of_the_isr_may_go_where_two_others_hold_all(asker: Asker) -> None:
    assert kinds(answer(asker, rules("3.9", 2), shape("LIU", 2))) == []


@pytest.mark.slow
def test_nobody_has_a_single_replica_after_its_disk(asker: Asker) -> None:
    assert kinds(answer(asker, rules("4.1", 1), shape("L", 0))) == ["machine", "disk"]
    flushing = rules("4.1", 1, crashes=1)
    assert kinds(answer(asker, flushing, shape("L", 0))) == ["disk"], "flush.messages=1: a machine takes nothing"


@pytest.mark.slow
def test_a_move_under_way_counts_the_new_replica_only_once_it_is_in_sync(asker: Asker) -> None:
    """Replicas 0, 1, 2 become 1, 2, 3: of the four who have a part 3 holds nothing, and 0 is to be removed."""
    from dataclasses import replace

    from acked.roll.questions.start import Role, Shape

    three = [Role(leads=True, in_sync=True, removing=True), Role(in_sync=True, is_asked=True), Role(in_sync=True)]
    moving = Shape((*three, Role(adding=True)))
    assert kinds(answer(asker, rules("4.1", 2), moving)) == []
    short = Shape((*three[:2], replace(three[2], in_sync=False), Role(adding=True)))
    assert "disk" in kinds(answer(asker, rules("4.1", 2), short))


# -- what was described ---------------------------------------------------------------------------------------------------------

Roll = Callable[..., tuple[int, str]]


@pytest.fixture
def roll(capsys: pytest.CaptureFixture[str]) -> Roll:
    def run(*words: str) -> tuple[int, str]:
        code = main(["roll", "-q", *words])
        return code, capsys.readouterr().out

    return run


def described(name: str, release: str) -> tuple[str, ...]:
    folder = DATA / release
    return str(folder / name), "--kafka-version", release, "--quorum", str(folder / "quorum.txt")


def document(run: tuple[int, str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(run[1])
    return found
