"""What a solver is asked: assumptions and a conclusion that must follow, as clauses with hints.

What lives here: `Query`, and `Questions`, which makes queries over one reading and normalises every formula once. What does not:
which assumptions and conclusions (`checker/allconstants.py`) and the solver (`solve.py`).

A query is unsatisfiable exactly if the conclusion follows. Its hints are marks (see `normal.marked`): on every constant of the
query, on what an assumed "there is" names, and on the numbers that the state holds; they tell a solver what is worth
trying for a variable, and mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from model.domain import LeafDomain, OptionalDomain, Range
from model.firstorder.normal import Clause, Normaliser, marked
from model.firstorder.reading import Family, Reading
from model.firstorder.terms import INT, Op, Symbol, Term, walk
from model.values import Id


@dataclass(frozen=True)
class Part:
    """One formula of a query and its clauses; `label` names an assumption that a proof may turn out not to need."""

    label: str
    formula: Term
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Query:
    """Parts that are to be shown unsatisfiable together, and hints."""

    parts: tuple[Part, ...]
    hints: tuple[Clause, ...]

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Everything that a solver is told."""
        return (*(clause for part in self.parts for clause in part.clauses), *self.hints)


class Questions:
    """Makes queries; every formula is normalised once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._logic = reading.logic
        self._clauses: dict[int, tuple[Clause, ...]] = {}

    def query(self, assumptions: Sequence[tuple[str, Term]], conclusion: Term) -> Query:
        """That the conclusion follows from the labelled assumptions and from what its defined symbols mean."""
        formulas = [*assumptions, ("", self._logic.not_(conclusion))]
        formulas += [("", axiom) for axiom in self._definitions(formula for _, formula in formulas)]
        parts = tuple(Part(label, formula, self._normal(formula)) for label, formula in formulas)
        return Query(parts, tuple(self._hints(parts)))

    def _definitions(self, formulas: Iterable[Term]) -> Iterator[Term]:
        todo = list(formulas)
        seen: set[Symbol] = set()
        while todo:
            for node in walk([todo.pop()]):
                found = self._logic.definitions.get(node.value) if node.op is Op.APPLY else None
                if found is not None and found.symbol not in seen:
                    seen.add(found.symbol)
                    todo += found.axioms
                    yield from found.axioms

    def _normal(self, formula: Term) -> tuple[Clause, ...]:
        known = self._clauses.get(formula.id)
        if known is None:
            made = Normaliser(self._logic, f"sk{len(self._clauses)}.").clauses(formula)
            known = self._clauses[formula.id] = tuple(made)
        return known

    def _hints(self, parts: Sequence[Part]) -> Iterator[Clause]:
        """Marks, by unit: constants, the numbers that the state holds for them, and the ids that it holds there."""
        logic = self._logic
        used = [node for node in walk(part.formula for part in parts) if node.op is Op.APPLY and not node.args]
        numbers: dict[str, list[Term]] = {}
        ids: dict[str, list[Term]] = {}
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
                    numbers.setdefault(unit, []).extend((term, term - 1) if not at else (term,))
        literals = (item for part in parts if not part.label for clause in part.clauses for item in clause.literals)
        witnesses = [node for node in walk(literals) if node.op is Op.APPLY and not node.args]
        found: dict[str, list[Term]] = {}
        for family in self._choices:
            candidates = [
                [node for node in witnesses if node.sort == index.sort] if index.bounds is None else numbers.get(index.hint, ())
                for index in family.indices
            ]
            unit = family.domain.item.__name__
            for at in product(*candidates):
                found.setdefault(unit, []).append(self._reading.before.contents[family.key](at).value)
        for marks in (numbers, ids, found):
            for unit, terms in marks.items():
                for term in dict.fromkeys(terms):
                    yield Clause((), (marked(logic, term, unit),), ())

    @cached_property
    def _numbers(self) -> list[tuple[Family, str]]:
        """The families of numbers, with their units."""
        families = self._reading.families.values()
        return [(family, unit) for family in families if (unit := _unit(family.domain)) is not None]

    @cached_property
    def _choices(self) -> list[Family]:
        """The families of optional ids."""
        families = self._reading.families.values()
        return [item for item in families if isinstance(item.domain, OptionalDomain) and issubclass(item.domain.item, Id)]


def _unit(domain: LeafDomain) -> str | None:
    """The name of the unit of a number that a leaf holds."""
    if isinstance(domain, Range):
        return domain.item.__name__
    if isinstance(domain, OptionalDomain) and not issubclass(domain.item, Id):
        return str(domain.item.__name__)
    return None

