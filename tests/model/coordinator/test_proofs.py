"""What is proved of coordinators by induction, at constants of every kind that there are lemmas for."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.coordinator import LEMMAS
from acked.invariants.proofs import lemmas_for
from acked.invariants.property import Property
from acked.model.coordinator.protocol import coordinator
from tests.proofs.inductive import broken, claimed, proved

SURVIVE = ("AcknowledgedCommitsSurvive", "LoadingEnds")
FENCED = (*SURVIVE, "ReplacedOwnersAreFenced", "GroupActsAsOne")
UNUSED = (*SURVIVE, "AbortedOffsetsAreUnused", "GroupActsAsOne")
CLIENTS: dict[str, Any] = {"transactions": True, "asks": True}
EVERYTHING: dict[str, Any] = {**CLIENTS, "rebalances": 1, "shrinks": True, "records": 4, "commits": 3, "max_epoch": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "constants"),
    [
        (SURVIVE, {"max_epoch": 3}),
        pytest.param(SURVIVE, {"batches": True, "commits": 3, "max_epoch": 3}, marks=pytest.mark.landing),
        (FENCED, {"max_epoch": 3, "rebalances": 1, "asks": True, "shrinks": True, "min_isr": 2}),
        (UNUSED, CLIENTS),
        pytest.param(
            FENCED, {"brokers": 3, "max_epoch": 3, "rebalances": 1, "asks": True, "shrinks": True}, marks=pytest.mark.long,
        ),
        pytest.param((*UNUSED, "ReplacedOwnersAreFenced"), EVERYTHING, marks=pytest.mark.long),
        pytest.param((*UNUSED, "ReplacedOwnersAreFenced"), {**EVERYTHING, "batches": True}, marks=pytest.mark.long),
    ],
    ids=lambda item: ", ".join(item),
)  # fmt: skip
def test_promises_are_proved_by_induction_with_every_field_in_its_domain(
    names: tuple[str, ...], constants: dict[str, Any]
) -> None:
    lemmas = lemmas_for(coordinator, claimed(coordinator, names), coordinator.bind(constants))
    assert lemmas is not None
    result = proved(coordinator.instantiate(constants), names, lemmas)
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert [item.name for item in result.induction.actions if item.never_fires] == ["CommitOutOfStep"]


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("without", LEMMAS, ids=lambda item: str(item.name))
def test_without_any_of_the_lemmas_the_proof_fails(without: Property) -> None:
    result = proved(coordinator.instantiate(CLIENTS), UNUSED, LEMMAS, without.name)
    assert result.verdict is Verdict.INCOMPLETE
    assert broken(result)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "where", "claim"),
    [
        ("listens_as_leader", {}, "AcknowledgedIsHeld"),
        ("own_load_only", {}, "AcknowledgedCommitsSurvive"),
        ("duties_in_order", {"max_epoch": 3}, "LeadersLoad"),
        ("queues_requests", {"max_epoch": 3}, "AcknowledgedCommitsSurvive"),
        ("loads_whole_log", {}, "AcknowledgedCommitsSurvive"),
        ("applies_markers_first", {"transactions": True}, "MarkersEndWhatIsPending"),
        ("appends_in_own_epoch", {"batches": True, "commits": 3, "max_epoch": 3}, "CommitsAscend"),
    ],
)
def test_without_a_rule_that_mends_a_bug_a_step_breaks_a_lemma_or_a_promise(
    rule: str, where: dict[str, Any], claim: str
) -> None:
    constants = {**where, rule: False}
    assert lemmas_for(coordinator, claimed(coordinator, SURVIVE), coordinator.bind(constants)) is None
    result = proved(coordinator.instantiate(constants), SURVIVE, LEMMAS)
    assert result.verdict is Verdict.INCOMPLETE
    assert claim in broken(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [
        {"max_epoch": 3},
        {"batches": True, "shrinks": True},
        {"transactions": True, "asks": True, "commits": 1},
        pytest.param({**EVERYTHING, "records": 3, "commits": 1}, marks=pytest.mark.long),
    ],
    ids=lambda item: ", ".join(item),
)
def test_lemmas_hold_in_every_reachable_state(constants: dict[str, Any]) -> None:
    question = Question(coordinator.instantiate(constants), LEMMAS, is_symmetric=True)
    assert search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY).verdict is Verdict.HOLDS


def test_lemmas_are_offered_only_for_the_rules_that_they_need() -> None:
    def known(name: str, **constants: Any) -> bool:
        return lemmas_for(coordinator, claimed(coordinator, (name,)), coordinator.bind(constants)) is not None

    assert known("AcknowledgedCommitsSurvive", brokers=3, max_epoch=4)
    assert known("AcknowledgedCommitsSurvive", min_isr=2, strict_min_isr=False)
    assert known("AcknowledgedCommitsSurvive", applies_markers_first=False)
    assert known("AcknowledgedCommitsSurvive", batches=True, max_epoch=3)
    assert known("AcknowledgedCommitsSurvive", batches=True, appends_in_own_epoch=False)
    assert not known("PlainFetchesAreCurrent")
    for loses in ({"unclean": True}, {"lost_disks": 1}, {"expiry": True}):
        assert not known("LoadingEnds", **loses)
    assert lemmas_for(coordinator, claimed(coordinator, SURVIVE)) is None
