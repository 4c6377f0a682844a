"""The log below: who leads it, what followers hold of it, and where its high watermark is; `partition`'s rules in few.

What is kept of them is what a coordinator is promised: what is below a high watermark is on every replica in sync, and a
clean leader is one of these; what is above may be lost. What is left out, and why, is in `docs/coordinators.md`.
"""

from __future__ import annotations

from acked.model.coordinator.common import (
    agree_until,
    agreement,
    clear_coordinator,
    has_caught_up,
    has_enough,
    leads,
    leads_newest,
)
from acked.model.coordinator.settings import max_epoch, shrinks, some_disks, strict_min_isr, unclean
from acked.model.coordinator.state import ABSENT, Broker, Epoch, Offset, State
from acked.model.language.action import action, require
from acked.model.language.quantify import each, every, greatest, implies, ite, smaller, some
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Course, Fault, Telling, Tells, Those, says_set
from acked.model.language.values import Bool


def _news(receiver: str | Those, course: Course) -> Tells:
    """What the controller's metadata say of the leader, on its way to a broker."""
    return Tells(CONTROLLER, receiver, lambda t: f"leader {t.after.leader[t.after.epoch]}, epoch {t.after.epoch}", course)


ELECTION = (
    _news(Those(Broker, lambda t: range(len(t.after.broker)) if t.after.epoch > t.before.epoch else ()), Course.DEPARTS),
)
ISR = (Tells("leader", CONTROLLER, lambda t: f"ISR {says_set(t.after.isr)}"),)


def _elect(s: State, broker: Broker) -> None:
    require("an epoch is left", s.epoch < max_epoch)
    s.epoch = s.epoch + 1
    s.leader[s.epoch] = broker


@action(
    says=lambda t: f"the controller makes broker {t.broker} the leader of __consumer_offsets in epoch {t.after.epoch}",
    actor=CONTROLLER, messages=ELECTION,
)
def elect(s: State, broker: Broker) -> None:
    """The controller elects a replica in sync (`PartitionChangeBuilder.electLeader`)."""
    require("is in sync", s.isr.contains(broker))
    _elect(s, broker)


@action(
    says=lambda t: (
        f"the controller makes broker {t.broker}, which is not in sync, the leader of __consumer_offsets in epoch "
        f"{t.after.epoch}"
    ),
    when=lambda: unclean.on, actor=CONTROLLER, fault=Fault.UNCLEAN, messages=ELECTION,
)
def elect_unclean(s: State, broker: Broker) -> None:
    """The controller elects a replica that is not in sync (unclean.leader.election.enable)."""
    require("is not in sync", ~s.isr.contains(broker))
    s.isr = none_of(Broker).add(broker)
    _elect(s, broker)


def _says_role(t: Telling) -> str:
    role = "leader" if t.after.leader[t.after.broker[t.broker].epoch] == t.broker else "follower"
    return f"broker {t.broker} learns of epoch {t.after.broker[t.broker].epoch}, in which it is {role}"


@action(says=_says_role, actor="broker", messages=(_news("broker", Course.ARRIVES),))
def learn(s: State, broker: Broker) -> None:
    """A broker applies the controller's newest metadata; its coordinator is to load or to unload (`BrokerMetadataPublisher`).

    A follower's coordinator hears of the high watermark no more (`ListenerAdapter.onBecomingFollower`, 4.3.1).
    """
    mine = s.broker[broker]
    require("there is a newer epoch", mine.epoch < s.epoch)
    is_leader = s.leader[s.epoch] == broker
    has_any = (mine.phase != ABSENT) | some(Epoch, lambda e: mine.duties[e])
    mine.epoch = s.epoch
    mine.listens = is_leader & mine.listens
    mine.duties[s.epoch] = mine.duties[s.epoch] | is_leader | has_any


def _says_fetch(t: Telling) -> str:
    kept, end = t.after.log[t.follower].end, t.before.log[t.follower].end
    lost = [o for o in range(end) if o >= kept or t.after.log[t.follower].records[o] != t.before.log[t.follower].records[o]]
    cut = f", truncates its log to offset {lost[0]}" if lost else ""
    return (
        f"broker {t.follower} fetches from leader {t.leader}{cut}, and has it up to offset {kept}, with high watermark "
        f"{t.after.broker[t.follower].hw}"
    )


@action(
    says=_says_fetch, actor="follower",
    messages=(Tells("leader", "follower", lambda t: f"up to {t.after.log[t.follower].end}"),),
)
def fetch(s: State, follower: Broker, leader: Broker) -> None:
    """A follower truncates to where its log and the leader's agree, and takes what that has (`AbstractFetcherThread`)."""
    mine, theirs = s.broker[follower], s.broker[leader]
    require("another broker", follower != leader)
    require("leads", leads(s, leader))
    require("of the same epoch", mine.epoch == theirs.epoch)
    end = s.log[leader].end
    hw = smaller(theirs.hw, end)
    differs = ~agree_until(s, follower, leader, end) | (s.log[follower].end != end)
    require("has not all of it", differs | (mine.hw != hw))
    s.log[follower].truncate(agreement(s, follower, leader))
    s.log[follower].copy(s.log[leader], end)
    mine.hw = hw


@action(
    says=lambda t: (
        f"leader {t.leader} knows that all replicas in sync have its log up to offset {t.after.broker[t.leader].hw}: that is "
        "its high watermark"
    ),
    actor="leader",
)
def advance(s: State, leader: Broker) -> None:
    """The high watermark moves to what every replica in sync holds (`Partition.maybeIncrementLeaderHW`).

    A leader of an epoch that is over learns nothing more: what it learned it could have learned before the election.
    """
    require("leads the newest epoch", leads_newest(s, leader))
    if strict_min_isr.on:
        require("as many are in sync as must be", has_enough(s))
    mine = s.broker[leader]

    def is_held(until: Offset) -> Bool:
        def holds(r: Broker) -> Bool:
            knows = s.broker[r].epoch == s.epoch
            return implies(s.isr.contains(r), knows & (until <= s.log[r].end) & agree_until(s, r, leader, until))

        return (until > mine.hw) & (until <= s.log[leader].end) & every(Broker, holds)

    reached = greatest(Offset, lambda o: (o == mine.hw) | is_held(o))
    require("it moves", reached > mine.hw)
    mine.hw = reached


@action(
    says=lambda t: f"leader {t.leader} takes broker {t.broker}, which does not fetch, out of the replicas in sync",
    when=lambda: shrinks.on, actor="leader", messages=ISR,
)
def shrink(s: State, leader: Broker, broker: Broker) -> None:
    """A leader has a follower removed that lags (`Partition.maybeShrinkIsr`)."""
    require("leads the newest epoch", leads_newest(s, leader))
    require("is in sync", s.isr.contains(broker))
    require("is another", broker != leader)
    s.isr = s.isr.remove(broker)


@action(
    says=lambda t: f"leader {t.leader} has broker {t.broker}, which has caught up, in sync again",
    when=lambda: shrinks.on or unclean.on or some_disks.on, actor="leader", messages=ISR,
)
def expand(s: State, leader: Broker, broker: Broker) -> None:
    """A leader has a follower added that has caught up (`Partition.maybeExpandIsr`)."""
    require("leads the newest epoch", leads_newest(s, leader))
    require("is not in sync", ~s.isr.contains(broker))
    require("has caught up", has_caught_up(s, broker, leader))
    s.isr = s.isr.add(broker)


def _says_disk(t: Telling) -> str:
    again = f", and it leads again in epoch {t.after.epoch}" if t.after.epoch != t.before.epoch else ""
    return f"the disk of broker {t.broker} is lost; it starts with an empty one{again}"


@action(says=_says_disk, when=lambda: some_disks.on, actor="broker", fault=Fault.DISK, messages=ELECTION)
def lose_disk(s: State, broker: Broker) -> None:
    """A broker loses its disk and starts with an empty one; it leads on only if nobody else is in sync."""
    require("a disk may be lost", s.disks_left > 0)
    others = s.isr.remove(broker)
    leads_on = others.is_empty
    require("another leads, or none can", (s.leader[s.epoch] != broker) | leads_on)
    require("an epoch is left to lead again", ~leads_on | (s.epoch < max_epoch))
    s.disks_left = s.disks_left - 1
    s.isr = ite(leads_on, s.isr, others)
    s.epoch = ite(leads_on, s.epoch + 1, s.epoch)
    s.leader[s.epoch] = ite(leads_on, broker, s.leader[s.epoch])
    s.log[broker].truncate(0)
    clear_coordinator(s, broker)
    mine = s.broker[broker]
    mine.epoch = 0
    mine.hw = 0
    for e in each(Epoch):
        mine.duties[e] = False
        mine.loads[e] = False
