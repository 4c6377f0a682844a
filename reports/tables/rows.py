"""Rows of a query: as a table in the terminal, as CSV, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from acked.reports.console import Console, put
from acked.reports.table import Column, ColumnKind, Table, TableCell, print_table, table, table_csv


def rows_table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows as a table; a column is of numbers if all its values are."""
    numeric = {name: all(isinstance(row[name], (int, float)) or row[name] is None for row in rows) for name in names}
    columns = [Column(name, ColumnKind.NUMBER if rows and numeric[name] else ColumnKind.TEXT) for name in names]
    return table(columns, [[_cell(row[name], numeric[name]) for name in names] for row in rows])


def print_rows(console: Console, names: Sequence[str], rows: Sequence[Mapping[str, Any]], is_cut: bool) -> None:
    """A table of rows; `is_cut` says that there are more."""
    print_table(console, rows_table(names, rows))
    if is_cut:
        put(console, [(f"  … and more: only {len(rows)} rows are shown", "dim")])


def _cell(value: object, is_number: bool) -> TableCell:
    if value is None:
        return TableCell("NULL", value="")
    if isinstance(value, bool):
        return TableCell("true" if value else "false", value=value)
    if is_number and isinstance(value, int):
        return TableCell(f"{value:,}", value=value)
    return TableCell(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False), value=value)


def rows_csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a heading; lists and structs as JSON, NULL as an empty cell."""
    return table_csv(rows_table(names, rows))


def rows_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """A JSON list with an object for every row."""
    return json.dumps(list(rows), indent=1, default=str, ensure_ascii=False) + "\n"
