"""What releases changed: every table names constants and releases that there are, and rules are by default as in `latest`."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

from acked.base.release import LATEST
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.context import constants_in, switch
from acked.model.language.protocol import Protocol
from acked.model.partition.rules import settings as of_partition
from acked.model.releases import History
from tests.shipped import history_of, with_releases

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


@pytest.mark.parametrize("protocol", with_releases(), ids=attrgetter("name"))
def test_every_rule_has_a_release_and_is_by_default_as_in_latest(protocol: Protocol) -> None:
    latest, rules = protocol.profile(LATEST, None), import_module(f"{with_releases()[protocol]}.settings").RULES
    table = history_of(protocol).table
    unknown = [rule.name for rule in rules if rule.name not in latest]
    assert unknown == [], f"say in {table} from which release on they are"
    wrong = [rule.name for rule in rules if rule.default != latest[rule.name].value]
    assert wrong == [], f"their default is another than the last in {table}; change one of the two"


def test_protocols_with_releases_are_those_that_have_a_profile() -> None:
    assert set(with_releases()) == {PROTOCOLS[name] for name in PROTOCOLS if PROTOCOLS[name].has_profiles}


def test_a_constant_belongs_to_the_group_at_the_end_of_its_section() -> None:
    declared: dict[str, object] = {"brokers": of_partition.replicas, "HIGHEST": 14}
    sizes = constants_in(declared)
    declared |= {"SIZES": sizes, "checks": checks}
    assert (sizes, constants_in(declared, sizes)) == ((of_partition.replicas,), (checks,))
