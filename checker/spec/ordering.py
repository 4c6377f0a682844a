"""Protocol files whose loops tell when they look at the elements of a set one by one.

The order of a set of texts differs from process to process, and so would a protocol that depends on it, while within one
process it never does. `wrap_loops` puts a call around everything that is iterated over, which refuses a set while an action
is watched (`acked.model.formulas.watch.note_order`) and is nothing else. `Loader` does so for the files beside a protocol's
own.
"""

from __future__ import annotations

import ast
import sys
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

_NAME = "__acked_in_order__"
_CONSUMERS = {"list", "tuple", "iter", "enumerate", "zip", "map", "filter", "dict", "join", "extend", "fromkeys"}
"""What is called with something to iterate over, and hands its order on; `sorted`, `sum` and `len` do not."""


def wrap_loops(tree: ast.Module) -> ast.Module:
    """A module whose loops tell in which order they iterate; what is changed is the tree that was given."""
    made: ast.Module = _Wrapping().visit(tree)
    module, name = "acked.model.formulas.watch", ast.alias("note_order", _NAME)
    at = next((number for number, line in enumerate(made.body) if not _is_prelude(line)), len(made.body))
    made.body.insert(at, ast.ImportFrom(module, [name], 0))
    return ast.fix_missing_locations(made)


def _is_prelude(line: ast.stmt) -> bool:
    is_text = isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
    return is_text or (isinstance(line, ast.ImportFrom) and line.module == "__future__")


class _Wrapping(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _wrap(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _wrap(node.iter)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            node.value = _wrap(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        consumes = name in _CONSUMERS
        node.args = [
            ast.copy_location(ast.Starred(_wrap(item.value), item.ctx), item) if isinstance(item, ast.Starred)
            else _wrap(item) if consumes else item
            for item in node.args
        ]  # fmt: skip
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return self._wrap_stars(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self.generic_visit(node)
        return self._wrap_stars(node)

    def _wrap_stars(self, node: ast.List | ast.Tuple) -> ast.AST:
        for item in node.elts:
            if isinstance(item, ast.Starred) and isinstance(node.ctx, ast.Load):
                item.value = _wrap(item.value)
        return node


def _wrap(iterated: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(_NAME, ast.Load()), [iterated], []), iterated)


class Loader(SourceFileLoader):
    """Reads a file from its text, whatever Python may have kept of it, and has its loops tell."""

    def get_code(self, fullname: str) -> CodeType:
        """The module's code."""
        path = self.get_filename(fullname)
        code: CodeType = compile(wrap_loops(ast.parse(self.get_data(path), path)), path, "exec", dont_inherit=True)
        return code

    @classmethod
    def is_used_in(cls, folder: Path) -> None:
        """From now on files of this folder are imported so."""
        sys.path_importer_cache[str(folder)] = FileFinder(str(folder), (cls, [".py"]))
