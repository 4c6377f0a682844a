"""Promises that are asked of an induction by their names, and what becomes of them and of their lemmas."""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.processes import Limits
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import ProofResult
from acked.checker.question.question import Question
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.language.protocol import Instance, Protocol

LIMITS = Limits(jobs=1, timeout=300.0)


def claimed(protocol: Protocol, names: Sequence[str]) -> tuple[Property, ...]:
    """The protocol's promises of these names."""
    promises = properties_of(protocol)
    return tuple(promises[name] for name in names)


def proved(instance: Instance, names: Sequence[str], lemmas: Sequence[Property], without: str = "") -> ProofResult:
    """What comes of the promises with the lemmas, perhaps without one of them, every broken claim named."""
    left = tuple(item for item in lemmas if item.name != without)
    assert len(left) == len(lemmas) - bool(without)
    question = Question(instance, claimed(instance.protocol, names))
    return prove_by_induction(question, left, LIMITS, InductionOptions(every_claim=True))


def broken(result: ProofResult) -> set[str]:
    """The promises and lemmas that some step breaks."""
    assert result.induction is not None
    return {name for item in result.induction.actions for name in item.broken}
