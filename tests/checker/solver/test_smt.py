"""The lowering to z3 agrees with the plain evaluator, and its width lets nothing wrap."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from acked.checker.solver.smt import Lowering
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr, Pool
from acked.model.language.protocol import Instance
from acked.model.language.storage.layout import Schema
from tests.random_expressions import BOOLS, CARDINALITIES, INTS, STATE, STATES, Recipe, build


def instance() -> Instance:
    """A state with the leaves of random expressions; a protocol without actions would say no more."""
    return cast(Instance, SimpleNamespace(schema=Schema(STATE, {})))


def value_of(term: Any) -> int:
    """The integer or truth value that a term without variables stands for."""
    simple = z3.simplify(term)
    if z3.is_bv_value(simple):
        return int(simple.as_signed_long())
    assert z3.is_true(simple) or z3.is_false(simple)
    return int(z3.is_true(simple))


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.one_of(INTS, BOOLS), min_size=1, max_size=3), STATES)
def test_a_term_has_the_evaluators_value_in_every_state(recipes: list[Recipe], state: tuple[int, ...]) -> None:
    pool = Pool()
    roots = [build(recipe, pool) for recipe in recipes]
    frame = Lowering(instance(), roots).frame()
    leaves = instance().schema.leaves
    known = [
        (frame.variable(number), z3.BitVecVal(code, leaf.bits))
        for number, (leaf, code) in enumerate(zip(leaves, state, strict=True))
        if leaf.bits
    ]
    for root, expected in zip(roots, Evaluator(roots)(state), strict=True):
        assert value_of(z3.substitute(frame.term(root), known)) == expected


@pytest.mark.slow
@settings(max_examples=25)
@given(BOOLS, STATES)
def test_the_solver_finds_no_other_value_in_a_state(recipe: Recipe, state: tuple[int, ...]) -> None:
    root = build(recipe, Pool())
    frame = Lowering(instance(), [root]).frame("@0")
    solver = z3.SolverFor("QF_BV")
    solver.add(*frame.domain_terms(), *frame.is_state(state))
    assert solver.check() == z3.sat
    solver.add(frame.term(root) != z3.BoolVal(bool(Evaluator([root])(state)[0])))
    assert solver.check() == z3.unsat


@pytest.mark.slow
@settings(max_examples=60)
@given(st.one_of(INTS, BOOLS))
def test_every_node_and_every_code_fits_the_width(recipe: Recipe) -> None:
    root = build(recipe, Pool())
    width = Lowering(instance(), [root]).width
    for node in evaluation_order([root]):
        assert -(1 << width - 1) <= node.lo
        assert node.hi < 1 << width - 1
    assert max(CARDINALITIES) <= 1 << width - 1


def test_an_expression_that_the_width_was_not_chosen_for_is_refused() -> None:
    pool = Pool()
    frame = Lowering(instance(), []).frame()
    with pytest.raises(ValueError, match="roots of the Lowering"):
        frame.term(pool.mul(pool.field(6, 70_000), pool.int(1000)))


def test_frames_share_nothing_but_the_width() -> None:
    pool = Pool()
    x = pool.field(4, 16)
    lowering = Lowering(instance(), [x])
    before, after = lowering.frame("@0"), lowering.frame("@1")
    solver = z3.Solver()
    solver.add(before.term(x) == 3, after.term(x) == 4)
    assert solver.check() == z3.sat
    assert (before.codes(solver.model())[4], after.codes(solver.model())[4]) == (3, 4)
    assert str(before.variable(4)) == "f4@0"


def test_in_domain_excludes_codes_that_the_bits_allow() -> None:
    frame = Lowering(instance(), []).frame()
    solver = z3.Solver()
    solver.add(*frame.domain_terms(), frame.variable(2) == 3)  # three values, two bits
    assert solver.check() == z3.unsat


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_guards_and_updates_of_a_protocol_agree_along_a_run(name: str) -> None:
    made = PROTOCOLS[name].instantiate({"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2})
    roots: list[Expr] = [item.guard for item in made.actions]
    roots += [code for item in made.actions for _, code in item.updates]
    frame = Lowering(made, roots).frame()
    codes = made.schema.unpack(made.initial[0])
    for step_number in range(4):
        known = [
            (frame.variable(number), z3.BitVecVal(code, leaf.bits))
            for number, (leaf, code) in enumerate(zip(made.schema.leaves, codes, strict=True))
        ]
        values = Evaluator(roots)(codes)
        assert [value_of(z3.substitute(frame.term(root), known)) for root in roots] == values
        enabled = made.enabled_actions(codes)
        codes = made.fire(enabled[step_number % len(enabled)], codes)
