"""The candidates for /controller: which are active, who is in charge, what each knows, and what it has yet to send.

The vocabulary of `racing.py` and `hearing.py`, and what the rest of the partition asks where several controllers may be:
who notices that a broker is gone or back, who hears that a leader has changed the ISR, and the renumbering of controller
epochs. With one controller nothing here is asked. Sources: `KafkaController`, `PartitionStateMachine`, `KafkaZkClient` of
0.8.2 to 3.3.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.model.language.context import literal
from acked.model.language.quantify import each, every, for_each, ite, some, those, truth
from acked.model.language.sets import SetValue
from acked.model.language.state import none_of
from acked.model.language.values import Bool, OptionalValue
from acked.model.partition.rules import controllers
from acked.model.partition.state import Candidate, ControllerEpoch, Epoch, Replica, State
from acked.model.ranks import ranks

# -- who is who -------------------------------------------------------------------------------------------------------


def is_in_charge(s: State, c: Candidate) -> Bool:
    """The candidate is active, that is, it takes itself for the controller; and it holds /controller."""
    return s.candidate[c].active & (s.zookeeper.controller == c)


def somebody_in_charge(s: State) -> Bool:
    """A controller is in charge."""
    return some(Candidate, lambda c: is_in_charge(s, c))


def is_a_controller(s: State, c: Candidate) -> Bool:
    """The candidate has created /controller, or takes itself for the controller."""
    return s.candidate[c].active | s.candidate[c].created if controllers.elected_in_two_steps.on else s.candidate[c].active


# -- what a controller knows and sends --------------------------------------------------------------------------------


def is_news(s: State, c: Candidate, broker: Replica) -> Bool:
    """The controller's request changes something at the broker: its leader epoch, or the newest controller it knows."""
    mine, there = s.candidate[c], s.broker[broker]
    return (there.leader_epoch < mine.leader_epoch) | (there.known_controller < mine.epoch)


def learn(s: State, c: Candidate, where: Bool) -> None:
    """Where it is so, the controller knows the partition as ZooKeeper has it, and is about to send that."""
    mine, node = s.candidate[c], s.controller
    _queue(s, c, where)
    mine.leader = ite(where, node.leader, mine.leader)
    mine.leader_epoch = ite(where, node.leader_epoch, mine.leader_epoch)
    mine.isr = ite(where, node.isr, mine.isr)


def _queue(s: State, c: Candidate, where: Bool) -> None:
    """Where it is so, what is on its way stays before what comes next; with one request it is overtaken."""
    if not controllers.queues.on:
        return
    mine = s.candidate[c]

    def queue(r: Replica) -> None:
        older = mine.earlier[r]
        stays = where & mine.due.contains(r) & older.leader.is_none
        older.leader = ite(stays, mine.leader, older.leader)
        older.leader_epoch = ite(stays, mine.leader_epoch, older.leader_epoch)
        older.isr = ite(stays, mine.isr, older.isr)

    for_each(Replica, queue)


def _unqueue(s: State, c: Candidate, broker: Replica, where: Bool) -> None:
    """Where it is so, the older of two requests to the broker is on its way no longer."""
    if not controllers.queues.on:
        return
    older = s.candidate[c].earlier[broker]
    older.leader = ite(where, None, older.leader)
    older.leader_epoch = ite(where, Epoch(literal(0)), older.leader_epoch)
    older.isr = ite(where, none_of(Replica), older.isr)


def is_on_its_way(s: State, c: Candidate, broker: Replica) -> Bool:
    """A LeaderAndIsr request of the candidate is on its way to the broker."""
    mine = s.candidate[c]
    due = mine.due.contains(broker)
    return due | mine.earlier[broker].leader.is_some if controllers.queues.on else due


def next_request(
    s: State, c: Candidate, broker: Replica
) -> tuple[OptionalValue[Replica], Epoch, SetValue[Replica]]:
    """Leader, leader epoch and ISR of the request that arrives next: of two the older one, for they arrive in order."""
    mine, older = s.candidate[c], s.candidate[c].earlier[broker]
    if not controllers.queues.on:
        return mine.leader, mine.leader_epoch, mine.isr
    first = older.leader.is_some
    return (
        ite(first, older.leader, mine.leader),
        ite(first, older.leader_epoch, mine.leader_epoch),
        ite(first, older.isr, mine.isr),
    )


def has_arrived(s: State, c: Candidate, broker: Replica) -> None:
    """The request that arrives next is on its way no longer."""
    mine = s.candidate[c]
    rest = mine.due.remove(broker)
    if controllers.queues.on:
        older = mine.earlier[broker].leader.is_some
        rest = ite(older, mine.due, rest)
        _unqueue(s, c, broker, older)
    mine.due = rest


def _loses_requests_of(s: State, c: Candidate, broker: Replica, where: Bool) -> None:
    """Where it is so, nothing of what the candidate has sent to the broker arrives."""
    mine = s.candidate[c]
    mine.due = ite(where, mine.due.remove(broker), mine.due)
    _unqueue(s, c, broker, where)


def send(s: State, c: Candidate, where: Bool, live: Callable[[Replica], Bool] | None = None) -> None:
    """Where it is so, the controller sends what it knows: LeaderAndIsr requests are on their way to every live broker.

    Live are those that it takes for alive, or the `live` ones, if said. A request that would change nothing is left out, one
    without a leader, and one to a broker that has restarted since the controller heard of it, which refuses what names its
    former incarnation (STALE_BROKER_EPOCH, KIP-380). What was on its way before is overtaken, unless requests queue.
    """
    mine = s.candidate[c]

    def reaches(r: Replica) -> Bool:
        if live is not None:
            return live(r)
        alive = mine.live.contains(r)
        return alive & ~mine.former.contains(r) if controllers.misses_incarnations.on else alive

    mine.due = ite(where, those(Replica, lambda r: reaches(r) & mine.leader.is_some & is_news(s, c, r)), mine.due)


def has_written(s: State, c: Candidate, where: Bool) -> None:
    """Where it is so, the candidate has written the partition's state, knows it, and sends it to the brokers."""
    s.zookeeper.written_by = ite(where, s.candidate[c].epoch, s.zookeeper.written_by)
    learn(s, c, where)
    send(s, c, where)


def hear_of_isr(s: State, changed: Bool) -> None:
    """Where a leader has `changed` the ISR in its leader epoch, every controller that knows this epoch hears of it at once.

    What is on its way already stays as it was sent. To whom it matters is the leader.
    """
    if not controllers.many_controllers.on:
        return

    def hear(c: Candidate) -> None:
        mine, node = s.candidate[c], s.controller
        same = changed & mine.active & (mine.leader == node.leader) & (mine.leader_epoch == node.leader_epoch)
        mine.isr = ite(same & ~mine.due.contains(mine.leader), node.isr, mine.isr)

    for_each(Candidate, hear)


def leave(s: State, c: Candidate) -> None:
    """The candidate takes itself for the controller no longer, and forgets what only a controller knows."""
    mine = s.candidate[c]
    mine.created = False
    mine.active = False
    mine.epoch = 0
    mine.live = none_of(Replica)
    mine.former = none_of(Replica)
    mine.due = none_of(Replica)
    for_each(Replica, lambda r: _unqueue(s, c, r, truth(True)))
    mine.stops = none_of(Replica)
    mine.leader = None
    mine.leader_epoch = 0
    mine.isr = none_of(Replica)


# -- brokers that go and come back ------------------------------------------------------------------------------------


def takes_for_dead(s: State, c: Candidate, broker: Replica, where: Bool) -> None:
    """Where it is so, the candidate takes the broker for dead, and nothing of what it has sent there arrives."""
    mine = s.candidate[c]
    mine.live = ite(where, mine.live.remove(broker), mine.live)
    if controllers.misses_incarnations.on:
        mine.former = ite(where, mine.former.remove(broker), mine.former)
    _loses_requests_of(s, c, broker, where)


def notices_loss(s: State, broker: Replica, changed: Bool) -> None:
    """Whoever is in charge has noticed that a broker is gone; `changed` says whether it has written that."""
    # Who is in charge has the newest controller epoch.
    keeper = s.zookeeper
    keeper.written_by = ite(changed & somebody_in_charge(s), keeper.epoch, keeper.written_by)

    def notice(c: Candidate) -> None:
        sees = is_in_charge(s, c)
        takes_for_dead(s, c, broker, sees)
        learn(s, c, sees & changed)
        send(s, c, sees & changed)

    for_each(Candidate, notice)


def notices_return(s: State, broker: Replica) -> None:
    """Whoever is in charge has noticed that a broker has a session again, and tells it who leads."""
    if not controllers.many_controllers.on:
        return

    def notice(c: Candidate) -> None:
        mine, sees = s.candidate[c], is_in_charge(s, c)
        mine.live = ite(sees, mine.live.add(broker), mine.live)
        mine.due = ite(sees & mine.leader.is_some & is_news(s, c, broker), mine.due.add(broker), mine.due)

    for_each(Candidate, notice)


def loses_requests(s: State, broker: Replica) -> None:
    """With KIP-380 requests to the broker's former incarnation, sent before or after its end, come to nothing.

    Who is in charge notices that it is gone, and hears of the next one.
    """
    if not controllers.many_controllers.on:
        return
    s.broker[broker].known_controller = None
    if not controllers.requests_name_incarnation.on:
        return

    def lose(c: Candidate) -> None:
        mine = s.candidate[c]
        _loses_requests_of(s, c, broker, truth(True))
        if controllers.misses_incarnations.on:
            mine.former = ite(mine.live.contains(broker), mine.former.add(broker), mine.former)

    for_each(Candidate, lose)


def stops_on_its_way(s: State, broker: Replica) -> None:
    """The broker is shut down; whoever is in charge sends it a StopReplica request, which may outlive it."""
    if not controllers.stops_late.on:
        return

    def stop(c: Candidate) -> None:
        mine = s.candidate[c]
        mine.stops = ite(is_in_charge(s, c), mine.stops.add(broker), mine.stops)

    for_each(Candidate, stop)


def nothing_on_its_way(s: State, broker: Replica) -> Bool:
    """No controller's LeaderAndIsr request is on its way to the broker."""
    return every(Candidate, lambda c: ~is_on_its_way(s, c, broker))


# -- epochs ------------------------------------------------------------------------------------------------


def known_leader_epochs(s: State) -> list[tuple[Bool, Epoch]]:
    """The leader epochs that controllers know, and those of requests on their way, each with whether it is in use."""
    known = [(s.candidate[c].active, s.candidate[c].leader_epoch) for c in each(Candidate)]
    if controllers.queues.on:
        waiting = [s.candidate[c].earlier[r] for c in each(Candidate) for r in each(Replica)]
        known += [(older.leader.is_some, older.leader_epoch) for older in waiting]
    return known


def renumber_known_epochs(s: State, rank: Callable[[Epoch], Epoch]) -> None:
    """The same as ranks."""
    for c in each(Candidate):
        mine = s.candidate[c]
        mine.leader_epoch = rank(mine.leader_epoch)
        for r in each(Replica) if controllers.queues.on else ():
            mine.earlier[r].leader_epoch = rank(mine.earlier[r].leader_epoch)


def renumber_controller_epochs(s: State) -> None:
    """Controller epochs become ranks among those in use, unless the question bounds them: they are only ever compared."""
    if controllers.max_controller_epoch.value:
        return
    keeper = s.zookeeper
    in_use = [(truth(True), keeper.epoch)]
    if controllers.remembers_writer.on:
        in_use.append((truth(True), keeper.written_by))
    in_use += [(is_a_controller(s, c), s.candidate[c].epoch) for c in each(Candidate)]
    in_use += [(s.broker[r].known_controller.is_some, s.broker[r].known_controller.value) for r in each(Replica)]
    rank = ranks(ControllerEpoch, in_use)
    keeper.epoch = rank(keeper.epoch)
    keeper.written_by = rank(keeper.written_by)
    for c in each(Candidate):
        s.candidate[c].epoch = rank(s.candidate[c].epoch)
    for r in each(Replica):
        known = s.broker[r].known_controller
        s.broker[r].known_controller = ite(known.is_some, rank(known.value), known)
