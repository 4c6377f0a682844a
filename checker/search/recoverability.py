"""Recoverability: from every reachable state, can the cluster still get to where a predicate holds?

The backward search that decides it, and why nothing helps in a dead end.

A state is lost if no continuation leads to one in which the predicate holds. A lost state is a dead end of the protocol
only if no state that can be reached from it is held up by what merely bounds the model (e.g. no leader epoch is left): where
one is, a larger bound might help, and nothing is claimed. A property may name actions that do not count as help: a broker
that crashes and comes back repairs much that should not have needed it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from acked.checker.question.ledger import Finding
from acked.checker.question.question import Question
from acked.checker.search.state_graph import GraphViolation, Mask, StateGraph, labels_of_bounds
from acked.model.formulas.evaluate import Evaluator

_MAX_STATES_EXAMINED = 200
"""States around a dead end that are looked at for the reason why nothing helps."""
_MAX_ACTIONS_SHOWN = 4


def decide(graph: StateGraph, position: int) -> GraphViolation | None:
    """The violation of a promise to recover, or that only a bound of the model violates it; None of one that holds."""
    (holds,) = graph.conditions(position)
    counted = graph.without(graph.question.properties[position].without)
    lost = ~graph.closure(holds, counted, backward=True)
    if not lost.any():
        return None
    dead = ~graph.closure(holds | graph.held_up, counted, backward=True)
    if not dead.any():
        return GraphViolation(position, None, (_held_up(graph, position, lost),))
    level, index = graph.shallowest(dead)
    finding = Finding(position, level, graph.words_of(index), None)
    return GraphViolation(position, finding, tuple(_why(graph, holds, position, index, int(dead.sum()), counted)))


def _held_up(graph: StateGraph, position: int, lost: Mask) -> str:
    name = graph.question.properties[position].name
    bounds = labels_of_bounds(graph.question)
    return (
        f"{name}: {int(lost.sum()):,} of {graph.count:,} states cannot recover, but from each of them a state can be reached "
        f"in which only a bound of the model forbids a step ({bounds}); choose constants without such an end"
    )


# -- why nothing helps ------------------------------------------------------------------------------------------------


def _why(
    graph: StateGraph, holds: Mask, position: int, index: int, dead: int, counted: Mask
) -> list[str]:
    """Sentences about the dead end: what can still happen there, and what would help but cannot happen."""
    question, instance = graph.question, graph.question.instance
    item = question.properties[position]
    start = np.zeros(graph.count, bool)
    start[index] = True
    around = np.flatnonzero(graph.closure(start, counted))
    if len(around) == 1:
        first = "no step leaves the trace's last state"
    else:
        first = f"from the trace's last state {len(around):,} states are reachable, itself included, and it holds in none"
    sentences = [f"{item.name}: {first}; {dead:,} of {graph.count:,} states are such dead ends"]
    # Which actions ever bring the predicate about?
    makes = holds[graph.targets] & ~holds[graph.sources] & counted
    helpful = list(dict.fromkeys(instance.actions[at].action.name for at in np.unique(graph.actions[makes])))
    codes = [instance.schema.unpack(graph.words_of(int(at))) for at in around[:_MAX_STATES_EXAMINED]]
    more = f" (in the first {len(codes)} of them)" if len(around) > len(codes) else ""
    return sentences + [_hindrance(question, name, codes) + more for name in helpful[:_MAX_ACTIONS_SHOWN]]


def _hindrance(question: Question, name: str, codes: Sequence[list[int]]) -> str:
    """What keeps an action that elsewhere brings the predicate about from doing so in any of these states."""
    guards = [step.guards for step in question.instance.actions if step.action.name == name]
    evaluate = Evaluator([guard.condition for clauses in guards for guard in clauses])
    false_sets = []
    for state in codes:
        values = iter(evaluate(state))
        false_sets += [[guard.label for guard in clauses if not next(values)] for clauses in guards]
    if not all(false_sets):
        return f"{name}, which brings that about elsewhere, can happen but does not do so"
    if always := set(false_sets[0]).intersection(*false_sets):
        return f"{name} would bring that about, but {_quote(sorted(always))} is false"
    return f"{name} would bring that about, but at best {_quote(min(false_sets, key=len))} is false"


def _quote(labels: Sequence[str]) -> str:
    return " and ".join(f'"{label}"' for label in labels)
