"""The promises of `delivery`: that every input is processed, and once.

Floor 1.
"""

from __future__ import annotations

from acked.invariants.property import Property, promise
from acked.model.delivery.settings import transacts
from acked.model.delivery.state import IDLE, Input, Member, State
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool


@promise(
    "the result of an input is written once at most (consumers of the results read with read_committed)",
    "KIP-98, KIP-447",
    "with offsets in transactions, from 2.5; with offsets committed before, if producers are idempotent",
)
def no_input_twice(s: State) -> Bool:
    """No result is there twice."""
    return every(Input, lambda k: s.written[k] < 2)


@promise(
    "an input is not passed over: if the group's committed offset is beyond it, its result is written, or a member is "
    "still about to",
    "KIP-98, KIP-447",
    "with offsets committed after, or in transactions",
)
def no_input_lost(s: State) -> Bool:
    """The result of every input before the committed offset is there, in somebody's hands, or in a transaction."""

    def is_in_hand(k: Input) -> Bool:
        return some(Member, lambda m: (s.member[m].stage != IDLE) & (s.member[m].record == k))

    def is_in_txn(k: Input) -> Bool:
        return some(Member, lambda m: s.txn[m].result == k) if transacts.on else truth(False)

    return every(Input, lambda k: implies(k < s.committed, (s.written[k] > 0) | is_in_hand(k) | is_in_txn(k)))


PROPERTIES: tuple[Property, ...] = (no_input_twice, no_input_lost)
"""Both promises: at most once, and at least once; together they are exactly once."""
