"""The messages of Kafka's loggers are read from its sources, and the table of damaged lines says that they are found."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tools.lines.wordings import LEVELS, Said, calls, spans

CHECKOUT = Path(__file__).resolve().parents[2]
PARTITION = "kafka.cluster.Partition"


@pytest.mark.parametrize(
    ("source", "level", "text"),
    [
        ('debug(s"Submitting ISR state change $proposed")', "debug", "Submitting ISR state change {}"),
        ('info(s"ISR updated to ${isr.mkString(",")} " +\n  s"and version updated to $version")', "info",
         "ISR updated to {} and version updated to {}"),
        ('log.info("Node {} altered {}-{}.", node, topic, partition);', "info", "Node {} altered {}-{}."),
        ('LOG.warn("Truncating " + name + " to offset {}", offset);', "warn", "Truncating {} to offset {}"),
        ('trace("Received %d bytes and hw %d" .format(bytes, hw))', "trace", "Received {} bytes and hw {}"),
        ('logger.error(s"""It said "no" to $who""")', "error", 'It said "no" to {}'),
    ],
)  # fmt: skip
def test_a_log_call_gives_its_text_with_braces_for_values(source: str, level: str, text: str) -> None:
    assert list(calls(f"class A {{ {source} }}", PARTITION)) == [Said(PARTITION, LEVELS[level], text)]


def test_calls_of_the_logger_of_state_changes_are_its_own_and_comments_are_no_calls() -> None:
    source = '// info("no")\n/* warn("nor") */ stateChangeLogger.withControllerEpoch(epoch)\n  .info(s"Changed $partition")'
    assert list(calls(source, "")) == [Said("state.change.logger", "INFO", "Changed {}")]


def test_releases_are_told_as_spans() -> None:
    assert spans(["2.8", "3.3", "3.4", "3.9", "4.1", "4.2", "4.3", "4.4"]) == "2.8-3.4,3.9,4.1-4.4"


def test_of_the_lines_that_are_damaged_95_of_100_are_found_and_none_by_refusing_the_file() -> None:
    with (CHECKOUT / "docs" / "wrong_lines.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tried, found, refused = (sum(int(row[name]) for row in rows) for name in ("tried", "not explained", "refused"))
    assert len({row["line"] for row in rows}) >= 16
    assert tried >= 300
    assert found >= 0.95 * tried
    assert found + refused + sum(int(row["valid"]) for row in rows) == tried
