"""What the syntax tree of a predicate says by itself, whatever its fields are."""

from __future__ import annotations

import ast
from collections.abc import Callable

from acked.checker.predicate.text import unknown_call
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


Refuse = Callable[[ast.AST, str], Exception]
"""Makes the error that something cannot be understood, with its place."""


def generator_of(call: ast.Call, refuse: Refuse) -> ast.GeneratorExp:
    """What any, all or count goes through; no other call has a meaning."""
    kind = getattr(call.func, "id", "") or getattr(call.func, "attr", "")
    made = call.args[0] if kind in ("any", "all", "count") and len(call.args) == 1 and not call.keywords else None
    if not isinstance(made, ast.GeneratorExp):
        raise refuse(call, unknown_call(kind))
    return made


def target_of(loop: ast.comprehension, refuse: Refuse) -> str:
    """The name that a loop binds."""
    if not isinstance(loop.target, ast.Name) or loop.is_async:
        raise refuse(loop.target, "write one name, such as r in any(… for r in …)")
    return loop.target.id


def range_ends(node: ast.expr, refuse: Refuse) -> list[ast.expr] | None:
    """The arguments of a range; None if a term is none."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "range":
        return None
    if node.keywords or not 1 <= len(node.args) <= 2:
        raise refuse(node, "write range(log_size) or range(1, log_size)")
    return node.args
