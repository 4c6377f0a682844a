"""Random protocols with more than 262,144 reachable states, where the search gives up its states, and their plain search.

A protocol is drawn from a seed: some numbers, each with a range, actions that change them modulo their ranges under guards,
and further fields that follow from the numbers and make a state up to six words wide. Beside it stands a breadth-first search
over arrays of numpy that shares nothing with acked: a state is one index, visited states are an array of flags.
"""

from __future__ import annotations

import inspect
import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from acked.checker.question.question import Question
from acked.invariants.property import Kind, Property
from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.state import Between, Struct, field
from acked.model.language.values import Int

FEWEST, MOST = (1 << 18) + 1, 1_200_000
"""How many states a protocol may have."""

MOST_LEVELS = 300
"""How deep it may be: a level over Spark takes tens of milliseconds, and each step of a trace is a job of its own."""

Numbers = npt.NDArray[np.int64]
_LIMIT = 1 << 61


class Wide(Int, lo=-_LIMIT, hi=_LIMIT):
    """What numbers are while they are computed."""


@dataclass(frozen=True)
class Guard:
    """`left` times a factor plus an offset, compared with another number of the state."""

    left: int
    right: int
    factor: int
    offset: int
    is_below: bool

    def holds(self, values: Any) -> Any:
        """For arrays as for values of the language."""
        mine, other = values[self.left] * self.factor + self.offset, values[self.right]
        return mine <= other if self.is_below else mine > other


@dataclass(frozen=True)
class Update:
    """A number becomes a linear combination of two, modulo its range."""

    target: int
    other: int
    factor: int
    weight: int
    offset: int

    def value(self, values: Any, ranges: tuple[int, ...]) -> Any:
        """For arrays as for values of the language."""
        changed = values[self.target] * self.factor + values[self.other] * self.weight + self.offset
        return changed % ranges[self.target]


@dataclass(frozen=True)
class Pad:
    """A field that follows from the numbers, so many bits wide."""

    bits: int
    factors: tuple[int, ...]

    def value(self, values: Any) -> Any:
        """For arrays as for values of the language."""
        total = values[0] * self.factors[0]
        for value, factor in zip(values[1:], self.factors[1:], strict=True):
            total = total + value * factor
        return total % (1 << self.bits)


@dataclass(frozen=True)
class Plain:
    """What the plain search found: sizes of levels, how often actions were enabled, and levels of forbidden states."""

    level_sizes: tuple[int, ...]
    enabled: tuple[int, ...]
    violated: dict[str, int]

    @property
    def states(self) -> int:
        """How many states are reachable."""
        return sum(self.level_sizes)


@dataclass(frozen=True)
class Large:
    """A protocol as data; `forbidden` are numbers that no state should have, a property each."""

    seed: int
    ranges: tuple[int, ...]
    pads: tuple[Pad, ...]
    actions: tuple[tuple[tuple[Guard, ...], tuple[Update, ...]], ...]
    forbidden: tuple[tuple[int, ...], ...]

    # -- in numpy -----------------------------------------------------------------------------------------------------

    def _decoded(self, states: Numbers) -> list[Numbers]:
        values = []
        for size in self.ranges:
            values.append(states % size)
            states = states // size
        return values

    def _encoded(self, values: list[Numbers]) -> Numbers:
        states = np.zeros_like(values[0])
        for value, size in zip(reversed(values), reversed(self.ranges), strict=True):
            states = states * size + value
        return states

    @cached_property
    def plain(self) -> Plain | None:
        """The plain search; None if there are fewer or more states than wanted, or more levels."""
        seen = np.zeros(int(np.prod(self.ranges)), dtype=bool)
        level, sizes, enabled = np.zeros(1, dtype=np.int64), [], [0] * len(self.actions)
        forbidden = [int(self._encoded([np.array([number]) for number in item])[0]) for item in self.forbidden]
        wanted = {f"Never{at}": state for at, state in enumerate(forbidden)}
        violated: dict[str, int] = {}
        seen[0], total = True, 0
        while level.size:
            sizes.append(level.size)
            violated |= {name: len(sizes) for name, state in wanted.items() if name not in violated and state in level}
            total += level.size
            if total > MOST or len(sizes) > MOST_LEVELS:
                return None
            values, found = self._decoded(level), []
            for at, (guards, updates) in enumerate(self.actions):
                holds = np.ones(level.size, dtype=bool)
                for guard in guards:
                    holds &= guard.holds(values)
                enabled[at] += int(holds.sum())
                old = [value[holds] for value in values]
                new = list(old)
                for update in updates:
                    new[update.target] = update.value(old, self.ranges)
                found.append(self._encoded(new))
            level = np.unique(np.concatenate(found))
            level = level[~seen[level]]
            seen[level] = True
        return Plain(tuple(sizes), tuple(enabled), violated) if total >= FEWEST else None

    # -- in the language ----------------------------------------------------------------------------------------------

    @cached_property
    def question(self) -> Question:
        """The protocol in the language of acked, with each forbidden state as a property."""
        fields = {f"n{at}": field(Between(Wide, 0, size - 1)) for at, size in enumerate(self.ranges)}
        fields |= {f"p{at}": field(Between(Wide, 0, (1 << pad.bits) - 1)) for at, pad in enumerate(self.pads)}
        names = list(fields)
        random.Random(self.seed).shuffle(names)  # where a field lies in the words
        state = type("State", (Struct,), {name: fields[name] for name in names})
        protocol = Protocol("large", state, title="large", source="test", constants=(), initial=lambda s: None)
        for at, (guards, updates) in enumerate(self.actions):

            def act(s: Any, guards: tuple[Guard, ...] = guards, updates: tuple[Update, ...] = updates) -> None:
                values = [_wide(getattr(s, f"n{at}")) for at in range(len(self.ranges))]
                for number, guard in enumerate(guards):
                    require(f"guard {number}", guard.holds(values))
                new = list(values)
                for update in updates:
                    new[update.target] = update.value(values, self.ranges)
                for at, value in enumerate(new):
                    setattr(s, f"n{at}", value)
                for at, pad in enumerate(self.pads):
                    setattr(s, f"p{at}", pad.value(new))

            act.__name__ = f"act_{at}"
            act.__signature__ = inspect.signature(_of_a_state)  # type: ignore[attr-defined]
            protocol.action()(act)
        return Question(protocol.instantiate({}), tuple(self._property(at) for at in range(len(self.forbidden))))

    def _property(self, at: int) -> Property:
        def holds(s: Any) -> Any:
            equal = [getattr(s, f"n{place}") == value for place, value in enumerate(self.forbidden[at])]
            found = equal[0]
            for item in equal[1:]:
                found = found & item
            return ~found

        return Property(f"Never{at}", Kind.STATE, holds, "", "", "")


def _of_a_state(s: Any) -> None:
    """A signature."""


def _wide(value: Int) -> Wide:
    return Wide(value.expr)


def drawn(seed: int) -> Large:
    """The first protocol of the right size that a seed leads to."""
    chance = random.Random(seed)
    while True:
        found = _drawn(chance, seed)
        if found is not None and found.plain is not None:
            return found


def _drawn(chance: random.Random, seed: int) -> Large | None:
    if chance.random() < 0.25:  # few and deep: levels by the hundred
        ranges = [chance.randint(300, 1200), chance.randint(300, 1200)]
    else:
        ranges = [chance.randint(3, 64) for _ in range(chance.randint(3, 5))]
    size = 1
    for item in ranges:
        size *= item
    if not FEWEST <= size <= 1 << 23:
        return None
    some = range(len(ranges))
    actions = []
    for _ in range(chance.randint(2, 6)):
        guards = tuple(_guard(chance, some) for _ in range(chance.choice((0, 0, 1, 1, 2))))
        targets = chance.sample(some, chance.choice((1, 1, 1, 2)))
        actions.append((guards, tuple(_update(chance, some, at) for at in targets)))
    pads, left = [], chance.choice((0, 0, 8, 33, 47, 64, 66, 110, 128, 200, 300))
    while left > 0:
        bits = min(left, chance.choice((1, 7, 13, 31, 32, 40)))
        left -= bits
        pads.append(Pad(bits, tuple(chance.randrange(1, 1 << 20) for _ in ranges)))
    forbidden = tuple(tuple(chance.randrange(size) for size in ranges) for _ in range(chance.choice((0, 1, 2))))
    return Large(seed, tuple(ranges), tuple(pads), tuple(actions), forbidden)


def _guard(chance: random.Random, some: range) -> Guard:
    left, right = chance.choice(some), chance.choice(some)
    return Guard(left, right, chance.randint(1, 3), chance.randint(-9, 3), chance.random() < 0.6)


def _update(chance: random.Random, some: range, target: int) -> Update:
    other, weight = chance.choice(some), chance.choice((0, 0, 0, 1, 2))
    return Update(target, other, 1, weight, chance.choice((1, 1, 2, 3, 5)))
