"""Explanations name values that decide: with those values kept, nothing else can change the answer."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from acked.checker.replay.explain import Explainer, _decisive, _fields_of, _values
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.model.replication.state import State

FAMILY = [name for name, protocol in PROTOCOLS.items() if protocol.state is State]
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def walk(instance: Instance, rng: random.Random, steps: int) -> list[list[int]]:
    """The codes of the states of a random run."""
    states = [instance.schema.unpack(instance.initial[0])]
    for _ in range(steps):
        enabled = instance.enabled_actions(states[-1])
        if not enabled:
            break
        states.append(instance.fire(rng.choice(enabled), states[-1]))
    return states


@pytest.mark.parametrize("protocol", FAMILY)
def test_refusals_are_exactly_the_false_clauses_of_exactly_the_disabled_actions(protocol: str) -> None:
    instance = PROTOCOLS[protocol].instantiate(SMALL)
    explainer, rng = Explainer(instance), random.Random(protocol)
    for codes in walk(instance, rng, 12):
        refused = {item.step.label: [clause.label for clause in item.clauses] for item in explainer.refusals(codes)}
        enabled = {step.label for step in instance.enabled_actions(codes)}
        assert set(refused) == {step.label for step in instance.actions} - enabled
        for step in instance.actions:
            holds = Evaluator([guard.condition for guard in step.guards])(codes)
            false = [guard.label for guard, value in zip(step.guards, holds, strict=True) if not value]
            assert refused.get(step.label, []) == false


def deciding_fields(instance: Instance, root: Expr, codes: Sequence[int]) -> frozenset[str]:
    """The names of the fields whose values suffice for a Bool's value, as its explanation has them."""
    values = _values(root, codes)
    leaves = {leaf for atom in _decisive(root, values) for leaf in _fields_of(atom, values)}
    return frozenset(instance.schema.leaves[leaf].name for leaf in leaves)


@pytest.mark.parametrize("protocol", FAMILY)
def test_a_clause_keeps_its_value_whatever_happens_to_the_fields_that_are_not_named(protocol: str) -> None:
    instance = PROTOCOLS[protocol].instantiate(SMALL)
    rng = random.Random(protocol)
    leaves = instance.schema.leaves
    tried = 0
    for codes in walk(instance, rng, 12):
        for step in instance.actions:
            for guard in step.guards:
                named = deciding_fields(instance, guard.condition, codes)
                value = Evaluator([guard.condition])(codes)
                for _ in range(3):
                    other = [
                        code if leaf.name in named else rng.randrange(leaf.cardinality)
                        for code, leaf in zip(codes, leaves, strict=True)
                    ]
                    assert Evaluator([guard.condition])(other) == value, (step.label, guard.label, named)
                    tried += 1
    assert tried > 500


def test_reasons_are_in_words_of_the_fields() -> None:
    instance = PROTOCOLS["kip320"].instantiate(SMALL)
    codes = instance.schema.unpack(instance.initial[0])
    told = {
        (item.step.label, clause.label): clause.reasons
        for item in Explainer(instance).refusals(codes)
        for clause in item.clauses
    }
    assert told["LeaderWrite(leader=0)", "presumes leadership"] == ("replica[0].leader is none, not 0",)
    assert told["BecomeLeader(leader=0, epoch=0)", "request was sent"] == ("next_leader_epoch is 0, not above 0",)
    assert told["FencedLeaderShrinkIsr(leader=0, follower=1)", "in the ISR"] == ("replica[0].isr is {}, without 1",)
    assert told["FencedFollowerFetch(follower=0, leader=1)", "leader holds the next offset"] == (
        "log[0].end is 0, not below log[1].end = 0",
    )


def test_of_a_broken_promise_every_false_conjunct_is_told_and_nothing_of_one_that_holds() -> None:
    instance = PROTOCOLS["kip320"].instantiate(SMALL)
    schema = instance.schema
    explainer = Explainer(instance)
    promise = instance.state_predicate("test", lambda s: (s.next_record_id == 0) & (s.next_leader_epoch == 0))
    state = schema.decode(schema.unpack(instance.initial[0]))
    assert explainer.failing_conjuncts(promise, schema.encode(state)) == []
    state["next_record_id"] = state["next_leader_epoch"] = 1
    assert set(explainer.failing_conjuncts(promise, schema.encode(state))) == {
        ("next_record_id is 1, not 0",),
        ("next_leader_epoch is 1, not 0",),
    }
