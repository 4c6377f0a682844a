"""A quorum of controllers once more, in plain Python, with nothing of ours: every state that Kafka's rules lead to.

Written from `KafkaRaftClient`, `QuorumState`, `LeaderState` and the handlers of voter changes: a node has what Kafka's
classes have, elections and fetches are the requests with their answers. `explore` counts states by level, and says at which
level each promise breaks first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from tests.model.breadth_first import by_levels

Entry = tuple[str, int, int]
"""Kind ("leader change", "record" or "voters"), its number, and its epoch."""

Key = tuple[int, int | None]
"""A replica key: the node's id, and which of its disks stands for the directory id; None where ids alone are known."""


@dataclass(frozen=True)
class Rules:
    servers: int = 3
    records: int = 1
    max_epoch: int = 2
    changes: int = 0
    dynamic: bool = False
    first: int = 0
    by_operator: bool = True
    least_voters: int = 1
    auto_join: bool = False
    standalone: bool = False
    upgrades: bool = False
    restarts: bool = True
    formats: int = 0
    unflushed: bool = False
    quorum_state_lost: bool = False
    snapshots: bool = False
    stands: bool = False
    restarted_leader: str = "resigned"
    leader_change_committed: bool = True
    check_quorum: bool = True
    leader_may_be_outside: bool = True
    observers_flush: bool = True
    pre_vote: bool = True

    @property
    def forgets_directories(self) -> bool:
        """A vote in quorum-state, version 0, is for an id; who stands after a pre-vote learns of the epoch before."""
        return not self.dynamic and bool(self.formats) and not self.pre_vote


class Node(NamedTuple):
    log: tuple[Entry, ...] = ()
    epoch: int = 0
    promised: int | None = None  # the leader it knows, or whom it voted for
    leader: bool = False
    hw: int = 0
    fetched: tuple[tuple[Key, int], ...] = ()
    disk: int = 0
    alone: bool = False
    knows_leader: bool = False  # kept where a vote is for an id
    told: tuple[tuple[int, int], ...] = ()  # of a leader without kraft.version 1: who told it which directory
    start: int = 0
    flushed: int = 0  # kept where observers do not flush
    high: int = 0  # the log's own high watermark, which outlives a change of roles

    @property
    def end(self) -> tuple[int, int]:
        """What a vote request compares: last epoch, then end offset."""
        return (self.log[-1][2] if self.log else 0, len(self.log))


class World(NamedTuple):
    nodes: tuple[Node, ...]
    written: int = 0
    sets: tuple[tuple[Key, ...], ...] = ()
    committed: tuple[Entry, ...] = ()
    dismissed: frozenset[int] = frozenset()
    formats_left: int = 0

    def node(self, i: int, **changed: Any) -> World:
        nodes = self.nodes
        return World((*nodes[:i], nodes[i]._replace(**changed), *nodes[i + 1 :]), *self[1:])


def beginning(rules: Rules) -> World:
    return World((Node(),) * rules.servers, formats_left=rules.formats)


# -- voters -----------------------------------------------------------------------------------------------------------


def voter_set(rules: Rules, w: World, i: int) -> dict[int, int | None]:
    """By id the directory of each voter, as node i has it in its log."""
    me = w.nodes[i]
    for kind, number, _ in reversed(me.log):
        if kind == "voters":
            return dict(w.sets[number])
    if me.alone:
        return {i: me.disk}
    return dict.fromkeys(range(rules.first or rules.servers), 0 if rules.dynamic else None)


def is_voter(w: World, voters: dict[int, int | None], i: int) -> bool:
    return i in voters and voters[i] in (None, w.nodes[i].disk)


def has_version_one(w: World, i: int) -> bool:
    return any(kind == "voters" for kind, _, _ in w.nodes[i].log)


def in_memory_gone(w: World, i: int) -> World:
    me = w.nodes[i]
    is_empty = not (me.leader or me.hw or me.fetched or me.told)
    return w if is_empty else w.node(i, leader=False, hw=0, fetched=(), told=())


def key_of(rules: Rules, w: World, leader: int, i: int) -> Key:
    by_id = voter_set(rules, w, leader).get(i, 0) is None
    return (i, None if by_id else w.nodes[i].disk)


def keep_offsets(rules: Rules, w: World, i: int, known: dict[Key, int]) -> World:
    """A leader keeps offsets of its voters, and of what may become one."""
    matter = set(voter_set(rules, w, i).items())
    if rules.changes:
        matter |= {key_of(rules, w, i, other) for other in range(rules.servers)}
    return w.node(i, fetched=tuple(sorted((key, offset) for key, offset in known.items() if offset and key in matter)))


# -- the high watermark -------------------------------------------------------------------------------------------------


def flushes_late(rules: Rules) -> bool:
    return rules.unflushed and not rules.observers_flush


def update_high_watermark(rules: Rules, w: World, i: int) -> World:
    if flushes_late(rules):
        w = w.node(i, flushed=len(w.nodes[i].log))
    me = w.nodes[i]
    voters = voter_set(rules, w, i)
    fetched = dict(me.fetched)
    ends = {v: len(me.log) if v == i else fetched.get((v, disk), 0) for v, disk in voters.items()}
    if not rules.leader_may_be_outside and i not in voters:
        at = (len(voters) // 2 + 1) - 1
        held = sorted([*ends.values(), len(me.log)], reverse=True)[at]
    else:
        held = sorted(ends.values(), reverse=True)[len(voters) // 2]
    start = next((o for o in range(len(me.log), 0, -1) if me.log[o - 1][2] != me.epoch), 0)  # where it became leader
    known = held > start if rules.leader_change_committed else held >= start
    if known and held > me.hw:
        w = w.node(i, hw=held, high=max(me.high, held) if rules.snapshots else 0)
        if held > len(w.committed):
            w = w._replace(committed=w.committed + me.log[len(w.committed) : held])
    return w


# -- elections --------------------------------------------------------------------------------------------------------


def grants(rules: Rules, w: World, v: int, candidate: int, epoch: int) -> bool:
    voter = w.nodes[v]
    if rules.forgets_directories and voter.epoch == epoch and voter.promised == candidate and not voter.leader:
        return not voter.knows_leader
    if voter.epoch > epoch or (voter.epoch == epoch and (voter.promised is not None or voter.leader)):
        return False
    return w.nodes[candidate].end >= voter.end


def elections(rules: Rules, w: World) -> Iterator[World]:
    for i, me in enumerate(w.nodes):
        voters = voter_set(rules, w, i)
        if me.leader or not is_voter(w, voters, i):
            continue
        for epoch in range(me.epoch + 1, rules.max_epoch + 1):
            others = [v for v in voters if v != i and is_voter(w, voters, v) and grants(rules, w, v, i, epoch)]
            for chosen in combinations(others, len(voters) // 2):
                won = w
                for v in (*chosen, i):
                    won = in_memory_gone(won, v).node(v, epoch=epoch, promised=i, knows_leader=False)
                won = won.node(i, leader=True, log=(*me.log, ("leader change", 0, epoch)))
                yield update_high_watermark(rules, won, i)


def candidacies(rules: Rules, w: World) -> Iterator[World]:
    if not rules.stands:
        return
    for i, me in enumerate(w.nodes):
        voters = voter_set(rules, w, i)
        if not me.leader and me.epoch < rules.max_epoch and is_voter(w, voters, i):
            granted = [v for v in voters if v == i or (is_voter(w, voters, v) and pre_votes(w, v, me))]
            if not rules.pre_vote or len(granted) > len(voters) // 2:
                yield in_memory_gone(w, i).node(i, epoch=me.epoch + 1, promised=i, knows_leader=False)
        for other in w.nodes:
            if other.epoch > me.epoch:
                yield in_memory_gone(w, i).node(i, epoch=other.epoch, promised=None, knows_leader=False)


def pre_votes(w: World, v: int, candidate: Node) -> bool:
    voter = w.nodes[v]
    if voter.promised is not None:
        leader = w.nodes[voter.promised]
        if leader.leader and leader.epoch == voter.epoch:
            return False
    return voter.epoch <= candidate.epoch and candidate.end >= voter.end


# -- records and fetches ------------------------------------------------------------------------------------------------


def end_for(log: tuple[Entry, ...], epoch: int) -> tuple[int, int]:
    """The largest epoch up to this one, and where it ends.

    Once an epoch has had two leaders a log may go back to an older one, which makes Kafka forget the newer one before it
    (`LeaderEpochFileCache.maybeTruncateNonMonotonicEntries`): the last of the entries decides.
    """
    return next(((log[o - 1][2], o) for o in range(len(log), 0, -1) if log[o - 1][2] <= epoch), (0, 0))


def appends(rules: Rules, w: World) -> Iterator[World]:
    if w.written == rules.records:
        return
    for i, me in enumerate(w.nodes):
        if me.leader:
            written = w.node(i, log=(*me.log, ("record", w.written, me.epoch)))._replace(written=w.written + 1)
            yield update_high_watermark(rules, written, i)


def fetches(rules: Rules, w: World) -> Iterator[World]:
    for f, follower in enumerate(w.nodes):
        for i, leader in enumerate(w.nodes):
            if f == i or not leader.leader or follower.epoch > leader.epoch:
                continue
            if follower.epoch == leader.epoch and (follower.promised not in (None, i, f) or follower.leader):
                continue
            bound = in_memory_gone(w, f).node(f, epoch=leader.epoch, promised=i, knows_leader=rules.forgets_directories)
            last, end = follower.end
            if leader.start:
                first = leader.log[leader.start - 1][2]
                if end < leader.start or (end == leader.start and last != first) or last < first:
                    newest = last if end > follower.start else 0
                    if (first, leader.start) > (newest, end if newest else 0):
                        on_disk = leader.start if flushes_late(rules) else 0
                        taken = leader.log[: leader.start]
                        yield bound.node(f, log=taken, start=leader.start, high=leader.start, flushed=on_disk)
                    continue
            epoch, known = end_for(leader.log, last)
            if end and (epoch != last or known < end):
                mine, local = end_for(follower.log, epoch)
                cut = min(local, known) if mine == epoch or not epoch else local
                cut = max(cut, follower.start)
                high = follower.start if cut < follower.high else follower.high
                yield bound.node(f, log=follower.log[:cut], high=high, flushed=min(cut, follower.flushed))
                continue
            bound = keep_offsets(rules, bound, i, {**dict(leader.fetched), key_of(rules, w, i, f): end})
            bound = update_high_watermark(rules, bound, i)
            for until in range(end, len(leader.log) + 1):
                told = min(bound.nodes[i].hw, until) if rules.snapshots else 0
                flushed = follower.flushed
                if flushes_late(rules) and until > end and is_voter(w, voter_set(rules, w, f), f):
                    flushed = until
                taken = follower.log + leader.log[end:until]
                yield bound.node(f, log=taken, high=max(follower.high, told), flushed=flushed)


def compactions(rules: Rules, w: World) -> Iterator[World]:
    if rules.snapshots:
        for i, node in enumerate(w.nodes):
            for end in range(node.start + 1, node.high + 1):
                yield w.node(i, start=end)


# -- voter changes ------------------------------------------------------------------------------------------------------


def reconfigurations(rules: Rules, w: World) -> Iterator[World]:
    for i, me in enumerate(w.nodes):
        newest = max((o for o, entry in enumerate(me.log) if entry[0] == "voters"), default=-1)
        if rules.changes and me.leader and i not in voter_set(rules, w, i) and newest < me.hw:
            yield in_memory_gone(w, i)
        if me.leader and rules.upgrades and not has_version_one(w, i):
            yield from version_upgrades(rules, w, i)
            continue
        if not me.leader or len(w.sets) == rules.changes or not me.hw or newest >= me.hw:
            continue
        voters = voter_set(rules, w, i)
        for s, node in enumerate(w.nodes):
            follows = s != i and node.promised == i and node.epoch == me.epoch
            if s not in voters and follows:
                added = append_voters(rules, w, i, {**voters, s: node.disk})
                if rules.by_operator:
                    yield added._replace(dismissed=added.dismissed - {s})
                if rules.auto_join:
                    yield added
            if s in voters and len(voters) > 1:
                removed = append_voters(rules, w, i, {v: disk for v, disk in voters.items() if v != s})
                if rules.by_operator and len(voters) > rules.least_voters:
                    yield removed._replace(dismissed=removed.dismissed | ({s} if rules.auto_join else set()))
                if rules.auto_join and follows and not is_voter(w, voters, s):
                    yield removed
            if is_voter(w, voters, s) and follows:
                yield append_voters(rules, w, i, voters)


def version_upgrades(rules: Rules, w: World, i: int) -> Iterator[World]:
    """What leader i does about kraft.version 1: it hears directory ids, and writes them once it has all."""
    me = w.nodes[i]
    voters, told = voter_set(rules, w, i), dict(me.told)
    for v in voters:
        node = w.nodes[v]
        follows = v != i and node.promised == i and node.epoch == me.epoch
        if me.hw and follows and not has_version_one(w, v) and told.get(v) != node.disk:
            yield w.node(i, told=tuple(sorted({**told, v: node.disk}.items())))
    told[i] = me.disk
    if len(w.sets) < rules.changes and set(voters) <= set(told):
        named: dict[int, int | None] = {v: told[v] for v in voters}
        offsets = [((v, named[v] if disk is None else disk), offset) for (v, disk), offset in me.fetched]
        yield append_voters(rules, w.node(i, told=(), fetched=tuple(offsets)), i, named)


def append_voters(rules: Rules, w: World, i: int, voters: dict[int, int | None]) -> World:
    me = w.nodes[i]
    changed = w.node(i, log=(*me.log, ("voters", len(w.sets), me.epoch)))
    changed = changed._replace(sets=(*w.sets, tuple(sorted(voters.items()))))
    changed = keep_offsets(rules, changed, i, dict(me.fetched))
    return update_high_watermark(rules, changed, i)


# -- failures -----------------------------------------------------------------------------------------------------------


def failures(rules: Rules, w: World) -> Iterator[World]:
    for i, me in enumerate(w.nodes):
        gone = in_memory_gone(w, i)
        if me.leader:
            back = gone.node(i, high=me.start, leader=rules.restarted_leader == "leading")
            if rules.restarted_leader == "unattached":
                back = back.node(i, promised=None)
            if rules.restarts:
                yield back
            if rules.unflushed:
                for end in range(me.hw, len(me.log)):
                    if me.log[end][2] == me.epoch:
                        yield back.node(i, log=me.log[:end], flushed=min(end, me.flushed))
            if rules.check_quorum and len(voter_set(rules, w, i)) > 1:
                yield gone
        if flushes_late(rules) and not me.leader:
            for end in range(me.flushed, len(me.log)):
                yield w.node(i, log=me.log[:end], high=me.start)
        if rules.quorum_state_lost and me.epoch:
            yield gone.node(i, epoch=me.end[0], promised=None, knows_leader=False, high=me.start)
        if w.formats_left:
            formatted = gone._replace(formats_left=w.formats_left - 1).node(
                i, log=(), epoch=0, promised=None, knows_leader=False, start=0, high=0, flushed=0
            )
            if rules.dynamic or rules.upgrades:
                formatted = formatted.node(i, disk=me.disk + 1, alone=rules.standalone)
            for leader, node in enumerate(formatted.nodes):
                if node.fetched:
                    formatted = keep_offsets(rules, formatted, leader, dict(node.fetched))
            yield formatted


def steps(rules: Rules, w: World) -> Iterator[World]:
    for party in (elections, candidacies, appends, fetches, compactions, reconfigurations, failures):
        yield from party(rules, w)


# -- promises -----------------------------------------------------------------------------------------------------------


def newest_leaders(w: World) -> list[Node]:
    newest = max(node.epoch for node in w.nodes)
    return [node for node in w.nodes if node.leader and node.epoch == newest]


def one_leader(w: World) -> bool:
    epochs = [node.epoch for node in w.nodes if node.leader]
    return len(epochs) == len(set(epochs))


def survives(w: World) -> bool:
    kept = [entry[:2] for entry in w.committed if entry[0] == "record"]
    return all(set(kept) <= {entry[:2] for entry in leader.log} for leader in newest_leaders(w))


def complete(w: World) -> bool:
    return all(leader.log[: len(w.committed)] == w.committed for leader in newest_leaders(w))


def same_machine(w: World) -> bool:
    applied = [(node.log, max(node.high, node.hw if node.leader else 0)) for node in w.nodes]
    return all(log[:end] == w.committed[:end] for log, end in applied)


def logs_match(w: World) -> bool:
    for a, b in combinations(w.nodes, 2):
        for o, (mine, other) in enumerate(zip(a.log, b.log, strict=False)):
            if mine[2] == other[2] and a.log[: o + 1] != b.log[: o + 1]:
                return False
    return True


PROMISES: dict[str, Callable[[World], bool]] = {
    "OneLeaderPerEpoch": one_leader,
    "MetadataSurvives": survives,
    "LeaderCompleteness": complete,
    "StateMachineSafety": same_machine,
    "LogMatching": logs_match,
}


def decided_by_voters(rules: Rules, before: World, after: World) -> bool:
    """Who became leader has the votes of its voters, who committed has their logs, and both know who was removed."""
    removals = {entry for entry in before.committed if entry[0] == "voters"}
    commits = []
    for i, node in enumerate(after.nodes):
        voters = voter_set(rules, after, i)
        able = [after.nodes[v] for v in voters if is_voter(after, voters, v)]
        knows = removals <= set(node.log)
        if node.leader and not before.nodes[i].leader:
            voted = [v for v in able if (v.promised, v.epoch) == (i, node.epoch)]
            if not knows or 2 * len(voted) <= len(voters):
                return False
        if node.leader and node.hw == len(after.committed):
            held = [v for v in able if v.log[: node.hw] == after.committed]
            commits.append(knows and 2 * len(held) > len(voters))
    return after.committed == before.committed or any(commits)


def joined_once(rules: Rules, before: World, after: World) -> bool:
    """Where a leader has appended a voter set, who was a voter and is one has the directory that it had."""
    for i, (was, now) in enumerate(zip(before.nodes, after.nodes, strict=True)):
        if was.leader and now.leader and len(now.log) > len(was.log) and now.log[-1][0] == "voters":
            old, new = voter_set(rules, before, i), voter_set(rules, after, i)
            if any(old[v] not in (None, new[v]) for v in old.keys() & new.keys()):
                return False
    return True


def promises_of_steps(rules: Rules) -> dict[str, Callable[[World, World], bool]]:
    """Those that can be asked under the rules."""
    can_change = {"RemovedVotersDecideNothing": decided_by_voters} if rules.changes else {}
    can_join = {"NobodyJoinsTwice": joined_once} if rules.changes and rules.formats else {}
    return {name: partial(keeps, rules) for name, keeps in (can_change | can_join).items()}


def explore(rules: Rules) -> tuple[list[int], dict[str, int]]:
    """How many states are new at each level, and for each promise that breaks the first level at which it does."""
    return by_levels(beginning(rules), partial(steps, rules), PROMISES, promises_of_steps(rules))
