"""What the syntax tree of a predicate says by itself, whatever its fields are."""

from __future__ import annotations

import ast

from acked.checker.predicate.values import Names


def names_of(node: ast.expr) -> Names | None:
    """A name or a set of names that is written out."""
    parts = node.elts if isinstance(node, ast.Set) else [node]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return Names(tuple(texts), isinstance(node, ast.Set)) if texts and len(texts) == len(parts) else None


def is_literal(node: ast.expr) -> bool:
    """Whether a term is written out; names that any, all and count bind are not, because their values vary."""
    if isinstance(node, ast.Set):
        return all(map(is_literal, node.elts))
    return isinstance(node, (ast.Constant, ast.UnaryOp))


def is_negation(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def parts_of(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """A name and the fields of what it stands for, such as m and (by,) of `m.by`; None of any other term."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return (node.id, tuple(parts)) if isinstance(node, ast.Name) else None
