"""Expressions over inputs as Python functions: what decides and takes a concrete step.

`compiled_step` and `compiled_values`. A function is text made of expressions alone, whose names are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from acked.model.concrete.inputs import Inputs, Leaf, Lookup, Parameter, Search, Variable, Wanted, parts_of
from acked.model.concrete.runs import append, copy, cut, record_at
from acked.model.concrete.store import Appended, Before, Copied, Cut, Layout, Version
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op, operands

State = tuple[Any, ...]
"""The code of every leaf, then the runs of every log (`store.Layout`)."""

_DEEPEST = 12
"""Nested parentheses of one Python expression, which the interpreter limits."""
_AVAILABLE = {"record_at": record_at, "append": append, "cut": cut, "copy": copy}


def compiled_step(
    pool: Inputs,
    layout: Layout,
    parameters: Sequence[str],
    guards: Sequence[Expr],
    after: tuple[Sequence[Expr], Sequence[Version]],
) -> Callable[..., State | int]:
    """A function of a state and parameters: the state after the step, or the number of the first guard that is not so.

    The last parameter is 1 if it is not given.
    """
    codes, versions = after
    writer = _Writer(pool, layout, [*guards, *codes, *_expressions(versions)])
    for number, guard in enumerate(guards):
        if guard is not pool.true:
            test = writer.text(guard)
            writer.line(f"if not ({test}): return {number}")
    parts = [writer.text(code) for code in codes] + [writer.log(version) for version in versions]
    writer.line(f"return ({', '.join(parts)},)")
    return writer.function(parameters)


def compiled_values(
    pool: Inputs, layout: Layout, parameters: Sequence[str], roots: Sequence[Expr]
) -> Callable[..., tuple[int, ...]]:
    """A function of a state and parameters: the values of expressions."""
    writer = _Writer(pool, layout, roots)
    parts = [writer.text(root) for root in roots]
    writer.line(f"return ({', '.join(parts)},)" if parts else "return ()")
    return writer.function(parameters)


def leaves_read(pool: Inputs, layout: Layout, roots: Iterable[Expr]) -> frozenset[int]:
    """Where in a state expressions read: numbers of leaves, and of logs after them."""
    found: set[int] = set()
    for node in _nodes_below(pool, roots):
        match pool.input_of(node) if node.op is Op.FIELD else None:
            case Leaf(number):
                found.add(number)
            case Lookup(log=log):
                found.add(len(layout.leaves) + log)
            case Search(breaks=breaks):
                found.update(len(layout.leaves) + log for log, _ in breaks.runs)
    return frozenset(found)


def _expressions(versions: Iterable[Version]) -> Iterable[Expr]:
    for version in versions:
        match version:
            case Appended(log, end, record):
                yield from (end, *record, *_expressions([log]))
            case Cut(log, to):
                yield from (to, *_expressions([log]))
            case Copied(log, other, first, stop):
                yield from (first, stop, *_expressions([log, other]))


def _nodes_below(pool: Inputs, roots: Iterable[Expr]) -> list[Expr]:
    """Every node that the roots need, once."""
    found: dict[int, Expr] = {}
    open_nodes = list(roots)
    while open_nodes:
        node = open_nodes.pop()
        if node.id not in found:
            found[node.id] = node
            open_nodes += parts_of(pool, node)
            if node.op is Op.FIELD and isinstance(read := pool.input_of(node), Search):
                open_nodes.append(read.variable)
    return list(found.values())


class _Writer:
    """Writes one function; what is needed more than once, or nested too deep, gets a name."""

    def __init__(self, pool: Inputs, layout: Layout, roots: Sequence[Expr]) -> None:
        self._pool, self._layout = pool, layout
        self._lines: list[str] = []
        self._indent = 1
        self._names: dict[int, str] = {}
        self._depths: dict[str, int] = {}
        self._uses: dict[int, int] = {}
        self._count = 0
        self._needs: dict[int, frozenset[int]] = {}
        self._looking: dict[int, bool] = {}
        self._starts: dict[tuple[int, int], str] = {}
        for node in (*roots, *(part for item in _nodes_below(pool, roots) for part in parts_of(pool, item))):
            self._uses[node.id] = self._uses.get(node.id, 0) + 1

    def line(self, text: str) -> None:
        """Adds a statement."""
        self._lines.append("    " * self._indent + text)

    def function(self, parameters: Sequence[str]) -> Callable[..., Any]:
        """The function that the lines make."""
        head = f"def made({', '.join(['s', *(f'p_{name}' for name in parameters)])}=1):" if parameters else "def made(s):"
        space: dict[str, Any] = dict(_AVAILABLE)
        exec(compile("\n".join([head, *self._lines]), "<concrete step>", "exec"), space)
        made: Callable[..., Any] = space["made"]
        return made

    def log(self, version: Version) -> str:
        """The runs of a version of a log."""
        match version:
            case Before(log):
                return f"s[{len(self._layout.leaves) + log}]"
            case Appended(log, end, record):
                codes = "".join(f"{self.text(code)}, " for code in record)
                return f"append({self.log(log)}, {self.text(end)}, ({codes}))"
            case Cut(log, to):
                return f"cut({self.log(log)}, {self.text(to)})"
            case Copied(log, other, first, stop):
                return f"copy({self.log(log)}, {self.log(other)}, {self.text(first)}, {self.text(stop)})"

    def text(self, node: Expr) -> str:
        """An expression; before it, what it needs by name."""
        if node.id in self._names:
            return self._names[node.id]
        if node.is_const:
            return str(bool(node.value)) if node.is_bool else str(node.value)
        made = self._read(node) if node.op is Op.FIELD else self._compute(node)
        shared = self._uses.get(node.id, 0) > 1 and not (node.op is Op.FIELD and made.startswith("p_"))
        return self._name(node, made) if shared or self._depths.get(made, 0) > _DEEPEST else made

    def _compute(self, node: Expr) -> str:
        if node.op is Op.NOT:
            return self._nest("(not {})", [self.text(node.args[0])])
        if node.op is Op.ITE:
            condition, then, other = (self.text(arg) for arg in node.args)
            return self._nest("({1} if {0} else {2})", [condition, then, other])
        if node.op in (Op.AND, Op.OR):
            wanted = sorted(dict.fromkeys(self._operands(node)), key=self._looks_up)  # What is cheap decides first.
            parts = [self.text(part) for part in wanted]
            return self._nest("(" + f" {node.op.value} ".join(["{}"] * len(parts)) + ")", parts)
        return self._nest(f"({{}} {node.op.value} {{}})", [self.text(arg) for arg in node.args])

    def _operands(self, node: Expr) -> list[Expr]:
        """The operands of nested connectives, but for those that have a use of their own."""
        if any(part.op is node.op and self._uses.get(part.id, 0) > 1 for part in node.args):
            return list(node.args)
        return operands(node, node.op)

    def _nest(self, form: str, parts: list[str]) -> str:
        text = form.format(*parts)
        self._depths[text] = 1 + max((self._depths.get(part, 0) for part in parts), default=0)
        return text

    def _name(self, node: Expr | None, text: str) -> str:
        self._count += 1
        name = f"t{self._count}"
        self.line(f"{name} = {text}")
        if node is not None:
            self._names[node.id] = name
        return name

    def _read(self, node: Expr) -> str:
        match self._pool.input_of(node):
            case Leaf(number):
                return f"s[{number}]"
            case Parameter(name):
                return f"p_{name}"
            case Variable(depth):
                return f"v{depth}"
            case Lookup(log, field, offset):
                blank = (0,) * len(self._layout.log_places[log].fields)
                where = self.text(offset)
                self._count += 1
                runs, at = f"q{self._count}", f"o{self._count}"
                # Most reads are in the last run, for which no function is called.
                taken = f"({runs} := s[{len(self._layout.leaves) + log}]) and {runs}[-1][0] <= ({at} := {{}})"
                made = f"({runs}[-1][1] if {taken} else record_at({runs}, {at}, {blank}) if {runs} else {blank})[{field}]"
                return self._nest(made, [where])
            case Search() as search:
                return self._loop(search)
        raise AssertionError("an input that is not written")

    def _loop(self, search: Search) -> str:
        """Tries the ends of all pieces, in order, until the body holds."""
        lo, hi = search.bounds
        read = self._pool.input_of(search.variable)
        assert isinstance(read, Variable)
        variable = f"v{read.depth}"
        points = [self.text(point) for point in search.breaks.points]
        self._hoist(search.body, search.variable)
        starts = [
            self._starts_of(log, by + (-1 if search.wanted is Wanted.GREATEST else 0)) for log, by in search.breaks.runs
        ]
        found = self._name(None, "False" if search.wanted is Wanted.SOME else self.text(search.otherwise))
        moved = -1 if search.wanted is Wanted.GREATEST else 0
        tried = [str(hi if search.wanted is Wanted.GREATEST else lo)]
        tried += [f"{point} + {moved}" if moved else point for point in points]
        tried += [f"*{name}" for name in starts]
        order = ", reverse=True" if search.wanted is Wanted.GREATEST else ""
        among = f"{{{', '.join(tried)}}}"
        self.line(f"for {variable} in {among if search.wanted is Wanted.SOME else f'sorted({among}{order})'}:")
        outer, self._indent = (dict(self._names), self._uses, dict(self._starts)), self._indent + 1
        self._uses = self._uses_within(search)
        self.line(f"if not {lo} <= {variable} <= {hi}: continue")
        test = self.text(search.body)
        self.line(f"if {test}:")
        self._indent += 1
        self.line(f"{found} = {'True' if search.wanted is Wanted.SOME else variable}")
        self.line("break")
        self._indent -= 2
        self._names, self._uses, self._starts = outer
        return found

    def _starts_of(self, log: int, moved: int) -> str:
        """Where the runs of a log start, moved by a number, by a name."""
        if (log, moved) not in self._starts:
            move = f" + {moved}" if moved else ""
            made = f"[run[0]{move} for run in s[{len(self._layout.leaves) + log}]]"
            self._starts[log, moved] = self._name(None, made)
        return self._starts[log, moved]

    def _uses_within(self, search: Search) -> dict[int, int]:
        """How often the body of a loop needs what depends on its variable, which other loops with the same one need, too."""
        found = dict(self._uses)
        inside = [node for node in _nodes_below(self._pool, [search.body]) if search.variable.id in self._variables_of(node)]
        for node in inside:
            found[node.id] = 1 if node is search.body else 0
        for node in inside:
            for part in parts_of(self._pool, node):
                if search.variable.id in self._variables_of(part):
                    found[part.id] += 1
        return found

    def _looks_up(self, node: Expr) -> bool:
        """Whether an expression reads records."""
        if node.id not in self._looking:
            reached = (item for item in _nodes_below(self._pool, [node]) if item.op is Op.FIELD)
            self._looking[node.id] = any(isinstance(self._pool.input_of(item), Lookup) for item in reached)
        return self._looking[node.id]

    def _hoist(self, body: Expr, variable: Expr) -> None:
        """Names everything in a body that does not depend on its variable, before the loop."""
        open_nodes, seen = [body], set()
        while open_nodes:
            node = open_nodes.pop()
            if node.id in seen or node.is_const:
                continue
            seen.add(node.id)
            if variable.id in self._variables_of(node):
                open_nodes += parts_of(self._pool, node)
            elif node.id not in self._names:
                text = self.text(node)
                if node.id not in self._names and not text.startswith("p_"):
                    self._name(node, text)

    def _variables_of(self, node: Expr) -> frozenset[int]:
        """The variables that a node depends on."""
        known = self._needs.get(node.id)
        if known is None:
            for inner in evaluation_order([node]):
                parts = parts_of(self._pool, inner)
                needs = frozenset().union(*(self._variables_of(part) for part in parts)) if parts else frozenset()
                if inner.op is Op.FIELD:
                    read = self._pool.input_of(inner)
                    if isinstance(read, Variable):
                        needs = frozenset({inner.id})
                    elif isinstance(read, Search):
                        needs -= {read.variable.id}
                self._needs[inner.id] = needs
            known = self._needs[node.id]
        return known
