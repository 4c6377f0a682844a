"""Many specs as Spark tasks: every one has its answer, also when another one dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.bounds import Bounds
from checker.many import SpecAnswer, _in_a_process, answer_many
from checker.search import search
from checker.sparksession import SparkDriver, SparkSettings
from checker.spec import load_spec

SPECS = Path(__file__).resolve().parents[2] / "specs"
SMALL = ["kip101-2221", "kip320-2221", "truncate-to-hw-2221-weak"]


def paths(names: list[str]) -> list[Path]:
    return [next(SPECS.rglob(f"{name}.toml")) for name in names]


@pytest.mark.spark
def test_every_spec_is_answered_as_by_a_search_of_its_own(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("title = 1")
    with SparkDriver(SparkSettings("local[2]"), tmp_path / "spark.log") as driver:
        answers = answer_many(driver, [*paths(SMALL), broken], memory=1 << 28)
        starved = answer_many(driver, paths(["kip320-3221"]), memory=50_000)
    assert [answer.name for answer in answers] == [*SMALL, "broken"]
    for path, answer in zip(paths(SMALL), answers[:3], strict=True):
        spec = load_spec(path)
        result = search(spec.question(), Bounds(1, 1 << 28))
        assert (answer.verdict, answer.distinct_states, answer.generated_states, answer.depth) == (
            result.verdict.value,
            result.distinct_states,
            result.generated_states,
            result.depth,
        )
        assert answer.actions == {name: (count.enabled, count.new) for name, count in result.actions.items()}
        assert answer.violated == tuple((item.property.name, item.trace_length) for item in result.violations)
        assert answer.differences == ()
        assert answer.error is None
    assert answers[3].verdict is None
    assert "title" in str(answers[3].error)
    assert (starved[0].verdict, starved[0].stopped) == ("incomplete", "memory")


def test_a_search_that_is_killed_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    boot = "import os, sys; sys.stdin.read(); os.kill(os.getpid(), 9)"
    monkeypatch.setattr("checker.many._BOOT", boot)
    answer = _in_a_process("victim", b"", None, None, 1)
    assert answer == SpecAnswer("victim", error=answer.error)
    assert str(answer.error).startswith("the search of victim was ended by SIGKILL after")
    monkeypatch.setattr("checker.many._BOOT", "raise SystemExit('no room')")
    assert _in_a_process("victim", b"", None, None, 1).error == "the search of victim ended with code 1: no room"


def test_a_search_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.many._BOOT", "import time; time.sleep(600)")
    assert _in_a_process("slow", b"", None, 0.5, 1).error == "slow was not answered within 0.5 seconds"
