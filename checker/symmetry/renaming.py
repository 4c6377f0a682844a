"""Renaming ids in expressions: where fields move, and a normal form in which renamed expressions are recognised.

What every node stands for (`Standing`), and the forms of one renaming (`Renaming`). A set is in normal form as the union of
what it is made of, each part with the conditions under which it is there: in which order ids were added does not matter.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from enum import Enum, unique
from typing import cast

from acked.model.formulas.expr import Expr, Op
from acked.model.language.domain import Domain, IdDomain, LeafDomain, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.sets import sets_of
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.telling import sort_of
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id


@unique
class IdKind(Enum):
    """What the code of an expression stands for; OPEN is a constant whose meaning its neighbour decides."""

    OPEN = "open"
    PLAIN = "plain"
    ID = "id"
    OPTIONAL_ID = "optional id"
    SET = "set of ids"
    SHIFTED_SET = "set of ids, or of none as bit 0"

    __hash__ = object.__hash__  # There is one object of each, and Enum's own hash is computed in Python.


_Piece = tuple[frozenset[int], int]
"""The forms of the conditions under which a part of a set is there, and that of the part."""

_MOST_PIECES = 64
"""Sets of more pieces keep the form in which they were written: taken apart, they might become far too many."""

_PLAIN = (IdKind.PLAIN, IdKind.OPEN)
"""What renaming leaves as it is, where nothing else says that it must not."""


class Asymmetric(Exception):
    """Something that renaming cannot see through."""


class Forms:
    """Normal forms, numbered: two expressions have the same number exactly if their forms are the same."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, form: object) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


class Standing:
    """What the nodes of an instance stand for, and which parts they have, whatever they are renamed to."""

    def __init__(self, kinds: Sequence[IdKind], sets: Container[int]) -> None:
        self._kinds = kinds
        self._sets = sets
        self._count = len(kinds)
        self._known: dict[int, IdKind] = {}
        self._parts: dict[int, Sequence[Expr]] = {}
        self._bits: dict[int, int] = {}

    @classmethod
    def of(cls, instance: Instance, sort: type[Id]) -> Standing:
        """The one of an instance's pool, which instances share whose leaves stand for the same."""
        kinds = tuple(kinds_of(instance, sort))
        made = cls(kinds, sets_of(instance.pool, sort))
        return cast(Standing, instance.pool.notes.setdefault((cls, kinds, sort), made))

    def leaf(self, number: int) -> IdKind:
        """What a leaf stands for."""
        return self._kinds[number]

    def kind(self, node: Expr) -> IdKind:
        """What a node stands for; `Asymmetric` if it has no renaming."""
        known = self._known.get(node.id)
        if known is None:
            known = self._known[node.id] = self._decide(node)
        return known

    def is_plain(self, node: Expr) -> bool:
        """Whether renaming does not change it."""
        return self.kind(node) in _PLAIN

    def parts(self, node: Expr) -> Sequence[Expr]:
        """What its form is made of: the operands of what is commutative and associative, however it is nested."""
        known = self._parts.get(node.id)
        if known is None:
            known = self._parts[node.id] = self._list_parts(node)
        return known

    def settle(self, args: Sequence[Expr]) -> IdKind:
        """What all of these stand for where nothing but constants is in them: sets, where the language made sets of them."""
        kind = self.common(args)
        if kind is not IdKind.OPEN:
            return kind
        return IdKind.SET if any(map(self._is_made_a_set, args)) else IdKind.PLAIN

    def _is_made_a_set(self, node: Expr) -> bool:
        """Whether a number was compared as a set of the sort (`SetValue`), or is a part of such a set."""
        if node.id in self._sets:
            return True
        return node.op in (Op.BITAND, Op.BITOR, Op.BITXOR) and any(map(self._is_made_a_set, node.args))

    def left_whole(self, node: Expr) -> Expr | None:
        """What a constant mask takes nothing away from, if it is one that the operator was applied to.

        Expressions know the range of a number, and are made without a mask that covers it. Of two sets that may hold one id
        each, {0} and {1}, that is so of the first alone: its code is 0 or 1, that of the other between 0 and 2.
        """
        for item, mask in (node.args, node.args[::-1]):
            if mask.is_const and not item.is_const and not self.possible_bits(item) & ~mask.value:
                return item
        return None

    def possible_bits(self, node: Expr) -> int:
        """Bits that may be set in the value of an expression that is not negative; of any other, all."""
        known = self._bits.get(node.id)
        if known is None:
            known = self._bits[node.id] = self._find_bits(node)
        return known

    def _find_bits(self, node: Expr) -> int:
        if node.is_const:
            return node.value
        match node.op:
            case Op.BITAND:
                return self.possible_bits(node.args[0]) & self.possible_bits(node.args[1])
            case Op.BITOR | Op.BITXOR:
                return self.possible_bits(node.args[0]) | self.possible_bits(node.args[1])
            case Op.ITE:
                return self.possible_bits(node.args[1]) | self.possible_bits(node.args[2])
            case _:
                return (1 << node.hi.bit_length()) - 1 if node.lo >= 0 else -1

    def common(self, args: Sequence[Expr]) -> IdKind:
        """What all of these stand for."""
        kinds = {self.kind(arg) for arg in args} - {IdKind.OPEN}
        if len(kinds) > 1:
            raise Asymmetric("ids are mixed with numbers")
        return kinds.pop() if kinds else IdKind.OPEN

    def _list_parts(self, node: Expr) -> Sequence[Expr]:
        is_flat = node.op in (Op.AND, Op.OR) or (node.op in (Op.ADD, Op.BITOR) and self.is_plain(node))
        if not is_flat:
            return node.args
        parts, stack = [], list(node.args)
        while stack:
            arg = stack.pop()
            if arg.op is node.op and self.is_plain(arg):
                stack += arg.args
            else:
                parts.append(arg)
        return parts

    def _decide(self, node: Expr) -> IdKind:
        if node.is_bool:
            # An order, or arithmetic on ids, would tell one from another.
            if node.op is Op.LT and any(self.kind(arg) not in _PLAIN for arg in node.args):
                raise Asymmetric("ids are compared by order")
            return IdKind.PLAIN
        match node.op:
            case Op.CONST:
                return IdKind.OPEN
            case Op.FIELD:
                return self._kinds[node.value % self._count]
            case Op.ITE:
                return self.common(node.args[1:])
            case Op.BITAND | Op.BITOR | Op.BITXOR:
                kind = self.common(node.args)
                if kind in (IdKind.ID, IdKind.OPTIONAL_ID, IdKind.SHIFTED_SET):
                    raise Asymmetric("ids are computed with")
                return kind
            case Op.ADD if self.kind(node.args[0]) is IdKind.ID and _is_literal(node.args[1], 1):
                return IdKind.OPTIONAL_ID
            case Op.ADD if self.kind(node.args[0]) is IdKind.OPTIONAL_ID and _is_literal(node.args[1], -1):
                return IdKind.ID
            case Op.ADD if self.kind(node.args[0]) is IdKind.OPEN and abs(node.args[1].lo) == 1 and node.args[1].is_const:
                return IdKind.OPEN
            case Op.SHL if _is_literal(node.args[0], 1) and self.kind(node.args[1]) is IdKind.ID:
                return IdKind.SET
            case Op.SHL if _is_literal(node.args[0], 1) and self.kind(node.args[1]) is IdKind.OPTIONAL_ID:
                return IdKind.SHIFTED_SET
            case Op.SHL if _is_literal(node.args[0], 1) and self.kind(node.args[1]) is IdKind.OPEN:
                return IdKind.OPEN
            case Op.SHR if _is_literal(node.args[1], 1) and self.kind(node.args[0]) is IdKind.SHIFTED_SET:
                return IdKind.SET
            case _:
                if any(self.kind(arg) not in _PLAIN for arg in node.args):
                    raise Asymmetric("ids are computed with")
                return IdKind.PLAIN


class Renaming:
    """One renaming of the ids, and the normal forms of renamed expressions."""

    def __init__(self, instance: Instance, forms: Forms, sort: type[Id], to: tuple[int, ...]) -> None:
        self._forms = forms
        self._to = to
        self._count = len(instance.schema.leaves)
        self._standing = Standing.of(instance, sort)
        self._place = places(instance, sort, to)
        self._form_memo: dict[int, int] = {}
        self._union_memo: dict[int, frozenset[_Piece]] = {}

    # -- steps and expressions ----------------------------------------------------------------------------------------

    def step(self, step: ActionInstance) -> int:
        """The form of a renamed action instance: its name, its guard, and what it sets each field to."""
        updates = frozenset(self.update(leaf, code) for leaf, code in step.updates)
        overflows = frozenset((self._place[leaf], self.form(bad, IdKind.PLAIN)) for leaf, bad in step.overflows)
        return self._forms.number((step.action.name, self.form(step.guard, IdKind.PLAIN), updates, overflows))

    def update(self, leaf: int, code: Expr) -> tuple[int, int]:
        """The renamed leaf that an action instance sets, and the form of what it sets it to."""
        return self._place[leaf], self.form(code, self._standing.leaf(leaf))

    def form(self, root: Expr, kind: IdKind) -> int:
        """The number of the renamed expression's form; `kind` says what it stands for if it is a constant."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node.id in self._form_memo or node.is_const:
                stack.pop()
                continue
            missing = [arg for arg in self._standing.parts(node) if arg.id not in self._form_memo and not arg.is_const]
            if missing:
                stack += missing
                continue
            self._form_memo[node.id] = self._make(node)
            stack.pop()
        if self._standing.kind(root) not in (kind, IdKind.OPEN):
            raise Asymmetric("ids are mixed with numbers")
        return self._form(root, kind)

    def _form(self, node: Expr, kind: IdKind) -> int:
        if kind is IdKind.SET:
            return self._set_form(node)
        if node.is_const:
            return self._forms.number((Op.CONST, node.is_bool, self._rename(node.value, kind)))
        if kind is IdKind.PLAIN or self._standing.kind(node) is not IdKind.OPEN:
            return self._form_memo[node.id]
        # Made of constants, which stand for what the neighbour determines.
        match node.op, kind:
            case Op.ITE, _:
                test, then, other = node.args
                parts = (self._form(test, IdKind.PLAIN), self._form(then, kind), self._form(other, kind))
                return self._forms.number((Op.ITE, *parts))
            case Op.ADD, IdKind.OPTIONAL_ID if _is_literal(node.args[1], 1):
                return self._forms.number((Op.ADD, 1, self._form(node.args[0], IdKind.ID)))
            case Op.ADD, IdKind.ID if _is_literal(node.args[1], -1):
                return self._forms.number((Op.ADD, -1, self._form(node.args[0], IdKind.OPTIONAL_ID)))
            case _:
                raise Asymmetric("ids are mixed with numbers")

    def _set_form(self, node: Expr) -> int:
        """The form of a set: of the union of its pieces."""
        union = self._union(node)
        if len(union) == 1:
            [(conditions, part)] = union
            if not conditions:
                return part
        return self._forms.number((Op.BITOR, union))

    def _union(self, node: Expr) -> frozenset[_Piece]:
        """The pieces of a set, whose union it is: what is there, and the conditions under which it is."""
        known = self._union_memo.get(node.id)
        if known is None:
            known = self._union_memo[node.id] = self._find_union(node)
        return known

    def _find_union(self, node: Expr) -> frozenset[_Piece]:
        always: frozenset[int] = frozenset()
        if node.is_const:
            bits = self._rename(node.value, IdKind.SET)
            single = [1 << at for at in range(bits.bit_length()) if bits >> at & 1]
            return frozenset((always, self._forms.number((Op.CONST, "id", bit))) for bit in single)
        if node.op is Op.BITOR:
            return self._union(node.args[0]) | self._union(node.args[1])
        if node.op is Op.ITE:
            # Where the condition holds, what both have and what is only in the first, elsewhere what is only in the second.
            test, then, other = node.args
            first, second = self._union(then), self._union(other)
            if len(first) + len(second) <= _MOST_PIECES:
                holds, fails = self._conditions(test)
                only_first = {(conditions | holds, part) for conditions, part in first - second}
                only_second = {(conditions | fails, part) for conditions, part in second - first}
                return (first & second) | only_first | only_second
        return frozenset([(always, self._part(node))])

    def _conditions(self, test: Expr) -> tuple[frozenset[int], frozenset[int]]:
        """The conditions that hold together where a test does, and the one that holds where it does not."""
        form = self._form(test, IdKind.PLAIN)
        parts = self._standing.parts(test) if test.op is Op.AND else [test]
        holds = frozenset(self._form(part, IdKind.PLAIN) for part in parts)
        return holds, frozenset([self._forms.number((Op.NOT, (form,)))])

    def _part(self, node: Expr) -> int:
        """The form of a set that is no union."""
        number = self._forms.number
        match node.op:
            case Op.ITE:
                test, then, other = node.args
                parts = (self._form(test, IdKind.PLAIN), self._set_form(then), self._set_form(other))
                return number((Op.ITE, *parts))
            case Op.FIELD:
                return self._form_memo[node.id]
            case Op.BITAND if (whole := self._standing.left_whole(node)) is not None:
                return self._set_form(whole)
            case Op.BITAND | Op.BITXOR:
                return number((node.op, tuple(sorted(map(self._set_form, node.args)))))
            case Op.SHL:
                return number((Op.SHL, self._form(node.args[1], IdKind.ID)))
            case Op.SHR:
                return number((Op.SHR, self._form(node.args[0], IdKind.SHIFTED_SET)))
            case _:
                raise Asymmetric("ids are mixed with numbers")

    def _make(self, node: Expr) -> int:
        number = self._forms.number
        self._standing.kind(node)  # Refuses what has no renaming.
        if not node.is_bool:
            self._standing.possible_bits(node)  # From the leaves up, so that nothing has to be followed down far.
        if node.op is not Op.FIELD and self._standing.kind(node) is IdKind.SET:
            return self._set_form(node)
        match node.op:
            case Op.FIELD:
                after, leaf = divmod(node.value, self._count)
                return number((Op.FIELD, after * self._count + self._place[leaf]))
            case Op.AND | Op.OR:
                return number((node.op, frozenset(self._form(part, IdKind.PLAIN) for part in self._standing.parts(node))))
            case Op.ADD if self._standing.is_plain(node):
                return number((Op.ADD, tuple(sorted(self._form(part, IdKind.PLAIN) for part in self._standing.parts(node)))))
            case Op.ADD if _is_literal(node.args[1], 1):
                return number((Op.ADD, 1, self._form(node.args[0], IdKind.ID)))
            case Op.ADD:
                return number((Op.ADD, -1, self._form(node.args[0], IdKind.OPTIONAL_ID)))
            case Op.SHL if self._standing.kind(node) is IdKind.SHIFTED_SET:
                return number((Op.SHL, "none", self._form(node.args[1], IdKind.OPTIONAL_ID)))
            case Op.ITE:
                kind = _settle(self._standing.kind(node))
                test, then, other = node.args
                return number((Op.ITE, self._form(test, IdKind.PLAIN), self._form(then, kind), self._form(other, kind)))
            case Op.BITOR if self._standing.is_plain(node):
                return number((Op.BITOR, frozenset(self._form(part, IdKind.PLAIN) for part in self._standing.parts(node))))
            case Op.BITAND if (whole := self._standing.left_whole(node)) is not None:
                return self._form(whole, _settle(self._standing.kind(whole)))
            case Op.EQ | Op.BITAND | Op.BITOR | Op.BITXOR:
                kind = self._standing.settle(node.args) if node.op is Op.EQ else _settle(self._standing.common(node.args))
                return number((node.op, tuple(sorted(self._form(arg, kind) for arg in node.args))))
            case _:
                return number((node.op, tuple(self._form(arg, IdKind.PLAIN) for arg in node.args)))

    def _rename(self, value: int, kind: IdKind) -> int:
        return renamed_code(value, kind, self._to)


def _settle(kind: IdKind) -> IdKind:
    """Where nothing determines what constants stand for, they are plain numbers."""
    return IdKind.PLAIN if kind is IdKind.OPEN else kind


def _is_literal(node: Expr, value: int) -> bool:
    return node.is_const and node.value == value


def _kind_of(domain: LeafDomain, sort: type[Id]) -> IdKind:
    if sort_of(domain) is not sort:
        return IdKind.PLAIN
    if isinstance(domain.bare, IdDomain):
        return IdKind.ID
    return IdKind.SET if isinstance(domain.bare, SetDomain) else IdKind.OPTIONAL_ID


def kinds_of(instance: Instance, sort: type[Id]) -> list[IdKind]:
    """For every leaf, how its code depends on ids of the sort."""
    return [_kind_of(leaf.domain, sort) for leaf in instance.schema.leaves]


def places(instance: Instance, sort: type[Id], to: Sequence[int]) -> list[int]:
    """For every leaf, where renaming moves it: an array that is numbered by ids of the sort has its elements renamed."""
    schema = instance.schema

    def move(domain: Domain, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        if not path:
            return ()
        head, *tail = path
        if isinstance(domain, ArrayDomain):
            assert isinstance(head, int)
            kind = _kind_of(domain.index, sort)
            moved = head if kind is IdKind.PLAIN else renamed_code(head, kind, to)
            return (moved, *move(domain.element, tuple(tail)))
        if isinstance(domain, StructDomain):
            return (head, *move(domain.struct.domains()[str(head)], tuple(tail)))
        if isinstance(domain, LogDomain):
            return path
        raise Asymmetric(f"a field at {path} cannot be renamed")

    root = StructDomain(instance.protocol.state)
    return [schema.by_path[move(root, leaf.path)] for leaf in schema.leaves]


def renamed_code(value: int, kind: IdKind, to: Sequence[int]) -> int:
    """The code that a code becomes when id k becomes `to[k]`; what stands for no id stays."""
    size = len(to)
    match kind:
        case IdKind.ID:
            return to[value] if 0 <= value < size else value
        case IdKind.OPTIONAL_ID:
            return 1 + to[value - 1] if 0 < value <= size else value
        case IdKind.SET:
            return sum(1 << to[k] for k in range(size) if value >> k & 1) | value >> size << size
        case IdKind.SHIFTED_SET:
            return renamed_code(value >> 1, IdKind.SET, to) << 1 | value & 1
        case _:
            return value
