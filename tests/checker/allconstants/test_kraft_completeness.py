"""Leader completeness of `kraft` for all constants: lemmas that hold, steps that are proved, and what they rest on."""

from __future__ import annotations

import pytest

from acked.base.bounds import Bounds
from acked.base.files import PACKAGE
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.proof import covering_argument
from acked.checker.allconstants.prover import Prover
from acked.checker.allconstants.small_instances import SmallInstance
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.solver.lemma_sets import CoreFile, StepCounterexample
from acked.invariants.kraft_lemmas import COMPLETENESS_LEMMAS, later_logs_have_committed
from acked.invariants.proofs import argument_of
from acked.model.formulas.errors import ModelError
from acked.model.kraft.protocol import kraft
from tests.proofs.few import prover_of

STATIC = {item.name: item.default or 0 for item in kraft.constants if item.name not in kraft.sizes}
ARGUMENT = argument_of(kraft, STATIC, ("LeaderCompleteness",))
assert ARGUMENT is not None
KNOWN = CoreFile.load(PACKAGE / "invariants" / ARGUMENT.cores)
EFFORT = 8_000_000
"""More than the hardest of them takes, in z3's own count of steps."""
ENOUGH = 4_000_000
"""More than those take that are asked of weaker rules."""
RESTS_ON = {
    "Elect|LaterLogsHaveIt": ("Elect", "voters' logs are no newer"),
    "Fetch|LogMatching": ("Fetch", "leader has its last entry"),
    "Elect|LeadersHaveAMajority": ("Elect", "votes of a majority"),
}
"""Obligations, and a clause of a guard without which they are not proved."""


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 2, 3), (2, 2, 3), (3, 1, 2), pytest.param((3, 2, 3), marks=pytest.mark.long)])
def test_the_lemmas_hold_in_every_state_of_small_quorums(sizes: tuple[int, int, int]) -> None:
    constants = dict(zip(("servers", "records", "max_epoch"), sizes, strict=True))
    result = search(Question(kraft.instantiate(constants), COMPLETENESS_LEMMAS, is_symmetric=True), Bounds(workers=1))
    assert result.verdict is Verdict.HOLDS


@pytest.fixture(scope="module")
def prover() -> Prover:
    assert ARGUMENT is not None
    return Prover(Obligations(kraft, ARGUMENT, (), STATIC))


def is_proved(prover: Prover, key: str, effort: int = EFFORT) -> bool:
    """Whether z3 proves the obligation with its known set."""
    (item,) = (item for item in prover.obligations.all if item.key == key)
    return prover.effort(item, KNOWN.cores[key], effort) is not None


@pytest.mark.slow
def test_sets_are_known_of_all_obligations(prover: Prover) -> None:
    assert {item.key for item in prover.obligations.all} == set(KNOWN.cores)
    assert prover.obligations.fingerprint == KNOWN.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 32))])
def test_every_obligation_is_proved(part: int, prover: Prover) -> None:
    assert not [item.key for item in prover.obligations.all[part::32] if not is_proved(prover, item.key)]


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(("key", "clause"), RESTS_ON.items())
def test_without_a_clause_that_keeps_it_an_obligation_is_not_proved(key: str, clause: tuple[str, str]) -> None:
    """Nor could it be: three servers have a step that breaks it. That a proof is not found would say little."""
    assert ARGUMENT is not None
    assert not is_proved(prover_of(Obligations(kraft, ARGUMENT, (clause,), STATIC), [key]), key, ENOUGH)
    three = SmallInstance(kraft, {**STATIC, **ARGUMENT.small[-1]}, ARGUMENT.clauses, (clause,))
    assert isinstance(three.lemmas_of_step(*key.split("|")), StepCounterexample)


@pytest.mark.landing("test_without_a_clause_that_keeps_it_an_obligation_is_not_proved")
@pytest.mark.slow
def test_where_entries_of_earlier_epochs_are_committed_alone_later_logs_lack_them() -> None:
    """KAFKA-12619: figure 8 of the Raft paper."""
    assert ARGUMENT is not None
    earlier = {**STATIC, "leader_change_committed": 0}
    key = "Fetch|LaterLogsHaveCommitted"
    assert not is_proved(prover_of(Obligations(kraft, ARGUMENT, (), earlier), [key]), key, ENOUGH)
    small = kraft.instantiate({**earlier, "servers": 3, "records": 1, "max_epoch": 4})
    broken = search(Question(small, (later_logs_have_committed,), is_symmetric=True), Bounds(workers=1))
    assert broken.verdict is Verdict.VIOLATED
    with pytest.raises(ModelError, match="does not cover leader_change_committed: without it later logs lack"):
        covering_argument(kraft, earlier, ("LeaderCompleteness",))
    covering_argument(kraft, earlier)
