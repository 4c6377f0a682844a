"""The loops of the enumerations in plain Python, level by level, and copies of their worlds, with nothing of ours in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import NoneType
from typing import Any, TypeVar

State = TypeVar("State", bound=Hashable)
Steps = Callable[[Hashable], Iterable[tuple[Hashable, Iterable[str]]]]
"""The steps from a state: where each leads, and the promises that it breaks."""


def copied(world: Any) -> Any:
    """A world of dictionaries, lists and objects, and of values that nobody changes; `deepcopy` takes ten times as long."""
    kind = type(world)
    if kind in (int, NoneType, frozenset, bool, tuple, str):
        return world
    if kind is list:
        return [copied(value) for value in world]
    if kind is dict:
        return {name: copied(value) for name, value in world.items()}
    made = object.__new__(kind)
    vars(made).update(copied(vars(world)))
    return made


def breadth_first(start: Hashable, steps: Steps) -> tuple[int, dict[str, int]]:
    """How many states there are, and by promise that breaks after how many steps it does so first."""
    seen, level, depth = {start}, [start], 0
    first_broken: dict[str, int] = {}
    while level:
        depth += 1
        found = []
        for value in level:
            for after, names in steps(value):
                for name in names:
                    first_broken.setdefault(name, depth)
                if after not in seen:
                    seen.add(after)
                    found.append(after)
        level = found
    return len(seen), first_broken


def by_levels(
    start: State,
    steps: Callable[[State], Iterable[State]],
    promises: Mapping[str, Callable[[State], bool]],
    of_steps: Mapping[str, Callable[[State, State], bool]] | None = None,
) -> tuple[list[int], dict[str, int]]:
    """How many states are new at each level, and for each promise that breaks the first level at which it does.

    A promise `of_steps` breaks at the level that the step leads to.
    """
    level = {start}
    seen = set(level)
    counts: list[int] = []
    broken: dict[str, int] = {}
    while level:
        counts.append(len(level))
        for name, holds in promises.items():
            if name not in broken and not all(map(holds, level)):
                broken[name] = len(counts)
        found = set()
        for state in level:
            for after in steps(state):
                found.add(after)
                for name, keeps in (of_steps or {}).items():
                    if name not in broken and not keeps(state, after):
                        broken[name] = len(counts) + 1
        level = found - seen
        seen |= level
    return counts, broken
