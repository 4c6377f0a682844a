"""Late answers to fetches, held against an enumeration that shares nothing with the model."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.allconstants.proof import prove_all_constants
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.model.formulas.errors import ModelError
from acked.model.partition.protocol import partition
from tests.model.partition.enumeration import Rules
from tests.model.partition.late_answers_enumeration import explore
from tests.model.partition.stored import columns_of
from tests.model.partition.test_reassignment import PROMISES, instance
from tests.places import CHECKOUT
from tools.answers import late_answers as tool
from tools.shared.asking import REFUSED, TIME_OUT

COMPARED = ("AckedRecordsSurvive", "AckedRecordsInIsr", "AckedRecordsExist", "LogsAgreeBelowHw", "CommittedInIsr")
OF_MOVES = ("assigned", "moves", "moved_to", "move_completion", "moves_replaceable")


def rules(**more: Any) -> Rules:
    """Every broker is a replica, and stays one."""
    return Rules(assigned=0, moved_to=0, **more)


def answer(
    asked: Rules, names_epoch: bool, takes_hw_first: bool, stops_first: bool = False, keeps_epoch: bool = True
) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and by promise that is broken after how many steps it is so first."""
    constants = {name: value for name, value in asdict(asked).items() if name not in OF_MOVES}
    constants["crashes"] = "clean" if asked.crashes else "none"
    made = instance(
        **constants, reassignment=False, late_answers=True, answer_names_epoch=names_epoch,
        truncation_before_hw=not takes_hw_first, fetcher_stops_first=stops_first, fetched_epoch_kept=keeps_epoch,
    )  # fmt: skip
    question = Question(made, tuple(PROMISES[name] for name in COMPARED))
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    return result.distinct_states, {item.property.name: item.trace_length - 1 for item in result.violations}


@cache
def enumerated(
    asked: Rules, names_epoch: bool, takes_hw_first: bool, stops_first: bool, keeps_epoch: bool
) -> tuple[int, dict[str, int]]:
    """The same by the enumeration, once for all tests."""
    return explore(asked, names_epoch, takes_hw_first, stops_first, keeps_epoch)


QUICK = [(rules(), True, False, False), (rules(crashes=True), True, False, False)]
MORE = [
    (rules(leadership_moves=True), True, False, False),
    (rules(leadership_moves=True), True, False, True),
    (rules(leadership_moves=True), False, False, False),
    (rules(leadership_moves=True), False, False, True),
    (rules(crashes=True), False, True, False),
    (rules(crashes=True, unclean_election=True), False, False, False),
    (rules(crashes=True, min_insync_replicas=2, eligible_leader_replicas=True), True, False, False),
    (rules(leadership_moves=True), False, True, False),
    (rules(replicas=3, leadership_moves=True, max_leader_epoch=1), True, False, False),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "names_epoch", "takes_hw_first", "stops_first"),
    [*QUICK, *(pytest.param(*item, marks=pytest.mark.long) for item in MORE)],
    ids=str,
)
def test_states_and_verdicts_are_those_of_an_enumeration_written_from_the_facts(
    asked: Rules, names_epoch: bool, takes_hw_first: bool, stops_first: bool
) -> None:
    found = answer(asked, names_epoch, takes_hw_first, stops_first)
    assert found == enumerated(asked, names_epoch, takes_hw_first, stops_first, True)


@pytest.mark.parametrize(
    ("asked", "names_epoch"),
    [
        (rules(), True),
        (rules(), False),
        pytest.param(rules(crashes=True), True, marks=pytest.mark.landing),
        pytest.param(rules(crashes=True), False, marks=pytest.mark.landing),
        pytest.param(rules(leadership_moves=True), False, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_fetches_that_name_no_epoch_after_an_answer_without_records_are_those_of_the_enumeration(
    asked: Rules, names_epoch: bool
) -> None:
    """KAFKA-15510; where an answer names its epoch nothing follows from it, and there is no state for it."""
    expected = enumerated(asked, names_epoch, False, False, names_epoch)
    assert names_epoch or expected[0] > answer(asked, names_epoch, False)[0]
    assert answer(asked, names_epoch, False, keeps_epoch=False) == expected


@pytest.mark.slow
def test_an_answer_of_a_former_epoch_is_told_apart_from_one_of_the_present() -> None:
    # Neither side of the comparison would be worth much if the rule made no difference to it.
    by_offset, by_epoch = (answer(rules(leadership_moves=True), names_epoch, False)[0] for names_epoch in (False, True))
    assert by_offset > by_epoch


def test_the_proof_for_all_constants_says_that_late_answers_are_not_covered() -> None:
    with pytest.raises(ModelError, match="does not cover late_answers: its lemmas say nothing of what an answer"):
        prove_all_constants(partition, Limits(jobs=1, timeout=60), constants={"late_answers": 1})


# -- the fetcher that goes on -----------------------------------------------------------------------------------------


def states(folder: Path, names_epoch: bool, stops_first: bool, **constants: Any) -> tuple[set[bytes], set[bytes]]:
    """Reachable states without a fetcher that goes on, and of those with one all but whose and in which epoch it is."""
    made = instance(
        leadership_moves=True, reassignment=False, late_answers=True, answer_names_epoch=names_epoch,
        fetcher_stops_first=stops_first, **constants,
    )  # fmt: skip
    question = Question(made, (PROMISES["AckedRecordsSurvive"],))
    leaves = [leaf for leaf in made.schema.leaves if leaf.cardinality > 1]
    former = [leaf for leaf in leaves if "former" in leaf.name]
    assert bool(former) == (not stops_first)
    seen: tuple[set[bytes], set[bytes]] = (set(), set())
    for columns in columns_of(question, folder, leaves):
        goes_on = np.zeros(len(columns[leaves[0].name]), bool)
        for leaf in former:
            goes_on |= columns.pop(leaf.name) > 0
        rows = np.stack(list(columns.values()), 1)
        for group, chosen in zip(seen, (rows[~goes_on], rows[goes_on]), strict=True):
            group.update(row.tobytes() for row in chosen)
    return seen


@pytest.mark.parametrize(
    ("replicas", "elections", "crashes"),
    [
        pytest.param(2, 3, "none", marks=pytest.mark.slow),
        pytest.param(3, 1, "none", marks=pytest.mark.long),
        pytest.param(3, 1, "clean", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("names_epoch", [True, False])
def test_once_a_fetcher_that_went_on_is_removed_all_is_as_if_the_broker_had_heard_then_if_nobody_crashes(
    replicas: int, elections: int, crashes: str, names_epoch: bool, tmp_path: Path
) -> None:
    """A leader of whom the broker has heard may crash; who hears later does not hear of that one any more."""
    size = {"replicas": replicas, "max_leader_epoch": elections, "crashes": crashes}
    before, none = states(tmp_path / "first", names_epoch, True, **size)
    after, between = states(tmp_path / "later", names_epoch, False, **size)
    assert not none
    assert before <= after
    assert (before == after) == (crashes == "none")
    # Where answers of former epochs count they count later, too; else states between are not to be had otherwise.
    assert bool(between - after) == names_epoch


@pytest.mark.slow
def test_every_spec_was_asked_with_late_answers_and_none_answers_otherwise() -> None:
    answers: dict[str, Any] = json.loads(tool.ANSWERS.read_text("utf-8"))
    expected = {name: spec.expect for name, spec in tool.specs().items()}
    other = sorted({*answers} ^ {*expected})
    assert not other, f"{', '.join(other)}: python tools/answers/late_answers.py asks what is new"
    assert [*answers] == [*expected]
    asked = {name: told for name, told in answers.items() if told["verdict"] != REFUSED}
    assert {told["why"].split(";")[0][-37:] for name, told in answers.items() if name not in asked} == {
        "use at once and 14 can be told apart by rank"[-37:]
    }
    for name, told in asked.items():
        wanted = expected[name]
        assert wanted is not None
        assert (told["verdict"], told["violates"]) == (wanted.verdict.value, sorted(wanted.violates)), name
    page = (CHECKOUT / "docs" / "abstractions.md").read_text("utf-8")
    told_there = f"All {len(answers)} specs that do not set it and do not ask liveness"
    for words in (told_there, f"{len(asked)} answer the same, {len(answers) - len(asked)} have no ranks left"):
        assert words in " ".join(page.split()), f"docs/abstractions.md has other numbers; write there: {words}"


@pytest.mark.slow
def test_an_answer_that_is_another_one_is_told() -> None:
    spec = tool.specs()["gallery/kip966-bug"]
    told = tool.answer(spec, 120.0)
    assert told == json.loads(tool.ANSWERS.read_text("utf-8"))["gallery/kip966-bug"]
    assert not tool.is_another(told)
    assert tool.is_another({**told, "verdict": "holds"})
    assert tool.answer(spec, 0.05) == {"verdict": TIME_OUT}
