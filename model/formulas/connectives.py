"""What all pools of interned formulas have in common: how not, and, or fold, and in which order nodes are evaluated.

`Connectives`, from which the pool of bounded expressions (`expr.py`) and that of first-order terms (`firstorder/terms.py`)
take what they have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable
from operator import attrgetter
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar


class Formula(Protocol):
    """What a node must tell so that it can be folded; equal nodes are one object."""

    @property
    def id(self) -> int:
        """A number that is greater than those of its arguments."""

    @property
    def args(self: Node) -> tuple[Node, ...]:
        """What it is made of."""

    @property
    def is_const(self) -> bool:
        """Whether the node is a literal."""

    @property
    def negated(self: Node) -> Node | None:
        """What stands below a negation; None of any other node."""

    @property
    def truth(self) -> bool:
        """The value of a literal."""


Node = TypeVar("Node", bound=Formula)
Connective = Literal["not", "and", "or"]


_Bool: TypeAlias = bool  # `Connectives` has a method of this name.


class Connectives(ABC, Generic[Node]):
    """A pool's nodes, each made once, and the part of it that makes formulas of formulas."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], Node] = {}
        self.true = self.bool(True)
        self.false = self.bool(False)

    @abstractmethod
    def bool(self, value: _Bool) -> Node:
        """The Bool literal."""

    @abstractmethod
    def _connect(self, connective: Connective, args: tuple[Node, ...]) -> Node:
        """The interned node; nothing is left to fold."""

    @abstractmethod
    def lt(self, a: Node, b: Node) -> Node:
        """a < b."""

    def le(self, a: Node, b: Node) -> Node:
        """a <= b."""
        return self.not_(self.lt(b, a))

    def not_(self, a: Node) -> Node:
        """not a."""
        if a.is_const:
            return self.false if a.truth else self.true
        below = a.negated
        return self._connect("not", (a,)) if below is None else below

    def and_(self, a: Node, b: Node) -> Node:
        """a and b."""
        if a.is_const:
            a, b = b, a
        if b.is_const:
            return a if b.truth else self.false
        if a is b:
            return a
        return self.false if self.not_(a) is b else self._connect("and", (a, b))

    def or_(self, a: Node, b: Node) -> Node:
        """a or b."""
        if a.is_const:
            a, b = b, a
        if b.is_const:
            return self.true if b.truth else a
        if a is b:
            return a
        return self.true if self.not_(a) is b else self._connect("or", (a, b))

    def all(self, conditions: Iterable[Node]) -> Node:
        """The conjunction; true of nothing."""
        result = self.true
        for condition in conditions:
            result = self.and_(result, condition)
        return result

    def any(self, conditions: Iterable[Node]) -> Node:
        """The disjunction; false of nothing."""
        result = self.false
        for condition in conditions:
            result = self.or_(result, condition)
        return result

    def choose(self, condition: Node, then: Node, other: Node) -> Node | None:
        """`then` where the condition holds, else `other`, both formulas, if one of the two is a literal."""
        if then.is_const:
            return self.or_(condition, other) if then.truth else self.and_(self.not_(condition), other)
        if other.is_const:
            return self.or_(self.not_(condition), then) if other.truth else self.and_(condition, then)
        return None


def evaluation_order(
    roots: Iterable[Node],
    parts: Callable[[Node], Iterable[Node]] = attrgetter("args"),
    known: Container[int] = frozenset(),
) -> list[Node]:
    """Every node reachable from the roots, each once, after its parts: its arguments, or others that were made before it.

    Those whose ids are `known` are left out, and so is what only they are made of.
    """
    seen: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        number = node.id
        if number not in seen and number not in known:
            seen[number] = node
            stack += parts(node)
    return [seen[key] for key in sorted(seen)]
