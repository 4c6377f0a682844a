"""Several files together: folders, the standard input, what one takes from another, and which of several is meant."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from acked.audit.decision.gather import Given
from acked.audit.formats.parts import tree
from acked.audit.formats.parts.tree import documents
from acked.audit.formats.reading import read_all, read_file
from acked.base.errors import ConfigurationError, SpecUnreadable, SystemFailure
from acked.cluster.vocabulary.entry import SettingEntry
from tests.audit.formats.corpus import CORPUS
from tests.audit.reading import gather, read_settings

COMPOSE = """\
services:
  kafka:
    image: apache/kafka:3.9.0
    env_file: [kafka.env]
    environment:
      KAFKA_DEFAULT_REPLICATION_FACTOR: 3
"""


def given(*names: str, entities: tuple[str, ...] = (), lenient: bool = False, **instead: str) -> Given:
    """What files of the corpus say together."""
    overrides = [SettingEntry(key.replace("_", "."), value, "--set", 0) for key, value in instead.items()]
    return gather(read_all([CORPUS / name for name in names]), None, overrides, lenient, entities)


def stdin_has(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# -- which of several ---------------------------------------------------------------------------------------------------


def test_one_of_several_clusters_is_audited_by_its_name() -> None:
    assert given("clusters/one-without-a-setting.yaml", entities=("safe",)).entries["min.insync.replicas"].value == "2"
    assert "min.insync.replicas" not in given("clusters/one-without-a-setting.yaml", entities=("unsafe",)).entries
    with pytest.raises(ConfigurationError, match=r"no file describes 'save' \(did you mean safe\?\)"):
        given("clusters/one-without-a-setting.yaml", entities=("save",))


def test_one_of_several_profiles_has_what_counts_for_all_and_its_own() -> None:
    assert given("traps/profile.yml", entities=("default",)).entries["acks"].value == "all"
    assert given("traps/profile.yml", entities=("dev",)).entries["acks"].where.endswith("profile.yml:12")


def test_nodes_that_differ_in_what_is_overridden_are_alike() -> None:
    assert given("traps/brokers-that-differ.yml", min_insync_replicas="2").entries["min.insync.replicas"].value == "2"


def test_a_cluster_in_one_file_and_its_topic_in_another_are_one_configuration() -> None:
    found = given("strimzi/kafka-kraft.yaml", "strimzi/topic.yaml")
    assert found.entries["min.insync.replicas"].where.endswith("topic.yaml:11")
    assert found.entries["Kafka version"].value == "3.9.0"


def test_a_topic_that_two_resources_describe_differently_is_two_topics() -> None:
    """Of the same topic in another cluster a setting may be missing, which must not be taken from the first."""
    with pytest.raises(ConfigurationError, match=r"topic\.yaml:1 and .*list\.json:5 both describe the topic orders"):
        given("strimzi/topic.yaml", "strimzi/list.json")
    assert given("strimzi/list.json", "described/topics.txt").entries["replication.factor"].value == "3"


# -- what is filled in elsewhere ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compose-default.yml", "from-the-host.yml", "terraform-variable.tf",
                                  "template-in-value.yaml"])  # fmt: skip
def test_what_is_filled_in_elsewhere_is_decided_with_set(name: str) -> None:
    decided = {"min_insync_replicas": "1", "replication_factor": "3", "unclean_leader_election_enable": "true"}
    found = given(f"traps/{name}", **decided)
    assert found.entries["min.insync.replicas"].value == "1"
    assert found.entries["unclean.leader.election.enable"].value == "true"


def test_a_file_that_another_names_counts_once_it_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "compose.yml").write_text(COMPOSE)
    (tmp_path / "kafka.env").write_text("KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE=true\n")
    with pytest.raises(ConfigurationError, match=r"compose\.yml:4: kafka\.env counts too"):
        gather(read_all([tmp_path / "compose.yml"]))
    found = gather(read_all([tmp_path / "compose.yml", tmp_path / "kafka.env"]))
    assert found.entries["unclean.leader.election.enable"].value == "true"
    (finding,) = gather(read_all([tmp_path / "compose.yml"]), is_lenient=True).findings
    assert (finding.rule, finding.is_passed_over) == ("not-named", True)


def test_a_name_where_no_setting_is_read_is_passed_over_by_wish_and_told() -> None:
    found = given("traps/outside-config.yaml", lenient=True)
    assert "min.insync.replicas" not in found.entries
    assert [(finding.rule, finding.is_passed_over) for finding in found.findings] == [("misspelt", True)]


# -- folders and the standard input -------------------------------------------------------------------------------------


def test_a_folder_is_read_file_by_file_without_what_has_no_setting(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "server.properties").write_text("min.insync.replicas=2\n")
    (tmp_path / "deep" / "compose.yml").write_text("services: {web: {image: nginx}}\n")
    (tmp_path / "topic.txt").write_text("Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs:\n")
    (tmp_path / "notes.txt").write_text("we should set min.insync.replicas\n")
    (tmp_path / "README.md").write_text("min.insync.replicas=1\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.properties").write_text("min.insync.replicas=1\n")
    (tmp_path / "again").symlink_to(tmp_path)
    found = gather(read_all([tmp_path]))
    values = {key: entry.value for key, entry in found.entries.items()}
    assert values == {"min.insync.replicas": "2", "replication.factor": "3"}


@pytest.mark.parametrize(
    ("name", "text"),
    [("broken.yaml", "a: [\nmin.insync.replicas: 1\n"), ("settings.toml", "min_insync_replicas = 1\n"),
     ("app.conf", "kafka { minInsyncReplicas = 1 }\n"), ("all.tfvars", 'unclean_leader_election_enable = "true"\n')],
)  # fmt: skip
def test_a_file_of_a_folder_that_is_not_understood_and_may_decide_is_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("default.replication.factor=3\n")
    (tmp_path / name).write_text(text)
    with pytest.raises((SpecUnreadable, ConfigurationError), match=name):
        gather(read_all([tmp_path]))


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"name": "x"}')
    with pytest.raises(SpecUnreadable, match=r"no file in .* has a setting of Kafka's"):
        read_all([tmp_path])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compose/map.yml", "terraform/topic.tf", "strimzi/list.json", "environment/exports",
                                  "described/topics.txt", "properties/server.properties"])  # fmt: skip
def test_the_standard_input_is_read_in_the_format_that_it_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin_has(monkeypatch, (CORPUS / name).read_bytes())
    read = read_all([Path("-")])
    assert read == [replace(one, file="standard input") for one in read_file(CORPUS / name)]


def test_the_standard_input_is_bounded_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin_has(monkeypatch, b"#" * 5_000_000)
    with pytest.raises(SpecUnreadable, match="more than 4 MB"):
        read_all([Path("-")])
    with pytest.raises(SpecUnreadable, match="named twice"):
        read_all([Path("-"), Path("-")])


# -- bounds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [("&a [*a]", "nested too deeply"), ("[" * 70 + "]" * 70, "nested too deeply"),
     ("[" + "a," * 99 + "]", "more than 90 values"),
     ("a: &a {<<: *a}", "nested too deeply"), ("a: {<<: 1}", "<< must name a mapping"), ("a: *b", "no valid YAML")],
)  # fmt: skip
def test_yaml_is_read_in_bounded_work(text: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_NODES", 90)
    with pytest.raises(SpecUnreadable, match=why):
        documents("f.yaml", text)


def test_librdkafkas_defaults_are_said_to_be_its_own() -> None:
    entry = given("librdkafka/client.conf").entries["enable.idempotence"]
    assert entry.source == f"librdkafka's default ({CORPUS / 'librdkafka' / 'client.conf'}:1)"


def test_terraform_without_its_parser_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hcl2", None)
    sentence = r"^python-hcl2 is needed for Terraform's files; install it with `pip install python-hcl2`$"
    with pytest.raises(SystemFailure, match=sentence):
        read_settings(CORPUS / "terraform" / "topic.tf")
