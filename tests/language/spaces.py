"""Breadth-first search over twins in plain Python, as slow and as obvious as can be.

Nothing in this file imports a protocol, a type or an engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from tests.language.plain import State, Trap, Type, blank, copied, decoded, note, outside, renamed


@dataclass(frozen=True)
class Act:
    """An action: its name, its parameters with their values, and what it does, which tells whether it was enabled."""

    name: str
    parameters: dict[str, Sequence[Any]]
    run: Callable[..., bool]


@dataclass(frozen=True)
class Twin:
    """A drawn protocol in plain Python."""

    fields: dict[str, Type]
    initial: Callable[[State], None]
    actions: Sequence[Act]
    predicates: dict[str, Callable[[State], bool]]

    @property
    def kind(self) -> Type:
        """The type of a state."""
        return ("struct", self.fields)


def key_of(state: Any) -> str:
    """A decoded state as text."""
    return json.dumps(state, sort_keys=True)


@dataclass
class Space:
    """The reachable states of a twin: by level, and every firing (source, label, action, target) that leaves one."""

    twin: Twin
    levels: list[list[str]] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)
    steps: list[list[tuple[str, str, str, str]]] = field(default_factory=list)
    overflows: list[set[tuple[str, str]]] = field(default_factory=list)
    """Of every level: (label, field) of the firings that leave a field's range."""
    is_complete: bool = False

    def first(self, is_sought: Callable[[State], bool]) -> int | None:
        """How many states the shortest run to such a state has."""
        for number, level in enumerate(self.levels):
            if any(is_sought(self.states[key]) for key in level):
                return number + 1
        return None

    def orbits(self, sort: str, size: int) -> list[int]:
        """By level, how many states there are that do not differ in names only from one before."""
        seen: set[str] = set()
        counts = []
        for level in self.levels:
            before = len(seen)
            for key in level:
                state, kind = self.states[key], self.twin.kind
                seen.add(min(key_of(renamed(state, kind, to, sort)) for to in permutations(range(size))))
            counts.append(len(seen) - before)
        return counts


def label(name: str, arguments: dict[str, Any]) -> str:
    """An action with its arguments, as answers call it."""
    return f"{name}({', '.join(f'{k}={v}' for k, v in arguments.items())})"


def shown(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as answers show them."""
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in arguments.items()}


def bindings(parameters: dict[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of values for parameters."""
    if not parameters:
        yield {}
        return
    (name, values), *rest = parameters.items()
    for value in values:
        for others in bindings(dict(rest)):
            yield {name: value, **others}


def explore(twin: Twin, most: int) -> Space:
    """Breadth-first search; a level that makes more than `most` states is not kept, nor any after it."""
    for act in twin.actions:
        if not all(act.parameters.values()):
            note(Trap.EMPTY_PARAMETER)
    first = blank(twin.kind)
    twin.initial(first)
    space, whole = Space(twin), {}
    decoded_first = decoded(first, twin.kind)
    frontier = {key_of(decoded_first): first}
    while frontier:
        if len(space.states) + len(frontier) > most:
            return space
        space.levels.append(list(frontier))
        whole.update(frontier)
        space.states.update({key: decoded(state, twin.kind) for key, state in frontier.items()})
        steps, overflows, found = [], set(), {}
        for source, state in frontier.items():
            for act, arguments, after in _firings(twin, state):
                text = label(act.name, shown(arguments))
                if wrong := list(outside(after, twin.kind)):
                    overflows |= {(text, name) for name in wrong}
                    continue
                target = key_of(decoded(after, twin.kind))
                steps.append((source, text, act.name, target))
                if target not in whole and target not in found:
                    found[target] = after
        space.steps.append(steps)
        space.overflows.append(overflows)
        frontier = found
    space.is_complete = True
    return space


def _firings(twin: Twin, state: State) -> Iterator[tuple[Act, dict[str, Any], State]]:
    for act in twin.actions:
        for arguments in bindings(act.parameters):
            after = copied(state)
            if act.run(after, **arguments):
                yield act, arguments, after
