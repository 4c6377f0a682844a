"""Controllers that are disturbed: what is asked of releases, and unmodified ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.cli import main
from acked.cluster.exercising.quorum import QuorumExercise
from tests.cluster.conftest import real_plan


@pytest.mark.parametrize(("version", "is_static"), [("3.8.1", True), ("3.9.1", False), ("4.4.0", False)])
def test_voters_are_static_before_3_9(version: str, is_static: bool) -> None:
    assert QuorumExercise(version, 3, 1.0, 0).is_static == is_static


def test_controllers_are_not_disturbed_as_brokers_are(capsys: pytest.CaptureFixture[str]) -> None:
    for options in (("--faults", "kill"), ("--hours", "1")):
        assert main(["kafka", "exercise", "--kafka", "4.4.0", "--controllers", "3", *options]) == 151
        assert "leave out --hours, --faults" in capsys.readouterr().err


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "3.7.2"])
def test_controllers_that_are_disturbed_keep_what_was_acknowledged_and_their_lines_are_valid(
    version: str, users_cache: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real_plan(version, {})
    command = ["kafka", "exercise", "--kafka", version, "--controllers", "3", "--minutes", "1", "-q", "--format", "json"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["acknowledged"] > 3
    assert sum(done["disturbances"].values()) > 1
    assert done["validation"]["controllers"] == [0, 1, 2]
    assert done["validation"]["leaders"]
    assert done["validation"]["high_watermarks"]
