"""The first thing that an audit shows: every question under everything that may go wrong, a line each, the worst first."""

from __future__ import annotations

from collections.abc import Iterable

from acked.audit.reports.document import Document
from acked.reports.table import Mark, Table, TableCell, table

STYLES = {"yes": "bold red", "no": "bold green", "undecided": "bold yellow"}
MARKS = {"yes": Mark.BAD, "no": Mark.GOOD, "undecided": Mark.OPEN}

_ORDER = ("yes", "undecided", "no")
SHORT = {
    "loss": "lost",
    "duplicates": "duplicated",
    "reordering": "reordered",
    "vanishing": "vanished",
    "writes": "writes stop",
}


def overview(document: Document) -> Table:
    """A row for each question, the worst first; a column for each class of faults."""
    questions = list(dict.fromkeys(answer["question"] for answer in document["answers"]))
    rows = {
        asked: {answer["faults"]["name"]: answer for answer in document["answers"] if answer["question"] == asked}
        for asked in questions
    }
    questions.sort(key=lambda asked: _worst(rows[asked].values()))
    columns = document["columns"]
    return table(
        ("records", *(column["heading"] for column in columns)),
        [(SHORT[asked], *(_cell(rows[asked].get(column["name"])) for column in columns)) for asked in questions],
    )


def legend(document: Document) -> list[str]:
    """What each column assumes, `machine dies (one-machine): …`, and what the words of cells stand for."""
    lines = [f"{column['heading']} ({column['name']}): {column['words']}" for column in document["columns"]]
    answers = document["answers"]
    if any(answer["answer"] == "yes" for answer in answers):
        lines.append("yes (4): it can happen, in 4 steps at least; the steps are below")
    if any(answer["worst"] != answer["answer"] for answer in answers):
        lines.append("elsewhere: in another release that may be meant")
    if any(answer["worst"] == "undecided" for answer in answers):
        lines.append("undecided: the search met its bound; --max-states and --memory raise it")
    return lines


def _worst(answers: Iterable[Document]) -> tuple[int, int]:
    """How bad the worst that decides is, then how bad anything is."""
    found = list(answers)
    ranks = [(_ORDER.index(answer["worst"]), bool(answer["decides"])) for answer in found]
    return min((rank for rank, decides in ranks if decides), default=len(_ORDER)), min(rank for rank, _ in ranks)


def _cell(answer: Document | None) -> TableCell:
    if answer is None:
        return TableCell("not asked", "dim")
    said, worst = answer["answer"], answer["worst"]
    text = said
    if said != worst:
        text = f"{worst} elsewhere"
    elif said == "yes" and answer["story"] is not None:
        text = f"yes ({len(answer['story']['steps'])})"
    elif answer["nothing_accepted"]:
        text = "no (none taken)"
    return TableCell(text, STYLES[worst], MARKS[worst])
