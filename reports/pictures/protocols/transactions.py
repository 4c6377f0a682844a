"""The picture of `transactions`: the instances of the application, the coordinator, partitions with records and markers.

Everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a part that the
configuration turns off has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from acked.model.language.context import resolve
from acked.model.language.protocol import Instance
from acked.model.language.telling import says_list, says_set
from acked.model.transactions.protocol import transactions
from acked.model.transactions.settings import log_size
from acked.model.transactions.state import Fate, Phase
from acked.model.transactions.words import COORDINATOR, GROUP, holds_offsets, result
from acked.reports.pictures.picture import (
    Badge,
    Box,
    Cell,
    Explained,
    Fact,
    Look,
    Marker,
    MarkerKind,
    Moment,
    Picture,
    Pictures,
    Row,
    Sign,
    State,
    Tone,
)

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
FATES = ("unbegun", "open", "committing", "committed", "aborting", "aborted")


def outcomes(state: State, partition: int) -> list[bool | None]:
    """For every offset of a partition: how the transaction that its record stands in ended there; None if it did not."""
    ended: list[bool | None] = []
    end: bool | None = None
    for entry in reversed(state["log"][partition]["records"]):
        end = entry["commits"] if entry["txn"] is None else end
        ended.append(end)
    return ended[::-1]


def _endings(state: State, commits: bool) -> Iterator[tuple[int, int]]:
    """(partition, transaction) of every record whose transaction ended so in its partition."""
    for p, log in enumerate(state["log"]):
        for entry, ended in zip(log["records"], outcomes(state, p), strict=True):
            if entry["txn"] is not None and ended is commits:
                yield p, entry["txn"]


# -- rows and boxes ------------------------------------------------------------------------------------------------


def _cells(state: State, partition: int, offsets: int) -> tuple[Cell, ...]:
    log, ended, lso = state["log"][partition], outcomes(state, partition), state["partition"][partition]["lso"]

    def cell(offset: int) -> Cell:
        if offset >= log["end"]:
            return Cell(offset, None, None)
        entry = log["records"][offset]
        label = result(entry["commits"]) if entry["txn"] is None else _written_text(state, entry["txn"], partition)
        return Cell(offset, label, None, offset < lso, entry["txn"] is not None and bool(ended[offset]))

    return tuple(map(cell, range(offsets)))


def _are_offsets(state: State, partition: int) -> bool:
    return holds_offsets(state["txn"], state["log"], partition)


def _written_text(state: State, txn: int, partition: int) -> str:
    """What a transaction writes to a partition: its record, or the offset after its input."""
    return f"→{state['txn'][txn]['input'] + 1}" if _are_offsets(state, partition) else f"r{txn}"


def _committed_offset(state: State) -> int:
    last = len(state["log"]) - 1
    ended = zip(state["log"][last]["records"], outcomes(state, last), strict=True)
    valid = [entry["txn"] for entry, how in ended if entry["txn"] is not None and how]
    return state["txn"][valid[-1]]["input"] + 1 if valid else 0


def _late(state: State, kind: str) -> Any:
    return state.get("late", {}).get(kind, {})


def _badges(state: State, partition: int) -> Iterator[Badge]:
    mine = state["partition"][partition]
    if mine["epoch"] < 0:
        yield Badge("epoch", "knows no epoch", Tone.ABSENT)
    else:
        yield Badge("epoch", f"knows epoch {mine['epoch']}")
    if mine["lso"] < state["log"][partition]["end"]:
        is_known = partition in state["coordinator"]["partitions"]
        yield Badge("open", "transaction open", Tone.PENDING) if is_known else Badge("open", "transaction hangs", Tone.WRONG)
    if partition in state["coordinator"]["awaiting"]:
        yield Badge("awaiting", "is to get a marker", Tone.PENDING)
    if mine.get("verifying"):
        yield Badge("verifying", "asks the coordinator", Tone.PENDING)
    produce, marker = _late(state, "produce"), _late(state, "marker")
    if produce.get("txn") is not None and produce["partition"] == partition:
        is_verified = ", verified" if produce.get("verified") else ""
        what = _written_text(state, produce["txn"], partition)
        yield Badge("late", f"late {what} (epoch {produce['epoch']}{is_verified}) on its way", Tone.ASIDE)
    if marker.get("partition") == partition:
        text = f"late {result(marker['commits'])} marker (epoch {marker['epoch']}) on its way"
        yield Badge("late marker", text, Tone.ASIDE)


def _wrongs(state: State, partition: int) -> Iterator[Badge]:
    """What a consumer gets here and should not, or should and does not; of a torn transaction both halves are named."""
    shown, hidden = set(_endings(state, True)), set(_endings(state, False))
    for n, txn in enumerate(state["txn"]):
        what, fate = _written_text(state, n, partition), txn["fate"]
        is_torn = any(m == n for _, m in shown) and any(m == n for _, m in hidden)
        if (partition, n) not in shown | hidden:
            continue
        word = "readable" if (partition, n) in shown else "aborted"
        is_wrong = fate not in (Fate.COMMITTING, Fate.COMMITTED) if word == "readable" else fate == Fate.COMMITTED
        if is_torn or is_wrong:
            yield Badge(f"transaction {n}", f"torn: {what} {word}" if is_torn else f"{what} wrongly {word}", Tone.WRONG)


def _row(state: State, partition: int, offsets: int) -> Row:
    end, lso = state["log"][partition]["end"], state["partition"][partition]["lso"]
    return Row(
        key=str(partition),
        name=f"partition {partition}{' (offsets)' if _are_offsets(state, partition) else ''}",
        cells=_cells(state, partition, offsets),
        markers=(
            Marker(MarkerKind.OTHER, "LSO", lso),
            Marker(MarkerKind.HIGH_WATERMARK, "high watermark", end),
            Marker(MarkerKind.LOG_END, "log end", end),
        ),
        badges=(*_wrongs(state, partition), *_badges(state, partition)),
    )


def _coordinator(state: State) -> Box:
    mine = state["coordinator"]
    facts = [
        Fact("state", STATES[mine["state"]]),
        Fact("epoch", "no producer epoch" if mine["epoch"] < 0 else f"producer epoch {mine['epoch']}"),
    ]
    if mine["partitions"]:
        facts.append(Fact("partitions", f"partitions {says_set(mine['partitions'])}"))
    if mine["awaiting"]:
        facts.append(Fact("awaiting", f"no marker yet in {says_set(mine['awaiting'])}"))
    if mine.get("coordinator_epoch"):
        facts.append(Fact("moved", f"coordinator epoch {mine['coordinator_epoch']}"))
    facts += [Fact(kind, f"{text} on its way") for kind, text in _late_to_coordinator(state)]
    return Box(COORDINATOR.name, COORDINATOR.name, None, tuple(facts))


def _group(state: State) -> Iterator[Box]:
    """The group's coordinator, where there is an input."""
    if "input" in state["txn"][0]:
        yield Box(GROUP.name, GROUP.name, None, (Fact("offset", f"committed offset {_committed_offset(state)}"),))


def _late_to_coordinator(state: State) -> Iterator[tuple[str, str]]:
    init, add, end = (_late(state, kind) for kind in ("init", "add", "end"))
    if init.get("sender") is not None:
        yield "late init", f"late InitProducerId of producer {init['sender']}"
    if add.get("txn") is not None:
        yield "late add", f"late AddPartitionsToTxn of transaction {add['txn']} (epoch {add['epoch']})"
    if end.get("txn") is not None:
        yield "late end", f"late {result(end['commits'])} of transaction {end['txn']} (epoch {end['epoch']})"


def _producer(state: State, number: int) -> Box:
    mine = state["producer"][number]
    name = f"producer {number}"
    place = [Fact("position", f"goes on at offset {mine['position']}")] if mine.get("position") is not None else []
    if mine["phase"] == Phase.NEW:
        return Box(name, name, None, (Fact("phase", "not initialised"), *place))
    facts = [Fact("epoch", f"epoch {mine['epoch']}"), *place]
    if mine["phase"] == Phase.BUMPING:
        facts.append(Fact("phase", "asks for another epoch"))
    if mine["phase"] == Phase.IN_TXN:
        facts.append(Fact("phase", f"in transaction {mine['txn']}"))
        for word in ("added", "unanswered", "acked"):
            if mine.get(word):
                facts.append(Fact(word, f"{word} {says_set(mine[word])}"))
    for n, txn in enumerate(state["txn"]):
        if txn["owner"] == number:
            reads = f" (input {txn['input']})" if "input" in txn else ""
            facts.append(Fact(f"transaction {n}", f"transaction {n}{reads}: {FATES[txn['fate']]}"))
    return Box(name, name, None, tuple(facts))


# -- what exactly violates a property -------------------------------------------------------------------------------


def _not_atomic(state: State) -> Iterator[str]:
    hidden = set(_endings(state, False))
    for n, txn in enumerate(state["txn"]):
        if txn["fate"] == Fate.COMMITTED:
            for p, log in enumerate(state["log"]):
                if (p, n) in hidden:
                    yield f"transaction {n} was committed, and its record in partition {p} is aborted"
                elif all(entry["txn"] != n for entry in log["records"]):
                    yield f"transaction {n} was committed, and partition {p} does not have its record"


def _aborted_read(state: State) -> Iterator[str]:
    for p, n in _endings(state, True):
        if state["txn"][n]["fate"] == Fate.ABORTED:
            yield f"transaction {n} was aborted, and its record in partition {p} is readable"


def _torn(state: State) -> Iterator[str]:
    shown, hidden = set(_endings(state, True)), set(_endings(state, False))
    for n in range(len(state["txn"])):
        ways = [[str(p) for p, txn in sorted(found) if txn == n] for found in (shown, hidden)]
        if all(ways):
            shown_in, hidden_in = map(says_list, ways)
            yield f"transaction {n} is readable in partition {shown_in} and aborted in partition {hidden_in}"


def _foreign_records(state: State) -> Iterator[str]:
    for p, n in sorted(set(_endings(state, True))):
        if state["txn"][n]["fate"] not in (Fate.COMMITTING, Fate.COMMITTED):
            yield f"r{n} is readable in partition {p}, and nobody asked to commit transaction {n}"


def _twice(state: State) -> Iterator[str]:
    found = list(_endings(state, True))
    for p, n in sorted({item for item in found if found.count(item) > 1}):
        yield f"r{n} is readable {found.count((p, n))} times in partition {p}"


def _hangs(state: State) -> Iterator[str]:
    for p, mine in enumerate(state["partition"]):
        if mine["lso"] < state["log"][p]["end"] and p not in state["coordinator"]["partitions"]:
            yield f"a transaction is open in partition {p}, and the coordinator knows of none: nobody will end it"


def _input_twice(state: State) -> Iterator[str]:
    shown = sorted({(p, n) for p, n in _endings(state, True) if not _are_offsets(state, p)})
    for p, n in shown:
        for m in (m for q, m in shown if q == p and m > n and state["txn"][m]["input"] == state["txn"][n]["input"]):
            yield f"r{n} and r{m} are readable in partition {p}, and both were made of input {state['txn'][n]['input']}"


def _input_lost(state: State) -> Iterator[str]:
    hidden = set(_endings(state, False))
    results = [p for p in range(len(state["log"])) if not _are_offsets(state, p)]
    there = {(p, entry["txn"]) for p in results for entry in state["log"][p]["records"]} - hidden
    for k in range(_committed_offset(state)):
        if not any(txn["input"] == k and all((p, n) in there for p in results) for n, txn in enumerate(state["txn"])):
            yield f"the group's offset is {_committed_offset(state)}, and what was made of input {k} is nowhere"


def _zombie_records(before: State, after: State) -> Iterator[str]:
    was = set(_endings(before, True))
    for p, n in sorted(set(_endings(after, True)) - was):
        owner = before["txn"][n]["owner"]
        if owner is None or before["producer"][owner]["phase"] == Phase.NEW:
            continue
        mine = before["producer"][owner]["epoch"]
        for j, other in enumerate(before["producer"]):
            if other["phase"] != Phase.NEW and other["epoch"] > mine:
                yield f"producer {j} was initialised, and now r{n} of producer {owner} is readable in partition {p}"


_IN_STATE: dict[str, Callable[[State], Iterator[str]]] = {
    "AtomicTransactions": _not_atomic,
    "NoAbortedRead": _aborted_read,
    "NoTornTransaction": _torn,
    "NoRecordOfAnother": _foreign_records,
    "NoDuplicates": _twice,
    "NoHangingTransaction": _hangs,
    "NoInputTwice": _input_twice,
    "NoInputLost": _input_lost,
}
_IN_STEP: dict[str, Callable[[State, State], Iterator[str]]] = {"ZombieFenced": _zombie_records}


class TransactionsPictures(Pictures):
    """The provider of `transactions`."""

    protocol = transactions
    beginning = "initially every log is empty, and nobody is initialised"
    in_state = _IN_STATE
    in_step = _IN_STEP
    look = Look(
        row="partition",
        legend=(
            Explained(Sign.RECORD, "record of transaction 0", "r0"),
            Explained(Sign.ACKED, "readable in read_committed"),
            Explained(Sign.LOG_END, "log end"),
            Explained(Sign.HIGH_WATERMARK, "high watermark"),
        ),
        first_badge=len("knows no epoch"),
    )

    def tells(self, field: str) -> bool:
        """The picture shows all but sequence numbers, and by whom a request names its sender."""
        return not any(part in field for part in ("seq", "last_epoch", "is_spent"))

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, None]:
        """The picture of a moment; nothing has to be remembered."""
        state = moment.after
        offsets = resolve(log_size, instance.constants)
        rows = tuple(_row(state, p, offsets) for p in range(len(state["log"])))
        producers = [_producer(state, i) for i in range(len(state["producer"]))]
        boxes = (*producers, _coordinator(state), *_group(state))
        return Picture(rows, boxes, (*(box.name for box in boxes), *(row.name for row in rows))), None


TRANSACTIONS = TransactionsPictures()
