"""A protocol read with concrete values: steps as functions of one state, whose logs and epochs have any size.

`Concrete` traces the actions once more, with ids known and numbers open, and makes of each step a Python function. It is not
a second text of the rules: the action functions are the ones that engines and proofs read. Constants that bound a state may
be beyond the ranges that a search can cover (`beyond`), and fields may be left out that nobody sees (`unseen`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

from acked.base.frozen import frozen
from acked.model.concrete.inputs import Inputs
from acked.model.concrete.meaning import AtBreaks
from acked.model.concrete.program import State, compiled_step, compiled_values, leaves_read
from acked.model.concrete.runs import Runs, fold
from acked.model.concrete.store import Layout, LogPlace, RunStore
from acked.model.formulas.errors import ModelError, StepError
from acked.model.formulas.expr import Expr
from acked.model.formulas.places import located
from acked.model.language.action import Action
from acked.model.language.context import active
from acked.model.language.domain import BoolDomain, IdDomain, LeafDomain, Path, Plain, SetDomain
from acked.model.language.protocol import Protocol
from acked.model.language.semantics import Chooser, Guard, Trace
from acked.model.language.state import Struct
from acked.model.language.values import Bool, Int, Value

BATCH = "batch"
"""The parameter of every step that says how many offsets an append takes."""


@frozen
class Step:
    """An action with its ids and truth values bound; numbers and sets are parameters, as codes, by name and in order.

    The last one is `BATCH`, 1 if not given.

    `take` gives the state after it, or the number of the first guard that does not hold; `holds` whether each one does.
    """

    action: Action
    bound: Mapping[str, Plain]
    parameters: tuple[str, ...]
    guards: tuple[Guard, ...]
    take: Callable[..., State | int]
    holds: Callable[..., tuple[int, ...]]


@frozen
class Check:
    """A property as a function of a state, or of two, and where in a state it reads."""

    name: str
    holds: Callable[..., bool]
    reads: frozenset[int]


class Concrete:
    """A protocol with given constants, one state at a time.

    `constants` are checked as a search's are; `beyond` are numbers in the place of some of them that may be larger.
    Quantifiers over the units `searched` try break points alone. `unseen` names families of fields that are left out
    (`store.Layout`).
    """

    def __init__(
        self,
        protocol: Protocol,
        constants: Mapping[str, object],
        *,
        searched: Collection[type[Int]],
        beyond: Mapping[str, int] | None = None,
        unseen: Collection[str] = (),
    ) -> None:
        self.protocol = protocol
        self.constants = {**protocol.bind(constants), **(beyond or {})}
        self.layout = Layout(protocol.state, self.constants, unseen)
        self._searched = tuple(searched)
        self._pool = Inputs()
        self._fields = [self._pool.leaf(number, leaf.cardinality) for number, leaf in enumerate(self.layout.leaves)]
        with active(self._context()):
            self.actions = {item.name: item for item in protocol.actions if item.is_present()}
        self._steps: dict[tuple[object, ...], Step | None] = {}

    # -- states ---------------------------------------------------------------------------------------------------------

    @cached_property
    def initial(self) -> State:
        """The initial state."""
        store = self._store([self._pool.int(0)] * len(self._fields))
        with active(self._context([])), located(f"{self.protocol.name}: the initial state"):
            self.protocol.run_initial(self._root(store), _refuse_choice)
        return (*(code.value for code in store.codes), *((),) * len(self.layout.log_places))

    def encode(self, state: Mapping[str, Any]) -> State:
        """The state that a nested plain one is, as an `Instance` decodes it; what is unseen is dropped."""
        codes = [
            0 if leaf.cardinality == 1 else leaf.domain.from_plain(_value_at(state, leaf.path), self.constants)
            for leaf in self.layout.leaves
        ]
        return (*codes, *(self._runs(state, place) for place in self.layout.log_places))

    def plain(self, state: State, path: Path) -> Plain:
        """The plain value of a leaf."""
        number = self.layout.by_path[path]
        return self.layout.leaves[number].domain.to_plain(state[number], self.constants)

    def runs(self, state: State, log: int) -> Runs:
        """The runs of a log, by its number."""
        found: Runs = state[len(self.layout.leaves) + log]
        return found

    def _runs(self, state: Mapping[str, Any], place: LogPlace) -> Runs:
        records = _value_at(state, (*place.path, "records"))
        return fold([tuple(_value_at(record, field) for field, _ in place.fields) for record in records])

    # -- steps ----------------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether the constants leave an action of this name."""
        return name in self.actions

    def step(self, name: str, **bound: Plain) -> Step | None:
        """An action of this name under ids and truth values; None if its guards rule those out in every state.

        `ModelError` if the constants leave no such action.
        """
        key = (name, *sorted(bound.items()))
        if key not in self._steps:
            if name not in self.actions:
                raise ModelError(f"{self.protocol.name} has no action {name!r} under these constants")
            self._steps[key] = self._trace(self.actions[name], bound)
        return self._steps[key]

    def property(self, name: str, predicate: Callable[..., Bool]) -> Check:
        """A predicate over a state as a function of it."""
        with active(self._context()), located(f"{self.protocol.name}: property {name}"):
            root = Bool.lift(predicate(self._root(self._store(list(self._fields)))))
        made = compiled_values(self._pool, self.layout, (), [root])
        return Check(name, lambda state: bool(made(state)[0]), leaves_read(self._pool, self.layout, [root]))

    def step_property(self, name: str, predicate: Callable[..., Bool]) -> Check:
        """A predicate over a state and the one after it, which reads no records, as a function of both."""
        moved = len(self._fields) + len(self.layout.log_places)
        fields = [self._pool.leaf(moved + number, leaf.cardinality) for number, leaf in enumerate(self.layout.leaves)]
        after = self._store(fields)
        after.versions.clear()
        with active(self._context()), located(f"{self.protocol.name}: property {name}"):
            root = Bool.lift(predicate(self._root(self._store(list(self._fields))), self._root(after)))
        made = compiled_values(self._pool, self.layout, (), [root])
        reads = frozenset(number % moved for number in leaves_read(self._pool, self.layout, [root]))
        return Check(name, lambda before, now: bool(made(before + now)[0]), reads)

    def _trace(self, item: Action, bound: Mapping[str, Plain]) -> Step | None:
        guards: list[Guard] = []
        batch = self._pool.parameter(BATCH, 1, self._greatest())
        store = self._store(list(self._fields), batch)
        names: list[str] = []

        def choose(name: str, domain: LeafDomain) -> Value:
            code = self._parameter(name, domain, bound)
            if not code.is_const:
                names.append(name)
            return domain.wrap(code)

        with active(self._context(guards, choose)), located(f"{self.protocol.name}: action {item.name}"):
            try:
                item.apply(self._root(store), choose)
            except StepError:
                if all(guard.condition is not self._pool.false for guard in guards):
                    raise
        conditions = [guard.condition for guard in guards]
        if any(condition is self._pool.false for condition in conditions):
            return None
        parameters = (*names, BATCH)
        take = compiled_step(self._pool, self.layout, parameters, conditions, (store.codes, store.versions))
        holds = compiled_values(self._pool, self.layout, parameters, conditions)
        return Step(item, dict(bound), parameters, tuple(guards), take, holds)

    def _parameter(self, name: str, domain: LeafDomain, bound: Mapping[str, Plain]) -> Expr:
        if isinstance(domain, IdDomain | BoolDomain):
            return self._pool.int(domain.from_plain(bound[name], self.constants))
        if not isinstance(domain, SetDomain) and domain.cardinality(self.constants) == 1:
            return self._pool.int(0)
        return self._pool.parameter(name, 0, domain.cardinality(self.constants) - 1)

    def _greatest(self) -> int:
        return max(leaf.cardinality for leaf in self.layout.leaves)

    def _context(self, guards: list[Guard] | None = None, chooser: Chooser | None = None) -> Trace:
        return Trace(self._pool, self.constants, AtBreaks(self._searched), guards, chooser)

    def _store(self, codes: list[Expr], batch: Expr | None = None) -> RunStore:
        return RunStore(self.layout, codes, self._pool, self._pool.int(1) if batch is None else batch)

    def _root(self, store: RunStore) -> Struct:
        return self.protocol.state.at(store, ())


def _value_at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _refuse_choice(name: str, domain: LeafDomain) -> Value:
    raise ModelError(f"{name} is chosen, and only a protocol with one initial state can be followed")
