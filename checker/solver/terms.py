"""A problem in a solver process: its expressions, what becomes of claims after a step, and the bit-vector terms of both.

Post-states are substitutions: a claim after a step is the claim with every changed field replaced by its new value, rebuilt
and folded where it changes and shared where it does not. So one set of variables, lowered once, serves all steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acked.checker.solver.problem import Problem, SolverStep, rebuild
from acked.checker.solver.smt import Frame, Lowering
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op, Pool, builders


class LoweredProblem:
    """A problem's expressions, and the terms that were made of them for one task, kept for the next."""

    def __init__(self, problem: Problem, timeout: float) -> None:
        self.problem = problem
        self.timeout = timeout
        self.pool = Pool()
        self.rows = rebuild(problem, self.pool)
        self.count = len(problem.fields)
        self._order = evaluation_order(self.rows)
        self._reads = self._fields_read()
        self._lowering: Lowering | None = None
        self._roots: list[Expr] = []
        self._frames: dict[str, Frame] = {}

    # -- expressions ----------------------------------------------------------------------------------------------------

    def _fields_read(self) -> dict[int, int]:
        reads: dict[int, int] = {}
        for node in self._order:
            mask = 1 << node.value if node.op is Op.FIELD else 0
            for arg in node.args:
                mask |= reads[arg.id]
            reads[node.id] = mask
        return reads

    def claim(self, number: int) -> Expr:
        """The condition of a claim, before a step."""
        return self.rows[self.problem.claims[number].root]

    def after(self, action: SolverStep, claims: Sequence[int]) -> list[Expr]:
        """The conditions of claims after a step, over the state before it."""
        new = {leaf: self.rows[row] for leaf, row in action.updates}
        same = {
            leaf: self.pool.field(leaf, field.cardinality) for leaf, field in enumerate(self.problem.fields)
        }
        afterwards = {self.count + leaf: code for leaf, code in {**same, **new}.items()}
        state = self._replace([self.claim(n) for n in claims if not self.problem.claims[n].is_step], new)
        step = self._replace([self.claim(n) for n in claims if self.problem.claims[n].is_step], afterwards)
        return [(step if self.problem.claims[n].is_step else state)[self.claim(n).id] for n in claims]

    def pieces_after(self, action: SolverStep, claim: int, pieces: Sequence[int]) -> list[Expr]:
        """Pieces of an assumed claim after a step, over the state before it; what the step leaves as it is needs no proof."""
        wanted = [self.rows[self.problem.claims[claim].pieces[number]] for number in pieces]
        made = self._replace(wanted, {leaf: self.rows[row] for leaf, row in action.updates})
        changed = [made[piece.id] for piece in wanted if made[piece.id] is not piece]
        return [piece for piece in changed if piece is not self.pool.true]

    def _replace(self, roots: Sequence[Expr], new: dict[int, Expr]) -> dict[int, Expr]:
        """Expressions and all they are made of with fields replaced, by the number of what they were."""
        touched = sum(1 << field for field in new)
        make = builders(self.pool)
        memo: dict[int, Expr] = {}
        for node in evaluation_order(roots):
            if not self._reads[node.id] & touched:
                memo[node.id] = node
            elif node.op is Op.FIELD:
                memo[node.id] = new[node.value]
            else:
                memo[node.id] = make[node.op](*(memo[arg.id] for arg in node.args))
        return memo

    # -- terms ----------------------------------------------------------------------------------------------------------

    def frame(self, suffix: str, roots: Iterable[Expr]) -> Frame:
        """A frame in which the roots have terms; wider expressions than any before begin all frames anew."""
        self.prepare(roots)
        if suffix not in self._frames:
            assert self._lowering is not None
            self._frames[suffix] = self._lowering.frame(suffix)
        return self._frames[suffix]

    def prepare(self, roots: Iterable[Expr]) -> None:
        """Makes room for the roots in the width of the bit-vectors."""
        wanted = list(roots)
        lowering = self._lowering
        if lowering is not None:
            nodes = [node for node in evaluation_order(wanted) if not node.is_bool]
            if all(lowering.lo <= node.lo and node.hi <= lowering.hi for node in nodes):
                return
        self._roots += wanted
        state_rows = [row for row in self.rows if self._reads[row.id] < 1 << self.count]
        self._lowering = Lowering(_Carrier(self.problem), [*state_rows, *self._roots])  # type: ignore[arg-type]
        self._frames = {}


class _Carrier:
    """What a `Lowering` needs of an instance: the fields' names and sizes."""

    def __init__(self, problem: Problem) -> None:
        self.schema = self
        self.leaves = problem.fields
