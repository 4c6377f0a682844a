"""Writing results: alone, and sent again without an answer, or in a transaction with the offset of the input.

Sources: KIP-98, KIP-447, `KafkaProducer.sendOffsetsToTransaction`; what brokers promise of a transaction is asked of
`transactions`.
"""

from __future__ import annotations

from acked.model.delivery import settings
from acked.model.delivery.grouping import GROUP, forget_record, is_owner
from acked.model.delivery.state import ADDED, COMMITTED, DONE, GOT, NONE, OPEN, PREPARED, Input, Member, State
from acked.model.language.action import action, require
from acked.model.language.quantify import each, every, ite, truth
from acked.model.language.telling import Fault, Role, Telling, Tells
from acked.model.language.values import Bool

BROKERS = Role("brokers")
COORDINATOR = Role("transaction coordinator")


def _marker(result: str, receiver: Role = BROKERS) -> Tells:
    return Tells(COORDINATOR, receiver, f"WriteTxnMarkers: {result}")


def write_result(s: State, of: Input, is_copy: Bool | bool = False) -> None:
    """Consumers of the results get that of an input once more, unless it is a copy of what is there."""
    times = s.written[of]
    s.written[of] = ite(is_copy | (times == 2), times, times + 1)


# -- without transactions ----------------------------------------------------------------------------------------------


def may_process(s: State, m: Member) -> Bool:
    """It has a record in hand whose result is due."""
    return s.member[m].stage == (COMMITTED if settings.commits.value == settings.BEFORE else GOT)


def _is_copy(s: State, m: Member) -> Bool:
    """The brokers have the result of this very producer already, and see that it is the same."""
    return s.member[m].sent if settings.idempotence.on and settings.resends.on else truth(False)


def _says_result(t: Telling) -> str:
    record = t.before.member[t.member].record
    text = f"member {t.member} processes input {record}"
    if getattr(t.before.member[t.member], "sent", False):
        text = f"member {t.member} sends the result of input {record} again"
        if t.before.written[record] == t.after.written[record]:
            return f"{text}, which is there already"
    times = t.after.written[record]
    return f"{text}; its result is written" + (" once more" if times > 1 else "")


def _result_text(t: Telling) -> str:
    return f"Produce: result of {t.before.member[t.member].record}"


@action(
    says=_says_result, when=lambda: not settings.transacts.on, actor="member",
    messages=(Tells("member", BROKERS, _result_text), Tells(BROKERS, "member", "ack")),
)
def process(s: State, member: Member) -> None:
    """A member processes its record, and the result is written and acknowledged."""
    require("a result is due", may_process(s, member))
    write_result(s, s.member[member].record.value, _is_copy(s, member))
    if settings.commits.value == settings.AFTER:
        s.member[member].stage = DONE
        s.member[member].sent = False
    else:
        forget_record(s, member)


@action(
    says=lambda t: f"{_says_result(t)}, and the answer is lost",
    when=lambda: settings.resends.on,
    actor="member", fault=Fault.LOST, messages=(Tells("member", BROKERS, _result_text),),
)
def process_unanswered(s: State, member: Member) -> None:
    """A member processes its record and the result is written; the answer is lost, and the producer will send it again."""
    require("a result is due", may_process(s, member))
    write_result(s, s.member[member].record.value, _is_copy(s, member))
    s.member[member].sent = True


# -- in a transaction --------------------------------------------------------------------------------------------------


def end_txn(s: State, m: Member) -> None:
    """Nothing of the member's transaction is left."""
    txn = s.txn[m]
    txn.stage = NONE
    txn.result = None
    txn.offset = None


def _says_initialised(t: Telling) -> str:
    aborted = [str(m) for m, txn in enumerate(t.before.txn) if txn.stage != t.after.txn[m].stage]
    what = f"; the open transaction of member {aborted[0]} is aborted" if aborted else ""
    return f"the producer of member {t.member} is initialised{what}"


@action(
    says=_says_initialised, when=lambda: settings.transacts.on, actor="member",
    messages=(Tells("member", COORDINATOR, "InitProducerId"), Tells(COORDINATOR, "member", "initialised")),
)
def initialise(s: State, member: Member) -> None:
    """Whoever had the id before is fenced: what is open is aborted, and what is decided has to be over."""
    mine = s.member[member]
    require("believes to have the partition", mine.assigned)
    require("is not initialised", ~mine.initialised)
    require("does not know where to go on", mine.position.is_none)
    if settings.ids.value == settings.PER_PARTITION:
        require("no transaction in its markers", every(Member, lambda m: s.txn[m].stage != PREPARED))
        for m in each(Member):
            end_txn(s, m)
            s.member[m].initialised = m == member
    else:
        require("no transaction in its markers", s.txn[member].stage != PREPARED)
        end_txn(s, member)
        mine.initialised = True


@action(
    says=lambda t: f"member {t.member} begins a transaction, processes input {t.before.member[t.member].record}, and writes "
    "its result",
    when=lambda: settings.transacts.on, actor="member",
    messages=(Tells("member", BROKERS, _result_text), Tells(BROKERS, "member", "ack")),
)
def process_in_txn(s: State, member: Member) -> None:
    """A member begins a transaction and writes the result of its record into it."""
    mine, txn = s.member[member], s.txn[member]
    require("has a record", mine.stage == GOT)
    require("was not fenced", mine.initialised)
    require("the transaction before is over", txn.stage == NONE)
    txn.stage = OPEN
    txn.result = mine.record
    mine.stage = DONE


@action(
    says=lambda t: f"member {t.member} adds offset {t.after.txn[t.member].offset} to its transaction",
    when=lambda: settings.transacts.on, actor="member",
    messages=(Tells("member", GROUP, lambda t: f"TxnOffsetCommit: {t.after.txn[t.member].offset}"),),
)
def add_offset(s: State, member: Member) -> None:
    """A member adds the offset after its record to the transaction; the group refuses one of a generation that is over."""
    mine, txn = s.member[member], s.txn[member]
    require("its result is written", mine.stage == DONE)
    require("was not fenced", mine.initialised)
    require("its transaction is open", txn.stage == OPEN)
    if settings.group_metadata.on:
        require("is the partition's owner", is_owner(s, member))
    txn.offset = mine.position
    mine.stage = ADDED


@action(
    says=lambda t: f"member {t.member} commits its transaction, which is decided with that",
    when=lambda: settings.transacts.on, actor="member",
    messages=(Tells("member", COORDINATOR, "EndTxn: COMMIT"), Tells(COORDINATOR, "member", "done")),
)
def commit_txn(s: State, member: Member) -> None:
    """A member commits, and is told that it did; the markers are still to be written."""
    mine, txn = s.member[member], s.txn[member]
    require("its offset is added", mine.stage == ADDED)
    require("was not fenced", mine.initialised)
    require("its transaction is open", txn.stage == OPEN)
    txn.stage = PREPARED
    forget_record(s, member)


@action(
    says=lambda t: f"member {t.member} aborts, and will ask for its offset again",
    when=lambda: settings.transacts.on, actor="member", messages=(Tells("member", COORDINATOR, "EndTxn: ABORT"),),
)
def abort_txn(s: State, member: Member) -> None:
    """A member aborts its transaction, if it is still open, and reads again from the committed offset."""
    mine, txn = s.member[member], s.txn[member]
    require("its result is written", (mine.stage == DONE) | (mine.stage == ADDED))
    require("was not fenced", mine.initialised)
    require("its transaction is open", txn.stage == OPEN)
    end_txn(s, member)
    forget_record(s, member)
    mine.position = None


@action(
    says=lambda t: f"the open transaction of member {t.member} takes too long, and is aborted; the member is fenced",
    when=lambda: settings.transacts.on, actor=COORDINATOR, fault=Fault.UNHEARD, messages=(_marker("ABORT"),),
)
def time_out(s: State, member: Member) -> None:
    """transaction.timeout.ms is over: the transaction is aborted and its producer fenced; the application starts anew."""
    require("its transaction is open", s.txn[member].stage == OPEN)
    end_txn(s, member)
    s.member[member].initialised = False


def _end_if_marked(s: State, m: Member) -> None:
    txn = s.txn[m]
    txn.stage = ite(txn.result.is_none & txn.offset.is_none, NONE, txn.stage)


@action(
    says=lambda t: f"the result of input {t.before.txn[t.member].result} is readable"
    + (" once more" if t.after.written[t.before.txn[t.member].result] > 1 else ""),
    when=lambda: settings.transacts.on, actor=BROKERS, messages=(_marker("COMMIT"),),
)
def mark_result(s: State, member: Member) -> None:
    """The marker is written where the result is."""
    txn = s.txn[member]
    require("is decided", txn.stage == PREPARED)
    require("has no marker here", txn.result.is_some)
    write_result(s, txn.result.value)
    txn.result = None
    _end_if_marked(s, member)


@action(
    says=lambda t: f"the group's committed offset is {t.after.committed}",
    when=lambda: settings.transacts.on, actor=GROUP, messages=(_marker("COMMIT", GROUP),),
)
def mark_offset(s: State, member: Member) -> None:
    """The marker is written where the offset is."""
    txn = s.txn[member]
    require("is decided", txn.stage == PREPARED)
    require("has no marker here", txn.offset.is_some)
    s.committed = txn.offset.value
    txn.offset = None
    _end_if_marked(s, member)
