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
from typing import cast

from acked.base.frozen import frozen
from acked.checker.symmetry.renaming import Asymmetric, Forms, IdKind, Renaming, kinds_of, places, renamed_code
from acked.model.formulas.expr import Expr
from acked.model.formulas.functions import place_text
from acked.model.language.domain import IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.telling import sort_of
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id


@frozen
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
        identity = renaming_of(instance, renamed, tuple(range(size)))
        known: dict[int, list[int]] = {}
        for number, step in enumerate(instance.actions):
            known.setdefault(identity.step(step), []).append(number)
        leader = list(alone)
        for generator in generators(size, range(size)):
            renaming = renaming_of(instance, renamed, generator)
            for name, root in claims:
                if renaming.form(root, IdKind.PLAIN) != identity.form(root, IdKind.PLAIN):
                    raise Asymmetric(_changes(name))
            for number, step in enumerate(instance.actions):
                images = known.get(renaming.step(step))
                if images is None:
                    raise Asymmetric(_difference(instance, step, renaming, identity))
                for name, roots in step_claims:
                    form = renaming.form(roots[number], IdKind.PLAIN)
                    images = [image for image in images if identity.form(roots[image], IdKind.PLAIN) == form]
                    if not images:
                        raise Asymmetric(_changes(name))
                join(leader, number, images[0])
    except Asymmetric as obstacle:
        return Symmetry(alone, str(obstacle))
    return Symmetry(tuple(least(leader, number) for number in alone))


def _changes(name: str) -> str:
    return f"{name} changes when ids are renamed, as what names one of them does; ask it of each"


def _difference(instance: Instance, step: ActionInstance, renaming: Renaming, identity: Renaming) -> str:
    """Which part of an action instance becomes one that no instance of the action has."""
    twins = [item for item in instance.actions if item.action is step.action]
    what = f"no action is what {step.label} becomes when ids are renamed"
    for at, guard in enumerate(step.guards):
        form = renaming.form(guard.condition, IdKind.PLAIN)
        theirs = [one.condition for twin in twins for one in twin.guards[at : at + 1]]
        if form not in [identity.form(condition, IdKind.PLAIN) for condition in theirs]:
            return f"{what}: its clause {guard.label!r}{place_text((guard.file, guard.line))} is another one then"
    for leaf, code in step.updates:
        update = renaming.update(leaf, code)
        if all(update not in [identity.update(*one) for one in twin.updates] for twin in twins):
            place = place_text((step.action.file, step.action.line))
            return f"{what}: what it assigns to {instance.schema.leaves[leaf].name}{place} is something else then"
    return f"{what}: each of its parts is a part of one, but all together of none"


def join(leader: list[int], a: int, b: int) -> None:
    """Makes one orbit of those of two numbers; `leader` has a number of each number's orbit that is not greater."""
    low, high = sorted((least(leader, a), least(leader, b)))
    leader[high] = low


def least(leader: list[int], number: int) -> int:
    """The least number of a number's orbit."""
    while leader[number] != number:
        number = leader[number]
    return number


def only_sort(instance: Instance) -> type[Id]:
    domains = [leaf.domain for leaf in instance.schema.leaves]
    domains += [domain for step in instance.actions for domain in step.parameters.values()]
    sorts = {sort: None for domain in domains if (sort := sort_of(domain)) is not None}
    # Of a sort with one id, such as a part of the protocol has that is turned off, nothing can be renamed.
    several = [sort for sort in sorts if IdDomain(sort).cardinality(instance.constants) > 1] or list(sorts)
    if len(several) != 1:
        raise Asymmetric(f"the protocol has {len(several)} sorts of ids, and exactly one can be renamed")
    return several[0]


def generators(size: int, free: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """A swap and a rotation of the free ids: every renaming that leaves the others as they are is made of these two."""

    def permute(to: dict[int, int]) -> tuple[int, ...]:
        return tuple(to.get(number, number) for number in range(size))

    if len(free) > 1:
        yield permute({free[0]: free[1], free[1]: free[0]})
    if len(free) > 2:
        yield permute(dict(zip(free, (*free[1:], free[0]), strict=True)))


def renaming_of(instance: Instance, sort: type[Id], to: tuple[int, ...]) -> Renaming:
    """A renaming of an instance, with the forms that are known in its pool."""
    forms = cast(Forms, instance.pool.notes.setdefault(Forms, Forms()))
    key = (Renaming, sort, tuple(kinds_of(instance, sort)), tuple(places(instance, sort, to)), to)
    known = instance.pool.notes.get(key)
    if known is None:
        known = instance.pool.notes[key] = Renaming(instance, forms, sort, to)
    return cast(Renaming, known)


def renamed_state(codes: Sequence[int], place: Sequence[int], kinds: Sequence[IdKind], to: Sequence[int]) -> list[int]:
    """The codes of a state after renaming; `place` and `kinds` are those of `places` and `kinds_of`."""
    permute = list(codes)
    for leaf, code in enumerate(codes):
        permute[place[leaf]] = renamed_code(code, kinds[leaf], to)
    return permute


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


