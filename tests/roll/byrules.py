"""Kafka's rules about a partition that loses a broker, written anew in plain Python: no model, no state space.

A partition is sets of brokers. What may still be elected decides everything: an in-sync replica that is up; with KIP-966 an
eligible one whose shutdown was clean, and where nobody is eligible the last known leader; with unclean elections any replica
that is up. Everybody who is down may come back, and time passes; the one thing more that fails is tried on every broker.

It knows replicas that hold what was acknowledged (`sure`) and those that may lack it; nothing of offsets and epochs.
Sources: PartitionChangeBuilder and ReplicationControlManager of 4.1; KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations


@dataclass(frozen=True)
class Cluster:
    """What is configured: min.insync.replicas, unclean elections, and whether there are eligible leaders (from 4.1)."""

    min_isr: int
    unclean: bool
    elr: bool
    replicas: int

    @property
    def enough(self) -> int:
        """Members of an ISR that takes writes: no more than there are replicas (3.7)."""
        return min(self.min_isr, self.replicas)


@dataclass(frozen=True)
class Part:
    """A partition. `sure` hold every record that was acknowledged; `dirty` will come back without a clean shutdown.

    `last` led last, as far as the controller remembers.
    """

    isr: frozenset[int]
    elr: frozenset[int]
    down: frozenset[int]
    sure: frozenset[int]
    dirty: frozenset[int] = frozenset()
    last: int | None = None


def refuses(cluster: Cluster, part: Part, broker: int) -> bool:
    """Whether acks=all is refused once the broker is gone, by its leaving."""
    return broker in part.isr and len(part.isr - {broker}) < cluster.enough


def goes(cluster: Cluster, part: Part, broker: int, clean: bool) -> Part:
    """The controller takes a broker out."""
    isr, elr, last = part.isr - {broker}, part.elr, part.last
    if not cluster.elr and not isr:
        isr = part.isr  # The last member stays in it.
    if cluster.elr:
        elr = frozenset() if len(isr) >= cluster.enough else (part.elr | part.isr) - isr
        if part.isr == {broker}:
            last = broker
    dirty = part.dirty if clean else part.dirty | {broker}
    return replace(part, isr=isr, elr=elr, down=part.down | {broker}, dirty=dirty, last=last)


def leaders(cluster: Cluster, part: Part) -> Iterator[int]:
    """Who may be elected next, now or once those who are down are back; in every order in which they may come."""
    brokers = frozenset(range(cluster.replicas))
    for count in range(len(part.down) + 1):
        for back in combinations(sorted(part.down), count):
            up = (brokers - part.down) | {*back}
            elr = part.elr - (part.dirty & {*back})  # Who registers after an unclean shutdown is eligible no more.
            candidates = (part.isr & up) or (elr & up)
            if not candidates and cluster.elr and not part.isr and not elr and part.last in up:
                candidates = frozenset({part.last})
            if not candidates and cluster.unclean:
                candidates = up
            yield from (candidate for candidate in candidates if candidate is not None)


def is_lost(cluster: Cluster, part: Part) -> bool:
    """Whether somebody may lead who lacks what was acknowledged, or nobody has it at all."""
    return not part.sure or any(leader not in part.sure for leader in leaders(cluster, part))


def writes_on(cluster: Cluster, part: Part) -> Part | None:
    """The partition once more has been acknowledged by whoever is in sync, if enough are: all others lack that."""
    if len(part.isr) < cluster.enough or not part.isr - part.down:
        return None
    return replace(part, sure=part.isr)


FAILURES = ("process", "machine", "disk")


def fails(cluster: Cluster, part: Part, failure: str, broker: int, unflushed: frozenset[int]) -> Part | None:
    """The partition after one thing more has failed; None if it cannot."""
    is_down = broker in part.down
    if failure == "process":
        return None if is_down else goes(cluster, part, broker, clean=False)
    if failure == "machine" and is_down and broker not in unflushed:
        return None
    gone = replace(goes(cluster, part, broker, clean=False), sure=part.sure - {broker})
    if failure == "disk" and is_down:
        gone = replace(part, sure=part.sure - {broker}, dirty=part.dirty | {broker})
        if cluster.elr and part.isr == {broker}:
            return goes(cluster, gone, broker, clean=False)
    return gone


def losing(cluster: Cluster, part: Part, broker: int, clean: bool) -> set[str]:
    """What has to fail besides, for a loss: `nothing`, or kinds of failures; empty if none does it.

    It is tried right after the broker went, after more was acknowledged, and after those that may have come back have joined.
    """
    unflushed = part.down | (frozenset() if clean else frozenset({broker}))
    begun = goes(cluster, part, broker, clean)
    found = set()
    for then in evolves(cluster, begun):
        if is_lost(cluster, then):
            return {"nothing"}
        for failure in FAILURES:
            for other in range(cluster.replicas):
                after = fails(cluster, then, failure, other, unflushed)
                if after is not None and is_lost(cluster, after):
                    found.add(failure)
    return found


def evolves(cluster: Cluster, begun: Part) -> Iterator[Part]:
    """How it may go on before something fails: elections, more acknowledged, brokers that come back and catch up, again."""
    seen, open_ = {begun}, [begun]
    while open_:
        part = open_.pop()
        yield part
        for then in _steps(cluster, part):
            if then not in seen:
                seen.add(then)
                open_.append(then)


def _steps(cluster: Cluster, part: Part) -> Iterator[Part]:
    brokers = frozenset(range(cluster.replicas))
    for broker in part.down:  # It is back; unclean, it is eligible no more. What it holds stays.
        elr = part.elr - {broker} if broker in part.dirty else part.elr
        yield replace(part, down=part.down - {broker}, dirty=part.dirty - {broker}, elr=elr)
    up = brokers - part.down
    led = part.isr & up
    if not led:
        candidates = part.elr & up
        if not candidates and cluster.elr and not part.isr and not part.elr and part.last in up:
            candidates = up & {part.last}
        if not candidates and cluster.unclean:
            candidates = up
        for leader in candidates:
            isr = frozenset({leader})
            elr = frozenset() if cluster.enough <= 1 or not part.elr & up else part.elr - isr
            yield replace(part, isr=isr, elr=elr, last=None)
        return
    for follower in up - part.isr:  # It catches up with a leader that has everything, and joins.
        isr = part.isr | {follower}
        elr = frozenset() if len(isr) >= cluster.enough else part.elr - isr
        yield replace(part, isr=isr, elr=elr if cluster.elr else frozenset(), sure=part.sure | {follower})
    more = writes_on(cluster, part)
    if more is not None:
        yield more
