"""The lemmas with which z3 proves that no action of the replication family leaves a field's domain.

Facts about how the state is kept rather than about what Kafka promises, so they are not offered to specs. Together with the
fields' domains the lemmas are inductive: they hold initially and every action of every variant preserves them, whatever the
constants.
"""

from __future__ import annotations

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies
from acked.model.language.values import Bool
from acked.model.replication.state import Epoch, Offset, Record, Replica, State, log_size


@promise(
    "a replica without a leader epoch has no leader, so a record never lacks the epoch of the leader that wrote it",
    "leader and leader epoch are taken up together, from one LeaderAndIsr request",
    "truncate-to-hw and all after it",
)
def leader_has_epoch(s: State) -> Bool:
    """A replica without an epoch has no leader, so a broker that presumes leadership has an epoch to stamp on records."""
    return every(Replica, lambda r: implies(s.replica[r].leader_epoch.is_none, s.replica[r].leader.is_none))


@promise(
    "the leader epochs of the quorum and of the replicas are below the next one that the controller will use",
    "each leader epoch is used once, in ascending order",
    "truncate-to-hw and all after it",
)
def epochs_were_used(s: State) -> Bool:
    """The quorum's leader epoch and every replica's are below the next one."""
    used = implies(s.quorum.leader_epoch.is_some, s.quorum.leader_epoch.value < s.next_leader_epoch)
    return used & every(
        Replica,
        lambda r: implies(s.replica[r].leader_epoch.is_some, s.replica[r].leader_epoch.value < s.next_leader_epoch),
    )


@promise(
    "the place of a LeaderAndIsr request that was not sent yet says nothing, so equal histories are equal states",
    "how requests are kept: by epoch, each written once",
    "truncate-to-hw and all after it",
)
def unsent_requests_are_blank(s: State) -> Bool:
    """The request of an epoch that was not used yet names no leader and no in-sync replica."""
    return every(
        Epoch,
        lambda e: implies(e >= s.next_leader_epoch, s.requests[e].leader.is_none & s.requests[e].isr.is_empty),
    )


@promise(
    "the places past a log's end are blank, so equal logs are equal states",
    "how logs are kept: truncation wipes what it drops",
    "truncate-to-hw and all after it",
)
def nothing_past_the_end(s: State) -> Bool:
    """Slots past a log's end are blank, so equal logs are equal states."""
    blank = Record(id=0, epoch=0)
    return every_two(Replica, Offset, lambda r, o: implies((o >= s.log[r].end) & (o < log_size), s.log[r].at(o) == blank))


DOMAIN_LEMMAS: tuple[Property, ...] = (leader_has_epoch, epochs_were_used, unsent_requests_are_blank, nothing_past_the_end)
"""Every lemma of the domain proof; the first is what it needs, the others say that a state has one encoding."""
