"""Symmetry over ids, checked and not assumed: do renamed actions and claims fall on actions and claims?

Renaming the ids (e.g. brokers) in an expression, a normal form in which equal ones are recognised, the orbits of a protocol's
action instances, and where renaming moves the fields of a state.

A renaming p of the ids acts on states: it moves fields that are numbered by an id, and renames the ids that fields hold. To
every expression E belongs a renamed one, E', with E'(p(s)) = p(E(s)): its fields are moved, and its constants renamed where
they stand for ids or sets of ids. If for two renamings that generate all others every claim is equal to its renamed self,
and every renamed action instance is equal to some action instance, then what is proved of one instance is proved of its
whole orbit. "Equal" is decided by a normal form that forgets only the order of what is commutative and associative:
whatever it does not recognise is taken for asymmetric, and then every instance is proved by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import cast

from acked.model.formulas.expr import Expr, Op
from acked.model.language.domain import (
    ArrayDomain,
    Domain,
    IdDomain,
    LeafDomain,
    LogDomain,
    OptionalDomain,
    PresentDomain,
    SetDomain,
    StructDomain,
)
from acked.model.language.protocol import ActionInstance, Instance
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


_PLAIN = (IdKind.PLAIN, IdKind.OPEN)
"""What renaming leaves as it is, where nothing else says that it must not."""


class Asymmetric(Exception):
    """Something that renaming cannot see through."""


@dataclass(frozen=True)
class Symmetry:
    """Whether ids may be renamed, and then for every action instance the number of the one that stands for its orbit.

    `obstacle` is what stands in the way, empty if nothing does; each instance then stands for itself.
    """

    representative: tuple[int, ...]
    obstacle: str = ""

    @property
    def is_symmetric(self) -> bool:
        """Whether ids may be renamed."""
        return not self.obstacle


def check_symmetry(
    instance: Instance,
    claims: Sequence[tuple[str, Expr]],
    sort: type[Id] | None = None,
    step_claims: Sequence[tuple[str, Sequence[Expr]]] = (),
) -> Symmetry:
    """Decides whether the instance's actions and the claims (name and condition) are closed under renaming its ids.

    `sort` are the ids that are renamed; it may be left out where there is one sort. A claim about steps has a condition for
    every action instance.
    """
    alone = tuple(range(len(instance.actions)))
    try:
        renamed = sort or only_sort(instance)
        size = IdDomain(renamed).cardinality(instance.constants)
        identity = _renaming(instance, renamed, tuple(range(size)))
        known: dict[int, list[int]] = {}
        for number, step in enumerate(instance.actions):
            known.setdefault(identity.step(step), []).append(number)
        leader = list(alone)
        for generator in generators(size, range(size)):
            renaming = _renaming(instance, renamed, generator)
            for name, root in claims:
                if renaming.form(root, IdKind.PLAIN) != identity.form(root, IdKind.PLAIN):
                    raise Asymmetric(f"{name} changes when ids are renamed")
            for number, step in enumerate(instance.actions):
                images = known.get(renaming.step(step))
                if images is None:
                    raise Asymmetric(f"no action is what {step.label} becomes when ids are renamed")
                for name, roots in step_claims:
                    form = renaming.form(roots[number], IdKind.PLAIN)
                    images = [image for image in images if identity.form(roots[image], IdKind.PLAIN) == form]
                    if not images:
                        raise Asymmetric(f"{name} changes when ids are renamed")
                join(leader, number, images[0])
    except Asymmetric as obstacle:
        return Symmetry(alone, str(obstacle))
    return Symmetry(tuple(least(leader, number) for number in alone))


def join(leader: list[int], a: int, b: int) -> None:
    """Makes one orbit of those of two numbers; `leader` has a number of each number's orbit that is not greater."""
    low, high = sorted((least(leader, a), least(leader, b)))
    leader[high] = low


def least(leader: list[int], number: int) -> int:
    """The least number of a number's orbit."""
    while leader[number] != number:
        number = leader[number]
    return number


def _sort_of(domain: LeafDomain) -> type[Id] | None:
    if isinstance(domain, PresentDomain):
        domain = domain.inner
    if isinstance(domain, (IdDomain, SetDomain)):
        return domain.item
    if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
        return domain.item
    return None


def only_sort(instance: Instance) -> type[Id]:
    domains = [leaf.domain for leaf in instance.schema.leaves]
    domains += [domain for action in instance.protocol.actions for domain in action.parameters().values()]
    sorts = {sort: None for domain in domains if (sort := _sort_of(domain)) is not None}
    # Of a sort with one id, such as a part of the protocol has that is turned off, nothing can be renamed.
    several = [sort for sort in sorts if IdDomain(sort).cardinality(instance.constants) > 1] or list(sorts)
    if len(several) != 1:
        raise Asymmetric(f"the protocol has {len(several)} sorts of ids, and exactly one can be renamed")
    return several[0]


def generators(size: int, free: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """A swap and a rotation of the free ids: every renaming that leaves the others as they are is made of these two."""

    def moved(to: dict[int, int]) -> tuple[int, ...]:
        return tuple(to.get(number, number) for number in range(size))

    if len(free) > 1:
        yield moved({free[0]: free[1], free[1]: free[0]})
    if len(free) > 2:
        yield moved(dict(zip(free, (*free[1:], free[0]), strict=True)))


class Forms:
    """Normal forms, numbered: two expressions have the same number exactly if their forms are the same."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, form: object) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


class Standing:
    """What the nodes of an instance stand for, and which parts they have, whatever they are renamed to."""

    def __init__(self, kinds: Sequence[IdKind]) -> None:
        self._kinds = kinds
        self._count = len(kinds)
        self._known: dict[int, IdKind] = {}
        self._parts: dict[int, Sequence[Expr]] = {}
        self._bits: dict[int, int] = {}

    @classmethod
    def of(cls, instance: Instance, sort: type[Id]) -> Standing:
        """The one of an instance's pool, which instances share whose leaves stand for the same."""
        kinds = tuple(kinds_of(instance, sort))
        return cast(Standing, instance.pool.notes.setdefault((cls, kinds), cls(kinds)))

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
            known = self._parts[node.id] = self._listed(node)
        return known

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

    def _listed(self, node: Expr) -> Sequence[Expr]:
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

    # -- steps and expressions ----------------------------------------------------------------------------------------

    def step(self, step: ActionInstance) -> int:
        """The form of a renamed action instance: its name, its guard, and what it sets each field to."""
        updates = frozenset((self._place[leaf], self.form(code, self._standing.leaf(leaf))) for leaf, code in step.updates)
        overflows = frozenset((self._place[leaf], self.form(bad, IdKind.PLAIN)) for leaf, bad in step.overflows)
        return self._forms.number((step.action.name, self.form(step.guard, IdKind.PLAIN), updates, overflows))

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
        if node.is_const:
            return self._forms.number((Op.CONST, node.is_bool, self._renamed(node.value, kind)))
        if kind is IdKind.PLAIN or self._standing.kind(node) is not IdKind.OPEN:
            return self._form_memo[node.id]
        # Made of constants, which stand for what the neighbour determines.
        match node.op, kind:
            case Op.ITE, _:
                test, then, other = node.args
                parts = (self._form(test, IdKind.PLAIN), self._form(then, kind), self._form(other, kind))
                return self._forms.number((Op.ITE, *parts))
            case (Op.BITAND | Op.BITOR | Op.BITXOR), IdKind.SET:
                return self._forms.number((node.op, tuple(sorted(self._form(arg, kind) for arg in node.args))))
            case Op.SHL, IdKind.SET:
                return self._forms.number((Op.SHL, self._form(node.args[1], IdKind.ID)))
            case Op.ADD, IdKind.OPTIONAL_ID if _is_literal(node.args[1], 1):
                return self._forms.number((Op.ADD, 1, self._form(node.args[0], IdKind.ID)))
            case Op.ADD, IdKind.ID if _is_literal(node.args[1], -1):
                return self._forms.number((Op.ADD, -1, self._form(node.args[0], IdKind.OPTIONAL_ID)))
            case _:
                raise Asymmetric("ids are mixed with numbers")

    def _make(self, node: Expr) -> int:
        number = self._forms.number
        self._standing.kind(node)  # Refuses what has no renaming.
        if not node.is_bool:
            self._standing.possible_bits(node)  # From the leaves up, so that nothing has to be followed down far.
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
            case Op.SHL if self._standing.kind(node) is IdKind.SET:
                return number((Op.SHL, self._form(node.args[1], IdKind.ID)))
            case Op.SHL if self._standing.kind(node) is IdKind.SHIFTED_SET:
                return number((Op.SHL, "none", self._form(node.args[1], IdKind.OPTIONAL_ID)))
            case Op.SHR if self._standing.kind(node) is IdKind.SET:
                return number((Op.SHR, self._form(node.args[0], IdKind.SHIFTED_SET)))
            case Op.ITE:
                kind = _settled(self._standing.kind(node))
                test, then, other = node.args
                return number((Op.ITE, self._form(test, IdKind.PLAIN), self._form(then, kind), self._form(other, kind)))
            case Op.BITOR if self._standing.is_plain(node):
                return number((Op.BITOR, frozenset(self._form(part, IdKind.PLAIN) for part in self._standing.parts(node))))
            case Op.BITAND if (whole := self._standing.left_whole(node)) is not None:
                return self._form(whole, _settled(self._standing.kind(whole)))
            case Op.EQ | Op.BITAND | Op.BITOR | Op.BITXOR:
                kind = _settled(self._standing.common(node.args))
                return number((node.op, tuple(sorted(self._form(arg, kind) for arg in node.args))))
            case _:
                return number((node.op, tuple(self._form(arg, IdKind.PLAIN) for arg in node.args)))

    def _renamed(self, value: int, kind: IdKind) -> int:
        return renamed_code(value, kind, self._to)


def _settled(kind: IdKind) -> IdKind:
    """Where nothing determines what constants stand for, they are plain numbers."""
    return IdKind.PLAIN if kind is IdKind.OPEN else kind


def _renaming(instance: Instance, sort: type[Id], to: tuple[int, ...]) -> Renaming:
    """A renaming of an instance, with the forms that are known in its pool."""
    forms = cast(Forms, instance.pool.notes.setdefault(Forms, Forms()))
    key = (Renaming, tuple(kinds_of(instance, sort)), tuple(places(instance, sort, to)), to)
    known = instance.pool.notes.get(key)
    if known is None:
        known = instance.pool.notes[key] = Renaming(instance, forms, sort, to)
    return cast(Renaming, known)


def _is_literal(node: Expr, value: int) -> bool:
    return node.is_const and node.value == value


def _kind_of(domain: LeafDomain, sort: type[Id]) -> IdKind:
    if _sort_of(domain) is not sort:
        return IdKind.PLAIN
    inner = domain.inner if isinstance(domain, PresentDomain) else domain
    if isinstance(inner, IdDomain):
        return IdKind.ID
    return IdKind.SET if isinstance(inner, SetDomain) else IdKind.OPTIONAL_ID


def kinds_of(instance: Instance, sort: type[Id]) -> list[IdKind]:
    """For every leaf, how its code depends on ids of the sort."""
    return [_kind_of(leaf.domain, sort) for leaf in instance.schema.leaves]


def places(instance: Instance, sort: type[Id], to: Sequence[int]) -> list[int]:
    """For every leaf, where renaming moves it: an array that is numbered by ids of the sort has its elements renamed."""
    schema = instance.schema

    def moved(domain: Domain, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        if not path:
            return ()
        head, *tail = path
        if isinstance(domain, ArrayDomain):
            assert isinstance(head, int)
            is_by_id = isinstance(domain.index, IdDomain) and domain.index.item is sort
            return (to[head] if is_by_id else head, *moved(domain.element, tuple(tail)))
        if isinstance(domain, StructDomain):
            return (head, *moved(domain.struct.domains()[str(head)], tuple(tail)))
        if isinstance(domain, LogDomain):
            return path
        raise Asymmetric(f"a field at {path} cannot be renamed")

    root = StructDomain(instance.protocol.state)
    return [schema.by_path[moved(root, leaf.path)] for leaf in schema.leaves]


def renamed_state(codes: Sequence[int], place: Sequence[int], kinds: Sequence[IdKind], to: Sequence[int]) -> list[int]:
    """The codes of a state after renaming; `place` and `kinds` are those of `places` and `kinds_of`."""
    moved = list(codes)
    for leaf, code in enumerate(codes):
        moved[place[leaf]] = renamed_code(code, kinds[leaf], to)
    return moved


def named_initially(instance: Instance) -> int:
    """The least number from which on ids may be renamed without making other initial states of the initial states.

    0 if they name no id. Every run, renamed so, is a run; of one that begins where an id is named that is not so of that id.
    `Asymmetric` if there is not one sort of ids, or it cannot be renamed.
    """
    sort = only_sort(instance)
    kinds, size = kinds_of(instance, sort), IdDomain(sort).cardinality(instance.constants)
    first = [instance.schema.unpack(words) for words in instance.initial]

    def are_kept(least_id: int) -> bool:
        renamings = [(places(instance, sort, to), to) for to in generators(size, range(least_id, size))]
        return all(renamed_state(codes, place, kinds, to) in first for codes in first for place, to in renamings)

    return next(number for number in range(size + 1) if are_kept(number))


def signature(instance: Instance, sort: type[Id]) -> str:
    """Everything that renaming ids of a sort depends on, as text: which leaves hold them, and which are numbered by them."""
    size = IdDomain(sort).cardinality(instance.constants)
    turned = [*range(1, size), 0][:size]
    return f"{sort.__name__} {size} {[kind.value for kind in kinds_of(instance, sort)]} {places(instance, sort, turned)}"


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
