"""A question is judged under the constants that it is asked with, not under those of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError
from acked.reports.shell.options import AskedSpec
from tests.e2e.driver import TINY, assert_one_sentence, call

NEVER_TWO = (
    TINY.replace('invariants = ["WeakIsr"]', 'invariants = ["NeverTwo"]')
    .replace("[check]", '[invariants.NeverTwo]\nholds = "not log[0].end == 2"\n[check]')
    .partition("[expect]")[0]
)
"""With log_size = 1 the log's end is never 2, whatever happens; with 2 it is a question."""

READS = """\
title = "reads"
protocol = "partition"
version = "4.1"
[constants]
replicas = 2
consumer = "none"
[check]
invariants = ["ReadsStay"]
"""
"""Without a consumer there are no reads."""


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def test_a_predicate_that_says_something_only_under_other_constants_is_asked_under_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, NEVER_TWO)
    refused = call(capsys, "check", spec, "--quiet")
    assert_one_sentence(refused, 151, f"{spec}:", "log[0].end is never 2, so this is the same in every state")
    done = call(capsys, "check", spec, "-c", "log_size=2", "-c", "max_records=2", "--quiet", "--format", "json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"]) == (12, "violated")


def test_a_predicate_that_says_nothing_under_the_constants_asked_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, NEVER_TWO.replace("log_size = 1", "log_size = 2"))
    done = call(capsys, "check", spec, "-c", "log_size=1", "--quiet")
    assert_one_sentence(done, 151, "NeverTwo: ", "log[0].end is never 2")


def test_a_property_of_a_part_that_the_command_line_switches_on_is_asked(tmp_path: Path) -> None:
    spec = written(tmp_path, READS)
    with pytest.raises(ConfigurationError, match="ReadsStay would hold vacuously"):
        AskedSpec.from_options(str(spec), constants=(), version=None, control_plane=None).load()
    asked = AskedSpec.from_options(str(spec), constants=(("consumer", "leader"),), version=None, control_plane=None).load()
    assert [item.name for item in asked.properties] == ["ReadsStay"]
