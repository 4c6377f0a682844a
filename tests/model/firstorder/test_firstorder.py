"""The first-order reading says what the protocol says: held against it on reachable and on random states."""

from __future__ import annotations

import random
from functools import cache

import pytest

from acked.invariants.proofs import argument_of
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.firstorder.normal import Normaliser
from acked.model.firstorder.reading import Reading
from acked.model.firstorder.symbols import BOOL, INT, Op, Sort, Symbol
from acked.model.firstorder.terms import Logic, Term
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.context import Constant
from acked.model.language.protocol import Instance, Protocol
from acked.model.replication.state import CONSTANTS, Replica, State
from tests.model.firstorder.comparing import Comparison
from tests.model.firstorder.expansion import Expansion

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
LARGER = {"replicas": 3, "log_size": 3, "max_records": 2, "max_leader_epoch": 2}
NAMES = list(PROTOCOLS)
ARGUMENT = argument_of(PROTOCOLS["kip320"])
assert ARGUMENT is not None
CLAUSES = ARGUMENT.clauses


@cache
def instance(name: str, is_larger: bool = False) -> Instance:
    return PROTOCOLS[name].instantiate(LARGER if is_larger else SMALL)


@cache
def reading(name: str) -> Reading:
    return Reading(PROTOCOLS[name])


@cache
def reachable(name: str) -> list[list[int]]:
    made = instance(name)
    guards = Evaluator([step.guard for step in made.actions])
    updates = [Evaluator([code for _, code in step.updates]) for step in made.actions]
    seen = set(made.initial)
    frontier = list(seen)
    while frontier:
        found = []
        for words in frontier:
            codes = made.schema.unpack(words)
            for step, is_enabled, update in zip(made.actions, guards(codes), updates, strict=True):
                if is_enabled:
                    after = list(codes)
                    for (leaf, _), value in zip(step.updates, update(codes), strict=True):
                        after[leaf] = value
                    packed = made.schema.pack(after)
                    if packed not in seen:
                        seen.add(packed)
                        found.append(packed)
        frontier = found
    return [made.schema.unpack(words) for words in sorted(seen)]


def random_states(made: Instance, count: int) -> list[list[int]]:
    """States of the domain, blank past the logs' ends as every state is, and otherwise arbitrary."""
    source = random.Random(20)
    states = []
    for _ in range(count):
        codes = [source.randrange(leaf.cardinality) for leaf in made.schema.leaves]
        states.append(made.schema.encode(made.schema.decode(codes)))
    return states


def states_of(name: str, of: int) -> list[list[int]]:
    """One of so many states: of kip320 the reachable ones, and random ones."""
    return ((reachable(name) if name == "kip320" else []) + random_states(instance(name), 1000))[::of]


ALL_OR_SOME = [pytest.param(1, marks=[pytest.mark.slow, pytest.mark.long], id="all"), pytest.param(7, id="a seventh")]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("of", ALL_OR_SOME)
@pytest.mark.parametrize("name", NAMES)
def test_every_clause_has_the_protocols_value_in_every_state(name: str, of: int) -> None:
    made, read = instance(name), reading(name)
    expansion = Expansion(read, made, {})
    pairs = [
        (item.name, made.state_predicate(item.name, item.predicate), expansion.expr(read.state_term(item.predicate)))
        for item in CLAUSES
    ]
    values = Evaluator([expr for _, direct, expanded in pairs for expr in (direct, expanded)])
    for codes in states_of(name, of):
        found = values(codes)
        for number, (clause, _, _) in enumerate(pairs):
            assert found[2 * number] == found[2 * number + 1], (clause, codes)


def compare_steps(name: str, is_larger: bool, states: list[list[int]]) -> None:
    compared = Comparison(reading(name), instance(name, is_larger))
    fired = sum(1 for codes in states for _ in compared.steps(codes))
    assert fired > len(states) // 10


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("of", ALL_OR_SOME)
@pytest.mark.parametrize("name", NAMES)
def test_every_action_has_the_protocols_successor_in_every_state(name: str, of: int) -> None:
    compare_steps(name, False, states_of(name, of))


@pytest.mark.slow
def test_it_has_so_too_with_three_replicas_and_longer_logs() -> None:
    compare_steps("kip320", True, random_states(instance("kip320", True), 300))


@pytest.mark.slow
def test_the_reachable_states_are_those_of_the_published_count() -> None:
    assert len(reachable("kip320")) == 5973


def test_the_initial_state_is_the_protocols() -> None:
    made, read = instance("kip320"), reading("kip320")
    codes = Expansion(read, made, {}).codes(read.initial)
    assert [code.value for code in codes] == made.schema.unpack(made.initial[0])


def test_no_clause_and_no_action_mentions_a_number_of_replicas() -> None:
    read = reading("kip320")
    terms = [read.state_term(item.predicate, step.after) for step in read.steps for item in CLAUSES]
    terms += [step.guard for step in read.steps]
    assert "replicas" not in {node.value.name for node in evaluation_order(terms) if node.op is Op.APPLY}


def test_a_dropped_clause_is_left_out_of_the_guard() -> None:
    whole = reading("kip320")
    weakened = Reading(PROTOCOLS["kip320"], drop=[("FencedFollowerFetch", "follows in this epoch")])
    labels = [[guard.label for guard in read.steps[-1].guards] for read in (whole, weakened)]
    assert set(labels[0]) - set(labels[1]) == {"follows in this epoch"}


def test_naming_one_replica_is_an_error_of_the_author() -> None:
    protocol = Protocol("odd", State, title="", source="", constants=CONSTANTS, initial=lambda s: None)

    @protocol.action()
    def give_it_to_the_first(s: State) -> None:
        s.quorum.leader = Replica.lift(0)  # type: ignore[assignment]

    with pytest.raises(ModelError, match="a constant is not known"):
        Reading(protocol)


def test_a_constants_own_bounds_are_not_assumed_above() -> None:
    read = reading("kip320")
    assert not any(node.op is Op.CONST and node.value == 16 for node in evaluation_order([read.constants_in_range()]))
    assert any(isinstance(item, Constant) and item.hi == 16 for item in read.protocol.constants)


# -- clauses -----------------------------------------------------------------------------------------------------------


def value(term: Term, ids: int, numbers: dict[str, object], env: dict[int, int]) -> int:
    """A term in a small interpretation: functions are tables."""
    match term.op:
        case Op.CONST:
            return int(term.value)
        case Op.VARIABLE:
            return env[term.value.number]
        case Op.EVERY | Op.SOME:
            *bounds, body = term.args
            lo, hi = (value(item, ids, numbers, env) for item in bounds) if bounds else (0, ids - 1)
            cases = [value(body, ids, numbers, {**env, term.value.number: k}) for k in range(lo, hi + 1)]
            return int(all(cases) if term.op is Op.EVERY else any(cases))
        case Op.APPLY:
            table = numbers[term.value.name]
            assert isinstance(table, dict)
            return int(table[tuple(value(arg, ids, numbers, env) for arg in term.args)])
    args = [value(arg, ids, numbers, env) for arg in term.args]
    match term.op:
        case Op.ADD:
            return args[0] + args[1]
        case Op.SUB:
            return args[0] - args[1]
        case Op.EQ:
            return int(args[0] == args[1])
        case Op.LT:
            return int(args[0] < args[1])
        case Op.NOT:
            return 1 - args[0]
        case Op.AND:
            return args[0] & args[1]
        case Op.OR:
            return args[0] | args[1]
        case Op.ITE:
            return args[1] if args[0] else args[2]
    raise AssertionError(term.op)


def test_clauses_of_a_formula_without_existentials_mean_the_same() -> None:
    logic = Logic()
    sort = Sort("Node")
    edge, weight = Symbol("edge", (sort, sort), BOOL), Symbol("weight", (sort,), INT)

    def body(x: Term) -> Term:
        def inner(y: Term) -> Term:
            sum_ = logic.eq(logic.apply(weight, [x]), logic.add(logic.apply(weight, [y]), logic.int(1)))
            both = logic.and_(logic.apply(edge, [x, y]), logic.not_(logic.eq(x, y)))
            return logic.eq(both, sum_)

        return logic.every(sort, "Node", inner)

    formula = logic.every(sort, "Node", body)
    clauses = Normaliser(logic, "sk").clauses(formula)
    source = random.Random(3)
    seen = set()
    for _ in range(300):
        tables: dict[str, object] = {
            "edge": {(a, b): source.random() < 0.3 for a in range(2) for b in range(2)},
            "weight": {(a,): source.randrange(2) for a in range(2)},
        }
        expected = value(formula, 2, tables, {})
        found = True
        for clause in clauses:
            numbers = [item.value.number for item in clause.variables]
            for k in range(2 ** len(numbers)):
                env = {number: k >> place & 1 for place, number in enumerate(numbers)}
                found = found and any(value(item, 2, tables, env) for item in clause.literals)
        assert found == bool(expected)
        seen.add(expected)
    assert seen == {0, 1}


def test_a_variable_that_is_equated_with_a_term_disappears() -> None:
    logic = Logic()
    at, limit = Symbol("at", (INT,), BOOL), logic.apply(Symbol("limit", (), INT))
    formula = logic.every(
        INT,
        "Offset",
        lambda x: logic.or_(logic.not_(logic.eq(logic.add(x, logic.int(1)), limit)), logic.apply(at, [x])),
        (logic.int(0), limit),
    )
    (clause,) = Normaliser(logic, "sk").clauses(formula)
    assert not clause.variables
    assert "(at (+ limit -1))" in repr(clause.literals)
