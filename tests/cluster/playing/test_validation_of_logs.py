"""What brokers that have played a run logged is validated, and the answer says so in every form."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from acked.cluster.playing.reproduce import Found, LogValidation, can_be_validated, validate_logs
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.reading import read_answer
from acked.cluster.reports.reproductions.verdict import Ending
from acked.cluster.reports.reproductions.words import verdicts_in_words
from tests.cluster.reports.made import answer, prepared
from tests.observations import LINES


def written(folder: Path, old: str = "", new: str = "") -> Path:
    """The files of a recorded run of 4.4.0, of which one broker's may say something else."""
    for node in (0, 1, 2, 100):
        text = gzip.decompress((LINES / "k4-s1" / f"{node}.log.gz").read_bytes()).decode()
        (folder / f"{node}.log").write_text(text.replace(old, new) if old else text, "utf-8")
    return folder


@pytest.mark.slow
def test_logs_that_are_a_behaviour_are_explained_and_others_are_named_with_the_reason(tmp_path: Path) -> None:
    assert validate_logs(written(tmp_path), "t", "4.4.0") == LogValidation(Found.EXPLAINED, 31)
    offsets = ("last offset: 1, first offset: 1, next offset: 2", "last offset: 2, first offset: 2, next offset: 3")
    changed = written(tmp_path, *offsets)
    found = validate_logs(changed, "t", "4.4.0")
    assert (found.found, found.said.partition(":")[0]) == (Found.NOT_EXPLAINED, "0.log")
    assert "the line says first offset 2, and by the rules it is 1" in found.said


def test_logs_that_are_not_understood_are_not_judged(tmp_path: Path) -> None:
    changed = written(tmp_path, "Recorded replica 1", "Noted replica 1")
    found = validate_logs(changed, "t", "4.4.0")
    assert found.found is Found.NOT_READ
    assert found.said.startswith("0.log:")
    assert "worded in a way that acked does not know" in found.said


@pytest.mark.parametrize(
    ("found", "ending", "says"),
    [
        (LogValidation(Found.EXPLAINED, 12), Ending.GOOD, "logged meanwhile, 12 events, is a behaviour of the model"),
        (LogValidation(Found.EXPLAINED, 1, "LeaderHwStays"), Ending.GOOD, "of the model; in it LeaderHwStays does not hold"),
        (LogValidation(Found.NOT_EXPLAINED, 3, None, "0.log:7"), Ending.BAD, "is not a behaviour of the model: 3 events"),
        (LogValidation(Found.NOT_READ, said="a reason"), Ending.OPEN, "could not be validated: a reason"),
    ],
)
def test_it_is_said_after_the_verdict_and_kept_in_the_document(
    tmp_path: Path, found: LogValidation, ending: Ending, says: str
) -> None:
    plain = answer(control=0)
    assert plain.control is not None
    shown = replace(plain, first=replace(plain.first, observed=found), control=replace(plain.control, observed=found))
    told = verdicts_in_words(shown)
    assert [item for item in told if says in item[1]] == [told[1], told[3]]
    assert told[1][0] is told[3][0] is ending
    assert "the control's brokers" in told[3][1]
    assert shown.judgement == plain.judgement
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(answer_document(shown, {})), "utf-8")
    back, _ = read_answer(saved)
    assert verdicts_in_words(back) == told


def test_only_releases_whose_lines_are_read_are_validated() -> None:
    made = prepared()
    assert can_be_validated(made)
    assert not can_be_validated(replace(made, brokers=Brokers("3.9.1", Mode.ZOOKEEPER)))
