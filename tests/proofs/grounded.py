"""Obligations for all constants without quantifiers, so that a solver that has no part in them can check z3's proofs."""

from __future__ import annotations

from typing import Any

import z3

from acked.checker.allconstants.obligations import GeneralObligation
from acked.checker.allconstants.prover import Prover, solver_of
from acked.checker.allconstants.ways import WAYS
from acked.checker.solver.lemma_sets import Core
from acked.model.firstorder.solve import Lowering


def grounded(prover: Prover, obligation: GeneralObligation, core: Core, effort: int) -> str | None:
    """The obligation without quantifiers, as a standalone SMT-LIB text; None if z3 does not prove it with this effort.

    Clauses are replaced by those of their instances that z3's proof needed. That an instance follows from its clause is plain
    substitution, done here and not by the solver; so a solver that refutes the text has checked the obligation.
    """
    way, lowering = WAYS[core.way], Lowering(WAYS[core.way].weight)
    query = prover.obligations.query(obligation, core.lemmas, way)
    marks = prover.obligations.numbers_of_ids(query) if way.marks_state else ()
    formulas = [lowering.clause(item) for item in (*query.clauses(way.hints), *marks)]
    instances: dict[int, Any] = {}

    def note(hint: Any, _: Any, __: Any) -> None:
        if hint.decl().name() == "inst":
            values = next(arg.children() for arg in hint.children() if z3.is_app(arg) and arg.decl().name() == "bind")
            made = lowering.instance(hint.arg(0), values)
            if made is not None:
                instances[made.get_id()] = made

    solver = solver_of(lowering, way, effort)
    solver.add(formulas)
    listener = z3.OnClause(solver, note)
    if solver.check() != z3.unsat:
        return None
    del listener
    ground = [item for item in formulas if not z3.is_quantifier(item)]
    used = _used(lowering, ground, list(instances.values()), effort)
    if used is None:
        return None
    final = z3.SimpleSolver(ctx=lowering.context)
    final.add([*ground, *used])
    head = (
        f"; {prover.obligations.protocol.name}, for all constants: {obligation.subject} and {obligation.clause}\n"
        f"; clauses assumed: {', '.join(core.lemmas) or 'none'}\n(set-info :status unsat)\n(set-logic QF_UFLIA)\n"
    )
    text = "\n".join(line for line in final.to_smt2().splitlines() if not line.startswith((";", "(set-info")))
    return f"{head}{text}\n"


def _used(lowering: Lowering, ground: list[Any], instances: list[Any], effort: int) -> list[Any] | None:
    """Of these instances those that z3 needs beside the ground formulas."""
    solver = solver_of(lowering, WAYS[0], effort)
    solver.add(ground)
    labels = {f"use {number}": item for number, item in enumerate(instances)}
    for label, item in labels.items():
        solver.add(z3.Implies(z3.Bool(label, lowering.context), item))
    if solver.check(*(z3.Bool(label, lowering.context) for label in labels)) != z3.unsat:
        return None
    return [labels[item.decl().name()] for item in solver.unsat_core()]
