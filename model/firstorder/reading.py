"""A protocol read as first-order logic: any number of ids, unknown constants, states as functions.

`Reading`, in which a protocol's own actions and a property's own predicate run over functions instead of leaves.

An `Id` type becomes an uninterpreted sort, whose size nothing says; an `Int` is a mathematical integer, whose range is
a clause to be proved like any other (`Reading.domains`). A constant that is a size of the question (`Protocol.sizes`) is an
unknown integer not below its least value; every other, a switch of the rules, is what the question says, and a field or an
action that the switches leave out is left out here. An array is a function of its index, a log an end and functions from
offset to the fields of a record, a set of ids a relation, an optional id a truth value and an id. An optional number stays
one number, 0 for none. A step is a substitution: what a field holds afterwards is a term over what fields held before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from acked.base.frozen import frozen
from acked.model.firstorder.definitions import measure
from acked.model.firstorder.meaning import FirstOrder
from acked.model.firstorder.records import Choice, Relation
from acked.model.firstorder.store import Code, Content, Family, FunctionStore, Index, Key, zero
from acked.model.firstorder.symbols import BOOL, INT, Sort, Symbol
from acked.model.firstorder.terms import Logic, Term
from acked.model.firstorder.values import code, derive, formula, sort_of, term_of
from acked.model.formulas.errors import ModelError
from acked.model.formulas.places import located
from acked.model.language.action import Action, unknown_clause
from acked.model.language.context import active, resolve
from acked.model.language.domain import (
    BoolDomain,
    Domain,
    IdDomain,
    LeafDomain,
    OptionalDomain,
    PresentDomain,
    Range,
    SetDomain,
)
from acked.model.language.protocol import Protocol
from acked.model.language.semantics import Chooser, Guard, Trace
from acked.model.language.state import Struct
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.values import Bool, Id, Value

_APART = "~"
"""Before the names of an author's fields and constants, lest one is that of a symbol which is made here.

SMT-LIB keeps names with @ or . at the beginning to itself, and cvc5 refuses them.
"""


@frozen
class Parameter:
    """An action's parameter: any id, any integer within bounds, true or false, or any set of ids; by its symbol."""

    name: str
    symbol: Symbol
    range: Term


@frozen
class Step:
    """An action, its parameters unknown: where every guard holds, `after` says what every family holds next."""

    action: Action
    parameters: tuple[Parameter, ...]
    guards: tuple[Guard, ...]
    guard: Term
    after: FunctionStore

    @property
    def name(self) -> str:
        """The action's name."""
        return self.action.name


class Reading:
    """A protocol for all sizes at once; `drop` names (action, label) guard clauses to leave out.

    `constants` are those that are not sizes, all that have no default. `least` are sizes that are not to be as small as the
    protocol has them, and further constants that are unknown here; no threshold falls where a size grows. `ModelError` for a
    clause that there is not. With `is_exact`, what a finite instance reads beyond an array or of nothing is read so here, too
    (`Logic`), and how many ids a set has is a number; what cannot be read so is refused.
    """

    def __init__(
        self,
        protocol: Protocol,
        drop: Iterable[tuple[str, str]] = (),
        constants: Mapping[str, object] | None = None,
        least: Mapping[str, int] = MappingProxyType({}),
        is_exact: bool = False,
    ) -> None:
        self.protocol = protocol
        self.least: Mapping[str, int] = {**protocol.sizes, **least}
        self.switches = self._settings(constants or {})
        smallest = {**self.switches, **self.least}
        self.logic = Logic({threshold: max(resolve(threshold, smallest), 1) for threshold in protocol.thresholds}, is_exact)
        apart = _APART if is_exact else ""
        self.sizes: dict[str, Term] = {name: self.logic.apply(Symbol(apart + name, (), INT)) for name in self.least}
        self.logic.positive |= {self.sizes[name] for name, least in self.least.items() if least > 0}
        if is_exact:
            self.logic.ranges |= {size.value: (self.logic.int(self.least[name]), size) for name, size in self.sizes.items()}
        self.constants: dict[str, Code] = {**self.switches, **self.sizes}
        self._meaning = FirstOrder(self.logic, self.constants)
        self.families: dict[Key, Family] = {
            family.key: family for family in self._families(StructDomain(protocol.state), (), ())
        }
        self.before = self._store({key: self._open_content(family) for key, family in self.families.items()})
        self.initial, self.initially = self._trace_initial()
        dropped = frozenset(drop)
        with active(self._context()):
            present = [item for item in protocol.actions if item.is_present()]
        self._labels: dict[str, tuple[str, ...]] = {}
        self.steps: tuple[Step, ...] = tuple(self._trace(item, dropped) for item in present)
        for name, label in sorted(dropped):
            if label not in self._labels.get(name, ()):
                raise ModelError(unknown_clause(protocol.name, self._labels, name, label))

    def constants_in_range(self) -> Term:
        """That no size is below its least value; there is no greatest."""
        logic = self.logic
        return logic.all(logic.le(logic.int(least), self.sizes[name]) for name, least in self.least.items())

    def state_term(self, predicate: Callable[[Any], Bool], store: FunctionStore | None = None) -> Term:
        """A predicate over one state: the one before a step if not said otherwise."""
        with active(self._context()):
            return term_of(predicate(self._root(store or self.before)))

    def step_term(self, predicate: Callable[[Any, Any], Bool], after: FunctionStore) -> Term:
        """A predicate over the state before a step and the one after it."""
        with active(self._context()):
            return term_of(predicate(self._root(self.before), self._root(after)))

    def domains(self) -> dict[str, Callable[[FunctionStore], Term]]:
        """That every integer field is within its range, by the name of the field."""
        return {
            f"Domain({family.name})": self._range_claim(family)
            for family in self.families.values()
            if sort_of_leaf(family.domain) is INT and not family.is_absent
        }

    # -- internals ----------------------------------------------------------------------------------------------

    def _settings(self, given: Mapping[str, object]) -> dict[str, int]:
        """The constants that are not sizes, checked."""
        sizes = self.least
        some = {item.name: item.hi for item in self.protocol.constants if item.name in sizes}
        bound = self.protocol.bind({**given, **some})
        return {name: value for name, value in bound.items() if name not in sizes}

    def _store(self, contents: Mapping[Key, Content]) -> FunctionStore:
        return FunctionStore(self.logic, self.families, contents)

    def _context(
        self, guards: list[Guard] | None = None, store: FunctionStore | None = None, chooser: Chooser | None = None
    ) -> Trace:
        pool: Code = self.logic
        meaning = self._meaning if store is None else FirstOrder(self.logic, self.constants, store)
        return Trace(pool, self.constants, meaning, guards, chooser)

    def _root(self, store: FunctionStore) -> Struct:
        return self.protocol.state.at(store, ())

    def _indices(self, domain: LeafDomain) -> tuple[Index, ...]:
        """What stands for the one index of an array."""
        if isinstance(domain, BoolDomain):
            return (Index(BOOL, Bool, None),)
        if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
            return Index(BOOL, Bool, None, is_flag=True), Index(self._meaning.sort(domain.item), domain.item, None)
        if isinstance(domain, IdDomain):
            return (Index(self._meaning.sort(domain.item), domain.item, None),)
        if isinstance(domain, (Range, OptionalDomain)):
            return (Index(INT, domain.item, (self.logic.int(0), self._meaning.greatest_code(domain))),)
        raise ModelError("an array is indexed by numbers, names, truth values or ids")

    def _families(self, domain: Domain, key: Key, indices: tuple[Index, ...]) -> Iterator[Family]:
        if isinstance(domain, PresentDomain):
            when = resolve(domain.when, cast(Any, self.constants))
            is_open = self.logic.is_exact and isinstance(when, Term)
            if is_open and when not in self.logic.positive:
                raise ModelError(f"{key[-1]} is there only where a size is not 0; let that size begin at 1, or be a switch")
            yield Family(key, domain.bare, indices, not is_open and domain.is_absent(self.constants))
        elif isinstance(domain, LeafDomain):
            yield Family(key, domain, indices)
        elif isinstance(domain, StructDomain):
            for name, inner in domain.struct.domains().items():
                yield from self._families(inner, (*key, name), indices)
        elif isinstance(domain, ArrayDomain):
            yield from self._families(domain.element, (*key, None), (*indices, *self._indices(domain.index)))
        elif isinstance(domain, LogDomain) and domain.view is None:
            yield from self._families(domain.end, (*key, LogDomain.END), indices)
            last = self.logic.int(resolve(domain.size, self.constants)) - 1
            slot = Index(INT, domain.offset, (self.logic.int(0), last))
            for path, field in domain.record_leaves():
                names = tuple(str(part) for part in path)
                if self.logic.is_exact and isinstance(field.bare, IdDomain):
                    text = "an id in a log is beyond a proof for all constants; number it, or make it Optional"
                    raise ModelError(f"{'.'.join(names)}: {text}")
                yield from self._families(field, (*key, LogDomain.RECORDS, None, *names), (*indices, slot))
        else:
            name = ".".join(part for part in map(str, key) if part != "None")
            raise ModelError(f"{name} is a queue, whose places move: a proof for all constants has no queues")

    def _open_content(self, family: Family) -> Content:
        logic, domain = self.logic, family.domain
        sorts = tuple(index.sort for index in family.indices)
        if family.is_absent:
            return lambda _: zero(logic, domain)
        if isinstance(domain, IdDomain):
            self._meaning.sort(domain.item)
        name = f"{_APART}{family.name}" if logic.is_exact else family.name
        if isinstance(domain, SetDomain):
            sort = self._meaning.sort(domain.item)
            member = Symbol(name, (*sorts, sort), BOOL)
            return lambda at: Relation(
                logic, sort, lambda x: logic.apply(member, (*at, x)), lambda bound: self._reaches(family, at, bound)
            )
        if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
            is_some = Symbol(f"{name}.is_some", sorts, BOOL)
            value = Symbol(name, sorts, self._meaning.sort(domain.item))
            return lambda at: Choice(logic, logic.apply(is_some, at), logic.apply(value, at))
        symbol = Symbol(name, sorts, sort_of_leaf(domain) or INT)
        if logic.is_exact and symbol.result is INT:
            logic.ranges[symbol] = (logic.int(0), self._meaning.greatest_code(domain))
        return lambda at: logic.apply(symbol, at)

    def _reaches(self, family: Family, at: tuple[Term, ...], threshold: object) -> Term:
        """Whether a stored set reaches a threshold: of every family of sets one more function of its indices."""
        if threshold not in self.protocol.thresholds:
            raise ModelError("reaches(…) needs a threshold that the protocol declares")
        number = self.protocol.thresholds.index(threshold)
        symbol = Symbol(f"{family.name}.reaches{number}", tuple(index.sort for index in family.indices), BOOL)
        if symbol not in self.logic.measures:
            variables = tuple(self.logic.variable(index.sort, index.hint) for index in family.indices)
            relation = self.before.contents[family.key](variables)
            measure(self.logic, symbol, tuple(item.value for item in variables), relation, threshold, ())
        return self.logic.apply(symbol, at)

    def _range_claim(self, family: Family) -> Callable[[FunctionStore], Term]:
        logic, domain = self.logic, family.domain
        greatest = self._meaning.greatest_code(domain)

        def quantify(store: FunctionStore, indices: Sequence[Index], at: tuple[Term, ...]) -> Term:
            if not indices:
                code = store.contents[family.key](at)
                return logic.and_(logic.le(logic.int(0), code), logic.le(code, greatest))
            index, *rest = indices
            return logic.every(index.sort, index.hint, lambda x: quantify(store, rest, (*at, x)), index.bounds)

        return lambda store: quantify(store, family.indices, ())

    def _trace_initial(self) -> tuple[FunctionStore, Term]:
        """The initial state, and what it takes of the symbols that it speaks of, which stand for the choices."""

        def blank(family: Family) -> Content:
            return lambda _: zero(self.logic, family.domain)

        store = self._store({key: blank(family) for key, family in self.families.items()})
        guards: list[Guard] = []
        parameters: list[Parameter] = []
        chooser = self._chooser("initial", parameters)
        where = located(f"{self.protocol.name}: the initial state", self.protocol.initial)
        with active(self._context(guards, store, chooser)), where:
            self.protocol.run_initial(self._root(store), chooser)
        clauses = [*(item.range for item in parameters), *(term_of(Bool(guard.condition)) for guard in guards)]
        return store, self.logic.all(clauses)

    def _trace(self, item: Action, dropped: frozenset[tuple[str, str]]) -> Step:
        guards: list[Guard] = []
        store = self._store(self.before.contents)
        parameters: list[Parameter] = []
        chooser = self._chooser(item.name, parameters)
        where = located(f"{self.protocol.name}: action {item.name}", item.function)
        with active(self._context(guards, store, chooser)), where:
            item.apply(self._root(store), chooser)
        self._labels[item.name] = tuple(guard.label for guard in guards)
        kept = tuple(guard for guard in guards if (item.name, guard.label) not in dropped)
        guard = self.logic.all(term_of(Bool(guard.condition)) for guard in kept)
        return Step(item, tuple(parameters), kept, guard, store)

    def _chooser(self, action: str, parameters: list[Parameter]) -> Chooser:
        """What adds a parameter for each value that a function is given or chooses."""

        def choose(name: str, domain: LeafDomain) -> Value:
            parameter, value = self._parameter(f"{action}.{name}", name, domain)
            parameters.append(parameter)
            return value

        return choose

    def _parameter(self, symbol_name: str, name: str, domain: LeafDomain) -> tuple[Parameter, Value]:
        """An action's parameter, and the value that the action gets."""
        logic = self.logic
        if isinstance(domain, BoolDomain):
            symbol = Symbol(symbol_name, (), BOOL)
            return Parameter(name, symbol, logic.true), formula(logic.apply(symbol))
        if isinstance(domain, SetDomain):
            sort = self._meaning.sort(domain.item)
            symbol = Symbol(symbol_name, (sort,), BOOL)
            chosen = derive(logic, sort, lambda x: logic.apply(symbol, (x,)), lambda *_: ())
            return Parameter(name, symbol, logic.true), domain.wrap(code(chosen))
        *truth, index = self._indices(domain)
        symbol = Symbol(symbol_name, (), index.sort)
        logic.units[symbol] = index.hint
        term, inside = logic.apply(symbol), logic.true
        if truth:
            is_some = logic.apply(Symbol(f"{symbol_name}.is_some", (), BOOL))
            return Parameter(name, symbol, inside), domain.wrap(code(Choice(logic, is_some, term)))
        if index.bounds is not None:
            logic.ranges[symbol] = index.bounds
            inside = logic.and_(logic.le(index.bounds[0], term), logic.le(term, index.bounds[1]))
        return Parameter(name, symbol, inside), domain.wrap(code(term))


def sort_of_leaf(domain: LeafDomain) -> Sort | None:
    """The sort of the one term behind a leaf; None where there are several."""
    if isinstance(domain, IdDomain):
        return sort_of(domain.item)
    if isinstance(domain, SetDomain) or (isinstance(domain, OptionalDomain) and issubclass(domain.item, Id)):
        return None
    return BOOL if isinstance(domain, BoolDomain) else INT
