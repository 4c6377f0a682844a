"""What a trace looks at: the constants, what is computed of them, and the leaves that an action's function asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar, cast

from acked.base.frozen import frozen
from acked.model.formulas.errors import attempt
from acked.model.formulas.expr import Expr
from acked.model.language.domain import Constants
from acked.model.language.storage.layout import Leaf, Schema


class Ground(Protocol):
    """What an action is traced on."""

    @property
    def schema(self) -> Schema:
        """The layout."""

    @property
    def constants(self) -> Constants:
        """The constants by name."""

    def codes(self) -> list[Expr]:
        """The code of every leaf before a step, for a store to change."""


_Make = Callable[[Constants], int]


class _Constants(Mapping[str, int]):
    """Constants that note which of them were asked for, and what was computed of them: it may be the same of others.

    A name that is missing is a mistake, and ends the trace.
    """

    def __init__(self, constants: Constants, asked: dict[str, int], made: dict[_Make, int]) -> None:
        self._constants = constants
        self._asked, self._made = asked, made

    def computed(self, make: _Make) -> int:
        """See `Computed`."""
        if make not in self._made:
            self._made[make] = make(self._constants)
        return self._made[make]

    def __getitem__(self, name: str) -> int:
        value = self._asked[name] = self._constants[name]
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._constants

    def __iter__(self) -> Iterator[str]:
        self._asked.update(self._constants)
        return iter(self._constants)

    def __len__(self) -> int:
        return len(self._constants)


_Item = TypeVar("_Item")


class Noted(dict[int, _Item]):
    """Leaves or their codes by the numbers of the leaves, that note which of them were looked at: those that it has."""

    def __init__(self, whole: Sequence[_Item], seen: set[int]) -> None:
        self._whole, self._seen = whole, seen

    def __missing__(self, number: int) -> _Item:
        item = self[number] = self._whole[number]
        self._seen.add(number)
        return item

    def __len__(self) -> int:
        return len(self._whole)

    def __iter__(self) -> Iterator[_Item]:  # type: ignore[override]
        return (self[number] for number in range(len(self)))

    def copy(self) -> list[_Item]:  # type: ignore[override]
        """All of them, for the one who has the trace made: that he looks is no part of it."""
        made = [*self._whole]
        for number, item in self.items():
            made[number] = item
        return made


class _Schema(Schema):
    """What a trace may ask of a layout, and nothing else of it: how leaves are packed is the same question of all of them."""

    def __init__(self, whole: Schema, leaves: Noted[Leaf], constants: _Constants) -> None:
        self.leaves, self.constants = leaves, constants  # type: ignore[assignment]
        # By paths, which all who share have in common.
        self.by_path, self.counts, self.logs, self.messages = whole.by_path, whole.counts, whole.logs, whole.messages


class Watched:
    """The ground of one trace, which notes what is asked of it: constants, and numbers of leaves."""

    def __init__(self, ground: Ground) -> None:
        self.asked: dict[str, int] = {}
        self.made: dict[_Make, int] = {}
        self.seen: set[int] = set()
        leaves, self._codes = Noted(ground.schema.leaves, self.seen), Noted(ground.codes(), self.seen)
        constants = _Constants(ground.constants, self.asked, self.made)
        self.constants: Constants = constants
        self.schema: Schema = _Schema(ground.schema, leaves, constants)

    def codes(self) -> list[Expr]:
        """The code of every leaf before the step; to be taken once."""
        return cast("list[Expr]", self._codes)


@frozen
class Seen:
    """What a trace looked at: constants with their values, what they make, and leaves with what they hold."""

    asked: tuple[tuple[str, int], ...]
    made: tuple[tuple[_Make, int], ...]
    leaves: tuple[tuple[int, int], ...]

    @classmethod
    def by(cls, watched: Watched, kinds: Sequence[int]) -> Seen:
        leaves = tuple((leaf, kinds[leaf]) for leaf in watched.seen)
        return cls(tuple(watched.asked.items()), tuple(watched.made.items()), leaves)

    def is_of(self, constants: Constants, kinds: Sequence[int]) -> bool:
        if any(constants[name] != value for name, value in self.asked):
            return False
        if any(kinds[leaf] != kind for leaf, kind in self.leaves):
            return False
        # What refuses these constants, or cannot be computed of them, is told by the trace, where it is asked for at all.
        with suppress(Exception), attempt():
            return all(make(constants) == value for make, value in self.made)
        return False
