"""The settings that prevent a finding: what the pages of docs/found say is what the searches say."""

from __future__ import annotations

import json

import pytest

from tools.answers.settings import ANSWERS, FINDINGS, answer, choices, preventing

EPOCH = "gallery/kip890-late-produce-bug"


@pytest.mark.slow
def test_of_all_settings_and_pairs_only_transaction_version_2_prevents_that_a_client_keeps_its_epoch() -> None:
    rows = [(values, *answer(EPOCH, values, 2_000_000)) for values in choices(EPOCH)]
    assert [values for values, _, _ in rows] == [
        {},
        *({"transaction_version": 2}, {"verification": 0}, {"timeouts": 0}),
        *({"transaction_version": 2, "verification": 0}, {"transaction_version": 2, "timeouts": 0}),
        {"verification": 0, "timeouts": 0},
    ]
    assert preventing(rows) == [{"transaction_version": 2}]
    assert {verdict for values, verdict, _ in rows if "transaction_version" not in values} == {"violated"}
    assert [list(row) for row in rows] == json.loads(ANSWERS.read_text("utf-8"))[EPOCH]["answers"]


def test_every_finding_of_the_table_has_its_answers() -> None:
    found = json.loads(ANSWERS.read_text("utf-8"))
    assert sorted(found) == sorted(FINDINGS)
    assert {name: each["version"] for name, each in found.items()} == FINDINGS
