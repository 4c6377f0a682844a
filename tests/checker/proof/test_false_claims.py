"""What is false is not proved: the table of docs/proofs.md is of the specs that there are, and some are asked again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acked.checker.question.result import Verdict
from acked.checker.spec.spec import load_spec
from acked.reports.shell.bundled import bundled_of
from tests.places import CHECKOUT, SPECS
from tools import false_claims as tool

ANSWERS: dict[str, dict[str, dict[str, Any]]] = json.loads((CHECKOUT / "docs" / "false_claims.json").read_text("utf-8"))


@pytest.mark.slow
def test_forty_claims_are_asked_that_a_shipped_spec_expects_to_be_violated() -> None:
    asked = tool.claims()
    assert len(asked) == len({item.name for item in asked}) == 40
    for item in asked:
        assert bundled_of(item.name) is not None
        assert item.spec.expect is not None
        assert item.spec.expect.verdict is Verdict.VIOLATED
        assert item.steps >= 1
    assert list(ANSWERS) == [item.name for item in asked]


def test_none_of_them_holds_and_at_least_thirty_are_decided() -> None:
    for name, told in ANSWERS.items():
        assert set(told) == set(tool.WAYS), name
        for way, answer in told.items():
            assert answer["verdict"] in ("violated", "incomplete", tool.REFUSED, tool.TIME_OUT), (name, way)
            assert answer["seconds"] > 0
    assert sum(map(tool.is_decided, ANSWERS.values())) >= 30
    assert tool.wrong(ANSWERS) == []


@pytest.mark.slow
def test_the_table_has_a_line_for_every_claim_and_its_ways() -> None:
    lines = [*tool.part()]
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == [*ANSWERS]
    assert {line.count("|") for line in lines if line.startswith("| ")} == {len(tool.WAYS) + 4}


@pytest.mark.slow
def test_what_is_false_and_holds_is_told() -> None:
    name = next(iter(ANSWERS))
    answers = {**ANSWERS, name: {**ANSWERS[name], "induction": {"verdict": "holds", "seconds": 1.0}}}
    assert tool.wrong(answers) == [f"{name} (induction)"]
    assert "and 1 *holds* in any" in " ".join(tool.table(tool.claims(), answers))


def test_a_process_that_takes_too_long_is_ended_and_is_a_time_out() -> None:
    claim = tool.claims()[0]
    assert tool.answer(claim, "induction", 0.05) == {"verdict": tool.TIME_OUT, "seconds": 0.1}


@pytest.mark.slow
def test_a_claim_that_the_argument_does_not_prove_is_refused_for_all_constants() -> None:
    spec = load_spec(SPECS / "claims" / "refused-is-not-written.toml")
    assert tool.answer(tool.FalseClaim(spec, 0), "all constants")["verdict"] == tool.REFUSED


@pytest.mark.long
@pytest.mark.parametrize("number", range(0, 40, 5))
def test_some_of_them_are_asked_again(number: int) -> None:
    claim = tool.claims()[number]
    told = {way: tool.answer(claim, way) for way in tool.WAYS}
    assert "holds" not in {answer["verdict"] for answer in told.values()}
    assert tool.is_decided(told), told
