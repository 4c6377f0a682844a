"""From the subset of Python of `language.py` to LLVM IR.

One pass over the syntax tree: variables are memory slots, which LLVM's own passes turn into registers.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from acked.base.frozen import frozen
from acked.checker.native import words

_LLVM_TYPE = {"U64": "i64", "P8": "ptr", "P16": "ptr", "P64": "ptr"}
_ELEMENT = {"P8": "i8", "P16": "i16", "P64": "i64"}
_ARITHMETIC = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "udiv", ast.Mod: "urem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr",
}  # fmt: skip
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "ult", ast.LtE: "ule", ast.Gt: "ugt", ast.GtE: "uge"}

Function = Callable[..., object]


class LowLevelError(Exception):
    """A function is not in the subset; the message names the function, the line and the reason."""


@frozen
class _Value:
    text: str
    type: str  # U64, P8, P16, P64, Bool


@frozen
class _Scope:
    """Whose text is being translated: the function's own, or that of a generator inlined in it.

    A generator's variables begin with `prefix`. `loop` is the loop over it, whose body belongs to the scope `outer` and which
    ends at the label `end`.
    """

    name: str
    literals: dict[str, int]
    prefix: str = ""
    loop: ast.For | None = None
    outer: _Scope | None = None
    end: str = ""

    def around(self) -> Iterator[_Scope]:
        """This one and those that it stands in."""
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


@dataclass
class _Function:
    """What is known while one function is translated."""

    scope: _Scope
    lines: list[str] = field(default_factory=list)
    slots: dict[str, str] = field(default_factory=dict)  # local variable, with its scope's prefix -> type
    loops: list[tuple[str, str]] = field(default_factory=list)  # (continue label, break label)
    counter: int = 0

    def slot(self, name: str) -> str:
        """The variable of this name in the scope at hand."""
        return self.scope.prefix + name


def _tree(function: Function) -> ast.FunctionDef:
    """The syntax of a function; of one at the top of its module that of the module, of which many are translated."""
    code, file = function.__code__, sys.modules[function.__module__].__file__
    for tree in () if file is None else _module(file).body:
        if isinstance(tree, ast.FunctionDef) and (tree.name, tree.lineno) == (code.co_name, code.co_firstlineno):
            return tree
    [alone] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(alone, ast.FunctionDef)
    return alone


@lru_cache(8)
def _module(file: str) -> ast.Module:
    return ast.parse(Path(file).read_bytes())


class _Translator:
    def __init__(self, functions: Sequence[Function], constants: Mapping[str, int]) -> None:
        self.constants = constants
        self.trees: dict[str, ast.FunctionDef] = {}
        self.globals: dict[str, Mapping[str, object]] = {}
        for function in functions:
            tree = _tree(function)
            self.trees[tree.name] = tree
            self.globals[tree.name] = vars(sys.modules[function.__module__])
        self.generators = {function.__name__ for function in functions if inspect.isgeneratorfunction(function)}
        self.f = _Function(_Scope("", {}))

    def _fail(self, node: ast.AST, message: str) -> NoReturn:
        line = getattr(node, "lineno", 0) - self.trees[self.f.scope.name].lineno + 1
        raise LowLevelError(f"{self.f.scope.name}, line {line} of the function: {message}")

    def _new(self, hint: str = "t") -> str:
        self.f.counter += 1
        return f"{hint}.{self.f.counter}"

    def _emit(self, text: str) -> None:
        self.f.lines.append(f"  {text}")

    def _let(self, text: str, type_: str) -> _Value:
        name = f"%{self._new()}"
        self._emit(f"{name} = {text}")
        return _Value(name, type_)

    def _name(self, text: str) -> str:
        return self._let(text, "U64").text

    def _label(self, name: str) -> None:
        self.f.lines.append(f"{name}:")

    def _jump(self, label: str) -> None:
        self._emit(f"br label %{label}")

    def _branch(self, condition: _Value, then: str, other: str) -> None:
        self._emit(f"br i1 {condition.text}, label %{then}, label %{other}")

    def translate(self) -> str:
        bodies = [self._function(tree) for name, tree in self.trees.items() if name not in self.generators]
        return "\n".join([words.DECLARATIONS, *bodies])

    def _parameters(self, name: str) -> list[tuple[str, str]]:
        """Names and types."""
        tree = self.trees[name]
        return [(a.arg, self._annotation(a.annotation, tree)) for a in tree.args.args]

    def _annotation(self, node: ast.expr | None, where: ast.AST) -> str:
        if isinstance(node, ast.Name) and node.id in _LLVM_TYPE:
            return node.id
        self._fail(where, "parameters and result must be U64, P8, P16, P64 or None")

    def _scope(self, name: str) -> _Scope:
        literals = {
            key: value
            for key, value in self.globals[name].items()
            if isinstance(value, int) and not isinstance(value, bool)
        }
        return _Scope(name, {**literals, **self.constants})

    def _function(self, tree: ast.FunctionDef) -> str:
        self.f = _Function(self._scope(tree.name))
        parameters = self._parameters(tree.name)
        if not (isinstance(tree.returns, ast.Constant) and tree.returns.value is None):
            self._annotation(tree.returns, tree)
        for name, type_ in parameters:
            self.f.slots[name] = type_
            self._emit(f"store {_LLVM_TYPE[type_]} %arg.{name}, ptr %var.{name}")
        self._block(tree.body)
        self._emit("ret i64 0")
        slots = [f"  %var.{name} = alloca {_LLVM_TYPE[type_]}" for name, type_ in self.f.slots.items()]
        arguments = ", ".join(f"{_LLVM_TYPE[type_]} %arg.{name}" for name, type_ in parameters)
        return "\n".join([f"define i64 @{tree.name}({arguments}) nounwind {{", "entry:", *slots, *self.f.lines, "}", ""])

    # -- statements -----------------------------------------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._store(node.targets[0], self._expression(node.value))
        elif isinstance(node, ast.AugAssign):
            target = node.target
            self._store(target, self._arithmetic(node, node.op, self._expression(target), self._expression(node.value)))
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.While):
            self._while(node)
        elif isinstance(node, ast.For):
            self._loop(node)
        elif isinstance(node, (ast.Break, ast.Continue)):
            self._jump(self.f.loops[-1][isinstance(node, ast.Break)])
            self._label(self._new("dead"))
        elif isinstance(node, ast.Return):
            if self.f.scope.loop is not None:
                self._fail(node, "a generator does not return early")
            value = self._number(node.value) if node.value else _Value("0", "U64")
            self._emit(f"ret i64 {value.text}")
            self._label(self._new("dead"))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
            self._yield(node.value)
        elif isinstance(node, ast.Expr):
            if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
                self._expression(node.value)
        elif not isinstance(node, ast.Pass):
            self._fail(node, f"{type(node).__name__} is outside the subset")

    def _store(self, target: ast.expr, value: _Value) -> None:
        if isinstance(target, ast.Name):
            if value.type == "Bool":
                value = self._let(f"zext i1 {value.text} to i64", "U64")
            slot = self.f.slot(target.id)
            known = self.f.slots.setdefault(slot, value.type)
            if known != value.type:
                self._fail(target, f"{target.id} is {known} and cannot become {value.type}")
            self._emit(f"store {_LLVM_TYPE[value.type]} {value.text}, ptr %var.{slot}")
        elif isinstance(target, ast.Subscript):
            address, element = self._address(target)
            if value.type != "U64":
                self._fail(target, f"cannot store {value.type} in memory")
            if element != "i64":
                value = self._let(f"trunc i64 {value.text} to {element}", "U64")
            self._emit(f"store {element} {value.text}, ptr {address}")
        else:
            self._fail(target, "cannot assign to this")

    def _if(self, node: ast.If) -> None:
        then, other, end = self._new("then"), self._new("else"), self._new("end")
        self._condition(node.test, then, other)
        for label, body in ((then, node.body), (other, node.orelse)):
            self._label(label)
            self._block(body)
            self._jump(end)
        self._label(end)

    def _while(self, node: ast.While) -> None:
        test, body, end = self._new("test"), self._new("body"), self._new("end")
        self._jump(test)
        self._label(test)
        self._condition(node.test, body, end)
        self._label(body)
        self.f.loops.append((test, end))
        self._block(node.body)
        self.f.loops.pop()
        self._jump(test)
        self._label(end)

    def _loop(self, node: ast.For) -> None:
        source = node.iter
        if not (isinstance(source, ast.Call) and isinstance(source.func, ast.Name)):
            self._fail(node, "only `for … in range(…)`, `unrolled(…)` and generators are in the subset")
        if source.func.id in self.generators:
            self._inline(node, source.func.id, source.args)
        elif not isinstance(node.target, ast.Name):
            self._fail(node, "only a generator gives several values")
        elif source.func.id == "unrolled":
            self._unroll(node, node.target.id, source)
        elif source.func.id == "range":
            self._count(node, node.target, source)
        else:
            self._fail(node, f"{source.func.id} is not a generator of the subset")

    def _inline(self, node: ast.For, name: str, arguments: Sequence[ast.expr]) -> None:
        """Puts a generator's body here."""
        if any(scope.name == name for scope in self.f.scope.around()):
            self._fail(node, f"{name} cannot loop over itself")
        parameters, values = self._parameters(name), [self._expression(argument) for argument in arguments]
        if [value.type for value in values] != [type_ for _, type_ in parameters]:
            self._fail(node, f"{name} takes {', '.join(type_ for _, type_ in parameters)}")
        end, outer = self._new("end"), self.f.scope
        self.f.scope = replace(self._scope(name), prefix=f"{self._new(name)}.", loop=node, outer=outer, end=end)
        for (parameter, _), value in zip(parameters, values, strict=True):
            self._store(ast.Name(parameter), value)
        self._block(self.trees[name].body)
        self.f.scope = outer
        self._jump(end)
        self._label(end)

    def _yield(self, node: ast.Yield) -> None:
        """Puts the body of the loop over this generator here."""
        inner = self.f.scope
        if inner.loop is None or inner.outer is None or node.value is None:
            self._fail(node, "only a generator that is looped over yields, and it yields a value")
        target = inner.loop.target
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = [self._expression(part) for part in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])]
        if len(targets) != len(values):
            self._fail(node, f"{len(values)} values are yielded and {len(targets)} are taken")
        self.f.scope = inner.outer
        for name, value in zip(targets, values, strict=True):
            self._store(name, value)
        following = self._new("next")
        self.f.loops.append((following, inner.end))
        self._block(inner.loop.body)
        self.f.loops.pop()
        self.f.scope = inner
        self._jump(following)
        self._label(following)

    def _unroll(self, node: ast.For, target: str, source: ast.Call) -> None:
        literals, count = self.f.scope.literals, self._expression(source.args[0]).text
        if not count.isdigit():
            self._fail(node, "unrolled(…) needs a literal")
        if self.f.slot(target) in self.f.slots:
            self._fail(node, f"{target} is a variable already; unroll over another name")
        shadowed = literals.get(target)
        for i in range(int(count)):
            literals[target] = i
            self._block(node.body)
        if shadowed is None:
            literals.pop(target, None)

    def _count(self, node: ast.For, target: ast.Name, source: ast.Call) -> None:
        bounds = [self._expression(argument) for argument in source.args]
        start, stop = bounds if len(bounds) == 2 else (_Value("0", "U64"), bounds[0])
        test, body, step, end = (self._new(name) for name in ("test", "body", "step", "end"))
        self._store(target, start)
        self._jump(test)
        self._label(test)
        self._branch(self._let(f"icmp ult i64 {self._expression(target).text}, {stop.text}", "Bool"), body, end)
        self._label(body)
        self.f.loops.append((step, end))
        self._block(node.body)
        self.f.loops.pop()
        self._jump(step)
        self._label(step)
        self._store(target, self._let(f"add i64 {self._expression(target).text}, 1", "U64"))
        self._jump(test)
        self._label(end)

    # -- expressions ----------------------------------------------------------------------------------------------

    def _condition(self, node: ast.expr, then: str, other: str) -> None:
        """Branches on a condition; `and`, `or` and `not` are lazy."""
        if isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            for part in node.values[:-1]:
                following = self._new("next")
                self._condition(part, following if is_and else then, other if is_and else following)
                self._label(following)
            self._condition(node.values[-1], then, other)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._condition(node.operand, other, then)
        else:
            value = self._expression(node)
            if value.type != "Bool":
                value = self._let(f"icmp ne i64 {self._require_number(node, value).text}, 0", "Bool")
            self._branch(value, then, other)

    def _number(self, node: ast.expr) -> _Value:
        return self._require_number(node, self._expression(node))

    def _require_number(self, node: ast.AST, value: _Value) -> _Value:
        if value.type == "Bool":
            return self._let(f"zext i1 {value.text} to i64", "U64")
        if value.type != "U64":
            self._fail(node, f"expected a number, got {value.type}")
        return value

    def _expression(self, node: ast.expr) -> _Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return _Value(str(int(node.value)), "U64")
        if isinstance(node, ast.Name):
            slot = self.f.slot(node.id)
            if slot in self.f.slots:
                type_ = self.f.slots[slot]
                return self._let(f"load {_LLVM_TYPE[type_]}, ptr %var.{slot}", type_)
            if node.id in self.f.scope.literals:
                return _Value(str(self.f.scope.literals[node.id]), "U64")
            self._fail(node, f"{node.id} is neither a variable nor a constant")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_variable = self.f.slot(node.value.id) in self.f.slots
            number = getattr(self.globals[self.f.scope.name].get(node.value.id), node.attr, None)
            if is_variable or not isinstance(number, int):
                self._fail(node, f"{ast.unparse(node)} is not a constant of a module")
            return _Value(str(number), "U64")
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, node.op, self._expression(node.left), self._expression(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if type(node.ops[0]) not in _COMPARE:
                self._fail(node, f"the comparison {type(node.ops[0]).__name__} is outside the subset")
            left, right = self._number(node.left), self._number(node.comparators[0])
            return self._let(f"icmp {_COMPARE[type(node.ops[0])]} i64 {left.text}, {right.text}", "Bool")
        if isinstance(node, ast.IfExp):
            test = self._expression(node.test)
            if test.type != "Bool":
                test = self._let(f"icmp ne i64 {self._require_number(node, test).text}, 0", "Bool")
            then, other = self._number(node.body), self._number(node.orelse)
            return self._let(f"select i1 {test.text}, i64 {then.text}, i64 {other.text}", "U64")
        if isinstance(node, ast.Subscript):
            address, element = self._address(node)
            value = self._let(f"load {element}, ptr {address}", "U64")
            return value if element == "i64" else self._let(f"zext {element} {value.text} to i64", "U64")
        if isinstance(node, ast.Call):
            return self._call(node)
        self._fail(node, f"{type(node).__name__} is outside the subset")

    def _arithmetic(self, node: ast.AST, op: ast.operator, left: _Value, right: _Value) -> _Value:
        left, right = self._require_number(node, left), self._require_number(node, right)
        if left.text.isdigit() and right.text.isdigit():
            folded = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.LShift: int.__lshift__,
                      ast.FloorDiv: int.__floordiv__}.get(type(op))  # fmt: skip
            if folded is not None and (value := folded(int(left.text), int(right.text))) >= 0:
                return _Value(str(value % (1 << 64)), "U64")
        if type(op) not in _ARITHMETIC:
            self._fail(node, f"the operator {type(op).__name__} is outside the subset")
        return self._let(f"{_ARITHMETIC[type(op)]} i64 {left.text}, {right.text}", "U64")

    def _address(self, node: ast.Subscript) -> tuple[str, str]:
        pointer, index = self._expression(node.value), self._number(node.slice)
        if pointer.type not in _ELEMENT:
            self._fail(node, f"{pointer.type} cannot be indexed")
        element = _ELEMENT[pointer.type]
        return self._let(f"getelementptr inbounds {element}, ptr {pointer.text}, i64 {index.text}", "P8").text, element

    def _call(self, node: ast.Call) -> _Value:
        if not isinstance(node.func, ast.Name):
            self._fail(node, "only plain functions can be called")
        name = node.func.id
        arguments = [self._expression(argument) for argument in node.args]
        if name in self.trees:
            parameters = self._parameters(name)
            if name in self.generators:
                self._fail(node, f"{name} is a generator, which only a `for` uses")
            if [a.type for a in arguments] != [type_ for _, type_ in parameters]:
                self._fail(node, f"{name} takes {', '.join(type_ for _, type_ in parameters)}")
            return self._let(f"call i64 @{name}({self._arguments(arguments)})", "U64")
        texts = [argument.text for argument in arguments]
        if name in ("p8", "p16", "p64"):
            return self._let(f"inttoptr i64 {texts[0]} to ptr", name.upper())
        if name == "at":
            element = _ELEMENT[arguments[0].type]
            moved = f"getelementptr inbounds {element}, ptr {texts[0]}, i64 {texts[1]}"
            return self._let(moved, arguments[0].type)
        if name in words.WORDS:
            return _Value(words.WORDS[name](self._name, self._emit, *texts), "U64")
        if name == "call":
            target = self._let(f"inttoptr i64 {texts[0]} to ptr", "P8").text
            return self._let(f"call i64 {target}({self._arguments(arguments[1:])})", "U64")
        self._fail(node, f"{name} is not a word of the subset")

    @staticmethod
    def _arguments(arguments: Sequence[_Value]) -> str:
        return ", ".join(f"{_LLVM_TYPE[argument.type]} {argument.text}" for argument in arguments)


def translate(functions: Sequence[Function], constants: Mapping[str, int]) -> str:
    """LLVM IR of the functions, every one exported under its name and returning i64; generators stand where they are used.

    `LowLevelError` if one is not in the subset."""
    return _Translator(functions, constants).translate()
