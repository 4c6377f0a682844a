"""How a run of `transactions` that was played is shown: in cells, in words, in pictures and in documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acked.base.errors import SpecUnreadable
from acked.cluster.playing.play import PlayedRun
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import State
from acked.cluster.reports.reproductions.parts import few, integer, integers, numbered_entries, part
from acked.cluster.reports.reproductions.presentation import Presentation
from acked.cluster.transacting.compare import TransactionView, model_view, name_of, text_of, view_of
from acked.cluster.transacting.driver import HANGS_FOR
from acked.cluster.transacting.promises import ABORTED, ASKED, COMMITTED, Answers, records_under
from acked.cluster.transacting.protocol import TRANSACTIONS
from acked.cluster.wire.records import LogEntry
from acked.cluster.wire.transactional import CoordinatorView, LedgerView
from acked.model.language.context import resolve
from acked.model.language.telling import says_list, says_set
from acked.model.transactions.settings import log_size
from acked.model.transactions.words import COORDINATOR
from acked.reports.pictures.picture import Box, Cell, Fact, Marker, MarkerKind, Picture, Row
from acked.reports.pictures.protocols.transactions import TRANSACTIONS as DRAWN

# -- cells -------------------------------------------------------------------------------------------------------------


def _heads(state: State) -> list[str]:
    return ["coordinator", *(f"partition {p}" for p in range(len(state["log"])))]


def _cells(seen: TransactionView) -> list[str]:
    members = f" {says_set(sorted(seen.partitions))}" if seen.partitions else ""
    logs = [f"{' '.join(one.log) or '-'} | lso {one.stable}" for one in seen.ledgers]
    return [f"{seen.state}{members}, epoch {seen.epoch}", *logs]


# -- words -------------------------------------------------------------------------------------------------------------


def seen_in_words(seen: TransactionView) -> list[str]:
    """A line for the coordinator, and one for each partition."""
    members = f", partitions {says_set(sorted(seen.partitions))}" if seen.partitions else ""
    lines = [f"coordinator: {seen.state}, producer epoch {seen.epoch}{members}"]
    for p, one in enumerate(seen.raw):
        log = " ".join(text_of(entry) for entry in one.entries) or "-"
        got = " ".join(text_of(entry) for entry in one.readable) or "nothing"
        hw = one.high_watermark
        lines.append(f"partition {p}: {log} | LSO {one.stable}, HW {hw}; a consumer in read_committed gets {got}")
    return lines


def end_in_words(played: PlayedRun[TransactionView, Answers], promise: str) -> str:
    """What has become of a promise, and of the transactions."""
    if not promise:
        return clients_in_words(played)
    if promise == "NoHangingTransaction" and played.is_broken(promise):
        return _hangs_in_words(played.last)
    word = {True: "does not hold", False: "holds", None: "was not decided"}[played.is_broken(promise)]
    return f"{promise} {word}: {clients_in_words(played)}"


def clients_in_words(played: PlayedRun[TransactionView, Answers]) -> str:
    """`transaction 1 was said to be committed, and its record is readable in partition 0 and aborted in partition 1`."""
    found, answers = [], played.answers
    for txn, what in sorted(answers.fates.items()):
        read = "" if answers.inputs is None else f", which read input {answers.inputs[txn]},"
        said = f"of transaction {txn}{read} the client {'has' if what == ASKED else 'was told that it is'} {what}"
        where = []
        for result, word in (("COMMIT", "readable"), ("ABORT", "aborted")):
            there = [p for p, one in enumerate(played.last.ledgers) if name_of(txn) in records_under(one.log, result)]
            where += [f"{word} in {_partitions(there)}"] if there else []
        found.append(f"{said}, and its record is {says_list(where)}" if where else f"{said}, and its record is in no log")
    return "; ".join(found) or "nobody was told anything"


def _partitions(numbers: list[int]) -> str:
    """`partition 0`, `partitions 0 and 1`."""
    return f"partition{'s' if len(numbers) > 1 else ''} {says_list([str(number) for number in numbers])}"


def _hangs_in_words(last: TransactionView) -> str:
    open_ones = [
        f"partition {p} stays open at LSO {one.stable} of {one.high_watermark}"
        for p, one in enumerate(last.raw)
        if one.stable < one.high_watermark and p not in last.partitions
    ]
    return (
        f"{says_list(open_ones)}, and the coordinator, {last.state}, knows of no transaction there "
        f"(seen for {HANGS_FOR:.0f} s)"
    )


# -- pictures ----------------------------------------------------------------------------------------------------------


def _painter(prepared: PreparedRun) -> Callable[[TransactionView, Answers], Picture]:
    offsets = resolve(log_size, prepared.question.instance.constants)

    def picture(seen: TransactionView, answers: Answers) -> Picture:
        facts = [Fact("state", seen.state), Fact("epoch", f"producer epoch {seen.epoch}")]
        if seen.partitions:
            facts.append(Fact("partitions", f"partitions {says_set(sorted(seen.partitions))}"))
        fates = [Fact(f"transaction {txn}", f"transaction {txn}: {fate}") for txn, fate in sorted(answers.fates.items())]
        boxes = (Box(COORDINATOR.name, COORDINATOR.name, None, tuple(facts)), Box("clients", "clients", None, tuple(fates)))
        return Picture(tuple(_row(seen, p, offsets) for p in range(len(seen.ledgers))), boxes, ())

    return picture


def _row(seen: TransactionView, p: int, offsets: int) -> Row:
    one = seen.ledgers[p]
    readable = records_under(one.log, "COMMIT")
    cells = [Cell(at, text, None, at < one.stable, text in readable) for at, text in enumerate(one.log)]
    cells += [Cell(at, None, None) for at in range(len(one.log), offsets)]
    marks = (Marker(MarkerKind.OTHER, "LSO", one.stable), Marker(MarkerKind.LOG_END, "log end", len(one.log)))
    return Row(str(p), f"partition {p}", None, tuple(cells), marks)


# -- documents ---------------------------------------------------------------------------------------------------------


def _answers_document(answers: Answers) -> dict[str, Any]:
    inputs = None if answers.inputs is None else {f"t{txn}": read for txn, read in answers.inputs.items()}
    return {"told": {f"t{txn}": fate for txn, fate in answers.fates.items()}, "inputs": inputs}


def _seen_document(seen: TransactionView, partitions: int) -> dict[str, Any]:
    return {
        "coordinator": {"state": seen.state, "epoch": seen.epoch, "partitions": sorted(seen.partitions)},
        "partitions": [
            {
                "log": [{"offset": entry.offset, "text": text_of(entry), "marker": entry.is_marker} for entry in one.entries],
                "last_stable_offset": one.stable,
                "high_watermark": one.high_watermark,
                "producer_epoch": one.epoch,
                "last_sequence": one.last_sequence,
                "read_committed": [text_of(entry) for entry in one.readable],
            }
            for one in seen.raw
        ],
    }


def _read_answers(document: Mapping[str, Any]) -> Answers:
    fates = numbered_entries(document, "told", "t", "a transaction")
    if not set(fates.values()) <= {COMMITTED, ABORTED, ASKED}:
        raise SpecUnreadable(f"not a reproduction: clients are told one of {COMMITTED}, {ABORTED} and {ASKED}")
    inputs = None
    if document.get("inputs") is not None:
        inputs = numbered_entries(document, "inputs", "t", "a transaction", int)
        if not fates.keys() <= inputs.keys():
            raise SpecUnreadable("not a reproduction: 'inputs' lacks that of a transaction")
    return Answers(fates, inputs)


def _read_seen(document: Mapping[str, Any], partitions: int) -> TransactionView:
    ledgers, coordinator = few(document, "partitions"), part(document, "coordinator", dict)
    if len(ledgers) != partitions:
        raise SpecUnreadable(f"not a reproduction: it tells of {len(ledgers)} partitions, and its trace has {partitions}")
    topics = tuple(map(str, range(partitions)))
    members = frozenset(map(str, integers(coordinator, "partitions")))
    view = CoordinatorView(part(coordinator, "state", str), integer(coordinator, "epoch"), members)
    return view_of(view, tuple(map(_read_ledger, ledgers)), topics)


def _read_ledger(document: Mapping[str, Any]) -> LedgerView:
    log = tuple(
        LogEntry(integer(entry, "offset"), -1, part(entry, "text", str), entry.get("marker") is True)
        for entry in few(document, "log", "records")
    )
    readable = tuple(LogEntry(-1, -1, str(text), False) for text in few(document, "read_committed"))
    keys = ("last_stable_offset", "high_watermark", "producer_epoch", "last_sequence")
    stable, mark, epoch, sequence = (integer(document, key) for key in keys)
    return LedgerView(log, stable, mark, epoch, sequence, readable)


TRANSACTIONS_SHOWN = Presentation(
    TRANSACTIONS, DRAWN.look, "Clients", Answers(), _heads, lambda state: _cells(model_view(state)),
    lambda seen, partitions: _cells(seen), clients_in_words, end_in_words, _painter, _answers_document, _seen_document,
    lambda played, judged: judged, _read_answers, _read_seen, seen_in_words,
)
