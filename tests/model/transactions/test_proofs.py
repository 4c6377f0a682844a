"""What z3 proves of transactions: every promise of transaction version 2, in traces of any length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.proofs import lemmas_for
from acked.invariants.transactions.lemmas import TRANSACTIONS_LEMMAS
from acked.model.formulas.evaluate import Evaluator
from acked.model.transactions.protocol import transactions
from acked.model.transactions.versions import profile

PROMISES = tuple(item for item in properties_of(transactions).values() if not item.name.startswith("NoInput"))
SMALL: dict[str, Any] = {"partitions": 1, "producers": 1, "transactions": 1}
LIMITS = Limits(jobs=1, timeout=600.0)


def bound(**constants: Any) -> dict[str, int]:
    return transactions.bind(constants)


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [SMALL, *(pytest.param(item, marks=pytest.mark.long) for item in ({}, {"transactions": 3}))],
    ids=lambda item: ", ".join(f"{name}={value}" for name, value in item.items()) or "defaults",
)
def test_every_promise_is_proved_by_induction_with_every_field_in_its_domain(constants: dict[str, Any]) -> None:
    instance = transactions.instantiate(constants)
    lemmas = lemmas_for(transactions, PROMISES, instance.constants)
    assert lemmas == TRANSACTIONS_LEMMAS
    result = prove_by_induction(Question(instance, PROMISES), lemmas, LIMITS, InductionOptions(every_claim=True))
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert {item.name for item in result.induction.actions} > {"Commit", "LateEndArrives", "LateMarkerArrives", "TimeOut"}


@pytest.mark.slow
def test_a_promise_that_rests_on_another_is_proved_when_it_is_asked_alone() -> None:
    (alone,) = (item for item in PROMISES if item.name == "NoAbortedRead")
    instance = transactions.instantiate({})
    lemmas = lemmas_for(transactions, (alone,), instance.constants)
    assert lemmas is not None
    assert prove_by_induction(Question(instance, (alone,)), lemmas, LIMITS).verdict is Verdict.HOLDS


@pytest.mark.long
def test_the_lemmas_hold_in_every_reachable_state() -> None:
    late = {"late_init": True, "late_add": False, "late_produce": True, "late_end": True, "late_marker": True}
    instance = transactions.instantiate({**late, "partitions": 1, "producers": 1})
    assert search(Question(instance, TRANSACTIONS_LEMMAS), Bounds(workers=1)).verdict is Verdict.HOLDS
    older = transactions.instantiate({**late, "transactions": 2, "producers": 1, "marker_epoch_above": False})
    result = search(Question(older, TRANSACTIONS_LEMMAS), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    assert result.verdict is Verdict.VIOLATED, "the lemmas need the rules that they name"


@pytest.mark.parametrize("name", ["late_init", "late_add", "late_produce", "late_end", "late_marker"])
def test_every_lemma_can_be_read_where_a_request_is_never_late_and_holds_in_the_beginning(name: str) -> None:
    """Specs without one ended in `transaction -1 does not exist`."""
    instance = transactions.instantiate({**SMALL, name: False})
    holds = Evaluator([instance.state_predicate(item.name, item.predicate) for item in TRANSACTIONS_LEMMAS])
    [words] = instance.initial
    assert all(holds(instance.schema.unpack(words)))


@pytest.mark.slow
def test_without_the_lemma_about_late_requests_the_proof_fails() -> None:
    lemmas = tuple(item for item in TRANSACTIONS_LEMMAS if item.name != "LateIsCurrent")
    question = Question(transactions.instantiate(SMALL), PROMISES)
    result = prove_by_induction(question, lemmas, LIMITS)
    assert result.verdict is Verdict.INCOMPLETE


def test_lemmas_are_offered_only_for_the_rules_that_they_need() -> None:
    old = {name: item.value for name, item in profile("4.1", None).items()}
    for constants in (old, {"transaction_version": 1}, {"restarts": True}, {"offsets": True}, {"timeout_bumps_epoch": False}):
        assert lemmas_for(transactions, PROMISES, bound(**constants)) is None
    assert lemmas_for(transactions, PROMISES, bound()) == TRANSACTIONS_LEMMAS
    assert lemmas_for(transactions, PROMISES) is None
    strange = replace(PROMISES[0], name="NotProvedSoFar")
    assert lemmas_for(transactions, (strange,), bound()) is None
