"""Liveness under fairness: is the goal met in every fair infinite trace?

Deciding it on the graph of all states, by strongly connected components, and the lasso that refutes it.

An infinite trace stays, from some time on, inside one strongly connected set of states; so a promise is violated if such a
set can be reached on a path that asks for the goal and does not meet it, the goal holds nowhere in it, and it has what
fairness asks for: of every weak group a state in which it is not enabled, or a step of it, and a step of every strong group
that is enabled anywhere in it. Where a strong group is enabled but never taken, the states in which it is enabled are left
out, and what remains is looked at again (Emerson and Lei 1987). A run may stand still in one state for ever, as in TLA+:
that is a set without steps.

A lasso counts only if it stays fair where what merely bounds the model is lifted: an action that is held up by such a bound
counts as enabled. If there are only others, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.checker.question.fairness import Group, fairness
from acked.checker.question.ledger import Finding
from acked.checker.question.result import Run
from acked.checker.search.state_graph import (
    GraphViolation,
    Mask,
    Numbers,
    StateGraph,
    labels_of_bounds,
    places_of,
    sort_by_end,
)

_ENTRIES = 24
"""States in which the loop may begin that are tried for the shortest lasso, nearest first."""
_LARGE = 100_000
"""In sets of more states than this, only the nearest one is tried."""


@frozen
class _Fair:
    """A group on the graph: its steps that change something, shape (steps,), and where one is enabled, shape (count,)."""

    group: Group
    steps: Mask
    enabled: Mask


def decide(graph: StateGraph, position: int) -> GraphViolation | None:
    """The violation of a promise of liveness, or that only a bound of the model violates it; None of one that holds."""
    item = graph.question.properties[position]
    assert item.liveness is not None
    trigger, goal, *held_up = graph.conditions(position)
    moves = graph.sources != graph.targets
    if item.liveness.trigger_text is None:
        trigger = np.arange(graph.count) < graph.ends[0]
    start = trigger & ~goal
    if not start.any():
        return None
    region = graph.closure(start, moves & ~goal[graph.targets])
    groups = [_fair(graph, group, moves) for group in fairness(graph.question.instance, item)]
    part = fair_parts(graph, region, groups)
    if not (part >= 0).any():
        return None
    lifted = [
        _Fair(fair.group, fair.steps, fair.enabled | bound) for fair, bound in zip(groups, held_up, strict=True)
    ]
    if any(bound.any() for bound in held_up):
        part = fair_parts(graph, region, lifted)
    stuck = int((part >= 0).sum())
    if not stuck:
        bounds = labels_of_bounds(graph.question)
        sentence = (
            f"{item.name}: the goal may never be met, but only where a bound of the model ({bounds}) keeps an action "
            "from happening that fairness asks for; choose constants without such an end"
        )
        return GraphViolation(position, None, (sentence,))
    run = _Lassos(graph, start, region, part, lifted).best()
    finding = Finding(position, len(run.states), run.states[-1], None)
    sentence = f"a fair infinite trace without the goal can pass through {stuck:,} of {graph.count:,} states infinitely often"
    return GraphViolation(position, finding, (f"{item.name}: {sentence}",), run)


def _fair(graph: StateGraph, group: Group, moves: Mask) -> _Fair:
    belongs = np.zeros(len(graph.question.instance.actions) + 1, bool)
    belongs[list(group.steps)] = True
    steps = belongs[graph.actions] & moves
    enabled = np.zeros(graph.count, bool)
    enabled[graph.sources[steps]] = True
    return _Fair(group, steps, enabled)


# -- which sets of states a fair run can stay in -----------------------------------------------------------------------


def fair_parts(graph: StateGraph, region: Mask, groups: Sequence[_Fair]) -> Numbers:
    """By state the number of the largest fair set that it belongs to, of those inside a region; -1 for none."""
    with optional_packages():
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

    found = np.full(graph.count, -1, np.int64)
    taken = 0
    alive = region.copy()
    steps = np.flatnonzero(region[graph.sources] & region[graph.targets])
    place = np.empty(graph.count, np.int64)
    while alive.any():
        states = np.flatnonzero(alive)
        place[states] = np.arange(len(states))
        steps = steps[alive[graph.sources[steps]] & alive[graph.targets[steps]]]
        sources, targets = place[graph.sources[steps]], place[graph.targets[steps]]
        matrix = csr_matrix((np.ones(len(steps), np.int8), (sources, targets)), shape=(len(states), len(states)))
        count, part = connected_components(matrix, directed=True, connection="strong")
        inside = part[sources] == part[targets]
        is_fair, again = np.ones(count, bool), np.zeros(count, bool)
        left = np.ones(len(states), bool)
        for fair in groups:
            enabled = fair.enabled[states]
            is_taken = _parts_with(part[sources[inside & fair.steps[steps]]], count)
            if fair.group.is_strong:
                passed_over = _parts_with(part[enabled], count) & ~is_taken
                again |= passed_over
                left &= ~(passed_over[part] & enabled)
            else:
                # Passed over in all of its states, so it is in any smaller set of them, too.
                passed_over = ~_parts_with(part[~enabled], count) & ~is_taken
                left &= ~passed_over[part]
            is_fair &= ~passed_over
        accepted = is_fair[part]
        found[states[accepted]] = taken + part[accepted]
        taken += count
        alive[:] = False
        alive[states[left & again[part]]] = True
    return found


def _parts_with(parts: NDArray[np.int32], count: int) -> Mask:
    """A mask of the parts that are listed."""
    mask = np.zeros(count, bool)
    mask[parts] = True
    return mask


# -- the lasso --------------------------------------------------------------------------------------------------------


class _Order:
    """The steps of a graph by where they leave and by where they lead, and the rank of every state.

    Ties are broken by the states themselves, whose numbers depend on the workers.
    """

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        self._forward, self._first = sort_by_end(graph.sources, graph.count)
        self._backward, self._last = sort_by_end(graph.targets, graph.count)
        words = [graph.states[:, word] for word in range(graph.states.shape[1])]
        self.rank = np.empty(graph.count, np.int64)
        self.rank[np.lexsort(words[::-1])] = np.arange(graph.count)

    def after(self, states: Numbers) -> Numbers:
        """The steps from these states, one state after the other."""
        listed: Numbers = self._forward[places_of(states, self._first)]
        return listed

    def before(self, state: int) -> Numbers:
        """The steps to a state."""
        return self._backward[self._last[state] : self._last[state + 1]]


class _Steps:
    """The steps between some states of a graph (a mask) that change something, to be followed either way."""

    def __init__(self, order: _Order, inside: Mask) -> None:
        self._order, self._graph, self._inside = order, order.graph, inside

    def after(self, states: Numbers) -> Numbers:
        """The steps from these states."""
        return self._choose(self._order.after(states))

    def before(self, state: int) -> Numbers:
        """The steps to a state."""
        return self._choose(self._order.before(state))

    def _choose(self, steps: Numbers) -> Numbers:
        sources, targets = self._graph.sources[steps], self._graph.targets[steps]
        chosen: Numbers = steps[self._inside[sources] & self._inside[targets] & (sources != targets)]
        return chosen

    def least_to(self, steps: Numbers) -> int:
        """Of these steps the one with the least source, then the least action."""
        return self._least(steps, self._graph.sources)

    def least_from(self, steps: Numbers) -> int:
        """Of these steps the one with the least target, then the least action."""
        return self._least(steps, self._graph.targets)

    def _least(self, steps: Numbers, there: Numbers) -> int:
        order = np.lexsort((self._graph.actions[steps], self._order.rank[there[steps]]))
        return int(steps[order[0]])

    def way(self, begin: int, is_wanted: Callable[[Numbers], Mask]) -> list[int]:
        """The steps of the canonical shortest way from a state to a nearest one of those wanted, of which there is one."""
        distance = np.full(self._graph.count, -1, np.int32)
        distance[begin] = 0
        frontier = np.array([begin])
        length = 0
        while not (wanted := is_wanted(frontier)).any():
            length += 1
            reached = self._graph.targets[self.after(frontier)]
            frontier = np.unique(reached[distance[reached] < 0])
            distance[frontier] = length
        ends = frontier[wanted]
        at = int(ends[np.argmin(self._order.rank[ends])])
        way: list[int] = []
        while at != begin:
            length -= 1
            steps = self.before(at)
            way.append(self.least_to(steps[distance[self._graph.sources[steps]] == length]))
            at = int(self._graph.sources[way[-1]])
        return way[::-1]


class _Lassos:
    """The ways into a fair set, and round in it."""

    def __init__(
        self, graph: StateGraph, start: Mask, region: Mask, part: Numbers, groups: Sequence[_Fair]
    ) -> None:
        self._graph, self._start, self._part, self._groups = graph, start, part, groups
        self._order = _Order(graph)
        self._level = np.searchsorted(graph.ends, np.arange(graph.count), side="right")
        self._inside = _Steps(self._order, region)
        self._distance = self._distances()

    def best(self) -> Run:
        """The shortest of the lassos that are tried; canonical."""
        entries = np.flatnonzero(self._part >= 0)
        entries = entries[np.lexsort((self._order.rank[entries], self._distance[entries]))]
        best: tuple[int, int, list[int]] | None = None
        for entry in entries[:_ENTRIES].tolist():
            away = int(self._distance[entry])
            if best is not None and (away >= best[0] or (self._part == self._part[entry]).sum() > _LARGE):
                break
            loop = self._loop(entry)
            if best is None or away + len(loop) < best[0]:
                best = away + len(loop), entry, loop
        assert best is not None
        way = self._way_to(best[1])
        return self._lasso(way, best[2], best[1])

    def _distances(self) -> Numbers:
        """By state of the region: steps of the shortest way there that has asked for the goal and not met it since."""
        graph, distance = self._graph, np.full(self._graph.count, -1, np.int64)
        starts = np.flatnonzero(self._start)
        levels = self._level[starts]
        frontier = np.zeros(0, np.int64)
        length = 0
        while len(frontier) or length <= levels.max():
            reached = np.concatenate([graph.targets[self._inside.after(frontier)], starts[levels == length]])
            frontier = np.unique(reached[distance[reached] < 0])
            distance[frontier] = length
            length += 1
        return distance

    def _way_to(self, entry: int) -> list[int]:
        graph, way, at = self._graph, [], entry
        while not (self._start[at] and self._level[at] == self._distance[at]):
            steps = self._inside.before(at)
            steps = steps[self._distance[graph.sources[steps]] == self._distance[at] - 1]
            way.append(self._inside.least_to(steps))
            at = int(graph.sources[way[-1]])
        if self._level[at]:
            everywhere = _Steps(self._order, np.ones(graph.count, bool))
            while self._level[at]:
                steps = everywhere.before(at)
                steps = steps[self._level[graph.sources[steps]] == self._level[at] - 1]
                way.append(everywhere.least_to(steps))
                at = int(graph.sources[way[-1]])
        return way[::-1]

    # -- round and round --------------------------------------------------------------------------------------------

    def _loop(self, entry: int) -> list[int]:
        """A short way from a state of a fair set back to itself, inside the set, that keeps all fairness."""
        inside = self._part == self._part[entry]
        steps = _Steps(self._order, inside)
        loop: list[int] = []
        while True:
            at = int(self._graph.targets[loop[-1]]) if loop else entry
            closed = loop + steps.way(at, lambda states: states == entry)
            unmet = [fair for fair in self._groups if not self._is_met(fair, entry, closed)]
            if not unmet:
                return closed
            loop += self._towards(unmet, at, steps)

    def _is_met(self, fair: _Fair, entry: int, loop: list[int]) -> bool:
        if fair.steps[loop].any():
            return True
        enabled = fair.enabled[[entry, *self._graph.targets[loop].tolist()]]
        return not (enabled.any() if fair.group.is_strong else enabled.all())

    def _towards(self, unmet: Sequence[_Fair], at: int, steps: _Steps) -> list[int]:
        """The way from a state to the nearest thing that one of these groups still asks for."""

        def is_wanted(states: Numbers) -> Mask:
            leaving = steps.after(states)
            own = np.concatenate([leaving[fair.steps[leaving]] for fair in unmet])
            wanted = np.isin(states, self._graph.sources[own])
            for fair in unmet:
                if not fair.group.is_strong:
                    wanted |= ~fair.enabled[states]
            return wanted

        way = steps.way(at, is_wanted)
        there = int(self._graph.targets[way[-1]]) if way else at
        if any(not fair.group.is_strong and not fair.enabled[there] for fair in unmet):
            return way
        leaving = steps.after(np.array([there]))
        own = next(own for fair in unmet if (own := leaving[fair.steps[leaving]]).size)
        return [*way, steps.least_from(own)]

    def _lasso(self, way: list[int], loop: list[int], entry: int) -> Run:
        graph, instance = self._graph, self._graph.question.instance
        steps = [*way, *loop]
        begin = int(graph.sources[steps[0]]) if steps else entry
        states = [begin, *(int(graph.targets[step]) for step in steps)]
        actions = [instance.actions[int(graph.actions[step])] for step in steps]
        return Run(tuple(graph.words_of(state) for state in states), tuple(actions), len(way))
