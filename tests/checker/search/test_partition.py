"""The partition protocol by every engine: the plain oracle, the native search and z3 agree about it."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.domains import DOMAIN_LEMMAS, EPOCHS_ARE_DENSE
from acked.invariants.property import Property
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import VERSIONS, planes_of
from tests.oracle import Space, assert_same_answer, explore
from tests.proofs.domains import DomainVerdict, prove_domains

TINY: dict[str, Any] = {"replicas": 2, "log_size": 1, "records": 1}
PROMISES = properties_of(partition)
EVERYTHING: dict[str, Any] = {
    "crashes": "lossy",
    "lossy_crashes": 1,
    "unnoticed_restarts": True,
    "zombies": True,
    "leadership_moves": True,
    "consumer": "followers",
    "offset_queries": True,
    "producer_restarts": 1,
    "retries": True,
}


def release(version: str, plane: str | None = None, **other: Any) -> Instance:
    profile = {name: setting.value for name, setting in partition.profile(version, plane).items()}
    return partition.instantiate({**profile, **other})


def answer(instance: Instance, *asked: str | Property, workers: int = 1) -> Result:
    properties = tuple(PROMISES[item] if isinstance(item, str) else item for item in asked)
    return search(Question(instance, properties), Bounds(workers=workers))


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "other"),
    [
        ("0.10", {"acks": "1", "unnoticed_restarts": True}),
        pytest.param("0.11", {"acks": "all"}, marks=pytest.mark.long),
        ("2.0", {"acks": "all", "crashes": "lossy"}),
        ("2.1", {"acks": "0", "crashes": "none", "leadership_moves": True}),
        ("2.8", {"acks": "all", "retries": False, "consumer": "followers"}),
        (LATEST, {"acks": "all", "retries": False, "crashes": "lossy", "lossy_crashes": 1}),
    ],
)
def test_the_native_search_says_what_the_plain_oracle_says(version: str, other: dict[str, Any]) -> None:
    instance = release(version, **{**TINY, **other})
    expected = explore(Space(Question(instance, tuple(PROMISES.values()))), StopPolicy.EVERY_PROPERTY)
    for workers in (1, 2):
        question = Question(instance, tuple(PROMISES.values()))
        result = search(question, Bounds(workers=workers), StopPolicy.EVERY_PROPERTY)
        assert_same_answer(result, expected)
        assert result.distinct_states > 100


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.10", "1.0", "2.1", "2.7", "3.6", LATEST])
def test_ranks_of_leader_epochs_never_have_gaps(version: str) -> None:
    other = {**TINY, "acks": "all", "retries": False, "leadership_moves": True, "reelection_forgets_ends": True}
    result = answer(release(version, **other), EPOCHS_ARE_DENSE, workers=2)
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states > 500


CELLS = [(version, plane) for version in VERSIONS for plane in planes_of(version)]
EVERY_RULE = [
    ("0.8", "zookeeper"), ("0.11", "zookeeper"), ("2.1", "zookeeper"), ("2.8", "zookeeper"), ("3.5.1", "kraft"),
    ("4.1", "kraft"), (LATEST, "kraft"),
]  # fmt: skip
"""Releases among which every rule has each of its values."""


def test_few_releases_have_every_rule_as_any_release_has_it() -> None:
    def rules(cells: list[tuple[str, str]]) -> set[tuple[str, object]]:
        return {(name, setting.value) for cell in cells for name, setting in partition.profile(*cell).items()}

    assert rules(EVERY_RULE) == rules(CELLS)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "plane"), [pytest.param(*cell, marks=() if cell in EVERY_RULE else pytest.mark.long) for cell in CELLS]
)
def test_no_action_of_any_release_leaves_a_domain(version: str, plane: str) -> None:
    instance = release(version, plane, **{**TINY, "log_size": 2, "records": 2, **EVERYTHING})
    proofs = prove_domains(instance, DOMAIN_LEMMAS)
    assert [proof.subject for proof in proofs if proof.verdict is not DomainVerdict.PROVED] == []
    assert [proof.subject for proof in proofs if not proof.can_fire] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "label"),
    [("Produce", "room in the log"), ("Produce", "presumes leadership"), ("Crash", "a lossy crash is left")],
)
def test_without_a_guard_the_domain_proof_fails(action: str, label: str) -> None:
    constants = {**TINY, "acks": "1", **EVERYTHING}
    proofs = prove_domains(partition.instantiate(constants, drop=[(action, label)]), DOMAIN_LEMMAS)
    assert action in [proof.subject for proof in proofs if proof.verdict is DomainVerdict.REFUTED]


SAME = ("acks-1-isr", "everyone-holds")
"""Of the rules and circumstances of another row: left to the long run."""
REFUTED: list[tuple[str, str, dict[str, Any]]] = [
    ("acks-0", "AckedRecordsSurvive", {"acks": "0"}),
    ("acks-1", "AckedRecordsSurvive", {"acks": "1"}),
    ("acks-1-isr", "AckedRecordsInIsr", {"acks": "1"}),
    ("min-isr-1", "AckedRecordsSurvive", {"crashes": "lossy"}),
    ("unclean", "AckedRecordsSurvive", {"unclean_election": True}),
    ("hw-below-end", "HwBelowLogEnd", {}),
    ("everyone-holds", "EveryoneHoldsWhatIsVisible", {}),
    ("read-vanishes", "ReadsStay", {"acks": "1", "crashes": "lossy", "consumer": "leader"}),
    ("lost-answer", "NoDuplicates", {"log_size": 2, "retries": True, "crashes": "none"}),
    ("two-in-flight", "NoReordering", {"log_size": 2, "records": 2, "retries": True, "in_flight": 2, "crashes": "none"}),
    ("restarted", "NoDuplicates", {"log_size": 2, "retries": True, "idempotence": True, "producer_restarts": 1}),
]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "other"),
    [pytest.param(*row, id=name, marks=pytest.mark.long if name in SAME else []) for name, *row in REFUTED],
)
def test_bounded_model_checking_finds_the_violations_that_search_finds(promise: str, other: dict[str, Any]) -> None:
    instance = partition.instantiate({**TINY, **other})
    found = answer(instance, promise)
    assert found.verdict is Verdict.VIOLATED
    length = found.violations[0].trace_length
    result = check_bounded(Question(instance, (PROMISES[promise],)), Bound(length), Limits(1, 600, 1 << 31))
    assert [(item.property.name, item.trace_length) for item in result.violations] == [(promise, length)]
