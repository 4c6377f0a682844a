"""The list of formats: what it takes to add one, and which of several has a file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from acked.audit.formats import reading
from acked.audit.formats.parts.reader import Reader, Sign, Source
from acked.audit.formats.reading import READERS, format_of, read_all
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import SettingEntry
from tests.audit.reading import read_settings


def toml_entries(name: str, text: str) -> Iterator[SettingEntry]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from (SettingEntry(key, str(value), name, number) for key, value in tomllib.loads(line).items())


TOML = Reader("TOML", (".toml",), lambda source: Sign.NONE, toml_entries)
"""A format as a newcomer adds one: this much, in a module of its own, and its name in the list."""

TEXT = '"min.insync.replicas" = 2\n'


def test_a_new_format_is_one_record_and_its_name_in_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(TEXT)
    with pytest.raises(SpecUnreadable, match=r"settings\.toml is TOML, which is not read here"):
        read_settings(path)
    monkeypatch.setattr(reading, "READERS", (TOML, *READERS))
    entry = SettingEntry("min.insync.replicas", "2", str(path), 1)
    assert read_all([path]) == [entry]
    assert read_all([tmp_path]) == [entry]


@pytest.mark.parametrize(
    ("name", "text", "reader"),
    [
        ("a.yml", '{"acks": 1}', "JSON"),
        ("a.json", '{"apiVersion": "v1", "kind": "List"}', "YAML"),
        ("a.yml", "Dynamic configs for broker 1 are:\n", "what Kafka's tools describe"),
        ("a.tf", "acks=1", "HCL (Terraform)"),
        ("a.env", "---", "a file of environment variables"),
        ("a", "KAFKA_ACKS=1", "a file of environment variables"),
        ("a.yml", "KAFKA_ACKS=1", "YAML"),
        ("a.conf", "# first\n---", "YAML"),
        ("a.properties", "---", "another format"),
        ("a.conf", "acks=1\n---", "another format"),
        ("a.sh", "KAFKA_ACKS=1", "another format"),
        ("a.properties", "acks=1", "properties"),
        ("a", "", "properties"),
    ],
)
def test_what_a_text_shows_for_certain_comes_before_its_suffix_and_that_before_its_looks(
    name: str, text: str, reader: str
) -> None:
    assert format_of(Source(name, text)).name == reader


@pytest.mark.parametrize("own", ["", '  acks: "1"\n'])
def test_a_section_with_a_slip_is_refused_and_does_not_make_the_others_unread(own: str, tmp_path: Path) -> None:
    file = tmp_path / "kafka.yaml"
    file.write_text(f"broker:\n  unclean.leader.election.enable: true\nroducer:\n{own}")
    with pytest.raises(SpecUnreadable, match=r":3: roducer is no section, and producer seems to be meant"):
        read_settings(file)


def test_an_empty_section_of_any_name_does_not_make_the_others_unread(tmp_path: Path) -> None:
    file = tmp_path / "kafka.yaml"
    file.write_text("broker:\n  unclean.leader.election.enable: true\nremarks:\n")
    assert [(entry.key, entry.value) for entry in read_settings(file)] == [("unclean.leader.election.enable", "true")]
