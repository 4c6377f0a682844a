"""The lemmas of `partition` where several brokers race for the controller's office (ZooKeeper, from 2.2 on).

A broker hears of an epoch from whoever takes itself for the controller, so it may enter one that is not the newest, and a
leader may take office twice in one epoch. These lemmas say which requests may be on their way, and that they name no other
leader than ZooKeeper does. With one controller they say nothing. `DOCS` has what each is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool, OptionalValue, SetValue
from acked.model.partition.believing import is_in_charge
from acked.model.partition.common import counted_isr, has_session, presumes_leadership
from acked.model.partition.controllers import contend, misses_incarnations, queues
from acked.model.partition.settings import begins_again, crashes
from acked.model.partition.state import Candidate, ControllerEpoch, Epoch, Offset, Replica, State


@dataclass(frozen=True)
class Told:
    """A LeaderAndIsr request of a candidate to a broker: whether there is one on its way, and what it says."""

    is_due: Bool
    leader: OptionalValue[Replica]
    epoch: Epoch
    isr: SetValue[Replica]


def requests(s: State, c: Candidate, r: Replica) -> Iterator[Told]:
    """The requests that may be on their way from the candidate to the broker, the newest first."""
    mine = s.believer[c]
    yield Told(mine.active & mine.due.contains(r), mine.leader, mine.leader_epoch, mine.isr)
    if queues.value:
        older = mine.earlier[r]
        yield Told(mine.active & older.leader.is_some, older.leader, older.leader_epoch, older.isr)


def is_news(s: State, c: Candidate, r: Replica, told: Told) -> Bool:
    """The broker will take up what the request says, if nothing else arrives before."""
    there = s.broker[r]
    return told.is_due & (there.known_controller <= s.believer[c].epoch) & (there.leader_epoch < told.epoch)


def newest_controller(s: State) -> Bool:
    """Who holds /controller has the newest controller epoch, no two believers have the same, and brokers know none beyond."""
    keeper = s.zookeeper

    def is_one(c: Candidate) -> Bool:
        mine = s.believer[c]
        holds = implies(keeper.controller == c, mine.active & (mine.epoch == keeper.epoch))
        blank = mine.due.is_empty & mine.leader.is_none & mine.live.is_empty
        if misses_incarnations.value:
            blank &= mine.former.is_empty
        return holds & (mine.epoch <= keeper.epoch) & (mine.active | blank)

    def differ(c: Candidate, d: Candidate) -> Bool:
        both = s.believer[c].active & s.believer[d].active & (c != d)
        return implies(both, s.believer[c].epoch != s.believer[d].epoch)

    if not contend.value:
        return truth(True)
    heard = every(Replica, lambda r: s.broker[r].known_controller <= keeper.epoch)
    return heard & every(Candidate, is_one) & every(Candidate, lambda c: every(Candidate, lambda d: differ(c, d)))


def controller_epochs_are_dense(s: State) -> Bool:
    """Below every controller epoch in use lie only controller epochs in use, as EpochsAreDense says of leader epochs."""
    if not contend.value:
        return truth(True)

    def in_use(epoch: ControllerEpoch) -> Bool:
        believed = some(Candidate, lambda c: s.believer[c].active & (s.believer[c].epoch == epoch))
        known = some(Replica, lambda r: s.broker[r].known_controller == epoch)
        return (s.zookeeper.epoch == epoch) | believed | known

    return every(
        ControllerEpoch,
        lambda high: every(ControllerEpoch, lambda low: implies((low < high) & in_use(high), in_use(low))),
    )


def believers_know(s: State) -> Bool:
    """What a controller believes was so: the leader of its leader epoch is that epoch's leader, and in the ISR it knows.

    Who has the newest controller epoch knows ZooKeeper's leader and leader epoch.
    """
    if not contend.value:
        return truth(True)
    node = s.controller

    def knows(c: Candidate) -> Bool:
        mine = s.believer[c]
        up_to_date = (mine.leader == node.leader) & (mine.leader_epoch == node.leader_epoch)
        return implies(mine.active & (mine.epoch == s.zookeeper.epoch), up_to_date) & (mine.due.is_empty | mine.leader.is_some)

    def is_so(c: Candidate, r: Replica, told: Told, says: Bool) -> Bool:
        named, epoch = told.leader, told.epoch
        has_leader = every(Replica, lambda m: implies(named == m, told.isr.contains(m)))
        of_node = implies((epoch == node.leader_epoch) & node.leader.is_some, named == node.leader)
        of_brokers = every(Replica, lambda b: implies(s.broker[b].leader_epoch == epoch, s.broker[b].leader == named))
        return implies(says, (epoch <= node.leader_epoch) & has_leader & of_node & of_brokers)

    def all_so(c: Candidate) -> Bool:
        mine = s.believer[c]
        newest = Told(mine.active, mine.leader, mine.leader_epoch, mine.isr)
        sent = implies(mine.active, mine.leader_epoch <= node.leader_epoch)
        return sent & is_so(c, Replica, newest, mine.active & mine.leader.is_some)

    def agree(c: Candidate, d: Candidate) -> Bool:
        here, there = s.believer[c], s.believer[d]
        both = here.active & there.active & here.leader.is_some & there.leader.is_some
        return implies(both & (here.leader_epoch == there.leader_epoch), here.leader == there.leader)

    each_so = every(Candidate, lambda c: knows(c) & all_so(c))
    return each_so & every(Candidate, lambda c: every(Candidate, lambda d: agree(c, d)))


def requests_reach_the_living(s: State) -> Bool:
    """Requests are on their way to brokers that are up, and have been since they were sent (KIP-380).

    Who is in charge knows who is up, and ZooKeeper's leader is. Others know it of those of which they know no later end.
    """
    if not contend.value:
        return truth(True)

    def reach(c: Candidate, r: Replica) -> Bool:
        mine = s.believer[c]
        up, alive = has_session(s, r), mine.live.contains(r)
        known = alive & ~mine.former.contains(r) if misses_incarnations.value else alive
        due = some_request(s, c, r)
        in_charge = is_in_charge(s, c)
        sees = (known == up) & (alive == up) & implies(s.controller.leader == r, up)
        named = truth(True)
        if misses_incarnations.value:
            named = alive | ~mine.former.contains(r)
        return named & implies(mine.active & known, up) & implies(due, up) & implies(in_charge, sees)

    def forgets(r: Replica) -> Bool:
        mine = s.broker[r]
        return implies(mine.down, mine.leader.is_none & mine.leader_epoch.is_none) if crashes.value else truth(True)

    return every(Replica, lambda r: forgets(r) & every(Candidate, lambda c: reach(c, r)))


def some_request(s: State, c: Candidate, r: Replica) -> Bool:
    """Some request of the candidate is on its way to the broker."""
    found = truth(False)
    for told in requests(s, c, r):
        found |= told.is_due
    return found


def one_leader(s: State) -> Bool:
    """Who takes itself for the leader, or is about to hear that it leads, is ZooKeeper's leader.

    Nobody else is named in its epoch or in a later one. Leadership ends with its broker's session, which forgets.
    """
    if not contend.value:
        return truth(True)
    node = s.controller

    def none_later(leader: Replica, epoch: Epoch) -> Bool:
        brokers = every(Replica, lambda b: implies(s.broker[b].leader_epoch >= epoch, s.broker[b].leader == leader))

        def names(c: Candidate) -> Bool:
            mine = s.believer[c]
            return implies(mine.active & mine.leader.is_some & (mine.leader_epoch >= epoch), mine.leader == leader)

        return (node.leader == leader) & brokers & every(Candidate, names)

    def leads(r: Replica) -> Bool:
        held = implies(presumes_leadership(s, r), none_later(r, s.broker[r].leader_epoch.value))

        def told(c: Candidate) -> Bool:
            found = truth(True)
            for item in requests(s, c, r):
                found &= implies(item.is_due & (item.leader == r), none_later(r, item.epoch))
            return found

        return held & every(Candidate, told)

    return every(Replica, leads)


def requested_isr(s: State) -> Bool:
    """Who is about to take office is told an ISR with everybody whom ZooKeeper's ISR has, and nobody whom it does not count.

    In the newest epoch it is told ZooKeeper's. Who leads counts everybody in ZooKeeper's ISR, in whatever epoch.
    """
    if not contend.value:
        return truth(True)
    node = s.controller

    def fits(r: Replica, c: Candidate) -> Bool:
        found = truth(True)
        for told in requests(s, c, r):
            enters = is_news(s, c, r, told) & (told.leader == r)
            same = implies(told.epoch == node.leader_epoch, told.isr == node.isr)
            counted = implies(presumes_leadership(s, r), told.isr.issubset(counted_isr(s, r)))
            found &= implies(enters, node.isr.issubset(told.isr) & same & counted)
            for d in every_candidate():
                for later in requests(s, d, r):
                    after = is_news(s, d, r, later) & (later.leader == r) & (later.epoch >= told.epoch)
                    found &= implies(enters & after, later.isr.issubset(told.isr))
        return found

    def counts(r: Replica) -> Bool:
        return implies(presumes_leadership(s, r), node.isr.issubset(counted_isr(s, r)))

    return every(Replica, lambda r: counts(r) & every(Candidate, lambda c: fits(r, c)))


def every_candidate() -> Iterator[Candidate]:
    """Each candidate in turn."""
    from acked.model.language.quantify import each

    yield from each(Candidate)


def office_is_held(s: State) -> Bool:
    """Who leads by what ZooKeeper says, or is about to hear that it leads, holds every record of that leader epoch."""
    if not contend.value:
        return truth(True)

    def holds_all(leader: Replica, epoch: Epoch) -> Bool:
        mine = s.log[leader]

        def held(r: Replica) -> Bool:
            theirs = s.log[r]
            return every(
                Offset, lambda o: implies(theirs.has(o) & (theirs.at(o).epoch == epoch), theirs.same_record_at(mine, o))
            )

        return every(Replica, held)

    def told(r: Replica, c: Candidate) -> Bool:
        found = truth(True)
        for item in requests(s, c, r):
            found &= implies(item.is_due & (item.leader == r), holds_all(r, item.epoch))
        return found

    def elected(r: Replica) -> Bool:
        return implies(s.controller.leader == r, holds_all(r, s.controller.leader_epoch))

    return every(Replica, lambda r: elected(r) & every(Candidate, lambda c: told(r, c)))


def told_are_behind(s: State) -> Bool:
    """Who has restarted is told of no epoch that is older than its records."""
    if not contend.value:
        return truth(True)

    def behind(r: Replica, c: Candidate) -> Bool:
        log, found = s.log[r], truth(True)
        for told in requests(s, c, r):
            older = every(Offset, lambda o, told=told: implies(log.has(o), log.at(o).epoch <= told.epoch))
            found &= implies(told.is_due & s.broker[r].leader_epoch.is_none, older)
        return found

    return every(Replica, lambda r: every(Candidate, lambda c: behind(r, c)))


def office_began(s: State) -> Bool:
    """From where a leader took office on, its log has records of its own epoch only."""
    if not (contend.value and begins_again.value):
        return truth(True)

    def began(r: Replica) -> Bool:
        mine, log = s.broker[r], s.log[r]
        own = every(Offset, lambda o: implies(log.has(o) & (o >= mine.began), mine.leader_epoch == log.at(o).epoch))
        return implies(presumes_leadership(s, r), (mine.began <= log.end) & own)

    return every(Replica, began)


def known_follow(s: State) -> Bool:
    """Of whom a leader knows something follows it, or has restarted, and will hear of no other leader."""
    if not contend.value:
        return truth(True)

    def stays(leader: Replica, f: Replica) -> Bool:
        theirs = s.broker[f]
        now = theirs.leader_epoch.is_none | (theirs.leader == leader)

        def next_one(c: Candidate) -> Bool:
            found = truth(True)
            for told in requests(s, c, f):
                found &= implies(is_news(s, c, f, told), told.leader == leader)
            return found

        end, mine, held = s.known_end[leader][f], s.log[leader], s.log[f]
        agree = every(Offset, lambda o: implies((end > o) & held.has(o), held.same_record_at(mine, o)))
        known = presumes_leadership(s, leader) & (leader != f) & end.is_some
        return implies(known, now & agree & every(Candidate, next_one))

    return every(Replica, lambda a: every(Replica, lambda f: stays(a, f)))
