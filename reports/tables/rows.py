"""Rows of a query: as a table in the terminal, as CSV, as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acked.reports.console import clean, put, put_table

if TYPE_CHECKING:
    from rich.console import Console


def print_rows(console: Console, names: Sequence[str], rows: Sequence[Mapping[str, Any]], is_cut: bool) -> None:
    """A table of rows; `is_cut` says that there are more."""
    numeric = {name: all(isinstance(row[name], (int, float)) or row[name] is None for row in rows) for name in names}
    cells = [[(clean(_shown(row[name], numeric[name]), console), "") for name in names] for row in rows]
    put_table(console, [(clean(name, console), numeric[name] and bool(rows)) for name in names], cells)
    if is_cut:
        put(console, [(f"  … and more: only {len(rows)} rows are shown", "dim")])


def _shown(value: Any, is_number: bool) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number and isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def as_csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a heading; lists and structs as JSON, NULL as an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        values = [row[name] for name in names]
        writer.writerow(
            ["" if value is None else _json(value) if isinstance(value, (dict, list, bool)) else value for value in values]
        )
    return out.getvalue()


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """A JSON list with an object for every row."""
    return json.dumps(list(rows), indent=1, default=str, ensure_ascii=False) + "\n"
