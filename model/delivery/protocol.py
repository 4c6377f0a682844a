"""`delivery`: the protocol put together."""

from __future__ import annotations

from acked.model.delivery import grouping, writing
from acked.model.delivery.settings import CONSTANTS
from acked.model.delivery.state import Member, State, initial
from acked.model.delivery.versions import profile
from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol
from acked.model.releases import TRANSACTIONAL

delivery = Protocol(
    "delivery",
    State,
    title="delivery end to end: a group that processes records and commits offsets before, after, or in transactions",
    source="the Kafka source, tags 2.4 to 4.3; KIP-98, KIP-447, KIP-679",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(grouping, writing),
    profile=profile,
    releases=TRANSACTIONAL,
    symmetric=(Member,),
    budgets=("a record is left",),
)
