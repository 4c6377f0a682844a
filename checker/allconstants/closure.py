"""Which promises a partly finished proof for all constants establishes: those whose lemmas are kept whatever else is not.

An obligation is proved from few clauses. A clause is *kept* if it holds initially, and every action keeps it, by proofs that
assume kept clauses only; a promise is proved if it follows from kept clauses. So an action that breaks what is said of
acknowledged records is nothing to a promise about order that does not rest on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acked.checker.allconstants.obligations import PROMISES, TERMS
from acked.checker.allconstants.proof import AllConstantsProof, ObligationResult, SolverVerdict


def kept_clauses(proof: AllConstantsProof) -> frozenset[str]:
    """The largest set of clauses that are kept by proofs which rest on nothing outside it."""
    of_clauses = [item for item in proof.obligations if item.subject not in (PROMISES, TERMS)]
    subjects: dict[str, set[str]] = {}
    for item in of_clauses:
        subjects.setdefault(item.clause, set()).add(item.subject)
    everywhere = set().union(*subjects.values())
    kept = {clause for clause, asked in subjects.items() if asked == everywhere}
    while lost := {item.clause for item in of_clauses if item.clause in kept and not _stands(item, kept)}:
        kept -= lost
    return frozenset(kept)


def is_proved(proof: AllConstantsProof, promises: Iterable[str]) -> bool:
    """Whether the promises hold in every reachable state, whatever became of obligations that they do not rest on."""
    if proof.interrupted or proof.vacuous or not proof.obligations:
        return False
    if any(item.subject == TERMS and item.verdict is not SolverVerdict.UNSAT for item in proof.obligations):
        return False
    kept = kept_clauses(proof)
    follow = {item.clause for item in proof.obligations if item.subject == PROMISES and _stands(item, kept)}
    return set(promises) <= follow


def missing_for(proof: AllConstantsProof, promises: Sequence[str]) -> tuple[ObligationResult, ...]:
    """The obligations without a proof on which the promises rest, as far as the proofs that there are tell."""
    needed: set[str] = set()
    found = [item for item in proof.obligations if item.subject == PROMISES and item.clause in promises]
    while True:
        new = {lemma for item in found for lemma in item.used} - needed
        if not new:
            break
        needed |= new
        found = [
            item
            for item in proof.obligations
            if item.clause in (promises if item.subject == PROMISES else needed) or item.subject == TERMS
        ]
    return tuple(item for item in found if item.verdict is not SolverVerdict.UNSAT)


def _stands(item: ObligationResult, kept: set[str] | frozenset[str]) -> bool:
    return item.verdict is SolverVerdict.UNSAT and item.used <= kept
