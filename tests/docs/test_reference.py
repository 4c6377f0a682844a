"""The reference pages have every key: of spec files, of JSON documents, and every reason for which the gate is red."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.spec.expectation import Reason
from acked.checker.spec.spec import parse_spec
from acked.cluster.exercising.course import Kind
from acked.cluster.exercising.exercise import Exercise, Exercised
from acked.cluster.reports.observations.exercising import Round, exercise_document
from tests.docs.test_pages import CHECKOUT
from tools.examples import run

SPEC = """\
title = "t"
protocol = "kip320"
[constants]
replicas = 1
log_size = 1
max_records = 1
max_leader_epoch = 0
"""
TABLES = {
    "": "nothing_such = 1\n" + SPEC,
    "check": SPEC + "[check]\nnothing_such = 1\n",
    "expect": SPEC + '[check]\ninvariants = ["WeakIsr"]\n[expect]\nnothing_such = 1\n',
    "weaken": SPEC + '[check]\ninvariants = ["WeakIsr"]\n[weaken]\nnothing_such = 1\n',
    "claim": SPEC + '[check]\ninvariants = ["WeakIsr"]\n[claim]\nnothing_such = 1\n',
    "gallery": SPEC + '[check]\ninvariants = ["WeakIsr"]\n[gallery]\nnothing_such = 1\n',
    "fairness": SPEC + '[check]\ninvariants = ["WeakIsr"]\n[fairness]\nnothing_such = 1\n',
    "invariants.Mine": SPEC + '[check]\ninvariants = ["Mine"]\n[invariants.Mine]\nnothing_such = 1\n',
    "liveness.Mine": SPEC + "[liveness.Mine]\nnothing_such = 1\n",
}
"""A spec for every table, with a key that there is not: the refusal lists those that there are."""


def page(name: str) -> str:
    return (CHECKOUT / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize("table", TABLES)
def test_the_page_about_specs_has_every_key(table: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_spec(TABLES[table], Path("spec.toml"))
    known = re.findall(r"\w+", str(refused.value).rpartition("known are ")[2])
    assert len(known) > 0
    text = page("specs.md")
    assert [key for key in known if not re.search(rf"`[^`]*\b{key}\b[^`]*`", text) and key != "and"] == []


def keys(value: object) -> set[str]:
    """The keys of a document, but not those that are names of fields, constants and the like."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    named = {"constants", "state", "params", "actions", "levels"}
    inner = [item for key, item in value.items() if key not in named and not (key == "properties" and isinstance(item, dict))]
    return set(value).union(*map(keys, inner))


@pytest.mark.slow
def test_the_page_about_json_has_every_key_of_a_check_and_of_a_trace(tmp_path: Path) -> None:
    _, output = run("acked check truncate-to-hw --format json --quiet", tmp_path, 0)
    found = keys(json.loads(output))
    assert {"verdict", "distinct_states", "violations", "steps", "changed"} <= found
    assert [key for key in sorted(found) if f"`{key}`" not in page("json.md")] == []


@pytest.mark.parametrize("hours", [None, 1.0])
def test_the_page_about_json_has_every_key_of_an_exercise(hours: float | None) -> None:
    asked = Exercise("4.1.0", 1.0, 0, partitions=2, hours=hours)
    done = Exercised(asked, "exercise", 0, Path("logs"), 60.0, 2, 1, ((0, 1),), ("passed over",), 1, {Kind.KILL: 1}, 0)
    told = exercise_document(asked, [Round(done, ())])
    assert told.pop("disturbances", {"kill": 1}) == {"kill": 1}
    found = keys(told) - {kind.value for kind in Kind}
    assert {"rounds", "seconds"} & found
    assert [key for key in sorted(found) if f"`{key}`" not in page("json.md")] == []


def test_the_page_about_ci_has_every_reason_for_red() -> None:
    assert [reason.value for reason in Reason if f"`{reason.value}`" not in page("ci.md")] == []
