"""The state that a counterexample ends in decides every property, wherever it is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from acked import check
from acked.base.plain import from_plain, to_plain
from acked.checker.batch.outcome import Outcome
from acked.checker.spec.spec import Spec, load_spec
from acked.reports.runs.answers import answers
from tests.e2e.driver import TINY, call

BOTH = (
    TINY.replace('invariants = ["WeakIsr"]', 'invariants = ["Empty", "WeakIsr", "NeverOne"]')
    .replace(
        "[check]", '[invariants.Empty]\nholds = "log[0].end == 0"\n[invariants.NeverOne]\nholds = "log[0].end != 1"\n[check]'
    )
    .replace('verdict = "holds"', 'verdict = "violated"\nviolates = "Empty"')
)
"""Broker 0 writes its first record: that violates Empty, which is reported, and NeverOne."""


@pytest.fixture
def both(tmp_path: Path) -> Path:
    path = tmp_path / "both.toml"
    path.write_text(BOTH)
    return path


def holding(spec: Spec) -> dict[str, bool | None]:
    return {item.property.name: item.holds for item in answers(check(spec.question()))}


def test_what_the_last_state_violates_is_violated_in_the_answer(both: Path) -> None:
    """The trace used to say that it is, and the table below it that it is not so far."""
    spec = load_spec(both)
    result = check(spec.question())
    assert [item.property.name for item in result.violations] == ["Empty"]
    assert list(result.violated) == ["Empty", "NeverOne"]
    assert set(result.violated.values()) == {result.violations[0].trace_length}
    assert holding(spec) == {"Empty": False, "WeakIsr": None, "NeverOne": False}


def test_terminal_and_json_say_what_the_trace_says(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = check(load_spec(both).question()).violations[0].trace_length - 1
    text = call(capsys, "check", both, "--quiet").stdout
    (row,) = (line for line in text.splitlines() if line.split()[:1] == ["NeverOne"])
    assert f"violated in {steps} steps" in row
    assert "✗ NeverOne is violated" in text
    told = json.loads(call(capsys, "check", both, "--quiet", "--format", "json").stdout)
    assert {item["name"]: item["holds"] for item in told["properties"]} == {
        "Empty": False,
        "WeakIsr": None,
        "NeverOne": False,
    }
    assert told["expectation"] == {"met": True, "differences": []}, "the one that is reported is the one that is expected"


def test_a_bounded_proof_says_what_its_trace_says(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(call(capsys, "prove", "bmc", both, "--quiet", "--format", "json").stdout)
    assert {item["name"]: item["holds"] for item in told["properties"]} == {
        "Empty": False,
        "WeakIsr": None,
        "NeverOne": False,
    }


def test_a_gate_says_what_its_stories_say_also_from_the_cache(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome.of(check(load_spec(both).question()))
    assert from_plain(Outcome, to_plain(outcome)) == outcome
    assert list(outcome.violated) == ["Empty", "NeverOne"]
    both.write_text(BOTH.replace('violates = "Empty"', 'violates = "WeakIsr"'))
    report = both.parent / "report.xml"
    call(capsys, "gate", both, "--junit", report, "--no-cache")
    (failure,) = ET.parse(report).iter("failure")
    assert "Empty" in str(failure.text)
    assert "The same state violates NeverOne." in str(failure.text)


def test_what_is_expected_to_hold_and_is_violated_where_the_trace_ends_is_not_as_expected(
    both: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It used to be as expected: the search reports the other violation."""
    both.write_text(BOTH.replace('violates = "Empty"', 'violates = "Empty"\nholds = ["NeverOne"]'))
    done = call(capsys, "check", both, "--quiet")
    assert "violated: NeverOne; expected to hold" in done.stdout
    assert call(capsys, "gate", both, "--no-cache").returncode == 1


def test_a_violation_without_a_trace_of_its_own_is_the_shown_one(both: Path) -> None:
    result = check(load_spec(both).question())
    empty, one = result.shown
    assert (one.property.name, one.run) == ("NeverOne", empty.run)
    assert replace(result, violations=()).violated == {}
