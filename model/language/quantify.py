"""Combinators: quantification, choice and implication, written once and readable by every engine.

`every`, `some`, `greatest`, `least`, `smaller`, `ite`, `implies`, and `exercised`: where a property is not vacuous. What they
mean is decided by the trace that is under way (`semantics.py`); nothing in a protocol depends on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, overload

from acked.model.formulas.errors import ModelError
from acked.model.formulas.functions import name_with_article, refuse_result
from acked.model.language.context import active, current
from acked.model.language.domain import must_be
from acked.model.language.finite import ANTECEDENTS, Conditional
from acked.model.language.semantics import semantics, tracing
from acked.model.language.sets import SetValue
from acked.model.language.state import Struct
from acked.model.language.storage.messages import MessagesView
from acked.model.language.values import Bool, Count, Enum, I, Id, Int, IntLike, N, OptionalValue, V, Value, type_name_of

T = TypeVar("T")
S = TypeVar("S", bound=Struct)
E = TypeVar("E", bound=Enum)


def truth(value: bool) -> Bool:
    """Always or never, as a symbolic value."""
    return Bool(current().pool.bool(value))


@overload
def each(over: type[V]) -> list[V]: ...
@overload
def each(over: type[S]) -> list[S]: ...
def each(over: Any) -> Any:
    """Every value of a type, to assign something to each; only where values are enumerated.

    >>> @invariant
    ... def first_and_last_hold(s: State) -> Bool:
    ...     holds = [s.acked <= s.end[b] for b in each(Broker)]
    ...     return holds[0] & holds[-1]
    >>> check(ask(toylog, first_and_last_hold, brokers=2, records=1)).verdict.value
    'holds'
    """
    return semantics().each(over)


def for_each(over: type[V], assign: Callable[[V], None]) -> None:
    """Assigns something for every value of a type; unlike a loop over `each`, however many values there are.

    What is assigned has the value as an index, and of what is assigned only that element is read: no order matters.

    >>> @action()
    ... def lose_everything(s: State) -> None:
    ...     def lose(b: Broker) -> None:
    ...         s.end[b] = 0
    ...     for_each(Broker, lose)
    >>> lose_everything.name
    'LoseEverything'
    """

    def once(value: V) -> None:
        result: object = assign(value)  # type: ignore[func-returns-value]
        refuse_result(result, "the function of for_each(…)", "assign to the fields of the state")

    semantics().for_each(over, once)


def those(over: type[I], condition: Callable[[I], Bool]) -> SetValue[I]:
    """The set of the ids for which a condition holds now, however many there are.

    >>> @invariant
    ... def leader_is_ahead(s: State) -> Bool:
    ...     return those(Broker, lambda b: s.end[b] >= s.acked).contains(s.leader)
    >>> check(ask(toylog, leader_is_ahead, brokers=2, records=1)).verdict.value
    'holds'
    """
    must_be(over, "the members of those(…) are", Id)
    return semantics().those(over, condition)


def one_of(over: type[I]) -> I:
    """Some id of a sort, always the same: which one it is must not matter, as long as ids are interchangeable.

    >>> @invariant
    ... def somebody_is_there(s: State) -> Bool:
    ...     return some(Broker, lambda b: b == one_of(Broker))
    >>> check(ask(toylog, somebody_is_there, brokers=2, records=1)).verdict.value
    'holds'
    """
    must_be(over, "one_of(…) is", Id)
    return semantics().one_of(over)


def some_of(over: type[I], count: IntLike) -> SetValue[I]:
    """So many ids of a sort, always the same ones, and `one_of` among them; 0 stands for all.

    >>> @invariant
    ... def two_are_meant(s: State) -> Bool:
    ...     return some_of(Broker, 2).size == 2
    >>> check(ask(toylog, two_are_meant, brokers=3, records=1)).verdict.value
    'holds'
    """
    must_be(over, "some_of(…) are", Id)
    return semantics().some_of(over, count)


def _function(body: T, word: str) -> T:
    """What is to be asked of every value; `ModelError` for what is no function."""
    if not inspect.isroutine(body):
        kind = name_with_article(type_name_of(body))
        raise ModelError(f"{word}(…) asks a function of each value, {word}(Broker, lambda b: …), and this is {kind}")
    return body


@overload
def every(over: type[V], body: Callable[[V], Bool]) -> Bool: ...
@overload
def every(over: type[S], body: Callable[[S], Bool]) -> Bool: ...
@overload
def every(over: SetValue[I], body: Callable[[I], Bool]) -> Bool: ...
@overload
def every(over: MessagesView[S], body: Callable[[S], Bool]) -> Bool: ...
def every(over: Any, body: Callable[[Any], Bool]) -> Bool:
    """Whether the body holds for every value of a type (a struct's too), or for every member of a set.

    >>> @invariant
    ... def all_hold(s: State) -> Bool:
    ...     return every(Broker, lambda b: s.acked <= s.end[b])
    >>> check(ask(toylog, all_hold, brokers=2, records=1)).verdict.value
    'holds'
    """
    _function(body, "every")
    if isinstance(over, MessagesView):
        return semantics().every(over.item, lambda one: implies(over.contains(one), body(one)))
    return semantics().every(over, body)


@overload
def some(over: type[V], body: Callable[[V], Bool]) -> Bool: ...
@overload
def some(over: type[S], body: Callable[[S], Bool]) -> Bool: ...
@overload
def some(over: SetValue[I], body: Callable[[I], Bool]) -> Bool: ...
@overload
def some(over: MessagesView[S], body: Callable[[S], Bool]) -> Bool: ...
def some(over: Any, body: Callable[[Any], Bool]) -> Bool:
    """Whether the body holds for some value of a type (a struct's too), or for some member of a set.

    >>> @invariant
    ... def one_leads(s: State) -> Bool:
    ...     return some(Broker, lambda b: s.leader == b)
    >>> check(ask(toylog, one_leads, brokers=2, records=1)).verdict.value
    'holds'
    """
    _function(body, "some")
    if isinstance(over, MessagesView):
        return semantics().some(over.item, lambda one: over.contains(one) & body(one))
    return semantics().some(over, body)


def greatest(over: type[N], body: Callable[[N], Bool], otherwise: N | None = None) -> N:
    """The greatest value for which the body holds; if there is none, `otherwise`, or the least value if not given.

    >>> @invariant
    ... def leader_holds_most(s: State) -> Bool:
    ...     return s.end[s.leader] == greatest(Count, lambda n: some(Broker, lambda b: s.end[b] == n))
    >>> check(ask(toylog, leader_holds_most, brokers=2, records=1)).verdict.value
    'holds'
    """
    must_be(over, "greatest(…) and least(…) are", Int)
    return semantics().extreme(over, _function(body, "greatest"), otherwise, is_greatest=True)


def least(over: type[N], body: Callable[[N], Bool], otherwise: N | None = None) -> N:
    """The least value for which the body holds; if there is none, `otherwise`, or the greatest value if not given.

    >>> @invariant
    ... def least_is_acked(s: State) -> Bool:
    ...     return s.acked <= least(Count, lambda n: some(Broker, lambda b: s.end[b] == n))
    >>> check(ask(toylog, least_is_acked, brokers=2, records=1)).verdict.value
    'holds'
    """
    must_be(over, "greatest(…) and least(…) are", Int)
    return semantics().extreme(over, _function(body, "least"), otherwise, is_greatest=False)


@overload
def count(over: type[V], body: Callable[[V], Bool]) -> Count: ...
@overload
def count(over: type[S], body: Callable[[S], Bool]) -> Count: ...
@overload
def count(over: SetValue[I], body: Callable[[I], Bool]) -> Count: ...
@overload
def count(over: MessagesView[S], body: Callable[[S], Bool]) -> Count: ...
def count(over: Any, body: Callable[[Any], Bool]) -> Count:
    """For how many values of a type, or different members of a set or a bag, the body holds.

    >>> @invariant
    ... def most_hold(s: State) -> Bool:
    ...     return 2 * count(Broker, lambda b: s.acked <= s.end[b]) > brokers.value
    >>> check(ask(toylog, most_hold, brokers=3, records=1)).verdict.value
    'holds'
    """
    _function(body, "count")
    if isinstance(over, MessagesView):
        return semantics().count(over.item, lambda one: over.contains(one) & body(one))
    return semantics().count(over, body)


def smaller(a: N, b: N) -> N:
    """The lesser of two numbers.

    >>> @invariant
    ... def acked_is_held(s: State) -> Bool:
    ...     return smaller(s.acked, s.end[s.leader]) == s.acked
    >>> check(ask(toylog, acked_is_held, brokers=2, records=1)).verdict.value
    'holds'
    """
    return ite(a < b, a, b)


def implies(antecedent: Bool, consequent: Bool | Callable[[], Bool]) -> Bool:
    """Whether the consequent holds or the antecedent does not.

    A consequent that takes long to trace can be given as a function, which is not called where the antecedent is never true.

    >>> @invariant
    ... def acked_means_held(s: State) -> Bool:
    ...     return implies(s.acked > 0, s.end[s.leader] > 0)
    >>> check(ask(toylog, acked_means_held, brokers=2, records=1)).verdict.value
    'holds'
    """
    if not isinstance(consequent, Bool):
        consequent = antecedent if antecedent.expr is current().pool.false else consequent()
    return semantics().implies(antecedent, consequent)


def abbreviate(formula: Bool) -> Bool:
    """The formula itself. A proof for all constants speaks of it by a name, so one that quantifies is spelled out once."""
    return semantics().abbreviate(formula)


def vacuously(holds: Bool, where: Bool) -> Bool:
    """A formula that holds, of which it is known `where` it does so vacuously, as an implication's antecedent says."""
    return semantics().vacuously(holds, where)


@lru_cache(256)  # One and the same for a predicate: what it says is known by the function.
def exercise(predicate: Callable[..., Bool]) -> Callable[..., Bool]:
    """Where a property is not vacuous, that is, where the antecedent of one of its innermost implications is true.

    A property without implications and without quantification over sets is vacuous nowhere. If the result is true in no
    reachable state, the property holds vacuously.
    """

    def says_something(*states: Any) -> Bool:
        with active(replace(tracing(), semantics=ANTECEDENTS)):
            silent = predicate(*states)
        return ~Bool(silent.expr) if isinstance(silent, Conditional) else truth(True)

    return says_something


@overload
def ite(condition: Bool, then: OptionalValue[V], other: OptionalValue[V] | V | None) -> OptionalValue[V]: ...
@overload
def ite(condition: Bool, then: V | None, other: OptionalValue[V]) -> OptionalValue[V]: ...
@overload
def ite(condition: Bool, then: N, other: N | IntLike) -> N: ...
@overload
def ite(condition: Bool, then: IntLike, other: N) -> N: ...
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
    model = then if isinstance(then, OptionalValue) else other
    if isinstance(model, OptionalValue):
        return type(model)(pool.ite(test, model.code_of(then), model.code_of(other)), model.item)
    if isinstance(then, SetValue):
        return type(then)(pool.ite(test, then.mask_of(then), then.mask_of(other)), then.item)
    if isinstance(then, Struct) and type(other) is type(then):
        parts = {name: ite(condition, getattr(then, name), getattr(other, name)) for name in then.fields()}
        return type(then)(**parts)
    typed = then if isinstance(then, Value) else other
    if not isinstance(typed, Value):
        raise ModelError(f"ite(…) needs a symbolic value, got {type_name_of(then)} and {type_name_of(other)}")
    lift = typed.lift
    return type(typed)(pool.ite(test, lift(then), lift(other)))


def named(item: type[E], name: str) -> E:
    """The value of a name, where nothing else says whose name it is: one side of `ite`."""
    return item(item.lift(name))
