"""Combinators: quantification, choice and implication, written once and readable by every engine.

`every`, `some`, `greatest`, `least`, `smaller`, `ite`, `implies`, and `exercised`, which asks when a promise says anything.
The finite engines unroll them over the values of a type, the first-order reading makes them quantifiers; nothing in a
protocol depends on how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast, overload

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import active, current, literal
from acked.model.language.domain import LeafDomain, as_leaf
from acked.model.language.state import Struct
from acked.model.language.values import Bool, Id, Int, OptionalValue, SetValue, Value, type_name_of

V = TypeVar("V", bound=Value)
N = TypeVar("N", bound=Int)
I = TypeVar("I", bound=Id)  # noqa: E741
T = TypeVar("T")


def _values(domain: LeafDomain) -> list[Any]:
    return [domain.wrap(literal(code)) for code in range(domain.cardinality(current().constants))]


def truth(value: bool) -> Bool:
    """Always or never, as a symbolic value."""
    return Bool(current().pool.bool(value))


def each(over: type[V]) -> list[V]:
    """Every value of a type, to assign something to each; only where values are enumerated.

    >>> @invariant
    ... def first_and_last_hold(s: State) -> Bool:
    ...     holds = [s.acked <= s.end[b] for b in each(Broker)]
    ...     return holds[0] & holds[-1]
    >>> check(ask(toylog, first_and_last_hold, brokers=2, records=1)).verdict.value
    'holds'
    """
    if current().reading is not None:
        raise ModelError("each(…) needs finitely many values; quantify with every(…) or some(…)")
    return cast(list[V], _values(as_leaf(over)))


class _Conditional(Bool):
    """While antecedents are traced alone: a promise that says something only where an antecedent is true."""

    __slots__ = ()

    def __and__(self, other: Bool | bool) -> Bool:
        return _Conditional(super().__and__(other).expr)

    __rand__ = __and__


def _cases(over: Any, body: Callable[[Any], Bool]) -> list[tuple[Expr, Expr]]:
    """(is this value meant?, body of it) for every value of the type or of the set's type."""
    pool = current().pool
    if isinstance(over, SetValue):
        members = _values(as_leaf(over.item))
        return [(over.contains(member).expr, Bool.lift(body(member))) for member in members]
    return [(pool.true, Bool.lift(body(value))) for value in _values(as_leaf(over))]


@overload
def every(over: type[V], body: Callable[[V], Bool]) -> Bool: ...
@overload
def every(over: SetValue[I], body: Callable[[I], Bool]) -> Bool: ...
def every(over: Any, body: Callable[[Any], Bool]) -> Bool:
    """Whether the body holds for every value of a type, or for every member of a set.

    >>> @invariant
    ... def all_hold(s: State) -> Bool:
    ...     return every(Broker, lambda b: s.acked <= s.end[b])
    >>> check(ask(toylog, all_hold, brokers=2, records=1)).verdict.value
    'holds'
    """
    reading = current().reading
    if reading is not None:
        return reading.every(over, body)
    if current().antecedents_alone:
        return _every_antecedent(over, body)
    pool = current().pool
    return Bool(pool.all(pool.or_(pool.not_(meant), holds) for meant, holds in _cases(over, body)))


@overload
def some(over: type[V], body: Callable[[V], Bool]) -> Bool: ...
@overload
def some(over: SetValue[I], body: Callable[[I], Bool]) -> Bool: ...
def some(over: Any, body: Callable[[Any], Bool]) -> Bool:
    """Whether the body holds for some value of a type, or for some member of a set.

    >>> @invariant
    ... def one_leads(s: State) -> Bool:
    ...     return some(Broker, lambda b: s.leader == b)
    >>> check(ask(toylog, one_leads, brokers=2, records=1)).verdict.value
    'holds'
    """
    reading = current().reading
    if reading is not None:
        return reading.some(over, body)
    pool = current().pool
    return Bool(pool.any(pool.and_(meant, holds) for meant, holds in _cases(over, body)))


def greatest(over: type[N], body: Callable[[N], Bool], otherwise: N | None = None) -> N:
    """The greatest value for which the body holds; if there is none, `otherwise`, or the least value if not given.

    >>> @invariant
    ... def leader_holds_most(s: State) -> Bool:
    ...     return s.end[s.leader] == greatest(Count, lambda n: some(Broker, lambda b: s.end[b] == n))
    >>> check(ask(toylog, leader_holds_most, brokers=2, records=1)).verdict.value
    'holds'
    """
    reading = current().reading
    if reading is not None:
        return cast(N, reading.extreme(over, body, otherwise, is_greatest=True))
    values: list[N] = _values(as_leaf(over))
    return _first(values[::-1], body, otherwise)


def least(over: type[N], body: Callable[[N], Bool], otherwise: N | None = None) -> N:
    """The least value for which the body holds; if there is none, `otherwise`, or the greatest value if not given.

    >>> @invariant
    ... def least_is_acked(s: State) -> Bool:
    ...     return s.acked <= least(Count, lambda n: some(Broker, lambda b: s.end[b] == n))
    >>> check(ask(toylog, least_is_acked, brokers=2, records=1)).verdict.value
    'holds'
    """
    reading = current().reading
    if reading is not None:
        return cast(N, reading.extreme(over, body, otherwise, is_greatest=False))
    values: list[N] = _values(as_leaf(over))
    return _first(values, body, otherwise)


def _first(values: list[N], body: Callable[[N], Bool], otherwise: N | None) -> N:
    if otherwise is None:
        if not values:
            raise ModelError("greatest(…) or least(…) of no numbers at all; say what it is then by otherwise=…")
        *values, otherwise = values
    result = otherwise
    for value in reversed(values):
        result = ite(body(value), value, result)
    return result


def smaller(a: N, b: N) -> N:
    """The lesser of two numbers.

    >>> @invariant
    ... def acked_is_held(s: State) -> Bool:
    ...     return smaller(s.acked, s.end[s.leader]) == s.acked
    >>> check(ask(toylog, acked_is_held, brokers=2, records=1)).verdict.value
    'holds'
    """
    return ite(a < b, a, b)


def implies(antecedent: Bool, consequent: Bool) -> Bool:
    """Whether the consequent holds or the antecedent does not.

    >>> @invariant
    ... def acked_means_held(s: State) -> Bool:
    ...     return implies(s.acked > 0, s.end[s.leader] > 0)
    >>> check(ask(toylog, acked_means_held, brokers=2, records=1)).verdict.value
    'holds'
    """
    if current().antecedents_alone:
        says = ~antecedent | consequent if isinstance(consequent, _Conditional) else ~antecedent
        return _Conditional(says.expr)
    return ~antecedent | consequent


def _every_antecedent(over: Any, body: Callable[[Any], Bool]) -> Bool:
    """`every` while antecedents are traced alone: membership of a set is an antecedent, too."""
    pool = current().pool
    parts: list[Bool] = []
    for value in _values(as_leaf(over.item if isinstance(over, SetValue) else over)):
        said = body(value)
        said = said if isinstance(said, _Conditional) else Bool(Bool.lift(said))
        parts.append(implies(over.contains(value), said) if isinstance(over, SetValue) else said)
    together = pool.all(part.expr for part in parts)
    return _Conditional(together) if any(isinstance(part, _Conditional) for part in parts) else Bool(together)


def exercised(predicate: Callable[..., Bool]) -> Callable[..., Bool]:
    """Of a promise: where it says anything, that is, where the antecedent of one of its innermost implications is true.

    A promise without implications and without quantification over sets always says something. If the result is true in no
    reachable state, the promise holds vacuously.
    """

    def says_something(*states: Any) -> Bool:
        with active(replace(current(), antecedents_alone=True)):
            silent = predicate(*states)
        return ~Bool(silent.expr) if isinstance(silent, _Conditional) else truth(True)

    return says_something


@overload
def ite(condition: Bool, then: OptionalValue[V], other: OptionalValue[V] | V | None) -> OptionalValue[V]: ...
@overload
def ite(condition: Bool, then: V | None, other: OptionalValue[V]) -> OptionalValue[V]: ...
@overload
def ite(condition: Bool, then: T, other: T) -> T: ...
def ite(condition: Bool, then: Any, other: Any) -> Any:
    """`then` where the condition holds, else `other`; the two must be of one type.

    >>> @invariant
    ... def held_where_led(s: State) -> Bool:
    ...     return every(Broker, lambda b: ite(b == s.leader, s.end[b], s.acked) >= s.acked)
    >>> check(ask(toylog, held_where_led, brokers=2, records=1)).verdict.value
    'holds'
    """
    pool = current().pool
    test = Bool.lift(condition)
    for model, kind in ((then, OptionalValue), (other, OptionalValue), (then, SetValue)):
        if isinstance(model, kind):
            code = model.code_of if isinstance(model, OptionalValue) else model.mask_of
            return type(model)(pool.ite(test, code(then), code(other)), model.item)
    if isinstance(then, Struct) and type(other) is type(then):
        parts = {name: ite(condition, getattr(then, name), getattr(other, name)) for name in then.fields()}
        return type(then)(**parts)
    typed = then if isinstance(then, Value) else other
    if not isinstance(typed, Value):
        raise ModelError(f"ite(…) needs a symbolic value, got {type_name_of(then)} and {type_name_of(other)}")
    lift = cast(Any, type(typed)).lift
    return type(typed)(pool.ite(test, lift(then), lift(other)))
