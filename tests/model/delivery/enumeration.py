"""Delivery once more, in plain Python, with nothing of ours: every state, and what is broken after how many steps.

Written from what consumers, groups and transactions do (KIP-98, KIP-447), not from `model/delivery`. A state is a group and
a tuple of applications; a transaction is what brokers have of it. The members of the newest generation that have the
partition are a tuple, in the order in which they got it: one or none as Kafka means it, two with its defects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

TXN = "in transaction"


@dataclass(frozen=True)
class Rules:
    """The names are those of the protocol's constants."""

    members: int = 2
    inputs: int = 2
    commits: str = TXN
    threads: bool = False
    ids: str = "per instance"
    crashes: bool = True
    rebalances: bool = True
    lost_answers: bool = True
    idempotence: bool = True
    group_metadata: bool = True
    stable_offsets: bool = True
    one_owner: bool = True
    commits_returned: bool = True
    keeps_offsets: bool = True


@dataclass(frozen=True)
class App:
    """An instance: its next offset, the record that it works on, and what it has done for that so far."""

    thinks_it_owns: bool = False
    next: int | None = None
    record: int | None = None
    did: frozenset[str] = frozenset()
    fenced: bool = True


@dataclass(frozen=True)
class Txn:
    """At the brokers: `decided` once its end was; what has its marker is gone."""

    decided: bool = False
    result: int | None = None
    offset: int | None = None


@dataclass(frozen=True)
class World:
    owners: tuple[int, ...]
    committed: int
    apps: tuple[App, ...]
    txns: tuple[Txn | None, ...]
    results: tuple[int, ...]

    def app(self, i: int, **changes: Any) -> World:
        return replace(self, apps=put(self.apps, i, replace(self.apps[i], **changes)))

    def txn(self, i: int, txn: Txn | None) -> World:
        empty = txn is not None and txn.decided and txn.result is None and txn.offset is None
        return replace(self, txns=put(self.txns, i, None if empty else txn))

    def done(self, i: int) -> World:
        return self.app(i, record=None, did=frozenset())

    def wrote(self, record: int) -> World:
        return replace(self, results=put(self.results, record, min(2, self.results[record] + 1)))


def put(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


def steps(rules: Rules, w: World) -> Iterator[World]:
    yield from () if rules.keeps_offsets else (replace(w, committed=older) for older in range(w.committed))
    for i, app in enumerate(w.apps):
        yield from group(rules, w, i, app)
        if app.thinks_it_owns:
            yield from consume(rules, w, i, app)
            if rules.commits == TXN:
                yield from transact(rules, w, i, app)
            elif app.record is not None:
                yield from produce(rules, w, i, app)
        yield from brokers(w, i)


def group(rules: Rules, w: World, i: int, app: App) -> Iterator[World]:
    if i not in w.owners and not app.thinks_it_owns:
        loses_id = rules.commits == TXN and rules.ids == "per partition"
        given = w.app(i, thinks_it_owns=True, fenced=app.fenced or loses_id)
        if rules.rebalances or not w.owners:
            yield replace(given, owners=(i,))
        if not rules.one_owner and len(w.owners) == 1:
            yield replace(given, owners=(*w.owners, i))
    if i in w.owners and len(w.owners) == 2:
        yield replace(w, owners=(i,))
    if app.thinks_it_owns and i not in w.owners:
        yield w.done(i).app(i, thinks_it_owns=False, next=None)
    if app.thinks_it_owns and rules.crashes:
        yield replace(w, owners=tuple(j for j in w.owners if j != i), apps=put(w.apps, i, App()))


def consume(rules: Rules, w: World, i: int, app: App) -> Iterator[World]:
    waits = rules.stable_offsets and any(txn is not None and txn.offset is not None for txn in w.txns)
    may_ask = not (app.fenced or waits) if rules.commits == TXN else True
    if app.next is None:
        if may_ask:
            yield w.app(i, next=w.committed)
        return
    if app.record is None and app.next < rules.inputs:
        yield w.app(i, next=app.next + 1, record=app.next)
    if i not in w.owners:
        return
    if rules.commits == "before" and app.record is not None and "commit" not in app.did:
        yield replace(w, committed=app.next).app(i, did=app.did | {"commit"})
    if rules.commits == "after" and "answered" in app.did:
        yield replace(w, committed=app.next).done(i)
    has_everything_done = app.record is None
    waits_for_it = not rules.threads and rules.commits_returned
    if rules.commits == "auto" and app.next != w.committed and (has_everything_done or not waits_for_it):
        yield replace(w, committed=app.next)


def produce(rules: Rules, w: World, i: int, app: App) -> Iterator[World]:
    assert app.record is not None
    if "answered" in app.did or (rules.commits == "before" and "commit" not in app.did):
        return
    written = w if rules.idempotence and "written" in app.did else w.wrote(app.record)
    if rules.commits == "after":
        yield written.app(i, did=frozenset({"answered"}))
    else:
        yield written.done(i)
    if rules.lost_answers:
        yield written.app(i, did=app.did | {"written"})


def transact(rules: Rules, w: World, i: int, app: App) -> Iterator[World]:
    txn = w.txns[i]
    if app.fenced:
        if app.next is None:
            same_id = range(rules.members) if rules.ids == "per partition" else (i,)
            if not any((other := w.txns[j]) is not None and other.decided for j in same_id):
                after = w
                for j in same_id:
                    after = after.txn(j, None).app(j, fenced=True)
                yield after.app(i, fenced=False)
        return
    if app.record is not None and not app.did and txn is None:
        yield w.txn(i, Txn(result=app.record)).app(i, did=frozenset({"result"}))
    if txn is None or txn.decided or "result" not in app.did:
        return
    if "offset" not in app.did and (i in w.owners or not rules.group_metadata):
        yield w.txn(i, replace(txn, offset=app.next)).app(i, did=app.did | {"offset"})
    if "offset" in app.did:
        yield w.txn(i, replace(txn, decided=True)).done(i)
    yield w.txn(i, None).done(i).app(i, next=None)


def brokers(w: World, i: int) -> Iterator[World]:
    txn = w.txns[i]
    if txn is None:
        return
    if not txn.decided:
        yield w.txn(i, None).app(i, fenced=True)
        return
    if txn.result is not None:
        yield w.wrote(txn.result).txn(i, replace(txn, result=None))
    if txn.offset is not None:
        yield replace(w, committed=txn.offset).txn(i, replace(txn, offset=None))


def broken(w: World) -> Iterator[str]:
    if max(w.results) > 1:
        yield "NoInputTwice"
    coming = {app.record for app in w.apps} | {txn.result for txn in w.txns if txn is not None}
    if any(not w.results[k] and k not in coming for k in range(w.committed)):
        yield "NoInputLost"


def explore(rules: Rules) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and after how many steps each promise is broken first."""
    first = World((), 0, (App(),) * rules.members, (None,) * rules.members, (0,) * rules.inputs)
    states, level, depth, found = {first}, [first], 0, dict[str, int]()
    while level:
        depth += 1
        following = []
        for before in level:
            for after in steps(rules, before):
                if after not in states:
                    states.add(after)
                    following.append(after)
                    for name in broken(after):
                        found.setdefault(name, depth)
        level = following
    return len(states), found
