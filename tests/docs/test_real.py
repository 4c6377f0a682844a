"""docs/real.md is made from what was measured, and what was measured is what the tests of real brokers expect."""

from __future__ import annotations

import json

import pytest

from tests.places import CHECKOUT
from tools.real import cases, key_of, page

MEASURED = json.loads((CHECKOUT / "docs" / "real_measured.json").read_text("utf-8"))


def test_the_page_is_made_from_what_was_measured() -> None:
    assert (CHECKOUT / "docs" / "real.md").read_text("utf-8") == page(MEASURED)


@pytest.mark.parametrize("case", [case for case in cases() if key_of(case) in MEASURED], ids=key_of)
def test_what_was_measured_is_what_the_tests_expect(case: dict[str, object]) -> None:
    found = MEASURED[key_of(case)]
    assert (found["reproduced"], found["parted"]) == (found["runs"], [])
    if "control" in case:
        assert (found["kept"], found["parts"]) == (found["runs"], [case["parts"]])


def test_a_case_is_there_once() -> None:
    keys = [key_of(case) for case in cases()]
    assert len(keys) == len(set(keys))
    assert sum(bool(case.get("ci")) for case in cases()) >= 4
