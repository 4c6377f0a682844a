"""docs/real.md is made from what was measured, and what was measured is what the tests of real brokers expect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.reports.reproductions.release_table import Deed, read_release
from tests.places import CHECKOUT
from tools.real import cases, key_of, page
from tools.real_stories import NINE

MEASURED = json.loads((CHECKOUT / "docs" / "real_measured.json").read_text("utf-8"))


def test_the_page_is_made_from_what_was_measured() -> None:
    assert (CHECKOUT / "docs" / "real.md").read_text("utf-8") == page(MEASURED)


@pytest.mark.parametrize("case", [case for case in cases() if key_of(case) in MEASURED], ids=key_of)
def test_what_was_measured_is_what_the_tests_expect(case: dict[str, object]) -> None:
    found = MEASURED[key_of(case)]
    assert (found["reproduced"], found["parted"]) == (found["runs"], [])
    if "control" in case:
        assert (found["kept"], found["parts"]) == (found["runs"], [case["parts"]])


@pytest.mark.parametrize("path", sorted((CHECKOUT / "docs" / "real_releases").glob("*.json")), ids=lambda path: path.stem)
def test_what_a_whole_release_did_is_whole_and_nothing_stayed_undecided(path: Path) -> None:
    whole = read_release(json.loads(path.read_text("utf-8")))
    assert (whole.version, whole.is_whole) == (path.stem, True)
    assert whole.count(Deed.NOT_DECIDED) == whole.count(Deed.PARTED) == 0
    assert whole.count(Deed.REPRODUCED) >= 20


def test_stories_end_as_they_are_told_every_time() -> None:
    counted = json.loads((CHECKOUT / "docs" / "real_stories.json").read_text("utf-8"))
    assert {one["story"] for one in counted.values()} == {one.story for one in NINE}
    assert [key for key, one in counted.items() if one["as_told"] != one["runs"] or one["runs"] < 10] == []


def test_a_case_is_there_once() -> None:
    keys = [key_of(case) for case in cases()]
    assert len(keys) == len(set(keys))
    assert sum(bool(case.get("ci")) for case in cases()) >= 4
