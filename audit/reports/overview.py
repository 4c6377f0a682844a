"""The first thing that an audit shows: every question under everything that may go wrong, a line each, the worst first."""

from __future__ import annotations

from collections.abc import Iterable

from acked.audit.decision.questions import AuditQuestion, AuditVerdict
from acked.audit.reports.telling import MARKS, SHORT, STYLES
from acked.audit.reports.view import AnswerView, AuditView
from acked.reports.table import Table, TableCell, table

NOT_ASKED = "not asked"
"""What a cell says where a question was not asked under some faults."""
_ORDER = (AuditVerdict.YES, AuditVerdict.UNDECIDED, AuditVerdict.NO)


def overview(view: AuditView) -> Table:
    """A row for each question, the worst first; a column for each class of faults."""
    rows: dict[AuditQuestion, dict[str, AnswerView]] = {}
    for answer in view.answers:
        rows.setdefault(answer.question, {})[answer.faults.name] = answer
    questions = sorted(rows, key=lambda asked: _worst(rows[asked].values()))
    return table(
        ("records", *(column.heading for column in view.columns)),
        [(SHORT[asked], *(_cell(rows[asked].get(column.name)) for column in view.columns)) for asked in questions],
    )


def legend(view: AuditView) -> list[str]:
    """What each column assumes, `machine dies (one-machine): …`, and what the words of cells stand for."""
    lines = [f"{column.heading} ({column.name}): {column.words}" for column in view.columns]
    if any(answer.answer is AuditVerdict.YES for answer in view.answers):
        lines.append("yes (4): it can happen, in 4 steps at least; the steps are below")
    if any(answer.worst is not answer.answer for answer in view.answers):
        lines.append("elsewhere: in another release that may be meant")
    if any(answer.worst is AuditVerdict.UNDECIDED for answer in view.answers):
        lines.append("undecided: the search met its bound; --max-states and --memory raise it")
    return lines


def _worst(answers: Iterable[AnswerView]) -> tuple[int, int]:
    """How bad the worst that decides is, then how bad anything is."""
    ranks = [(_ORDER.index(answer.worst), answer.decides) for answer in answers]
    return min((rank for rank, decides in ranks if decides), default=len(_ORDER)), min(rank for rank, _ in ranks)


def _cell(answer: AnswerView | None) -> TableCell:
    if answer is None:
        return TableCell(NOT_ASKED, "dim")
    text = answer.answer.value
    if answer.answer is not answer.worst:
        text = f"{answer.worst.value} elsewhere"
    elif answer.answer is AuditVerdict.YES and answer.story is not None:
        text = f"yes ({len(answer.story.steps)})"
    elif answer.nothing_accepted:
        text = "no (none taken)"
    return TableCell(text, STYLES[answer.worst], MARKS[answer.worst])
