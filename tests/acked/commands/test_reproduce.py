"""`acked reproduce` and `acked kafka`: what is refused before anything starts, and what there is to start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.asking.output import TraceFile
from acked.checker.question.result import Counterexample
from acked.cli import main
from tests.cluster.playing.runs import question, run


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["acks-1-loses", "--kafka", "9.9.9"], 151, "Kafka 9.9.9 is not a release that acked can start"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control-plane", "zookeeper"], 151, "cannot be started with zookeeper"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control", "4.1"], 151, "Kafka 4.1 is not a release"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control", "acks="], 151, "neither a release nor KEY=VALUE"),
        (["truncate-to-hw", "--kafka", "4.1.0"], 151, "real brokers play traces of partition"),
        pytest.param(
            ["acks-1-min-insync", "--kafka", "4.1.0", "-c", "acks=all"], 151, "has no counterexample to play",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *arguments, "-q"]) == code
    [line] = said(capsys).splitlines()
    assert words in line


def test_a_saved_trace_that_cannot_be_played_is_refused_with_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    asked = question("2.1", replicas=2, unnoticed_restarts=True)
    step = "RestartUnnoticed(broker=1, log_end=0, checkpoint=0)"
    TraceFile(trace).write(Counterexample("back unnoticed", asked, run(asked, [step])))
    assert main(["reproduce", str(trace), "--kafka", "2.1.1", "-q"]) == 151
    assert f"step 1 of 1, {step}: a broker cannot register again" in said(capsys)


def test_the_releases_that_can_be_started_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "list", "--format", "json"]) == 0
    found = {one["release"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["4.1.0"]["control_planes"] == ["kraft"]
    assert found["3.9.1"]["control_planes"] == ["zookeeper", "kraft"]
    assert main(["kafka", "list"]) == 0
    assert "3.9.1" in capsys.readouterr().out


def test_a_release_that_there_is_not_is_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "fetch", "1.2.3", "-q"]) == 151
    assert "Kafka 1.2.3 is not a release" in said(capsys)
