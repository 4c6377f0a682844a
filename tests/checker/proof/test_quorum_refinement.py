"""`partition`'s one controller is a quorum's property: what controllers decide and brokers read of it, that one does, too."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from tests.oracle import Space, assert_same_answer, explore
from tests.proofs.quorum import HEARING_LATE, JOINED, NEWEST, ONE_CONTROLLER, constants_of, of_late

DYNAMIC = {"voters": "dynamic", "changes": 1}


def instance_of(asked: dict[str, Any], *drop: tuple[str, str]) -> Instance:
    return JOINED.instantiate(constants_of(**asked), drop)


def answer(asked: dict[str, Any], *drop: tuple[str, str]) -> Result:
    return search(Question(instance_of(asked, *drop), (ONE_CONTROLLER,)), Bounds(workers=2))


def steps_of(result: Result) -> list[str]:
    return [step.action.name for step in result.violations[0].run.actions]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "states"),
    [
        ({"servers": 2}, 28_785),
        pytest.param({}, 2_126_551, marks=pytest.mark.long),
        pytest.param({"servers": 2, "upgrades": True, "changes": 1}, 261_945, marks=pytest.mark.long),
        pytest.param({"servers": 2, "formats": 1, **DYNAMIC}, 6_018_643, marks=pytest.mark.long),
        pytest.param({"upgrades": True, "changes": 1, "restarts": False}, 15_900_019, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_whatever_controllers_decide_the_one_controller_could_have_decided(asked: dict[str, Any], states: int) -> None:
    result = answer(asked)
    assert (result.verdict, result.distinct_states) == (Verdict.HOLDS, states)
    assert not {"Decide", "Read"} & set(result.never_fired)


@pytest.mark.slow
def test_the_plain_oracle_says_so_too() -> None:
    def question() -> Question:
        small = {"servers": 2, "records": 1, "max_epoch": 1, "replicas": 2, "max_leader_epoch": 1}
        return Question(instance_of(small), (ONE_CONTROLLER,))

    assert_same_answer(search(question()), explore(Space(question()), StopPolicy.FIRST_VIOLATION))


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "drop"),
    [
        ({"servers": 2, "formats": 2}, ()),
        ({}, (("Elect", "voters' logs are no newer"),)),
        pytest.param({"formats": 1, "restarts": False}, (), marks=pytest.mark.long),
        pytest.param({"quorum_state_lost": True}, (), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_where_the_quorum_loses_a_decision_no_one_controller_decides_so(
    asked: dict[str, Any], drop: tuple[tuple[str, str], ...]
) -> None:
    """Two disks lost of two, an election that compares no logs, a static voter's disk, a vote that is forgotten."""
    result = answer(asked, *drop)
    assert result.verdict is Verdict.VIOLATED
    assert steps_of(result)[-1] == "Read"


@pytest.mark.slow
def test_what_is_not_committed_is_not_to_be_read() -> None:
    result = answer({}, ("Read", "is committed, as far as that one knows"))
    assert steps_of(result) == ["Elect", "Decide", "Read"]


@pytest.mark.slow
def test_a_broker_that_reads_an_older_decision_has_no_counterpart() -> None:
    result = answer({"servers": 2}, ("Read", NEWEST))
    assert result.verdict is Verdict.VIOLATED
    assert (steps_of(result).count("Decide"), steps_of(result)[-1]) == (2, "Read")


SIZE = {"replicas": 2, "log_size": 2, "records": 2, "max_leader_epoch": 3, "leadership_moves": True}
KEPT = ("AckedRecordsSurvive", "AckedRecordsExist", "LogsAgreeBelowHw", "LogMatching", "OneLeaderPerEpoch", "ReadsStay")


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "broken"),
    [
        ({"crashes": "none", "zombies": True}, {}),
        ({"crashes": "lossy"}, {"AckedRecordsExist": 5, "AckedRecordsSurvive": 8, "LogsAgreeBelowHw": 10}),
    ],
    ids=str,
)
def test_a_broker_that_hears_of_an_epoch_that_is_over_breaks_nothing_more(
    asked: dict[str, Any], broken: dict[str, int]
) -> None:
    promises = [item for name, item in properties_of(partition).items() if name in KEPT]
    without = Question(partition.instantiate(partition.bind({**SIZE, **asked})), tuple(promises))
    late = Question(HEARING_LATE.instantiate({**SIZE, **asked}), tuple(map(of_late, promises)))
    results = [search(one, Bounds(workers=2), StopPolicy.EVERY_PROPERTY) for one in (without, late)]
    for result in results:
        assert {item.property.name: item.trace_length for item in result.violations} == broken
    assert results[0].distinct_states < results[1].distinct_states
    assert not {"LeadLate", "FollowLate"} & set(results[1].never_fired)
