"""What a solver is asked: assumptions and a conclusion that must follow, as clauses with hints.

`Query`, and `Questions`, which makes queries over one reading and normalises every formula once.

A query is unsatisfiable exactly if the conclusion follows. Its hints are marks (see `normal.mark`) on the constants of the
query and on what the state holds for them; they tell a solver what is worth trying for a variable, and mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, unique
from functools import cached_property
from itertools import combinations_with_replacement, product

from acked.base.frozen import frozen
from acked.model.firstorder.definitions import compare_cardinalities
from acked.model.firstorder.normal import Clause, Normaliser, mark
from acked.model.firstorder.reading import Reading
from acked.model.firstorder.records import Cardinality, Detail
from acked.model.firstorder.store import Family
from acked.model.firstorder.symbols import BOOL, INT, Op, Symbol
from acked.model.firstorder.terms import Term
from acked.model.formulas.connectives import evaluation_order
from acked.model.language.domain import LeafDomain, OptionalDomain, Range
from acked.model.language.storage.composites import LogDomain
from acked.model.language.values import Id


@frozen
class Part:
    """One formula of a query and its clauses; `label` names an assumption that a proof may turn out not to need."""

    label: str
    formula: Term
    clauses: tuple[Clause, ...]


@unique
class Hints(Enum):
    """How many hints a solver gets; more is not always better.

    On the ids and numbers that an action is about; on what is beside them, and last in their logs; on what the state holds
    for them as well; and on what that leads to.
    """

    FEW = "few"
    NEAR = "near"
    SOME = "some"
    MANY = "many"


@frozen
class Query:
    """Parts that are to be shown unsatisfiable together, and hints."""

    parts: tuple[Part, ...]
    hints: tuple[Clause, ...]
    more_hints: tuple[Clause, ...]

    def clauses(self, hints: Hints) -> tuple[Clause, ...]:
        """Everything that a solver is told."""
        parts = (clause for part in self.parts for clause in part.clauses)
        return (*parts, *self.hint_clauses(hints))

    def hint_clauses(self, hints: Hints) -> tuple[Clause, ...]:
        """The hints alone."""
        if hints in (Hints.FEW, Hints.NEAR):
            marked = ((item, item.literals[0].args[0]) for item in self.hints)
            return tuple(item for item, term in marked if not term.args or (hints is Hints.NEAR and term.op is Op.ADD))
        return (*self.hints, *(self.more_hints if hints is Hints.MANY else ()))


class Questions:
    """Makes queries; every formula is normalised once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._logic = reading.logic
        self._clauses: dict[int, tuple[Clause, ...]] = {}
        self._applied: dict[int, tuple[Symbol, ...]] = {}
        self._compared: dict[tuple[Symbol, Symbol, bool], tuple[Term, ...]] = {}

    def prepare(self, formulas: Iterable[Term]) -> None:
        """Normalises formulas ahead of the queries they are for, whose texts then do not depend on what was asked before."""
        for formula in formulas:
            if formula.id not in self._clauses:
                self._normal(formula)
                for detail, are_alike in (*((item, False) for item in Detail), (Detail.OUTLINE, True)):
                    for axiom in self._definitions([formula], detail, are_alike):
                        self._normal(axiom)

    def query(
        self,
        assumptions: Sequence[tuple[str, Term]],
        conclusion: Term,
        detail: Detail = Detail.WHOLE,
        are_alike: bool = False,
    ) -> Query:
        """That the conclusion follows from the labelled assumptions and from what its defined symbols mean.

        With less `detail`, or if sizes of sets are compared only that `are_alike`, fewer conclusions follow, in less time.
        """
        formulas = [*assumptions, ("", self._logic.not_(conclusion))]
        formulas += [("", axiom) for axiom in self._definitions((item for _, item in formulas), detail, are_alike)]
        parts = tuple(Part(label, formula, self._normal(formula)) for label, formula in formulas)
        return Query(parts, *self._hints(parts))

    def _definitions(self, formulas: Iterable[Term], detail: Detail, are_alike: bool) -> Iterator[Term]:
        todo = list(formulas)
        seen: set[Symbol] = set()
        while todo:
            for symbol in self._applied_in(todo.pop()):
                if symbol not in seen:
                    seen.add(symbol)
                    axioms = self._logic.axioms_of(symbol, detail)
                    todo += axioms
                    yield from axioms
        sizes = [known for symbol, known in self._logic.cardinalities.items() if symbol in seen]
        for one, other in combinations_with_replacement(sizes, 2):
            yield from self._comparison(one, other, are_alike)

    def _applied_in(self, formula: Term) -> tuple[Symbol, ...]:
        """The symbols of a formula, in the order of its evaluation."""
        known = self._applied.get(formula.id)
        if known is None:
            applied = (node.value for node in evaluation_order([formula]) if node.op is Op.APPLY)
            known = self._applied[formula.id] = tuple(dict.fromkeys(applied))
        return known

    def _comparison(self, one: Cardinality, other: Cardinality, are_alike: bool) -> tuple[Term, ...]:
        """What two sizes have to do with each other."""
        key = (one.symbol, other.symbol, are_alike)
        if key not in self._compared:
            self._compared[key] = compare_cardinalities(self._logic, one, other, are_alike)
            for number, fact in enumerate(self._compared[key]):
                if fact.id in self._clauses:  # Of sets that depend on nothing.
                    continue
                prefix = f"{one.symbol.name}.{other.symbol.name}.{'=' if are_alike else ''}{number}."
                self._clauses[fact.id] = tuple(Normaliser(self._logic, prefix, is_about_sizes=True).clauses(fact))
        return self._compared[key]

    def _normal(self, formula: Term) -> tuple[Clause, ...]:
        known = self._clauses.get(formula.id)
        if known is None:
            of_sizes = any(formula is axiom for item in self._logic.cardinalities.values() for axiom in item.axioms)
            made = Normaliser(self._logic, f"sk{len(self._clauses)}.", of_sizes).clauses(formula)
            known = self._clauses[formula.id] = tuple(made)
        return known

    def _hints(self, parts: Sequence[Part]) -> tuple[tuple[Clause, ...], tuple[Clause, ...]]:
        """Marks on constants; also on numbers that the state holds for them; and on the ids held for the newest numbers."""
        logic = self._logic
        used = [node for node in evaluation_order(part.formula for part in parts) if node.op is Op.APPLY and not node.args]
        numbers: dict[str, list[Term]] = {}
        ids: dict[str, list[Term]] = {}
        newest: dict[str, list[Term]] = {}
        for node in used:
            if (unit := logic.units.get(node.value)) is not None:
                if node.sort is INT:
                    numbers.setdefault(unit, []).extend((node, node - 1, node + 1))
                else:
                    ids.setdefault(unit, []).append(node)
        for family, unit in self._numbers:
            if all(index.bounds is None for index in family.indices):
                for at in product(*(ids.get(index.hint, ()) for index in family.indices)):
                    term = self._reading.before.contents[family.key](at)
                    term = term - 1 if isinstance(family.domain, OptionalDomain) else term
                    numbers.setdefault(unit, []).append(term)
                    if logic.is_exact and family.key[-1] == LogDomain.END:
                        numbers[unit].append(term - 1)  # What stands last in a log.
                    if not family.indices:
                        newest.setdefault(unit, []).extend((term, term - 1))
        found: dict[str, list[Term]] = {}
        for family in self._choices:
            for at in product(*(newest.get(index.hint, ()) for index in family.indices)):
                content = self._reading.before.contents[family.key](at)
                found.setdefault(content.value.sort.name, []).append(content.value)
        return self._marks(numbers, ids), self._marks(found)

    def numbers_of_ids(self, query: Query) -> tuple[Clause, ...]:
        """Marks on the numbers that the state holds for every id that the query names, those that merely exist among them.

        They are for solvers other than z3, which finds what it needs of these by guessing models.
        """
        ids: dict[str, list[Term]] = {}
        clauses = (clause for part in query.parts for clause in part.clauses)
        for node in evaluation_order(literal for clause in clauses for literal in clause.literals):
            if node.op is Op.APPLY and not node.args and node.sort not in (BOOL, INT):
                ids.setdefault(node.sort.name, []).append(node)
        numbers: dict[str, list[Term]] = {}
        contents, is_exact = self._reading.before.contents, self._logic.is_exact
        for family, unit in self._numbers:
            if not family.indices or family.indices[0].bounds is not None:
                continue
            found, path = numbers.setdefault(unit, []), family.key
            for item in ids.get(family.indices[0].hint, ()):
                if len(family.indices) == 1:
                    term = contents[path]((item,))
                    found.append(term - 1 if isinstance(family.domain, OptionalDomain) else term)
                    if is_exact and path[-1] == LogDomain.END:
                        found.append(term - 1)
                elif is_exact and LogDomain.RECORDS in path:  # What stands last in its log.
                    end = contents[(*path[: path.index(LogDomain.RECORDS)], LogDomain.END)]((item,))
                    found.append(contents[path]((item, end - 1)))
        return self._marks(numbers)

    def _marks(self, *by_unit: Mapping[str, Sequence[Term]]) -> tuple[Clause, ...]:
        pairs = ((term, unit) for terms in by_unit for unit, items in terms.items() for term in dict.fromkeys(items))
        return tuple(Clause((), (mark(self._logic, term, unit),), ()) for term, unit in pairs)

    @cached_property
    def _numbers(self) -> list[tuple[Family, str]]:
        """The families of numbers, with their units."""
        return [(family, unit) for family in self._families if (unit := _unit(family.domain)) is not None]

    @cached_property
    def _choices(self) -> list[Family]:
        """The families of optional ids."""
        families = self._families
        return [item for item in families if isinstance(item.domain, OptionalDomain) and issubclass(item.domain.item, Id)]

    @cached_property
    def _families(self) -> list[Family]:
        """Those that hold something."""
        return [family for family in self._reading.families.values() if not family.is_absent]


def _unit(domain: LeafDomain) -> str | None:
    """The name of the unit of a number that a leaf holds."""
    if isinstance(domain, Range):
        return domain.item.__name__
    if isinstance(domain, OptionalDomain) and not issubclass(domain.item, Id):
        return str(domain.item.__name__)
    return None

