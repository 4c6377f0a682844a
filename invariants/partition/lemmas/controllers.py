"""The lemmas of `partition` where several candidates race for /controller (ZooKeeper, from 2.2 on).

A broker hears of an epoch from every active controller, so it may enter one that is not the newest, and a
leader that restarts may take office again in its epoch. These lemmas say what requests may be on their way: they come from
the time of a leader that is ZooKeeper's still, or they name none. Each says what it is for, and which action breaks which
claim if it is left out (at the constants given: brokers, offsets, records; Kafka 3.9 with ZooKeeper and two candidates).
Where there is one controller, or `one_leader_at_a_time` does not hold, they say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acked.invariants.partition.lemmas.words import lemma
from acked.invariants.quantifiers import every_two
from acked.model.language.context import fact
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import counted_isr, has_session, presumes_leadership
from acked.model.partition.rules import controllers
from acked.model.partition.rules.controllers import misses_incarnations
from acked.model.partition.rules.facts import begins_again, truncates_by_request
from acked.model.partition.rules.settings import crashes, leadership_moves, reassignment, unclean_election, zombies
from acked.model.partition.state import Candidate, ControllerEpoch, Epoch, Offset, Replica, State
from acked.model.partition.vocabulary.candidates import is_in_charge


def _one_leader_at_a_time(given: Mapping[str, int]) -> bool:
    silent = not any(given[item.name] for item in (zombies, leadership_moves, unclean_election, reassignment))
    named = given[controllers.requests_name_incarnation.name] or not controllers.restarts_between.make(given)
    at_once = given[controllers.old_controllers_refused.name] and given[controllers.elected_at_once.name]
    in_turn = given[controllers.requests_queued.name] == 1
    return bool(controllers.are_many(given) and silent and named and at_once and in_turn)


one_leader_at_a_time = fact(_one_leader_at_a_time)
"""Whether there are several controllers, and leadership ends with its broker alone, which forgets that it led.

So it is where no session of a live broker ends and leadership never moves, elections are clean, ZooKeeper refuses every
write of an old controller (2.1), and a request names the incarnation that it is for (2.2, KIP-380). Of one controller one
request is on its way to a broker at a time (`requests_queued`).
"""


def is_told(s: State, c: Candidate, r: Replica) -> Bool:
    """A request of the candidate, which is active, is on its way to the broker."""
    return s.candidate[c].active & s.candidate[c].due.contains(r)


def will_enter(s: State, c: Candidate, r: Replica) -> Bool:
    """The broker will enter the epoch of the candidate's request, if nothing else arrives before."""
    there, mine = s.broker[r], s.candidate[c]
    return is_told(s, c, r) & (there.known_controller <= mine.epoch) & (there.leader_epoch < mine.leader_epoch)


def every_active(s: State, body: Callable[[Candidate], Bool]) -> Bool:
    """The body holds of every active controller."""
    return every(Candidate, lambda c: implies(s.candidate[c].active, body(c)))


def leads_soon(s: State, r: Replica, body: Callable[[Epoch], Bool]) -> Bool:
    """The body holds of every leader epoch of which a request is on its way that tells the broker that it leads."""

    def soon(c: Candidate) -> Bool:
        named = is_told(s, c, r) & (s.candidate[c].leader == r)
        return implies(named, body(s.candidate[c].leader_epoch))

    return every(Candidate, soon)


def leads_now_or_soon(s: State, r: Replica, body: Callable[[Epoch], Bool]) -> Bool:
    """As `leads_soon`; and if the broker is ZooKeeper's leader the body holds of that leader epoch, too."""
    return implies(s.controller.leader == r, body(s.controller.leader_epoch)) & leads_soon(s, r, body)


@lemma("who holds /controller has the newest epoch", "KAFKA-6082")
def newest_controller(s: State) -> Bool:
    """Who holds /controller has the newest controller epoch, no two have the same, and who is no controller knows nothing.

    So the controller in charge is the last whose writes ZooKeeper takes. Without it BecomeController breaks ControllersKnow,
    RequestsReachTheLiving (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)
    keeper = s.zookeeper

    def is_one(c: Candidate) -> Bool:
        mine = s.candidate[c]
        blank = mine.due.is_empty & mine.leader.is_none & mine.live.is_empty
        holds = implies(keeper.controller == c, mine.active & (mine.epoch == keeper.epoch))
        return holds & implies(mine.active, mine.epoch <= keeper.epoch) & (mine.active | blank)

    def differ(c: Candidate, d: Candidate) -> Bool:
        return (c == d) | (s.candidate[c].epoch != s.candidate[d].epoch)

    heard = every(Replica, lambda r: s.broker[r].known_controller <= keeper.epoch)
    apart = every_active(s, lambda c: every_active(s, lambda d: differ(c, d)))
    return heard & apart & every(Candidate, is_one)


@lemma("no rank is left out", "docs/abstractions.md")
def controller_epochs_are_dense(s: State) -> Bool:
    """Below every controller epoch in use lie only controller epochs in use: ranks neither have gaps nor run out.

    So there is a rank for the next one, as EpochsAreDense says of leader epochs. Without it BecomeController breaks
    ControllersKnow, NewestController (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)

    def is_in_use(epoch: ControllerEpoch) -> Bool:
        believed = some(Candidate, lambda c: s.candidate[c].active & (s.candidate[c].epoch == epoch))
        known = some(Replica, lambda r: s.broker[r].known_controller == epoch)
        return (s.zookeeper.epoch == epoch) | believed | known

    return every_two(
        ControllerEpoch, ControllerEpoch, lambda high, low: implies((low < high) & is_in_use(high), is_in_use(low))
    )


@lemma("what a controller believes was so", "kip320's KnowsLeader")
def controllers_know(s: State) -> Bool:
    """What a controller believes was so: its leader is that of its leader epoch, for brokers and other controllers, too.

    Who has the newest controller epoch knows ZooKeeper's leader and leader epoch. So a request never makes two leaders of one
    epoch. Without it BecomeFollowerAsTold breaks EpochSent, KnowsLeader (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)
    node = s.controller

    def knows(c: Candidate) -> Bool:
        mine = s.candidate[c]
        is_newest = mine.epoch == s.zookeeper.epoch
        up_to_date = (mine.leader == node.leader) & (mine.leader_epoch == node.leader_epoch)
        sends = mine.due.is_empty | mine.leader.is_some
        return implies(is_newest, up_to_date) & sends & (mine.leader_epoch <= node.leader_epoch)

    def was_so(c: Candidate) -> Bool:
        mine = s.candidate[c]

        def agrees(d: Candidate) -> Bool:
            other = s.candidate[d]
            return (other.leader_epoch != mine.leader_epoch) | other.leader.is_none | (other.leader == mine.leader)

        in_sync = every(Replica, lambda r: implies(mine.leader == r, mine.isr.contains(r)))
        of_node = (mine.leader_epoch != node.leader_epoch) | node.leader.is_none | (mine.leader == node.leader)
        of_brokers = every(
            Replica,
            lambda r: implies(s.broker[r].leader_epoch == mine.leader_epoch, s.broker[r].leader == mine.leader),
        )
        return implies(mine.leader.is_some, in_sync & of_node & of_brokers & every_active(s, agrees))

    return every_active(s, lambda c: knows(c) & was_so(c))


@lemma("requests are for those who are up", "KIP-380")
def requests_reach_the_living(s: State) -> Bool:
    """Requests are on their way to brokers that are up, and have been since they were sent (KIP-380).

    Who is in charge knows who is up, and ZooKeeper's leader is. An old controller knows it of those of whose end it has not
    heard, and there was none. A broker that is down knows of no leader. Without it BecomeController breaks OneLeader,
    RequestedIsr (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)

    def reach(c: Candidate, r: Replica) -> Bool:
        mine, up = s.candidate[c], has_session(s, r)
        alive = known = mine.live.contains(r)
        if misses_incarnations.on:
            known = alive & ~mine.former.contains(r)
        sees = (known == up) & (alive == up) & implies(s.controller.leader == r, up)
        reached = implies(known | mine.due.contains(r), up) & implies(is_in_charge(s, c), sees)
        if misses_incarnations.on:
            reached &= alive | ~mine.former.contains(r)
        return reached

    def forgets(r: Replica) -> Bool:
        mine = s.broker[r]
        return implies(mine.down, mine.leader.is_none & mine.leader_epoch.is_none) if crashes.value else truth(True)

    return every(Replica, forgets) & every_two(Candidate, Replica, reach)


@lemma("who leads, or is about to, is ZooKeeper's leader", "no zombies, no moves")
def one_leader(s: State) -> Bool:
    """Who takes itself for the leader, or is about to hear that it leads, is ZooKeeper's leader, and has been since.

    Nobody else is named in its epoch or in a later one. So no request makes a leader beside the one that there is, and none
    of a later epoch names another. Without it BecomeLeaderAsTold breaks AckedInPlace, CommitQuorum (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)

    def leads_since(leader: Replica, epoch: Epoch) -> Bool:
        def names(c: Candidate) -> Bool:
            mine = s.candidate[c]
            return (mine.leader_epoch < epoch) | mine.leader.is_none | (mine.leader == leader)

        followed = every(Replica, lambda r: implies(s.broker[r].leader_epoch >= epoch, s.broker[r].leader == leader))
        return (s.controller.leader == leader) & followed & every_active(s, names)

    def is_one(r: Replica) -> Bool:
        mine = s.broker[r]
        in_office = implies(presumes_leadership(s, r), leads_since(r, mine.leader_epoch.value))
        return in_office & leads_soon(s, r, lambda epoch: leads_since(r, epoch))

    return every(Replica, is_one)


@lemma("a request to lead has all of the ISR", "kip320's RequestIsrHasLeader")
def requested_isr(s: State) -> Bool:
    """Who is about to take office is told an ISR that has all of ZooKeeper's, and in the newest epoch just that.

    If it leads already it counts all of the told one; a later request tells no larger one. And whoever leads counts all of
    ZooKeeper's ISR, in whatever epoch. Without it BecomeLeaderAsTold breaks AckedRecordsInIsr, IsrIsCounted (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)
    node = s.controller

    def enters(c: Candidate, r: Replica) -> Bool:
        return will_enter(s, c, r) & (s.candidate[c].leader == r)

    def fits(c: Candidate, r: Replica) -> Bool:
        mine = s.candidate[c]

        def later(d: Candidate) -> Bool:
            other = s.candidate[d]
            return implies(enters(d, r) & (other.leader_epoch >= mine.leader_epoch), other.isr.issubset(mine.isr))

        all_of_it = node.isr.issubset(mine.isr)
        just_that = implies(mine.leader_epoch == node.leader_epoch, mine.isr == node.isr)
        counted = implies(presumes_leadership(s, r), mine.isr.issubset(counted_isr(s, r)))
        return implies(enters(c, r), all_of_it & just_that & counted & every(Candidate, later))

    def counts(r: Replica) -> Bool:
        return implies(presumes_leadership(s, r), node.isr.issubset(counted_isr(s, r)))

    return every(Replica, lambda r: counts(r) & every(Candidate, lambda c: fits(c, r)))


@lemma("who is to lead holds its epoch's records", "kip320's LeaderFirst")
def office_is_held(s: State) -> Bool:
    """Who is ZooKeeper's leader, or is about to hear that it leads, holds every record of that leader epoch.

    It wrote them itself, before it restarted. With one controller there are none (VacantEpoch). Without it BecomeLeaderAsTold
    breaks WrittenByLeader (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)

    def holds_all(leader: Replica, epoch: Epoch) -> Bool:
        def is_held(r: Replica) -> Bool:
            theirs, mine = s.log[r], s.log[leader]
            return every(
                Offset, lambda o: implies(theirs.has(o) & (theirs.at(o).epoch == epoch), theirs.same_record_at(mine, o))
            )

        return every(Replica, is_held)

    return every(Replica, lambda r: leads_now_or_soon(s, r, lambda epoch: holds_all(r, epoch)))


@lemma("no request is older than a restarted broker's log", "KIP-380")
def told_are_behind(s: State) -> Bool:
    """Who has restarted is told of no epoch that is older than its records.

    For what it is told was sent since. Without it BecomeFollowerAsTold breaks RecordEpoch (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)

    def is_behind(c: Candidate, r: Replica) -> Bool:
        log, epoch = s.log[r], s.candidate[c].leader_epoch
        is_asked = is_told(s, c, r) & s.broker[r].leader_epoch.is_none
        return implies(is_asked, every(Offset, lambda o: implies(log.has(o), log.at(o).epoch <= epoch)))

    return every_two(Replica, Candidate, lambda r, c: is_behind(c, r))


@lemma("from its office on a leader's log is its own", "KAFKA-7128")
def office_began(s: State) -> Bool:
    """From where a leader took office on, its log has records of its own epoch only.

    So who has reached that place has everything that is older. Without it AskToExpand breaks PendingHasCaughtUp (2, 1, 1).
    """
    if not (one_leader_at_a_time.on and begins_again.on):
        return truth(True)

    def began(r: Replica) -> Bool:
        mine, log = s.broker[r], s.log[r]
        own = every(Offset, lambda o: implies(log.has(o) & (o >= mine.began), mine.leader_epoch == log.at(o).epoch))
        return implies(presumes_leadership(s, r), (mine.began <= log.end) & own)

    return every(Replica, began)


@lemma("of whom a leader knows something follows it", "kip320's FollowerPrefix")
def known_follow(s: State) -> Bool:
    """Of whom a leader knows something follows it, in whatever epoch, or has restarted, and will hear of no other leader.

    As far as it is known their logs do not disagree. So a leader that goes on with what it knew, in a newer epoch, knows
    what is so (`reelection_forgets_ends` off, to 4.4). Without it BecomeLeaderAsTold breaks KnownEndIsHeld (2, 1, 1).
    """
    if not one_leader_at_a_time.on:
        return truth(True)

    def stays(leader: Replica, f: Replica) -> Bool:
        theirs, end, mine, held = s.broker[f], s.known_end[leader][f], s.log[leader], s.log[f]
        now = theirs.leader_epoch.is_none | (theirs.leader == leader)
        next_one = every(Candidate, lambda c: implies(will_enter(s, c, f), s.candidate[c].leader == leader))
        agree = every(Offset, lambda o: implies((end > o) & held.has(o), held.same_record_at(mine, o)))
        is_known = presumes_leadership(s, leader) & (leader != f) & end.is_some
        return implies(is_known, now & next_one & agree)

    return every_two(Replica, Replica, stays)


@lemma("who has truncated is its leader's prefix", "KIP-101")
def truncated_for_office(s: State) -> Bool:
    """Where truncation is a request (to 2.7): who has truncated in an epoch holds nothing that its leader lacks.

    So it is of a leader, too, that has restarted and is about to hear that it leads on. Without it BecomeLeaderAsTold breaks
    TruncatedFollower (2, 1, 1, Kafka 2.7).
    """
    if not (one_leader_at_a_time.on and truncates_by_request.on):
        return truth(True)

    def holds_all(leader: Replica, epoch: Epoch) -> Bool:
        def within(f: Replica) -> Bool:
            mine, theirs = s.log[leader], s.log[f]
            has_truncated = (s.broker[f].leader_epoch == epoch) & ~s.broker[f].truncating & (leader != f)
            prefix = every(Offset, lambda o: implies(theirs.has(o), theirs.same_record_at(mine, o)))
            return implies(has_truncated, prefix)

        return every(Replica, within)

    return every(Replica, lambda r: leads_now_or_soon(s, r, lambda epoch: holds_all(r, epoch)))
