"""What is proved of share groups by induction, at constants of every kind that there are lemmas for."""

from __future__ import annotations

from typing import Any

import pytest

from acked.checker.proof.result import ProofResult
from acked.checker.question.result import Verdict
from acked.invariants.proofs import lemmas_for
from acked.invariants.property import Property
from acked.invariants.share import LEMMAS
from acked.model.formulas.evaluate import Evaluator
from acked.model.share.protocol import share
from tests.proofs.inductive import broken, claimed, proved

ALL_FAULTS: dict[str, Any] = {"sessions": True, "failed_writes": True, "retries": True, "zombies": True}
COUNTED: dict[str, Any] = {"deliveries": True, "max_epoch": 1}
KEPT = ("AcknowledgedRecordsStay", "NoRecordIsSkipped", "LocksEnd")
COUNTS = ("DeliveriesAreLimited", "DeliveryCountsNeverFall")


def asked(names: tuple[str, ...], constants: dict[str, Any], without: str = "") -> ProofResult:
    """What comes of the lemmas that ship, or of all that can be read where none do."""
    instance = share.instantiate({"records": 1, **constants})
    readable = LEMMAS if names == COUNTS else LEMMAS[:-1]
    lemmas = lemmas_for(share, claimed(share, names), instance.constants) or readable
    return proved(instance, names, lemmas, without)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "constants"),
    [
        (KEPT, ALL_FAULTS),
        (("AcknowledgedRecordsStay", "LocksEnd"), {"lost_answers": True, "retries": True}),
        (("NoRecordIsSkipped",), {"latest": True}),
        (COUNTS, COUNTED),
    ],
    ids=lambda item: ", ".join(item),
)  # fmt: skip
def test_promises_are_proved_by_induction_with_every_field_in_its_domain(
    names: tuple[str, ...], constants: dict[str, Any]
) -> None:
    assert lemmas_for(share, claimed(share, names), share.bind(constants)) is not None
    result = asked(names, constants)
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("without", LEMMAS, ids=lambda item: str(item.name))
def test_without_any_of_the_lemmas_the_proof_fails(without: Property) -> None:
    names, constants = (COUNTS, COUNTED) if without is LEMMAS[-1] else (KEPT, ALL_FAULTS)
    result = asked(names, constants, without.name)
    assert result.verdict is Verdict.INCOMPLETE
    assert broken(result)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "names", "constants", "claim"),
    [
        ("acquires_settled", KEPT, ALL_FAULTS, "OneWriteSettles"),
        ("fetches_gaps", ("NoRecordIsSkipped",), {"records": 2}, "NoRecordIsSkipped"),
        ("start_waits", KEPT, ALL_FAULTS, "WhatIsLeftIsSettled"),
        ("ends_expired_locks", KEPT, ALL_FAULTS, "LocksEnd"),
        ("start_goes_forward", KEPT, ALL_FAULTS, "AcknowledgedIsKept"),
        ("answers_every_write", KEPT, ALL_FAULTS, "AcknowledgedIsKept"),
        ("keeps_first_start", KEPT, {"latest": True}, "WhatIsLeftIsSettled"),
        ("counts_ended_sessions", COUNTS, {**COUNTED, "sessions": True}, "EveryDeliveryCounts"),
    ],
)
def test_without_a_rule_that_mends_a_bug_a_step_breaks_a_lemma_or_a_promise(
    rule: str, names: tuple[str, ...], constants: dict[str, Any], claim: str
) -> None:
    given = {**constants, rule: False}
    assert lemmas_for(share, claimed(share, names), share.bind(given)) is None
    result = asked(names, given)
    assert result.verdict is Verdict.INCOMPLETE
    assert claim in broken(result)


@pytest.mark.parametrize("constants", [{}, {**ALL_FAULTS, "latest": True}, {"deliveries": True}])
def test_every_lemma_can_be_read_and_holds_in_the_beginning(constants: dict[str, Any]) -> None:
    instance = share.instantiate(constants)
    lemmas = lemmas_for(share, (), instance.constants) or LEMMAS[:-1]
    holds = Evaluator([instance.state_predicate(item.name, item.predicate) for item in lemmas])
    [words] = instance.initial
    assert all(holds(instance.schema.unpack(words)))


def test_lemmas_are_offered_only_for_the_rules_that_they_need() -> None:
    def known(name: str, **constants: Any) -> bool:
        return lemmas_for(share, claimed(share, (name,)), share.bind(constants)) is not None

    assert known("LocksEnd")
    assert not known("LocksEnd", ends_expired_locks=False)
    assert not known("AcknowledgedRecordsStay", failed_writes=True, answers_every_write=False)
    assert not known("NoRecordIsSkipped", lost_answers=True)
    assert not known("NoRecordIsSkipped", latest=True, keeps_first_start=False)
    assert not known("DeliveriesAreLimited", deliveries=True)
    assert known("DeliveriesAreLimited", deliveries=True, max_epoch=1)
    assert lemmas_for(share, claimed(share, ("LocksEnd",))) is None
