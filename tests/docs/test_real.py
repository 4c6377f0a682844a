"""What was measured is what the tests of real brokers expect, and lists and tables say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.checker.spec.variants import name_of, specs_under
from acked.cluster.reports.reproductions.release_table import Deed, read_release
from acked.cluster.reports.reproductions.verdict import Verdict
from tests.places import CHECKOUT
from tools.real import cases, in_lists, key_of, outcome_of, played, whole_releases
from tools.real_stories import NINE, OTHERS

MEASURED = json.loads((CHECKOUT / "docs" / "real_measured.json").read_text("utf-8"))


@pytest.mark.parametrize("case", [case for case in cases() if key_of(case) in MEASURED], ids=key_of)
def test_what_was_measured_is_what_the_tests_expect(case: dict[str, object]) -> None:
    found = MEASURED[key_of(case)]
    word, times = outcome_of(found)
    assert (word.value, times, found["parted"]) == (case.get("outcome", "reproduced"), found["runs"], [])
    if "control" in case:
        assert found["controls"] > 0
        assert found["parts"] == [case["parts"]]
        assert found["kept"] == (found["controls"] if word is Verdict.REPRODUCED else 0)


def test_a_spec_has_one_word_in_all_tables_of_the_page() -> None:
    """As `quorum-isr-2-elects`, whose promise brokers do not show."""
    rows = [line.split(" | ") for line in (*played(), *whole_releases()) if line.startswith("| `")]
    words: dict[str, set[str]] = {}
    for row in rows:
        found = {word for word in ("reproduced", "as the model says") if any(word in cell for cell in row[1:])}
        words.setdefault(row[0].split("`")[1], set()).update(found)
    assert words["quorum-isr-2-elects"] == {"as the model says"}
    assert words["kafka7415-bug"] == {"reproduced"}
    assert [name for name, found in words.items() if len(found) > 1] == []


@pytest.mark.parametrize("path", sorted((CHECKOUT / "docs" / "real_releases").glob("*.json")), ids=lambda path: path.stem)
def test_what_a_whole_release_did_is_whole_and_nothing_stayed_undecided(path: Path) -> None:
    whole = read_release(json.loads(path.read_text("utf-8")))
    assert (whole.version, whole.is_whole) == (path.stem, True)
    assert whole.count(Deed.NOT_DECIDED) == whole.count(Deed.PARTED) == 0
    assert whole.count(Deed.REPRODUCED) >= 20


def test_stories_end_as_they_are_told_every_time() -> None:
    counted = json.loads((CHECKOUT / "docs" / "real_stories.json").read_text("utf-8"))
    nine, others = {one.story for one in NINE}, {one.story for one in OTHERS}
    assert {one["story"] for one in counted.values()} == nine | others
    assert [key for key, one in counted.items() if one["as_told"] != one["runs"]] == []
    assert [key for key, one in counted.items() if one["runs"] < (10 if one["story"] in nine else 3)] == []


@pytest.mark.slow
def test_lists_say_what_was_measured() -> None:
    told = json.loads((CHECKOUT / "specs" / "on_brokers.json").read_text("utf-8"))
    assert told == in_lists(MEASURED)
    assert told["kafka7415-bug"] == "reproduced on 2.0.0, not on 2.0.1"


def test_fifteen_rows_and_twenty_five_claims_have_a_control_that_keeps_the_promise() -> None:
    measured = [(case, MEASURED[key_of(case)]) for case in cases() if key_of(case) in MEASURED]
    controlled = [case for case, one in measured if one["kept"] == one["controls"] > 0]
    folders = {name_of(path): path.parent.name for path in specs_under(CHECKOUT / "specs")}
    assert len({case["row"] for case in controlled if "row" in case}) >= 15
    assert len({case["spec"] for case in controlled if folders[case["spec"]] == "claims"}) >= 25


def test_a_case_is_there_once() -> None:
    keys = [key_of(case) for case in cases()]
    assert len(keys) == len(set(keys))
    assert sum(bool(case.get("ci")) for case in cases()) >= 4
