"""Records and markers are appended, segments roll, the high watermark moves, another leader has less, and time passes.

Sources: `UnifiedLog.append`, `maybeRoll` and `truncateTo`, `ProducerStateManager`, `ProducerAppendInfo` of 4.3.1.
"""

from __future__ import annotations

from acked.model.compaction.common import BROKER, active_segment, has_open, is_data, is_open, is_there, offset
from acked.model.compaction.settings import lags, segment, ticks, tombstones, transactions
from acked.model.compaction.state import ABORT, COMMIT, TOMBSTONE, VALUE, WHOLE, Batch, Key, Kind, Offset, Producer, State
from acked.model.language.action import action, require
from acked.model.language.quantify import count, each, ite, least, named, smaller, some
from acked.model.language.telling import CLIENT, CONTROLLER, Role, Telling, Tells
from acked.model.language.values import Bool, OptionalValue

COORDINATOR = Role("transaction coordinator")


def _says_end(t: Telling) -> str:
    end = t.before.log.end
    return f"at offset {end}, in a new segment" if t.after.base[end] and not t.before.base[end] else f"at offset {end}"


def _append(s: State, kind: Kind, key: Key, producer: OptionalValue[Producer] | Producer | None, first: Offset) -> None:
    """Appends a batch, in a new segment if the active one is full (`LogSegment.shouldRoll`)."""
    require("the log has room", ~s.log.is_full)
    end = s.log.end
    begin = active_segment(s)
    is_full = count(Offset, lambda o: (o >= begin) & is_there(s, o)) >= segment.value
    s.base[end] = s.base[end] | is_full
    s.log.append(
        Batch(
            kind=kind, key=key, producer=producer, first=first, kept=WHOLE, indexed=kind == ABORT, horizon=None,
            written=s.now,
        )
    )  # fmt: skip


def _kind_of(deletes_it: Bool) -> Kind:
    if not tombstones.on:
        require("records have values", ~deletes_it)
    return ite(deletes_it, named(Kind, TOMBSTONE), named(Kind, VALUE))


def _record(t: Telling) -> str:
    return f"{'deletes' if t.deletes_it else 'writes'} key {t.key}"


@action(
    says=lambda t: f"a client {_record(t)}: a record without transaction is appended {_says_end(t)}", actor=CLIENT,
    messages=(Tells(CLIENT, BROKER, _record),),
)
def append(s: State, key: Key, deletes_it: Bool) -> None:
    """A record is appended that is in no transaction."""
    _append(s, _kind_of(deletes_it), key, None, offset(0))


@action(
    says=lambda t: f"producer {t.producer} {_record(t)} in a transaction: the record is appended {_says_end(t)}",
    when=lambda: transactions.on, actor="producer", messages=(Tells("producer", BROKER, _record),),
)
def append_in_txn(s: State, producer: Producer, key: Key, deletes_it: Bool) -> None:
    """A record is appended in a transaction, which it begins if none is open."""
    _append(s, _kind_of(deletes_it), key, producer, offset(0))
    s.known[producer] = True


def _marker(t: Telling) -> str:
    return "commits" if t.commits_it else "aborts"


@action(
    says=lambda t: f"the marker that {_marker(t)} the transaction of producer {t.producer} is appended {_says_end(t)}",
    when=lambda: transactions.on, actor=COORDINATOR, messages=(Tells(COORDINATOR, BROKER, _marker),),
)
def end_txn(s: State, producer: Producer, commits_it: Bool) -> None:
    """A marker ends a transaction; one that is aborted enters the transaction index (`UnifiedLog.append`)."""
    require("it has a transaction", has_open(s, producer))
    first = least(Offset, lambda o: (s.log.at(o).producer == producer) & is_open(s, o))
    _append(s, ite(commits_it, named(Kind, COMMIT), named(Kind, ABORT)), Key(Key.lift(0)), producer, first)


@action(says=lambda t: f"a new segment begins at offset {t.after.log.end}", actor=BROKER)
def roll(s: State) -> None:
    """The active segment is old enough (segment.ms)."""
    require("the active segment has batches", active_segment(s) < s.log.end)
    s.base[s.log.end] = True


@action(
    says=lambda t: f"replicas in sync have the log up to offset {t.to}: the high watermark", when=lambda: lags.on,
    actor=BROKER,
)
def advance(s: State, to: Offset) -> None:
    """The high watermark moves (`Partition.maybeIncrementLeaderHW`)."""
    require("it moves on", (to > s.hw) & (to <= s.log.end))
    s.hw = to


def has_records(s: State, p: Producer) -> Bool:
    """The log has a record of the producer's."""
    return some(Offset, lambda o: is_data(s.log.at(o)) & (s.log.at(o).producer == p))


@action(
    says=lambda t: f"another leader has less: the log is truncated to offset {t.to}", when=lambda: lags.on, actor=CONTROLLER,
)
def lose(s: State, to: Offset) -> None:
    """A replica in sync that has less leads, and what it has not is truncated (`UnifiedLog.truncateTo`)."""
    require("it has what is replicated", (to >= s.hw) & (to < s.log.end))
    for o in each(Offset):
        s.base[o] = s.base[o] & (o <= to)
    s.log.truncate(to)
    if transactions.on:
        for p in each(Producer):
            s.known[p] = s.known[p] & has_records(s, p)
    s.dirty = smaller(s.dirty, to)


@action(
    says=lambda t: f"producer {t.producer} does nothing for producer.id.expiration.ms, and the broker forgets it",
    when=lambda: transactions.on, actor="producer",
)
def forget(s: State, producer: Producer) -> None:
    """A producer that has done nothing for long is forgotten (`ProducerStateManager.removeExpiredProducers`)."""
    require("it is remembered", s.known[producer])
    require("it has no transaction", ~has_open(s, producer))
    s.known[producer] = False


@action(says=lambda t: f"time passes: it is {t.after.now}", when=lambda: ticks.value > 0, actor=BROKER)
def pass_time(s: State) -> None:
    """Time passes, of which delete.retention.ms is so much."""
    require("time is left", s.now < ticks.value)
    s.now = s.now + 1


