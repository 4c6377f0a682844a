"""Leader completeness of `kraft` for all constants: lemmas that hold, steps that are proved, and what they rest on."""

from __future__ import annotations

import pytest

from acked.base.bounds import Bounds
from acked.base.files import PACKAGE
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.prover import Prover
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.solver.lemma_sets import CoreFile
from acked.invariants.kraft_lemmas import COMPLETENESS_LEMMAS, later_logs_have_committed
from acked.invariants.proofs import argument_of
from acked.model.kraft.protocol import kraft

STATIC = {item.name: item.default or 0 for item in kraft.constants if item.name not in kraft.sizes}
ARGUMENT = argument_of(kraft, STATIC, ("LeaderCompleteness",))
assert ARGUMENT is not None
KNOWN = CoreFile.load(PACKAGE / "invariants" / ARGUMENT.cores)
EFFORT = 8_000_000
"""More than the hardest of them takes, in z3's own count of steps."""
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


def is_proved(prover: Prover, key: str) -> bool:
    """Whether z3 proves the obligation with its known set."""
    (item,) = (item for item in prover.obligations.all if item.key == key)
    return prover.effort(item, KNOWN.cores[key], EFFORT) is not None


@pytest.mark.slow
def test_sets_are_known_of_all_obligations(prover: Prover) -> None:
    assert {item.key for item in prover.obligations.all} == set(KNOWN.cores)
    assert prover.obligations.fingerprint == KNOWN.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 8))])
def test_every_obligation_is_proved(part: int, prover: Prover) -> None:
    assert not [item.key for item in prover.obligations.all[part::8] if not is_proved(prover, item.key)]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "clause"), RESTS_ON.items())
def test_without_a_clause_that_keeps_what_was_committed_its_obligation_is_not_proved(
    key: str, clause: tuple[str, str]
) -> None:
    assert ARGUMENT is not None
    assert not is_proved(Prover(Obligations(kraft, ARGUMENT, (clause,), STATIC)), key)


@pytest.mark.slow
def test_where_entries_of_earlier_epochs_are_committed_alone_later_logs_lack_them() -> None:
    """KAFKA-12619: figure 8 of the Raft paper."""
    assert ARGUMENT is not None
    earlier = {**STATIC, "leader_change_committed": 0}
    assert not is_proved(Prover(Obligations(kraft, ARGUMENT, (), earlier)), "Fetch|LaterLogsHaveCommitted")
    small = kraft.instantiate({**earlier, "servers": 3, "records": 1, "max_epoch": 4})
    broken = search(Question(small, (later_logs_have_committed,), is_symmetric=True), Bounds(workers=1))
    assert broken.verdict is Verdict.VIOLATED
