"""What the tests of proofs ask about the replication family."""

from __future__ import annotations

from collections.abc import Iterable

from acked.base.processes import Limits
from acked.checker.question.question import Question
from acked.invariants.property import Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.catalogue import FAMILY

KNOWN = {item.name: item for item in (*KIP320_LEMMAS, *PROPERTIES)}
GOALS = (KNOWN["WeakIsr"], KNOWN["StrongIsr"])
LIMITS = Limits(jobs=1, timeout=300.0)
"""One process: a second one writes the same problem down again, and the machine has other tests for its other core."""


def question(
    name: str,
    numbers: tuple[int, ...],
    properties: Iterable[Property] = GOALS,
    drop: Iterable[tuple[str, str]] = (),
) -> Question:
    """A protocol of the family at constants in their order, without some guard clauses."""
    protocol = FAMILY[name]
    names = [constant.name for constant in protocol.constants]
    return Question(protocol.instantiate(dict(zip(names, numbers, strict=True)), drop), tuple(properties))
