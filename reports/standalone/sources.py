"""Where a function of Python is written: its syntax tree, the nodes that are its own, the names that it binds."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType, FunctionType

from acked.base.errors import AckedError


class Untranslatable(AckedError):
    """What a function does and no page can: one sentence with the line."""


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))  # Which knows cells of notebooks, too.


def definition_of(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Where a function is written; of several lambdas on a line the one with the very body."""
    code = function.__code__
    try:
        found = next((node for node in ast.walk(_tree(code.co_filename)) if _is_of(node, code)), None)
    except (OSError, SyntaxError):
        found = None
    if not isinstance(found, (ast.FunctionDef, ast.Lambda)):
        raise Untranslatable(f"the text of {function.__qualname__} cannot be read")
    return found


def _is_of(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        lines = {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}
        return node.name == code.co_name and code.co_firstlineno in lines
    if not isinstance(node, ast.Lambda) or code.co_name != "<lambda>":
        return False
    body = node.body
    while isinstance(body, ast.IfExp):  # No instruction is of the whole of it.
        body = body.test
    place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
    return node.lineno == code.co_firstlineno and place in code.co_positions()


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a function's body that are not another function's."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp)):
            yield from own_nodes(list(ast.iter_child_nodes(node)))


def names_in(target: ast.AST) -> Iterator[str]:
    """The names in the target of an assignment or a loop."""
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def names_bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that a body binds."""
    for node in own_nodes(body):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from names_in(target)
        elif isinstance(node, (ast.AnnAssign, ast.For, ast.NamedExpr, ast.AugAssign)):
            yield from names_in(node.target)
        elif isinstance(node, ast.FunctionDef):
            yield node.name
