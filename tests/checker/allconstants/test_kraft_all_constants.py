"""`kraft` for all constants: static voters elect one leader an epoch, however many they are."""

from __future__ import annotations

import pytest

from acked.base.processes import Limits
from acked.checker.allconstants.lemma_search import FIRST_EFFORT
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.proof import covering_argument, prove_all_constants
from acked.checker.allconstants.prover import Prover
from acked.checker.allconstants.texts import obligation_text
from acked.checker.solver.lemma_sets import Core, shipped_file, shipped_sets
from acked.checker.solver.tasks import TextTask
from acked.invariants.proofs import argument_of
from acked.model.formulas.errors import ModelError
from acked.model.kraft.protocol import kraft
from acked.model.kraft.settings import DYNAMIC

SHIPPED = shipped_sets(kraft)
STATIC = {item.name: item.default or 0 for item in kraft.constants if item.name not in kraft.sizes}
ELECTED = {"Elect|OneLeaderPerEpoch", "Elect|LeadersHaveAMajority"}


def obligations(drop: tuple[tuple[str, str], ...] = ()) -> Obligations:
    argument = argument_of(kraft, STATIC)
    assert argument is not None
    return Obligations(kraft, argument, drop, STATIC)


@pytest.mark.slow
def test_the_shipped_lemma_sets_are_of_the_shipped_protocol() -> None:
    argument = argument_of(kraft)
    assert argument is not None
    again = f"run: acked prove all-constants controllers-one-leader --lemma-sets {shipped_file(argument)}"
    assert SHIPPED.fingerprint == obligations().fingerprint, again
    assert {name for core in SHIPPED.cores.values() for name in core.lemmas} <= set(obligations().clauses)


@pytest.mark.slow
def test_static_voters_elect_one_leader_an_epoch_however_many_they_are() -> None:
    proof = prove_all_constants(kraft, Limits(2, 600.0), constants=STATIC)
    assert proof.holds, [item.key for item in proof.open]


@pytest.mark.slow
def test_a_second_solver_reads_and_confirms_what_was_proved() -> None:
    """Names that SMT-LIB keeps to itself are none of the protocol's."""
    from acked.checker.allconstants.second_solver import SecondSolver

    made, solver = obligations(), SecondSolver(None, 60.0)
    made.prepare()
    texts = [obligation_text(made, item, SHIPPED.cores.get(item.key, Core())) for item in made.all[3::20]]
    assert [solver.answer(TextTask(text), lambda _: None).answer for text in texts] == ["unsat"] * len(texts)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("clause", ["voters are free in the epoch", "votes of a majority", "voters know no newer epoch"])
def test_an_election_without_a_clause_that_keeps_leaders_apart_is_not_proved(clause: str) -> None:
    weakened = Prover(obligations((("Elect", clause),)))
    asked = [item for item in weakened.obligations.all if item.key in ELECTED]
    assert len(asked) == len(ELECTED)
    assert any(weakened.solve(item, SHIPPED.cores[item.key].lemmas, FIRST_EFFORT) is None for item in asked)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"voters": DYNAMIC}, "static voters"), ({"upgrades": 1}, "stay what they are"), ({"formats": 1}, "takes the vote"),
        ({"quorum_state_lost": 1}, "given again"),
    ],
)  # fmt: skip
def test_what_the_lemma_is_not_about_is_refused(changed: dict[str, int], why: str) -> None:
    with pytest.raises(ModelError, match=f"does not cover {next(iter(changed))}: .*{why}"):
        covering_argument(kraft, {**STATIC, **changed})
