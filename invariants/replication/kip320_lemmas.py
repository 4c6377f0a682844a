"""The lemmas that make WeakIsr and StrongIsr of `kip320` inductive.

Facts about how elections, ISR changes, fetches and commits hang together, each one documented; with the two promises
themselves they hold initially and every action preserves them.

The idea: a record below a high watermark was committed in some leader epoch c, so everyone in every later ISR has reached c
and holds it. Which c that was is not in the state, but replicas that lag behind rule candidates out (`is_possible_cut`), so
no history variable is needed.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.invariants.property import Kind, Property
from acked.invariants.quantifiers import every_three, every_two
from acked.invariants.replication.domains import DOMAIN_LEMMAS
from acked.invariants.replication.properties import hw_within_log, leader_in_isr
from acked.model.language.quantify import every, implies, some
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool
from acked.model.replication.common import is_sent, presumes_leadership
from acked.model.replication.state import Epoch, Offset, Replica, State

# -- vocabulary --------------------------------------------------------------------------------------------------------


def is_in_epoch(s: State, r: Replica, e: Epoch) -> Bool:
    """r is in leader epoch e."""
    return s.replica[r].leader_epoch == e


def has_reached(s: State, r: Replica, e: Epoch) -> Bool:
    """r is in leader epoch e or a later one."""
    return s.replica[r].leader_epoch >= e


def is_newest(s: State, e: Epoch) -> Bool:
    """e is the last leader epoch that the controller used."""
    return e + 1 == s.next_leader_epoch


def leads_in(s: State, leader: Replica, e: Epoch) -> Bool:
    """`leader` presumes leadership, in epoch e."""
    return presumes_leadership(s, leader) & is_in_epoch(s, leader, e)


def is_vacant(s: State, e: Epoch) -> Bool:
    """The leader of epoch e has not taken office in it, or epoch e has none."""
    return every(Replica, lambda r: implies(s.requests[e].leader == r, s.replica[r].leader_epoch < e))


def holds_committed(s: State, holder: Replica, r: Replica) -> Bool:
    """`holder` has every record below r's high watermark, as r has it."""
    return every(Offset, lambda o: implies(o < s.replica[r].hw, s.log[holder].same_record_at(s.log[r], o)))


def _covers_what_follows(s: State, isr: SetValue[Replica], e: Epoch) -> Bool:
    """The ISR of an epoch-e leader contains every later ISR, or a member of it has left for a later epoch."""
    later = every(Epoch, lambda x: implies(is_sent(s, x) & (x > e), s.requests[x].isr.issubset(isr)))
    moved_on = some(isr, lambda m: s.replica[m].leader_epoch > e)
    return (s.quorum.isr.issubset(isr) & later) | moved_on


def is_possible_cut(s: State, c: Epoch) -> Bool:
    """That a high watermark advanced in epoch c is compatible with the replicas that lag behind."""
    announced = every(
        Epoch,
        lambda e: implies(is_sent(s, e) & (e > c), every(s.requests[e].isr, lambda m: has_reached(s, m, c))),
    )
    counted = every(
        Replica,
        lambda r: implies(leads_in(s, r, c), every(s.replica[r].isr, lambda m: has_reached(s, m, c))),
    )
    return announced & counted


def _may_commit_since(s: State, r: Replica, e: Epoch, is_cut: Callable[[Epoch], Bool]) -> Bool:
    """r's high watermark may have advanced in epoch e or later."""
    return some(Epoch, lambda c: (e <= c) & (s.replica[r].leader_epoch >= c) & is_cut(c))


def _written_once(condition: Callable[[Epoch], Bool]) -> Callable[[Epoch], Bool]:
    """A condition that is made only once for each epoch: under large constants making it takes longer than proving."""
    made: dict[int, Bool] = {}

    def evaluate(c: Epoch) -> Bool:
        if c.expr.id not in made:
            made[c.expr.id] = condition(c)
        return made[c.expr.id]

    return evaluate


# -- what is kept ------------------------------------------------------------------------------------------------------


def quorum_is_newest(s: State) -> Bool:
    """The quorum's leader and epoch are those of the newest request; before the first there are none."""
    none_yet = implies(
        s.next_leader_epoch == 0, s.quorum.leader_epoch.is_none & s.quorum.leader.is_none
    )
    return none_yet & every(
        Epoch,
        lambda e: implies(
            is_newest(s, e), (s.quorum.leader_epoch == e) & (s.quorum.leader == s.requests[e].leader)
        ),
    )


def ids_are_fresh(s: State) -> Bool:
    """No log holds the next record yet."""
    return every_two(Replica, Offset, lambda r, o: implies(s.log[r].has(o), s.log[r].at(o).id < s.next_record_id))


def records_are_not_ahead(s: State) -> Bool:
    """No log holds a record of an epoch that its replica has not reached."""
    return every_two(
        Replica, Offset, lambda r, o: implies(s.log[r].has(o), s.replica[r].leader_epoch >= s.log[r].at(o).epoch)
    )


def epochs_were_sent(s: State) -> Bool:
    """Every replica's leader epoch is one that the controller used."""
    return every_two(Replica, Epoch, lambda r, e: implies(is_in_epoch(s, r, e), is_sent(s, e)))


def request_isr_has_leader(s: State) -> Bool:
    """Every request's leader is in the request's ISR."""
    return every_two(
        Epoch, Replica, lambda e, r: implies(is_sent(s, e) & (s.requests[e].leader == r), s.requests[e].isr.contains(r))
    )


def replicas_know_their_leader(s: State) -> Bool:
    """A replica's leader is the one that its epoch's request names; without an epoch it has none."""
    return every(
        Replica,
        lambda r: implies(s.replica[r].leader_epoch.is_none, s.replica[r].leader.is_none)
        & every(
            Epoch,
            lambda e: implies(
                is_in_epoch(s, r, e), s.replica[r].leader.is_some & (s.replica[r].leader == s.requests[e].leader)
            ),
        ),
    )


def isr_has_leader(s: State) -> Bool:
    """Whom a replica takes for its leader is in the ISR that the replica knows."""
    return every_two(Replica, Replica, lambda r, x: implies(s.replica[r].leader == x, s.replica[r].isr.contains(x)))


def leader_first(s: State) -> Bool:
    """No replica follows in an epoch whose leader has not taken office."""
    return every_three(
        Replica, Epoch, Replica,
        lambda r, e, x: implies(is_in_epoch(s, r, e) & (s.requests[e].leader == x) & (r != x), has_reached(s, x, e)),
    )


def log_matching(s: State) -> Bool:
    """Two logs that agree at an offset agree at every one below."""
    return every_three(
        Replica, Replica, Offset,
        lambda a, b, o: implies(
            s.log[a].same_record_at(s.log[b], o),
            every(Offset, lambda p: implies(p < o, s.log[a].same_record_at(s.log[b], p))),
        ),
    )


def followers_are_prefixes(s: State) -> Bool:
    """A replica in its leader's epoch has a log that is a prefix of the leader's."""

    def is_prefix(f: Replica, x: Replica) -> Bool:
        return (s.log[f].end <= s.log[x].end) & every(
            Offset, lambda o: implies(s.log[f].has(o), s.log[f].same_record_at(s.log[x], o))
        )

    return every_two(
        Replica, Replica,
        lambda x, f: implies(
            presumes_leadership(s, x) & (s.replica[f].leader_epoch == s.replica[x].leader_epoch), is_prefix(f, x)
        ),
    )


def hw_in_epoch(s: State) -> Bool:
    """What a replica in a leader's epoch takes for committed of that very epoch, the leader does too."""

    def takes_for_committed(x: Replica, r: Replica, o: Offset) -> Bool:
        return (
            presumes_leadership(s, x)
            & (s.replica[r].leader_epoch == s.replica[x].leader_epoch)
            & (o < s.replica[r].hw)
            & s.log[r].has(o)
            & (s.replica[x].leader_epoch == s.log[r].at(o).epoch)
        )

    return every_three(
        Replica, Replica, Offset, lambda x, r, o: implies(takes_for_committed(x, r, o), o < s.replica[x].hw)
    )


def true_leader_knows_isr(s: State) -> Bool:
    """Who leads in the newest epoch knows the quorum's ISR."""
    return every_two(
        Replica, Epoch, lambda r, e: implies(leads_in(s, r, e) & is_newest(s, e), s.replica[r].isr == s.quorum.isr)
    )


def vacant_isr_is_announced(s: State) -> Bool:
    """While the newest epoch's leader has not taken office, the quorum's ISR is the announced one."""
    return every(
        Epoch, lambda e: implies(is_newest(s, e) & is_vacant(s, e), s.requests[e].isr == s.quorum.isr)
    )


def stale_leader_is_stuck(s: State) -> Bool:
    """A leader's ISR covers every later ISR, or one of its members has left for a later epoch."""
    return every_two(Replica, Epoch, lambda r, e: implies(leads_in(s, r, e), _covers_what_follows(s, s.replica[r].isr, e)))


def late_leader_is_stuck(s: State) -> Bool:
    """The ISR that is announced to a leader not yet in office covers every later ISR, or a member left for a later epoch."""
    return every(
        Epoch,
        lambda e: implies(
            is_sent(s, e) & s.requests[e].leader.is_some & is_vacant(s, e),
            _covers_what_follows(s, s.requests[e].isr, e),
        ),
    )


def late_members_were_announced(s: State) -> Bool:
    """A member of a leader's ISR that has not reached the leader's epoch was in the ISR that the epoch began with."""
    return every_two(
        Replica, Epoch,
        lambda r, e: implies(
            leads_in(s, r, e),
            every(s.replica[r].isr, lambda m: implies(s.replica[m].leader_epoch < e, s.requests[e].isr.contains(m))),
        ),
    )


def quorum_isr_holds_committed(s: State) -> Bool:
    """Every member of the quorum's ISR holds what any replica takes for committed."""
    return every_two(s.quorum.isr, Replica, lambda m, r: holds_committed(s, m, r))


def announced_isr_holds_committed(s: State) -> Bool:
    """Every member of an announced ISR holds what was committed before that epoch (leader completeness)."""
    is_cut = _written_once(lambda c: is_possible_cut(s, c))
    return every(
        Epoch,
        lambda e: implies(
            is_sent(s, e),
            every_two(s.requests[e].isr, Replica, lambda m, r: _may_commit_since(s, r, e, is_cut) | holds_committed(s, m, r)),
        ),
    )


def _lemma(name: str, predicate: object, promise: str) -> Property:
    assert callable(predicate)
    return Property(name, Kind.STATE, predicate, promise, "inductive strengthening of WeakIsr and StrongIsr", "kip320")


KIP320_LEMMAS: tuple[Property, ...] = (
    *DOMAIN_LEMMAS,
    _lemma("QuorumIsNewest", quorum_is_newest, "the controller's leader and epoch are those it announced last"),
    _lemma("IdFresh", ids_are_fresh, "a producer's next record is in no log yet"),
    _lemma("RecordEpoch", records_are_not_ahead, "no log holds a record of an epoch its broker has not reached"),
    _lemma("EpochSent", epochs_were_sent, "no broker is in a leader epoch that was not announced"),
    _lemma("QuorumIsrHasLeader", leader_in_isr.predicate, "the controller's leader is one of its in-sync replicas"),
    _lemma("RequestIsrHasLeader", request_isr_has_leader, "an announced leader is one of the announced in-sync replicas"),
    _lemma("KnowsLeader", replicas_know_their_leader, "all brokers of one leader epoch agree on who leads in it"),
    _lemma("IsrHasLeader", isr_has_leader, "a broker's leader is in the ISR that the broker knows"),
    _lemma("LeaderFirst", leader_first, "nobody follows in an epoch before its leader has taken office"),
    _lemma("LogMatching", log_matching, "logs that agree at an offset agree below it"),
    _lemma("FollowerPrefix", followers_are_prefixes, "a follower's log is a prefix of its leader's"),
    _lemma("HwInLog", hw_within_log.predicate, "no broker takes for committed what its log does not hold"),
    _lemma("HwInEpoch", hw_in_epoch, "a follower takes a record of its epoch for committed only after its leader"),
    _lemma("TrueLeaderIsr", true_leader_knows_isr, "the current leader and the controller agree on the ISR"),
    _lemma("VacantIsr", vacant_isr_is_announced, "until a new leader takes office, the ISR stays as announced"),
    _lemma("StaleLeader", stale_leader_is_stuck, "a deposed leader cannot commit without a member of every later ISR"),
    _lemma("LateLeader", late_leader_is_stuck, "nor could a leader that learns of its election too late"),
    _lemma("LateMember", late_members_were_announced, "in-sync replicas that lag behind an epoch were so when it began"),
    _lemma("CommitQuorum", quorum_isr_holds_committed, "every electable broker holds what any broker took for committed"),
    _lemma("CommitRequest", announced_isr_holds_committed, "every announced in-sync replica holds what was committed before"),
)
"""Every lemma, in the order of the argument."""
