"""Symmetry over ids, checked and not assumed: do renamed actions and claims fall on actions and claims?

What lives here: renaming the ids (brokers, say) in an expression, a normal form in which equal ones are recognised, and the
orbits of a protocol's action instances. What does not: what is done with them (`induction.py`, `bmc.py`).

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

from model.domain import ArrayDomain, Domain, IdDomain, LeafDomain, LogDomain, OptionalDomain, SetDomain, StructDomain
from model.expr import Expr, Op
from model.protocol import ActionInstance, Instance
from model.values import Id


@unique
class _Kind(Enum):
    """What the code of an expression stands for; OPEN is a constant whose meaning its neighbour decides."""

    OPEN = "open"
    PLAIN = "plain"
    ID = "id"
    OPTIONAL_ID = "optional id"
    SET = "set of ids"


class _Asymmetric(Exception):
    """Something that renaming cannot see through."""


@dataclass(frozen=True)
class Symmetry:
    """Whether ids may be renamed, and then for every action instance the number of the one that stands for its orbit.

    `obstacle` says what stands in the way, and is empty if nothing does; each instance then stands for itself.
    """

    representative: tuple[int, ...]
    obstacle: str = ""

    @property
    def is_symmetric(self) -> bool:
        """Whether ids may be renamed."""
        return not self.obstacle


def check_symmetry(instance: Instance, claims: Sequence[tuple[str, Expr]]) -> Symmetry:
    """Decides whether the instance's actions and the claims (name and condition) are closed under renaming its ids."""
    alone = tuple(range(len(instance.actions)))
    try:
        size = _sort_size(instance)
        forms = _Forms()
        identity = _Renaming(instance, forms, tuple(range(size)))
        known = {identity.step(step): number for number, step in enumerate(instance.actions)}
        leader = list(alone)
        for generator in _generators(size):
            renaming = _Renaming(instance, forms, generator)
            for name, root in claims:
                if renaming.form(root, _Kind.PLAIN) != identity.form(root, _Kind.PLAIN):
                    raise _Asymmetric(f"{name} changes when ids are renamed")
            for number, step in enumerate(instance.actions):
                image = known.get(renaming.step(step))
                if image is None:
                    raise _Asymmetric(f"no action is what {step.label} becomes when ids are renamed")
                _join(leader, number, image)
    except _Asymmetric as obstacle:
        return Symmetry(alone, str(obstacle))
    return Symmetry(tuple(_root(leader, number) for number in alone))


def _join(leader: list[int], a: int, b: int) -> None:
    low, high = sorted((_root(leader, a), _root(leader, b)))
    leader[high] = low


def _root(leader: list[int], number: int) -> int:
    while leader[number] != number:
        number = leader[number]
    return number


def _sort_of(domain: LeafDomain) -> type[Id] | None:
    if isinstance(domain, (IdDomain, SetDomain)):
        return domain.item
    if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
        return domain.item
    return None


def _sort_size(instance: Instance) -> int:
    domains = [leaf.domain for leaf in instance.schema.leaves]
    domains += [domain for action in instance.protocol.actions for domain in action.parameters().values()]
    sorts = {sort: None for domain in domains if (sort := _sort_of(domain)) is not None}
    if len(sorts) != 1:
        raise _Asymmetric(f"the protocol has {len(sorts)} sorts of ids, and exactly one can be renamed")
    return IdDomain(next(iter(sorts))).cardinality(instance.constants)


def _generators(size: int) -> Iterator[tuple[int, ...]]:
    """A swap and a rotation: every renaming is made of these two."""
    if size > 1:
        yield (1, 0, *range(2, size))
    if size > 2:
        yield (*range(1, size), 0)


class _Forms:
    """Normal forms, numbered: two expressions have the same number exactly if their forms are the same."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, form: object) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


class _Renaming:
    """One renaming of the ids, and the normal forms of renamed expressions."""

    def __init__(self, instance: Instance, forms: _Forms, to: tuple[int, ...]) -> None:
        self._forms = forms
        self._to = to
        leaves = instance.schema.leaves
        self._count = len(leaves)
        self._kinds = [_kind_of(leaf.domain) for leaf in leaves]
        self._place = self._places(instance)
        self._kind_memo: dict[int, _Kind] = {}
        self._form_memo: dict[int, int] = {}

    def _places(self, instance: Instance) -> list[int]:
        """Where each field moves: an array that is numbered by ids has its elements renamed."""
        schema = instance.schema

        def moved(domain: Domain, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
            if not path:
                return ()
            head, *tail = path
            if isinstance(domain, ArrayDomain):
                assert isinstance(head, int)
                is_by_id = isinstance(domain.index, IdDomain)
                return (self._to[head] if is_by_id else head, *moved(domain.element, tuple(tail)))
            if isinstance(domain, StructDomain):
                return (head, *moved(domain.struct.domains()[str(head)], tuple(tail)))
            if isinstance(domain, LogDomain):
                return path
            raise _Asymmetric(f"a field at {path} cannot be renamed")

        root = StructDomain(instance.protocol.state)
        return [schema.by_path[moved(root, leaf.path)] for leaf in schema.leaves]

    # -- steps and expressions ----------------------------------------------------------------------------------------

    def step(self, step: ActionInstance) -> int:
        """The form of a renamed action instance: its name, its guard, and what it sets each field to."""
        updates = frozenset((self._place[leaf], self.form(code, self._kinds[leaf])) for leaf, code in step.updates)
        overflows = frozenset((self._place[leaf], self.form(bad, _Kind.PLAIN)) for leaf, bad in step.overflows)
        return self._forms.number((step.action.name, self.form(step.guard, _Kind.PLAIN), updates, overflows))

    def form(self, root: Expr, kind: _Kind) -> int:
        """The number of the renamed expression's form; `kind` says what it stands for if it is a constant."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node.id in self._form_memo or node.is_const:
                stack.pop()
                continue
            missing = [arg for arg in self._parts(node) if arg.id not in self._form_memo and not arg.is_const]
            if missing:
                stack += missing
                continue
            self._form_memo[node.id] = self._make(node)
            stack.pop()
        if not root.is_const and self._kind(root) is not kind:
            raise _Asymmetric("ids are mixed with numbers")
        return self._form(root, kind)

    def _form(self, node: Expr, kind: _Kind) -> int:
        if node.is_const:
            return self._forms.number((Op.CONST, node.is_bool, self._renamed(node.value, kind)))
        return self._form_memo[node.id]

    def _parts(self, node: Expr) -> list[Expr]:
        if node.op not in (Op.AND, Op.OR, Op.ADD):
            return list(node.args)
        parts, stack = [], list(node.args)
        while stack:
            arg = stack.pop()
            if arg.op is node.op and self._kind(arg) is _Kind.PLAIN:
                stack += arg.args
            else:
                parts.append(arg)
        return parts

    def _make(self, node: Expr) -> int:
        number = self._forms.number
        self._kind(node)  # Refuses what has no renaming.
        match node.op:
            case Op.FIELD:
                after, leaf = divmod(node.value, self._count)
                return number((Op.FIELD, after * self._count + self._place[leaf]))
            case Op.AND | Op.OR:
                return number((node.op, frozenset(self._form(part, _Kind.PLAIN) for part in self._parts(node))))
            case Op.ADD if self._kind(node) is _Kind.PLAIN:
                return number((Op.ADD, tuple(sorted(self._form(part, _Kind.PLAIN) for part in self._parts(node)))))
            case Op.ITE:
                kind = self._kind(node)
                test, then, other = node.args
                return number((Op.ITE, self._form(test, _Kind.PLAIN), self._form(then, kind), self._form(other, kind)))
            case Op.EQ | Op.BITAND | Op.BITOR | Op.BITXOR:
                kind = self._common(node.args)
                return number((node.op, tuple(sorted(self._form(arg, kind) for arg in node.args))))
            case _:
                return number((node.op, tuple(self._form(arg, _Kind.PLAIN) for arg in node.args)))

    # -- what an expression stands for ----------------------------------------------------------------------------------

    def _kind(self, node: Expr) -> _Kind:
        known = self._kind_memo.get(node.id)
        if known is None:
            known = self._kind_memo[node.id] = self._decide(node)
        return known

    def _decide(self, node: Expr) -> _Kind:
        if node.is_bool:
            # An order, or arithmetic on ids, would tell one from another.
            if node.op is Op.LT and any(self._kind(arg) not in (_Kind.PLAIN, _Kind.OPEN) for arg in node.args):
                raise _Asymmetric("ids are compared by order")
            return _Kind.PLAIN
        match node.op:
            case Op.CONST:
                return _Kind.OPEN
            case Op.FIELD:
                return self._kinds[node.value % self._count]
            case Op.ITE:
                return self._common(node.args[1:])
            case Op.BITAND | Op.BITOR | Op.BITXOR:
                kind = self._common(node.args)
                if kind in (_Kind.ID, _Kind.OPTIONAL_ID):
                    raise _Asymmetric("ids are computed with")
                return kind
            case Op.ADD if self._kind(node.args[0]) is _Kind.ID and _is_literal(node.args[1], 1):
                return _Kind.OPTIONAL_ID
            case Op.ADD if self._kind(node.args[0]) is _Kind.OPTIONAL_ID and _is_literal(node.args[1], -1):
                return _Kind.ID
            case _:
                if any(self._kind(arg) not in (_Kind.PLAIN, _Kind.OPEN) for arg in node.args):
                    raise _Asymmetric("ids are computed with")
                return _Kind.PLAIN

    def _common(self, args: Sequence[Expr]) -> _Kind:
        kinds = {self._kind(arg) for arg in args} - {_Kind.OPEN}
        if len(kinds) > 1:
            raise _Asymmetric("ids are mixed with numbers")
        return kinds.pop() if kinds else _Kind.PLAIN

    def _renamed(self, value: int, kind: _Kind) -> int:
        if kind is _Kind.ID:
            return self._to[value]
        if kind is _Kind.OPTIONAL_ID:
            return 1 + self._to[value - 1] if value else 0
        if kind is _Kind.SET:
            return sum(1 << self._to[k] for k in range(len(self._to)) if value >> k & 1)
        return value


def _is_literal(node: Expr, value: int) -> bool:
    return node.is_const and node.value == value


def _kind_of(domain: LeafDomain) -> _Kind:
    if isinstance(domain, IdDomain):
        return _Kind.ID
    if isinstance(domain, SetDomain):
        return _Kind.SET
    if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
        return _Kind.OPTIONAL_ID
    return _Kind.PLAIN
