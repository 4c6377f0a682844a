"""`kraft` for all constants: static voters elect one leader an epoch, however many they are."""

from __future__ import annotations

import pytest

from acked.base.processes import Limits
from acked.checker.allconstants.lemma_search import FIRST_EFFORT
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.proof import covering_argument, prove_all_constants
from acked.checker.allconstants.texts import obligation_text
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.solver.lemma_sets import Core, shipped_file, shipped_sets
from acked.checker.solver.tasks import TextTask
from acked.invariants.kraft import one_leader_per_epoch
from acked.invariants.proofs import argument_of
from acked.invariants.property import promise
from acked.model.formulas.errors import ModelError
from acked.model.kraft.common import is_majority, voters_of
from acked.model.kraft.protocol import kraft
from acked.model.kraft.settings import DYNAMIC
from acked.model.kraft.state import Server, State
from acked.model.language.quantify import count, every, implies, some
from acked.model.language.values import Bool
from tests.checker.proof.test_partition_proof import broken
from tests.proofs.few import prover_of

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
    weakened = prover_of(obligations((("Elect", clause),)), ELECTED)
    asked = weakened.obligations.all
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


@promise("a majority of the voters that some log names is bound to each leader, or knows a newer epoch", "KIP-853", "3.9")
def leaders_have_voters(s: State) -> Bool:
    """As `LeadersHaveAMajority`, where voters change."""

    def is_bound(r: Server, leader: Server) -> Bool:
        one, mine = s.server[r], s.server[leader]
        return (one.epoch > mine.epoch) | ((one.epoch == mine.epoch) & (one.bond == leader))

    def are_bound(log: Server, leader: Server) -> Bool:
        voters = voters_of(s, log)
        return is_majority(count(Server, lambda r: voters.contains(r) & is_bound(r, leader)), voters)

    return every(Server, lambda leader: implies(s.server[leader].leads, some(Server, lambda log: are_bound(log, leader))))


@pytest.mark.landing("test_an_election_without_a_clause_that_keeps_leaders_apart_is_not_proved")
@pytest.mark.slow
def test_where_voters_change_the_step_that_resists_is_an_election() -> None:
    """The lemma holds with one change, and does not keep apart who is elected by another set of voters."""
    sizes = {"servers": 3, "records": 1, "max_epoch": 3, "voters": DYNAMIC}
    once, twice = (kraft.instantiate({**sizes, "changes": changes}) for changes in (1, 2))
    assert search(Question(once, (leaders_have_voters,), is_symmetric=True)).verdict is Verdict.HOLDS
    assert search(Question(twice, (leaders_have_voters,), is_symmetric=True)).verdict is Verdict.VIOLATED
    asked = Question(once, (one_leader_per_epoch,))
    found = prove_by_induction(asked, (leaders_have_voters,), Limits(1, 300.0), InductionOptions(every_claim=True))
    assert [action for action, claims in broken(found).items() if "OneLeaderPerEpoch" in claims] == ["Elect"]


def test_for_all_constants_the_newest_voters_in_a_log_are_not_read() -> None:
    argument = argument_of(kraft, STATIC)
    assert argument is not None
    with pytest.raises(ModelError, match=r"action Elect .*: each\(…\) needs finitely many values"):
        Obligations(kraft, argument, (), {**STATIC, "voters": DYNAMIC, "changes": 1})
