"""Symbols that stand for something: abbreviations of formulas, greatest and least numbers, and comparisons of sizes.

Each is recorded in the `Logic` with what it means, which questions then bring along wherever the symbol stands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from acked.model.firstorder.normal import substitute
from acked.model.firstorder.ranges import least
from acked.model.firstorder.records import Cardinality, Implication, Measure, Relation
from acked.model.firstorder.symbols import BOOL, INT, Op, Symbol, Variable
from acked.model.firstorder.terms import Logic, Term, free_variables
from acked.model.formulas.errors import ModelError


def abbreviate(logic: Logic, formula: Term) -> Term:
    """A predicate of the formula's free variables, defined as it: one for all formulas that differ in variables alone."""
    if not formula.has_quantifier:
        return formula
    free: dict[int, Variable] = {}
    shape = _shape(formula, {}, free)
    variables = tuple(free.values())
    symbol = logic.abbreviations.get(shape)
    if symbol is None:
        symbol = Symbol(logic.fresh("word"), tuple(item.sort for item in variables), BOOL)
        logic.abbreviations[shape] = symbol
        known = logic.apply(symbol, map(logic.bound, variables))
        logic.define(symbol, variables, (logic.or_(logic.not_(known), formula), logic.or_(known, logic.not_(formula))))
    return logic.apply(symbol, map(logic.bound, variables))


def measure(
    logic: Logic,
    symbol: Symbol,
    variables: tuple[Variable, ...],
    relation: Relation,
    threshold: Hashable,
    facts: Iterable[Term],
) -> Term:
    """Whether the size of a set reaches a threshold, which is above 0: a new truth value, and what is said of it.

    The facts speak of the symbol applied to the variables; that an empty set does not reach the threshold is another, and
    that a set of one does not, if the threshold is known to be above 1.
    """
    term = logic.apply(symbol, map(logic.bound, variables))
    somebody = logic.some(relation.sort, relation.sort.name, relation.member)
    known = [*facts, logic.or_(logic.not_(term), somebody)]
    if logic.thresholds[threshold] > 1:
        known.append(logic.or_(logic.not_(term), _two_members(logic, relation)))
    axioms = tuple(logic.close(fact, variables) for fact in known)
    logic.measures[symbol] = Measure(symbol, variables, relation, threshold, axioms)
    return term


def compare_sizes(logic: Logic, relation: Relation, other: Relation) -> Term:
    """Whether a set has at least as many members as another: a new truth value, true where the other is a subset."""
    sort = relation.sort
    probe = logic.variable(sort, sort.name)
    found = (*free_variables(relation.member(probe)), *free_variables(other.member(probe)))
    variables = tuple(dict.fromkeys(item.value for item in found if item is not probe))
    symbol = Symbol(logic.fresh("as_many"), tuple(item.sort for item in variables), BOOL)
    term = logic.apply(symbol, map(logic.bound, variables))
    lacks = logic.some(sort, sort.name, lambda x: logic.and_(other.member(x), logic.not_(relation.member(x))))
    axioms = (logic.close(logic.or_(term, lacks), variables),)
    logic.measures[symbol] = Measure(symbol, variables, relation, other, axioms)
    return term


Member = Callable[[Term, tuple[Term, ...]], Term]
"""Whether a term is in a set, for given values of what the set depends on."""


def cardinality(
    logic: Logic, relation: Relation, whole: Term | None, bounds: tuple[Term, Term] | None = None
) -> Term:
    """How many of `whole` ids are in a set: a new number, of which is said what is true of sizes whatever the set.

    Of a set of numbers, how many within the bounds; `ModelError` if these may be fewer than none. One symbol stands for all
    sets that differ in variables alone. What two sizes have to do with each other is said where both are asked about
    (`compare_cardinalities`).
    """
    if bounds is not None:
        whole = logic.add(logic.sub(bounds[1], bounds[0]), logic.int(1))
        if least(whole) < 0:
            raise ModelError("count(…) over a range that may end before it begins has no meaning for all constants")
    assert whole is not None
    probe = logic.variable(relation.sort, relation.sort.name)
    if bounds is not None:
        logic.ranges[probe.value] = bounds
    inside = relation.member(probe)
    free: dict[int, Variable] = {}
    shape = ("size", relation.sort, bounds and (bounds[0].id, bounds[1].id), _shape(inside, {probe.value.number: -1}, free))
    variables = tuple(free.values())
    here = tuple(map(logic.bound, variables))
    symbol = logic.abbreviations.get(shape)
    if symbol is None:
        symbol = Symbol(logic.fresh("#size"), tuple(item.sort for item in variables), INT)
        logic.abbreviations[shape] = symbol

        def member(x: Term, at: tuple[Term, ...]) -> Term:
            return substitute(logic, inside, {probe.value: x, **dict(zip(variables, at, strict=True))})

        known = logic.apply(symbol, here)
        none, sort, hint = logic.int(0), relation.sort, relation.sort.name
        facts = (
            logic.le(none, known),
            logic.le(known, whole),
            logic.or_(logic.le(known, none), logic.some(sort, hint, lambda x: member(x, here), bounds)),
            logic.every(sort, hint, lambda x: logic.or_(logic.not_(member(x, here)), logic.lt(none, known)), bounds),
            logic.or_(logic.lt(known, whole), logic.every(sort, hint, lambda x: member(x, here), bounds)),
            logic.or_(logic.le(whole, known), logic.some(sort, hint, lambda x: logic.not_(member(x, here)), bounds)),
        )
        axioms = tuple(logic.close(fact, variables) for fact in facts)
        logic.cardinalities[symbol] = Cardinality(symbol, variables, relation.sort, bounds, whole, member, axioms)
    return logic.apply(symbol, here)


def compare_cardinalities(logic: Logic, one: Cardinality, other: Cardinality, are_alike: bool = False) -> tuple[Term, ...]:
    """Two sets that have more members together than there are have one in common, and a larger one has one of its own.

    With `are_alike` that is said of sets which depend on the same values, or one of them on none: a set before a step and
    after it, or a set of voters.
    """
    if one.sort != other.sort or one.bounds != other.bounds:
        return ()
    mine, theirs = (tuple(logic.variable(item.sort, item.hint) for item in side.variables) for side in (one, other))
    if are_alike and mine and theirs:
        if one is other or [item.sort for item in one.variables] != [item.sort for item in other.variables]:
            return ()
        theirs = mine
    a, b = logic.apply(one.symbol, mine), logic.apply(other.symbol, theirs)
    sort, hint = one.sort, one.sort.name
    common = logic.some(sort, hint, lambda x: logic.and_(one.member(x, mine), other.member(x, theirs)), one.bounds)

    def alone(member: Member, at: tuple[Term, ...], beside: Member, there: tuple[Term, ...]) -> Term:
        """Whether something is in the one set and not in the other."""
        return logic.some(sort, hint, lambda x: logic.and_(member(x, at), logic.not_(beside(x, there))), one.bounds)

    facts = [logic.or_(logic.le(logic.add(a, b), one.whole), common)]
    sides = (a, one.member, mine), (b, other.member, theirs)
    for (size, member, at), (less, beside, there) in (sides, sides[::-1]):
        facts.append(logic.or_(logic.le(size, less), alone(member, at, beside, there)))
    variables = tuple(dict.fromkeys(item.value for item in (*mine, *theirs)))
    return tuple(logic.close(fact, variables) for fact in dict.fromkeys(facts))


def _two_members(logic: Logic, relation: Relation) -> Term:
    """Some two are in the set. Said without "whoever is looked at, somebody else is", for that never ends for a solver."""
    sort = relation.sort

    def beside(x: Term) -> Term:
        another = logic.some(sort, sort.name, lambda y: logic.and_(relation.member(y), logic.not_(logic.eq(x, y))))
        return logic.and_(relation.member(x), another)

    return logic.some(sort, sort.name, beside)


def extreme(
    logic: Logic, hint: str, holds: Callable[[Term], Term], otherwise: Term, lo: Term, hi: Term, is_greatest: bool
) -> Term:
    """The greatest (or least) number in lo..hi that `holds`, or `otherwise` if there is none.

    Existence is an induction over the range, grown from its far end: for one number, and from n numbers to n + 1.
    """
    name = f"{'greatest' if is_greatest else 'least'}{len(logic.definitions)}"
    if logic.every(INT, hint, holds, (lo, hi)).free | otherwise.free:
        raise ModelError("greatest(…) and least(…) below a quantifier have no first-order reading; state them outside")

    def is_it(x: Term, least: Term, greatest: Term) -> tuple[Term, ...]:
        beyond = (x + 1, greatest) if is_greatest else (least, x - 1)
        found = (
            logic.le(least, x),
            logic.le(x, greatest),
            holds(x),
            logic.every(INT, hint, lambda y: logic.not_(holds(y)), beyond),
        )
        if holds(lo if is_greatest else hi) is logic.true:  # Then there always is one.
            return found
        none = logic.every(INT, hint, lambda y: logic.not_(holds(y)), (least, greatest))
        return (logic.or_(logic.and_(none, logic.eq(x, otherwise)), logic.all(found)),)

    # The claims must not speak of the symbol itself: its definition would come along.
    symbol, *others = (Symbol(label, (), INT) for label in (name, f"{name}.a", f"{name}.b", f"{name}.n"))
    logic.units.update(dict.fromkeys((symbol, *others), hint))
    one, other, at = map(logic.apply, others)
    start = lo if is_greatest else hi
    grown = at + 1 if is_greatest else at - 1
    before, after = ((lo, at), (lo, grown)) if is_greatest else ((at, hi), (grown, hi))
    inside = (logic.le(lo, at), logic.lt(at, hi)) if is_greatest else (logic.lt(lo, at), logic.le(at, hi))
    claims = (
        Implication(f"{name} is unique", (*is_it(one, lo, hi), *is_it(other, lo, hi)), logic.eq(one, other)),
        Implication(f"{name} has a range", (), logic.le(lo, hi)),
        Implication(
            f"{name} exists in one number", (), logic.all(is_it(logic.ite(holds(start), start, otherwise), start, start))
        ),
        Implication(
            f"{name} exists in one number more",
            (*inside, *is_it(one, *before)),
            logic.all(is_it(logic.ite(holds(grown), grown, one), *after)),
        ),
    )
    term = logic.apply(symbol)
    is_such = logic.all((logic.le(lo, term), logic.le(term, hi), holds(term)))
    logic.define(symbol, (), is_it(term, lo, hi), claims, (logic.or_(logic.eq(term, otherwise), is_such),))
    return term


def shape_of(term: Term) -> object:
    """What a closed term has in common with all that say the same of other variables."""
    return _shape(term, {}, {})


def _shape(term: Term, bound: dict[int, int], free: dict[int, Variable]) -> object:
    """What a term has in common with all that differ from it in the numbers of variables alone; notes the free ones."""
    if term.op is Op.VARIABLE:
        number = term.value.number
        if number in bound:
            return bound[number]
        free[number] = term.value
        return "free", list(free).index(number), term.sort
    if not term.args:
        return term.id
    if term.op in (Op.EVERY, Op.SOME):
        *bounds, body = term.args
        outside = tuple(_shape(item, bound, free) for item in bounds)
        inside = _shape(body, {**bound, term.value.number: -1 - len(bound)}, free)
        return term.op, term.value.sort, outside, inside
    symbol = term.value if term.op is Op.APPLY else None
    return term.op, symbol, tuple(_shape(arg, bound, free) for arg in term.args)
