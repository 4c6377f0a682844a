"""Claims in pieces: together they say what the whole says, few stand for all, and they prove no more than the whole does."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from acked.base.processes import Limits
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.question import Question
from acked.checker.solver import step_proof
from acked.checker.solver.conjuncts import Pieces, hints, pieces_of
from acked.checker.solver.engine import SolverProcess
from acked.checker.solver.lemma_sets import shipped_sets
from acked.checker.solver.problem import conditions, ids_of, make_problem
from acked.checker.solver.tasks import StepAnswer, StepTask
from acked.checker.symmetry.check import check_symmetry
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Pool
from acked.model.language.protocol import Instance
from tests.checker.proof.test_induction import GOALS, renamed

CLAIMS = (*GOALS, *KIP320_LEMMAS)
SETS = shipped_sets(PROTOCOLS["kip320"]).cores
NAMES = [item.name for item in CLAIMS]


def kip320(*numbers: int, drop: tuple[tuple[str, str], ...] = ()) -> Instance:
    protocol = PROTOCOLS["kip320"]
    names = [item.name for item in protocol.constants]
    return protocol.instantiate(dict(zip(names, numbers, strict=True)), drop)


def states(instance: Instance, count: int) -> list[list[int]]:
    """States near the initial one, and ones from which a few fields were drawn anew: most pieces hold in most of them."""
    draw = random.Random(7)
    found = []
    state = list(instance.schema.unpack(instance.initial[0]))
    while len(found) < count:
        steps = instance.enabled_actions(state)
        state = instance.fire(draw.choice(steps), state) if steps else list(instance.schema.unpack(instance.initial[0]))
        other = list(state)
        for _ in range(draw.randrange(4)):
            leaf = draw.randrange(len(other))
            other[leaf] = draw.randrange(instance.schema.leaves[leaf].cardinality)
        found.append(instance.schema.encode(instance.schema.decode(other)))  # Nothing past the ends of logs.
    return found


def test_the_pieces_of_a_claim_say_together_what_it_says() -> None:
    instance = kip320(3, 2, 2, 1)
    roots = conditions(instance, CLAIMS)
    split = [pieces_of(instance.pool, root) for root in roots]
    assert sum(map(len, split)) > 15 * len(roots)
    whole, parts = Evaluator(roots), [Evaluator(items) for items in split]
    seen = set()
    for codes in states(instance, 150):
        for name, value, items in zip(NAMES, whole(codes), parts, strict=True):
            assert all(items(codes)) == bool(value), name
            seen.add((name, bool(value)))
    assert len([name for name in NAMES if (name, False) in seen]) > 15, "claims that always hold would show nothing"


def test_a_disjunction_is_taken_apart_only_where_one_side_is_a_conjunction() -> None:
    pool = Pool()
    a, b, c, d = (pool.eq(pool.field(number, 2), pool.int(1)) for number in range(4))
    assert pieces_of(pool, pool.or_(a, pool.and_(b, c))) == (pool.or_(a, b), pool.or_(a, c))
    both = pool.or_(pool.and_(a, b), pool.and_(c, d))
    assert pieces_of(pool, both) == (both,)
    assert pieces_of(pool, pool.true) == (pool.true,)


@pytest.mark.parametrize("label", ["LeaderWrite(leader=0)", "FencedFollowerFetch(follower=0, leader=1)"])
def test_renamed_where_the_step_allows_it_the_standing_pieces_say_what_all_say(label: str) -> None:
    instance = kip320(4, 1, 1, 1)
    step = next(item for item in instance.actions if item.label == label)
    pieces = Pieces(instance, conditions(instance, CLAIMS))
    standing = pieces.after(step)
    assert sum(map(len, standing)) < 0.7 * sum(map(len, pieces.of))
    named = set(ids_of(step))
    renamings = [to for to in permutations(range(4)) if all(to[number] == number for number in named)]
    every = [Evaluator(items) for items in pieces.of]
    few = [Evaluator([items[n] for n in numbers]) for items, numbers in zip(pieces.of, standing, strict=True)]
    for codes in states(instance, 25):
        images = [renamed(codes, instance, to) for to in renamings]
        for name, items, chosen in zip(NAMES, every, few, strict=True):
            assert all(items(codes)) == all(all(chosen(image)) for image in images), name


# -- proofs by pieces --------------------------------------------------------------------------------------------------


def answers(instance: Instance, action: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[StepAnswer], int]:
    """What is said of an action by a solver that can hardly look at two pieces at once, and how often it tried all goals."""
    roots = conditions(instance, CLAIMS)
    symmetry = check_symmetry(instance, list(zip(NAMES, roots, strict=True)))
    pieces = Pieces(instance, roots)
    engine = SolverProcess(make_problem(instance, CLAIMS, roots, symmetry.is_symmetric, pieces.of), 300.0)
    monkeypatch.setattr(step_proof, "_PART_EFFORT", 1)
    assuming = step_proof.StepProof._assuming
    together = []

    def counted(self: step_proof.StepProof) -> object:
        together.append(self)
        return assuming(self)

    monkeypatch.setattr(step_proof.StepProof, "_assuming", counted)
    found = []
    every = tuple(range(len(CLAIMS)))
    for number in sorted(set(symmetry.representative)):
        if instance.actions[number].action.name == action:
            given = hints(instance, number, CLAIMS, SETS, pieces)
            assert given
            answer = engine.answer(StepTask(number, every, every, every_claim=True, hints=given), lambda _: None)
            assert isinstance(answer, StepAnswer)
            found.append(answer)
    return found, len(together)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["LeaderWrite", "FencedFollowerFetch", "ControllerElectLeader"])
def test_pieces_prove_what_all_goals_at_once_would_take_long_for(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, together = answers(kip320(3, 2, 2, 2), action, monkeypatch)
    for item in found:
        assert (item.broken, item.undecided) == ((), ())
        assert item.goals > 5
    assert together == 0, "nothing is left for a query about all goals"


@pytest.mark.slow
def test_pieces_do_not_prove_what_a_weakened_rule_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    drop = (("FencedFollowerFetch", "follows in this epoch"),)
    instance = kip320(2, 2, 2, 2, drop=drop)
    found, _ = answers(instance, "FencedFollowerFetch", monkeypatch)
    monkeypatch.undo()
    whole = prove_by_induction(Question(instance, GOALS), KIP320_LEMMAS, Limits(2, 300.0), InductionOptions(every_claim=True))
    assert whole.induction is not None
    broken = {action.name: set(action.broken) for action in whole.induction.actions}["FencedFollowerFetch"]
    assert broken >= {"RecordEpoch", "LogMatching"}
    assert {name for item in found for one in item.broken for name in one.claims} == broken
