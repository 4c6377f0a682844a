"""The table of answers where the console is too narrow for it."""

from __future__ import annotations

import io

from rich.console import Console

from acked.audit.decision.faults import BY_DEFAULT, LEADER_MOVES, AuditQuestion
from acked.audit.reports.terminal import NOT_ASKED, print_answers
from acked.reports.table import table

HEADS = ("records", "process dies", "machine dies", "many die", "empty disk", "cut off", "leader moves")
ROWS = (
    ("lost", "no", "no", "yes (11)", "no", "undecided", "yes (14)"),
    ("duplicated", "no", "no", "no", "no", "undecided", NOT_ASKED),
)


def printed(width: int) -> list[str]:
    text = io.StringIO()
    print_answers(Console(file=text, width=width), table(HEADS, ROWS))
    return text.getvalue().splitlines()


def test_columns_that_do_not_fit_stand_below_with_the_rows_in_which_something_was_asked() -> None:
    lines = printed(78)
    assert max(map(len, lines)) <= 78
    assert [line.split()[0] for line in lines if line.strip()] == ["records", "lost", "duplicated", "records", "lost"]
    assert [line.rstrip() for line in lines[-2:]] == ["  records   leader moves", "  lost      yes (14)"]


def test_columns_that_fit_are_one_table() -> None:
    assert len(printed(120)) == 1 + len(ROWS)


def test_moves_of_leadership_are_asked_about_by_default_of_lost_records_alone_and_decide_nothing() -> None:
    assert [asked for asked in AuditQuestion if LEADER_MOVES in BY_DEFAULT.also(asked)] == [AuditQuestion.LOSS]
    assert all(LEADER_MOVES not in BY_DEFAULT.under(asked) for asked in AuditQuestion)
    assert BY_DEFAULT.bound_of(AuditQuestion.LOSS, LEADER_MOVES) == 2 * BY_DEFAULT.max_states_besides
