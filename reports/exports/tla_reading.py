"""A protocol read for TLA+: the formulas of the engines, but that parameters, quantifiers and indices stay what they are.

`Sketch`, a pool whose fields stand for places of the state, variables and quantified formulas, and `reading_of`, which runs
an author's functions once, with variables for what an instance enumerates. Sets are masks and optional values codes as they
are for every engine; `tla_text.py` gives them their names back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from acked.base.frozen import frozen
from acked.model.formulas.expr import Expr, Op, Pool, operands
from acked.model.formulas.places import located
from acked.model.language.action import Action
from acked.model.language.choices import given, leaves
from acked.model.language.context import active, current, literal, resolve
from acked.model.language.domain import LeafDomain, Path
from acked.model.language.finite import Finite
from acked.model.language.protocol import Instance
from acked.model.language.semantics import Chooser, Guard, Trace
from acked.model.language.sets import SetValue
from acked.model.language.state import Struct
from acked.model.language.storage.composites import LogDomain, as_domain, is_absent
from acked.model.language.storage.layout import Leaf, Schema
from acked.model.language.storage.store import StateStore, SymbolicPath, Write, declared_code, kept_code
from acked.model.language.values import Bool, Value
from acked.reports.exports.tla_names import claimed


@frozen
class Place:
    """What stands at a path of the state, before the step or after it (`is_primed`); indices may be expressions."""

    path: SymbolicPath
    leaf: Leaf
    is_primed: bool

    @property
    def domain(self) -> LeafDomain:
        """What it holds."""
        return self.leaf.domain.bare


@frozen
class Variable:
    """A parameter, a choice, or what a quantifier or a function binds (`is_bound`)."""

    name: str
    domain: LeafDomain
    is_bound: bool


@frozen
class Clamped:
    """An index that may lie beyond an array of `count` elements: the last one then, as reads are total."""

    index: Expr
    count: int


@frozen
class Quantified:
    """Whether a body holds for every or for some value of variables, or for every or some member of a set."""

    is_every: bool
    variables: tuple[Expr, ...]
    members: Expr | None
    body: Expr


Named = Place | Variable | Clamped | Quantified


class Sketch(Pool):
    """A pool whose FIELD nodes are what TLA+ has names for; what it binds gets none that is `taken`, and is added there."""

    def __init__(self, taken: set[str]) -> None:
        self._table: list[Named] = []
        self._numbers: dict[object, int] = {}
        self._scope, self._bound = list(taken), taken
        super().__init__()

    def named(self, node: Expr) -> Named:
        """What a FIELD node stands for."""
        return self._table[node.value]

    def place(self, path: SymbolicPath, leaf: Leaf, is_primed: bool) -> Expr:
        """The code of a place."""
        return self._name(Place(path, leaf, is_primed), (0, leaf.cardinality - 1))

    def variable(self, name: str, domain: LeafDomain, count: int, is_bound: bool = True) -> Expr:
        """A variable, which holds a code of a domain of `count` values."""
        return self._name(Variable(name, domain, is_bound), (0, count - 1))

    def clamped(self, index: Expr, count: int) -> Expr:
        """An index within an array."""
        if index.lo >= 0 and index.hi < count:
            return index
        if index.is_const:
            return self.int(index.value if 0 <= index.value < count else count - 1)
        return self._name(Clamped(index, count), (0, count - 1))

    def quantified(self, is_every: bool, variables: Sequence[Expr], members: Expr | None, body: Expr) -> Expr:
        """A quantified formula; what binds nothing is its body."""
        if body.is_const and (members is None or body.truth is is_every):
            return body
        bound = tuple(variable for variable in variables if not variable.is_const)
        return self._name(Quantified(is_every, bound, members, body), (0, 1), is_bool=True) if bound else body

    def reserve(self, name: str) -> None:
        """Gives a name to nothing that is bound from now on."""
        self._scope.insert(0, name)

    @contextmanager
    def fresh(self, wanted: Sequence[str]) -> Iterator[list[str]]:
        """Names that nothing else has where they are in use."""
        names = []
        for name in wanted:
            while name in self._scope:
                name += "_"
            names.append(name)
            self._scope.append(name)
        self._bound.update(names)
        yield names
        del self._scope[-len(names) :]

    def _name(self, made: Named, bounds: tuple[int, int], is_bool: bool = False) -> Expr:
        number = self._numbers.get(made)
        if number is None:
            number = self._numbers[made] = len(self._table)
            self._table.append(made)
        return self._intern(Op.FIELD, (), number, *bounds, is_bool)


class Quantifying(Finite):
    """Like the finite meaning, but that quantifiers are not unrolled."""

    def __init__(self, pool: Sketch) -> None:
        self._pool = pool

    def every(self, over: Any, body: Callable[[Any], Bool]) -> Bool:
        """A quantified formula."""
        return self._quantified(True, over, body)

    def some(self, over: Any, body: Callable[[Any], Bool]) -> Bool:
        """A quantified formula."""
        return self._quantified(False, over, body)

    def _quantified(self, is_every: bool, over: Any, body: Callable[[Any], Bool]) -> Bool:
        pool, constants = self._pool, current().constants
        members = over.expr if isinstance(over, SetValue) else None
        domain = as_domain(over.item if isinstance(over, SetValue) else over)
        code = getattr(body, "__code__", None)
        name = code.co_varnames[0] if code is not None and code.co_argcount else "x"
        parts = {part.replace(".", "_"): inner for part, inner in leaves(name, domain)}
        counts = [inner.cardinality(constants) for inner in parts.values()]
        if members is not None and counts == [1]:
            return super().every(over, body) if is_every else super().some(over, body)
        if 0 in counts:
            return Bool(pool.bool(is_every))
        with pool.fresh(list(parts)) as names:
            variables = [
                pool.variable(fresh, inner, count) for fresh, inner, count in zip(names, parts.values(), counts, strict=True)
            ]
            held = iter(variables)
            value = given(name, domain, lambda _, inner: inner.wrap(next(held)))
            truth = Bool.lift(body(value))
        return Bool(pool.quantified(is_every, variables, members, truth))


# -- what is written ----------------------------------------------------------------------------------------------------


@frozen(eq=False)
class Assigned:
    """A code that is put to a place, where a condition holds."""

    path: SymbolicPath
    code: Expr
    when: Expr | None


@frozen(eq=False)
class Blanked:
    """A log whose slots from an offset on become blank."""

    path: SymbolicPath
    log: LogDomain
    cut: Expr


@frozen(eq=False)
class Copied:
    """A log whose slots between two offsets get what another one had there after the first `moment` writes."""

    path: SymbolicPath
    log: LogDomain
    source: SymbolicPath
    first: Expr
    stop: Expr
    store: SketchStore
    moment: int


Change = Assigned | Blanked | Copied


class SketchStore(StateStore):
    """What was written, in order; what is read is decided by comparing indices, as arrays are."""

    def __init__(
        self, schema: Schema, pool: Sketch, is_zero: bool = False, is_primed: bool = False, guards: Sequence[Guard] = ()
    ) -> None:
        self.schema, self.pool, self._guards = schema, pool, guards
        self.changes: list[Write] = []
        self.written: list[Change] = []
        self._marks: list[int] = []
        self._is_zero, self._is_primed = is_zero, is_primed

    def begin(self, writer: object, replaces: bool, place: SymbolicPath | None = None) -> None:
        self.changes.append(Write(writer, replaces, place))
        self._marks.append(len(self.written))

    def read(self, path: SymbolicPath, moment: int | None = None) -> Expr:
        leaf = self._leaf(path)
        if leaf is None:
            return literal(0)
        last = len(self.written) if moment is None or moment >= len(self._marks) else self._marks[moment]
        return declared_code(leaf, self.kept(path, last))

    def is_changed(self, path: SymbolicPath, number: int) -> bool:
        return self.read(path, number) is not self.read(path, number + 1)

    def write(self, path: SymbolicPath, code: Expr, when: Expr | None = None) -> None:
        leaf = self._leaf(path)
        if leaf is not None and not is_absent(leaf.domain, self.schema.constants):
            self.written.append(Assigned(path, kept_code(leaf, code), when))

    def blank_from(self, slots: SymbolicPath, log: LogDomain, cut: Expr) -> None:
        if resolve(log.size):
            self.written.append(Blanked(slots, log, cut))

    def copy(self, slots: SymbolicPath, source: SymbolicPath, log: LogDomain, between: tuple[Expr, Expr]) -> None:
        if resolve(log.size):
            self.written.append(Copied(slots, log, self._clamped(source), *between, self, len(self.written)))

    def leaves(self) -> tuple[Schema, Sequence[Expr]]:
        return self.schema, [self.kept(leaf.path, len(self.written)) for leaf in self.schema.leaves]

    def kept(self, path: SymbolicPath, last: int) -> Expr:
        """The code that a leaf keeps after the first `last` writes."""
        path, leaf = self._clamped(path), self._leaf(path)
        assert leaf is not None
        code = self.pool.int(0) if self._is_zero else self.pool.place(path, leaf, self._is_primed)
        for change in self.written[:last]:
            code = self._after(change, path, code)
        return code

    def _after(self, change: Change, path: SymbolicPath, code: Expr) -> Expr:
        pool = self.pool
        here = self._is_same(change.path, path[: len(change.path)])
        if here is pool.false:
            return code
        if isinstance(change, Assigned):
            return pool.ite(here if change.when is None else pool.and_(here, change.when), change.code, code)
        at, rest = path[len(change.path)], path[len(change.path) :]
        offset = self.pool.int(at) if isinstance(at, int) else at
        if isinstance(change, Blanked):
            return pool.ite(pool.and_(here, pool.le(change.cut, offset)), self.pool.int(0), code)
        taken = pool.and_(here, pool.and_(pool.le(change.first, offset), pool.lt(offset, change.stop)))
        return pool.ite(taken, self.kept((*change.source, *rest), change.moment), code)

    def _is_same(self, written: SymbolicPath, read: SymbolicPath) -> Expr:
        pool = self.pool
        if len(written) != len(read):
            return pool.false
        same = pool.true
        for one, other in zip(written, read, strict=True):
            if isinstance(one, Expr) or isinstance(other, Expr):
                codes = [part if isinstance(part, Expr) else self.pool.int(part) for part in (one, other)]
                is_one = pool.eq(*codes)
                same = pool.false if self._is_ruled_out(is_one) else pool.and_(same, is_one)
            elif one != other:
                return pool.false
        return same

    def _is_ruled_out(self, condition: Expr) -> bool:
        """Whether a clause says that it is not so; of a step that is not enabled it does not matter what it would do."""
        opposite = self.pool.not_(condition)
        return any(opposite is part for guard in self._guards for part in operands(guard.condition, Op.AND))

    def _clamped(self, path: SymbolicPath) -> SymbolicPath:
        counts, meant = self.schema.counts, sample(path)
        return tuple(
            _plain(self.pool.clamped(part, counts[meant[:at]])) if isinstance(part, Expr) else part
            for at, part in enumerate(path)
        )

    def _leaf(self, path: SymbolicPath) -> Leaf | None:
        """One of the leaves that a path may mean; None if there is none, as of arrays without elements."""
        number = self.schema.by_path.get(sample(path))
        return None if number is None else self.schema.leaves[number]


def sample(path: SymbolicPath) -> Path:
    """A path whose indices are numbers, of those that another one may mean."""
    return tuple(0 if isinstance(part, Expr) else part for part in path)


def _plain(code: Expr) -> int | Expr:
    return code.value if code.is_const else code


# -- what is read -------------------------------------------------------------------------------------------------------


@frozen
class Rule:
    """An action, or the initial state: its variables with their domains, its clauses, and what it writes."""

    name: str
    variables: tuple[tuple[str, LeafDomain], ...]
    guards: tuple[Guard, ...]
    store: SketchStore


class Reading:
    """Reads an instance's functions into one pool, with names for variables that are not `taken`, and then are."""

    def __init__(self, instance: Instance, taken: set[str]) -> None:
        self.instance, self._taken = instance, taken
        self._names: dict[str, str] = {}
        chosen = (name for step in instance.actions for name in step.parameters)
        for asked in (*instance.protocol.initial_parameters(), *chosen):
            if asked not in self._names:
                self._names[asked] = claimed(asked.replace(".", "_"), taken)
        self.pool = Sketch(taken)

    def name(self, asked: str) -> str:
        """What the variable of a parameter or a choice is called."""
        if asked not in self._names:  # A choice of the initial state, which nobody declares.
            self._names[asked] = claimed(asked.replace(".", "_"), self._taken)
            self.pool.reserve(self._names[asked])
        return self._names[asked]

    def initial(self) -> Rule:
        """The initial states."""
        protocol = self.instance.protocol
        return self._rule("Init", protocol.initial, protocol.run_initial, is_zero=True)

    def action(self, item: Action) -> Rule:
        """An action, with variables for its parameters and choices."""
        return self._rule(item.name, item.function, item.apply, is_zero=False)

    def predicate(self, name: str, predicate: Callable[..., Bool], states: int = 1) -> Expr:
        """A predicate over a state, or over the states before and after a step."""
        stores = [SketchStore(self.instance.schema, self.pool, is_primed=bool(at)) for at in range(states)]
        with self._active(None, None), located(f"{self.instance.protocol.name}: property {name}", predicate):
            return Bool.lift(predicate(*(self.instance.protocol.state.at(store, ()) for store in stores)))

    def _rule(self, name: str, function: object, run: Callable[[Struct, Chooser], None], is_zero: bool) -> Rule:
        variables: dict[str, LeafDomain] = {}
        guards: list[Guard] = []

        def choose(asked: str, domain: LeafDomain) -> Value:
            known_as = self.name(asked)
            variables[known_as] = domain
            return domain.wrap(self.pool.variable(known_as, domain, domain.cardinality(self.instance.constants), False))

        store = SketchStore(self.instance.schema, self.pool, is_zero, guards=guards)
        with self._active(guards, choose), located(f"{self.instance.protocol.name}: {name}", function):
            run(self.instance.protocol.state.at(store, ()), choose)
        return Rule(name, tuple(variables.items()), tuple(guards), store)

    @contextmanager
    def _active(self, guards: list[Guard] | None, chooser: Chooser | None) -> Iterator[None]:
        with active(Trace(self.pool, self.instance.constants, Quantifying(self.pool), guards, chooser)):
            yield
