"""The public TLA+ model of InitProducerId and AddPartitionsToTxn, enumerated: its meaning in plain Python.

The model is Jack Vanlightly's `kafka-tlaplus`, `transactions/diary/02_AddPartitionsToTxn`, read at commit 823615e with the
constants of its `kafka_transactions.cfg`: one transactional id, one partition of the transaction log, one topic partition,
two brokers, two clients, one election. Nothing of ours is used. Requests and answers are messages that arrive in any order;
the coordinator appends an entry to its log, which is committed later, and answers then; a new leader has what was committed,
the old one goes on until it hears of it. Of its variables only `messages_discard` is left out, which no action reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

OK, AGAIN, ELSEWHERE = "OK", "ConcurrentTransactions", "NotCoordinator"
FENCED, UNMAPPED = "ProducerFenced", "InvalidProducerIdMapping"
INIT, INITED, ADD, ADDED = "InitPidRequest", "InitPidResponse", "AddPartitionsToTxnRequest", "AddPartitionsToTxnResponse"
NOBODY = -1

Parts = frozenset[int]
EMPTY: Parts = frozenset()


@dataclass(frozen=True)
class Sizes:
    """The constants of the model's configuration; `fences` is False to leave out one rule of it, for control."""

    brokers: int = 2
    clients: int = 2
    partitions: int = 1
    elections: int = 1
    fences: bool = True


class Metadata(NamedTuple):
    """What a coordinator knows of the transactional id, as committed or as it is to become."""

    pid: int
    epoch: int
    last: int
    state: str
    members: Parts = EMPTY


class Message(NamedTuple):
    """A request or an answer; requests have no code."""

    kind: str
    client: int
    broker: int
    code: str = ""
    pid: int = NOBODY
    epoch: int = NOBODY
    members: Parts = EMPTY


class Entry(NamedTuple):
    """An entry of the transaction log, with what is answered when it is committed, and what if it never is."""

    becomes: Metadata
    answer: Message | None
    refusal: Message | None


class Client(NamedTuple):
    state: str = "Ready"
    coordinator: int = NOBODY
    pid: int = NOBODY
    epoch: int = NOBODY
    pending: Parts = EMPTY
    members: Parts = EMPTY
    last_state: str = ""
    last_error: str = ""
    has_id: bool = False


class Broker(NamedTuple):
    """A broker: what it takes for the id's state, the change that it waits for, its log, and whom it believes to lead."""

    known: Metadata | None
    pending: Metadata | None
    log: tuple[Entry, ...]
    committed: int
    epoch: int
    leader: int


class World(NamedTuple):
    clients: tuple[Client, ...]
    brokers: tuple[Broker, ...]
    leader: int
    epoch: int
    pids: int
    elections: int
    mail: frozenset[Message] = frozenset()

    def client(self, c: int, mine: Client) -> World:
        return self._replace(clients=(*self.clients[:c], mine, *self.clients[c + 1 :]))

    def broker(self, b: int, mine: Broker) -> World:
        return self._replace(brokers=(*self.brokers[:b], mine, *self.brokers[b + 1 :]))

    def answered(self, request: Message, answer: Message | None = None) -> World:
        return self._replace(mail=self.mail - {request} | ({answer} if answer is not None else set()))


def first(sizes: Sizes) -> World:
    broker = Broker(None, None, (), 0, 1, 0)
    return World((Client(),) * sizes.clients, (broker,) * sizes.brokers, 0, 1, 0, 0)


def steps(sizes: Sizes, w: World) -> Iterator[World]:
    for c in range(sizes.clients):
        yield from asks(sizes, w, c)
    for message in w.mail:
        handler = {INIT: on_init, INITED: on_inited, ADD: on_add, ADDED: on_added}[message.kind]
        yield from handler(sizes, w, message)
    for b in range(sizes.brokers):
        yield from commits(w, b)
        yield from is_elected(sizes, w, b)
        yield from steps_down(w, b)
        yield from completes(w, b)


# -- clients -----------------------------------------------------------------------------------------------------------


def asks(sizes: Sizes, w: World, c: int) -> Iterator[World]:
    me = w.clients[c]
    if me.state == "Ready":
        asked = w._replace(mail=w.mail | {Message(INIT, c, w.leader)})
        yield asked.client(c, me._replace(state="SentInitPidRequest", has_id=True))
    if me.state in ("HasPid", "BegunTxn") and not me.pending:
        for p in set(range(sizes.partitions)) - me.members:
            request = Message(ADD, c, me.coordinator, "", me.pid, me.epoch, frozenset({p}))
            asked = w._replace(mail=w.mail | {request})
            yield asked.client(c, me._replace(state="BegunTxn", pending=frozenset({p})))


def on_inited(sizes: Sizes, w: World, m: Message) -> Iterator[World]:
    me = w.clients[m.client]
    if me.state != "SentInitPidRequest":
        return
    if m.code == OK:
        after = me._replace(state="HasPid", coordinator=m.broker, pid=m.pid, epoch=m.epoch, last_state="", last_error="")
    else:
        after = me._replace(state="Ready", last_state=me.state, last_error=m.code)
    yield w.answered(m).client(m.client, after)


def on_added(sizes: Sizes, w: World, m: Message) -> Iterator[World]:
    me = w.clients[m.client]
    if me.state != "BegunTxn":
        return
    failed = me._replace(pending=EMPTY, last_state=me.state, last_error=m.code)
    if m.code == OK:
        after = me._replace(pending=me.pending - m.members, members=me.members | m.members)
    elif m.code in (AGAIN, ELSEWHERE):
        after = failed._replace(coordinator=w.leader if m.code == ELSEWHERE else me.coordinator)
    else:
        after = failed._replace(state="Terminated", members=EMPTY)
    yield w.answered(m).client(m.client, after)


# -- the coordinator ---------------------------------------------------------------------------------------------------


def append(w: World, b: int, becomes: Metadata, answer: Message | None, refusal: Message | None) -> World:
    mine = w.brokers[b]
    return w.broker(b, mine._replace(log=(*mine.log, Entry(becomes, answer, refusal)), pending=becomes))


def on_init(sizes: Sizes, w: World, m: Message) -> Iterator[World]:
    b = m.broker
    mine = w.brokers[b]
    if mine.leader != b:
        yield w.answered(m, Message(INITED, m.client, b, ELSEWHERE))
        return
    known = mine.known or Metadata(w.pids + 1, NOBODY, NOBODY, "Empty")
    w = w._replace(pids=known.pid).broker(b, mine._replace(known=known))
    if mine.pending is not None or known.state.startswith("Prepare"):
        yield w.answered(m, Message(INITED, m.client, b, AGAIN))
        return
    refusal = Message(INITED, m.client, b, ELSEWHERE)
    if known.state == "Ongoing":
        aborts = Metadata(known.pid, known.epoch + sizes.fences, NOBODY, "PrepareAbort", known.members)
        yield append(w.answered(m), b, aborts, Message(INITED, m.client, b, AGAIN), refusal)
    else:
        empty = Metadata(known.pid, known.epoch + 1, known.epoch, "Empty")
        answer = Message(INITED, m.client, b, OK, empty.pid, empty.epoch)
        yield append(w.answered(m), b, empty, answer, refusal)


def on_add(sizes: Sizes, w: World, m: Message) -> Iterator[World]:
    b, mine = m.broker, w.brokers[m.broker]
    known, error = mine.known, ""
    if mine.leader != b:
        error = ELSEWHERE
    elif known is None or m.pid != known.pid:
        error = UNMAPPED
    elif m.epoch != known.epoch:
        error = FENCED
    elif mine.pending is not None or known.state.startswith("Prepare"):
        error = AGAIN
    if error or known is None:
        yield w.answered(m, Message(ADDED, m.client, b, error))
        return
    ongoing = known._replace(state="Ongoing", members=known.members | m.members)
    answer = Message(ADDED, m.client, b, OK, members=ongoing.members)
    yield append(w.answered(m), b, ongoing, answer, Message(ADDED, m.client, b, ELSEWHERE))


def completed(prepared: Metadata) -> Metadata:
    return prepared._replace(state="CompleteAbort")


def commits(w: World, b: int) -> Iterator[World]:
    mine = w.brokers[b]
    in_step = b == w.leader and all(broker.epoch == mine.epoch for broker in w.brokers)
    if mine.committed == len(mine.log) or not in_step:
        return
    entry = mine.log[mine.committed]
    others = [x if i == b else x._replace(log=(*x.log, entry)) for i, x in enumerate(w.brokers)]
    after = w._replace(brokers=tuple(x._replace(committed=mine.committed + 1) for x in others))
    after = after.broker(b, after.brokers[b]._replace(known=entry.becomes, pending=None))
    if entry.becomes.state == "PrepareAbort":
        after = append(after, b, completed(entry.becomes), None, None)
    yield after if entry.answer is None else after._replace(mail=after.mail | {entry.answer})


def completes(w: World, b: int) -> Iterator[World]:
    mine = w.brokers[b]
    if mine.leader == b and mine.known is not None and mine.known.state == "PrepareAbort" and mine.pending is None:
        yield append(w, b, completed(mine.known), None, None)


def is_elected(sizes: Sizes, w: World, b: int) -> Iterator[World]:
    mine = w.brokers[b]
    if w.elections == sizes.elections or mine.leader == b:
        return
    heard = mine._replace(epoch=w.epoch + 1, leader=b, known=w.brokers[w.leader].known)
    yield w._replace(leader=b, epoch=w.epoch + 1, elections=w.elections + 1).broker(b, heard)


def steps_down(w: World, b: int) -> Iterator[World]:
    mine = w.brokers[b]
    if not (mine.epoch < w.epoch and mine.leader == b and w.leader != b):
        return
    refused = {entry.refusal for entry in mine.log[mine.committed :] if entry.refusal is not None}
    kept = Broker(None, None, mine.log[: mine.committed], mine.committed, w.epoch, w.leader)
    yield w._replace(mail=w.mail | refused).broker(b, kept)


# -- what it says of them ----------------------------------------------------------------------------------------------


def broken(w: World) -> Iterator[str]:
    """The model's own invariants: what messages may say, one epoch for each client, one leader for each epoch."""
    known = {INIT: {""}, ADD: {""}, INITED: {OK, AGAIN, ELSEWHERE}, ADDED: {OK, AGAIN, ELSEWHERE, FENCED, UNMAPPED}}
    if any(m.code not in known[m.kind] for m in w.mail):
        yield "TypeOK"
    given = [(c.pid, c.epoch) for c in w.clients if c.pid != NOBODY]
    if len(given) != len(set(given)):
        yield "ClientsHaveDifferentProducerEpochs"
    leading = [x.epoch for b, x in enumerate(w.brokers) if x.leader == b]
    if len(leading) != len(set(leading)):
        yield "TCsHaveDifferentEpochs"


Graph = dict[World, tuple[World, ...]]


def reach(sizes: Sizes) -> Graph:
    """Every reachable state with its successors."""
    found: Graph = {}
    level = [first(sizes)]
    while level:
        found.update((w, tuple(steps(sizes, w))) for w in level)
        level = list({after for w in level for after in found[w]} - found.keys())
    return found


def without_fencing(sizes: Sizes) -> Sizes:
    """The model with one rule left out: an instance that takes over aborts under the epoch as it is."""
    return replace(sizes, fences=False)
