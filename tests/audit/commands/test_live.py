"""A running cluster is read as files would be: with the source of every value, and what may not be read stays undecided."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import confluent_kafka.admin
import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaError, KafkaException

from acked.audit.clusters.live import assume_producers, live_entries
from acked.audit.clusters.several import Asked, audit_groups
from acked.audit.clusters.topics import TopicGroup, groups_of
from acked.audit.commands import live, requests
from acked.audit.commands.live import ask_cluster, client_properties
from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict
from acked.audit.decision.gather import Given, recognise
from acked.audit.decision.release import contexts
from acked.audit.formats.reading import read_all
from acked.base.errors import AckedError, ConfigurationError
from acked.base.release import release
from acked.cli import cli
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.releases.release import Mode
from acked.cluster.vocabulary import keys
from acked.cluster.waiting import wait_for
from tests.audit.reading import gather
from tests.cluster.conftest import real_plan, users_cache
from tests.docs.test_ci import CHECKOUT, in_the_action

__all__ = ["users_cache"]

ADDRESS = "kafka.example:9092"
DEFAULT, STATIC, DYNAMIC, ALL, TOPIC = "DEFAULT_CONFIG", "STATIC_BROKER_CONFIG", "DYNAMIC_BROKER_CONFIG", \
    "DYNAMIC_DEFAULT_BROKER_CONFIG", "DYNAMIC_TOPIC_CONFIG"  # fmt: skip

BROKER = {
    "min.insync.replicas": ("1", DEFAULT),
    "unclean.leader.election.enable": ("false", DEFAULT),
    "log.flush.interval.messages": ("9223372036854775807", DEFAULT),
    "default.replication.factor": ("1", STATIC),
    "process.roles": ("broker", STATIC),
    "zookeeper.connect": (None, DEFAULT),
    "inter.broker.protocol.version": ("3.9-IV0", DEFAULT),
    "ssl.keystore.password": (None, DEFAULT),
}


class FakeAdmin:
    """Answers as librdkafka's client does, from what a test says that the cluster has."""

    brokers: Mapping[int, Mapping[str, tuple[str | None, str]] | KafkaError] = {}
    topics: Mapping[str, tuple[list[tuple[list[int], list[int]]], Mapping[str, tuple[str, str]] | KafkaError]] = {}
    racks: Mapping[int, str] = {}
    gone: frozenset[int] = frozenset()
    asked = 0

    def __init__(self, properties: Mapping[str, Any]) -> None:
        assert properties["bootstrap.servers"].partition(",")[0] == ADDRESS

    def list_topics(self, timeout: float) -> Any:
        brokers = {n: SimpleNamespace(id=n, host="kafka.example", port=9092) for n in self.brokers if n not in self.gone}
        topics = {
            name: SimpleNamespace(
                error=None,
                partitions={
                    at: SimpleNamespace(id=at, leader=i[0] if i else -1, replicas=r, isrs=i)
                    for at, (r, i) in enumerate(partitions)
                },
            )
            for name, (partitions, _) in self.topics.items()
        }
        return SimpleNamespace(brokers=brokers, topics=topics, controller_id=1)

    def describe_cluster(self, request_timeout: float) -> Future[Any]:
        return done(SimpleNamespace(nodes=[SimpleNamespace(id=n, rack=self.racks.get(n)) for n in self.brokers]))

    def describe_configs(self, resources: Iterable[Any], request_timeout: float) -> dict[Any, Future[Any]]:
        type(self).asked += 1
        return {resource: done(self._of(resource)) for resource in resources}

    def _of(self, resource: Any) -> Any:
        is_broker = resource.restype == confluent_kafka.admin.ResourceType.BROKER
        found = self.brokers[int(resource.name)] if is_broker else self.topics[resource.name][1]
        if isinstance(found, KafkaError):
            return found
        source = confluent_kafka.admin.ConfigSource
        return {key: SimpleNamespace(value=value, source=source[of].value) for key, (value, of) in found.items()}


def done(answer: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(answer, KafkaError):
        future.set_exception(KafkaException(answer))
    else:
        future.set_result(answer)
    return future


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> type[FakeAdmin]:
    """Three brokers of 3.9 with KRaft, two of them in one rack."""
    made = type("Made", (FakeAdmin,), {
        "brokers": {1: BROKER, 2: BROKER, 3: BROKER},
        "topics": {
            "orders": ([([1, 2, 3], [1, 2])], {"min.insync.replicas": ("2", TOPIC), "flush.messages": ("9", DEFAULT)}),
            "payments": ([([3, 2, 1], [1, 2, 3])], {"min.insync.replicas": ("2", TOPIC)}),
            "logs": ([([1, 3], [1, 3])], {"min.insync.replicas": ("1", DEFAULT)}),
            "__consumer_offsets": ([([1], [1])], {}),
        },
        "racks": {1: "a", 2: "a", 3: "b"},
        "asked": 0,
    })  # fmt: skip
    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", made)
    monkeypatch.setattr(requests, "features_of", lambda *_: ({"metadata.version": 21}, 21))
    return made


def asked(topic: str | None = None) -> list[TopicGroup]:
    return groups_of(recognise(live_entries(ask_cluster(ADDRESS, {}, topic=topic))), topic)


def values_of(given: Given) -> dict[str, str]:
    return {key: entry.value for key, entry in given.entries.items()}


def test_topics_are_grouped_by_what_counts_and_every_value_has_its_source(admin: type[FakeAdmin]) -> None:
    loose, careful = asked()
    assert (careful.topics, loose.topics) == (("orders", "payments"), ("logs",))
    assert admin.asked == 4, "a request for each broker, and one for all topics"
    entries = careful.given.entries
    assert entries[keys.MIN_ISR].source == f"{ADDRESS}, topic orders (dynamic)"
    assert loose.given.entries[keys.MIN_ISR].source == f"{ADDRESS}, broker 1 (default)"
    assert entries[keys.DEFAULT_FACTOR].source == f"{ADDRESS}, broker 1 (static)"
    assert values_of(careful.given)[keys.METADATA_VERSION] == "3.9-IV0"
    assert keys.TOPIC_FLUSH_MESSAGES not in entries, "what a topic has from its broker is the broker's"
    found = contexts(careful.given)
    assert {(one.release.name, one.plane) for one in (found.first, *found.others)} == {("3.9", "kraft"), ("3.9.1", "kraft")}


def test_a_cluster_that_is_asked_at_several_addresses_is_named_by_the_first(admin: type[FakeAdmin]) -> None:
    (group, _) = groups_of(recognise(live_entries(ask_cluster(f"{ADDRESS},kafka-2.example:9092", {}))))
    assert {entry.file for entry in group.given.entries.values()} == {ADDRESS}


def test_a_short_isr_and_replicas_that_share_a_rack_are_remarked(admin: type[FakeAdmin]) -> None:
    findings = [(finding.rule, finding.text) for finding in asked()[1].given.findings]
    remarks = dict(reversed(findings))
    assert [rule for rule, _ in findings].count("shared-rack") == 2
    assert remarks["short-isr"] == "topic orders has fewer replicas in sync than replicas now: partition 0 has 1,2 of 1,2,3"
    assert remarks["shared-rack"] == "topic orders has replicas that share a rack: partition 0 (1,2,3) in a"
    assert "controllers-unread" in remarks


def test_a_partition_without_a_leader_is_remarked(admin: type[FakeAdmin]) -> None:
    partitions = [([3, 2, 1], []), ([3, 2, 1], [1, 2, 3])]
    admin.topics = {**admin.topics, "payments": (partitions, {"min.insync.replicas": ("2", TOPIC)})}
    remarks = [finding.text for group in asked() for finding in group.given.findings if finding.rule == "no-leader"]
    said = "topic payments has partitions without a leader now, which nobody writes or reads: partition 0 of 3,2,1"
    assert remarks == [said]


def test_brokers_that_differ_are_a_finding_and_each_variant_is_answered(admin: type[FakeAdmin]) -> None:
    admin.brokers = {1: BROKER, 2: {**BROKER, "min.insync.replicas": ("2", DYNAMIC)}, 3: BROKER}
    found = {(group.topics, group.brokers): group for group in asked()}
    assert set(found) == {(("orders", "payments"), ()), (("logs",), ("1", "3")), (("logs",), ("2",))}
    drifting = found[("logs",), ("2",)].given
    assert values_of(drifting)[keys.MIN_ISR] == "2"
    assert [finding.text for finding in drifting.findings if finding.rule == "drift"] == [
        "brokers differ: broker 2 has min.insync.replicas=2; what counts depends on who leads, so each variant is answered "
        "as if all brokers had it"
    ]


def test_brokers_of_two_releases_are_two_variants(admin: type[FakeAdmin], monkeypatch: pytest.MonkeyPatch) -> None:
    levels = {number: ({"metadata.version": 21}, newest) for number, newest in ((1, 21), (2, 25), (3, 25))}
    monkeypatch.setattr(requests, "features_of_all", lambda *_: levels)
    groups = [group for group in asked() if "logs" in group.topics]
    assert {group.brokers: contexts(group.given).first.release.numbers[:2] for group in groups} == {
        ("1",): (3, 9), ("2", "3"): (4, 0),
    }  # fmt: skip


def test_what_may_not_be_read_is_said_and_is_no_answer(admin: type[FakeAdmin]) -> None:
    denied = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    admin.topics = {**admin.topics, "payments": (admin.topics["payments"][0], denied)}
    groups = asked()
    (unread,) = [group for group in groups if group.refusal]
    assert unread.topics == ("payments",)
    assert "Topic authorization failed" in unread.refusal
    assert not any("payments" in group.topics for group in groups if not group.refusal)


def test_topics_that_a_stopped_broker_may_lead_are_undecided_under_its_lead_and_no_others(admin: type[FakeAdmin]) -> None:
    admin.gone = frozenset({2})
    found = {(group.topics, group.brokers): group.refusal for group in asked()}
    assert found == {
        (("orders", "payments"), ()): "",
        (("logs",), ()): "",
        (("orders", "payments"), ("2",)): "the settings of broker 2 are not known: it does not run",
    }


def test_where_no_broker_may_be_read_nothing_is_answered(admin: type[FakeAdmin]) -> None:
    admin.brokers = dict.fromkeys((1, 2, 3), KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))
    assert all(group.refusal for group in asked())


def test_without_producers_both_kinds_are_answered_and_the_careful_ones_decide(admin: type[FakeAdmin]) -> None:
    groups = assume_producers(asked("logs"))
    assert [(group.given.entries[keys.ACKS].value, group.decides) for group in groups] == [("all", True), ("1", False)]


def test_whether_leaders_are_eligible_is_not_assumed_of_a_cluster_that_does_not_tell(
    admin: type[FakeAdmin], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "features_of", lambda *_: (None, None))
    required = (AuditQuestion.LOSS,)
    groups = asked("payments")
    with pytest.raises(ConfigurationError, match=r"say it with --set eligible\.leader\.replicas\.version=0"):
        audit_groups(groups, Asked(required, required, Assumptions(), version="4.1"))
    (unasked,) = audit_groups([*groups, *groups], Asked(required, required, Assumptions(), version="4.1"))[:1]
    assert unasked.worst is AuditVerdict.UNDECIDED


def test_a_topic_that_there_is_not_and_an_address_that_is_none_are_refused(admin: type[FakeAdmin]) -> None:
    with pytest.raises(ConfigurationError, match=r"lists no topic 'order'.*orders"):
        ask_cluster(ADDRESS, {}, topic="order")
    with pytest.raises(ConfigurationError, match="HOST:PORT"):
        ask_cluster("kafka.example", {})


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_one_sentence() -> None:
    with pytest.raises(AckedError, match=r"the cluster at 127\.0\.0\.1:1 does not answer"):
        ask_cluster("127.0.0.1:1", {}, seconds=1)


def test_a_clients_properties_are_taken_over_and_programs_are_not_run(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\nssl.truststore.location=ca.pem\n"
        'sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="s=\\"1";\n'
    )
    found = client_properties(path)
    assert (found["sasl.mechanisms"], found["sasl.username"], found["ssl.ca.location"]) == ("SCRAM-SHA-512", "a", "ca.pem")
    for line in ("plugin.library.paths=evil.so", "sasl.kerberos.kinit.cmd=rm", "ssl.truststore.location=x.jks",
                 "sasl.jaas.config=com.example.Module required secret=\"hidden\";"):  # fmt: skip
        path.write_text(f"{line}\n")
        with pytest.raises(ConfigurationError, match=r"client\.properties:1") as refused:
            client_properties(path)
        assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(("said", "plain"), [
    ("sasl_ssl://kafka:9093/1: SASL authentication error: Authentication failed (after 5ms in state AUTH_REQ)",
     "SASL authentication error: Authentication failed"),
    ("ssl://kafka:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: no issuer "
     "(after 3ms in state SSL_HANDSHAKE, 1 identical error(s) suppressed)",
     "SSL handshake failed: certificate verify failed: no issuer"),
    ("kafka:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)",
     "Connection refused"),
    ("Failed to resolve 'kafka:9092'", "Failed to resolve 'kafka:9092'"),
])  # fmt: skip
def test_what_the_client_library_met_is_told_in_its_words_alone(said: str, plain: str) -> None:
    assert live._plain(said) == plain


# -- real brokers ---------------------------------------------------------------------------------------------------------

TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "plain": (3, {}),
    "two": (3, {"min.insync.replicas": "2"}),
    "two-again": (3, {"min.insync.replicas": "2", "retention.ms": "60000"}),
    "three": (3, {"min.insync.replicas": "3"}),
    "pair": (2, {}),
    "pair-of-two": (2, {"min.insync.replicas": "2"}),
    "single": (1, {}),
    "unclean": (3, {"unclean.leader.election.enable": "true"}),
    "unclean-two": (3, {"unclean.leader.election.enable": "true", "min.insync.replicas": "2"}),
    "flushed": (3, {"flush.messages": "1"}),
    "flushed-two": (3, {"flush.messages": "1", "min.insync.replicas": "2"}),
    "secret": (3, {}),
}
OWN = (keys.MIN_ISR, keys.UNCLEAN, keys.FLUSH_MESSAGES, keys.TOPIC_FLUSH_MESSAGES, "replication.factor")


@pytest.mark.real
@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.parametrize(("version", "minor", "elr", "dynamic"), [
    ("3.9.1", "3.9", None, (keys.MIN_ISR, "2")),
    ("4.4.0", "4.4", "1", (keys.FLUSH_MESSAGES, "1")),  # With ELR no broker may have another min.insync.replicas.
])  # fmt: skip
def test_a_real_cluster_is_read_as_files_with_the_same_settings(
    version: str, minor: str, elr: str | None, dynamic: tuple[str, str], users_cache: None, tmp_path: Path
) -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "default.replication.factor": "3",
    }
    with Cluster(real_plan(version, settings, Mode.KRAFT)) as cluster:
        _fill(cluster, *dynamic)
        address = cluster.bootstrap()
        found = ask_cluster(address, {}, seconds=120)
        groups = groups_of(recognise(live_entries(found)))
        _as_in_files(groups, minor, elr, dynamic, tmp_path)
        (unread,) = [group for group in groups if group.refusal]
        assert unread.topics == ("secret",)
        cluster.kill(2)
        cluster.notice(2)
        wait_for(lambda: 2 not in _running(cluster), "the end of broker 2", 60)
        short = ask_cluster(cluster.addresses.bootstrap(0), {}, seconds=120)
        later = groups_of(recognise(live_entries(short)))
    refusals = {refusal for group in later if (refusal := group.refusal) and group.brokers == ("2",)}
    assert refusals == {"the settings of broker 2 are not known: it does not run"}
    remarks = [finding.text for group in later for finding in group.given.findings if finding.rule == "short-isr"]
    assert any("topic plain has fewer replicas in sync" in text for text in remarks)


def _fill(cluster: Cluster, key: str, value: str) -> None:
    """Twelve topics; one setting of a broker is dynamic, and one topic's settings may not be read."""
    from confluent_kafka import admin as kafka

    with cluster.admin() as ask:
        for name, (replicas, own) in TOPICS.items():
            assert ask.create_topic(name, list(range(replicas)), own) == 0
    client = kafka.AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 0})
    entry = kafka.ConfigEntry(key, value, incremental_operation=kafka.AlterConfigOpType.SET)
    broker = kafka.ConfigResource(kafka.ResourceType.BROKER, "1", incremental_configs=[entry])
    for future in client.incremental_alter_configs([broker]).values():
        future.result(60)
    kind, rule = kafka.AclOperation, kafka.AclPermissionType
    whole = kafka.ResourcePatternType.LITERAL
    acls = [
        kafka.AclBinding(kafka.ResourceType.TOPIC, "secret", whole, "User:ANONYMOUS", "*", of, how)
        for of, how in ((kind.DESCRIBE, rule.ALLOW), (kind.DESCRIBE_CONFIGS, rule.DENY))
    ]
    for future in client.create_acls(acls).values():
        future.result(60)

    def is_forbidden() -> bool:
        topics = {topic.name: topic for topic in ask_cluster(cluster.bootstrap(), {}, seconds=60).topics}
        return "secret" in topics and topics["secret"].values is None

    wait_for(is_forbidden, "the ACL", 60)


def _running(cluster: Cluster) -> tuple[int, ...]:
    with cluster.client(0) as ask:
        return tuple(ask.metadata([]).brokers)


def _as_in_files(
    groups: list[TopicGroup], minor: str, elr: str | None, dynamic: tuple[str, str], folder: Path
) -> None:
    """Every topic under every broker's lead has what the same settings have in a file, and so the same searches."""
    seen: set[tuple[str, str]] = set()
    for group in groups:
        for name in group.topics if not group.refusal else ():
            replicas, own = TOPICS[name]
            for broker in group.brokers or ("0", "1", "2"):
                seen.add((name, broker))
                inherited = {"min.insync.replicas": "1", "unclean.leader.election.enable": "false"}
                inherited |= {dynamic[0]: dynamic[1]} if broker == "1" else {}
                own = {key: value for key, value in own.items() if key != "retention.ms"}
                said = {**inherited, **own, "replication.factor": str(replicas), "process.roles": "broker"}
                said |= {"metadata.version": minor, **({keys.ELR: elr} if elr else {})}
                path = folder / f"{name}-{broker}.properties"
                path.write_text("".join(f"{key}={value}\n" for key, value in said.items()))
                of_file = gather(read_all([path]))
                assert _tasks(group.given, minor) == _tasks(of_file, minor), (name, broker)
    assert seen == {(name, str(broker)) for name in TOPICS if name != "secret" for broker in range(3)}


def _tasks(given: Given, minor: str) -> list[Any]:
    return [json.dumps(task.document(), sort_keys=True) for task in Auditor(given, release(minor)).tasks()]


@pytest.mark.real
@pytest.mark.slow
def test_a_real_cluster_in_the_middle_of_a_roll(users_cache: None, tmp_path: Path) -> None:
    """Brokers of two releases, another min.insync.replicas, racks, one of Kafka's own topics, and one topic alone."""
    plan = replace(real_plan("4.1.0", {}, Mode.KRAFT), features={keys.ELR: 0})
    newer = real_plan("4.2.0", {}, Mode.KRAFT)
    cluster = Cluster(plan)
    for node, rack in ((0, "a"), (1, "a"), (2, "b")):
        cluster.nodes[node].settings["broker.rack"] = rack
    cluster.nodes[1].settings["min.insync.replicas"] = "2"
    cluster.nodes[2].program = replace(cluster.nodes[2].program, jars=newer.jars, archive=newer.archive)
    with cluster:
        with cluster.admin() as ask:
            for name, settings in (("inherits", {}), ("has-its-own", {"min.insync.replicas": "2"})):
                assert ask.create_topic(name, [0, 1, 2], settings) == 0
            assert ask.create_topic("apart", [0, 2], {}) == 0
        _read_by_a_group(cluster)
        address = cluster.bootstrap()
        groups = groups_of(recognise(live_entries(ask_cluster(address, {}, seconds=60))))
        _told_apart(groups)
        alone = _audited(address, tmp_path, "--topic", "has-its-own")
        every = _audited(address, tmp_path, "--internal")
        _recipes_are_red_for_what_got_worse(cluster, tmp_path)
    assert [topic for group in alone["groups"] for topic in group["topics"]] == ["has-its-own"] * len(alone["groups"])
    assert "__consumer_offsets" in {topic for group in every["groups"] for topic in group["topics"]}


def _read_by_a_group(cluster: Cluster) -> None:
    """Makes the topic of offsets, as a consumer does that asks where its group is."""
    import confluent_kafka

    group = {"bootstrap.servers": cluster.bootstrap(), "group.id": "readers", "log_level": 0}
    consumer = confluent_kafka.Consumer(group)
    consumer.committed([confluent_kafka.TopicPartition("apart", 0)], timeout=60)
    consumer.close()


def _told_apart(groups: list[TopicGroup]) -> None:
    """Variants by what whoever leads has: the release of broker 2, the min.insync.replicas of broker 1."""
    found = {(group.topics, group.brokers): group for group in groups}
    assert set(found) == {
        *((("inherits",), (broker,)) for broker in "012"),
        *((("has-its-own",), brokers) for brokers in (("0", "1"), ("2",))),
        *((("apart",), (broker,)) for broker in "012"),
    }
    for (_, brokers), group in found.items():
        assert contexts(group.given).first.release.numbers[:2] == ((4, 2) if brokers == ("2",) else (4, 1))
        assert values_of(group.given)[keys.ELR] == "0"
    least = [values_of(found[("inherits",), (broker,)].given)[keys.MIN_ISR] for broker in "012"]
    assert least == ["1", "2", "1"]
    shared = {
        group.topics: finding.text for group in groups for finding in group.given.findings if finding.rule == "shared-rack"
    }
    assert set(shared) == {("inherits",), ("has-its-own",)}
    assert shared["inherits",] == "topic inherits has replicas that share a rack: partition 0 (0,1,2) in a"
    drift = {finding.text for group in groups for finding in group.given.findings if finding.rule == "drift"}
    assert any("broker 1 has Kafka version=4.1, min.insync.replicas=2;" in text for text in drift)
    assert any("broker 2 has Kafka version=4.2, min.insync.replicas=1;" in text for text in drift)


def _audited(address: str, folder: Path, *options: str) -> dict[str, Any]:
    """What the command says, as JSON; nothing is searched for long."""
    out = folder / "audit.json"
    briefly = ["--ask", "loss", "--faults", "none", "--max-states", "1000", "--no-advice", "--quiet"]
    asked = ["audit", "--bootstrap-server", address, "--format", "json", "--out", str(out), *briefly, *options]
    CliRunner().invoke(cli, asked)
    made: dict[str, Any] = json.loads(out.read_text())
    return made


def _recipes_are_red_for_what_got_worse(cluster: Cluster, folder: Path) -> None:
    """The lines for cron as the pages have them, and the step of the action, of a cluster with one topic of two replicas."""
    from confluent_kafka import admin as kafka

    client = kafka.AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 0})
    for future in client.delete_topics(["inherits", "has-its-own"]).values():
        future.result(60)
    (folder / "client.properties").write_text("request.timeout.ms=60000\n")
    engine = folder / "podman"  # In the engine's place: what stands behind the image's name is run as it is.
    engine.write_text('#!/bin/sh\nwhile [ "$1" != acked:cluster ]; do shift; done; shift; exec acked "$@"\n')
    engine.chmod(0o755)
    environment = dict(os.environ) | {"PATH": f"{folder}:{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}

    def done(command: str) -> subprocess.CompletedProcess[str]:
        line = command.replace("kafka:9092", cluster.bootstrap())
        return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)

    pages = "".join((CHECKOUT / "docs" / name).read_text("utf-8") for name in ("audit.md", "ci.md"))
    (written,) = re.findall(r"^acked audit --bootstrap-server .* --out audit\.json$", pages, re.M)
    lines = re.findall(r"^0 6 \* \* \* (.*)$", pages, re.M)
    assert lines
    assert done(written).returncode in (0, 12, 152)
    assert [(one.returncode, one.stdout, one.stderr) for one in map(done, lines)] == [(0, "", "")] * len(lines)
    entry = kafka.ConfigEntry(keys.UNCLEAN, "true", incremental_operation=kafka.AlterConfigOpType.SET)
    topic = kafka.ConfigResource(kafka.ResourceType.TOPIC, "apart", incremental_configs=[entry])
    for future in client.incremental_alter_configs([topic]).values():
        future.result(60)
    for line in lines:
        worse = done(line)
        assert worse.returncode == 12
        assert "apart" in worse.stdout
    (folder / "acked-reports").mkdir()
    asked = {"audit-arguments": f"--bootstrap-server {cluster.bootstrap()} --no-advice"}
    summary = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    red = in_the_action("Audit", folder, environment | summary, **asked)
    assert red.returncode == 12, red.stderr
    assert json.loads((folder / "acked-reports" / "audit.sarif").read_text())["runs"][0]["results"]
