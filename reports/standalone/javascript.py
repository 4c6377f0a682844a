"""Functions of Python as JavaScript: the words and the pictures of a protocol, for pages that have no Python.

`Translator`, for functions of plain values: numbers, texts, lists, sets, decoded states. What is known when a page is made
(constants, a provider, other functions) is taken from Python as it is then; what is not is said with `reports/web/python.js`,
which has Python's meaning of truth, equality, `in` and the like. `Untranslatable` names what has no counterpart there.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from inspect import Parameter, signature
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, NoReturn, TypeAlias

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.reports.standalone.sources import Untranslatable, definition_of, names_bound, names_in, own_nodes


@frozen
class Host:
    """A value that is known when the page is made."""

    value: Any


Term: TypeAlias = Host | str
"""What an expression is: a known value, or JavaScript."""

_SAME = (
    *(all, any, bool, enumerate, getattr, hasattr, len, list, map, max, min, next, range, reversed, set, sorted, str, sum),
    *(tuple, zip),
)
_BUILTINS: dict[Any, str] = {function: f"py.{function.__name__}" for function in _SAME} | {frozenset: "py.set"}
_METHODS = frozenset({"append", "count", "get", "index", "items", "join", "keys", "removeprefix", "replace", "values"})
_COMPARED = {ast.Lt: "< 0", ast.LtE: "<= 0", ast.Gt: "> 0", ast.GtE: ">= 0"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.BitOr: "or", ast.BitAnd: "and",
}  # fmt: skip
_RESERVED = frozenset(
    {"case", "catch", "const", "default", "delete", "do", "export", "function", "let", "new", "null", "py", "switch", "this"}
    | {"throw", "typeof", "undefined", "var", "void"}
)


class Translator:
    """Translates functions, each once, with all that they call."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, ...], str] = {}
        self._kept: list[object] = []
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """The functions that were translated so far."""
        return "\n".join(self._texts)

    def function(self, function: Callable[..., Any], *known: object) -> str:
        """The name of a function in JavaScript, whose first parameters have these values."""
        if isinstance(function, MethodType):
            return self.function(function.__func__, function.__self__, *known)
        if not isinstance(function, FunctionType):
            raise Untranslatable(f"{function!r} is not a function with a text")
        key = (id(function), *map(id, known))
        if key not in self._names:
            self._kept += [function, *known]  # so that ids stay theirs
            name = self._names[key] = f"f{len(self._names)}"
            try:
                self._texts.append(_Function(self, function, known).text(name))
            except Untranslatable:
                del self._names[key]
                raise
        return self._names[key]

    def literal(self, value: object) -> str:
        """A known value in JavaScript."""
        if isinstance(value, Enum):
            return self.literal(value.value)
        if value is None or isinstance(value, (bool, int, str)):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self.literal, value))}]"
        if isinstance(value, (set, frozenset)):
            return f"py.set([{', '.join(map(self.literal, value))}])"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{json.dumps(str(key))}: {self.literal(item)}' for key, item in value.items())}}}"
        if is_dataclass(value) and not isinstance(value, type):
            return self.literal({item.name: getattr(value, item.name) for item in fields(value)})
        if value in _BUILTINS:
            return _BUILTINS[value]
        return self.function(value)  # type: ignore[arg-type]


class _Function:
    """One function: its names, and what is assigned where."""

    def __init__(self, translator: Translator, function: FunctionType, known: Sequence[object]) -> None:
        self._translator = translator
        self._function = function
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._outside = {**vars(__import__("builtins")), **function.__globals__}
        self._outside |= {name: cell.cell_contents for name, cell in cells}
        self._node = definition_of(function)
        self._known = dict(zip((item.arg for item in self._node.args.args), known, strict=False))
        self._scopes: list[set[str]] = []

    def text(self, name: str) -> str:
        return self._definition(self._node, name, len(self._known))

    def _fail(self, node: ast.AST, what: str) -> NoReturn:
        file = Path(self._function.__code__.co_filename).name
        raise Untranslatable(f"{what} has no counterpart in a page ({file}:{getattr(node, 'lineno', 0)})")

    # -- functions and statements -----------------------------------------------------------------------------------

    def _definition(self, node: ast.FunctionDef | ast.Lambda, name: str, skipped: int = 0) -> str:
        given = [item.arg for item in node.args.args[skipped:]]
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            self._fail(node, "a parameter that takes any arguments")
        with self._scope(given):
            if isinstance(node, ast.Lambda):
                return f"function {name}({', '.join(map(_js, given))}) {{ return {self._js(node.body)}; }}"
            assigned = [name for name in dict.fromkeys(names_bound(node.body)) if name not in given]
            self._scopes[-1].update(assigned)
            star = "*" if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own_nodes(node.body)) else ""
            inner = {part.name for part in own_nodes(node.body) if isinstance(part, ast.FunctionDef)}
            variables = [name for name in assigned if name not in inner]
            declared = f"let {', '.join(map(_js, variables))};\n" if variables else ""
            return f"function{star} {name}({', '.join(map(_js, given))}) {{\n{declared}{self._block(node.body)}}}"

    @contextmanager
    def _scope(self, names: Sequence[str]) -> Iterator[None]:
        self._scopes.append(set(names))
        yield
        self._scopes.pop()

    def _block(self, body: Sequence[ast.stmt]) -> str:
        return "".join(f"{text}\n" for node in body if (text := self._statement(node)))

    def _statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Return(value=None):
                return "return null;"
            case ast.Return():
                return f"return {self._js(node.value)};"
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assert() | ast.AnnAssign(value=None):
                return ""
            case ast.Expr():
                return f"{self._js(node.value)};"
            case ast.Assign(targets=[ast.Tuple(elts=[*first, ast.Starred(value=rest), last])]):
                targets = ", ".join(map(self._target, [*first, rest, last]))
                return f"[{targets}] = py.parted({self._js(node.value)}, {len(first)});"
            case ast.Assign(targets=[target]):
                return f"{self._target(target)} = {self._js(node.value)};"
            case ast.AnnAssign():
                return f"{self._target(node.target)} = {self._js(node.value)};"
            case ast.AugAssign(target=ast.Name(id=name)) if type(node.op) in _OPERATORS:
                return f"{_js(name)} = py.i{_OPERATORS[type(node.op)]}({_js(name)}, {self._js(node.value)});"
            case ast.If():
                return self._if(node)
            case ast.For(orelse=[]):
                return f"for ({self._target(node.target)} of py.iter({self._js(node.iter)})) {{\n{self._block(node.body)}}}"
            case ast.Continue():
                return "continue;"
            case ast.Break():
                return "break;"
            case ast.Raise():
                return 'throw new Error("the words of this step have no text");'
            case ast.FunctionDef():
                return self._definition(node, _js(node.name))
        self._fail(node, f"`{ast.unparse(node).partition(chr(10))[0]}`")

    def _if(self, node: ast.If) -> str:
        test = self._test(node.test)
        if isinstance(test, Host):
            return self._block(node.body if test.value else node.orelse)
        other = f" else {{\n{self._block(node.orelse)}}}" if node.orelse else ""
        return f"if ({test}) {{\n{self._block(node.body)}}}{other}"

    def _target(self, node: ast.expr) -> str:
        match node:
            case ast.Name():
                return _js(node.id)
            case ast.Tuple() | ast.List():
                return f"[{', '.join(map(self._target, node.elts))}]"
            case ast.Starred():
                return f"...{self._target(node.value)}"
        self._fail(node, f"an assignment to `{ast.unparse(node)}`")

    # -- expressions ------------------------------------------------------------------------------------------------

    def _js(self, node: ast.expr | None) -> str:
        """An expression in JavaScript."""
        if node is None:
            return "null"
        term = self._term(node)
        if isinstance(term, str):
            return term
        try:
            return self._translator.literal(term.value)
        except TypeError:
            self._fail(node, f"`{ast.unparse(node)}`")

    def _test(self, node: ast.expr) -> Term:
        """Whether an expression is true to Python, as something that is to JavaScript."""
        match node:
            case ast.UnaryOp(op=ast.Not()):
                term = self._test(node.operand)
                return Host(not term.value) if isinstance(term, Host) else f"!{term}"
            case ast.BoolOp():
                return self._tests(node)
        term = self._term(node)
        if isinstance(term, Host):
            return Host(bool(term.value))
        return term if isinstance(node, ast.Compare) else f"py.truth({term})"

    def _tests(self, node: ast.BoolOp) -> Term:
        decides = isinstance(node.op, ast.Or)
        parts: list[str] = []
        for value in node.values:
            term = self._test(value)
            if isinstance(term, str):
                parts.append(term)
            elif term.value is decides:
                return term
        return f"({(' || ' if decides else ' && ').join(parts)})" if parts else Host(not decides)

    def _term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant():
                return Host(node.value)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                term = self._term(node.value)
                return self._attribute(node, term) if isinstance(term, Host) else f'py.field({term}, "{node.attr}")'
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
            case ast.JoinedStr():
                return f"`{''.join(map(self._piece, node.values))}`"
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._connected(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.BinOp() if type(node.op) in _OPERATORS:
                return f"py.{_OPERATORS[type(node.op)]}({self._js(node.left)}, {self._js(node.right)})"
            case ast.UnaryOp(op=ast.USub()):
                return f"-{self._js(node.operand)}"
            case ast.Tuple() | ast.List():
                return f"[{', '.join(map(self._element, node.elts))}]"
            case ast.Set():
                return f"py.set([{', '.join(map(self._element, node.elts))}])"
            case ast.Dict():
                return self._dict(node)
            case ast.ListComp():
                return f"[...{self._comprehension(node)}]"
            case ast.SetComp():
                return f"py.set({self._comprehension(node)})"
            case ast.GeneratorExp():
                return self._comprehension(node)
            case ast.Lambda():
                return f"({self._definition(node, '')})"
            case ast.NamedExpr():
                return f"({_js(node.target.id)} = {self._js(node.value)})"
            case ast.Yield():
                return f"yield {self._js(node.value)}"
            case ast.YieldFrom():
                return f"yield* py.iter({self._js(node.value)})"
        self._fail(node, f"`{ast.unparse(node)}`")

    def _name(self, node: ast.Name) -> Term:
        if any(node.id in scope for scope in self._scopes):
            return _js(node.id)
        if node.id in self._known:
            return Host(self._known[node.id])
        if node.id in self._outside:
            return Host(self._outside[node.id])
        self._fail(node, f"the name {node.id}")

    def _attribute(self, node: ast.Attribute, owner: Host) -> Host:
        try:
            return Host(getattr(owner.value, node.attr))
        except (AttributeError, ModelError) as error:
            raise Untranslatable(f"{ast.unparse(node)}: {error}") from None

    def _subscript(self, node: ast.Subscript) -> Term:
        term = self._term(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = [self._js(part) for part in (node.slice.lower, node.slice.upper, node.slice.step)]
            return f"py.slice({self._js(node.value)}, {', '.join(bounds)})"
        index = self._term(node.slice)
        if isinstance(term, Host) and isinstance(index, Host):
            return Host(term.value[index.value])
        if isinstance(index, Host) and isinstance(index.value, str):
            return f"py.field({term}, {json.dumps(index.value)})"
        return f"py.item({self._js(node.value)}, {self._js(node.slice)})"

    def _piece(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return str(node.value).replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")
        assert isinstance(node, ast.FormattedValue)
        if node.format_spec is not None or node.conversion not in (-1, ord("s")):
            self._fail(node, "a format in a text")
        return f"${{py.str({self._js(node.value)})}}"

    def _element(self, node: ast.expr) -> str:
        return f"...py.iter({self._js(node.value)})" if isinstance(node, ast.Starred) else self._js(node)

    def _dict(self, node: ast.Dict) -> str:
        parts = []
        for key, value in zip(node.keys, node.values, strict=True):
            parts.append(f"...{self._js(value)}" if key is None else f"[{self._js(key)}]: {self._js(value)}")
        return f"{{{', '.join(parts)}}}"

    def _choice(self, node: ast.IfExp) -> Term:
        test = self._test(node.test)
        if isinstance(test, Host):
            return self._term(node.body if test.value else node.orelse)
        return f"({test} ? {self._js(node.body)} : {self._js(node.orelse)})"

    def _connected(self, node: ast.BoolOp | ast.UnaryOp) -> Term:
        """A connective where its value counts: `a or b` is one of the two."""
        if isinstance(node, ast.UnaryOp) or all(isinstance(part, (ast.Compare, ast.UnaryOp)) for part in node.values):
            return self._test(node)
        name = "either" if isinstance(node.op, ast.Or) else "both"
        return f"py.{name}({', '.join(f'() => ({self._js(part)})' for part in node.values)})"

    def _comparison(self, node: ast.Compare) -> Term:
        sides = [node.left, *node.comparators]
        parts: list[str] = []
        for at, operator in enumerate(node.ops):
            made = self._compared(operator, sides[at], sides[at + 1], node)
            if isinstance(made, str):
                parts.append(made)
            elif not made.value:
                return made
        return f"({' && '.join(parts)})" if parts else Host(True)

    def _compared(self, operator: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.expr) -> Term:
        a, b = self._term(left), self._term(right)
        if isinstance(a, Host) and isinstance(b, Host):
            whole = ast.Expression(ast.Compare(ast.Name("a", ast.Load()), [operator], [ast.Name("b", ast.Load())]))
            return Host(eval(compile(ast.fix_missing_locations(whole), "", "eval"), {}, {"a": a.value, "b": b.value}))
        one, other = self._js(left), self._js(right)
        match operator:
            case ast.Eq():
                return f"py.eq({one}, {other})"
            case ast.NotEq():
                return f"!py.eq({one}, {other})"
            case ast.Is():
                return f"{one} === {other}"
            case ast.IsNot():
                return f"{one} !== {other}"
            case ast.In():
                return f"py.has({other}, {one})"
            case ast.NotIn():
                return f"!py.has({other}, {one})"
        return f"py.compare({one}, {other}) {_COMPARED[type(operator)]}"

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> str:
        names = [name for loop in node.generators for name in names_in(loop.target)]
        begins = ""
        with self._scope(names):
            for loop in node.generators:
                begins += f"for (const {self._target(loop.target)} of py.iter({self._js(loop.iter)})) "
                for test in loop.ifs:
                    term = self._test(test)
                    begins += f"if ({str(term.value).lower() if isinstance(term, Host) else term}) "
            return f"(function* () {{ {begins}yield {self._js(node.elt)}; }})()"

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Term:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return Host(super(self._outside["__class__"], next(iter(self._known.values()))))
        if isinstance(node.func, ast.Attribute):
            owner = self._term(node.func.value)
            if isinstance(owner, str) or (node.func.attr in _METHODS and not hasattr(owner.value, "__dict__")):
                if node.func.attr not in _METHODS:
                    self._fail(node, f"the method {node.func.attr}")
                arguments = [self._js(node.func.value), *map(self._element, node.args)]
                return f"py.{node.func.attr}({', '.join(arguments)})"
        called = self._term(node.func)
        if isinstance(called, str):
            return f"{called}({', '.join(map(self._element, node.args))})"
        return self._known_call(node, called.value)

    def _known_call(self, node: ast.Call, called: Any) -> Term:
        if called is isinstance:
            is_of = self._term(node.args[1])
            if not isinstance(is_of, Host) or is_of.value not in (str, int, dict, list):
                self._fail(node, f"`{ast.unparse(node)}`")
            return f"py.isinstance({self._js(node.args[0])}, {json.dumps(is_of.value.__name__)})"
        if called in _BUILTINS:
            named = {item.arg: self._js(item.value) for item in node.keywords if item.arg != "strict"}
            if named:
                self._fail(node, f"`{ast.unparse(node)}`")
            return f"{_BUILTINS[called]}({', '.join(map(self._element, node.args))})"
        if isinstance(called, type) and is_dataclass(called):
            return f"{{{', '.join(f'{name}: {text}' for name, text in self._arguments(node, called).items())}}}"
        given = [self._term(part) for part in node.args if not isinstance(part, ast.Starred)]
        if given and all(isinstance(part, Host) for part in given) and not node.keywords:
            return self._evaluated(node, called, [part.value for part in given if isinstance(part, Host)])
        return f"{self._translator.function(called)}({', '.join(self._arguments(node, called).values())})"

    def _evaluated(self, node: ast.Call, called: Any, arguments: Sequence[object]) -> Host:
        """A call of which everything is known."""
        try:
            return Host(called(*arguments))
        except ModelError as error:
            raise Untranslatable(f"{ast.unparse(node)}: {error}") from None

    def _arguments(self, node: ast.Call, called: Any) -> dict[str, str]:
        """The arguments of a call by the names of the parameters, defaults included."""
        if isinstance(called, type) and is_dataclass(called):
            defaults = {item.name: _default(item) for item in fields(called)}
        else:
            defaults = {name: item.default for name, item in signature(called).parameters.items()}
        names, found = list(defaults), {}
        for name, part in zip(names, node.args, strict=False):
            if isinstance(part, ast.Starred):
                self._fail(node, f"`{ast.unparse(node)}`")
            found[name] = self._js(part)
        found |= {str(item.arg): self._js(item.value) for item in node.keywords}
        missing = [name for name in names if name not in found]
        return {name: found[name] if name not in missing else self._translator.literal(defaults[name]) for name in names}


def _default(item: Any) -> object:
    if item.default is not MISSING:
        return item.default
    return Parameter.empty if item.default_factory is MISSING else item.default_factory()


def _js(name: str) -> str:
    """A name of Python's that means nothing else in JavaScript."""
    return f"{name}_" if name in _RESERVED else name
