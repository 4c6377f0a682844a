"""What the formulas of an action have in common, and which of it is worth a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op
from acked.reports.exports.tla_reading import Clamped, Place, Quantified, Sketch, Variable

_LONG = 12
"""Nodes of a formula that is worth a name where it stands twice."""

_NOTHING: frozenset[Expr] = frozenset()


def worth_sharing(pool: Sketch, roots: Sequence[Expr], is_plain: Callable[[Expr], bool]) -> list[Expr]:
    """What long formulas have in common, smaller ones first: truth values and numbers that bind nothing outside."""
    order = evaluation_order(roots, partial(_parts_of, pool))
    uses: dict[int, int] = {}
    sizes: dict[int, int] = {}
    free: dict[int, frozenset[Expr]] = {}
    for root in roots:
        uses[root.id] = uses.get(root.id, 0) + 1
    for node in order:
        parts = _parts_of(pool, node)
        for part in parts:
            uses[part.id] = uses.get(part.id, 0) + 1
        sizes[node.id] = 1 + sum(sizes[part.id] for part in parts)
        free[node.id] = _free(pool, node, _NOTHING.union(*(free[part.id] for part in parts)))
    return [
        node
        for node in order
        if uses[node.id] > 1 and sizes[node.id] >= _LONG and not free[node.id] and is_plain(node)
    ]


def _free(pool: Sketch, node: Expr, below: frozenset[Expr]) -> frozenset[Expr]:
    """The variables of quantifiers outside a node that it is about."""
    if node.op is not Op.FIELD:
        return below
    found = pool.named(node)
    if isinstance(found, Variable):
        return frozenset({node}) if found.is_bound else below
    return below.difference(found.variables) if isinstance(found, Quantified) else below


def _parts_of(pool: Sketch, node: Expr) -> Sequence[Expr]:
    """What a node is made of, and what it has a name for, which was made before the name."""
    if node.op is not Op.FIELD:
        return node.args
    match pool.named(node):
        case Place(path=path):
            return [part for part in path if isinstance(part, Expr)]
        case Clamped(index=index):
            return [index]
        case Quantified(members=members, body=body):
            return [body] if members is None else [members, body]
    return ()
