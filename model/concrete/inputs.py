"""Expressions over more than the leaves of a state: what a concrete step reads besides, each as a field of its own.

`Inputs`, a pool whose FIELD nodes are numbered in one table: leaves, parameters of a step, the variable of a quantifier over
offsets, what a log holds at an offset, and the result of such a quantifier. Nothing else of the language or of the
expressions needs to know of them.
"""

from __future__ import annotations

from enum import Enum, unique

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Op, Pool


@frozen
class Leaf:
    """A leaf of the state, by its number in the layout."""

    number: int


@frozen
class Parameter:
    """What a step is given, by name."""

    name: str


@frozen
class Variable:
    """The number that a quantifier tries."""

    depth: int


@frozen
class Lookup:
    """A field of the record that a log holds at an offset, before the step."""

    log: int
    field: int
    offset: Expr


@unique
class Wanted(Enum):
    """What a quantifier looks for among the numbers for which its body holds."""

    SOME = "some"
    LEAST = "least"
    GREATEST = "greatest"


@frozen
class Breaks:
    """Where the truth of a body can change: its value at `n` may differ from that at `n - 1` only if `n` is one of these.

    `points` are numbers, and `runs` says of a log, by its number, that the starts of its runs are points, moved by a number.
    """

    points: tuple[Expr, ...]
    runs: tuple[tuple[int, int], ...]


@frozen
class Search:
    """A quantifier over the numbers lo..hi: whether there is one, or the least or the greatest, else `otherwise`."""

    wanted: Wanted
    variable: Expr
    body: Expr
    bounds: tuple[int, int]
    otherwise: Expr
    breaks: Breaks


Input = Leaf | Parameter | Variable | Lookup | Search


class Inputs(Pool):
    """A pool of expressions whose fields are inputs."""

    def __init__(self) -> None:
        self._table: list[Input] = []
        self._numbers: dict[object, int] = {}
        super().__init__()

    def input_of(self, node: Expr) -> Input:
        """What a FIELD node stands for."""
        return self._table[node.value]

    def leaf(self, number: int, cardinality: int) -> Expr:
        """The code of a leaf."""
        return self.int(0) if cardinality == 1 else self._input(Leaf(number), Leaf(number), (0, cardinality - 1))

    def parameter(self, name: str, lo: int, hi: int) -> Expr:
        """What a step is given: a number lo..hi."""
        return self._input(Parameter(name), Parameter(name), (lo, hi))

    def variable(self, depth: int, lo: int, hi: int) -> Expr:
        """The variable of a quantifier within `depth` others, over lo..hi."""
        return self._input((Variable(depth), lo, hi), Variable(depth), (lo, hi))

    def lookup(self, log: int, field: int, offset: Expr, greatest: int) -> Expr:
        """A field, of codes 0..greatest, of the record that a log holds at an offset; 0 where it holds none."""
        return self._input((log, field, offset.id), Lookup(log, field, offset), (0, greatest))

    def search(
        self, wanted: Wanted, variable: Expr, body: Expr, bounds: tuple[int, int], otherwise: Expr
    ) -> Expr:
        """The result of a quantifier; `ModelError` if its body changes elsewhere than at points that can be told."""
        made = Search(wanted, variable, body, bounds, otherwise, breaks_of(self, body, variable))
        key = (wanted, variable.id, body.id, bounds, otherwise.id)
        if wanted is Wanted.SOME:
            return self._input(key, made, (0, 1), is_bool=True)
        return self._input(key, made, (min(bounds[0], otherwise.lo), max(bounds[1], otherwise.hi)))

    def _input(self, key: object, made: Input, bounds: tuple[int, int], is_bool: bool = False) -> Expr:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._table)
            self._table.append(made)
        return self._intern(Op.FIELD, (), number, *bounds, is_bool)


def parts_of(pool: Inputs, node: Expr) -> tuple[Expr, ...]:
    """What a node is made of, the parts of what it stands for included."""
    if node.op is not Op.FIELD:
        return node.args
    match pool.input_of(node):
        case Lookup(offset=offset):
            return (offset,)
        case Search() as search:
            return (search.body, search.otherwise, *search.breaks.points)
    return ()


# -- where a body changes -----------------------------------------------------------------------------------------------


@frozen
class _Apart:
    """A node that the variable does not change."""


@frozen
class _Moved:
    """The variable, moved by a number."""

    by: int


@frozen
class _Pieces:
    """A node whose value changes only at points that are noted."""


_Kind = _Apart | _Moved | _Pieces
_APART, _PIECES = _Apart(), _Pieces()


def breaks_of(pool: Inputs, body: Expr, variable: Expr) -> Breaks:
    """Where the truth of a body may change as its variable grows.

    The body is made of atoms that compare the variable, moved by a number, with something that does not depend on it, and of
    what a log holds at such a place. `v + c < t` changes at t − c alone, `t < v + c` at t − c + 1, `v + c == t` at both, and
    what a log holds at v + c where a run starts, moved by −c. Whatever else is made of these changes nowhere else. So between
    two such points the body has one value: of the numbers in between the first and the last will do for all.
    """
    return _Finder(pool, variable).breaks(body)


class _Finder:
    """Walks a body once and notes where its atoms change."""

    def __init__(self, pool: Inputs, variable: Expr) -> None:
        self.pool, self.variable = pool, variable
        self._points: dict[int, Expr] = {}
        self._runs: dict[tuple[int, int], None] = {}
        self._kinds: dict[int, _Kind] = {}

    def breaks(self, body: Expr) -> Breaks:
        """The points of a body, which is a truth value."""
        self.kind(body)
        return Breaks(tuple(self._points.values()), tuple(self._runs))

    def kind(self, node: Expr) -> _Kind:
        """How a node depends on the variable; its points are noted."""
        known = self._kinds.get(node.id)
        if known is None:
            known = self._kinds[node.id] = self._kind(node)
        return known

    def _kind(self, node: Expr) -> _Kind:
        if node is self.variable:
            return _Moved(0)
        kinds = [self.kind(part) for part in self._parts(node)]
        if all(isinstance(kind, _Apart) for kind in kinds):
            return _APART
        if node.op is Op.FIELD:
            return self._read(node, kinds)
        moved = [kind for kind in kinds if isinstance(kind, _Moved)]
        if not moved:
            return _PIECES
        if node.op is Op.ADD and node.args[1].is_const and isinstance(kinds[0], _Moved):
            return _Moved(kinds[0].by + node.args[1].value)
        if node.op in (Op.LT, Op.EQ) and len(moved) == 1:
            self._compare(node, kinds)
            return _PIECES
        raise ModelError("a quantifier over offsets does more with its offset than to move, compare and look it up")

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        """What a node is made of, but for what another quantifier that has the same variable binds."""
        read = self.pool.input_of(node) if node.op is Op.FIELD else None
        if isinstance(read, Search) and read.variable is self.variable:
            return (read.otherwise, *read.breaks.points)
        return parts_of(self.pool, node)

    def _read(self, node: Expr, kinds: list[_Kind]) -> _Kind:
        read = self.pool.input_of(node)
        if not isinstance(read, Lookup) or not isinstance(kinds[0], _Moved):
            raise ModelError("a quantifier over offsets is within another one, and depends on its offset")
        self._runs[read.log, -kinds[0].by] = None
        return _PIECES

    def _compare(self, node: Expr, kinds: list[_Kind]) -> None:
        first, second = kinds
        moved, other = (first, node.args[1]) if isinstance(first, _Moved) else (second, node.args[0])
        if not isinstance(self.kind(other), _Apart):
            raise ModelError("a quantifier over offsets compares its offset with what depends on it")
        assert isinstance(moved, _Moved)
        point = self.pool.add(other, self.pool.int(-moved.by))
        after = self.pool.add(point, self.pool.int(1))
        if node.op is Op.EQ or isinstance(first, _Moved):
            self._points[point.id] = point
        if node.op is Op.EQ or not isinstance(first, _Moved):
            self._points[after.id] = after
