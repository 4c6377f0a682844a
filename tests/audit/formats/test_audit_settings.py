"""Settings as people have them are read, and the one that counts is found; what is hostile or wrong is one clear sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from acked.audit.decision.audit import Answer
from acked.audit.decision.fault_words import BESIDES
from acked.audit.decision.faults import Assumptions, AuditQuestion, CrashKind, Faults, read_faults
from acked.audit.decision.gather import RefusedByKafka, Severity
from acked.audit.decision.questions import QUESTIONS, task_of
from acked.audit.decision.release import Deployment
from acked.audit.decision.settings import Configuration, configure
from acked.audit.formats.reading import read_file
from acked.base.errors import AckedError, ConfigurationError, SpecUnreadable
from acked.base.release import LATEST, release
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import MAX_UNKNOWN
from acked.cluster.vocabulary.note import Assigned, Listed, Note, settings_of
from acked.model.language.context import Switch
from acked.model.partition.rules import settings
from acked.model.partition.rules.settings import CIRCUMSTANCES
from acked.model.partition.rules.versions import VERSIONS, planes_of, profile, rules_of
from tests.audit.reading import gather, read_settings
from tests.places import DATA

AUDIT = DATA / "audit"
SELECTORS = "org.apache.kafka.common.replica"
"""Where Kafka has its own selectors."""


def configured(version: str, plane: str | None = None, **values: str) -> Configuration:
    """Settings by their names with _ for dots, of a topic with three replicas unless they say otherwise."""
    if not values.keys() & {"replication_factor", "default_replication_factor"}:
        values["replication_factor"] = "3"
    entries = [SettingEntry(key.replace("_", "."), value, "f", 1) for key, value in values.items()]
    return configure(gather(entries), release(version), plane)


def found_in(configuration: Configuration) -> set[str]:
    return {finding.rule for finding in configuration.findings}


TIED = sorted(key.name for key in KEYS.values() if key.constant is not None and key.defaults)


@pytest.mark.parametrize("name", TIED)
def test_the_defaults_of_the_audit_are_those_of_the_model(name: str) -> None:
    """Kafka's defaults by release stand in two tables: in the words of people who set them, and as constants of the model."""
    key = KEYS[name]
    assert key.constant is not None
    compared = []
    for version in VERSIONS:
        default = key.default(release(version))
        if default is not None:
            value = {"true": True, "false": False}.get(default.value, default.value)
            number = int(value) if str(value).isdecimal() else value
            meant = number > 0 if isinstance(key.constant, Switch) and isinstance(number, int) else number
            chosen = [profile(version, plane).get(key.constant.name) for plane in planes_of(version)]
            compared += [(version, key.constant.show(item.value), meant) for item in chosen if item is not None]
    assert [item for item in compared if str(item[1]) != str(item[2])] == []
    assert compared or name in TAKEN_FROM_THE_QUESTION


TAKEN_FROM_THE_QUESTION = {"min.insync.replicas", "replication.factor"}
"""Settings of which the model has no default by release."""


# -- formats ------------------------------------------------------------------------------------------------------------


def test_properties_are_read_with_separators_escapes_and_continuations(tmp_path: Path) -> None:
    file = tmp_path / "p.properties"
    file.write_text("! note\n acks : a\\\n    ll\nretries\\\n=3\nmax.in.flight.requests.per.connection 2\nx=\\u00e9\\t\n")
    read = {entry.key: (entry.value, entry.line) for entry in read_settings(file)}
    assert read["acks"] == ("all", 2)
    assert read["retries"] == ("3", 4)
    assert read["max.in.flight.requests.per.connection"] == ("2", 6)
    assert read["x"] == ("é", 7)


def test_what_kafka_configs_prints_is_read_with_topics_and_brokers_apart() -> None:
    read = {(entry.key, entry.scope, entry.entity): entry.value for entry in read_settings(AUDIT / "configs-described.txt")}
    assert read["min.insync.replicas", Scope.TOPIC, "orders"] == "2"
    assert read["min.insync.replicas", Scope.DYNAMIC_BROKER, None] == "3"
    assert read["log.cleaner.threads", Scope.DYNAMIC_BROKER, "1"] == "2"


def test_what_kafka_configs_printed_before_2_5_is_read(tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.write_text("Configs for topic 'a-b' are cleanup.policy=compact,delete,min.insync.replicas=2\n")
    first, *settings = read_file(file)
    assert first == Note(Listed(), str(file), 1, Scope.TOPIC, "a-b")
    read = {entry.key: (entry.value, entry.entity) for entry in settings_of(settings)}
    assert read == {"cleanup.policy": ("compact,delete", "a-b"), "min.insync.replicas": ("2", "a-b")}


def test_what_kafka_topics_prints_is_read_in_its_old_and_its_new_form() -> None:
    for name, factor in (("topics-2-2.txt", "2"), ("topics-3-2.txt", "3")):
        read = {entry.key: entry.value for entry in read_settings(AUDIT / name)}
        assert (read["replication.factor"], read["min.insync.replicas"]) == (factor, "2")


def test_json_is_read_by_section_with_lines() -> None:
    read = {(entry.scope, entry.key): (entry.value, entry.line) for entry in read_settings(AUDIT / "settings.json")}
    assert read[Scope.BROKER, "unclean.leader.election.enable"] == ("false", 2)
    assert read[Scope.TOPIC, "replication.factor"] == ("3", 4)
    assert read[Scope.TOPIC, "min.insync.replicas"] == ("2", 4)
    assert read[Scope.PRODUCER, "enable.idempotence"] == ("true", 8)


def test_the_assignment_that_kafka_reassign_partitions_takes_says_how_many_replicas_there_are(tmp_path: Path) -> None:
    file = tmp_path / "move.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2, 3]}]}))
    assert read_file(file) == [
        SettingEntry("replication.factor", "3", str(file), 1, Scope.TOPIC, "t"),
        Note(Assigned("t", 0, (1, 2, 3)), str(file), 1, Scope.TOPIC, "t"),
    ]


HOSTILE: dict[str, tuple[bytes, str]] = {
    "binary": (b"\x7fELF\x00\x01\x02", "binary"),
    "utf16": ("acks=1\n".encode("utf-16"), "UTF-16"),
    "mark": (b"\xef\xbb\xbfacks=1\n", "byte order mark"),
    "escape": (b"acks=\\u00zz\n", "hexadecimal"),
    "large": (b"#" * 100_000_000, "larger than 4 MB"),
    "json": (b'{"producer": {"acks": 1,}}', ":1: no valid JSON"),
    "twice.json": (b'{"producer": {"acks": 1, "acks": "all"}}', "twice"),
    "deep": (b"[" * 100_000, "nested too deeply"),
    "list.json": (b"[1, 2]", "a list may hold"),
    "number.json": (b"7", "must be an object"),
    "value.json": (b'{"producer": {"acks": ["1"]}}', "give one value"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    content, reason = HOSTILE[name]
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(SpecUnreadable) as caught:
        read_settings(file)
    assert str(file) in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_a_missing_file_and_an_endless_one_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("/dev/zero"), Path("a\0b")):
        with pytest.raises(SpecUnreadable):
            read_settings(path)


def test_latin_1_is_read_as_java_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "l.properties"
    file.write_bytes("x=é\nacks=1\n".encode("iso-8859-1"))
    assert [entry.value for entry in read_settings(file)] == ["é", "1"]


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as stream:
        stream.write("acks=0\n")
    assert [entry.value for entry in read_settings(Path(f"/dev/fd/{ours}"))] == ["0"]
    os.close(ours)


@pytest.mark.slow
def test_a_file_of_very_many_keys_or_one_very_long_line_is_read_in_bounded_work(tmp_path: Path) -> None:
    many = tmp_path / "many.properties"
    many.write_text("acks=1\n" + "".join(f"min.insync.replica{at}=1\n" for at in range(5_000)))
    with pytest.raises(SpecUnreadable, match="more than 1,000 names are not settings"):
        gather(read_file(many))
    many.write_text("acks=1\n" + "".join(f"min.insync.replica{at}=1\n" for at in range(MAX_UNKNOWN)))
    assert len(gather(read_file(many), is_lenient=True).findings) == MAX_UNKNOWN
    (tmp_path / "many.json").write_text(json.dumps({f"some.key.{at}": at for at in range(5_000)}))
    with pytest.raises(SpecUnreadable, match="more than 2,000 names"):
        read_settings(tmp_path / "many.json")
    wide = tmp_path / "wide.txt"
    wide.write_text(f"Dynamic configs for topic t are:\n  a={' ' * 1_000_000}x\n")
    assert [entry.value for entry in read_settings(wide) if entry.key == "a"] == ["x"]


def test_files_that_include_each_other_end_and_kafkas_silence_is_told(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).write_text(f"include={other}\nacks=1\n")
    given = gather([entry for name in "ab" for entry in read_settings(tmp_path / name)])
    assert [finding.rule for finding in given.findings] == ["include", "include"]


# -- which counts -------------------------------------------------------------------------------------------------------


def test_a_topics_setting_counts_before_a_brokers_whatever_the_order() -> None:
    entries = read_settings(AUDIT / "configs-described.txt")
    static = SettingEntry("min.insync.replicas", "1", "server.properties", 1)
    for order in ([static, *entries], [*entries, static]):
        assert gather(order).entries["min.insync.replicas"].value == "2"


def test_the_later_of_two_in_one_file_counts_and_is_told() -> None:
    given = gather([SettingEntry("acks", "1", "p", 1), SettingEntry("acks", "all", "p", 2)])
    assert given.entries["acks"].value == "all"
    assert [finding.rule for finding in given.findings] == ["named-twice"]


def test_two_files_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="audit one at a time"):
        gather([SettingEntry("acks", "1", "p", 1), SettingEntry("acks", "all", "q", 2)])


def test_partitions_with_different_numbers_of_replicas_are_asked_about_one_at_a_time() -> None:
    """Two replicas with min.insync.replicas=2 lose nothing where three do, and take no writes where three do."""
    entries = [SettingEntry("replication.factor", factor, "move.json", 1, Scope.TOPIC, "t") for factor in ("3", "2")]
    with pytest.raises(ConfigurationError, match=r"--set replication\.factor=3"):
        gather(entries)
    given = gather(entries, overrides=[SettingEntry("replication.factor", "2", "--set", 0)])
    assert given.entries["replication.factor"].value == "2"


def test_several_topics_need_a_name_unless_they_are_alike() -> None:
    entries = [
        SettingEntry("replication.factor", factor, "t", 1, Scope.TOPIC, name)
        for name, factor in (("a", "3"), ("b", "2"))
    ]
    with pytest.raises(ConfigurationError, match=r"--topic: a, b"):
        gather(entries)
    assert gather(entries, "b").entries["replication.factor"].value == "2"
    with pytest.raises(ConfigurationError, match="did you mean"):
        gather([SettingEntry("replication.factor", "3", "t", 1, Scope.TOPIC, "orders")], "order")


@pytest.mark.parametrize(
    ("key", "value"),
    [("acks", "2"), ("acks", "ALL"), ("retries", "-1"), ("retries", "1e3"), ("min.insync.replicas", "0"),
     ("min.insync.replicas", "99999999999999999999999"), ("enable.idempotence", "yes"),
     ("max.in.flight.requests.per.connection", "0"), ("isolation.level", "serializable")],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_with_its_line_and_range(key: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^f\.properties:7: {key} is '{value}' and must be"):
        gather([SettingEntry(key, value, "f.properties", 7)])


def test_what_is_set_on_the_command_line_counts_instead_of_what_files_say_and_both_are_told() -> None:
    """A what-if is one word: the remedy that an audit recommends can be tried at once."""
    entries = [
        SettingEntry("min.insync.replicas", "1", "topic.txt", 3, Scope.TOPIC, "orders"),
        SettingEntry("min.insync.replicas", "3", "server.properties", 7, Scope.BROKER),
        SettingEntry("min.insync.replicas", "4", "other.properties", 1, Scope.BROKER),
    ]
    given = gather(entries, overrides=[SettingEntry("min.insync.replicas", "2", "--set", 0)])
    assert given.entries["min.insync.replicas"].value == "2"
    source = given.entries["min.insync.replicas"].source
    assert source == "--set, instead of 1 (topic.txt:3) and 3 (server.properties:7) and 4 (other.properties:1)"
    assert [(finding.rule, finding.entry and finding.entry.where) for finding in given.findings] == [
        ("overridden", "topic.txt:3"), ("overridden", "server.properties:7"), ("overridden", "other.properties:1"),
    ]  # fmt: skip
    assert "min.insync.replicas=2 (--set) is asked about instead of min.insync.replicas=1 (topic.txt:3)" in [
        finding.text for finding in given.findings
    ]
    with pytest.raises(ConfigurationError, match="audit one at a time"):
        gather(entries)
    with pytest.raises(ConfigurationError, match="leave one out"):
        gather(entries, overrides=[SettingEntry("acks", "1", "--set", 0), SettingEntry("acks", "all", "--set", 0)])


def test_a_brokers_setting_on_the_command_line_counts_before_the_topics_own() -> None:
    flushed = [SettingEntry("flush.messages", "1", "topic.txt", 1), SettingEntry("replication.factor", "3", "topic.txt", 2)]
    overrides = [SettingEntry("log.flush.interval.messages", "1000", "--set", 0)]
    given = gather(flushed, overrides=overrides)
    assert configure(given, release("3.6"))["log.flush.interval.messages"].value == "1000"
    assert configure(gather(flushed).but({"log.flush.interval.messages": "9"}), release("3.6"))[
        "log.flush.interval.messages"
    ].value == "9"
    unused = gather(flushed, overrides=[SettingEntry("default.replication.factor", "5", "--set", 0)])
    assert [finding.rule for finding in unused.findings] == ["override-unused"]


# -- what a release makes of it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "acks", "retries", "idempotence", "unclean"),
    [("0.10.2.1", "1", "0", None, "true"), ("0.11", "1", "0", "false", "false"), ("2.0.1", "1", "0", "false", "false"),
     ("2.1", "1", "2147483647", "false", "false"), ("3.0.0", "all", "2147483647", "false", "false"),
     ("3.0.1", "all", "2147483647", "true", "false"), ("3.1.0", "all", "2147483647", "false", "false"),
     ("3.1.1", "all", "2147483647", "true", "false"), ("4.1", "all", "2147483647", "true", "false")],
)  # fmt: skip
def test_defaults_are_those_of_the_release(
    version: str, acks: str, retries: str, idempotence: str | None, unclean: str
) -> None:
    values = configured(version).values
    shown = [values[key].value if key in values else None for key in
             ("acks", "retries", "enable.idempotence", "unclean.leader.election.enable")]  # fmt: skip
    assert shown == [acks, retries, idempotence, unclean]
    assert all("default" in values[key].source for key in ("acks", "retries", "unclean.leader.election.enable"))


@pytest.mark.parametrize(
    ("version", "values", "reason"),
    [
        ("3.6", {"acks": "1"}, "acks must be all"),
        ("3.6", {"retries": "0"}, "retries must not be 0"),
        ("3.6", {"max_in_flight_requests_per_connection": "6"}, "at most 5"),
        ("0.11", {"max_in_flight_requests_per_connection": "2"}, "at most 1"),
        ("2.4", {"acks": "1"}, "acks must be all"),
    ],
)
def test_idempotence_asked_for_with_a_conflict_is_refused_with_kafkas_reason(
    version: str, values: dict[str, str], reason: str
) -> None:
    with pytest.raises(RefusedByKafka, match=reason):
        configured(version, enable_idempotence="true", **values)


def test_idempotence_by_default_gives_way_to_a_conflict_silently_and_from_4_0_not_to_too_many_in_flight() -> None:
    for values in ({"acks": "1"}, {"retries": "0"}, {"max_in_flight_requests_per_connection": "6"}):
        configuration = configured("3.6", **values)
        assert not configuration["enable.idempotence"].on
        assert "idempotence-off" in found_in(configuration)
    with pytest.raises(RefusedByKafka, match=r"from 4.0"):
        configured("4.0", max_in_flight_requests_per_connection="6")


def test_idempotence_asked_for_brings_what_it_needs_along_where_that_is_not_set() -> None:
    values = configured("2.0", enable_idempotence="true").values
    assert (values["acks"].value, values["retries"].value) == ("all", "2147483647")
    assert values["acks"].source == "follows from enable.idempotence"
    assert configured("0.11", enable_idempotence="true")["max.in.flight.requests.per.connection"].value == "1"
    assert configured("2.4", transactional_id="t")["enable.idempotence"].on
    with pytest.raises(RefusedByKafka, match=r"transactional\.id"):
        configured("3.6", transactional_id="t", enable_idempotence="false")


@pytest.mark.parametrize(
    ("rule", "version", "values"),
    [
        ("min-isr-unused", "3.6", {"acks": "1", "min_insync_replicas": "2", "replication_factor": "3"}),
        ("min-isr-one", "3.6", {"acks": "all", "replication_factor": "3"}),
        ("min-isr-is-factor", "3.6", {"acks": "all", "min_insync_replicas": "3", "replication_factor": "3"}),
        ("min-isr-above-factor", "3.6", {"acks": "all", "min_insync_replicas": "3", "replication_factor": "2"}),
        ("unclean-outlives", "3.6", {"unclean_leader_election_enable": "true"}),
        ("not-yet", "0.10", {"enable_idempotence": "true"}),
        ("old-protocol", "2.8", {"inter_broker_protocol_version": "0.10.2"}),
        ("old-protocol", "3.6", {"inter_broker_protocol_version": "3.3", "process_roles": "broker"}),
        ("no-topic", "3.6", {"default_replication_factor": "3"}),
        ("transactions", "3.6", {"isolation_level": "read_committed"}),
        ("outside-the-questions", "3.6", {"auto_offset_reset": "latest"}),
        ("outside-the-questions", "3.6", {"enable_auto_commit": "false"}),
        ("outside-the-questions", "3.6", {"group_instance_id": "one"}),
        ("rack-unused", "3.6", {"client_rack": "east"}),
        ("producer-buffer", "4.1.1", {"acks": "all"}),
        ("selector-unused", "3.6", {"replica_selector_class": f"{SELECTORS}.RackAwareReplicaSelector", "client_rack": ""}),
    ],
)
def test_settings_that_undo_others_are_named(rule: str, version: str, values: dict[str, str]) -> None:
    assert rule in found_in(configured(version, **values))


@pytest.mark.parametrize(
    ("values", "from_leader"),
    [
        ({"replica_selector_class": f"{SELECTORS}.RackAwareReplicaSelector"}, False),
        ({"replica_selector_class": f"{SELECTORS}.RackAwareReplicaSelector", "auto_offset_reset": "earliest"}, True),
        ({"replica_selector_class": f"{SELECTORS}.RackAwareReplicaSelector", "client_rack": "east"}, False),
        ({"replica_selector_class": "com.example.Own", "auto_offset_reset": "earliest"}, False),
        ({"auto_offset_reset": "earliest"}, True),
    ],
)
def test_whom_a_consumer_reads_from_hangs_on_the_brokers_selector_and_its_own_rack(
    values: dict[str, str], from_leader: bool
) -> None:
    """KIP-392; the other settings of consumers are named as outside the five questions."""
    asked = next(question for question in QUESTIONS if question.asked is AuditQuestion.VANISHING)
    task = task_of(asked, configured("3.6", replication_factor="2", **values), Assumptions())
    assert dict(task.asked.constants)["consumer"] == (settings.FROM_LEADER if from_leader else settings.FROM_FOLLOWERS)


@pytest.mark.parametrize(
    ("replicas", "thorough", "asked_with"), [("2", False, 2), ("3", False, 3), ("5", False, 3), ("4", True, 4)]
)
def test_the_order_of_records_is_asked_with_three_brokers_whose_names_do_not_count(
    replicas: str, thorough: bool, asked_with: int
) -> None:
    asked = next(question for question in QUESTIONS if question.asked is AuditQuestion.REORDERING)
    task = task_of(asked, configured("3.6", replication_factor=replicas), Assumptions(is_thorough=thorough))
    assert (dict(task.asked.constants)["replicas"], task.asked.symmetry) == (asked_with, True)
    told = Answer(asked, Faults(), Deployment(release("3.6"), "kraft"), task, None, "", int(replicas)).bounds
    of = f" of the {replicas}" if asked_with < int(replicas) else ""
    assert told.startswith(f"{asked_with}{of} brokers, ")
    assert "modulo broker symmetry" in told


def test_careful_settings_have_no_warnings_but_those_of_the_releases_own_defects() -> None:
    careful = {"replication_factor": "3", "min_insync_replicas": "2", "acks": "all"}
    assert found_in(configured("3.6", **careful)) == {"producer-buffer"}
    assert found_in(configured("4.2", eligible_leader_replicas_version="1", **careful)) == set()


@pytest.mark.parametrize(
    ("rule", "has", "has_not"),
    [
        ("topic-setting-lost", ("1.1", "2.0.1", "2.3.1", "2.4", "2.4.0"), ("1.0", "2.4.1", "2.5", "3.6")),
        (
            "producer-buffer",
            ("2.8", "3.6", "3.9", "3.9.1", "4.0", "4.0.1", "4.1.1"),
            ("2.7", "3.9.2", "4.0.2", "4.1.2", "4.2", LATEST),
        ),
    ],
)
def test_a_defect_of_releases_is_remarked_in_these_alone(rule: str, has: tuple[str, ...], has_not: tuple[str, ...]) -> None:
    """KAFKA-9254 (1.1, with KIP-226, to 2.4.0) and KAFKA-19012 (clients of 2.8.0 to 3.9.1, 4.0.0, 4.0.1, 4.1.0 and 4.1.1)."""
    entries = [SettingEntry("replication.factor", "3", "f", 1), SettingEntry("min.insync.replicas", "2", "f", 2, Scope.TOPIC)]
    for version in (*has, *has_not):
        found = [item for item in configure(gather(entries), release(version)).findings if item.rule == rule]
        assert len(found) == (version in has), version
        assert all(item.level is Severity.WARNING for item in found)


def test_a_defect_of_the_java_client_is_not_remarked_of_another_one() -> None:
    entries = [
        SettingEntry("replication.factor", "3", "f", 1),
        SettingEntry("acks", "all", "client.conf", 1, Scope.PRODUCER, default_of="librdkafka"),
    ]
    assert "producer-buffer" not in found_in(configure(gather(entries), release("4.1.1")))


@pytest.mark.parametrize(
    ("scope", "is_remarked"), [(None, False), (Scope.TOPIC, True), (Scope.BROKER, False), (Scope.DYNAMIC_BROKER, False)]
)
def test_only_what_a_topic_sets_itself_may_be_lost_with_a_default_of_brokers(scope: Scope | None, is_remarked: bool) -> None:
    entries = [SettingEntry("replication.factor", "3", "f", 1), SettingEntry("min.insync.replicas", "2", "f", 2, scope)]
    found = [item for item in configure(gather(entries), release("2.4")).findings if item.rule == "topic-setting-lost"]
    assert bool(found) is is_remarked
    assert [item.entry.line for item in found if item.entry] == [2] * len(found)


def test_an_old_inter_broker_protocol_keeps_the_old_rules() -> None:
    values = {"inter_broker_protocol_version": "0.9.0", "zookeeper_connect": "z"}
    assert configured("2.8", **values).rules == "0.9"
    assert configured("3.6", "zookeeper", inter_broker_protocol_version="3.6-IV2").rules == "3.6"


def test_a_release_has_the_rules_of_the_newest_listed_one_that_is_not_above_it() -> None:
    """Whatever releases are listed: a patch that changed something has its own rules, the others those before it."""
    listed = [name for name in VERSIONS if name != LATEST]
    assert [rules_of(release(name)) for name in listed] == listed
    assert rules_of(release(LATEST)) == LATEST
    patches = {"0.8.2.2": "0.8", "0.10.2.1": "0.10.2", "2.0.1": "2.0.1", "2.8.2": "2.8.1", "3.4.1": "3.4.1", "v4.1.0": "4.1"}
    for name, before in patches.items():
        fitting = [item for item in listed if tuple(map(int, item.split("."))) <= tuple(map(int, before.split(".")))]
        assert rules_of(release(name)) == fitting[-1]
    for name in ("", "5.0", "0.7", "99.9", "three", "3", "1.2.3.4.5"):
        with pytest.raises(ConfigurationError, match="name one from"):
            release(name)


def test_how_many_replicas_there_are_is_asked_for_and_never_taken_for_granted() -> None:
    with pytest.raises(ConfigurationError, match=r"--set replication\.factor=3"):
        configure(gather([SettingEntry("min.insync.replicas", "2", "f", 1)]), release("3.6"))


def test_more_replicas_than_can_be_asked_about_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="up to 5"):
        configured("3.6", replication_factor="6")


def test_faults_are_read_by_name() -> None:
    assert read_faults("zombies, lossy").crashes is CrashKind.LOSSY
    assert read_faults("zombies").name == "clean,zombies"
    for text in ("lossey", "clean,lossy", ""):
        with pytest.raises(AckedError):
            read_faults(text)


def test_every_fault_besides_crashes_switches_on_its_constant_which_is_off_by_default() -> None:
    off = {constant.name for constant in CIRCUMSTANCES if constant.default == 0}
    wrong = [item.name for item in BESIDES if item.constant not in off]
    assert wrong == [], "name in fault_words.py the circumstance of model/partition/rules/settings.py that is on under it"
    for item in BESIDES:
        switched = read_faults(f"none,{item.name}").constants(False)
        assert {other.name for other in BESIDES if switched[other.constant]} == {item.name}


def test_every_key_has_a_default_or_needs_none() -> None:
    version = release("4.1")
    optional = {"transactional.id", "replication.factor", "flush.messages", "replica.selector.class", "process.roles",
                "zookeeper.connect", "inter.broker.protocol.version", "metadata.version", "container image", "client.rack",
                "Kafka version", "oldest Kafka version",
                "auto.offset.reset", "enable.auto.commit", "group.instance.id", "transaction.version",
                "transaction.partition.verification.enable"}  # fmt: skip
    assert {name for name, key in KEYS.items() if key.default(version) is None} == optional
