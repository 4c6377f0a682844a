"""Leader completeness of `kraft` for all constants: lemmas that hold, steps that are proved, and those that resist."""

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
from acked.invariants.kraft_lemmas import COMPLETENESS_LEMMAS
from acked.invariants.proofs import argument_of
from acked.model.kraft.protocol import kraft

STATIC = {item.name: item.default or 0 for item in kraft.constants if item.name not in kraft.sizes}
ARGUMENT = argument_of(kraft, STATIC, ("LeaderCompleteness",))
assert ARGUMENT is not None
KNOWN = CoreFile.load(PACKAGE / "invariants" / ARGUMENT.cores)
EFFORT = 8_000_000
"""More than the hardest of them takes, in z3's own count of steps."""
LEFT = {"Fetch|LaterLogsHaveCommitted"}
"""The step that resists: who fetches has what was committed, also where its fetch commits more."""


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


@pytest.mark.slow
def test_sets_are_known_of_all_obligations_but_those_that_the_page_names(prover: Prover) -> None:
    asked = {item.key for item in prover.obligations.all}
    assert asked - set(KNOWN.cores) == LEFT
    assert set(KNOWN.cores) <= asked
    assert prover.obligations.fingerprint == KNOWN.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 16))])
def test_what_is_known_to_be_proved_is_proved(part: int, prover: Prover) -> None:
    some = [item for item in prover.obligations.all if item.key in KNOWN.cores][part::16]
    open_ones = [
        item.key
        for item in some
        if prover.solve(item, KNOWN.cores[item.key].lemmas, EFFORT, KNOWN.cores[item.key].way) is None
    ]
    assert not open_ones
