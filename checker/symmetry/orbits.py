"""Symmetry reduction: of all states that differ only in the names of interchangeable ids, one is visited.

Which sorts of ids are renamed, and the representative of a state, the least packed state over all renamings, in plain Python;
`checker/native/representatives.py` makes machine code of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from math import factorial, prod

from acked.checker.symmetry.check import renamed_state
from acked.checker.symmetry.renaming import kinds_of, places
from acked.model.language.domain import IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.values import Id

MAX_RENAMINGS = 120
"""Renamings that the machine code tries for every state: five brokers. The code for six takes minutes to compile."""

Words = tuple[int, ...]


def too_many(instance: Instance) -> str:
    """A sentence if no sort has so few renamings that they are worth trying, else nothing."""
    if renamed_sorts(instance):
        return ""
    sorts = instance.protocol.symmetric
    sizes = " and ".join(f"{_size(instance, sort)} {sort.type_name}s" for sort in sorts)
    count = prod(factorial(_size(instance, sort)) for sort in sorts)
    return f"{sizes} can be renamed in {count:,} ways, and symmetry reduction tries at most {MAX_RENAMINGS}"


def renamed_sorts(instance: Instance) -> tuple[type[Id], ...]:
    """The sorts that are renamed: of those that are interchangeable as many as together have at most `MAX_RENAMINGS`."""
    sorts = instance.protocol.symmetric
    chosen = (kept for count in range(len(sorts), 0, -1) for kept in combinations(sorts, count))
    few = [(prod(factorial(_size(instance, sort)) for sort in kept), kept) for kept in chosen]
    return max((pair for pair in few if pair[0] <= MAX_RENAMINGS), key=lambda pair: pair[0], default=(0, ()))[1]


def _size(instance: Instance, sort: type[Id]) -> int:
    return IdDomain(sort).cardinality(instance.constants)


class Orbits:
    """The representatives of an instance's states, in plain Python."""

    def __init__(self, instance: Instance) -> None:
        self._schema = instance.schema
        sorts = [(sort, kinds_of(instance, sort)) for sort in renamed_sorts(instance)]
        self._renamings = [
            [(places(instance, sort, to), kinds, to) for (sort, kinds), to in zip(sorts, chosen, strict=True)]
            for chosen in product(*(permutations(range(_size(instance, sort))) for sort, _ in sorts))
        ]

    def images(self, state: Words) -> Iterator[Words]:
        """The state under every renaming, itself among them."""
        codes = self._schema.unpack(state)
        for renaming in self._renamings:
            image = list(codes)
            for place, kinds, to in renaming:
                image = renamed_state(image, place, kinds, to)
            yield self._schema.pack(image)

    def representative(self, state: Words) -> Words:
        """The least of the state's images."""
        return min(self.images(state))
