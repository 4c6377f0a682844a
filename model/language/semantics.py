"""What a trace knows beyond its context: the guards stated so far, and what quantifiers, sets and optional values are.

`Semantics` is the one place where the two readings of a protocol differ: `finite.Finite` enumerates the values of a type,
`acked.model.firstorder.reading.Reading` makes first-order terms. A protocol is written without knowing which one reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import Context, current
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Count, I, IntLike, N, OptionalValue, V


@frozen
class Guard:
    """One labelled clause of an action's guard and the source line that states it."""

    label: str
    condition: Expr
    file: str
    line: int


class Semantics(Protocol):
    """What the language's free functions mean; codes are expressions, or what a reading has in their place."""

    def every(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """Whether the body holds for every value of a type, or for every member of a set."""

    def some(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """Whether the body holds for some value of a type, or for some member of a set."""

    def extreme(self, over: type[N], body: Callable[[N], Bool], otherwise: N | None, is_greatest: bool) -> N:
        """The greatest or the least value for which the body holds, else `otherwise`, else the value at the other end."""

    def count(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Count:
        """For how many values of a type, or members of a set, the body holds."""

    def each(self, over: type[V]) -> list[V]:
        """Every value of a type; `ModelError` where values are not enumerated."""

    def for_each(self, over: type[V], assign: Callable[[V], None]) -> None:
        """Runs an assignment for every value of a type."""

    def those(self, over: type[I], condition: Callable[[I], Bool]) -> SetValue[I]:
        """The set of the ids for which a condition holds now."""

    def one_of(self, over: type[I]) -> I:
        """Some id, always the same one."""

    def some_of(self, over: type[I], count: IntLike) -> SetValue[I]:
        """Some ids, always the same ones."""

    def implies(self, antecedent: Bool, consequent: Bool) -> Bool:
        """Whether the consequent holds or the antecedent does not."""

    def abbreviate(self, formula: Bool) -> Bool:
        """The formula, by a name of its own where that helps."""

    def vacuously(self, holds: Bool, where: Bool) -> Bool:
        """A formula that holds, of which it is known `where` it does so vacuously."""

    def optional_value(self, code: Expr, item: type[V]) -> OptionalValue[V]:
        """The optional value with a given code."""

    def no_value(self, item: type[V]) -> OptionalValue[V]:
        """The optional value that is none."""

    def set_value(self, code: Expr, item: type[I]) -> SetValue[I]:
        """The set with a given code."""

    def uniform_set(self, item: type[I], everything: bool) -> SetValue[I]:
        """The set of all ids, or the empty one."""


Chooser = Callable[[str, Any], Any]
"""From the name of a choice and the domain of its values (a `LeafDomain`) to the value that is chosen."""


@frozen
class Trace(Context):
    """The context of an action, a property or an initial state; `guards` and `chooser` are None in properties.

    `bound` is how many bound variables there are: above 0 a quantifier's body is traced once for all values of a struct.
    """

    semantics: Semantics
    guards: list[Guard] | None = field(default=None)
    chooser: Chooser | None = None
    bound: int = 0


def tracing() -> Trace:
    """The trace that is under way; `ModelError` outside one."""
    context = current()
    if not isinstance(context, Trace):
        raise ModelError("this part of the language works only while an action or a property is traced")
    return context


def is_binding() -> bool:
    """Whether a quantifier's body is traced once for all values, with bound variables in their place."""
    context = current()
    return isinstance(context, Trace) and context.bound > 0


def semantics() -> Semantics:
    """What quantifiers, sets and optional values are in the trace that is under way."""
    context = current()
    return context.semantics if isinstance(context, Trace) else tracing().semantics
