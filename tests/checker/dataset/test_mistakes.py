"""A query with a mistake is answered before anything is searched, and one without is not held up."""

from __future__ import annotations

import re

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.dataset.mistakes import Views, refuse_mistakes, views_of_question
from acked.checker.spec.spec import load_spec
from acked.cli import main
from tests.places import SPECS


@pytest.fixture(scope="module")
def views() -> Views:
    return views_of_question(load_spec(SPECS / "kip320.toml").question())


MISTAKES = {
    "SELEC 1": "the query is not SQL: .* at “SELEC 1”",
    "SELECT count(*) form states": "the query is not SQL: .* at “SELECT count\\(\\*\\) form states”",
    "SELECT (1": r"the query is not SQL: Expecting \) at “SELECT \(1”",
    "  ": "the query is empty; write SQL",
    "SELECT count(*) FROM stats": r"there is no view 'stats' \(did you mean states\?\); there are states, ",
    "SELECT levl, count(*) FROM states GROUP BY levl": r"no column 'levl' \(did you mean level\?\); there are id, level, ",
    "SELECT count(*) FROM states WHERE Quorum.is = 1": r"Quorum has no field 'is' \(did you mean isr\?\); it has ",
    "SELECT replica[0].hww FROM states": r"replica\[…\] has no field 'hww' \(did you mean hw\?\)",
    "SELECT s.levl FROM states s": r"there is no column 'levl' \(did you mean level\?\)",
    "SELECT states.quorum.lader FROM states": r"quorum has no field 'lader' \(did you mean leader\?\)",
    "SELECT t.source FROM transitions t JOIN states s ON t.sorce = s.id": r"no column 'sorce' \(did you mean source\?\)",
    "SELECT n FROM (SELECT count(*) AS n FROM states) WHERE m > 1": "there is no column 'm'",
}


def refusal(sql: str, views: Views) -> str | None:
    try:
        refuse_mistakes(sql, views)
    except ConfigurationError as error:
        return str(error)
    return None


@pytest.mark.parametrize("sql", MISTAKES)
def test_a_mistake_is_named_with_what_was_probably_meant(views: Views, sql: str) -> None:
    assert re.search(MISTAKES[sql], refusal(sql, views) or "")


@pytest.mark.parametrize("sql", [
    "SELECT count(*) FROM states", "select LEVEL, Count(*) from STATES group by 1 order by Level desc limit 3",
    "SELECT s.quorum.isr, states.level FROM states s, states", "SELECT exists(replica, r -> r.leader = 1) FROM states",
    "SELECT transform(replica, (r, i) -> r.hw + i)[0] AS x FROM states ORDER BY x",
    "SELECT replica[0].hw, replica.hw FROM states", "SELECT x FROM states LATERAL VIEW explode(log) t AS x",
    "WITH a AS (SELECT level AS l FROM states) SELECT l FROM a WHERE l > 1",
    "SELECT col FROM (SELECT explode(quorum.isr) FROM states)", "SELECT `count(1)` FROM (SELECT count(*) FROM states)",
    "SELECT action, arguments.leader, sum(enabled) FROM transitions JOIN actions USING (action) GROUP BY ALL",
    "SELECT * FROM states WHERE id IN (SELECT target FROM transitions WHERE level = 2) UNION ALL SELECT * FROM states",
    "SELECT level AS n FROM states GROUP BY n HAVING count(*) > 1", "SELECT count(DISTINCT log[0][0]) FROM states",
    "SELECT map('a', level)['a'], struct(level AS b).b FROM states", "SHOW TABLES", "DESCRIBE states", "VALUES (1)",
    "SELECT 1; SELECT 2", "FROM states SELECT level", "SELECT level, rank() OVER (ORDER BY level) AS r FROM states",
])  # fmt: skip
def test_a_query_without_a_mistake_is_spark_s_to_answer(views: Views, sql: str) -> None:
    assert refusal(sql, views) is None


def test_nothing_is_searched_and_nothing_started_for_a_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("acked.checker.dataset.searched.search", lambda *_: pytest.fail("a search"))
    monkeypatch.setattr("acked.asking.datasets.spark_driver", lambda *_: pytest.fail("Spark"))
    assert main(["query", "kip320", "SELECT levl FROM states", "-q"]) == 151
    assert "there is no column 'levl' (did you mean level?)" in capsys.readouterr().err
    assert main(["states", "kip320", "--out", "nowhere", "--where", "size(quorum.is) = 1", "-q"]) == 151
    assert "quorum has no field 'is' (did you mean isr?)" in capsys.readouterr().err


def test_a_view_that_a_dataset_lacks_is_told_with_what_makes_it(views: Views) -> None:
    without = {name: schema for name, schema in views.items() if name != "transitions"}
    with pytest.raises(ConfigurationError, match="this dataset has no transitions; make it with --transitions"):
        refuse_mistakes("SELECT 1 FROM transitions", without)
