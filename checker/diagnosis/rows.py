"""What native loops that look backwards (`loops/backward.py`) list of the states of one level of a search."""

from __future__ import annotations

from collections.abc import Callable

from acked.checker.question.result import Words
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import address, numbers

ListRows = Callable[[int, int, int, int, int], int]
"""Lists rows of states `begin` to `end`, and says how many there are: (context, begin, end, where, room)."""

_ROOM = 1 << 12


def rows_of_level(
    search: LocalSearch, depth: int, list_rows: ListRows, check: Callable[[int], None] = lambda count: None
) -> list[tuple[Words, int, int]]:
    """The rows of a level, counted from 1, of a search that keeps its states: the state of each, and its two other numbers.

    `check` is told how many there are, before there is memory for them.
    """
    words = search.question.instance.schema.words
    found: list[tuple[Words, int, int]] = []
    for shard, (begin, end) in zip(search.shards, search.levels[depth - 1], strict=True):
        count, room = _ROOM, 0
        while count > room:
            room = count
            out = numbers([0] * (3 * room))
            count = list_rows(address(shard.context), begin, end, address(out), room)
            check(len(found) + count)
        listed = out[: 3 * count]
        for index, second, third in zip(listed[::3], listed[1::3], listed[2::3], strict=True):
            found.append((tuple(shard.states[index * words : (index + 1) * words]), second, third))
    return found
