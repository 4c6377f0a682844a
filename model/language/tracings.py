"""What tracing an action yields, and what instances of one protocol share: a pool, and actions that come out the same.

An audit asks about a protocol under constants that differ in one or two, and most of its actions are the same there. What
tracing an action yields depends on its function, on the codes of its parameters, on the constants that were asked for, and on
the leaves that were looked at: on what each holds, and where they stand. All of these are noted (`Watched`) while an action
is traced, so that an instance which has the same of each takes what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product, zip_longest
from math import prod
from typing import cast

from acked.base.frozen import frozen
from acked.model.formulas.binding import all_closed, closed
from acked.model.formulas.errors import ModelError, StepError
from acked.model.formulas.evaluate import Evaluator, leaves_of
from acked.model.formulas.expr import Expr, Pool
from acked.model.formulas.places import located
from acked.model.formulas.watch import CHANGED, watch
from acked.model.language.action import Action
from acked.model.language.choices import Choices, Domains
from acked.model.language.context import active
from acked.model.language.domain import Path, Plain
from acked.model.language.finite import FINITE
from acked.model.language.semantics import Chooser, Guard, Trace
from acked.model.language.state import Struct
from acked.model.language.storage.layout import Leaf, Schema
from acked.model.language.storage.noted import Ground, Noted, Seen, Watched
from acked.model.language.storage.store import Store

_MAX_TRIED = 4096
"""As many values are tried of the fields that an index depends on, to see whether it can be beyond the array."""

MAX_NODES = 500_000
"""A pool with more nodes (some 150 MB) is not added to: the next instance begins a new one."""


@frozen
class Effect:
    """What an action does with its parameters bound: enabled where every guard holds, then the updates happen at once.

    `updates` maps leaf index to the new code; `overflows` lists, for updates not evidently in their domain, the leaf and
    the condition under which it leaves its domain, and for an array that is written to the last element and when the index
    is beyond it (such a step is an error of the protocol). `parameters` are the domains of its parameters and choices. One
    that is nowhere enabled has neither updates nor overflows.
    """

    guards: tuple[Guard, ...]
    guard: Expr
    updates: tuple[tuple[int, Expr], ...]
    overflows: tuple[tuple[int, Expr], ...]
    parameters: Domains


@frozen
class ActionInstance(Effect):
    """An action with its parameters bound: what it does, under its name and arguments."""

    action: Action
    arguments: dict[str, Plain]

    @property
    def label(self) -> str:
        """`LeaderWrite(replica=1)`."""
        return f"{self.action.name}({', '.join(f'{k}={v}' for k, v in self.arguments.items())})"

    @cached_property
    def updated(self) -> Evaluator:
        """The new codes, in the order of the updates."""
        return Evaluator([code for _, code in self.updates])

    def overflowing(self, codes: Sequence[int]) -> int | None:
        """The first leaf that leaves its domain, or whose array has no such element, by the step from a state."""
        values = self._overflows(codes) if self.overflows else ()
        return next((leaf for (leaf, _), is_bad in zip(self.overflows, values, strict=True) if is_bad), None)

    @cached_property
    def _overflows(self) -> Evaluator:
        return Evaluator([bad for _, bad in self.overflows])


def _exclude(clauses: Sequence[Expr], condition: Expr, fields: Sequence[Expr]) -> bool:
    """Whether clauses rule a condition out: seen by trying all values of its fields, where they are few."""
    leaves = leaves_of(condition)
    if prod(fields[leaf].hi + 1 for leaf in leaves) > _MAX_TRIED:
        return False
    evaluate = Evaluator([condition, *(clause for clause in clauses if leaves_of(clause) <= leaves)])
    codes = [0] * len(fields)
    for values in product(*(range(fields[leaf].hi + 1) for leaf in leaves)):
        for leaf, value in zip(leaves, values, strict=True):
            codes[leaf] = value
        if all(evaluate(codes)):
            return False
    return True


class _RuledOut(BaseException):
    """A clause is false whatever the state: what the action would do is nothing. No author's `except` is meant."""


class _Clauses(list[Guard]):
    """The clauses of an action that others of its bindings have been traced with, of which a false one ends the trace.

    Unless its label is one of those that are left out.
    """

    def __init__(self, false: Expr, choices: Choices, left_out: Container[str]) -> None:
        self._false, self._choices, self._left_out = false, choices, left_out

    def append(self, guard: Guard) -> None:
        super().append(guard)
        if guard.condition is self._false and guard.label not in self._left_out and self._choices.is_complete:
            raise _RuledOut


class Tracer:
    """Traces the actions of a protocol in one pool; `drop` names (action, label) guard clauses to leave out."""

    def __init__(
        self, protocol: str, state: type[Struct], pool: Pool, fields: Sequence[Expr], drop: frozenset[tuple[str, str]]
    ) -> None:
        self._protocol, self._state = protocol, state
        self._pool, self._fields, self._drop = pool, fields, drop
        self.dropped: set[tuple[str, str]] = set()
        """The clauses that were left out so far."""

    def effect(
        self, item: Action, codes: Mapping[str, int], ground: Ground, is_watched: bool, is_whole: bool = True
    ) -> Effect:
        """What an action does with these codes of its parameters and choices, by `ground` alone.

        Unless `is_whole` what comes after a clause that rules them out is not looked at.
        """
        store, choices = Store(ground.schema, ground.codes()), Choices(codes)
        left_out = {label for name, label in self._drop if name == item.name}
        guards = [] if is_whole else _Clauses(self._pool.false, choices, left_out)
        context = Trace(self._pool, ground.constants, FINITE, guards, choices)
        with closing(store), active(context), located(f"{self._protocol}: action {item.name}", item.function):
            try:
                with watch(item.function) if is_watched else nullcontext():
                    item.apply(self._state.at(store, ()), choices)
            except _RuledOut:
                return Effect(tuple(guards), self._pool.false, (), (), choices.asked)
            except StepError:
                # Of a binding that its clauses rule out, what it would do is not a mistake.
                if all(guard.condition is not self._pool.false for guard in self._keep(item, guards)):
                    raise
            after = all_closed(store.codes_after())
            strays = [(leaf, closed(beyond)) for leaf, beyond in store.strays]
            _ = [closed(guard.condition) for guard in guards]
        clauses = self._keep(item, guards)
        guard = self._pool.all(clause.condition for clause in clauses)
        if guard is self._pool.false:
            return Effect(clauses, guard, (), (), choices.asked)
        updates = tuple(
            (leaf, new) for leaf, (old, new) in enumerate(zip(self._fields, after, strict=True)) if old is not new
        )
        leaves = ground.schema.leaves
        bad = [(leaf, out) for leaf, new in updates if (out := leaves[leaf].outside(new)) is not None]
        conditions = [clause.condition for clause in clauses]
        bad += [(leaf, beyond) for leaf, beyond in strays if not _exclude(conditions, beyond, self._fields)]
        overflows: dict[int, Expr] = {}
        for leaf, out in bad:
            overflows[leaf] = self._pool.or_(overflows.get(leaf, self._pool.false), out)
        return Effect(clauses, guard, updates, tuple(overflows.items()), choices.asked)

    def initial(
        self, function: object, run: Callable[[Struct, Chooser], None], codes: Mapping[str, int], ground: Ground
    ) -> tuple[list[int] | None, Domains]:
        """The codes of the initial state with these of what the function chooses, None if its clauses rule those out."""
        guards: list[Guard] = []
        store, choices = Store(ground.schema, [self._pool.int(0)] * len(self._fields)), Choices(codes)
        context = Trace(self._pool, ground.constants, FINITE, guards, choices)
        with closing(store), active(context), located(f"{self._protocol}: the initial state", function):
            with watch(function):
                run(self._state.at(store, ()), choices)
            made = [closed(code).value for code in store.codes_after()]
        return (None if any(guard.condition is self._pool.false for guard in guards) else made), choices.asked

    def _keep(self, item: Action, guards: Sequence[Guard]) -> tuple[Guard, ...]:
        """The clauses that are not to be left out."""
        dropped = {(item.name, guard.label) for guard in guards} & self._drop
        self.dropped |= dropped
        return tuple(guard for guard in guards if (item.name, guard.label) not in dropped)


def refuse_other(first: Sequence[ActionInstance], again: Sequence[ActionInstance], leaves: Sequence[Leaf]) -> None:
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


def _refuse_other_clauses(before: ActionInstance, step: ActionInstance) -> None:
    for one, other in zip_longest(before.guards, step.guards):
        if one is None or other is None or one.label != other.label or one.condition is not other.condition:
            guard = other or one
            assert guard is not None
            _refuse(f"clause {guard.label!r}", guard)


def _refuse_other_updates(before: ActionInstance, step: ActionInstance, leaves: Sequence[Leaf]) -> None:
    one, other = dict(before.updates), dict(step.updates)
    for leaf in sorted({*one, *other}):
        if one.get(leaf) is not other.get(leaf):
            _refuse(f"what it assigns to {leaves[leaf].name}", None)


def _refuse(what: str, guard: Guard | None) -> None:
    error = ModelError(f"{what} is not the same when the action is traced again; {CHANGED}")
    error.place = None if guard is None else (guard.file, guard.line)
    raise error


# -- instances of actions that are traced when they are looked at --------------------------------------------------------


class KnownInstance(ActionInstance):
    """An instance of which the label is known; what it does is traced when any of that is first looked at."""

    def __init__(self, action: Action, arguments: dict[str, Plain], trace: Callable[[], Effect]) -> None:
        vars(self).update(action=action, arguments=arguments, _trace=trace)

    _trace: Callable[[], Effect]

    def __getattr__(self, name: str) -> object:
        if name not in _EFFECT:
            raise AttributeError(name)
        vars(self).update(vars(self._trace()))
        return vars(self)[name]


_EFFECT = frozenset(Effect.__dataclass_fields__)


# -- what is known --------------------------------------------------------------------------------------------------------


@dataclass
class Common:
    """What instances of one protocol share whose leaves have the same paths; or what one has that shares nothing."""

    is_shared: bool = False
    pool: Pool = field(default_factory=Pool)
    _effects: dict[tuple[object, tuple[int, ...]], list[tuple[Seen, Effect]]] = field(default_factory=dict)
    _readings: dict[object, list[tuple[tuple[tuple[int, Expr], ...], Seen, Expr]]] = field(default_factory=dict)
    _kinds: dict[object, int] = field(default_factory=dict)

    def kinds(self, schema: Schema) -> list[int]:
        """A number for every leaf, the same exactly where leaves hold the same values."""
        held = ((leaf.cardinality, leaf.domain, leaf.slot) for leaf in schema.leaves)
        return [self._kinds.setdefault(one, len(self._kinds)) for one in held]

    def effect(
        self,
        function: Callable[..., None],
        codes: Mapping[str, int],
        ground: Ground,
        kinds: Sequence[int],
        trace: Callable[[Ground], Effect],
    ) -> Effect:
        """What is known of an action with these codes of its parameters, or is found by tracing it."""
        known = self._effects.setdefault((function, tuple(codes.values())), [])
        for seen, effect in known:
            if seen.is_of(ground.constants, kinds):
                return effect
        watched = Watched(ground)
        effect = trace(watched)
        known.append((Seen.by(watched, kinds), effect))
        return effect

    def reading(
        self,
        predicate: object,
        after: Sequence[Expr],
        ground: Ground,
        kinds: Sequence[int],
        trace: Callable[[Ground, list[Expr]], Expr],
    ) -> Expr:
        """What is known of a predicate over steps after which leaves have these codes, or is found by tracing it.

        Most steps leave most leaves as they are, and a predicate says the same of all steps that are alike where it looks.
        """
        known = self._readings.setdefault(predicate, [])
        for codes, seen, holds in known:
            if all(after[leaf] is code for leaf, code in codes) and seen.is_of(ground.constants, kinds):
                return holds
        watched, read = Watched(ground), set[int]()
        holds = trace(watched, cast("list[Expr]", Noted(after, read)))
        known.append((tuple((leaf, after[leaf]) for leaf in read), Seen.by(watched, kinds), holds))
        return holds


class Tracings:
    """What is shared by all instances that it is given to, of whatever protocol; for one thread."""

    def __init__(self) -> None:
        self._common: dict[tuple[object, tuple[Path, ...]], Common] = {}

    def common_of(self, protocol: object, schema: Schema) -> Common:
        """What an instance with this layout shares with those before it."""
        key = (protocol, tuple(leaf.path for leaf in schema.leaves))
        common = self._common.get(key)
        if common is None or common.pool.size > MAX_NODES:
            common = self._common[key] = Common(is_shared=True)
        return common
