"""Of all shortest runs to a violation, the one that is easiest to explain.

All shortest runs as a graph, found backwards over the stored levels, and the choice among them, which is exact: fewest
brokers involved, then fewest changes of who acts, then fewest faults, then the least sequence of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ExitCode
from acked.base.frozen import frozen
from acked.checker.diagnosis.rows import ListRows, rows_of_level
from acked.checker.loops import backward
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions
from acked.checker.native.machine import processor
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Violation, Words
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import address, numbers
from acked.invariants.property import Kind
from acked.model.language.tracings import ActionInstance

MAX_STEPS = 400_000
"""Steps of all shortest runs together; above, choosing among them is refused."""


class TooMany(AckedError):
    """There are more shortest runs than can be compared."""

    exit_code = ExitCode.TOO_LARGE


@frozen
class Effort:
    """What it takes to explain a step: the brokers it involves, as bits; who acts; and whether it is a fault."""

    brokers: int
    actor: str
    is_fault: bool


@frozen
class Cost:
    """What it takes to explain a run, in the order in which it counts."""

    brokers: int
    switches: int
    faults: int


@frozen
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


@frozen
class _Graph:
    """All shortest runs: by level, from the first, what leads from each state to the next level."""

    levels: tuple[dict[Words, list[Edge]], ...]


class _Backwards:
    """Looks backwards over the levels that a search has kept."""

    def __init__(self, search: LocalSearch) -> None:
        self._search = search
        code = compile_functions(backward.FUNCTIONS, {"W": search.question.instance.schema.words})
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
        return sorted(state for state, _, _ in rows)

    def _bad_steps(self, depth: int, bit: int) -> dict[Words, list[Edge]]:
        call, instance = self._kernel.function("list_bad_steps", 6), self._search.question.instance
        rows = self._rows(depth, lambda context, begin, end, out, room: call(context, begin, end, bit, out, room))
        made: dict[Words, list[Edge]] = {}
        for state, action, _ in rows:
            after = Run((state,), ()).then(instance, instance.actions[action])
            made.setdefault(state, []).append((action, after.states[-1]))
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
        for state, action, target in rows:
            made.setdefault(state, []).append((action, targets[target]))
        return made

    def _rows(self, depth: int, list_rows: ListRows) -> list[tuple[Words, int, int]]:
        def check(count: int) -> None:
            if self._steps + count > MAX_STEPS:
                raise TooMany(
                    f"the shortest runs have more than {MAX_STEPS:,} steps together, too many to compare; "
                    "leave --easiest out, or choose smaller constants"
                )

        rows = rows_of_level(self._search, depth, list_rows, check)
        self._steps += len(rows)
        return rows


@frozen(order=True)
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
    run = Run(found.run.states[:1], ()).then(instance, *(instance.actions[number] for number in best.actions))
    return run, Cost(brokers.bit_count(), best.switches, best.faults), sum(counts.values())
