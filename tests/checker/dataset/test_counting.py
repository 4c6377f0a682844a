"""Counts without Spark: what is answered is what Python counts, and what Spark answers; everything else is left to Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from acked.checker.dataset.counting import NeedsSpark, count
from acked.checker.dataset.parquet import write_dataset
from acked.checker.dataset.sql import CONF, answer_sql
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.spark.session import SparkSettings
from acked.checker.store.run_directory import RunDirectory
from acked.model.catalogue import PROTOCOLS
from acked.reports.shell.engines import spark_driver

State = dict[str, Any]
CONSTANTS = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    question = Question(PROTOCOLS["kip320"].instantiate(CONSTANTS), ())
    folder = tmp_path_factory.mktemp("data")
    with RunDirectory.create(folder / "run", question) as run:
        search(question, None, StopPolicy.EVERY_PROPERTY, Observer(), run)
        write_dataset(question, run, folder / "all", transitions=True)
    return folder / "all"


@pytest.fixture(scope="module")
def states(dataset: Path) -> list[State]:
    return list(pq.read_table(dataset / "states").to_pylist())


def tally(states: list[State], of: Callable[[State], Any]) -> Counter[Any]:
    return Counter(of(state) for state in states)


def log_end(state: State) -> int:
    return len(state["log"][0])


CONDITIONS: list[tuple[str, Callable[[State], bool]]] = [
    ("size(quorum.isr) = 1", lambda s: len(s["quorum"]["isr"]) == 1),
    ("array_contains(quorum.isr, 1) AND NOT quorum.leader IS NULL",
     lambda s: 1 in s["quorum"]["isr"] and s["quorum"]["leader"] is not None),
    ("NOT (quorum.leader = 0)", lambda s: s["quorum"]["leader"] not in (None, 0)),
    ("quorum.leader <> 0 OR level > 5", lambda s: s["quorum"]["leader"] not in (None, 0) or s["level"] > 5),
    ("replica[0].leader = replica[1].leader",
     lambda s: s["replica"][0]["leader"] == s["replica"][1]["leader"] is not None),
    ("log[0][1].id = 1", lambda s: len(s["log"][0]) > 1 and s["log"][0][1]["id"] == 1),
    ("log[0][7].id = 1", lambda s: False),
    ("level <= 3 AND (level >= 2 AND -1 < level)", lambda s: 2 <= s["level"] <= 3),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_a_condition_means_what_it_means_in_sql(
    dataset: Path, states: list[State], condition: str, holds: Callable[[State], bool]
) -> None:
    table = count(dataset, f"SELECT count(*) FROM states WHERE {condition}")
    assert table.to_pylist() == [{"count(1)": sum(map(holds, states))}]


def test_groups_have_their_counts_extremes_and_sums(dataset: Path, states: list[State]) -> None:
    sql = "SELECT quorum.leader, count(*) n, min(level) lo, max(level) hi, sum(level) s FROM states GROUP BY 1 ORDER BY 1"
    expected = []
    for leader in (None, 0, 1):
        levels = [state["level"] for state in states if state["quorum"]["leader"] == leader]
        expected.append({"leader": leader, "n": len(levels), "lo": min(levels), "hi": max(levels), "s": sum(levels)})
    assert count(dataset, sql).to_pylist() == expected


def test_rows_are_grouped_by_sets_and_by_computed_values_too(dataset: Path, states: list[State]) -> None:
    rows = count(dataset, "SELECT quorum.isr, count(*) AS n FROM states GROUP BY quorum.isr").to_pylist()
    assert {tuple(row["isr"]): row["n"] for row in rows} == tally(states, lambda state: tuple(state["quorum"]["isr"]))
    sql = "SELECT size(log[0]) AS ends, count(*) AS n FROM states GROUP BY ends ORDER BY n DESC"
    rows = count(dataset, sql).to_pylist()
    assert [(row["ends"], row["n"]) for row in rows] == tally(states, log_end).most_common()


def test_nulls_and_what_is_distinct_count_as_in_sql(dataset: Path, states: list[State]) -> None:
    sql = "SELECT count(DISTINCT quorum.leader) AS kinds, count(quorum.leader) AS some, count(*) AS n FROM states"
    some = sum(state["quorum"]["leader"] is not None for state in states)
    assert count(dataset, sql).to_pylist() == [{"kinds": 2, "some": some, "n": len(states)}]
    nothing = "SELECT count(*) AS n, max(level) AS top FROM states WHERE level > 1000"
    assert count(dataset, nothing).to_pylist() == [{"n": 0, "top": None}]
    assert count(dataset, "SELECT level, count(*) AS n FROM states WHERE level > 1000 GROUP BY level").num_rows == 0


@pytest.mark.parametrize(
    ("order", "leaders"),
    [("leader", [None, 0, 1]), ("leader DESC", [1, 0, None]), ("1 NULLS LAST", [0, 1, None]),
     ("leader DESC NULLS FIRST", [None, 1, 0])],
)  # fmt: skip
def test_the_order_and_the_limit_are_those_of_the_query(dataset: Path, order: str, leaders: list[int | None]) -> None:
    sql = f"SELECT quorum.leader, count(*) AS n FROM states GROUP BY quorum.leader ORDER BY {order}"
    assert [row["leader"] for row in count(dataset, sql).to_pylist()] == leaders
    assert [row["leader"] for row in count(dataset, f"{sql} LIMIT 2").to_pylist()] == leaders[:2]
    assert count(dataset, sql, most=1).num_rows == 1


LEFT_TO_SPARK = [
    "SELECT * FROM levels",
    "SELECT level FROM states",
    "SELECT level + 1, count(*) FROM states GROUP BY 1",
    "SELECT size(quorum.isr), count(*) FROM states GROUP BY 1",
    "SELECT max(level) FROM states",
    "SELECT count(1) FROM states",
    "SELECT avg(level) AS a FROM states",
    "SELECT count(*) FROM states s",
    "SELECT count(*) FROM states, levels",
    "SELECT count(*) FROM states JOIN levels ON true",
    "SELECT count(*) FROM (SELECT * FROM states)",
    "SELECT count(*) FROM states TABLESAMPLE (10 ROWS)",
    "SELECT count(*) FROM states WHERE true",
    "SELECT count(*) FROM states WHERE 1 = 1",
    "SELECT count(*) FROM states WHERE level = '3'",
    "SELECT count(*) FROM states WHERE LEVEL = 3",
    "SELECT count(*) FROM states WHERE level = 1.5",
    "SELECT count(*) FROM states WHERE level BETWEEN 1 AND 2",
    "SELECT count(*) FROM states WHERE level IN (SELECT 1)",
    "SELECT count(*) FROM states WHERE exists(replica, r -> r.leader = 1)",
    "SELECT count(*) FROM states WHERE quorum.isr = array(0)",
    "SELECT count(*) FROM states WHERE nonsense = 1",
    "SELECT count(*) FILTER (WHERE level > 1) AS n FROM states",
    "SELECT DISTINCT level, count(*) AS n FROM states GROUP BY level",
    "SELECT level, count(*) AS n FROM states GROUP BY level HAVING n > 1",
    "SELECT level, count(*) AS n FROM states GROUP BY ROLLUP (level)",
    "SELECT level, count(*) AS n FROM states",
    "SELECT count(*) AS n, max(level) AS n FROM states",
    "SELECT count(*) FROM nowhere",
    "SELECT count(*) FROM states; SELECT count(*) FROM states",
    "SELECT count(* FROM states",
    "DROP TABLE states",
]


@pytest.mark.parametrize("sql", LEFT_TO_SPARK)
def test_what_may_mean_something_else_is_left_to_spark(dataset: Path, sql: str) -> None:
    with pytest.raises(NeedsSpark):
        count(dataset, sql)


@pytest.mark.long
@pytest.mark.spark
def test_spark_answers_the_same_down_to_names_and_types_of_columns(dataset: Path) -> None:
    queries = [f"SELECT count(*) AS n FROM states WHERE {condition}" for condition, _ in CONDITIONS]
    queries += [
        "SELECT count(*) FROM transitions",
        "select level, count(*) from states where size(quorum.isr) = 1 group by level order by level",
        "SELECT replica[0].hw AS hw, count(*) AS n FROM states GROUP BY replica[0].hw ORDER BY 2 DESC, hw",
        "SELECT quorum.leader, count(*), min(level) lo, max(level) hi, sum(level) s FROM states GROUP BY 1 ORDER BY 1",
        "SELECT quorum.leader, count(*) n FROM states GROUP BY 1 ORDER BY leader DESC NULLS FIRST LIMIT 2",
        "SELECT quorum.isr, count(*) n FROM states GROUP BY quorum.isr ORDER BY isr",
        "SELECT count(DISTINCT quorum.leader) n, count(quorum.leader) m FROM states WHERE array_contains(quorum.isr, 1)",
        "SELECT log[0][1].id AS l, count(*) n FROM states GROUP BY 1 ORDER BY 1",
        "SELECT action, count(*) AS n FROM transitions GROUP BY action ORDER BY n DESC, action LIMIT 3",
        "SELECT count(*) AS n, max(level) AS m FROM states WHERE level > 1000",
    ]
    with spark_driver(SparkSettings("local[2]", CONF)) as driver:
        for sql in queries:
            mine, theirs = count(dataset, sql), answer_sql(driver, str(dataset), sql)
            assert mine.to_pylist() == theirs.to_pylist(), sql
            assert mine.schema.names == theirs.schema.names
            assert [str(field.type) for field in mine.schema] == [str(field.type) for field in theirs.schema], sql
