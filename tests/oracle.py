"""The judge of every search: breadth-first search in plain Python, as slow and as obvious as can be.

What lives here: `explore`, which computes whole levels by the plain evaluator and only then derives from them, declaratively,
what an engine must answer; and `assert_same_answer`, the comparison. It shares no code with the engines
beyond the expressions and `acked.model.formulas.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason
from acked.invariants.property import Kind
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

Words = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """A firing: packed source, number of the action instance, packed target."""

    source: Words
    action: int
    target: Words


@dataclass(frozen=True)
class Trace:
    """A violated property with its canonical run: packed states and the labels of the steps between them."""

    property: str
    states: tuple[Words, ...]
    actions: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What every engine must say."""

    stopped: StopReason
    level_sizes: tuple[int, ...]
    generated_states: int
    actions: dict[str, tuple[int, int]]
    violations: tuple[Trace, ...]


def plain_steps(instance: Instance) -> Iterator[tuple[tuple[int, ...], ActionInstance, tuple[int, ...]]]:
    """The codes before and after every step between reachable states, those first that leave what was reached first."""
    reached = list(dict.fromkeys(tuple(instance.schema.unpack(words)) for words in instance.initial))
    known = {*reached}
    for codes in reached:  # Which grows.
        for step in instance.enabled_actions(codes):
            after = tuple(instance.fire(step, codes))
            if after not in known:
                known.add(after)
                reached.append(after)
            yield codes, step, after


def plain_states(instance: Instance) -> set[tuple[int, ...]]:
    """The codes of every reachable state, one firing after the other."""
    first = {tuple(instance.schema.unpack(words)) for words in instance.initial}
    return first.union(after for _, _, after in plain_steps(instance))


class TooLarge(Exception):
    """More states than a test wants to wait for; the levels before are `depth` many."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


class Space:
    """All levels of a question's reachable states, with every firing and every violation."""

    def __init__(self, question: Question, max_states: int = 1 << 30, max_depth: int | None = None) -> None:
        self.question = question
        self.instance = question.instance
        self.levels: list[list[Words]] = []
        self.steps: list[list[Step]] = []  # steps[d] leave the states of levels[d]
        self.level_of: dict[Words, int] = {}
        self.is_complete = False
        self._codes: dict[Words, list[int]] = {}  # Of every state in a level.
        self._first_violations: dict[int, tuple[int, list[Words | Step]] | None] = {}
        self._guards = Evaluator([item.guard for item in self.instance.actions])
        self._updates = [Evaluator([code for _, code in item.updates]) for item in self.instance.actions]
        frontier = sorted(set(self.instance.initial))
        while frontier and (max_depth is None or len(self.levels) < max_depth):
            depth = len(self.levels)
            self.levels.append(frontier)
            self.level_of.update(dict.fromkeys(frontier, depth))
            if len(self.level_of) > max_states:
                raise TooLarge(depth)
            self.steps.append([step for state in frontier for step in self._fire_all(state)])
            frontier = sorted({step.target for step in self.steps[depth]} - self.level_of.keys())
        self.is_complete = not frontier

    def _fire_all(self, state: Words) -> list[Step]:
        schema = self.instance.schema
        codes = self._codes[state] = schema.unpack(state)
        fired = []
        for number, is_enabled in enumerate(self._guards(codes)):
            if not is_enabled:
                continue
            after = list(codes)
            for (leaf, _), value in zip(self.instance.actions[number].updates, self._updates[number](codes), strict=True):
                assert 0 <= value < schema.leaves[leaf].cardinality, "random protocols stay in their domains"
                after[leaf] = value
            fired.append(Step(state, number, schema.pack(after)))
        return fired

    def first_violation(self, position: int) -> tuple[int, list[Words | Step]] | None:
        """(trace length, everything that violates the property in a trace of that length), of the shortest."""
        if position not in self._first_violations:
            self._first_violations[position] = self._find_first_violation(position)
        return self._first_violations[position]

    def _find_first_violation(self, position: int) -> tuple[int, list[Words | Step]] | None:
        item = self.question.properties[position]
        if item.kind is Kind.STEP:
            holds = [Evaluator([self.question.holds_in_step(position, step)]) for step in self.instance.actions]
            for depth, steps in enumerate(self.steps):
                bad: list[Words | Step] = [
                    step for step in steps if not holds[step.action](self._codes[step.source])[0]
                ]
                if bad:
                    return depth + 2, bad
            return None
        if item.kind is Kind.DEADLOCK:
            for depth, states in enumerate(self.levels):
                moving = {step.source for step in self.steps[depth]}
                if stuck := [state for state in states if state not in moving]:
                    return depth + 1, list(stuck)
            return None
        predicate = Evaluator([self.instance.state_predicate(item.name, item.predicate)])
        for depth, states in enumerate(self.levels):
            if failing := [state for state in states if not predicate(self._codes[state])[0]]:
                return depth + 1, list(failing)
        return None

    def trace(self, position: int, culprits: list[Words | Step]) -> Trace:
        """The canonical run to the least of the culprits."""
        edges = [item for item in culprits if isinstance(item, Step)]
        if edges:
            last = min(edges, key=lambda step: (step.source, step.action, step.target))
            states, actions = [last.target, last.source], [last.action]
        else:
            states, actions = [min(item for item in culprits if not isinstance(item, Step))], []
        for depth in range(self.level_of[states[-1]] - 1, -1, -1):
            sources = [(step.source, step.action) for step in self.steps[depth] if step.target == states[-1]]
            source, action = min(sources)
            states.append(source)
            actions.append(action)
        labels = [self.instance.actions[action].label for action in reversed(actions)]
        return Trace(self.question.properties[position].name, tuple(reversed(states)), tuple(labels))

    def counts(self, depth: int, fired_depth: int) -> tuple[tuple[int, ...], int, dict[str, tuple[int, int]]]:
        """Sizes of levels 1..depth; generated states and (enabled, new) by action, of levels 1..fired_depth."""
        enabled = dict.fromkeys((item.name for item in self.instance.action_rules), 0)
        new = dict(enabled)
        for level, steps in enumerate(self.steps[:fired_depth]):
            for step in steps:
                name = self.instance.actions[step.action].action.name
                enabled[name] += 1
                target = self.level_of.get(step.target)
                new[name] += target is None or target > level
        sizes = tuple(map(len, self.levels[:depth]))
        return sizes, sizes[0] + sum(enabled.values()), {name: (enabled[name], new[name]) for name in enabled}


def explore(space: Space, policy: StopPolicy) -> Answer:
    """The answer that the levels of a space imply."""
    found = [
        (hit[0], position, hit[1])
        for position in range(len(space.question.properties))
        if (hit := space.first_violation(position)) is not None
    ]
    found.sort(key=lambda item: item[:2])
    if found and policy is StopPolicy.FIRST_VIOLATION:
        length, position, culprits = found[0]
        # A step property fails on an edge: the level that the edge leaves is the last complete one.
        depth = length - 1 if isinstance(culprits[0], Step) else length
        sizes, generated, actions = space.counts(depth, depth - 1)
        return Answer(StopReason.VIOLATION, sizes, generated, actions, (space.trace(position, culprits),))
    traces = tuple(space.trace(position, culprits) for _, position, culprits in found)
    if policy is StopPolicy.UNTIL_DECIDED and 0 < len(found) == len(space.question.properties):
        depth = max(length - isinstance(culprits[0], Step) for length, _, culprits in found)
        return Answer(StopReason.VIOLATION, *space.counts(depth, depth - 1), traces)
    depth = len(space.levels)
    sizes, generated, actions = space.counts(depth, depth if space.is_complete else depth - 1)
    stopped = StopReason.COMPLETE if space.is_complete else StopReason.MAX_DEPTH
    return Answer(stopped, sizes, generated, actions, traces)


def assert_same_answer(result: Result, expected: Answer) -> None:
    """Everything that an engine reports, compared."""
    assert result.stopped is expected.stopped
    assert result.level_sizes == expected.level_sizes
    assert result.depth == len(expected.level_sizes)
    assert result.distinct_states == sum(expected.level_sizes)
    assert result.generated_states == expected.generated_states
    assert {name: (count.enabled, count.new) for name, count in result.actions.items()} == expected.actions
    told = [
        Trace(item.property.name, item.run.states, tuple(step.label for step in item.run.actions))
        for item in result.violations
    ]
    assert told == list(expected.violations)
