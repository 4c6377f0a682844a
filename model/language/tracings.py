"""What instances of one protocol have in common: a pool, and the actions that come out the same when they are traced.

An audit asks about a protocol under constants that differ in one or two, and most of its actions are the same there. What
tracing an action yields depends on its function, on the codes of its parameters, on the constants that were asked for, and on
the leaves that were looked at: on what each holds, and where they stand. All of these are noted (`Watched`) while an action
is traced, so that an instance which has the same of each takes what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Protocol, SupportsIndex, TypeVar, overload

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Pool
from acked.model.formulas.watched import CHANGED
from acked.model.language.domain import Constants, Path
from acked.model.language.semantics import Guard
from acked.model.language.storage.layout import Leaf, Schema

MAX_NODES = 500_000
"""A pool with more nodes (some 150 MB) is not added to: the next instance begins a new one."""


@dataclass(frozen=True)
class Effect:
    """What an action does with its parameters bound, see `ActionInstance`."""

    guards: tuple[Guard, ...]
    guard: Expr
    updates: tuple[tuple[int, Expr], ...]
    overflows: tuple[tuple[int, Expr], ...]


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


class Traced(Protocol):
    """A binding of an action, as `ActionInstance` has it."""

    @property
    def label(self) -> str:
        """The action and its arguments."""

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The clauses."""

    @property
    def updates(self) -> tuple[tuple[int, Expr], ...]:
        """The leaves that change, and their new codes."""


def refuse_other(first: Sequence[Traced], again: Sequence[Traced], leaves: Sequence[Leaf]) -> None:
    """`ModelError` unless an action's bindings are the same as when they were traced first; both of one pool."""
    known = {step.label: step for step in first}
    for step in again:
        before = known.pop(step.label, None)
        if before is not None:
            _refuse_other_clauses(before, step)
            _refuse_other_updates(before, step, leaves)
        elif step.guards:
            _refuse(f"clause {step.guards[0].label!r}", step.guards[0])
        else:
            _refuse("whether it is ever enabled", None)
    if known:
        _refuse("whether it is ever enabled", None)


def _refuse_other_clauses(before: Traced, step: Traced) -> None:
    for one, other in zip_longest(before.guards, step.guards):
        if one is None or other is None or one.label != other.label or one.condition is not other.condition:
            guard = other or one
            assert guard is not None
            _refuse(f"clause {guard.label!r}", guard)


def _refuse_other_updates(before: Traced, step: Traced, leaves: Sequence[Leaf]) -> None:
    one, other = dict(before.updates), dict(step.updates)
    for leaf in sorted({*one, *other}):
        if one.get(leaf) is not other.get(leaf):
            _refuse(f"what it assigns to {leaves[leaf].name}", None)


def _refuse(what: str, guard: Guard | None) -> None:
    error = ModelError(f"{what} is not the same when the action is traced again; {CHANGED}")
    error.place = None if guard is None else (guard.file, guard.line)
    raise error


# -- what a trace looks at ----------------------------------------------------------------------------------------------


class _Constants(Mapping[str, int]):
    """Constants that note which of them were asked for; a name that is missing is a mistake, and ends the trace."""

    def __init__(self, constants: Constants, asked: dict[str, int]) -> None:
        self._constants = constants
        self._asked = asked

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


class _Noted(list[_Item]):
    """Leaves or their codes, that note which of them were looked at, by the numbers of the leaves."""

    seen: set[int]

    @overload
    def __getitem__(self, number: SupportsIndex) -> _Item: ...
    @overload
    def __getitem__(self, number: slice) -> list[_Item]: ...
    def __getitem__(self, number: Any) -> Any:
        self.seen.update(range(len(self)) if isinstance(number, slice) else (number,))
        return list.__getitem__(self, number)

    def __iter__(self) -> Iterator[_Item]:
        self.seen.update(range(len(self)))
        return list.__iter__(self)


class _Schema(Schema):
    """What a trace may ask of a layout, and nothing else of it: how leaves are packed is the same question of all of them."""

    def __init__(self, whole: Schema, leaves: _Noted[Leaf], constants: _Constants) -> None:
        self.leaves, self.constants = leaves, constants  # type: ignore[assignment]
        # By paths, which all who share have in common.
        self.by_path, self.counts, self.logs = whole.by_path, whole.counts, whole.logs


class Watched:
    """The ground of one trace, which notes what is asked of it: constants, and numbers of leaves."""

    def __init__(self, ground: Ground) -> None:
        self.asked: dict[str, int] = {}
        self.seen: set[int] = set()
        leaves, self._codes = _Noted(ground.schema.leaves), _Noted(ground.codes())
        leaves.seen = self._codes.seen = self.seen
        constants = _Constants(ground.constants, self.asked)
        self.constants: Constants = constants
        self.schema: Schema = _Schema(ground.schema, leaves, constants)

    def codes(self) -> list[Expr]:
        """The code of every leaf before the step; to be taken once."""
        return self._codes


# -- what is known --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    asked: tuple[tuple[str, int], ...]
    seen: tuple[tuple[int, int], ...]
    effect: Effect | None

    def is_of(self, constants: Constants, kinds: Sequence[int]) -> bool:
        return all(kinds[leaf] == kind for leaf, kind in self.seen) and all(
            constants[name] == value for name, value in self.asked
        )


@dataclass
class Common:
    """What instances of one protocol share whose leaves have the same paths."""

    pool: Pool = field(default_factory=Pool)
    _known: dict[tuple[object, tuple[int, ...]], list[_Known]] = field(default_factory=dict)
    _kinds: dict[object, int] = field(default_factory=dict)

    def kinds(self, schema: Schema) -> list[int]:
        """A number for every leaf, the same exactly where leaves hold the same values."""
        held = ((leaf.cardinality, leaf.domain, leaf.slot) for leaf in schema.leaves)
        return [self._kinds.setdefault(one, len(self._kinds)) for one in held]

    def effect(
        self,
        function: Callable[..., None],
        codes: Sequence[int],
        ground: Ground,
        kinds: Sequence[int],
        trace: Callable[[Ground], Effect | None],
    ) -> Effect | None:
        """What is known of an action with these codes of its parameters, or is found by tracing it."""
        known = self._known.setdefault((function, tuple(codes)), [])
        for one in known:
            if one.is_of(ground.constants, kinds):
                return one.effect
        watched = Watched(ground)
        effect = trace(watched)
        seen = tuple((leaf, kinds[leaf]) for leaf in watched.seen)
        known.append(_Known(tuple(watched.asked.items()), seen, effect))
        return effect


class Tracings:
    """What is shared by all instances that it is given to, of whatever protocol; for one thread."""

    def __init__(self) -> None:
        self._common: dict[tuple[object, tuple[Path, ...]], Common] = {}

    def of(self, protocol: object, schema: Schema) -> Common:
        """What an instance with this layout shares with those before it."""
        key = (protocol, tuple(leaf.path for leaf in schema.leaves))
        common = self._common.get(key)
        if common is None or common.pool.size > MAX_NODES:
            common = self._common[key] = Common()
        return common
