"""Claims as conjuncts, each of which is easier to prove than all at once, and few of which stand for the others.

How a claim is taken apart, which conjuncts stand for all where ids may be renamed, and the hints that a solver process is
given with a step.

After a step that names some ids, e.g. brokers, the others are still alike. A renaming that leaves the step as it is takes
what is assumed before it to the same, and one conjunct to another; so of two conjuncts that it takes to each other one is
enough. Both is checked, by the normal forms of `symmetry/check.py`: a conjunct whose image is not recognised stands for
itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from acked.checker.solver.lemma_sets import Core
from acked.checker.solver.problem import ids_of
from acked.checker.solver.tasks import LemmaHint
from acked.checker.symmetry.check import generators, join, least, only_sort
from acked.checker.symmetry.renaming import Asymmetric, Forms, IdKind, Renaming
from acked.invariants.property import Kind, Property
from acked.model.formulas.expr import Expr, Op, Pool, operands
from acked.model.language.domain import IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

MAX_CONJUNCTS = 20_000
"""A claim that would make more is left whole."""


def pieces_of(pool: Pool, claim: Expr) -> tuple[Expr, ...]:
    """Expressions of which the claim is the conjunction; "a or (b and c)" are two, if only one side is a conjunction."""
    made: list[Expr] = []
    pending: list[tuple[Expr, Expr]] = [(pool.false, claim)]
    while pending:
        unless, part = pending.pop()
        if part.op is Op.AND:
            pending += [(unless, item) for item in reversed(operands(part, Op.AND))]
            continue
        options = operands(part, Op.OR)
        ands = [item for item in options if item.op is Op.AND]
        if part.op is Op.OR and len(ands) == 1:
            others = pool.any(item for item in options if item is not ands[0])
            pending.append((pool.or_(unless, others), ands[0]))
            continue
        made.append(pool.or_(unless, part))
        if len(made) + len(pending) > MAX_CONJUNCTS:
            return (claim,)
    return tuple({item.id: item for item in made}.values())


class Pieces:
    """The pieces of some claims about an instance that is symmetric in its ids, and those that stand for all."""

    def __init__(self, instance: Instance, claims: Sequence[Expr]) -> None:
        self._instance = instance
        self.of: tuple[tuple[Expr, ...], ...] = tuple(pieces_of(instance.pool, claim) for claim in claims)
        self._sort = only_sort(instance)
        self._size = IdDomain(self._sort).cardinality(instance.constants)
        self._forms = Forms()
        self._identity = Renaming(instance, self._forms, self._sort, tuple(range(self._size)))
        self._known: dict[tuple[int, ...], tuple[tuple[int, ...], ...]] = {}

    def after(self, step: ActionInstance) -> tuple[tuple[int, ...], ...]:
        """For each claim the numbers of the pieces that stand for all of them after the step."""
        named = tuple(sorted(set(ids_of(step))))
        free = [number for number in range(self._size) if number not in named]
        renamings = [
            Renaming(self._instance, self._forms, self._sort, to) for to in generators(self._size, free)
        ]
        same = self._identity.step(step)
        if any(renaming.step(step) != same for renaming in renamings):
            return tuple(tuple(range(len(items))) for items in self.of)
        if named not in self._known:
            self._known[named] = tuple(self._standing(items, renamings) for items in self.of)
        return self._known[named]

    def _standing(self, items: Sequence[Expr], renamings: Sequence[Renaming]) -> tuple[int, ...]:
        leader = list(range(len(items)))
        try:
            numbers = {self._identity.form(item, IdKind.PLAIN): number for number, item in enumerate(items)}
            for renaming in renamings:
                for number, item in enumerate(items):
                    image = numbers.get(renaming.form(item, IdKind.PLAIN))
                    if image is not None:
                        join(leader, number, image)
        except Asymmetric:
            return tuple(range(len(items)))
        return tuple(number for number in range(len(items)) if least(leader, number) == number)


def hints(
    instance: Instance, number: int, claims: Sequence[Property], sets: Mapping[str, Core], pieces: Pieces | None
) -> dict[int | str, LemmaHint]:
    """By claim, and by field that a step could take out of its domain: the lemmas that suffice for all constants.

    So they do at given ones, but for what the two readings of a protocol do not share; a hint that misleads costs time only.
    """
    step = instance.actions[number]
    numbers = {item.name: place for place, item in enumerate(claims)}

    def lemmas_of(clause: str) -> tuple[int, ...] | None:
        core = sets.get(f"{step.action.name}|{clause}")
        return None if core is None else tuple(numbers[name] for name in core.lemmas if name in numbers)

    made: dict[int | str, LemmaHint] = {}
    standing = None if pieces is None or not sets else pieces.after(step)
    for place, item in enumerate(claims):
        if item.kind is Kind.STATE and (lemmas := lemmas_of(item.name)) is not None:
            made[place] = LemmaHint(lemmas, () if standing is None else standing[place])
    for leaf, _ in step.overflows:
        name = instance.schema.leaves[leaf].name
        if (lemmas := lemmas_of(f"Domain({re.sub('[0-9]+', '', name)})")) is not None:
            made[name] = LemmaHint(lemmas)
    return made
