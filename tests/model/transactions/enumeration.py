"""Transactions once more, in plain Python, with nothing of ours: every state that the parties reach by their steps.

`explore` counts them, and says at which depth each promise breaks first. What is answered to a request is in `parties`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.model.transactions.parties import (
    NONE,
    OK,
    Client,
    Coordinator,
    Leader,
    Rules,
    World,
    abort_under_new_epoch,
    append,
    is_idle,
    load,
    lost,
    on_add,
    on_end,
    on_init,
    on_marked,
    on_marker,
    on_produce,
    other,
    put,
)
from tests.model.transactions.parties import told as after_id


def steps(rules: Rules, w: World) -> Iterator[World]:
    for i in range(rules.producers):
        yield from start(rules, w, i)
        yield from transact(rules, w, i)
    yield from deliver(rules, w)
    yield from coordinate(rules, w)


def start(rules: Rules, w: World, i: int) -> Iterator[World]:
    me = w.clients[i]
    bound = rules.max_producer_epoch
    if rules.restarts and me.doing != "start" and (not bound or w.coordinator.epoch <= bound):
        yield replace(w, clients=put(w.clients, i, Client(next=(0,) * rules.partitions)))
    if me.doing not in ("start", "bump"):
        return
    named = me.epoch if me.doing == "bump" else NONE
    error, c = on_init(rules, w.coordinator, named)
    if error == OK:
        zeros = (0,) * rules.partitions
        yield replace(w, coordinator=c).client(i, doing="ready", epoch=c.epoch, next=zeros)
    elif c != w.coordinator:
        yield replace(w, coordinator=c)
    if rules.late_init and not w.init_spent:
        yield replace(w, init_spent=True).post("init", i, named)


def transact(rules: Rules, w: World, i: int) -> Iterator[World]:
    me = w.clients[i]
    if rules.offsets and me.position is None and (me.doing == "ready" or (me.doing == "start" and not rules.init_first)):
        yield w.client(i, position=valid_offset(w))
    if me.doing == "ready" and "unbegun" in w.fates and not (rules.offsets and me.position is None):
        n = w.fates.index("unbegun")
        begun = replace(w.fate(n, "open"), owners=put(w.owners, n, i), inputs=put(w.inputs, n, me.position or 0))
        yield begun.client(i, doing="txn", txn=n)
    if me.doing != "txn":
        return
    assert me.txn is not None
    fate = w.fates[me.txn]
    if fate == "open":
        for p in range(rules.partitions):
            is_added = rules.v2 or p in me.added
            if not is_added:
                yield from add(rules, w, i, p)
            if rules.coordinator_fails and (p not in me.acked if rules.v2 else p not in me.added):
                yield from lose_addition(rules, w, me, p)
            if p not in me.acked and (is_added or not rules.adds_first):
                yield from send(rules, w, i, p)
    all_acked = len(me.acked) == rules.partitions
    begun = bool(me.waiting | me.acked if rules.v2 else me.added)
    if (fate == "open" and all_acked) or fate == "committing":
        yield from end(rules, w, i, "Commit")
    if rules.aborts and ((fate == "open" and begun) or fate == "aborting"):
        yield from end(rules, w, i, "Abort")


def add(rules: Rules, w: World, i: int, p: int) -> Iterator[World]:
    me = w.clients[i]
    error, c = on_add(rules, w.coordinator, me.epoch, p)
    if error == OK:
        yield replace(w, coordinator=c).client(i, added=me.added | {p})
    if rules.late_add and not w.mailed("add"):
        yield w.post("add", me.txn, p, me.epoch)


def lose_addition(rules: Rules, w: World, me: Client, p: int) -> Iterator[World]:
    """A partition is added, by the client or (transaction_version 2) by a leader; the coordinator moves before it answers."""
    asks = not (rules.v2 and w.leaders[p].open and w.leaders[p].epoch == me.epoch)
    error, c = on_add(rules, w.coordinator, me.epoch, p)
    if asks and error == OK and c != w.coordinator and w.coordinator.elsewhere is None:
        yield replace(w, coordinator=lost(w.coordinator, c))


def send(rules: Rules, w: World, i: int, p: int) -> Iterator[World]:
    me = w.clients[i]
    assert me.txn is not None
    seq = 0 if rules.v2 or rules.is_offsets(p) else me.next[p]
    error, after = on_produce(rules, w, p, me.txn, me.epoch, seq)
    if error == OK or (error == "DUPLICATE" and rules.late_produce):
        following = me.next if rules.v2 or rules.is_offsets(p) else put(me.next, p, seq + 1)
        yield after.client(i, waiting=me.waiting - {p}, acked=me.acked | {p}, next=following)
    if rules.late_produce and not w.mailed("produce"):
        yield w.client(i, waiting=me.waiting | {p}).post("produce", p, me.txn, me.epoch, seq)


def end(rules: Rules, w: World, i: int, result: str) -> Iterator[World]:
    me = w.clients[i]
    assert me.txn is not None
    error, c = on_end(rules, w.coordinator, me.epoch, result)
    if error == OK:
        told = replace(w, coordinator=c).fate(me.txn, "committed" if result == "Commit" else "aborted")
        none: frozenset[int] = frozenset()
        for doing, following in set(after_end(rules, me, result)):
            yield told.client(
                i, doing=doing, txn=None, added=none, waiting=none, acked=none, next=following,
                epoch=after_id(rules, c) if rules.v2 else me.epoch,
                position=None if me.position is None or result == "Abort" else me.position + 1,
            )
    asked = w.fate(me.txn, "committing" if result == "Commit" else "aborting")
    is_written = error == OK and w.coordinator.state == "Ongoing"
    if rules.coordinator_fails and is_written and w.coordinator.elsewhere is None:
        yield replace(asked, coordinator=lost(w.coordinator, c))
    if rules.late_end and not w.mailed("end"):
        yield asked.post("end", me.txn, me.epoch, result)


def after_end(rules: Rules, me: Client, result: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What a client does next and its sequence numbers, for each order in which abort and the records' time-out come."""
    if result != "Abort" or not me.waiting or rules.v2:
        yield "ready", me.next
        return
    for failed_before_abort in (True, False):
        if rules.client_bumps_epoch == "always" or (rules.client_bumps_epoch == "known" and failed_before_abort):
            yield "bump", (0,) * rules.partitions
        else:
            yield "ready", tuple(n + (p in me.waiting and not rules.is_offsets(p)) for p, n in enumerate(me.next))


# -- what the network, the coordinator and partitions do by themselves ------------------------------------------------


def deliver(rules: Rules, w: World) -> Iterator[World]:
    for message in w.mail:
        without = w.drop(message)
        yield without
        match message:
            case "init", _, named:
                yield replace(without, coordinator=on_init(rules, w.coordinator, named)[1])
            case "add", _, p, epoch:
                yield replace(without, coordinator=on_add(rules, w.coordinator, epoch, p)[1])
            case "produce", p, txn, epoch, seq:
                yield on_produce(rules, without, p, txn, epoch, seq)[1]
            case "end", _, epoch, result:
                yield replace(without, coordinator=on_end(rules, w.coordinator, epoch, result)[1])
            case "marker", p, epoch, generation, result:
                error, leader = on_marker(rules, w.leaders[p], epoch, generation, result)
                of_now = w.coordinator.generation == generation and w.coordinator.epoch != epoch
                if error != OK and of_now and w.coordinator.state.startswith("Prepare") and not rules.pending_by_epoch:
                    yield replace(without, coordinator=replace(w.coordinator, unmarked=frozenset()))
                yield replace(without, leaders=put(w.leaders, p, leader))


def coordinate(rules: Rules, w: World) -> Iterator[World]:
    c = w.coordinator
    if rules.timeouts and c.state == "Ongoing" and not rules.is_max(c.epoch):
        as_it_is = append(c, state="PrepareAbort", unmarked=c.members)
        ended = abort_under_new_epoch(rules, c) if rules.timeout_bumps_epoch else as_it_is
        yield replace(w, coordinator=ended)
        if rules.coordinator_fails and c.elsewhere is None:
            yield replace(w, coordinator=lost(c, ended))
    if rules.coordinator_moves and (c.generation < rules.max_coordinator_epoch or not rules.max_coordinator_epoch):
        yield replace(w, coordinator=load(c))
        if c.elsewhere is not None:
            yield replace(w, coordinator=other(c))
    if c.elsewhere is not None:
        yield replace(w, coordinator=append(c))
    result = c.state.removeprefix("Prepare")
    for p in frozenset() if is_idle(rules, c) else c.unmarked:
        error, leader = on_marker(rules, w.leaders[p], c.epoch, c.generation, result)
        if error == OK:
            yield replace(w, coordinator=on_marked(rules, c, p), leaders=put(w.leaders, p, leader))
            if len(c.unmarked) == 1 and not rules.completion_noticed:
                yield replace(w, coordinator=replace(c, unmarked=frozenset()), leaders=put(w.leaders, p, leader))
        if rules.late_marker and not w.mailed("marker"):
            yield w.post("marker", p, c.epoch, c.generation, result)
    if not rules.marker_time_kept:
        for p, leader in enumerate(w.leaders):
            if leader.epoch != NONE and not leader.open:
                yield replace(w, leaders=put(w.leaders, p, Leader(leader.log)))


# -- the promises ------------------------------------------------------------------------------------------------------


def seen(leader: Leader, result: str) -> list[str]:
    """The records that end with such a marker, in order."""
    found, run = [], list[str]()
    for entry in leader.log:
        if entry.startswith("r"):
            run.append(entry)
        else:
            found += run if entry == result else []
            run = []
    return found


def valid_offset(w: World) -> int:
    """Where the group goes on: after the input of the last transaction whose offset was committed."""
    found = seen(w.leaders[-1], "Commit")
    return w.inputs[int(found[-1][1:])] + 1 if found else 0


def broken(rules: Rules, w: World) -> Iterator[str]:
    readable = [seen(leader, "Commit") for leader in w.leaders]
    hidden = [seen(leader, "Abort") for leader in w.leaders]
    if rules.offsets:
        hidden[-1] = [name for name in hidden[-1] if name not in readable[-1]]
        yield from broken_for_inputs(w, readable[:-1], hidden[:-1])
    for n, fate in enumerate(w.fates):
        name = f"r{n}"
        shown = any(name in item for item in readable)
        if fate == "committed" and any(name not in x.log or name in y for x, y in zip(w.leaders, hidden, strict=True)):
            yield "AtomicTransactions"
        if fate == "aborted" and shown:
            yield "NoAbortedRead"
        if shown and any(name in item for item in hidden):
            yield "NoTornTransaction"
        if shown and fate not in ("committing", "committed"):
            yield "NoRecordOfAnother"
        if any(item.count(name) > 1 for item in (readable[:-1] if rules.offsets else readable)):
            yield "NoDuplicates"
    if any(leader.open and p not in w.coordinator.members for p, leader in enumerate(w.leaders)):
        yield "NoHangingTransaction"


def broken_for_inputs(w: World, readable: list[list[str]], hidden: list[list[str]]) -> Iterator[str]:
    """What is said of the partitions to which the results go, all but the last one."""
    for results in readable:
        if len({w.inputs[int(name[1:])] for name in results}) < len(set(results)):
            yield "NoInputTwice"
    done = {
        w.inputs[n]
        for n in range(len(w.inputs))
        if all(f"r{n}" in x.log and f"r{n}" not in y for x, y in zip(w.leaders[:-1], hidden, strict=True))
    }
    if not set(range(valid_offset(w))) <= done:
        yield "NoInputLost"


def broken_by(before: World, after: World) -> Iterator[str]:
    for n, owner in enumerate(before.owners):
        if owner is None or before.clients[owner].doing == "start":
            continue
        newer = [c for c in before.clients if c.doing != "start" and c.epoch > before.clients[owner].epoch]
        for was, now in zip(before.leaders, after.leaders, strict=True):
            appears = f"r{n}" in seen(now, "Commit") and f"r{n}" not in seen(was, "Commit")
            elsewhere = any(f"r{n}" in seen(leader, "Commit") for leader in before.leaders if leader is was)
            if newer and appears and not elsewhere:
                yield "ZombieFenced"


def compared(w: World) -> World:
    """Of the coordinator's generations what is left where only comparisons count that may yet be made and can go either way.

    Those are of the late marker, with what its partition has seen or will see from the coordinator of today.
    """
    late = w.mailed("marker")
    newer = [0 if late is None or p != late[1] or x.generation <= late[3] else 1 for p, x in enumerate(w.leaders)]
    leaders = tuple(replace(leader, generation=number) for leader, number in zip(w.leaders, newer, strict=True))
    mine = int(late is not None and w.coordinator.generation > late[3])
    left = replace(w, coordinator=replace(w.coordinator, generation=mine), leaders=leaders)
    return left if late is None else left.drop(late).post(*late[:3], 0, late[4])


def ordered(rules: Rules, w: World) -> World:
    """Of producer epochs what comparisons can tell: their order, and with TV2 whether one comes right after a sender's own.

    Equal pictures are made equal by numbering anew from 0; a number that may be asked for as "one more" keeps its place.
    """
    place = {"init": 2, "add": 3, "produce": 3, "end": 2, "marker": 2}
    senders = [c.epoch for c in w.clients] + [m[2] for m in w.mail if m[0] == "end"]
    known = {*senders, w.coordinator.epoch, w.coordinator.last, *(x.epoch for x in w.leaders)}
    known |= {m[place[m[0]]] for m in w.mail}
    known |= {e + 1 for e in senders if e != NONE} if rules.v2 else set()
    new = {old: number for number, old in enumerate(sorted(known | {NONE}), NONE)}
    mail = frozenset((*m[: place[m[0]]], new[m[place[m[0]]]], *m[place[m[0]] + 1 :]) for m in w.mail)
    return replace(
        w,
        coordinator=replace(w.coordinator, epoch=new[w.coordinator.epoch], last=new[w.coordinator.last]),
        leaders=tuple(replace(x, epoch=new[x.epoch]) for x in w.leaders),
        clients=tuple(replace(c, epoch=new[c.epoch]) for c in w.clients),
        mail=mail,
    )


def explore(rules: Rules) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and after how many steps each promise is broken first."""
    states, found = reach(rules)
    return len(states), found


def reach(rules: Rules) -> tuple[set[World], dict[str, int]]:
    """Every reachable state, and after how many steps each promise is broken first."""
    first = World(
        Coordinator(),
        (Leader(),) * rules.partitions,
        (Client(next=(0,) * rules.partitions),) * rules.producers,
        (None,) * rules.transactions,
        ("unbegun",) * rules.transactions,
        inputs=(0,) * rules.transactions,
    )
    states, level, depth, found = {first}, [first], 0, dict[str, int]()
    note: Callable[[str, int], int] = found.setdefault
    while level:
        depth += 1
        following = []
        for before in level:
            for after in steps(rules, before):
                after = after if rules.max_coordinator_epoch else compared(after)
                after = ordered(rules, after) if rules.restarts and not rules.max_producer_epoch else after
                for name in broken_by(before, after):
                    note(name, depth)
                if after not in states:
                    states.add(after)
                    following.append(after)
                    for name in broken(rules, after):
                        note(name, depth)
        level = following
    return states, found
