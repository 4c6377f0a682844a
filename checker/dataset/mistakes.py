"""A query looked at before anything is searched or started: whether it is SQL, and whether what it names is there.

Spark takes seconds to start and says the same afterwards. What is not certain here is left for Spark to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from acked.base.errors import ConfigurationError
from acked.base.names import choices, near
from acked.base.optional import optional_packages
from acked.checker.dataset.parquet import Columns
from acked.checker.dataset.sql import VIEWS, place_of
from acked.checker.question.question import Question

with optional_packages():
    import pyarrow as pa
    import pyarrow.dataset as ds
    import sqlglot
    from sqlglot import exp

_ANYWAY = " (`query --master local[*]` has Spark read it all the same)"
_MADE = ("col", "pos", "key", "value")
"""Columns that Spark's generators make where a query gives them no name."""
_OF_EVERY_LEVEL = {
    "levels": ("level", "states", "generated", "new"), "actions": ("level", "action", "enabled", "new"),
    "transitions": ("source", "target", "level", "action", "arguments"),
}  # fmt: skip

Views = Mapping[str, pa.Schema]
"""The columns of every view; those whose type is null may be anything."""


def views_of_dataset(dataset: Path) -> Views:
    """The views of a dataset that is there; one without transitions has no such view."""
    found = {}
    for name in VIEWS:
        place = place_of(dataset, name)
        if place.exists() and (schema := ds.dataset(place, format="parquet", partitioning="hive").schema):
            found[name] = schema
    return found


def views_of_question(question: Question) -> Views:
    """The views that a dataset of the question's states will have."""
    fields = Columns(question).fields(np.zeros((0, question.instance.schema.words), np.uint64))
    states = {"id": pa.string(), "level": pa.int32(), **{name: column.type for name, column in fields.items()}}
    others = {name: pa.schema([(column, pa.null()) for column in columns]) for name, columns in _OF_EVERY_LEVEL.items()}
    return {"states": pa.schema(list(states.items())), **others}


def refuse_mistakes(sql: str, views: Views) -> None:
    """`ConfigurationError` if a query is no SQL, or names a view, a column or a field of one that there is not."""
    try:
        statements = sqlglot.parse(sql, read="spark")
    except sqlglot.errors.SqlglotError as error:
        raise ConfigurationError(f"the query is not SQL: {_where(error)}; correct it{_ANYWAY}") from None
    except RecursionError:
        return
    [query, *more] = statements or [None]
    if query is None:
        raise ConfigurationError("the query is empty; write SQL, e.g. SELECT count(*) FROM states")
    if more or not isinstance(query, exp.Query):
        return
    named = {table.alias.lower() for table in query.find_all(exp.CTE)}
    tables = [table for table in query.find_all(exp.Table) if table.name.lower() not in named]
    if any(table.args.get("db") or not isinstance(table.this, exp.Identifier) for table in tables):
        return
    for table in tables:
        if table.name.lower() not in views:
            raise ConfigurationError(_no_view(table.name, views))
    if list(query.find_all(exp.Lateral, exp.Unnest, exp.Pivot)):
        return
    fields = {name: {field.name.lower(): field.type for field in schema} for name, schema in views.items()}
    by_table = {table.alias_or_name.lower(): fields[table.name.lower()] for table in tables}
    known = {name: kind for columns in by_table.values() for name, kind in columns.items()}
    made = {*_names_made(query), *(_MADE if len(list(query.find_all(exp.Select))) > 1 else ())}
    for column in query.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        if isinstance(column.this, exp.Star) or not all(re.fullmatch(r"\w+", part) for part in parts):
            continue
        if len(parts) > 1 and parts[0].lower() in by_table:
            _refuse_path(column, parts[1:], by_table[parts[0].lower()])
        elif parts[0].lower() not in made:
            _refuse_path(column, parts, known)


def _where(error: Exception) -> str:
    """What sqlglot says, where."""
    found: dict[str, object] = next(iter(getattr(error, "errors", [])), {})
    said = str(found.get("description") or str(error).partition("\n")[0]).rstrip(". ")
    at = f"{found.get('start_context', '')}{found.get('highlight', '')}".strip()[-40:]
    return f"{said} at “{at}”" if at else said


def _no_view(name: str, views: Views) -> str:
    if name.lower() in VIEWS:
        return f"this dataset has no {name}; make it with --{name}"
    return f"there is no view {name!r}{near(name, views)}; there are {choices(views)}"


def _names_made(query: exp.Query) -> Iterator[str]:
    """Every name that the query itself gives to something."""
    for node in query.find_all(exp.Alias, exp.TableAlias):
        yield node.name.lower() if isinstance(node, exp.TableAlias) else node.alias.lower()
        for column in node.args.get("columns") or ():
            yield column.name.lower()


def _refuse_path(column: exp.Column, parts: list[str], known: Mapping[str, pa.DataType]) -> None:
    """Follows a column and the fields of it that are named."""
    first = parts[0].lower()
    if first not in known:
        there = choices(known)
        raise ConfigurationError(f"there is no column {parts[0]!r}{near(first, known)}; there are {there}{_ANYWAY}")
    kind, path = known[first], parts[0]
    node: exp.Expression = column
    for name in parts[1:]:
        kind, path = _field(kind, path, name), f"{path}.{name}"
    while isinstance(node.parent, (exp.Bracket, exp.Dot)) and node.parent.this is node:
        node = node.parent
        if isinstance(node, exp.Bracket):
            kind, path = kind.value_type if pa.types.is_list(kind) else pa.null(), f"{path}[…]"
        elif isinstance(node.expression, exp.Identifier):
            kind, path = _field(kind, path, node.expression.name), f"{path}.{node.expression.name}"


def _field(kind: pa.DataType, path: str, name: str) -> pa.DataType:
    """The type of a struct's field; null where it cannot be known."""
    if not pa.types.is_struct(kind):
        # Of a list of structs Spark takes the list of their fields.
        return pa.null()
    names = {kind.field(at).name.lower(): kind.field(at).type for at in range(kind.num_fields)}
    if name.lower() not in names:
        raise ConfigurationError(f"{path} has no field {name!r}{near(name, names)}; it has {choices(names)}{_ANYWAY}")
    return names[name.lower()]
