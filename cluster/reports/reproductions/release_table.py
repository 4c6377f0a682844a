"""All that the model predicts of a release beside what its brokers did: as a table, and as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import StrEnum, unique
from typing import Any

from acked.base.errors import ExitCode, SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.playing.reproduce import Found
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.verdict import Verdict
from acked.cluster.reports.reproductions.words import MODES
from acked.reports.console import Console, put_paragraph
from acked.reports.table import Column as TableColumn
from acked.reports.table import ColumnKind, Mark, Table, TableCell, numbers, print_table, table
from acked.reports.units import plural

FORMAT = "acked-release/1"
_LATER = ("logged", "unexplained")
"""Fields that documents written before brokers' lines were validated do not have."""


@unique
class Predicted(StrEnum):
    """What the model says of a promise under the rules of a release."""

    HOLDS = "holds"
    VIOLATED = "violated"


@unique
class Deed(StrEnum):
    """What the brokers did, in the words of `Verdict` where they were started and the run ended."""

    NOTHING = "nothing to play"
    REPRODUCED = Verdict.REPRODUCED.value
    AS_MODELLED = Verdict.AS_MODELLED.value
    PARTED = Verdict.PARTED.value
    NOT_PLAYED = "cannot be played"
    NOT_DECIDED = "not decided"


_MARKS = {Deed.REPRODUCED: Mark.GOOD, Deed.AS_MODELLED: Mark.OPEN, Deed.PARTED: Mark.BAD, Deed.NOT_DECIDED: Mark.OPEN}


@frozen
class ReleaseRow:
    """One question: the spec, its row of the gallery, the promise, rules that are not the release's, and both answers.

    `parted` is the step at which model and brokers part; seconds are None where nothing was started. `logged` is what a
    validation says of the brokers' own lines, None where they are not read, and `unexplained` the line and why if it is not
    explained, or why nothing was read.
    """

    spec: str
    title: str
    row: int | None
    promise: str
    other_rules: tuple[str, ...]
    predicted: Predicted
    deed: Deed
    reason: str = ""
    steps: int | None = None
    parted: int | None = None
    up_seconds: float | None = None
    seconds: float | None = None
    date: str = ""
    logged: Found | None = None
    unexplained: str = ""

    def sentence(self, version: str) -> str:
        """A line of progress."""
        did = f"{self.deed.value} on Kafka {version}"
        if self.deed is Deed.NOTHING:
            return f"{self.spec}: the model says that {self.promise} holds, so there is nothing to play"
        if self.deed is Deed.NOT_PLAYED:
            did = f"it cannot be played: {self.reason}"
        elif self.deed is Deed.PARTED:
            did = f"{did} at step {self.parted} of {self.steps}: {self.reason}"
        elif self.deed in (Deed.NOT_DECIDED, Deed.AS_MODELLED):
            did = f"{did}: {self.reason}"
        return f"{self.spec}: the model violates {self.promise}; {did}"


@frozen
class WholeRelease:
    """All rows of a release in a mode; `left_out` are slow specs that were not asked, `is_whole` whether all were."""

    version: str
    mode: Mode
    rows: tuple[ReleaseRow, ...] = ()
    left_out: tuple[str, ...] = ()
    is_whole: bool = False

    def __str__(self) -> str:
        return f"Kafka {self.version} with {MODES[self.mode]}"

    def count(self, deed: Deed) -> int:
        """How many rows ended so."""
        return Counter(row.deed for row in self.rows)[deed]

    @property
    def exit_code(self) -> ExitCode:
        """1 if model and brokers part anywhere, 152 if something stayed undecided, 12 if anything was reproduced, 14 if all
        that was played went as the model says and no promise was seen broken, 0 if nothing was played.
        """
        for deed, code in (
            (Deed.PARTED, Verdict.PARTED.exit_code),
            (Deed.NOT_DECIDED, ExitCode.TOO_LARGE),
            (Deed.REPRODUCED, Verdict.REPRODUCED.exit_code),
            (Deed.AS_MODELLED, Verdict.AS_MODELLED.exit_code),
        ):
            if self.count(deed):
                return code
        return ExitCode.HOLDS


def summary_of(whole: WholeRelease) -> str:
    """In two sentences."""
    violated = [row for row in whole.rows if row.predicted is Predicted.VIOLATED]
    played = [row for row in violated if row.deed is not Deed.NOT_PLAYED]
    parted = whole.count(Deed.PARTED)
    text = (
        f"Of {plural(len(whole.rows), 'question')} under the rules of {whole} the model says that {len(violated)} are "
        f"violated. {len(played)} of these were played: {whole.count(Deed.REPRODUCED)} reproduced, {parted} parted"
    )
    for deed, words in ((Deed.AS_MODELLED, "as the model says, with a promise that was not seen broken"),
                        (Deed.NOT_DECIDED, "not decided")):  # fmt: skip
        if count := whole.count(deed):
            text = f"{text}, {count} {words}"
    logged = Counter(row.logged for row in violated)
    validated = logged[Found.EXPLAINED] + logged[Found.NOT_EXPLAINED]
    if validated:
        explained = logged[Found.EXPLAINED]
        text = f"{text}. What the brokers logged meanwhile is a behaviour of the model in {explained} of {validated}"
    return f"{text}."


def release_table(whole: WholeRelease) -> Table:
    """The rows that something was to be played of."""
    rows = [
        (
            row.spec,
            "" if row.row is None else str(row.row),
            row.promise,
            TableCell(row.deed.value, mark=_MARKS.get(row.deed, Mark.NONE)),
            "" if row.steps is None else str(row.steps),
            "" if row.seconds is None else f"{row.seconds:.1f}",
        )
        for row in sorted(whole.rows, key=lambda row: row.spec)
        if row.predicted is Predicted.VIOLATED
    ]
    columns = (TableColumn("spec", ColumnKind.CODE), numbers("row"), "violated in the model", "the brokers", numbers("steps"),
               numbers("seconds"))  # fmt: skip
    return table(columns, rows)


def print_release(console: Console, whole: WholeRelease) -> None:
    """The table, why rows were not played, where brokers went another way, and the sum."""
    print_table(console, release_table(whole))
    console.print()
    for row in whole.rows:
        if row.reason:
            at = f" at step {row.parted} of {row.steps}" if row.parted else ""
            put_paragraph(console, f"{row.spec}, {row.deed.value}{at}: {row.reason}", "dim", rest="  ")
        if row.unexplained and row.logged is not None:
            put_paragraph(
                console, f"{row.spec}, what its brokers logged is {row.logged.value}: {row.unexplained}", "dim", rest="  "
            )
    if whole.left_out:
        names = ", ".join(whole.left_out)
        put_paragraph(console, f"Not asked, because they are slow: {names}; --slow asks them, too.", "dim")
    console.print()
    put_paragraph(console, summary_of(whole), "bold")


def release_document(whole: WholeRelease) -> dict[str, Any]:
    """All of it, also the promises that the model says hold."""
    return {
        "format": FORMAT,
        "kafka": whole.version,
        "control_plane": whole.mode.value,
        "is_whole": whole.is_whole,
        "counts": {deed.value: whole.count(deed) for deed in Deed},
        "exit_code": int(whole.exit_code),
        "left_out": list(whole.left_out),
        "rows": [{**asdict(row), "other_rules": list(row.other_rules)} for row in whole.rows],
    }


def read_release(document: object) -> WholeRelease:
    """What `release_document` made; `SpecUnreadable` if it is something else."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise SpecUnreadable(f"its format should be {FORMAT!r}")
    try:
        rows = tuple(
            ReleaseRow(**{
                **{item.name: row[item.name] for item in fields(ReleaseRow) if item.name not in _LATER or item.name in row},
                "other_rules": tuple(row["other_rules"]), "predicted": Predicted(row["predicted"]), "deed": Deed(row["deed"]),
                "logged": None if row.get("logged") is None else Found(row["logged"]),
            })
            for row in document["rows"]
        )  # fmt: skip
        return WholeRelease(
            document["kafka"], Mode(document["control_plane"]), rows, tuple(document["left_out"]), document["is_whole"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SpecUnreadable(f"a part is missing or is not what it should be: {error}") from None
