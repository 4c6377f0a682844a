"""A file of which nothing is understood is refused, and a name that resembles a setting that decides is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from acked.audit.formats.reading import read_file
from acked.base.errors import AckedError, ConfigurationError, SpecUnreadable
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import DECIDING, known_names, likely_setting, setting_within
from acked.cluster.vocabulary.note import Listed, Note
from tests.audit.reading import gather, read_settings

HARMLESS = SettingEntry("log.dirs", "/data", "f", 9)

NOT_READ: dict[str, tuple[str, str]] = {
    "items": ("- KAFKA_MIN_INSYNC_REPLICAS=1\n- KAFKA_LOG_DIRS=/data\n", "a list of YAML"),
    "two-documents": ("acks=all\n---\nacks=1\n", "YAML at line 2"),
    "template": ("acks=all\n{{- if .Values.safe }}\nmin.insync.replicas=2\n{{- end }}\n", "a template"),
    "half.yaml": ("acks=all\n---\nmin.insync.replicas=1\n", "a second document has settings too"),
    "empty.yaml": ("# nothing\n---\n", "has no setting in it"),
    "foreign.yaml": ("foo: {bar: 1}\n", "has no setting in it"),
    "broken.yaml": ("broker: [1\n", ":2: no valid YAML"),
    "broken.tf": ('resource "kafka_topic" {{\n', ":1: no valid HCL"),
    "empty.tf": ("# nothing\n", "has no setting in it"),
    "foreign.tf": ('resource "random_id" "x" {\n  byte_length = 4\n}\n', "has no setting in it"),
    "broken.env": ("KAFKA_NODE_ID=1\nnot a line\n", ":2: 'not a line' is not NAME=value"),
    "settings.tfvars": ("min_isr = 1\n", "a file of Terraform's variables"),
    "dockerfile": ("ENV KAFKA_MIN_INSYNC_REPLICAS=1\n", "environment variables"),
    "settings.toml": ("acks = 1\n", "TOML"),
    "sections": ("[producer]\nacks=1\n", "INI or TOML"),
    "markup": ("<configuration>\n<acks>1</acks>\n", "XML"),
    "empty.properties": ("", "has no setting in it"),
    "blank.properties": (" \n\n\t\n", "has no setting in it"),
    "comments.properties": ("# acks=1\n! acks=1\n", "has no setting in it"),
    "cyrillic.properties": ("log.dirs=/data\nac\u043as=1\n", "is not the name of a setting"),
    "slashes.properties": ("// acks=1\nacks=all\n", "'//' is not the name of a setting"),
    "remark.json": ('# "terraform_version": 1\n', "has no setting in it"),
    "plan-and-more.json": ('{"terraform_version": "1"}\n---\nx\n', ":3: a second document begins, and a plan is one"),
    "empty.json": ("{}", "has no setting in it"),
    "foreign.json": ('{"foo": {"bar": 1}}', "has no setting in it"),
    "garbage.txt": ("hello world\nfoo: bar\n", "names no setting of Kafka's"),
    "log4j.properties": ("log4j.rootLogger=INFO\nlog4j.appender.x=y\n", "names no setting of Kafka's"),
    "unrelated.json": ('{"name": "orders", "partitions": 6}', "names no setting of Kafka's"),
    "hidden.json": ('{"spec": {"kafka": {"config": {"min.insync.replicas": 1}}}}', "stands within 'spec'"),
    "container.json": ('{"env": {"KAFKA_MIN_INSYNC_REPLICAS": "1"}, "acks": "all"}', "stands within 'env'"),
    "twice.json": ('{"broker": {"min.insync.replicas": 1}, "brokers": {"min.insync.replicas": 2}}', "leave one out"),
    "mixed.txt": ("Topic:t\tPartitionCount:1\tReplicationFactor:3\tConfigs:\nunclean.leader.election.enable=true\n", ":2: "),
}


def understood(path: Path) -> None:
    gather(read_file(path))


@pytest.mark.parametrize("name", NOT_READ)
def test_a_file_that_is_not_understood_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, reason = NOT_READ[name]
    (tmp_path / name).write_text(text, "utf-8")
    try:
        understood(tmp_path / name)
    except SpecUnreadable as error:
        caught = error
    else:
        pytest.fail(f"{name} is read now: leave it out here, and its kind out of audit/formats/foreign.py", pytrace=False)
    assert str(tmp_path / name) in str(caught)
    assert reason in str(caught)
    assert "\n" not in str(caught)
    assert caught.exit_code == 150


def test_a_file_that_is_not_understood_is_refused_beside_one_that_is(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("acks=all\n")
    (tmp_path / "bad").write_text("hello world\n")
    with pytest.raises(SpecUnreadable, match="bad names no setting"):
        gather([entry for name in ("good", "bad") for entry in read_file(tmp_path / name)])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("min.insync.replica", "min.insync.replicas"), ("ack", "acks"), ("Acks", "acks"), ("retires", "retries"),
     ("enable.idempotency", "enable.idempotence"), ("enableIdempotence", "enable.idempotence"),
     ("MIN_INSYNC_REPLICAS", "min.insync.replicas"), ("KAFKA_MIN_INSYNC_REPLICAS", "min.insync.replicas"),
     ("KAFKA_CFG_MIN_INSYNC_REPLICAS", "min.insync.replicas"), ("minInsyncReplicas", "min.insync.replicas"),
     ("min_insync_replicas", "min.insync.replicas"), ("min-insync-replicas", "min.insync.replicas"),
     ("min.isr", "min.insync.replicas"),
     ('"min.insync.replicas"', "min.insync.replicas"), ("unclean.leader.election.enabled", "unclean.leader.election.enable"),
     ("unclean.leader.election", "unclean.leader.election.enable"), ("replication_factor", "replication.factor"),
     ("replicationFactor", "replication.factor"), ("replicas", "replication.factor"),
     ("KAFKA_DEFAULT_REPLICATION_FACTOR", "default.replication.factor"), ("request.required.acks", "acks"),
     ("opic.request.required.acks", "acks"),
     ("max.in.flight", "max.in.flight.requests.per.connection"), ("spring.kafka.producer.acks", "acks"),
     ("producer.retries", "retries"), ("broker.config.min.insync.replicas", "min.insync.replicas"),
     ("inter.broker.protocol", "inter.broker.protocol.version"), ("zookeeper.connection", "zookeeper.connect"),
     ("process.role", "process.roles"), ("log.flush.interval.message", "log.flush.interval.messages")],
)  # fmt: skip
def test_a_name_that_resembles_a_setting_that_decides_is_an_error_or_by_wish_a_warning(name: str, wanted: str) -> None:
    assert likely_setting(name) == wanted
    entries = [HARMLESS, SettingEntry(name, "1", "server.properties", 4)]
    with pytest.raises(ConfigurationError, match=r"^server\.properties:4: .* seems to be meant.*--lenient") as caught:
        gather(entries)
    assert f"{wanted} seems to be meant" in str(caught.value)
    (finding,) = gather([HARMLESS, SettingEntry("acks", "1", "server.properties", 5), entries[1]], is_lenient=True).findings
    assert (finding.rule, finding.level.value, finding.is_passed_over) == ("misspelt", "warning", True)


@pytest.mark.parametrize("name", ["retry.backoff.ms", "log.flush.interval.ms", "num.partitions", "my.own.key", "listeners",
                                  "log.dirs", "zookeeper.connection.timeout.ms", "transaction.state.log.min.isr",
                                  "offsets.topic.replication.factor", "config.storage.replication.factor",
                                  "confluent.license.topic.replication.factor", "topic.creation.default.replication.factor",
                                  "confluent.metrics.reporter.zookeeper.connect", "listener.name.x.ssl.keystore.location",
                                  "KAFKA_LOG_DIRS", "KAFKA_HEAP_OPTS"])  # fmt: skip
def test_names_that_are_kafkas_or_unrelated_stay_without_a_word(name: str) -> None:
    assert likely_setting(name) is None
    assert gather([HARMLESS, SettingEntry(name, "1", "f", 1)]).findings == ()


def test_no_name_of_kafkas_is_taken_for_another() -> None:
    assert len(known_names()) > 600
    assert {name: likely_setting(name) for name in known_names() if likely_setting(name) is not None} == {}
    assert set(KEYS) <= known_names()


@drawn(st.sampled_from(DECIDING), st.data())
def test_a_slip_of_one_letter_never_goes_unnoticed(key: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(key) - 1))
    other = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz._-"))
    slips = {"missing": "", "doubled": key[at] * 2, "case": key[at].swapcase(), "other": other, "added": key[at] + other}
    how = data.draw(st.sampled_from([*slips, "swapped"]))
    name = key[:at] + key[at : at + 2][::-1] + key[at + 2 :] if how == "swapped" else key[:at] + slips[how] + key[at + 1 :]
    if name not in known_names() and name.strip("."):
        with pytest.raises(ConfigurationError, match="seems to be meant"):
            gather([HARMLESS, SettingEntry(name, "1", "f", 1)])


@drawn(st.sampled_from(DECIDING), st.sampled_from(["KAFKA_", "KAFKA_CFG_", "", "PRODUCER_"]))
def test_the_spelling_of_environment_variables_never_goes_unnoticed(key: str, prefix: str) -> None:
    name = prefix + key.upper().replace(".", "_")
    if prefix == "PRODUCER_" and key not in ("acks", "retries", "transactional.id"):
        return
    with pytest.raises(AckedError):
        gather([HARMLESS, SettingEntry(name, "1", "f", 1)])


def test_a_setting_inside_the_value_of_a_name_that_nobody_knows_is_an_error() -> None:
    assert setting_within("--override unclean.leader.election.enable=true") == "unclean.leader.election.enable"
    assert setting_within("KAFKA_CFG_MIN_INSYNC_REPLICAS=1") == "min.insync.replicas"
    assert setting_within("MAX_RETRIES=5 tracks=3") is None
    with pytest.raises(ConfigurationError, match=r"min\.insync\.replicas seems to be meant"):
        gather([HARMLESS, SettingEntry("key", "min.insync.replicas", "f", 1), SettingEntry("value", "1", "f", 1)])
    with pytest.raises(ConfigurationError, match=r"unclean\.leader\.election\.enable seems to be meant"):
        gather([HARMLESS, SettingEntry("command", "--override unclean.leader.election.enable=true", "f", 1)])


def test_a_setting_in_the_section_of_somebody_else_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"broker": {"acks": "1", "log.dirs": "/data"}}))
    with pytest.raises(ConfigurationError, match="acks is not a setting of a broker but of a producer"):
        understood(file)
    (finding,) = gather(read_file(file), is_lenient=True).findings
    assert (finding.rule, finding.is_passed_over) == ("misplaced", True)


def test_a_file_of_misspelt_names_alone_is_refused_even_by_wish() -> None:
    with pytest.raises(SpecUnreadable, match="names no setting of Kafka's"):
        gather([SettingEntry("min.insync.replica", "1", "f", 1)], is_lenient=True)


def test_what_kafka_tools_say_of_a_topic_without_settings_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "described.txt"
    file.write_text("Dynamic configs for topic orders are:\n")
    assert read_file(file) == [Note(Listed(), str(file), 1, Scope.TOPIC, "orders")]
    file.write_text("Dynamic configs for topic orders are:\nDynamic configs for topic safe are:\n  min.insync.replicas=2\n")
    with pytest.raises(ConfigurationError, match="several topics; name one with --topic: orders, safe"):
        understood(file)


def test_what_kafka_features_prints_is_read(tmp_path: Path) -> None:
    file = tmp_path / "features.txt"
    file.write_text(
        "Feature: eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t"
        "FinalizedVersionLevel: 1\tEpoch: 7\n"
        "Feature: group.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 1\tEpoch: 7\n"
        "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t"
        "FinalizedVersionLevel: 4.1-IV1\tEpoch: 7\n"
    )
    read = {entry.key: (entry.value, entry.line) for entry in read_settings(file)}
    assert read == {"eligible.leader.replicas.version": ("1", 1), "metadata.version": ("4.1-IV1", 3)}


@pytest.mark.parametrize("text", ["brokers=3\n", '{"is described": "orders"}', '{"broker": {"replicas now": "0 1,2"}}'])
def test_a_file_cannot_say_as_a_setting_what_readers_note_besides(text: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.conf"
    file.write_text(text)
    with pytest.raises(SpecUnreadable, match="names no setting of Kafka's"):
        understood(file)
