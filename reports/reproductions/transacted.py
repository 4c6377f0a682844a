"""Transactions played on real brokers: verdicts, in the terminal and as a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acked.cluster.releases.release import Mode
from acked.cluster.transacting.play import Played, Prepared, Reproduction, SeenStep
from acked.cluster.transacting.seen import ASKED, Seen, ended, name_of, text_of
from acked.invariants.property import Property
from acked.model.language.words import says_list, says_set
from acked.reports.console import glyphs_of, put, put_paragraph
from acked.reports.reproductions.verdict import Control, Ending, Judgement, ending_of_control, judge, verdict_in_words
from acked.reports.reproductions.words import MODES
from acked.reports.runs.view import steps_of

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = "acked-transactions-played/1"


@dataclass(frozen=True)
class Transacted:
    """A run that was played, the promise that it breaks (None: none), and its control, if there is one."""

    title: str
    promise: Property | None
    first: Reproduction
    control: Reproduction | None = None

    @property
    def name(self) -> str:
        """The promise's name, or nothing."""
        return "" if self.promise is None else self.promise.name

    @property
    def judgement(self) -> Judgement:
        """What the run says of the promise, and what its control does."""
        return judge(self.name, self.first.played, None if self.control is None else self.control.played)


def transacted_document(answer: Transacted, left_out: Mapping[str, str]) -> dict[str, Any]:
    """The answer as plain data."""
    found = answer.judgement
    return {
        "format": FORMAT,
        "title": answer.title,
        "property": answer.name or None,
        "verdict": found.verdict.value,
        "exit_code": int(found.exit_code),
        "control_keeps": None if found.control is None else found.control is Control.KEEPS,
        "not_in_the_search": dict(left_out),
        "first": _document(answer.first),
        "control": None if answer.control is None else _document(answer.control),
    }


def _document(one: Reproduction) -> dict[str, Any]:
    played, prepared = one.played, one.prepared
    return {
        "kafka": prepared.version,
        "control_plane": prepared.mode.value,
        "transaction_version": 2 if prepared.is_v2 else 1,
        "other_rules": [
            {"constant": rule.constant, "trace": rule.trace, "release": rule.release} for rule in prepared.others
        ],
        "initial": _seen(played.initial),
        "steps": [_step(step) for step in played.steps],
        "parted": None if played.parted is None else {"index": played.parted.index, "reason": played.reason},
        "beyond": [_step(step) for step in played.beyond],
        "last": _seen(played.last),
        "told": {str(txn): what for txn, what in played.told.items()},
        "inputs": None if played.inputs is None else {str(txn): read for txn, read in played.inputs.items()},
        "broken": dict(played.broken),
        "waited_seconds": played.waited,
        "seconds": played.seconds,
        "start_seconds": one.start_seconds,
        "folder": None if one.folder is None else str(one.folder),
    }


def _step(step: SeenStep) -> dict[str, Any]:
    seen = None if step.seen is None else _seen(step.seen)
    return {"index": step.step.index, "action": step.step.label, "seconds": step.seconds, "refused": step.refused or None,
            "seen": seen}  # fmt: skip


def _seen(seen: Seen) -> dict[str, Any]:
    return {
        "coordinator": {"state": seen.state, "epoch": seen.epoch, "partitions": sorted(seen.partitions)},
        "partitions": [
            {
                "log": [{"offset": entry.offset, "text": text_of(entry), "marker": entry.is_marker} for entry in one.entries],
                "last_stable_offset": one.stable,
                "high_watermark": one.high_watermark,
                "producer_epoch": one.epoch,
                "read_committed": [text_of(entry) for entry in one.readable],
            }
            for one in seen.raw
        ],
    }


# -- words -------------------------------------------------------------------------------------------------------------


def rules_in_words(prepared: Prepared) -> str:
    """In what the rules of the trace are not those of the brokers; nothing if they are the same."""
    said = [f"{one.constant} is {one.trace} in the trace and {one.release} in" for one in prepared.others]
    return f"{says_list(said)} Kafka {prepared.version}" if said else ""


def seen_in_words(seen: Seen) -> list[str]:
    """A line for the coordinator, and one for each partition."""
    members = f", partitions {says_set(sorted(seen.partitions))}" if seen.partitions else ""
    lines = [f"coordinator: {seen.state}, producer epoch {seen.epoch}{members}"]
    for p, one in enumerate(seen.raw):
        log = " ".join(text_of(entry) for entry in one.entries) or "-"
        got = " ".join(text_of(entry) for entry in one.readable) or "nothing"
        hw = one.high_watermark
        lines.append(f"partition {p}: {log} | LSO {one.stable}, HW {hw}; a consumer in read_committed gets {got}")
    return lines


def end_in_words(one: Reproduction, name: str) -> str:
    """How it ended."""
    played = one.played
    if name == "NoHangingTransaction" and played.is_broken(name):
        return _hangs_in_words(played)
    if not name:
        return "no promise is broken"
    said = {True: "does not hold", False: "holds", None: "was not decided"}[played.is_broken(name)]
    return f"{name} {said}: {_fates_in_words(played)}"


def _fates_in_words(played: Played) -> str:
    """`transaction 1 was said to be committed, and its record is readable in partition 0 and aborted in partition 1`."""
    found = []
    for txn, what in sorted(played.told.items()):
        read = "" if played.inputs is None else f", which read input {played.inputs[txn]},"
        said = f"of transaction {txn}{read} the client {'has' if what == ASKED else 'was told that it is'} {what}"
        where = []
        for result, word in (("COMMIT", "readable"), ("ABORT", "aborted")):
            there = [p for p, one in enumerate(played.last.ledgers) if name_of(txn) in ended(one.log, result)]
            where += [f"{word} in {says_partitions(there)}"] if there else []
        found.append(f"{said}, and its record is {says_list(where)}" if where else f"{said}, and its record is in no log")
    return "; ".join(found) or "nobody was told anything"


def says_partitions(numbers: list[int]) -> str:
    """`partition 0`, `partitions 0 and 1`."""
    return f"partition{'s' if len(numbers) > 1 else ''} {says_list([str(number) for number in numbers])}"


def _hangs_in_words(played: Played) -> str:
    open_ones = [
        f"partition {p} stays open at LSO {one.stable} of {one.high_watermark}"
        for p, one in enumerate(played.last.raw)
        if one.stable < one.high_watermark and p not in played.last.partitions
    ]
    last = played.last
    return (
        f"{says_list(open_ones)}, and the coordinator, {last.state}, knows of no transaction there "
        f"(seen for {played.waited:.0f} s)"
    )


def verdicts_in_words(answer: Transacted) -> list[tuple[Ending, str]]:
    """What news it is, and a sentence, of the run and of its control."""
    first, name, found = answer.first, answer.name, answer.judgement
    where, end = f"Kafka {first.prepared.version} with {MODES[Mode(first.prepared.mode)]}", end_in_words(first, name)
    at = first.played.parted
    if at is None:
        said = [verdict_in_words(found.verdict, where, name, first.played, end)]
    else:
        said = [(Ending.OPEN, f"{where} parts at step {at.index}, {at.label}: {first.played.reason}"),
                (Ending.OPEN, f"in the end {end}")]  # fmt: skip
    if answer.control is None or found.control is None:
        return said
    control, parted = answer.control, answer.control.played.parted
    of, sort = f"the control, Kafka {control.prepared.version}", ending_of_control(found)
    if parted is None:
        return [*said, (sort, f"{of}, {found.control.value}: {end_in_words(control, name)}")]
    but = "and" if found.control is Control.KEEPS else "though it"
    went = f"goes another way at step {parted.index}: {control.played.refusals}"
    said.append((sort, f"{of}, {found.control.value} {but} {went}"))
    return [*said, (sort, f"there {end_in_words(control, name)}")]


_STYLES = {Ending.GOOD: "bold green", Ending.BAD: "bold red", Ending.OPEN: "bold yellow"}


def print_transacted(console: Console, answer: Transacted) -> None:
    """The answer in the terminal: every step with what was seen, then the verdicts."""
    glyphs = glyphs_of(console)
    put_paragraph(console, answer.title, "bold")
    for one in (answer.first, *([] if answer.control is None else [answer.control])):
        _print_run(console, one)
    put(console, [])
    sign = {Ending.GOOD: glyphs.good, Ending.BAD: glyphs.bad, Ending.OPEN: glyphs.open}
    for sort, text in verdicts_in_words(answer):
        put_paragraph(console, text, _STYLES[sort], f"{sign[sort]} ", "  ")


def _print_run(console: Console, one: Reproduction) -> None:
    prepared, played = one.prepared, one.played
    sentences = {view.index: view.sentence for view in steps_of(prepared.question, prepared.run)}
    put(console, [])
    clients = f"clients of transaction_version {2 if prepared.is_v2 else 1}"
    put_paragraph(console, f"Kafka {prepared.version} with {MODES[Mode(prepared.mode)]}, {clients}", "bold")
    for step in played.steps:
        put_paragraph(console, sentences[step.step.index], "", f" {step.step.index:>2}  ", " " * 5)
    for step in played.beyond:
        put_paragraph(console, sentences[step.step.index], "dim", f" {step.step.index:>2}  not compared: ", " " * 5)
        if step.refused:
            put_paragraph(console, f"it did not happen: {step.refused}", "", " " * 5, " " * 7)
    put_paragraph(console, "in the end:", "dim", "     ", "     ")
    for line in seen_in_words(played.last):
        put_paragraph(console, line, "", "     ", "       ")
    if one.folder is not None:
        put_paragraph(console, f"The brokers' files are in {one.folder}.")
