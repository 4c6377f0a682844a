"""The state of `delivery`: what the group knows, what every member is about, and what became of every input.

There is one input partition, and one result for every input. A transaction is atomic here and its producer is fenced as
Kafka says; whether it is, `transactions` asks. Generations of the group are not counted: a member that believes to have the
partition and is not its owner is of a generation that is over. A part that a question turns off has no field.
"""

from __future__ import annotations

from acked.model.delivery.settings import inputs, members, resends, shares, transacts
from acked.model.language.state import Array, Optional, Present, Struct, field
from acked.model.language.values import Bool, Id, Int


class Member(Id, size=members):
    """An instance of the application, and a member of its group."""


class Input(Int, lo=0, hi=inputs):
    """An offset of the input partition: that of a record, or what is read next; the greatest is its end."""


class Times(Int, lo=0, hi=2):
    """How often the result of an input was written; 2 stands for any more."""


class Stage(Int, lo=0, hi=4):
    """How far a member is with the record that it has."""


class TxnStage(Int, lo=0, hi=2):
    """How far a transaction is."""


IDLE, GOT, COMMITTED, DONE, ADDED = range(5)
"""Values of `Stage`: has no record; has one; has committed its offset; has its result written; has added its offset."""

NONE, OPEN, PREPARED = range(3)
"""Values of `TxnStage`: there is none; open; decided to be committed, and its markers are on their way."""


class MemberState(Struct):
    """A member, as long as it lives."""

    assigned = field(Bool, "it believes that the input partition is its own")
    position = field(Optional(Input), "what it reads next; none until it has asked the group")
    record = field(Optional(Input), "the record that it processes, if any")
    stage = field(Stage, "how far it is with that")
    sent = field(Present(Bool, resends), "the result is written, and it has no answer")
    initialised = field(Present(Bool, transacts), "its producer is initialised and was not fenced since")


class TxnState(Struct):
    """The transaction of a member, as brokers know it: what is not readable so far."""

    stage = field(Present(TxnStage, transacts), "how far it is")
    result = field(Present(Optional(Input), transacts), "the input whose result is in it")
    offset = field(Present(Optional(Input), transacts), "the offset that is in it")


class State(Struct):
    """A group of consumers that read one partition and write a result for every record."""

    owner = field(Optional(Member), "to whom the group has given the partition")
    also = field(Present(Optional(Member), shares), "to whom it has given it too, in the same generation")
    committed = field(Input, "the group's committed offset")
    member = field(Array(Member, MemberState), "the members")
    txn = field(Array(Member, TxnState), "their transactions")
    written = field(Array(Input, Times), "how often a consumer of the results gets that of an input")


def initial(s: State) -> None:
    """Nobody has the partition, and nothing is processed; whatever is not said is zero or none."""
