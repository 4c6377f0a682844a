"""The language where everything is finite: quantifiers are unrolled, sets are masks, optional values are codes.

`Finite`, which every engine reads protocols by, and `Antecedents`, by which a property says where it is not vacuous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, cast

from acked.model.formulas.binding import instances, variable
from acked.model.formulas.errors import ModelError, attempt
from acked.model.formulas.expr import Expr
from acked.model.language.choices import Choices, given, leaves
from acked.model.language.context import Context, active, current, literal, resolve
from acked.model.language.domain import LeafDomain
from acked.model.language.semantics import tracing
from acked.model.language.sets import SetValue
from acked.model.language.storage.composites import StructDomain, as_domain
from acked.model.language.values import Bool, Count, I, IntLike, N, OptionalValue, V


class Finite:
    """Every type has finitely many values under the constants of the trace."""

    def every(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """A conjunction."""
        pool = current().pool
        return Bool(pool.all(pool.or_(pool.not_(meant), holds) for meant, holds in _cases(over, body)))

    def some(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """A disjunction."""
        pool = current().pool
        return Bool(pool.any(pool.and_(meant, holds) for meant, holds in _cases(over, body)))

    def extreme(self, over: type[N], body: Callable[[N], Bool], otherwise: N | None, is_greatest: bool) -> N:
        """Nested choices."""
        values = self.each(over)
        if is_greatest:
            values.reverse()
        if otherwise is None:
            if not values:
                raise ModelError("greatest(…) or least(…) of a type that has no values; pass otherwise=… as the result")
            *values, otherwise = values
        pool, result = current().pool, otherwise
        for value in reversed(values):
            unit = type(value)
            result = unit(pool.ite(Bool.lift(body(value)), value.expr, unit.lift(result)))
        return result

    def count(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Count:
        """A sum."""
        pool = current().pool
        holds = [pool.and_(meant, true) for meant, true in _cases(over, body)]
        # What is so in any case is counted last, so that the sum is the same whatever ids are called.
        total = pool.int(0)
        for part in sorted((pool.ite(each, pool.int(1), pool.int(0)) for each in holds), key=lambda item: item.is_const):
            total = pool.add(total, part)
        return Count(total)

    def each(self, over: type[V]) -> list[V]:
        """All values, in the order of their codes."""
        context = current()
        if not isinstance(over, type):
            return self._all(over, context)
        if over not in context.values:
            context.values[over] = self._all(over, context)
        return [*context.values[over]]

    def _all(self, over: type[V], context: Context) -> list[V]:
        domain, constants, pool = as_domain(over), context.constants, context.pool
        if isinstance(domain, LeafDomain):
            return [cast(V, domain.wrap(pool.int(code))) for code in range(domain.cardinality(constants))]
        parts = dict(leaves("", domain))
        values = (range(part.cardinality(constants)) for part in parts.values())
        bindings = (Choices(dict(zip(parts, codes, strict=True))) for codes in product(*values))
        return [given("", domain, choices) for choices in bindings]

    def for_each(self, over: type[V], assign: Callable[[V], None]) -> None:
        """One assignment after the other, in the order of codes."""
        for value in self.each(over):
            assign(value)

    def those(self, over: type[I], condition: Callable[[I], Bool]) -> SetValue[I]:
        """A union of what each id adds."""
        pool = current().pool
        nobody = found = self.uniform_set(over, False)
        for item in self.each(over):
            alone = nobody.add(item)
            found = found | type(alone)(pool.ite(Bool.lift(condition(item)), alone.expr, nobody.expr), over)
        return found

    def one_of(self, over: type[I]) -> I:
        """The first."""
        return over(literal(0))

    def some_of(self, over: type[I], count: IntLike) -> SetValue[I]:
        """The first, as many as it says; 0 stands for all."""
        number = resolve(over.size)
        return SetValue(literal((1 << min(resolve(count) or number, number)) - 1), over)

    def implies(self, antecedent: Bool, consequent: Bool) -> Bool:
        """A disjunction."""
        return ~antecedent | consequent

    def abbreviate(self, formula: Bool) -> Bool:
        """The formula itself."""
        return formula

    def vacuously(self, holds: Bool, where: Bool) -> Bool:
        """The formula itself."""
        return holds

    def optional_value(self, code: Expr, item: type[V]) -> OptionalValue[V]:
        """A code of which 0 is none."""
        return OptionalValue(code, item)

    def no_value(self, item: type[V]) -> OptionalValue[V]:
        """Code 0."""
        return OptionalValue(literal(0), item)

    def set_value(self, code: Expr, item: type[I]) -> SetValue[I]:
        """A mask."""
        return SetValue(code, item)

    def uniform_set(self, item: type[I], everything: bool) -> SetValue[I]:
        """A mask of ones or of zeros."""
        return SetValue(literal((1 << resolve(item.size)) - 1 if everything else 0), item)


class Antecedents(Finite):
    """Implications say only that their antecedent is false: a property is then false exactly where it is not vacuous."""

    def every(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """Membership of a set is an antecedent, too."""
        item: type[V] = over.item if isinstance(over, SetValue) else over
        conditional = isinstance(over, SetValue)

        def silent(value: V) -> Expr:
            nonlocal conditional
            said = body(value)
            conditional = conditional or isinstance(said, Conditional)
            said = said if isinstance(said, Conditional) else Bool(Bool.lift(said))
            return self.implies(over.contains(value), said).expr if isinstance(over, SetValue) else said.expr

        together = current().pool.all(_of_each(item, silent))
        return Conditional(together) if conditional else Bool(together)

    def implies(self, antecedent: Bool, consequent: Bool) -> Bool:
        """The antecedent is false, or an implication in the consequent says so of its own."""
        silent = ~antecedent | consequent if isinstance(consequent, Conditional) else ~antecedent
        return Conditional(silent.expr)

    def vacuously(self, holds: Bool, where: Bool) -> Bool:
        """Where it does so."""
        return Conditional(where.expr)


class Conditional(Bool):
    """While antecedents are traced alone: a formula that is vacuous except where an antecedent is true."""

    __slots__ = ()

    def __and__(self, other: Bool | bool) -> Bool:
        return Conditional(super().__and__(other).expr)

    __rand__ = __and__


FINITE = Finite()
ANTECEDENTS = Antecedents()


def _cases(over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> list[tuple[Expr, Expr]]:
    """(is this value meant?, body of it) for every value of the type or of the set's type."""
    if isinstance(over, SetValue):
        members = FINITE.each(over.item)
        return [(over.contains(member).expr, Bool.lift(body(cast(V, member)))) for member in members]
    true = current().pool.true
    return [(true, holds) for holds in _of_each(over, lambda value: Bool.lift(body(value)))]


def _of_each(over: type[V], formula: Callable[[V], Expr]) -> list[Expr]:
    """The formula for every value of the type, in the order of their codes.

    Of a struct, whose values are many, it is traced once for all of them; value by value if that is refused.
    """
    domain = as_domain(over)
    if isinstance(domain, StructDomain):
        try:
            with attempt():
                return _at_once(domain, formula)
        except Exception:
            pass
    return [formula(value) for value in FINITE.each(over)]


def _at_once(domain: StructDomain, formula: Callable[[Any], Expr]) -> list[Expr]:
    """The formula for every value of a struct, from one trace of it with bound variables for the fields."""
    trace = tracing()
    parts = dict(leaves("", domain))
    variables = [(trace.bound + at, part.cardinality(trace.constants)) for at, part in enumerate(parts.values())]
    if not all(values for _, values in variables):
        return []
    nodes = dict(zip(parts, (variable(trace.pool, bound) for bound in variables), strict=True))
    with active(replace(trace, guards=None, chooser=None, bound=trace.bound + len(variables))):
        root = formula(given("", domain, lambda name, part: part.wrap(nodes[name])))
    return list(instances(root, variables))
