"""What a solver process is given: a protocol instance and the claims about it, as plain data.

`Problem`, made of an instance and its properties, and how its expressions are put down as rows of numbers and rebuilt in
another process.

A claim is one expression. That of a state claim reads the state's fields; that of a step claim reads the state before a step,
and the state after it as further fields, numbered after those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from acked.base.frozen import frozen
from acked.checker.symmetry.check import named_initially
from acked.invariants.property import Kind, Property
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op, Pool, builders
from acked.model.language.domain import IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

Row = tuple[str, bool, int, tuple[int, ...]]
"""One expression: its kind, whether it is a Bool, its value, and the rows of its arguments, which come earlier."""


@frozen
class SolverField:
    """One leaf of the state; named as `Leaf` of the layout names it, so that a `Lowering` takes either."""

    name: str
    bits: int
    cardinality: int
    slot: tuple[int, int] | None = None


@frozen
class SolverClaim:
    """A property or lemma; `root` is the row of its condition, `pieces` are those of its conjuncts, if they are wanted."""

    name: str
    is_step: bool
    root: int
    pieces: tuple[int, ...] = ()


@frozen
class SolverStep:
    """An action instance. `ids` are its arguments of the sort over which the protocol is symmetric, in their order."""

    label: str
    action: str
    guard: int
    updates: tuple[tuple[int, int], ...]
    overflows: tuple[tuple[int, int], ...]
    ids: tuple[int, ...]


@frozen
class Problem:
    """An instance with its claims.

    `sort_size` is the number of ids that may be renamed in all of it, 0 if none may; the initial states name the first
    `named` of them, which in runs that begin there may not.
    """

    fields: tuple[SolverField, ...]
    rows: tuple[Row, ...]
    initial: tuple[tuple[int, ...], ...]
    claims: tuple[SolverClaim, ...]
    steps: tuple[SolverStep, ...]
    sort_size: int = 0
    named: int = 0


def conditions(instance: Instance, claims: Iterable[Property]) -> list[Expr]:
    """The condition of every claim; see the module's text for step claims."""
    return [_condition(instance, item) for item in claims]


def _condition(instance: Instance, claim: Property) -> Expr:
    if claim.kind is Kind.DEADLOCK:
        return instance.pool.any(step.guard for step in instance.actions)
    if claim.kind in (Kind.STATE, Kind.REACH):
        return instance.state_predicate(claim.name, claim.predicate)
    return instance.step_predicate(claim.name, claim.predicate, _any_step(instance))


def _any_step(instance: Instance) -> ActionInstance:
    """A step whose outcome is left open: it sets every field to a field of its own."""
    pool, leaves = instance.pool, instance.schema.leaves
    after = tuple((leaf, pool.field(len(leaves) + leaf, item.cardinality)) for leaf, item in enumerate(leaves))
    return replace(instance.actions[0], arguments={}, guards=(), guard=pool.true, updates=after, overflows=())


def make_problem(
    instance: Instance,
    claims: Sequence[Property],
    roots: Sequence[Expr],
    is_symmetric: bool,
    pieces: Sequence[Sequence[Expr]] = (),
) -> Problem:
    """The problem of an instance; `roots` are the claims' conditions, `is_symmetric` says that ids may be renamed.

    `pieces` are the conjuncts of each claim, or nothing.
    """
    table = _Table()
    steps = tuple(
        SolverStep(
            item.label,
            item.action.name,
            table.add(item.guard),
            tuple((leaf, table.add(code)) for leaf, code in item.updates),
            tuple((leaf, table.add(bad)) for leaf, bad in item.overflows),
            ids_of(item),
        )
        for item in instance.actions
    )
    conjuncts = pieces or [()] * len(claims)
    made = tuple(
        SolverClaim(item.name, item.kind is Kind.STEP, table.add(root), tuple(map(table.add, parts)))
        for item, root, parts in zip(claims, roots, conjuncts, strict=True)
    )
    size = max((1 + number for step in steps for number in step.ids), default=0)
    return Problem(
        tuple(SolverField(leaf.name, leaf.bits, leaf.cardinality, leaf.slot) for leaf in instance.schema.leaves),
        tuple(table.rows),
        tuple(tuple(instance.schema.unpack(words)) for words in instance.initial),
        made,
        steps,
        size if is_symmetric else 0,
        named_initially(instance) if is_symmetric else 0,
    )


def ids_of(step: ActionInstance) -> tuple[int, ...]:
    """The arguments of a step that are ids, in the order of its parameters."""
    domains = step.parameters
    named = step.arguments.items()
    return tuple(value for name, value in named if isinstance(value, int) and isinstance(domains[name], IdDomain))


class _Table:
    """Rows of expressions, each written once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._row_of: dict[int, int] = {}

    def add(self, root: Expr) -> int:
        if root.id not in self._row_of:
            for node in evaluation_order([root]):
                if node.id not in self._row_of:
                    self._row_of[node.id] = len(self.rows)
                    args = tuple(self._row_of[arg.id] for arg in node.args)
                    self.rows.append((node.op.value, node.is_bool, node.value, args))
        return self._row_of[root.id]


def rebuild(problem: Problem, pool: Pool) -> list[Expr]:
    """The problem's rows as expressions of a pool."""
    make: dict[str, Any] = {op.value: build for op, build in builders(pool).items()}
    fields = problem.fields
    made: list[Expr] = []
    for op, is_bool, value, args in problem.rows:
        if op == Op.CONST.value:
            made.append(pool.bool(bool(value)) if is_bool else pool.int(value))
        elif op == Op.FIELD.value:
            made.append(pool.field(value, fields[value % len(fields)].cardinality))
        else:
            made.append(make[op](*(made[arg] for arg in args)))
    return made
