"""Domain proofs: what z3 proves of every action, and that it fails where a guard is missing."""

from __future__ import annotations

import pytest

from acked.invariants.property import Property
from acked.invariants.replication.domains import DOMAIN_LEMMAS
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.evaluate import evaluate
from acked.model.language.protocol import Instance
from tests.proofs.domains import INITIAL, DomainProof, DomainVerdict, prove_domains, step_obligations

CONSTANTS = [(2, 2, 2, 1), (3, 2, 2, 2)]
LARGER = [("kip320", (2, 3, 2, 3)), ("kip320", (3, 4, 3, 2))]


def instance_of(name: str, numbers: tuple[int, ...], drop: tuple[tuple[str, str], ...] = ()) -> Instance:
    protocol = PROTOCOLS[name]
    names = [constant.name for constant in protocol.constants]
    return protocol.instantiate(dict(zip(names, numbers, strict=True)), drop=drop)


def failures(proofs: tuple[DomainProof, ...]) -> dict[str, DomainProof]:
    return {proof.subject: proof for proof in proofs if proof.verdict is not DomainVerdict.PROVED}


def lemmas_without(name: str) -> tuple[Property, ...]:
    return tuple(lemma for lemma in DOMAIN_LEMMAS if lemma.name != name)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "numbers"), [*((name, row) for name in PROTOCOLS for row in CONSTANTS), *LARGER], ids=str)
def test_no_action_of_a_shipped_protocol_can_leave_a_domain(name: str, numbers: tuple[int, ...]) -> None:
    instance = instance_of(name, numbers)
    proofs = prove_domains(instance, DOMAIN_LEMMAS)
    assert [proof.subject for proof in proofs] == [INITIAL, *(item.name for item in instance.protocol.actions)]
    assert failures(proofs) == {}
    assert all(proof.can_fire for proof in proofs), "a proof about an action that can never fire says nothing"


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["truncate-to-hw", "kip320"])
@pytest.mark.parametrize(
    ("action", "label", "claim"),
    [
        ("ControllerElectLeader", "a leader epoch is left", "next_leader_epoch"),
        ("ControllerShrinkIsr", "a leader epoch is left", "next_leader_epoch"),
        ("LeaderWrite", "room in the log", ".end"),
        ("LeaderWrite", "a record is left", "next_record_id"),
        ("LeaderWrite", "presumes leadership", ".epoch"),
    ],
)
def test_without_a_guard_the_proof_fails_and_names_the_action(name: str, action: str, label: str, claim: str) -> None:
    instance = instance_of(name, (2, 2, 2, 1), drop=((action, label),))
    failed = failures(prove_domains(instance, DOMAIN_LEMMAS))
    assert list(failed) == [action]
    assert failed[action].verdict is DomainVerdict.REFUTED
    found = failed[action].counterexample
    assert found is not None
    assert found.step.action.name == action
    assert set(found.claims) <= {item.claim for item in step_obligations(instance, found.step, DOMAIN_LEMMAS)}
    assert any(text.endswith(claim) for text in found.claims)
    assert all(0 <= code < leaf.cardinality for code, leaf in zip(found.codes, instance.schema.leaves, strict=True))


@pytest.mark.slow
def test_a_counterexample_satisfies_guard_and_lemmas_and_breaks_its_claims() -> None:
    instance = instance_of("kip320", (3, 2, 2, 2), drop=(("LeaderWrite", "room in the log"),))
    proof = failures(prove_domains(instance, DOMAIN_LEMMAS))["LeaderWrite"]
    found = proof.counterexample
    assert found is not None
    assert evaluate(found.step.guard, found.codes) == 1
    for lemma in DOMAIN_LEMMAS:
        assert evaluate(instance.state_predicate(lemma.name, lemma.predicate), found.codes) == 1
    for item in step_obligations(instance, found.step, DOMAIN_LEMMAS):
        assert evaluate(item.violated, found.codes) == int(item.claim in found.claims)


@pytest.mark.slow
def test_the_proof_needs_the_lemma_that_a_leader_has_an_epoch() -> None:
    failed = failures(prove_domains(instance_of("kip320", (2, 2, 2, 1)), lemmas_without("LeaderHasEpoch")))
    assert list(failed) == ["LeaderWrite"]
    assert any(claim.endswith(".epoch") for claim in failed["LeaderWrite"].claims)


@pytest.mark.slow
def test_a_lemma_that_does_not_hold_initially_is_refuted() -> None:
    empty_isr = Property(
        "EmptyIsr", DOMAIN_LEMMAS[0].kind, lambda s: s.quorum.isr.is_empty, "wrong on purpose", "this test", "never"
    )
    failed = failures(prove_domains(instance_of("kip320", (2, 2, 2, 1)), (*DOMAIN_LEMMAS, empty_isr)))
    assert failed[INITIAL].claims == ("EmptyIsr",)


@pytest.mark.slow
def test_a_lemma_that_an_action_breaks_is_refuted_by_that_action() -> None:
    unwritten = Property(
        "NothingWritten", DOMAIN_LEMMAS[0].kind, lambda s: s.next_record_id == 0, "wrong on purpose", "this test", "never"
    )
    failed = failures(prove_domains(instance_of("kip320", (2, 2, 2, 1)), (*DOMAIN_LEMMAS, unwritten)))
    assert list(failed) == ["LeaderWrite"]
    assert failed["LeaderWrite"].claims == ("NothingWritten",)


def test_a_solver_that_gives_up_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    import z3

    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)
    proofs = prove_domains(instance_of("kip320", (2, 2, 2, 1)), DOMAIN_LEMMAS)
    verdicts = {proof.subject: proof.verdict for proof in proofs if proof.subject != INITIAL}
    assert set(verdicts.values()) == {DomainVerdict.UNDECIDED}
    assert all(proof.claims for proof in proofs if proof.subject != INITIAL)
