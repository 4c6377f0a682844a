"""The loop of the enumerations in plain Python: level by level, with nothing of ours in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

Steps = Callable[[Hashable], Iterable[tuple[Hashable, Iterable[str]]]]
"""The steps from a state: where each leads, and the promises that it breaks."""


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
