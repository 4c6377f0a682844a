"""Of all shortest runs to a violation, the one that is easiest to explain.

All shortest runs as a graph, found backwards over the stored levels, and the choice among them, which is exact: fewest
brokers involved, then fewest changes of who acts, then fewest faults, then the least sequence of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ExitCode
from acked.base.observer import Observer
from acked.checker.loops import backward
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions, processor
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Violation, Words
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import Shard, address, numbers
from acked.invariants.property import Kind
from acked.model.language.tracings import ActionInstance

MAX_STEPS = 400_000
"""Steps of all shortest runs together; above, choosing among them is refused."""
_ROOM = 1 << 12


class TooMany(AckedError):
    """There are more shortest runs than can be compared."""

    exit_code = ExitCode.TOO_LARGE


@dataclass(frozen=True)
class Effort:
    """What it takes to explain a step: the brokers it involves, as bits; who acts; and whether it is a fault."""

    brokers: int
    actor: str
    is_fault: bool


@dataclass(frozen=True)
class Cost:
    """What it takes to explain a run, in the order in which it counts."""

    brokers: int
    switches: int
    faults: int


@dataclass(frozen=True)
class Easiest:
    """A violation with its easiest run, the costs of that and of the canonical run, and how many shortest runs there are."""

    violation: Violation
    cost: Cost
    canonical: Cost
    runs: int


Edge = tuple[int, Words]
"""The number of an action instance, and the state it leads to."""


def cost_of(run: Run, effort: Callable[[ActionInstance], Effort]) -> Cost:
    """What it takes to explain a run."""
    efforts = [effort(step) for step in run.actions]
    brokers = 0
    for item in efforts:
        brokers |= item.brokers
    switches = sum(a.actor != b.actor for a, b in pairwise(efforts))
    return Cost(brokers.bit_count(), switches, sum(item.is_fault for item in efforts))


def easiest_of(
    question: Question,
    violation: Violation,
    effort: Callable[[ActionInstance], Effort],
    bounds: Bounds | None = None,
    observer: Observer | None = None,
    max_states: int | None = None,
) -> Easiest:
    """The easiest of all shortest runs that break the property of a violation.

    `TooMany` if all of them together have more steps than can be compared, or lie among more than `max_states`. Symmetry is
    not used: renamed runs are told differently.
    """
    given = bounds or Bounds()
    plain = Question(question.instance, (violation.property,))
    within = Bounds(given.workers, given.memory, None, max_states)
    search = LocalSearch(plain, within, observer=observer, keeps_states=True)
    result = search.run()
    if not result.violations or len(result.violations[0].run.states) != len(violation.run.states):
        raise TooMany("the shortest runs do not fit into memory; leave --easiest out, or give more --memory")
    graph = _Backwards(search).graph(result.violations[0])
    run, cost, count = _choose(plain, graph, result.violations[0], effort)
    return Easiest(Violation(violation.property, run), cost, cost_of(violation.run, effort), count)


@dataclass(frozen=True)
class _Graph:
    """All shortest runs: by level, from the first, what leads from each state to the next level."""

    levels: tuple[dict[Words, list[Edge]], ...]


class _Backwards:
    """Looks backwards over the levels that a search has kept."""

    def __init__(self, search: LocalSearch) -> None:
        self._search = search
        self._words = search.question.instance.schema.words
        code = compile_functions(backward.FUNCTIONS, {"W": self._words})
        self._kernel = Kernel(ObjectCode(processor(), (code,)))
        self._steps = 0

    def graph(self, found: Violation) -> _Graph:
        """Everything that leads to a violation of the same property in as many steps."""
        question = self._search.question
        position = next(at for at, item in enumerate(question.properties) if item is found.property)
        levels: list[dict[Words, list[Edge]]] = []
        depth = len(found.run.states)
        if found.property.kind is Kind.STEP:
            depth -= 1
            levels.append(self._bad_steps(depth, 1 + question.step_properties.index(position)))
        else:
            levels.append({state: [] for state in self._violating(depth, question.state_properties.index(position))})
        for level in range(depth - 1, 0, -1):
            levels.append(self._sources(level, sorted(levels[-1])))
        return _Graph(tuple(reversed(levels)))

    def _violating(self, depth: int, position: int) -> list[Words]:
        call = self._kernel.function("list_violating", 6)
        rows = self._rows(depth, lambda context, begin, end, out, room: call(context, begin, end, position, out, room))
        return sorted(self._state(shard, index) for shard, index, _, _ in rows)

    def _bad_steps(self, depth: int, bit: int) -> dict[Words, list[Edge]]:
        call, instance = self._kernel.function("list_bad_steps", 6), self._search.question.instance
        rows = self._rows(depth, lambda context, begin, end, out, room: call(context, begin, end, bit, out, room))
        made: dict[Words, list[Edge]] = {}
        for shard, index, action, _ in rows:
            state = self._state(shard, index)
            after = instance.fire(instance.actions[action], instance.schema.unpack(state))
            made.setdefault(state, []).append((action, instance.schema.pack(after)))
        return made

    def _sources(self, depth: int, targets: Sequence[Words]) -> dict[Words, list[Edge]]:
        call = self._kernel.function("list_sources", 8)
        packed = numbers(word for state in targets for word in state)
        size = 1 << (2 * len(targets)).bit_length()
        slots = numbers([0] * size)
        self._kernel.function("fill_slots", 4)(address(packed), len(targets), address(slots), size - 1)
        rows = self._rows(
            depth,
            lambda context, begin, end, out, room: call(
                context, begin, end, address(packed), address(slots), size - 1, out, room
            ),
        )
        made: dict[Words, list[Edge]] = {}
        for shard, index, action, target in rows:
            made.setdefault(self._state(shard, index), []).append((action, targets[target]))
        return made

    def _rows(
        self, depth: int, call: Callable[[int, int, int, int, int], int]
    ) -> list[tuple[Shard, int, int, int]]:
        """What a native loop lists of all shards' states of a level, counted from 1."""
        import numpy as np

        found = []
        for shard, (begin, end) in zip(self._search.shards, self._search.levels[depth - 1], strict=True):
            room = _ROOM
            while True:
                out = numbers([0] * (3 * room))
                count = call(address(shard.context), begin, end, address(out), room)
                if self._steps + count > MAX_STEPS:
                    raise TooMany(
                        f"the shortest runs have more than {MAX_STEPS:,} steps together, too many to compare; "
                        "leave --easiest out, or choose smaller constants"
                    )
                if count <= room:
                    break
                room = count
            self._steps += count
            table = np.ctypeslib.as_array(out)[: 3 * count].reshape(-1, 3).tolist()
            found += [(shard, a, b, c) for a, b, c in table]
        return found

    def _state(self, shard: Shard, index: int) -> Words:
        begin = index * self._words
        return tuple(shard.states[begin : begin + self._words])


@dataclass(frozen=True, order=True)
class _Way:
    """How a state was reached at the least effort, of the ways that involve the same brokers and end with the same actor."""

    switches: int
    faults: int
    actions: tuple[int, ...]


def _choose(
    question: Question, graph: _Graph, found: Violation, effort: Callable[[ActionInstance], Effort]
) -> tuple[Run, Cost, int]:
    """The easiest run, its cost, and how many runs there are to choose from."""
    instance = question.instance
    efforts = [effort(step) for step in instance.actions]
    first = [state for state in graph.levels[0] if state in instance.initial]
    ways: dict[tuple[Words, int, str], _Way] = {(state, 0, ""): _Way(0, 0, ()) for state in first}
    counts = dict.fromkeys(first, 1)
    for level in graph.levels:
        further: dict[tuple[Words, int, str], _Way] = {}
        more: dict[Words, int] = {}
        for state, edges in level.items():
            for _, target in edges:
                more[target] = more.get(target, 0) + counts.get(state, 0)
        for (state, brokers, actor), told in ways.items():
            for action, target in level[state]:
                step = efforts[action]
                key = (target, brokers | step.brokers, step.actor)
                switches = told.switches + (actor not in ("", step.actor))
                way = _Way(switches, told.faults + step.is_fault, (*told.actions, action))
                if key not in further or way < further[key]:
                    further[key] = way
        if not further:
            break
        ways, counts = further, more
    (_, brokers, _), best = min(ways.items(), key=lambda item: (item[0][1].bit_count(), item[1]))
    states = [found.run.states[0]]
    for number in best.actions:
        taken = instance.actions[number]
        states.append(instance.schema.pack(instance.fire(taken, instance.schema.unpack(states[-1]))))
    run = Run(tuple(states), tuple(instance.actions[number] for number in best.actions))
    return run, Cost(brokers.bit_count(), best.switches, best.faults), sum(counts.values())
