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
from itertools import product

from model.domain import LeafDomain, OptionalDomain, Range
from model.firstorder.normal import Clause, Normaliser, marked
from model.firstorder.reading import Reading
from model.firstorder.terms import INT, Op, Symbol, Term, walk


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
        used = {node.value: node for node in walk(part.formula for part in parts) if node.op is Op.APPLY}
        logic = self._reading.logic
        known = [node for symbol, node in used.items() if symbol in logic.units and not node.args]
        for node in known:
            marks = [node, node - 1, node + 1] if node.sort is INT else [node]
            yield from (self._mark(item, logic.units[node.value]) for item in marks)
        for family in self._reading.families.values():
            unit = _unit(family.domain)
            if unit is not None and all(index.bounds is None for index in family.indices):
                for at in product(*([node for node in known if node.sort == index.sort] for index in family.indices)):
                    term = self._reading.before.contents[family.key](at)
                    yield self._mark(term - 1 if isinstance(family.domain, OptionalDomain) else term, unit)

    def _mark(self, term: Term, unit: str) -> Clause:
        return Clause((), (marked(self._logic, term, unit),), ())


def _unit(domain: LeafDomain) -> str | None:
    """The name of the unit of a number that a leaf holds."""
    if isinstance(domain, Range):
        return domain.item.__name__
    if isinstance(domain, OptionalDomain) and not hasattr(domain.item, "size"):
        return str(domain.item.__name__)
    return None

