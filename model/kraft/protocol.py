"""`kraft`: the protocol put together."""

from __future__ import annotations

from acked.model.kraft import electing, failing, reconfiguring, replicating
from acked.model.kraft.settings import CONSTANTS, max_epoch, records, servers
from acked.model.kraft.state import Server, State, initial
from acked.model.kraft.versions import VERSIONS, profile
from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol

kraft = Protocol(
    "kraft",
    State,
    title="the quorum of KRaft controllers: a Raft in which followers fetch, and voters that are records in the log",
    source="the Kafka source, tags 2.7.0 to 4.3.1; KIP-595, KIP-853, KIP-996; each switch names its JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(electing, replicating, reconfiguring, failing),
    profile=profile,
    releases=VERSIONS,
    symmetric=(Server,),
    sizes={servers: 1, records: 1, max_epoch: 1},
    budgets=("an epoch is left", "a record is left", "a change is left", "a disk may be lost", "log has room"),
)
