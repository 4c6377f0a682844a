"""Rows of a query: values of any type in the terminal and in CSV, and names and texts that are hostile."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from acked.reports.tables.rows import print_rows, rows_csv, rows_json

NAMES = ["n", "=cmd|'/c calc'!A1", "isr"]
ROWS = [
    {"n": 1234, NAMES[1]: "@SUM(A1)", "isr": [0, 1]},
    {"n": -5, NAMES[1]: "\x1b[31m", "isr": None},
]


def test_csv_has_values_and_no_formula() -> None:
    heading, *rows = csv.reader(io.StringIO(rows_csv(NAMES, ROWS)))
    assert heading == ["n", "'=cmd|'/c calc'!A1", "isr"]
    assert rows == [["1234", "'@SUM(A1)", "[0, 1]"], ["-5", "\\x1b[31m", ""]]


def test_the_terminal_groups_digits_and_says_that_there_is_more(drawn: Callable[..., object]) -> None:
    lines = drawn(print_rows, NAMES, ROWS, True).lines  # type: ignore[attr-defined]
    assert lines[1].split() == ["1,234", "@SUM(A1)", "[0,", "1]"]
    assert lines[2].split() == ["-5", "\\x1b[31m", "NULL"]
    assert lines[3] == "  … and more: only 2 rows are shown"


def test_json_keeps_the_values() -> None:
    assert '"isr": null' in rows_json(ROWS)
