"""Typed symbolic values: what an author of a protocol computes with.

`Bool`, `Int` and `Id` (whose subclasses are a protocol's own types, such as `Offset` or `Replica`), and optional values,
each a thin typed coat over an expression; sets are in `sets.py`.

The types keep what they are: an `Id` can only be compared for equality, an `Int` of one unit only with its own unit. That is
what lets the same source be read as first-order logic later.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar

from acked.base.names import near
from acked.model.formulas.errors import ModelError, UnknownName
from acked.model.formulas.expr import Expr
from acked.model.formulas.functions import Sort, asks_for_truth, name_with_article, refusing, words_of
from acked.model.language.context import Computed, Constant, Size, Unknown, current, literal, resolve

IntLike = int | Constant | Size | Computed
"""What stands for a number beside a typed `Int`."""


class Value(metaclass=Sort):
    """A symbolic value; refuses every use that would need its concrete value while a protocol is traced."""

    __slots__ = ("expr",)
    type_name: ClassVar[str] = "value"
    instead: ClassVar[str] = "compare it with == or !="

    if not TYPE_CHECKING:  # a type checker is to find these by their absence, an author by their message
        __lt__, __le__, __gt__, __ge__ = map(refusing, ("<", "<=", ">", ">="))
        __add__ = __radd__ = refusing("+")
        __sub__ = __rsub__ = __neg__ = refusing("-")
        __mul__ = __rmul__ = refusing("*")
        __floordiv__ = __rfloordiv__ = refusing("//")
        __truediv__ = __rtruediv__ = refusing("/")
        __mod__ = __rmod__ = refusing("%")
        __pow__ = __rpow__ = refusing("**")
        __lshift__ = __rlshift__ = refusing("<<")
        __rshift__ = __rrshift__ = refusing(">>")
        __and__ = __rand__ = refusing("&")
        __or__ = __ror__ = refusing("|")
        __xor__ = __rxor__ = refusing("^")
        __invert__ = refusing("~")
        __abs__ = refusing("abs(…)")
        __len__ = refusing("len(…)")
        __contains__ = refusing("in")
        __getitem__ = refusing("[…]")

        def __call__(self, *_: object) -> NoReturn:
            raise ModelError(f"{name_with_article(self.type_name)} is no function; write it without (…)")

        def __str__(self, _: str = "") -> NoReturn:
            raise ModelError(f"{name_with_article(self.type_name)} has no text: it has no value while a protocol is traced")

        __format__ = __str__

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__") or name in self.__slots__:
                raise AttributeError(name)
            raise UnknownName(f"{name_with_article(self.type_name)} has no {name!r}; it has {', '.join(_public(type(self)))}")

    def __repr__(self) -> str:
        return f"<{self.type_name}>"

    def __init__(self, expr: Expr) -> None:
        if type(expr) is not Expr and isinstance(expr, _NO_CODES):
            name, given = type(self).__name__, type_name_of(expr) if isinstance(expr, Value) else repr(expr)
            raise ModelError(f"{name}({given}) makes no {self.type_name}; write the value alone, or {name}(literal(…))")
        self.expr = expr

    @classmethod
    def lift(cls, value: object) -> Expr:
        """The expression of a value of this type, or of a plain one that stands for it; `ModelError` for anything else."""
        raise mismatch("Bool, Int or Id", value)

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        """Whether both are the same; also with an optional value of the type, which then is not none."""
        if isinstance(other, OptionalValue):
            return other == self
        return Bool(self.expr.pool.eq(self.expr, self.lift(other)))

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    def __bool__(self) -> NoReturn:
        if asks_for_truth(sys._getframe(1)):
            raise ModelError(
                f"a symbolic {self.type_name} has no truth value, which a function of Python's own asks for; write smaller(…)"
                " or ite(…) for min(…), max(…) and sorted(…), some(…) for any(…), every(…) for all(…), and no bool(…)"
            )
        raise ModelError(
            f"a symbolic {self.type_name} has no truth value; write `&`, `|`, `~`, implies(…) or ite(…) instead of "
            "`and`, `or`, `not`, `if` or a chained comparison"
        )

    def __index__(self) -> NoReturn:
        raise ModelError(
            f"a symbolic {self.type_name} cannot bound a loop or index a Python list; use every(…), some(…), "
            "greatest(…) or least(…)"
        )

    def __iter__(self) -> NoReturn:
        raise ModelError(f"a symbolic {self.type_name} cannot be looped over; use every(…) or some(…)")

    def __hash__(self) -> int:
        sort = type(self).__name__
        instead = f"; a set of them is none_of({sort}).add(…)" if isinstance(self, Id) else ""
        raise ModelError(f"a symbolic {self.type_name} cannot be a dictionary key or a member of a Python set{instead}")


_NO_CODES = (int, str, Value, Constant, Size, Computed, type(None))


def _public(kind: type) -> list[str]:
    """What an author may ask of a value."""
    of_ours = {"expr", "lift", "type_name", "instead", "item", "code_of", "mask_of", "lo", "hi", "size", "names"}
    hidden = of_ours - {"size"} if hasattr(kind, "mask_of") else of_ours
    return [name for name in dir(kind) if not name.startswith("_") and name not in hidden] or ["only its comparisons"]


def mismatch(expected: str, got: object) -> ModelError:
    """What is wrong where something else stands than a value of the expected type."""
    if isinstance(got, (Constant, Size, Computed)):
        return ModelError(f"expected {name_with_article(expected)}, got a constant; write .value, or .on of a switch")
    if isinstance(got, type):
        return ModelError(f"expected {name_with_article(expected)}, got the type {got.__name__}; write a value of it")
    return ModelError(f"expected {name_with_article(expected)}, got {name_with_article(type_name_of(got))}")


def type_name_of(value: object) -> str:
    """How an error names the type of a value."""
    return getattr(value, "type_name", None) or ("None" if value is None else type(value).__name__)


class Bool(Value):
    """A truth value that depends on the state.

    >>> @invariant
    ... def acked_or_empty(s: State) -> Bool:
    ...     return (s.acked == 0) | (s.end[s.leader] > 0) & ~(s.acked > records.value)
    >>> check(ask(toylog, acked_or_empty, brokers=2, records=1)).verdict.value
    'holds'
    """

    __slots__ = ()
    type_name = "Bool"
    instead = "combine truth values with `&`, `|`, `~`, implies(…), ite(…), == or !="

    @classmethod
    def lift(cls, value: object) -> Expr:
        """The expression of a `Bool` or a Python bool; `ModelError` for anything else."""
        if isinstance(value, Bool):
            return value.expr
        if isinstance(value, bool):
            return current().pool.bool(value)
        raise mismatch("Bool", value)

    def __and__(self, other: Bool | bool) -> Bool:
        return Bool(self.expr.pool.and_(self.expr, Bool.lift(other)))

    def __or__(self, other: Bool | bool) -> Bool:
        return Bool(self.expr.pool.or_(self.expr, Bool.lift(other)))

    def __invert__(self) -> Bool:
        return Bool(self.expr.pool.not_(self.expr))

    __rand__ = __and__
    __ror__ = __or__


class Int(Value):
    """A bounded integer of one unit; subclass it per unit: `class Offset(Int, lo=0, hi=log_size)`.

    Arithmetic keeps the unit. Comparing or adding two units is an error; plain numbers and constants fit every unit.

    >>> class Offset(Int, lo=0, hi=records + 1):
    ...     "A place in a log."
    >>> Offset.type_name, Offset.lo
    ('offset', 0)
    """

    __slots__ = ()
    type_name = "Int"
    instead = "use +, -, *, //, % or a comparison with its own unit or a plain number"
    lo: ClassVar[IntLike] = 0
    hi: ClassVar[IntLike] = 0

    def __init_subclass__(cls, *, lo: IntLike = 0, hi: IntLike, name: str | None = None) -> None:
        cls.lo, cls.hi = lo, hi
        cls.type_name = name or words_of(cls.__name__)

    @classmethod
    def lift(cls, value: object) -> Expr:
        """The expression of a value of this unit, a number or a constant; `ModelError` for anything else."""
        if type(value) is cls:
            return value.expr
        if isinstance(value, (int, Constant, Size, Computed, Unknown)) and not isinstance(value, bool):
            return literal(resolve(value))
        raise mismatch(cls.type_name, value)

    def __add__(self, other: Self | IntLike) -> Self:
        return type(self)(self.expr.pool.add(self.expr, self.lift(other)))

    def __sub__(self, other: Self | IntLike) -> Self:
        return type(self)(self.expr.pool.sub(self.expr, self.lift(other)))

    def __rsub__(self, other: Self | IntLike) -> Self:
        return type(self)(self.expr.pool.sub(self.lift(other), self.expr))

    def __mul__(self, other: Self | IntLike) -> Self:
        return type(self)(self.expr.pool.mul(self.expr, self.lift(other)))

    def __floordiv__(self, other: Self | IntLike) -> Self:
        return type(self)(self.expr.pool.div(self.expr, self.lift(other)))

    def __mod__(self, other: Self | IntLike) -> Self:
        return type(self)(self.expr.pool.mod(self.expr, self.lift(other)))

    def __lt__(self, other: Self | IntLike) -> Bool:
        return Bool(self.expr.pool.lt(self.expr, self.lift(other)))

    def __le__(self, other: Self | IntLike) -> Bool:
        return Bool(self.expr.pool.le(self.expr, self.lift(other)))

    def __gt__(self, other: Self | IntLike | OptionalValue[Self]) -> Bool:
        if isinstance(other, OptionalValue):
            return other < self
        return Bool(self.expr.pool.lt(self.lift(other), self.expr))

    def __ge__(self, other: Self | IntLike) -> Bool:
        return Bool(self.expr.pool.le(self.lift(other), self.expr))

    __radd__ = __add__
    __rmul__ = __mul__


class Enum(Int, hi=0):
    """One of a few named values: `class Phase(Enum, names=("working", "prepared", "committed"))`, the first one initially.

    A name stands for its value wherever one is assigned or compared: `s.phase[r] = "prepared"`. There is no order. Where the
    type needs no name of its own, `Enum("working", "prepared", "committed")` is one.

    >>> class Phase(Enum, names=("working", "prepared", "committed")):
    ...     "How far a participant is."
    >>> class Participants(Struct):
    ...     phase = field(Array(Broker, Phase), "how far each one is")
    >>> Phase.names, Participants.domains()["phase"].element.to_plain(2, {})
    (('working', 'prepared', 'committed'), 'committed')
    """

    __slots__ = ()
    type_name = "Enum"
    instead = "compare it with == or !=, with one of its names"
    names: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:
        __lt__, __le__, __gt__, __ge__, __floordiv__, __mod__ = map(refusing, ("<", "<=", ">", ">=", "//", "%"))
        __add__, __sub__, __mul__ = __radd__, __rsub__, __rmul__ = [refusing(sign) for sign in "+-*"]

        def __new__(cls, *names: object) -> Any:
            return _unnamed(names) if cls is Enum else super().__new__(cls)

    else:

        def __init__(self, *names: str | Expr) -> None: ...

    def __init_subclass__(cls, *, names: Sequence[str], name: str | None = None) -> None:
        super().__init_subclass__(hi=len(names) - 1, name=name)
        cls.names = tuple(names)
        if not names or len({*names}) < len(names) or not all(isinstance(one, str) and one for one in names):
            raise ModelError(f"{cls.__name__} has the names {cls.names!r}; an Enum has at least one, each a text of its own")

    @classmethod
    def lift(cls, value: object) -> Expr:
        """The expression of a value of this type or of a name of it; `ModelError` for anything else."""
        if isinstance(value, str):
            if value not in cls.names:
                meant = near(value, cls.names)
                raise ModelError(f"{cls.type_name} is never {value!r}{meant}; it is {' or '.join(cls.names)}")
            return literal(cls.names.index(value))
        if type(value) is not cls:
            raise mismatch(cls.type_name, value)
        return value.expr


@cache
def _unnamed(names: tuple[object, ...]) -> type[Enum]:
    """The type with these names, always the same one, so that its values can be compared."""

    class Named(Enum, names=names, name="value"):
        """One of a few named values."""

    return Named


class Count(Int, hi=64, name="count"):
    """How many members a set has."""


class Id(Value):
    """One of n interchangeable things, only ever compared for equality: `class Replica(Id, size=replicas)`.

    >>> class Consumer(Id, size=2):
    ...     "One of the consumers."
    >>> Consumer.type_name, Consumer.size
    ('consumer', 2)
    """

    __slots__ = ()
    type_name = "Id"
    instead = "ids have neither order nor arithmetic: compare with == or !="
    size: ClassVar[IntLike] = 1

    def __init_subclass__(cls, *, size: IntLike, name: str | None = None) -> None:
        cls.size = size
        cls.type_name = name or words_of(cls.__name__)

    @classmethod
    def lift(cls, value: object) -> Expr:
        """The expression of a value of this sort or a plain index in range; `ModelError` for anything else."""
        if type(value) is cls:
            return value.expr
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < resolve(cls.size):
                raise ModelError(f"{cls.type_name} {value} does not exist: there are {resolve(cls.size)}, from 0")
            return literal(value)
        raise mismatch(cls.type_name, value)


V = TypeVar("V", bound=Value)
N = TypeVar("N", bound=Int)
E = TypeVar("E", bound=Enum)
I = TypeVar("I", bound=Id)  # noqa: E741


def _least(expr: Expr) -> float:
    """The least that an expression can be; of a first-order term, whose range is a clause to be proved, no bound."""
    return getattr(expr, "lo", inf)


def _unless_below(number: Expr, bound: int, shift: int, otherwise: Expr) -> Expr:
    """A number plus `shift` where it is below a bound, elsewhere something else.

    If it can only be below by one, as no id is, nothing is said of order.
    """
    pool, lowest = number.pool, _least(number)
    if lowest == bound - 1:
        return pool.ite(pool.eq(number, literal(bound - 1)), literal(bound - 1 + shift), otherwise)
    return pool.ite(pool.lt(number, literal(bound)), pool.add(number, literal(shift)), otherwise)


class OptionalValue(Value, Generic[V]):
    """A value or none. In comparisons by `<` none is below every value; `==` with a value is false of none.

    The expression is a code: 0 is none, 1 + k the k-th value of the type, −k what is k below the least value. So a number
    that no field of the type can hold, such as the offset −1, is neither none nor a value, and assigning it is an error.
    """

    __slots__ = ("item",)
    instead = "take its `.value` where `.is_some` holds"

    def __init__(self, code: Expr, item: type[V]) -> None:
        if type(code) is not Expr:
            super().__init__(code)
        self.expr, self.item = code, item

    @property
    def type_name(self) -> str:  # type: ignore[override]
        """How errors name the type."""
        return f"optional {self.item.type_name}"

    @property
    def is_none(self) -> Bool:
        """Whether there is no value."""
        return Bool(self.expr.pool.eq(self.expr, literal(0)))

    @property
    def is_some(self) -> Bool:
        """Whether there is a value."""
        return ~self.is_none

    @property
    def value(self) -> V:
        """The value. Of none this is one below the type's least, and of no id: assigning it is caught as leaving the domain.

        Comparisons take it for what it is. As an index it is beyond the array: what is read there is some element.
        """
        code = self.expr
        value = code.pool.add(code, literal(self._base - 1))
        return self.item(value if _least(code) >= 0 else _unless_below(code, 0, self._base, value))

    @property
    def _base(self) -> int:
        return resolve(self.item.lo) if issubclass(self.item, Int) else 0

    def code_of(self, other: object) -> Expr:
        """The code of a value, of None or of another optional of the same type."""
        pool = self.expr.pool
        if other is None:
            return literal(0)
        if isinstance(other, OptionalValue):
            if other.item is not self.item:
                raise mismatch(self.type_name, other)
            return other.expr
        value, base = self.item.lift(other), self._base
        code = pool.add(value, literal(1 - base))
        return code if _least(value) >= base else _unless_below(value, base, -base, code)

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        return Bool(self.expr.pool.eq(self.expr, self.code_of(other)))

    def __lt__(self, other: V | OptionalValue[V] | IntLike) -> Bool:
        self._require_order()
        return self._before(self.expr, self.code_of(other))

    def __gt__(self, other: V | OptionalValue[V] | IntLike) -> Bool:
        self._require_order()
        return self._before(self.code_of(other), self.expr)

    @staticmethod
    def _before(a: Expr, b: Expr) -> Bool:
        """Whether the first of two codes comes first: none, what is below the least value, the values."""
        pool = a.pool
        if _least(a) >= 0 and _least(b) >= 0:
            return Bool(pool.lt(a, b))
        none = literal(0)
        return Bool(pool.and_(pool.not_(pool.eq(b, none)), pool.or_(pool.eq(a, none), pool.lt(a, b))))

    def __le__(self, other: V | OptionalValue[V] | IntLike) -> Bool:
        return ~(self > other)

    def __ge__(self, other: V | OptionalValue[V] | IntLike) -> Bool:
        return ~(self < other)

    def _require_order(self) -> None:
        if not issubclass(self.item, Int):
            raise ModelError(f"{name_with_article(self.item.type_name)} has no order; compare with == or !=")

    __hash__ = Value.__hash__
