"""What releases changed: every table names constants and releases that there are, and rules are by default as in `latest`."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.base.release import LATEST
from acked.model.delivery import settings as of_delivery
from acked.model.delivery.versions import HISTORY as DELIVERY
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, constants_in, switch
from acked.model.partition.rules import settings as of_partition
from acked.model.partition.rules.versions import HISTORY as PARTITION
from acked.model.partition.rules.versions import KRAFT
from acked.model.releases import History
from acked.model.transactions import settings as of_transactions
from acked.model.transactions.versions import HISTORY as TRANSACTIONS

checks = switch("checks", "whether somebody looks", default=True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[cheks]\n"1.0" = [true, "a source"]', r"^versions.toml has \[cheks\].*did you mean checks\?\); declare it"),
        ('[checks]\n"1.00" = [true, "a source"]', r"changes checks in 1.00, .*did you mean 1.0\?\); name it in"),
    ],
)
def test_a_table_that_names_what_is_not_there_is_refused_in_one_sentence(table: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "versions.toml"
    path.write_text(table, "utf-8")
    with pytest.raises(ModelError, match=message):
        History(("1.0", LATEST), (checks,), path).settings(LATEST)


@pytest.mark.parametrize(
    ("history", "rules", "plane"),
    [
        (PARTITION, (*of_partition.RULES, of_partition.in_flight), KRAFT),
        (TRANSACTIONS, of_transactions.RULES, None),
        (DELIVERY, of_delivery.RULES, None),
    ],
    ids=("partition", "transactions", "delivery"),
)
def test_every_rule_has_a_release_and_is_by_default_as_in_latest(
    history: History, rules: tuple[Constant, ...], plane: str | None
) -> None:
    latest = history.settings(LATEST, plane)
    unknown = [rule.name for rule in rules if rule.name not in latest]
    assert unknown == [], f"say in {history.table} from which release on they are"
    wrong = [rule.name for rule in rules if rule.default != latest[rule.name].value]
    assert wrong == [], f"their default is another than the last in {history.table}; change one of the two"


def test_a_constant_belongs_to_the_group_at_the_end_of_its_section() -> None:
    declared: dict[str, object] = {"brokers": of_partition.replicas, "HIGHEST": 14}
    sizes = constants_in(declared)
    declared |= {"SIZES": sizes, "checks": checks}
    assert (sizes, constants_in(declared, sizes)) == ((of_partition.replicas,), (checks,))
