"""What the shell completes is what the command takes."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from acked.cli import cli


def completed(*words: str) -> list[str]:
    """What may stand in place of the last word."""
    *before, begun = words
    return [item.value for item in ShellComplete(cli, {}, "acked", "_ACKED_COMPLETE").get_completions(list(before), begun)]


@pytest.mark.parametrize("words", [
    "audit server.properties --kafka-version 4.", "audit upgrade --to 4.", "audit plan p.json --kafka-version 4.",
    "audit matrix --kafka-version 3.9,4.", "roll --kafka-version 4.", "list partition --kafka-version 4.",
    "check kip320 --kafka-version 4.", "kafka fetch 4.", "kafka fetch 3.9.0 4.", "reproduce x.json --kafka 4.",
    "kafka exercise --kafka 4.", "hunt --kafka 4.",
])  # fmt: skip
def test_releases_are_completed_wherever_one_is_named(words: str) -> None:
    found = completed(*words.split())
    assert any(one.rpartition(",")[2].startswith("4.1") for one in found)
    assert all(one.startswith(words.split()[-1]) for one in found)


def test_where_brokers_are_started_whole_releases_are_completed() -> None:
    assert {"4.1.0", "4.1.1"} <= set(completed("kafka", "fetch", "4.1"))
    assert "4.1" not in completed("reproduce", "x.json", "--kafka", "4.1")


@pytest.mark.parametrize(("words", "expected"), [
    ("audit --ask lo", ["loss"]),
    ("audit --ask loss,du", ["loss,duplicates"]),
    ("audit --faults one-", ["one-machine", "one-lossy"]),
    ("audit --faults one-lossy,zo", ["one-lossy,zombies"]),
    ("audit --require re", ["reordering"]),
    ("audit --require loss=one-m", ["loss=one-machine"]),
    ("audit --require loss=one-lossy+zo", ["loss=one-lossy+zombies"]),
    ("audit --require loss=clean,van", ["loss=clean,vanishing"]),
    ("audit upgrade --require dup", ["duplicates"]),
    ("list part", ["partition"]),
])  # fmt: skip
def test_questions_and_faults_are_completed_within_a_list(words: str, expected: list[str]) -> None:
    assert completed(*words.split()) == expected


def test_specs_are_completed_where_one_is_played() -> None:
    assert "kip320" in completed("reproduce", "kip32")
