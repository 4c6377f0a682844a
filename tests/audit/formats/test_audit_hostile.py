"""Files of settings that nobody writes by accident: an answer in time, and a sentence."""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress
from pathlib import Path

import javaproperties
import pytest

from acked.audit.formats.parts.images import release_of_image
from acked.audit.formats.parts.properties import property_entries
from acked.audit.moves.plan import read_plan
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import SettingEntry
from tests.audit.reading import read_settings


@pytest.mark.slow
@pytest.mark.parametrize("text", [
    "a=\\\n" * 200_000, "a=" + "\\\\" * 400_000, "a=" + " " * 900_000, "#\n" * 400_000, "a" + "\t" * 900_000 + "b",
], ids=["continued", "escaped", "spaces", "comments", "a separator"])  # fmt: skip
def test_a_file_of_a_megabyte_takes_less_than_two_seconds(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.properties").write_text(f"acks=all\n{text}")
    began = time.process_time()
    assert read_settings(tmp_path / "server.properties")[0].value == "all"
    assert time.process_time() - began < 2


RESOURCE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  server.properties: |\n    acks=all\n"


@pytest.mark.slow
@pytest.mark.parametrize("text", [
    "min.insync.replicas: 2\n" + "ab\n" * 160_000, RESOURCE + "    a\n" * 50_000,
], ids=["lines that are none", "names that are none"])  # fmt: skip
def test_yaml_of_many_short_lines_takes_less_than_two_seconds(tmp_path: Path, text: str) -> None:
    (tmp_path / "kafka.yml").write_text(text)
    began = time.process_time()
    with suppress(SpecUnreadable):
        read_settings(tmp_path / "kafka.yml")
    assert time.process_time() - began < 2


@pytest.mark.parametrize("line", [
    "Dynamic configs for broker " + "7" * 40_000, "Feature: x " + "FinalizedVersionLevel:" * 4_500 + " z",
], ids=["a broker's name", "levels"])  # fmt: skip
def test_a_described_line_whose_name_goes_on_takes_less_than_a_second(tmp_path: Path, line: str) -> None:
    setting = "Dynamic configs for broker 1 are:\n  min.insync.replicas=2 sensitive=false"
    (tmp_path / "described.txt").write_text(f"{setting}\n{line}\n")
    began = time.process_time()
    assert [item.value for item in read_settings(tmp_path / "described.txt")] == ["2"]
    assert time.process_time() - began < 1


def test_a_property_of_thousands_of_parts_takes_less_than_a_second(tmp_path: Path) -> None:
    (tmp_path / "application.properties").write_text(f"spring.kafka.producer.acks=all\nspring.config{'.ig' * 20_000}=1\n")
    began = time.process_time()
    assert [item.value for item in read_settings(tmp_path / "application.properties")] == ["all"]
    assert time.process_time() - began < 1


DESCRIBED = "Topic: a\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n\tTopic: a"


@pytest.mark.parametrize("part", ["\tPartition: 0", "\tPartition: 0\tReplicas: 1", "\tTopic: a", " "])
def test_a_described_line_of_a_megabyte_takes_less_than_two_seconds(tmp_path: Path, part: str) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED + part * (1_000_000 // len(part)))
    began = time.process_time()
    with suppress(SpecUnreadable):
        read_settings(tmp_path / "topics.txt")
    assert time.process_time() - began < 2


def test_a_number_of_thousands_of_digits_is_one_sentence(tmp_path: Path) -> None:
    for number, text in enumerate(('{"min.insync.replicas": %s}', '[{"replicas": [1, %s]}]', '{"a": -%s}')):
        path = tmp_path / f"{number}.json"
        path.write_text(text % ("7" * 10_000))
        with pytest.raises(
            SpecUnreadable, match=r"\.json has a number of thousands of digits, as no setting has; correct it"
        ):
            read_settings(path)


@pytest.mark.parametrize("replicas", ["[%s]" % ("7" * 5_000), "[4294967296]", "[1, 1%s]" % (", 1" * 300_000)])
def test_a_plan_with_a_broker_that_is_none_is_one_sentence_in_time(tmp_path: Path, replicas: str) -> None:
    (tmp_path / "plan.json").write_text('{"partitions": [{"topic": "orders", "partition": 0, "replicas": ' + replicas + "}]}")
    began = time.process_time()
    with pytest.raises(SpecUnreadable, match=r"no valid JSON|needs a list of replicas|names broker 1 twice"):
        read_plan(tmp_path / "plan.json")
    assert time.process_time() - began < 2


@pytest.mark.parametrize(("name", "text"), [
    ("topics.txt", "Topic: orders\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
     "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,%s\tIsr: 1\n"),
    ("topics.txt", "Topic: orders\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
     "\tTopic: orders\tPartition: %s\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"),
])  # fmt: skip
def test_a_described_partition_with_a_number_that_is_none_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text % ("7" * 5_000))
    with pytest.raises(SpecUnreadable, match=r"topics\.txt:2: this line has a number that is no partition's and no broker's"):
        read_settings(tmp_path / name)


def test_an_image_whose_tag_is_thousands_of_digits_names_no_release() -> None:
    assert release_of_image(f"confluentinc/cp-kafka:7.{'7' * 5_000}.0") is None
    assert release_of_image("confluentinc/cp-kafka:7.6.0") == "3.6"


def as_javaproperties(text: str) -> list[tuple[int, str, str]] | None:
    line, found = 1, []
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                found.append((line, element.key, element.value.strip()))
            line += len(re.findall(r"\r\n|\r|\n", element.source))
    except javaproperties.InvalidUEscapeError:
        return None
    return found


def as_we_do(text: str) -> list[tuple[int, str, str]] | None:
    try:
        entries: list[SettingEntry] = list(property_entries("file", text))
    except SpecUnreadable:
        return None
    return [(entry.line, entry.key, entry.value) for entry in entries]


@pytest.mark.slow
def test_properties_are_read_as_another_reader_reads_them() -> None:
    pick, known = random.Random(3), 0
    parts = ["a", "b", "=", ":", " ", "\\", "\n", "\r", "\r\n", "#", "!", "\t", "\f", "\\\n", "\\u0041", "\\u00", "é"]
    for _ in range(20_000):
        text = "".join(pick.choices(parts, k=pick.randrange(1, 14)))
        expected = as_javaproperties(text)
        if expected is not None and all(re.fullmatch("[ab][abA]*", key) for _, key, _ in expected):
            known += bool(expected)
            assert as_we_do(text) == expected, text
    assert known > 1_500
