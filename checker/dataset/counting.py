"""Counts over a dataset of states in this process: the common form of Spark SQL, with Spark's answer, without Spark.

`count` answers one `SELECT … GROUP BY` of aggregates over one view. sqlglot reads the text as Spark does, pyarrow computes.
Whatever is not certain to mean the same here raises `NeedsSpark`, and is Spark's to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.checker.dataset.sql import VIEWS, place_of

with optional_packages():
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import sqlglot
    from sqlglot import exp

MOST_ROWS = 5_000_000
"""Rows up to which the columns that a query needs are certain to fit; more are Spark's."""

_CLAUSES = {"expressions", "from", "from_", "where", "group", "order", "limit"}
"""The parts of a SELECT that are understood here."""

_COMPARED: Mapping[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
}
_AGGREGATES: Mapping[type[exp.Expression], str] = {exp.Min: "min", exp.Max: "max", exp.Sum: "sum"}


class NeedsSpark(Exception):
    """The query is not of the form that is answered here."""


@frozen
class _Item:
    """A column of the answer: a value of every row that is grouped by, or an aggregate over a group."""

    name: str
    node: exp.Expression

    @property
    def is_aggregate(self) -> bool:
        return isinstance(self.node, (exp.Count, *_AGGREGATES))


def count(dataset: Path, sql: str, most: int | None = None) -> pa.Table:
    """The table that a query yields, or its first `most` rows; `NeedsSpark` if it is not of the common form."""
    select = _parse(sql)
    place = place_of(dataset, _view(select))
    if not place.exists():
        raise NeedsSpark
    source = ds.dataset(place, format="parquet", partitioning="hive")
    if source.count_rows() > MOST_ROWS:
        raise NeedsSpark
    names = _first_parts(select)  # A name that is no column is an alias, or a mistake.
    rows = _Rows(source.to_table(columns=[name for name in source.schema.names if name in names]), source.count_rows())
    where = select.args.get("where")
    if where is not None:
        rows = rows.where(where.this)
    items = [_item(node) for node in select.expressions]
    if len({item.name.lower() for item in items}) < len(items):
        raise NeedsSpark
    grouped = _group_keys(select, items)
    table = _answer_table(rows, items, grouped)
    table = _order_rows(table, select, items)
    limit = select.args.get("limit")
    if limit is not None:
        table = table.slice(0, _whole(limit.expression))
    return table if most is None else table.slice(0, most)


# -- the text -----------------------------------------------------------------------------------------------------------


def _parse(sql: str) -> exp.Select:
    try:
        statements = sqlglot.parse(sql, read="spark")
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise NeedsSpark from None  # Spark says what is wrong with it.
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise NeedsSpark
    select = statements[0]
    given = {name for name, value in select.args.items() if value}
    if given - _CLAUSES or list(select.find_all(exp.Subquery, exp.Window, exp.Lambda)):
        raise NeedsSpark
    return select


def _view(select: exp.Select) -> str:
    begins = select.find(exp.From)
    table = None if begins is None else begins.this
    if not isinstance(table, exp.Table) or table.name not in VIEWS:
        raise NeedsSpark
    if {name for name, value in table.args.items() if value} != {"this"}:  # An alias, a sample, a database.
        raise NeedsSpark
    return str(table.name)


def _first_parts(select: exp.Select) -> set[str]:
    """The names with which the columns that a query reads begin."""
    columns = (column for column in select.find_all(exp.Column) if not isinstance(column.this, exp.Star))
    return {str(column.parts[0].name) for column in columns}


def _item(node: exp.Expression) -> _Item:
    if isinstance(node, exp.Alias):
        return _Item(node.alias, node.this)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return _Item("count(1)", node)
    if isinstance(node, exp.Column):
        return _Item(node.name, node)  # Spark calls quorum.isr by its last part, too.
    raise NeedsSpark  # Spark has a name for it, which only Spark knows.


def _whole(node: exp.Expression | None) -> int:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal():
        return int(node.this)
    raise NeedsSpark


def _group_keys(select: exp.Select, items: list[_Item]) -> list[_Item]:
    """The items that the rows are grouped by: by their text, their alias or their number."""
    group = select.args.get("group")
    if group is not None and {name for name, value in group.args.items() if value} - {"expressions"}:
        raise NeedsSpark
    by = [_item_named(node, items) for node in (group.expressions if group is not None else [])]
    plain = [item for item in items if not item.is_aggregate]
    if any(item not in by for item in plain) or any(item.is_aggregate for item in by) or len(plain) == len(items):
        raise NeedsSpark  # A mistake, or no counting at all.
    return list(dict.fromkeys(by))


def _item_named(node: exp.Expression, items: list[_Item]) -> _Item:
    if isinstance(node, exp.Literal):
        number = _whole(node)
        if not 1 <= number <= len(items):
            raise NeedsSpark
        return items[number - 1]
    same = [item for item in items if item.node == node]
    called = [item for item in items if isinstance(node, exp.Column) and len(node.parts) == 1 and item.name == node.name]
    # Spark takes a column before an alias of the same name.
    if (same and called and same[0] != called[0]) or not (same or called):
        raise NeedsSpark
    return (same or called)[0]


# -- the values ---------------------------------------------------------------------------------------------------------


@frozen
class _Rows:
    """The rows of a view: the columns that a query names, and how many rows there are."""

    table: pa.Table
    number: int

    def where(self, node: exp.Expression) -> _Rows:
        """Those for which a condition is true; where it is null, it is not."""
        kept = self.flag(node)
        if isinstance(kept, pa.Scalar):  # It names no column.
            raise NeedsSpark
        table = self.table.filter(kept)
        return _Rows(table, table.num_rows)

    def flag(self, node: exp.Expression) -> Any:
        """A condition, with null as SQL has it."""
        match node:
            case exp.Paren():
                return self.flag(node.this)
            case exp.And():
                return pc.and_kleene(self.flag(node.this), self.flag(node.expression))
            case exp.Or():
                return pc.or_kleene(self.flag(node.this), self.flag(node.expression))
            case exp.Not():
                return pc.invert(self.flag(node.this))
            case exp.Is() if isinstance(node.expression, exp.Null):
                return pc.is_null(self.value(node.this))
            case exp.ArrayContains():
                return self._contains(self.value(node.this), _constant(node.expression))
        compare = _COMPARED.get(type(node))
        if compare is None:
            value = self.value(node)
            if not pa.types.is_boolean(value.type):
                raise NeedsSpark
            return value
        left, right = self.value(node.this), self.value(node.expression)
        if _sort(left.type) != _sort(right.type):
            raise NeedsSpark
        return compare(left, right)

    def value(self, node: exp.Expression) -> Any:
        """A column of values, or one value."""
        match node:
            case exp.Paren():
                return self.value(node.this)
            case exp.Literal() | exp.Boolean() | exp.Neg():
                return _constant(node)
            case exp.Column():
                return self._path([part.name for part in node.parts])
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return _field(self.value(node.this), node.expression.name)
            case exp.Bracket() if len(node.expressions) == 1:
                return _element(self.value(node.this), _whole(node.expressions[0]))
            case exp.ArraySize():
                of = self.value(node.this)
                if not pa.types.is_list(of.type) or of.null_count:
                    raise NeedsSpark
                return pc.list_value_length(of)
        raise NeedsSpark

    def _path(self, parts: list[str]) -> Any:
        if parts[0] not in self.table.column_names:
            raise NeedsSpark
        value = self.table[parts[0]]
        for part in parts[1:]:
            value = _field(value, part)
        return value

    def _contains(self, sets: Any, member: Any) -> Any:
        if not pa.types.is_list(sets.type) or sets.null_count or _sort(sets.type.value_type) != _sort(member.type):
            raise NeedsSpark
        whole = sets.combine_chunks() if isinstance(sets, pa.ChunkedArray) else sets
        held = pc.list_parent_indices(whole).filter(pc.equal(pc.list_flatten(whole), member))
        return pc.is_in(pa.array(range(len(whole)), pa.int64()), value_set=held.cast(pa.int64()))


def _constant(node: exp.Expression) -> Any:
    if isinstance(node, exp.Neg):
        return pa.scalar(-_whole(node.this), pa.int64())
    if isinstance(node, exp.Boolean):
        return pa.scalar(bool(node.this))
    if isinstance(node, exp.Literal) and node.is_string:
        return pa.scalar(str(node.this))
    return pa.scalar(_whole(node), pa.int64())


def _field(value: Any, name: str) -> Any:
    if not pa.types.is_struct(value.type) or value.type.get_field_index(name) < 0:
        raise NeedsSpark
    return pc.struct_field(value, name)


def _element(value: Any, index: int) -> Any:
    """An element of a list, counted from 0; past the end it is null, as `sql.CONF` has it."""
    if not pa.types.is_list(value.type):
        raise NeedsSpark
    return pc.list_element(pc.list_slice(value, index, index + 1, return_fixed_size_list=True), 0)


def _sort(kind: pa.DataType) -> str:
    """What may be compared with what, without a conversion that Spark might make in another way."""
    for name, test in (("number", pa.types.is_integer), ("flag", pa.types.is_boolean), ("text", pa.types.is_string)):
        if test(kind):
            return name
    raise NeedsSpark


# -- the answer ---------------------------------------------------------------------------------------------------------


def _answer_table(rows: _Rows, items: list[_Item], grouped: list[_Item]) -> pa.Table:
    """A row per group, in the order in which the groups come, or one row for all."""
    columns: dict[str, Any] = {"one": pa.array([1] * rows.number, pa.int8())}
    words: dict[int, list[Any]] = {}
    keys = []
    for number, item in enumerate(grouped):
        column = rows.value(item.node)
        if pa.types.is_list(column.type):
            column, words[items.index(item)] = _number_lists(column)
        else:
            _sort(column.type)
        columns[f"key{number}"] = column
        keys.append(f"key{number}")
    wanted: list[tuple[Any, str]] = []
    for number, item in enumerate(items):
        if item.is_aggregate:
            name, how = _aggregate(rows, item, f"of{number}", columns)
            wanted.append((name, how))
    table = pa.table(columns).group_by(keys, use_threads=False).aggregate(wanted)
    found = iter([name for name in table.column_names if name not in keys])
    made = {}
    for number, item in enumerate(items):
        column = table[next(found)] if item.is_aggregate else table[keys[grouped.index(item)]]
        if number in words:
            column = pa.array([words[number][code] for code in column.to_pylist()], rows.value(item.node).type)
        made[item.name] = column
    return pa.table(made)


def _aggregate(rows: _Rows, item: _Item, name: str, columns: dict[str, Any]) -> tuple[str, str]:
    node = item.node
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "one", "count"
    of, how = node.this, _AGGREGATES.get(type(node), "count")
    if isinstance(of, exp.Distinct):
        if how != "count" or len(of.expressions) != 1:
            raise NeedsSpark
        of, how = of.expressions[0], "count_distinct"
    values = rows.value(of)
    if _sort(values.type) != "number" or isinstance(values, pa.Scalar):
        raise NeedsSpark
    columns[name] = values
    return name, how


def _number_lists(column: Any) -> tuple[Any, list[Any]]:
    """Numbers instead of lists, by which rows can be grouped, and the lists by their number."""
    seen: dict[Any, int] = {}
    listed = column.to_pylist()
    codes = [seen.setdefault(None if item is None else tuple(item), len(seen)) for item in listed]
    return pa.array(codes, pa.int64()), [None if item is None else list(item) for item in seen]


def _order_rows(table: pa.Table, select: exp.Select, items: list[_Item]) -> pa.Table:
    order = select.args.get("order")
    if order is None:
        return table
    places = list(range(table.num_rows))
    for key in reversed(order.expressions):
        if key.args.get("with_fill"):
            raise NeedsSpark
        values = table[_item_named(key.this, items).name].to_pylist()
        falls, nulls_first = bool(key.args.get("desc")), bool(key.args.get("nulls_first"))
        # Sorting is stable, so the last key is sorted by first; a flag before the value puts nulls where they belong.
        places.sort(
            key=lambda at, values=values, first=nulls_first != falls: (  # type: ignore[misc]
                (values[at] is not None) if first else (values[at] is None),
                0 if values[at] is None else values[at],
            ),
            reverse=falls,
        )
    return table.take(pa.array(places, pa.int64()))
