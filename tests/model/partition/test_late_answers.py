"""Late answers to fetches, held against an enumeration that shares nothing with the model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from acked.checker.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.search.local import search
from tests.model.partition.enumeration import Rules
from tests.model.partition.late_answers_enumeration import explore
from tests.model.partition.test_reassignment import PROMISES, instance

COMPARED = ("AckedRecordsSurvive", "AckedRecordsInIsr", "AckedRecordsExist", "LogsAgreeBelowHw", "CommittedInIsr")
OF_MOVES = ("assigned", "moves", "moved_to", "move_completion", "moves_replaceable")


def rules(**more: Any) -> Rules:
    """Every broker is a replica, and stays one."""
    return Rules(assigned=0, moved_to=0, **more)


def answer(asked: Rules, names_epoch: bool, takes_hw_first: bool, keeps_epoch: bool = True) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and by promise that is broken after how many steps it is so first."""
    constants = {name: value for name, value in asdict(asked).items() if name not in OF_MOVES}
    constants["crashes"] = "clean" if asked.crashes else "none"
    made = instance(
        **constants, reassignment=False, late_answers=True, answer_names_epoch=names_epoch,
        truncation_before_hw=not takes_hw_first, fetched_epoch_kept=keeps_epoch,
    )  # fmt: skip
    question = Question(made, tuple(PROMISES[name] for name in COMPARED))
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    return result.distinct_states, {item.property.name: item.trace_length - 1 for item in result.violations}


QUICK = [(rules(), True, False), (rules(crashes=True), True, False)]
MORE = [
    (rules(leadership_moves=True), True, False),
    (rules(leadership_moves=True), False, False),
    (rules(crashes=True), False, True),
    (rules(crashes=True, unclean_election=True), False, False),
    (rules(crashes=True, min_insync_replicas=2, eligible_leader_replicas=True), True, False),
    (rules(leadership_moves=True), False, True),
]


@pytest.mark.parametrize(
    ("asked", "names_epoch", "takes_hw_first"),
    [*QUICK, *(pytest.param(*item, marks=pytest.mark.long) for item in MORE)],
    ids=str,
)
def test_states_and_verdicts_are_those_of_an_enumeration_written_from_the_facts(
    asked: Rules, names_epoch: bool, takes_hw_first: bool
) -> None:
    assert answer(asked, names_epoch, takes_hw_first) == explore(asked, names_epoch, takes_hw_first)


@pytest.mark.parametrize(
    ("asked", "names_epoch"),
    [
        pytest.param(rules(crashes=True), True, marks=pytest.mark.slow),
        pytest.param(rules(crashes=True), False, marks=pytest.mark.slow),
        pytest.param(rules(leadership_moves=True), False, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_fetches_that_name_no_epoch_after_an_answer_without_records_are_those_of_the_enumeration(
    asked: Rules, names_epoch: bool
) -> None:
    """KAFKA-15510; where an answer names its epoch nothing follows from it, and there is no state for it."""
    assert answer(asked, names_epoch, False, keeps_epoch=False) == explore(asked, names_epoch, False, keeps_epoch=names_epoch)


def test_an_answer_of_a_former_epoch_is_told_apart_from_one_of_the_present() -> None:
    # Neither side of the comparison would be worth much if the rule made no difference to it.
    by_offset, by_epoch = (answer(rules(leadership_moves=True), names_epoch, False)[0] for names_epoch in (False, True))
    assert by_offset > by_epoch
