"""Liveness of random protocols, with fields and parameters of every kind, against fairness decided one state at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.replay.lasso import refusal_of
from acked.checker.search.local import search
from acked.invariants.property import Kind, Liveness, Property
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Protocol
from acked.model.language.values import Bool
from tests.oracle import Space, TooLarge
from tests.random_protocols import TRUTHS, Plan, Recipe, Scope, plans, protocol_of, truth

MEMORY = 1 << 28
BOUND = "guard 0"
"""Of the guards of random actions, the one that is taken for a bound of the model in some examples."""

Words = tuple[int, ...]
HOWS = st.tuples(*[st.sampled_from(["", "weak", "strong", "weak of a", "strong of a"])] * 6)


@dataclass(frozen=True)
class Group:
    """Steps that are fair together, and the states in which one is enabled, and in which one is or a bound holds it up."""

    is_strong: bool
    steps: frozenset[int]
    enabled: frozenset[Words]
    lifted: frozenset[Words]


def fair_texts(protocol: Protocol, hows: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """`Act0`, or `Act1(a)` for every value of the parameter."""
    chosen = [(item, how) for item, how in zip(protocol.actions, hows, strict=False) if how.startswith(kind)]
    return tuple(f"{item.name}(a)" if how.endswith("a") and item.parameters() else item.name for item, how in chosen)


def groups_of(question: Question, space: Space) -> Iterator[Group]:
    said, instance = question.properties[0].liveness, question.instance
    assert said is not None
    changing = [step for level in space.steps for step in level if step.source != step.target]
    for texts, is_strong in ((said.weak, False), (said.strong, True)):
        for text in texts:
            name, _, parameter = text.rstrip(")").partition("(")
            members: dict[object, set[int]] = {}
            for number, step in enumerate(instance.actions):
                if step.action.name == name:
                    members.setdefault(step.arguments[parameter] if parameter else None, set()).add(number)
            for steps in members.values():
                enabled = frozenset(step.source for step in changing if step.action in steps)
                held_up = frozenset(state for state in space.level_of if is_held_up(question, state, steps))
                yield Group(is_strong, frozenset(steps), enabled, enabled | held_up)


def is_held_up(question: Question, state: Words, steps: set[int]) -> bool:
    """Whether nothing but a bound keeps one of these steps from happening."""
    instance = question.instance
    for number in steps:
        guards = instance.actions[number].guards
        values = Evaluator([guard.condition for guard in guards])(instance.schema.unpack(state))
        false = {guard.label for guard, value in zip(guards, values, strict=True) if not value}
        if false and false <= instance.protocol.budgets:
            return True
    return False


def can_stay(graph: nx.MultiDiGraph, groups: list[Group], is_lifted: bool) -> bool:
    """Whether a fair run can stay in a graph for ever."""
    for part in nx.strongly_connected_components(graph):
        inner = graph.subgraph(part)
        taken = {action for _, _, action in inner.edges(data="action")}
        passed_over = [group for group in groups if not taken & group.steps]
        enabled = [(group.is_strong, part & (group.lifted if is_lifted else group.enabled)) for group in passed_over]
        if any(not is_strong and states == part for is_strong, states in enabled):
            continue
        bad = {state for is_strong, states in enabled if is_strong for state in states}
        if not bad or can_stay(graph.subgraph(part - bad), groups, is_lifted):
            return True
    return False


def plainly(question: Question, space: Space) -> str:
    item, instance = question.properties[0], question.instance
    assert item.liveness is not None
    evaluate = Evaluator(
        [instance.state_predicate(item.name, predicate) for predicate in (item.predicate, item.liveness.goal)]
    )
    values = {state: evaluate(instance.schema.unpack(state)) for state in space.level_of}
    without = [state for state in space.level_of if not values[state][1]]
    asks = space.levels[0] if item.liveness.trigger_text is None else [state for state in without if values[state][0]]
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(without)
    for step in (step for level in space.steps for step in level):
        if step.source != step.target and step.source in graph and step.target in graph:
            graph.add_edge(step.source, step.target, action=step.action)
    begins = [state for state in asks if state in graph]
    region = graph.subgraph(set(begins).union(*(nx.descendants(graph, state) for state in begins)))
    groups = list(groups_of(question, space))
    if can_stay(region, groups, is_lifted=True):
        return "violated"
    return "budget" if can_stay(region, groups, is_lifted=False) else "holds"


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans(), TRUTHS, TRUTHS, HOWS, st.booleans(), st.booleans())
def test_random_protocols_are_judged_as_by_a_plain_search(
    plan: Plan, trigger: Recipe, goal: Recipe, hows: tuple[str, ...], is_once: bool, bounded: bool
) -> None:
    def predicate(recipe: Recipe) -> object:
        return lambda state: Bool(Bool.lift(truth(recipe, Scope(plan, (state,)))))

    protocol = protocol_of(plan)
    protocol.budgets = frozenset({BOUND} if bounded else ())
    fair = [fair_texts(protocol, hows, kind) for kind in ("weak", "strong")]
    said = Liveness(predicate(goal), None if is_once else "trigger", "goal", *fair)  # type: ignore[arg-type]
    item = Property("Comes", Kind.LIVENESS, predicate(trigger), "", "", "", liveness=said)  # type: ignore[arg-type]
    question = Question(protocol.instantiate({}), (item,))
    try:
        space = Space(question.without_graph_properties(), 700)
    except TooLarge:
        event("too large")
        return
    expected = plainly(question, space)
    event(expected)
    results = [search(question, Bounds(workers, MEMORY)) for workers in (1, 2)]
    for result in results:
        assert ("budget" if result.stopped is StopReason.BUDGET else result.verdict.value) == expected
    if expected == "violated":
        runs = [result.violations[0].run for result in results]
        assert (runs[0].states, runs[0].actions, runs[0].loop) == (runs[1].states, runs[1].actions, runs[1].loop)
        assert refusal_of(question, item, runs[0]) == ""
