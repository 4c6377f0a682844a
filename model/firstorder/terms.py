"""Terms of many-sorted first-order logic, built by the same calls as finite expressions.

`Term`, an interned node over Bool, Int and uninterpreted sorts, with quantifiers; `Logic`, which makes them and answers to
the methods of `acked.model.formulas.expr.Pool`, so that `Int`, `Id` and `Bool` of `model/language/values.py` work on terms as
they are.

Every quantifier binds a variable of its own, so no variable is ever captured. A quantifier over Int carries its bounds, both
included: what it ranges over is part of the term, and the term has a value under every finite interpretation. Inside the
condition of a choice between values a quantified formula gets a name (`Definition`), and so quantifiers stand only under and,
or, not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from acked.model.firstorder.ranges import least
from acked.model.firstorder.records import Cardinality, Choice, Definition, Detail, Implication, Measure, Relation
from acked.model.firstorder.symbols import BOOL, INT, Op, Sort, Symbol, Variable
from acked.model.formulas.connectives import Connective, Connectives, evaluation_order
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Unknown


@dataclass(frozen=True, slots=True, eq=False)
class Term(Unknown):
    """One node; compare with `is`.

    `value` is the literal of a CONST, the `Variable` of a VARIABLE, EVERY or SOME, the `Symbol` of an APPLY. A
    quantifier's arguments are its body or, over Int, least value, greatest value and body. `free` are the numbers of free
    variables.
    """

    logic: Logic
    id: int
    op: Op
    sort: Sort
    args: tuple[Term, ...]
    value: Any
    free: frozenset[int]
    has_quantifier: bool

    @property
    def pool(self) -> Logic:
        """The maker of this term, by the name that finite expressions use."""
        return self.logic

    @property
    def is_const(self) -> bool:
        """Whether the term is a literal."""
        return self.op is Op.CONST

    @property
    def truth(self) -> bool:
        """The value of a literal formula."""
        return bool(self.value)

    @property
    def negated(self) -> Term | None:
        """What stands below a negation; None of any other term."""
        return self.args[0] if self.op is Op.NOT else None

    @property
    def is_bool(self) -> bool:
        """Whether the term is a formula."""
        return self.sort is BOOL

    @property
    def lo(self) -> float:
        """The least that a number is known to be where that has a say in what is read (`Logic.is_exact`)."""
        if not self.logic.is_exact:
            raise AttributeError("lo")
        return least(self)

    # A constant that a bound is made of, such as `max_leader_epoch + 1`, is resolved by plain addition.
    def __add__(self, offset: int) -> Term:
        if hasattr(offset, "expr"):
            return NotImplemented
        return self.logic.add(self, self.logic.int(offset))

    def __sub__(self, offset: int) -> Term:
        return self.logic.add(self, self.logic.int(-offset))

    def _refuse(self, other: object = None) -> Any:
        if hasattr(other, "expr"):
            return NotImplemented  # A symbolic number compares itself with it.
        raise ModelError("a constant is not known in the first-order reading; quantify instead of counting up to it")

    def __bool__(self) -> bool:
        return True if self in self.logic.positive else self._refuse()

    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __mul__ = __floordiv__ = __mod__ = __neg__ = _refuse

    def __eq__(self, other: object) -> Any:
        # Python's own `nodes.value == 3` would be false whatever the size; beside a symbolic number it compares itself.
        if not self.logic.is_exact or not isinstance(other, int):
            return self is other or NotImplemented
        return self._refuse()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return to_text(self)


_CONNECTIVES: dict[Connective, Op] = {"not": Op.NOT, "and": Op.AND, "or": Op.OR}
_AGAIN = {
    Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.EQ: "eq", Op.LT: "lt", Op.AND: "and_", Op.OR: "or_",
}  # fmt: skip
_NONE: frozenset[int] = frozenset()
_Bool: TypeAlias = bool  # `Logic` has methods of these names.
_Int: TypeAlias = int


class Logic(Connectives[Term]):
    """Makes and interns terms, folding what is decided.

    `thresholds` are what sizes of sets are compared with, and how low each may be; `positive` constants that are never 0,
    `everything` the set of all ids of a sort, one set, so as large wherever it stands; for `abbreviations` see `definitions`.

    With `is_exact`, what is read beyond an array, of no id, or of a number below the least one of its type, is what a finite
    instance reads there. Without, it is open: so it may be for a protocol of which it is known that nothing depends on it.
    """

    def __init__(self, thresholds: Mapping[Hashable, int] = MappingProxyType({}), is_exact: bool = False) -> None:
        self._variables = self._fresh = 0
        self.is_exact = is_exact
        self.ranges: dict[Symbol | Variable, tuple[Term, Term]] = {}  # Between what numbers lie in any state that counts.
        self.cardinalities: dict[Symbol, Cardinality] = {}
        self.kinds: dict[str, object] = {}  # The type of ids that a sort's name stands for.
        self.thresholds = thresholds
        self.positive: set[Term] = set()
        self.definitions: dict[Symbol, Definition] = {}
        self.measures: dict[Symbol, Measure] = {}
        self.chosen: dict[Symbol, Hashable] = {}  # How many ids are meant by a symbol of some of them.
        self.everything: dict[Sort, Relation] = {}
        self.units: dict[Symbol, str] = {}  # The type that a constant is of: a hint for solvers.
        self._names: dict[int, Term] = {}
        self.abbreviations: dict[object, Symbol] = {}
        super().__init__()

    # -- leaves -------------------------------------------------------------------------------------------------

    def bool(self, value: bool) -> Term:
        """A truth value."""
        return self._intern(Op.CONST, BOOL, (), bool(value))

    def int(self, value: int | Term) -> Term:
        """A number, known or not."""
        return value if isinstance(value, Term) else self._intern(Op.CONST, INT, (), value)

    def apply(self, symbol: Symbol, arguments: Iterable[Term] = ()) -> Term:
        """A function's value."""
        given = tuple(arguments)
        if tuple(item.sort for item in given) != symbol.arguments:
            wanted = ", ".join(sort.name for sort in symbol.arguments)
            raise ModelError(f"{symbol.name} takes ({wanted}), not ({', '.join(item.sort.name for item in given)})")
        return self._intern(Op.APPLY, symbol.result, given, symbol)

    def fresh(self, name: str) -> str:
        """A name for a symbol that no other symbol has."""
        self._fresh += 1
        return f"{name}{self._fresh}"

    def variable(self, sort: Sort, hint: str) -> Term:
        """A variable that nothing else uses."""
        self._variables += 1
        return self._intern(Op.VARIABLE, sort, (), Variable(self._variables, sort, hint))

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def add(self, a: Term, b: Term) -> Term:
        """a + b."""
        if a.is_const:
            a, b = b, a
        if b.is_const:
            if a.is_const:
                return self.int(a.value + b.value)
            if b.value == 0:
                return a
            if a.op is Op.ADD and a.args[1].is_const:
                return self.add(a.args[0], self.int(a.args[1].value + b.value))
        return self._intern(Op.ADD, INT, (a, b))

    def sub(self, a: Term, b: Term) -> Term:
        """a - b."""
        return self.add(a, self.int(-b.value)) if b.is_const else self._intern(Op.SUB, INT, (a, b))

    def mul(self, a: Term, b: Term) -> Term:
        """a * b, one of them a literal: what is beyond linear arithmetic has no decision procedure."""
        if a.is_const:
            a, b = b, a
        if not b.is_const:
            raise ModelError("a product of two unknowns is beyond the first-order reading; multiply by a plain number")
        return self.int(a.value * b.value) if a.is_const else self._intern(Op.MUL, INT, (a, b))

    def __getattr__(self, name: str) -> Any:
        if name in {"div", "mod", "bitand", "bitor", "bitxor", "shl", "shr"}:
            raise ModelError(f"{name} has no first-order reading; say it with comparisons, sets and quantifiers")
        raise AttributeError(name)

    # -- comparison and logic -----------------------------------------------------------------------------------

    def eq(self, a: Any, b: Any) -> Term:
        """a == b, of two formulas, terms of one sort, optional ids or sets."""
        if isinstance(a, Choice):
            both_none = self.and_(self.not_(a.is_some), self.not_(b.is_some))
            if a.value is None or b.value is None:
                return both_none
            same = self.and_(a.is_some, self.and_(b.is_some, self.eq(a.value, b.value)))
            return self.or_(both_none, same)
        if isinstance(a, Relation):
            same = self.every(a.sort, a.sort.name, lambda x: self.eq(a.member(x), b.member(x)))
            return self.all((same, *(self.eq(a.reaches(bound), b.reaches(bound)) for bound in self.thresholds)))
        if a is b:
            return self.true
        if a.sort is not b.sort and a.sort != b.sort:
            raise ModelError(f"a {a.sort.name} is never compared with a {b.sort.name}")
        if a.is_const and b.is_const:
            return self.bool(a.value == b.value)
        if a.is_const:
            a, b = b, a
        if b.is_const and self._is_size(a) and b.value <= 1:
            return self.and_(self._is_smaller(a, b.value + 1), self.not_(self._is_smaller(a, b.value)))
        if a.is_bool:
            if b.is_const:
                return a if b.value else self.not_(a)
            if a.has_quantifier or b.has_quantifier:
                return self.and_(self.or_(self.not_(a), b), self.or_(a, self.not_(b)))
        if b.is_const and a.op is Op.ADD and a.args[1].is_const:
            return self.eq(a.args[0], self.int(b.value - a.args[1].value))
        if b.is_const and a.op is Op.ITE and a.args[1].is_const and a.args[2].is_const:
            return cast(Term, self.ite(a.args[0], self.eq(a.args[1], b), self.eq(a.args[2], b)))
        if not b.is_const and a.id > b.id:
            a, b = b, a
        return self._intern(Op.EQ, BOOL, (a, b))

    def lt(self, a: Term, b: Term) -> Term:
        """a < b."""
        if a is b:
            return self.false
        if a.is_const and b.is_const:
            return self.bool(a.value < b.value)
        if b.is_const and self._is_size(a) and b.value <= 2:
            return self._is_smaller(a, b.value)
        if a.is_const and self._is_size(b) and a.value <= 1:
            return self.not_(self._is_smaller(b, a.value + 1))
        return self._intern(Op.LT, BOOL, (a, b))

    def _is_size(self, number: Term) -> _Bool:
        return number.op is Op.APPLY and number.value in self.cardinalities

    def _is_smaller(self, size: Term, than: _Int) -> Term:
        """Whether a set has less than none, one or two members, said without numbers."""
        known = self.cardinalities[size.value]
        sort, hint, bounds = known.sort, known.sort.name, known.bounds
        if than <= 0:
            return self.false
        if than == 1:
            return self.every(sort, hint, lambda x: self.not_(known.member(x, size.args)), bounds)

        def both(x: Term, y: Term) -> Term:
            return self.and_(known.member(x, size.args), known.member(y, size.args))

        def only(x: Term) -> Term:
            return self.every(sort, hint, lambda y: self.or_(self.not_(both(x, y)), self.eq(x, y)), bounds)

        return self.every(sort, hint, only, bounds)

    def ite(self, condition: Term, then: Any, other: Any) -> Any:
        """`then` where the condition holds, else `other`."""
        if condition.is_const:
            return then if condition.value else other
        if then is other:
            return then
        if isinstance(then, Choice):
            values = [choice.value for choice in (then, other) if choice.value is not None]
            value = self.ite(condition, *values) if len(values) == 2 else (values or [None])[0]
            return Choice(self, self.ite(condition, then.is_some, other.is_some), value)
        condition = self.give_name(condition)
        if isinstance(then, Relation):
            return Relation(
                self,
                then.sort,
                lambda x: self.ite(condition, then.member(x), other.member(x)),
                lambda bound: self.ite(condition, then.reaches(bound), other.reaches(bound)),
            )
        if condition.op is Op.NOT:
            condition, then, other = condition.args[0], other, then
        if then.is_bool:
            if (folded := self.choose(condition, then, other)) is not None:
                return folded
            if then.has_quantifier or other.has_quantifier:
                return self.and_(self.or_(self.not_(condition), then), self.or_(condition, other))
        return self._intern(Op.ITE, then.sort, (condition, then, other))

    # -- quantifiers and definitions ----------------------------------------------------------------------------

    def every(self, sort: Sort, hint: str, body: Callable[[Term], Term], bounds: tuple[Term, Term] | None = None) -> Term:
        """Whether the body holds of everything of the sort; over Int, of everything within the bounds."""
        return self._quantify(Op.EVERY, sort, hint, body, bounds)

    def some(self, sort: Sort, hint: str, body: Callable[[Term], Term], bounds: tuple[Term, Term] | None = None) -> Term:
        """Whether the body holds of something of the sort; over Int, of something within the bounds."""
        return self._quantify(Op.SOME, sort, hint, body, bounds)

    def _quantify(
        self, op: Op, sort: Sort, hint: str, body: Callable[[Term], Term], bounds: tuple[Term, Term] | None
    ) -> Term:
        if (sort is INT) != (bounds is not None):
            raise ModelError("a quantifier over numbers needs bounds, one over ids has none")
        variable = self.variable(sort, hint)
        if bounds is not None:
            self.ranges[variable.value] = bounds
        inner = body(variable)
        # An uninterpreted sort has a member, a range of numbers may have none.
        if inner.is_const and (bounds is None or inner.value is (op is Op.EVERY)):
            return inner
        if bounds is None and variable.value.number not in inner.free:
            return inner
        return self._intern(op, BOOL, (*(bounds or ()), inner), variable.value)

    def give_name(self, formula: Term) -> Term:
        """The formula itself if it has no quantifier, else a predicate of its free variables that is defined as it."""
        if not formula.has_quantifier:
            return formula
        if formula.op is Op.NOT:
            return self.not_(self.give_name(formula.args[0]))
        known = self._names.get(formula.id)
        if known is None:
            variables = tuple(item.value for item in free_variables(formula))
            symbol = Symbol(f"named{len(self.definitions)}", tuple(item.sort for item in variables), BOOL)
            known = self.apply(symbol, map(self.bound, variables))
            self._names[formula.id] = known
            self.define(symbol, variables, (self.or_(self.not_(known), formula), self.or_(known, self.not_(formula))))
        return known

    def define(
        self,
        symbol: Symbol,
        variables: tuple[Variable, ...],
        meaning: tuple[Term, ...],
        claims: tuple[Implication, ...] = (),
        outline: tuple[Term, ...] | None = None,
    ) -> None:
        """Records what a symbol stands for; the meaning speaks of it applied to the variables."""
        closed = tuple(self.close(axiom, variables) for axiom in meaning)
        least = closed if outline is None else tuple(self.close(axiom, variables) for axiom in outline)
        self.definitions[symbol] = Definition(symbol, variables, meaning, closed, least, claims)

    def close(self, formula: Term, variables: Iterable[Variable]) -> Term:
        """That the formula holds for all values of the variables, of numbers for all integers.

        Only what solvers are told as it is may be so, such as a definition: it has no value where everything is finite.
        """
        for item in reversed(tuple(variables)):
            formula = self._intern(Op.EVERY, BOOL, (formula,), item)
        return formula

    def axioms_of(self, symbol: Symbol, detail: Detail = Detail.WHOLE) -> tuple[Term, ...]:
        """What is said of a symbol wherever it stands: what it is defined to be, or what is true of the size it compares."""
        found = self.definitions.get(symbol)
        if found is None:
            told = self.measures.get(symbol) or self.cardinalities.get(symbol)
            return () if told is None else told.axioms
        if detail is Detail.NAMES and symbol.result is INT:
            return ()
        return found.axioms if detail is Detail.WHOLE else found.outline

    def bound(self, variable: Variable) -> Term:
        """The term of a variable."""
        return self._intern(Op.VARIABLE, variable.sort, (), variable)

    def rows(self) -> Iterator[str]:
        """Every term made so far as a line, in the order of construction."""
        for node in self._nodes.values():
            yield f"{node.op.value} {node.sort.name} {node.value} {[arg.id for arg in node.args]}\n"

    def rebuild(self, node: Term, args: tuple[Term, ...]) -> Term:
        """A node like this one of other arguments, folded again."""
        match node.op:
            case Op.NOT:
                return self.not_(*args)
            case Op.ITE:
                return cast(Term, self.ite(*args))
            case Op.ADD | Op.SUB | Op.MUL | Op.EQ | Op.LT | Op.AND | Op.OR:
                return cast(Term, getattr(self, _AGAIN[node.op])(*args))
        return self._intern(node.op, node.sort, args, node.value)

    # -- internals ----------------------------------------------------------------------------------------------

    def _connect(self, connective: Connective, args: tuple[Term, ...]) -> Term:
        return self._intern(_CONNECTIVES[connective], BOOL, args)

    def _intern(self, op: Op, sort: Sort, args: tuple[Term, ...], value: Any = None) -> Term:
        key = (op, sort, value, *[arg.id for arg in args])
        node = self._nodes.get(key)
        if node is None:
            free = args[0].free if len(args) == 1 else _NONE.union(*[arg.free for arg in args])
            is_quantifier = op in (Op.EVERY, Op.SOME)
            if op is Op.VARIABLE:
                free = frozenset({value.number})
            elif is_quantifier:
                free -= {value.number}
            has_quantifier = is_quantifier or True in [arg.has_quantifier for arg in args]
            node = Term(self, len(self._nodes), op, sort, args, value, free, has_quantifier)
            self._nodes[key] = node
        return node


def free_variables(term: Term) -> Iterator[Term]:
    """The variables of a term that none of its quantifiers binds."""
    return (node for node in evaluation_order([term]) if node.op is Op.VARIABLE and node.value.number in term.free)


def to_text(term: Term) -> str:
    """The term as an S-expression."""
    match term.op:
        case Op.CONST:
            return str(term.value).lower() if term.is_bool else str(term.value)
        case Op.VARIABLE:
            return str(term.value.name)
        case Op.APPLY:
            name = str(term.value.name)
            return f"({name} {' '.join(map(to_text, term.args))})" if term.args else name
        case Op.EVERY | Op.SOME:
            *bounds, body = map(to_text, term.args)
            within = f" {bounds[0]}..{bounds[1]}" if bounds else ""
            return f"({term.op.value} ({term.value.name}{within}) {body})"
    return f"({term.op.value} {' '.join(map(to_text, term.args))})"
