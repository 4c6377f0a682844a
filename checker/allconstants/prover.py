"""What z3 says of first-order obligations: proofs, and the lemmas that a proof uses.

`Prover`, the only place where all-constants obligations meet z3.

z3 answers by instantiating quantifiers. "Unsatisfiable" is a proof; everything else decides nothing. Every query has a
context of its own and is bounded in z3's own count of steps: what it answers depends neither on what was asked before nor on
how busy the machine is. Where a limit in seconds is set and cuts a query short, `OutOfTime` is raised. Importing this module
imports z3, which is slow: only solver processes do so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import z3

from acked.checker.allconstants.obligations import GeneralObligation, Obligations
from acked.checker.allconstants.ways import WAYS, Way
from acked.checker.solver.lemma_sets import Core
from acked.checker.solver.queries import ask, bound
from acked.model.firstorder.solve import Lowering

SEARCH_WAYS: tuple[int, ...] = (0, 16, 6, 18, 1, 10, 2)
"""Those that lemma sets are looked for with, the ones that lead to most proofs first."""

OTHER_WAYS = 40
"""By how much less is tried in ways that are not known to lead to a proof."""


class Prover:
    """Asks z3 about obligations; no query may take more than `seconds` (0 for no such limit).

    `alive` is called before each query, which may take its whole time.
    """

    def __init__(self, obligations: Obligations, seconds: float = 0.0, alive: Callable[[], None] = lambda: None) -> None:
        self.obligations = obligations
        obligations.prepare()
        self._seconds = seconds
        self._alive = alive

    def solve(self, obligation: GeneralObligation, lemmas: Sequence[str], effort: int, first: int = 0) -> int | None:
        """The number of the first way in which z3 proves the obligation with these lemmas; None if none leads to a proof.

        Way `first` is tried before the others, which get a part of its effort. That is in z3's own count of steps.
        """
        used = tuple(lemmas)
        limits = {first: effort, **{number: effort // OTHER_WAYS for number in range(len(WAYS)) if number != first}}
        tried = (at for at, limit in limits.items() if self.effort(obligation, Core(used, at), limit) is not None)
        return next(tried, None)

    def effort(self, obligation: GeneralObligation, core: Core, limit: int) -> int | None:
        """How many steps z3 needs for the proof with these lemmas, in the one way; None if it needs more than the limit."""
        self._alive()
        way = WAYS[core.way]
        lowering = Lowering(way.weight)
        solver = solver_of(lowering, way, limit, self._seconds)
        query = self.obligations.query(obligation, core.lemmas, way)
        solver.add([lowering.clause(item) for item in query.clauses(way.hints)])
        if way.marks_state:
            solver.add([lowering.clause(item) for item in self.obligations.numbers_of_ids(query)])
        before = _steps(solver)
        return _steps(solver) - before if ask(solver, self._seconds) == z3.unsat else None

    def core(self, obligation: GeneralObligation, lemmas: Sequence[str], effort: int) -> tuple[str, ...] | None:
        """Of these lemmas those that z3's proof uses; None if it finds none, in any of the `SEARCH_WAYS`."""
        for way in (WAYS[number] for number in SEARCH_WAYS):
            query = self.obligations.query(obligation, lemmas, way)
            lowering = Lowering(way.weight)
            labels: dict[str, Any] = {}
            self._alive()
            solver = solver_of(lowering, way, effort, self._seconds)
            solver.add([lowering.clause(item) for item in query.hint_clauses(way.hints)])
            for part in query.parts:
                for clause in part.clauses:
                    formula = lowering.clause(clause)
                    if part.label:
                        label = labels.setdefault(part.label, z3.Bool(f"use {part.label}", lowering.context))
                        formula = z3.Implies(label, formula)
                    solver.add(formula)
            if ask(solver, self._seconds, *labels.values()) == z3.unsat:
                used = {label.get_id() for label in solver.unsat_core()}
                return tuple(name for name, label in labels.items() if label.get_id() in used)
        return None


def solver_of(lowering: Lowering, way: Way, effort: int = 0, seconds: float = 0.0) -> Any:
    """A solver in a context of its own, so that nothing asked before has a say in what it finds."""
    solver = z3.SimpleSolver(ctx=lowering.context)
    solver.set("mbqi", way.makes_models)
    solver.set("auto_config", False)
    solver.set("random_seed", way.seed)
    solver.set("relevancy", way.relevancy)
    if way.case_split != 1:
        solver.set("case_split", way.case_split)
    return bound(solver, seconds, effort)


def _steps(solver: Any) -> int:
    """z3's own count of steps so far."""
    return int(solver.statistics().get_key_value("rlimit count"))
