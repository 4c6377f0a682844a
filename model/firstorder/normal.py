"""Closed formulas as universally quantified clauses, the form in which solvers get them.

`clauses`, which moves negation inwards, gives a name to what an existential quantifier promises (Skolem functions), pulls
universal quantifiers out, splits conjunctions, and replaces a variable that a clause equates with a term by that term. The
clauses together are satisfiable exactly if the formula is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acked.base.frozen import frozen
from acked.model.firstorder.symbols import BOOL, INT, Op, Symbol, Variable
from acked.model.firstorder.terms import Logic, Term
from acked.model.formulas.connectives import evaluation_order

MOST_ROWS = 8
"""Clauses that one disjunction may become for the sake of what it denies."""


@frozen
class Clause:
    """For all values of the variables, one of the literals holds (each is free of quantifiers)."""

    variables: tuple[Term, ...]
    literals: tuple[Term, ...]
    pattern: tuple[Term, ...]


class Normaliser:
    """Makes clauses; `prefix` starts the names of its Skolem functions.

    What `is_about_sizes` of sets whatever they are is tried of those sizes that somebody speaks of.
    """

    def __init__(self, logic: Logic, prefix: str, is_about_sizes: bool = False) -> None:
        self._is_about_sizes = is_about_sizes
        self._logic = logic
        self._prefix = prefix
        self._skolems = 0
        self._functions: set[Symbol] = set()
        self._meanings: list[tuple[Term, ...]] = []

    def clauses(self, formula: Term) -> list[Clause]:
        """The clauses of a closed formula; none if it is evidently true."""
        self._meanings = []
        split = self._split(formula, True, ())
        return [clause for literals in split + self._meanings if (clause := self._clause(literals)) is not None]

    def _split(self, term: Term, holds: bool, universal: tuple[Term, ...]) -> list[tuple[Term, ...]]:
        """What must hold for the term to hold (or not to hold), as a conjunction of disjunctions of literals."""
        logic = self._logic
        if not term.has_quantifier:
            return self._literal(term, holds)
        if term.op is Op.NOT:
            return self._split(term.args[0], not holds, universal)
        if term.op in (Op.AND, Op.OR):
            if (term.op is Op.AND) is holds:
                return [literals for arg in term.args for literals in self._split(arg, holds, universal)]
            return self._disjunction(_alternatives(logic, term, holds), universal)
        if term.op in (Op.EVERY, Op.SOME):
            return self._quantifier(term, holds, universal)
        if term.op is Op.ITE and term.is_bool:
            condition, then, other = term.args
            both = logic.and_(logic.or_(logic.not_(condition), then), logic.or_(condition, other))
            return self._split(both, True, universal) if holds else self._split(
                logic.and_(logic.or_(logic.not_(condition), logic.not_(then)), logic.or_(condition, logic.not_(other))),
                True,
                universal,
            )
        if term.op is Op.EQ and term.args[0].is_bool:
            a, b = term.args
            b = b if holds else logic.not_(b)
            both = logic.and_(logic.or_(logic.not_(a), b), logic.or_(a, logic.not_(b)))
            return self._split(both, True, universal)
        raise AssertionError(f"a quantifier below {term.op}")

    def _literal(self, term: Term, holds: bool) -> list[tuple[Term, ...]]:
        """A formula without quantifiers: top-level conjuncts apart, the rest as it is."""
        logic = self._logic
        if term.op is Op.NOT:
            return self._literal(term.args[0], not holds)
        if term.op in (Op.AND, Op.OR):
            if (term.op is Op.AND) is holds:
                return [literals for arg in term.args for literals in self._literal(arg, holds)]
            return self._one_of(_alternatives(logic, term, holds))
        if term.op is Op.EQ and term.args[0].is_bool:
            a, b = term.args[0], _negate_unless(logic, term.args[1], holds)
            return [*self._literal(logic.or_(logic.not_(a), b), True), *self._literal(logic.or_(a, logic.not_(b)), True)]
        literal = term if holds else logic.not_(term)
        if literal is logic.true:
            return []
        return [()] if literal is logic.false else [(literal,)]

    def _disjunction(self, parts: list[Term], universal: tuple[Term, ...]) -> list[tuple[Term, ...]]:
        """One of the parts holds; of several with quantifiers each gets a name, so that no clause mixes their variables."""
        quantified = [part for part in parts if part.has_quantifier]
        rows = self._one_of([part for part in parts if not part.has_quantifier])
        if not rows:
            return []
        if len(quantified) == 1:
            found = self._split(quantified[0], True, universal)
            return [(*row, *literals) for row in rows for literals in found]
        names = [self._name(part, universal) for part in quantified]
        return [(*row, *names) for row in rows]

    def _one_of(self, parts: Sequence[Term]) -> list[tuple[Term, ...]]:
        """One of the parts holds, none of which has a quantifier.

        A part that denies several things, such as that x is in one of two sets, gives a clause for each: where one of them is
        known, a solver then has something to go by (`_pattern`). Other conjunctions stay one literal.
        """
        rows: list[tuple[Term, ...]] = [()]
        for part in parts:
            found = self._literal(part, True)
            if not found:
                return []
            if len(found) > 1 and not (_only_denies(found) and len(rows) * len(found) <= MOST_ROWS):
                found = [(self._join(found),)]
            rows = [tuple(dict.fromkeys((*row, *literals))) for row in rows for literals in found]
        return rows

    def _name(self, part: Term, universal: tuple[Term, ...]) -> Term:
        """A predicate that implies the part."""
        logic = self._logic
        arguments = tuple(item for item in universal if item.value.number in part.free)
        self._skolems += 1
        symbol = Symbol(f"{self._prefix}{self._skolems}", tuple(item.sort for item in arguments), BOOL)
        self._functions.add(symbol)
        name = logic.apply(symbol, arguments)
        self._meanings += [(logic.not_(name), *literals) for literals in self._split(part, True, universal)]
        return name

    def _join(self, part: list[tuple[Term, ...]]) -> Term:
        return self._logic.all(self._logic.any(literals) for literals in part)

    def _quantifier(self, term: Term, holds: bool, universal: tuple[Term, ...]) -> list[tuple[Term, ...]]:
        logic = self._logic
        *bounds, body = term.args
        if (term.op is Op.EVERY) is holds:
            variable = logic.bound(term.value)
            outside = self._beyond(variable, bounds)
            inner = self._split(body, holds, (*universal, variable))
            return [(*outside, *literals) for literals in inner]
        # Only what the body speaks of decides what exists.
        arguments = tuple(item for item in universal if item.value.number in term.free)
        self._skolems += 1
        symbol = Symbol(f"{self._prefix}{self._skolems}", tuple(item.sort for item in arguments), term.value.sort)
        self._functions.add(symbol)
        witness = logic.apply(symbol, arguments)
        inside = [(logic.not_(item),) for item in self._beyond(witness, bounds)]
        if term.op is Op.SOME or not arguments or (not bounds and all(item.sort is INT for item in arguments)):
            inside.append((mark(logic, witness, term.value.hint),))
        if bounds and not arguments:
            inside.append((mark(logic, witness - 1, term.value.hint),))
        return inside + self._split(substitute(logic, body, {term.value: witness}), holds, universal)

    def _beyond(self, x: Term, bounds: list[Term]) -> tuple[Term, ...]:
        if not bounds:
            return ()
        return (self._logic.lt(x, bounds[0]), self._logic.lt(bounds[1], x))

    def _clause(self, literals: tuple[Term, ...]) -> Clause | None:
        """The clause with every variable that it equates with a term replaced; None if it is evidently true."""
        logic = self._logic
        while True:
            kept = tuple(item for item in dict.fromkeys(literals) if item is not logic.false)
            if any(item is logic.true or logic.not_(item) in kept for item in kept):
                return None
            solved = next((found for item in kept if (found := self._solution(item)) is not None), None)
            if solved is None:
                break
            literals = tuple(substitute(logic, item, {solved[0]: solved[1]}) for item in kept)
        numbers = frozenset().union(*(item.free for item in kept)) if kept else frozenset()
        known = {node.value.number: node for node in evaluation_order(kept) if node.op is Op.VARIABLE}
        variables = tuple(known[number] for number in sorted(numbers))
        kept = self._count_from(variables, kept)
        return Clause(variables, kept, self._pattern(variables, kept))

    def _count_from(self, variables: tuple[Term, ...], literals: tuple[Term, ...]) -> tuple[Term, ...]:
        """A variable that functions only take with an offset, e.g. x - 1, is counted from there, so that hints fit it."""
        logic = self._logic
        for x in variables:
            applied = [node for node in evaluation_order(literals) if node.op is Op.APPLY]
            taken = [arg for node in applied for arg in node.args if x.value.number in arg.free]
            shifts = {_shift(arg, x) for arg in taken}
            shift = shifts.pop() if len(shifts) == 1 else None
            if shift:
                literals = tuple(substitute(logic, item, {x.value: x - shift}) for item in literals)
        return literals

    def _pattern(self, variables: tuple[Term, ...], literals: tuple[Term, ...]) -> tuple[Term, ...]:
        """Which known facts make a solver try values for the variables: hypotheses of the clause, else marks."""
        hypotheses = [item.args[0] for item in literals if item.op is Op.NOT and item.args[0].op is Op.APPLY]
        left = {x.value.number for x in variables}
        chosen: list[Term] = []
        for atom in sorted(hypotheses, key=lambda atom: -len(atom.free)):
            if atom.free & left and all(arg.op in (Op.VARIABLE, Op.APPLY, Op.CONST) for arg in evaluation_order([atom])):
                chosen.append(atom)
                left -= atom.free
        for node in evaluation_order(literals) if self._is_about_sizes else ():
            if node.op is Op.APPLY and node.value in self._logic.cardinalities and node.free & left:
                chosen.append(node)
                left -= node.free
        return (*chosen, *(mark(self._logic, x) for x in variables if x.value.number in left))

    def _solution(self, literal: Term) -> tuple[Variable, Term] | None:
        """The variable that `literal` says to differ from a term: only where it equals the term is there more to say."""
        if literal.op is not Op.NOT or literal.args[0].op is not Op.EQ:
            return None
        for a, b in (literal.args[0].args, literal.args[0].args[::-1]):
            shift = 0
            if a.op is Op.ADD and a.args[1].is_const:
                a, shift = a.args[0], a.args[1].value
            if a.op is Op.VARIABLE and a.value.number not in b.free:
                return a.value, b if a.sort is not INT else b - shift
        return None


def _only_denies(clauses: Sequence[tuple[Term, ...]]) -> bool:
    """Whether every clause is one negated application."""
    literals = [literal for clause in clauses for literal in clause]
    return len(literals) == len(clauses) and all(item.op is Op.NOT and item.args[0].op is Op.APPLY for item in literals)


def _negate_unless(logic: Logic, term: Term, holds: bool) -> Term:
    return term if holds else logic.not_(term)


def _alternatives(logic: Logic, term: Term, holds: bool) -> list[Term]:
    """The formulas of which one must hold for the term to hold (or not to hold), however deep they are nested."""
    if term.op is Op.NOT:
        return _alternatives(logic, term.args[0], not holds)
    if term.op is (Op.OR if holds else Op.AND):
        return [part for arg in term.args for part in _alternatives(logic, arg, holds)]
    return [_negate_unless(logic, term, holds)]


def _shift(term: Term, x: Term) -> int | None:
    """c of x + c."""
    if term is x:
        return 0
    if term.op is Op.ADD and term.args[0] is x and term.args[1].is_const:
        return int(term.args[1].value)
    return None


def mark(logic: Logic, term: Term, unit: str = "") -> Term:
    """A mark that a solver sees on what is worth trying for a variable that a clause gives it no other hint for.

    The mark means nothing: it is true of everything, so it may be asserted of anything, and a clause may be limited to
    what has it, without making anything satisfiable unsatisfiable. For a variable the unit need not be said.
    """
    return logic.apply(Symbol(f"marked.{unit or term.value.hint}", (term.sort,), BOOL), (term,))


def substitute(logic: Logic, term: Term, values: Mapping[Variable, Term]) -> Term:
    """The term with variables replaced; bound variables are never captured, for each quantifier has its own."""
    numbers = {item.number for item in values}
    made: dict[int, Term] = {}
    for node in evaluation_order([term]):
        if not node.free & numbers:
            made[node.id] = node
        elif node.op is Op.VARIABLE:
            made[node.id] = values[node.value]
        else:
            made[node.id] = logic.rebuild(node, tuple(made[arg.id] for arg in node.args))
    return made[term.id]

