"""The promises of `coordinator`: what consumers and transactional producers are told of committed offsets.

Floor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from acked.base.frozen import frozen
from acked.invariants.property import Property, promise
from acked.model.coordinator.common import (
    Offsets,
    agree_until,
    is_owner,
    leads,
    leads_newest,
    newest_offsets,
    offsets_of,
    tells,
)
from acked.model.coordinator.settings import (
    appends_in_own_epoch,
    applies_markers_first,
    asks,
    batches,
    duties_in_order,
    expiry,
    holds_back,
    listens_as_leader,
    loads_whole_log,
    lost_disks,
    max_epoch,
    own_load_only,
    queues_requests,
    some_rebalances,
    transactions,
    unclean,
)
from acked.model.coordinator.state import (
    ABORTING,
    ACTIVE,
    COMMITTED,
    COMMITTING,
    GENERATION,
    IN_TXN,
    LOADING,
    MARKED_ABORT,
    MARKED_COMMIT,
    NO_TXN,
    Broker,
    Entry,
    Epoch,
    Offset,
    State,
)
from acked.model.language.quantify import every, implies, ite, some, truth
from acked.model.language.storage.views import LogView
from acked.model.language.values import Bool

_SINCE = (
    "4.2.2, 4.3.1 and 4.4 but for rows 96 and 114 of the gallery, with clean elections, as long as one replica in sync keeps "
    "its disk"
)
_OFFSETS = "the documentation, Distribution: consumer offset tracking"


@promise(
    "a commit that was acknowledged, or a later one, is what the next owner of the group reads",
    f"{_OFFSETS}; OffsetFetch with requireStable (KIP-447)",
    _SINCE,
)
def acknowledged_commits_survive(s: State) -> Bool:
    """An active coordinator on the newest leader has a commit in memory that is no older than the last acknowledged one."""

    def has(r: Broker) -> Bool:
        offsets = newest_offsets(s, r)
        return (offsets.value >= s.acked) | (offsets.pending > 0)

    return every(Broker, lambda r: implies(is_owner(s, r), has(r)))


@promise(
    "a fetch of offsets that does not require stable ones returns no older offset than was acknowledged",
    "OffsetFetch without requireStable, which reads what the coordinator knows to be committed",
    "no release from 4.0 on",
    lacks=lambda has: "" if has["queues_requests"] else "before 4.0 such a fetch reads what is loaded; set queues_requests",
)
def plain_fetches_are_current(s: State) -> Bool:
    """What an active coordinator on the newest leader knows to be committed is no older than what was acknowledged."""

    def has(r: Broker) -> Bool:
        return offsets_of(s, r, s.broker[r].committed).value >= s.acked

    return every(Broker, lambda r: implies(is_owner(s, r), has(r)))


@promise(
    "an aborted transaction's offsets are never used",
    "KIP-98, KIP-447",
    "3.9.1",
    lacks=lambda has: "" if has["transactions"] else "there is no transaction; set transactions",
)
def aborted_offsets_are_unused(s: State) -> Bool:
    """No active coordinator has the offset in use that was aborted last."""

    def uses(r: Broker) -> Bool:
        return (s.broker[r].phase == ACTIVE) & (s.aborted > 0) & (newest_offsets(s, r).value == s.aborted)

    return every(Broker, lambda r: ~uses(r))


@promise(
    "a member whose partition was given to another cannot commit under its former generation",
    "KIP-848; ILLEGAL_GENERATION, STALE_MEMBER_EPOCH",
    _SINCE,
    lacks=lambda has: "" if has["rebalances"] else "the group never rebalances; set rebalances",
)
def replaced_owners_are_fenced(s: State) -> Bool:
    """An active coordinator on the newest leader knows the newest generation that a member knows."""
    return every(Broker, lambda r: implies(is_owner(s, r), newest_offsets(s, r).generation >= s.generation))


@promise(
    "the owners of a group, one after the other, act as one that never fails: a consumer is told the last commit that counts "
    "or a later one, none older than was told before and none that was aborted, and who was replaced commits no more",
    "what `delivery` takes for granted of its group; OffsetFetch with requireStable (KIP-447)",
    _SINCE,
    lacks=lambda has: "" if has["asks"] and not has["expiry"] else "nobody asks, or offsets expire; set asks, without expiry",
)
def group_acts_as_one(s: State) -> Bool:
    """Who tells a stable offset tells none older than was acknowledged or told, none aborted, and knows the generation."""

    def is_right(r: Broker) -> Bool:
        offsets = newest_offsets(s, r)
        right = (offsets.value >= s.acked) & (offsets.value >= s.told)
        if transactions.on:
            right = right & ((s.aborted == 0) | (offsets.value != s.aborted))
        return right & (offsets.generation >= s.generation) if some_rebalances.on else right

    return every(Broker, lambda r: implies(tells(s, r), is_right(r)))


@promise(
    "loading ends: a leader of the partition whose loads are over answers",
    "COORDINATOR_LOAD_IN_PROGRESS is a retriable error",
    "2.8.1, 3.0 and later",
)
def loading_ends(s: State) -> Bool:
    """On the newest leader the coordinator is active once it was told of all epochs and no load is under way."""

    def has_settled(r: Broker) -> Bool:
        mine = s.broker[r]
        return leads_newest(s, r) & every(Epoch, lambda e: ~mine.duties[e] & ~mine.loads[e])

    return every(Broker, lambda r: implies(has_settled(r), s.broker[r].phase == ACTIVE))


PROPERTIES: tuple[Property, ...] = (
    acknowledged_commits_survive, plain_fetches_are_current, aborted_offsets_are_unused, replaced_owners_are_fenced,
    group_acts_as_one, loading_ends,
)  # fmt: skip
"""Every promise of the protocol."""


# -- lemmas -----------------------------------------------------------------------------------------------------------

_LOG = "KIP-101, KIP-279: what is below a high watermark is on every replica in sync"
_RUNTIME = "CoordinatorRuntime"
_REPLAY = "OffsetMetadataManager.replay"
_RULES = (listens_as_leader, own_load_only, duties_in_order, queues_requests, loads_whole_log)
"""The rules that every lemma rests on, as the newest brokers have them but for the second."""


@frozen
class _Copy:
    """Records to replay: a broker's log, or what its coordinator has in memory."""

    state: State
    broker: Broker
    is_log: bool

    @property
    def records(self) -> LogView[Entry, Offset]:
        return self.state.log[self.broker] if self.is_log else self.state.view[self.broker]

    def has(self, until: Offset, is_it: Callable[[Entry], Bool]) -> Bool:
        """Whether there is such a record below an offset."""
        return some(Offset, lambda o: (o < until) & self.records.has(o) & is_it(self.records.at(o)))

    def replayed(self, until: Offset) -> Offsets:
        return offsets_of(self.state, self.broker, until, self.is_log)

    def after(self, o: Offset, holds: Callable[[Offset, Offsets], Bool]) -> Bool:
        """Something holds of whatever is replayed with the record at an offset."""
        end = self.records.end
        return every(Offset, lambda until: implies((until > o) & (until <= end), holds(until, self.replayed(until))))


def _of_copies(s: State, holds: Callable[[_Copy, Offset, Entry], Bool]) -> Bool:
    """Something holds of every record in logs and memories."""

    def of(copy: _Copy) -> Bool:
        return every(Offset, lambda o: implies(copy.records.has(o), holds(copy, o, copy.records.at(o))))

    return every(Broker, lambda b: of(_Copy(s, b, is_log=True)) & of(_Copy(s, b, is_log=False)))


def _counts(entry: Entry) -> Bool:
    """Who replays the record goes on from its offset."""
    counts = entry.kind == COMMITTED
    return counts | (entry.kind == MARKED_COMMIT) if transactions.on else counts


def _has_all(s: State, r: Broker) -> Bool:
    """The replica is in sync, or one that is fetches from it, because neither knows of the elections since."""

    def fetches(f: Broker) -> Bool:
        return s.isr.contains(f) & (s.broker[f].epoch == s.broker[r].epoch)

    return s.isr.contains(r) | (leads(s, r) & some(Broker, fetches))


def _is_held(s: State, is_it: Callable[[Entry], Bool]) -> Bool:
    """Whoever has to have all that counts has such a record in its log."""
    return every(Broker, lambda r: implies(_has_all(s, r), _Copy(s, r, is_log=True).has(s.log[r].end, is_it)))


@promise("every epoch has a leader, the newest one in sync, and brokers know of no later epoch", _LOG, _SINCE)
def epochs_have_leaders(s: State) -> Bool:
    """Epoch 0, which nobody knows, has none."""

    def knows(b: Broker) -> Bool:
        return (s.broker[b].epoch <= s.epoch) & implies(s.leader[s.epoch] == b, s.isr.contains(b))

    return every(Epoch, lambda e: s.leader[e].is_some == ((e > 0) & (e <= s.epoch))) & every(Broker, knows)


@promise("what is below a high watermark is in the log of whoever may be elected", _LOG, _SINCE)
def committed_records_are_held(s: State) -> Bool:
    """And of the leaders that those still fetch from."""

    def is_held(b: Broker) -> Bool:
        hw = s.broker[b].hw
        return (hw <= s.log[b].end) & every(Broker, lambda r: implies(_has_all(s, r), agree_until(s, b, r, hw)))

    return every(Broker, is_held)


@promise("a leader's coordinator loads, has loaded, or is to be told to", _RUNTIME, _SINCE)
def leaders_load(s: State) -> Bool:
    """A coordinator is of an epoch that its broker led, and is told of the later ones that its broker knows, in order."""

    def loads(b: Broker) -> Bool:
        mine = s.broker[b]
        runs = (mine.phase == ACTIVE) | (mine.phase == LOADING)

        def is_known(e: Epoch) -> Bool:
            is_later = implies(runs & (s.leader[e] != b), e > mine.own)
            return implies(mine.duties[e], (e > 0) & (e <= mine.epoch) & is_later)

        has_none = every(Epoch, lambda e: ~mine.duties[e])
        is_of_epoch = (mine.own > 0) & (mine.own <= mine.epoch) & ((mine.phase == LOADING) == mine.loads[mine.own])
        is_begun = implies(leads(s, b), mine.duties[mine.epoch] | (has_none & runs))
        return every(Epoch, is_known) & is_begun & implies(runs, is_of_epoch)

    return every(Broker, loads)


@promise("a coordinator that hears of the high watermark has in memory what its log has", _RUNTIME, _SINCE)
def memory_is_the_log(s: State) -> Bool:
    """One that is active does hear of it, unless it is to be told that another led; one that is not has nothing."""

    def is_so(b: Broker) -> Bool:
        mine, log, view = s.broker[b], s.log[b], s.view[b]
        is_written = (mine.written == log.end) & ((mine.written <= view.end) if holds_back.on else mine.written == view.end)
        is_same = every(Offset, lambda o: implies(o < mine.written, log.same_record_at(view, o)))
        is_active = (mine.phase == ACTIVE) & leads(s, b)
        is_deposed = some(Epoch, lambda e: mine.duties[e] & (s.leader[e] != b))
        return implies(mine.listens, is_active & is_written & is_same & (mine.committed <= mine.hw)) & ite(
            mine.phase == ACTIVE, mine.listens | is_deposed, view.is_empty
        )

    return every(Broker, is_so)


@promise("of the commits in a log the last is the newest", _REPLAY, _SINCE)
def commits_ascend(s: State) -> Bool:
    """Whatever is replayed of a log or memory; nothing else is made of it, and what is there was sent."""

    def is_newest(copy: _Copy, o: Offset, entry: Entry) -> Bool:
        def holds(until: Offset, offsets: Offsets) -> Bool:
            found = implies(_counts(entry), entry.commit <= offsets.value)
            if asks.on:
                is_it = copy.has(until, lambda other: _counts(other) & (other.commit == offsets.value))
                found = found & ((offsets.value == 0) | is_it)
            if some_rebalances.on:
                found = found & implies(entry.kind == GENERATION, entry.generation <= offsets.generation)
            return found

        return (entry.commit <= s.sent) & copy.after(o, holds)

    return _of_copies(s, is_newest)


@promise("a marker ends the transaction whose offset is pending, as it was decided, and nothing else does", _REPLAY, _SINCE)
def markers_end_what_is_pending(s: State) -> Bool:
    """Nothing that was aborted is committed; what is committed was acknowledged to be there."""
    if not transactions.on:
        return truth(True)
    is_open = s.txn != NO_TXN

    def is_decided(copy: _Copy, o: Offset, entry: Entry) -> Bool:
        begins, commits, aborts = entry.kind == IN_TXN, entry.kind == MARKED_COMMIT, entry.kind == MARKED_ABORT
        is_its, was_aborted = is_open & (entry.commit == s.txn_commit), (s.aborted > 0) & (entry.commit == s.aborted)

        def is_ended(until: Offset, offsets: Offsets) -> Bool:
            is_marked = copy.has(until, lambda other: (other.kind != IN_TXN) & (other.commit == s.txn_commit))
            return implies(is_its & begins, (offsets.pending == s.txn_commit) | is_marked)

        return (
            implies(commits | aborts, copy.replayed(o).pending == entry.commit)
            & implies(is_its, begins | (commits & (s.txn == COMMITTING)) | (aborts & (s.txn == ABORTING)))
            & implies(was_aborted, begins | aborts)
            & copy.after(o, is_ended)
        )

    is_sent = (s.txn_commit > 0) & (s.txn_commit <= s.sent) & implies(s.aborted == s.txn_commit, s.txn == ABORTING)
    is_there = (s.aborted <= s.sent) & implies(s.txn == COMMITTING, s.txn_acked)
    return is_there & implies(is_open, is_sent) & _of_copies(s, is_decided)


@promise("what was acknowledged, told or heard of is in the log of whoever may be elected", _RUNTIME, _SINCE)
def acknowledged_is_held(s: State) -> Bool:
    """The last commit, the last one that a consumer was told, the newest generation, what is known to be in a transaction."""
    found = implies(s.acked > 0, _is_held(s, lambda entry: _counts(entry) & (entry.commit == s.acked)))
    if asks.on:
        found = found & implies(s.told > 0, _is_held(s, lambda entry: _counts(entry) & (entry.commit == s.told)))
    if some_rebalances.on:
        is_heard = _is_held(s, lambda entry: (entry.kind == GENERATION) & (entry.generation == s.generation))
        found = found & implies(s.generation > 0, is_heard)
    if transactions.on:
        is_in = _is_held(s, lambda entry: (entry.kind == IN_TXN) & (entry.commit == s.txn_commit))
        found = found & implies(s.txn_acked, (s.txn != NO_TXN) & is_in)
    return found


LEMMAS: tuple[Property, ...] = (
    epochs_have_leaders, committed_records_are_held, leaders_load, memory_is_the_log, commits_ascend,
    markers_end_what_is_pending, acknowledged_is_held,
)  # fmt: skip
"""What the promises are inductive with, those at the bottom first."""


def lemmas_of(properties: Iterable[Property], has: Mapping[str, int]) -> tuple[Property, ...] | None:
    """The lemmas of a configuration; None where no proof of one of the properties is known.

    There is none where offsets expire or a log loses what was committed, nor of a batch that is appended in a later epoch
    than its coordinator knows: that is behind commits which are newer, once there are three epochs.
    """
    rules = (*_RULES, applies_markers_first) if has[transactions.name] else _RULES
    lacks = any(not has[rule.name] for rule in rules)
    loses = has[unclean.name] or has[lost_disks.name] or has[expiry.name]
    appends_late = has[batches.name] and has[max_epoch.name] > 2 and not has[appends_in_own_epoch.name]
    if lacks or loses or appends_late:
        return None
    if any(item is plain_fetches_are_current for item in properties):
        return None
    return tuple(item for item in LEMMAS if has[transactions.name] or item is not markers_end_what_is_pending)
