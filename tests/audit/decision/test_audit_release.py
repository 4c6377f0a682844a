"""The release comes from the files, what contradicts is an error, and what stays open is asked about in every release in use.

Evidence for release and control plane, contexts, answers that differ between them.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, Faults
from acked.audit.decision.gather import Given, RefusedByKafka
from acked.audit.decision.questions import NEEDS, QUESTIONS, constants_of, task_of
from acked.audit.decision.release import Deployment, contexts, span
from acked.audit.decision.settings import configure
from acked.audit.formats.parts.images import release_of_image
from acked.audit.formats.reading import read_file
from acked.audit.reports.build import verdict_in_words
from acked.base.errors import ConfigurationError
from acked.base.release import LATEST, NEWEST, release
from acked.cluster.vocabulary.entry import SettingEntry
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import VERSIONS, planes_of
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather

LISTED = [name for name in VERSIONS if name != LATEST]
ZK, IBP, ROLES, MV = "zookeeper.connect", "inter.broker.protocol.version", "process.roles", "metadata.version"


def given_of(**values: str) -> Given:
    """Settings of a topic with three replicas, by names with _ for dots."""
    named = enumerate(values.items(), 1)
    entries = [SettingEntry(key.replace("_", "."), value, "server.properties", at) for at, (key, value) in named]
    return gather([*entries, SettingEntry("replication.factor", "3", "topic.txt", 1)])


def found(version: str | None = None, plane: str | None = None, **values: str) -> list[str]:
    """The contexts, the first first."""
    these = contexts(given_of(**values), version, plane)
    return [f"{item.release.name} {item.plane}" for item in (these.first, *these.others)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"zookeeper_connect": "zk:2181", "inter_broker_protocol_version": "3.6"}, ["3.6 zookeeper"]),
        ({"zookeeper_connect": "zk:2181", "inter_broker_protocol_version": "2.7-IV2"}, ["2.7 zookeeper"]),
        ({"inter_broker_protocol_version": "2.6"}, ["2.6 zookeeper"]),
        ({"inter_broker_protocol_version": "3.6"}, ["3.6 zookeeper", "3.6 kraft"]),
        ({"process_roles": "broker", "inter_broker_protocol_version": "3.6"}, ["3.6 kraft"]),
        ({"metadata_version": "3.6-IV2"}, ["3.6 kraft"]),
        ({"process_roles": "broker,controller", "metadata_version": "3.5-IV1"}, ["3.5.1 kraft", "3.5 kraft"]),
    ],
)
def test_the_release_and_the_control_plane_come_from_the_files(values: dict[str, str], expected: list[str]) -> None:
    assert found(**values) == expected


def test_a_protocol_names_a_minor_release_and_leaves_its_patches_open() -> None:
    patches = [name for name in LISTED if name.split(".")[:2] == ["2", "8"]]
    spoken = found(zookeeper_connect="z", inter_broker_protocol_version="2.8")
    assert spoken == [f"{name} zookeeper" for name in patches[::-1]]
    assert found("2.8.1", zookeeper_connect="z", inter_broker_protocol_version="2.8") == ["2.8.1 zookeeper"]


def test_options_decide_where_the_files_say_nothing() -> None:
    assert found("3.6", "zookeeper") == ["3.6 zookeeper"]
    assert found("3.6") == ["3.6 kraft", "3.6 zookeeper"]
    assert found("2.4") == ["2.4 zookeeper"]
    assert found(NEWEST) == [f"{NEWEST} kraft"]
    assert found(LATEST) == [f"{LATEST} kraft"]
    assert found("3.9", zookeeper_connect="z") == ["3.9 zookeeper"]


def test_where_nothing_names_the_release_every_one_in_use_is_meant_and_the_newest_is_told_about() -> None:
    everything = found()
    assert everything[0] == f"{NEWEST} kraft"
    assert {item.split()[0] for item in everything} == {name for name in LISTED if release(name).since("2.8.1")}
    assert {item.split()[1] for item in everything} == {"kraft", "zookeeper"}
    newest = [name for name in LISTED if "zookeeper" in planes_of(name)][-1]
    for values in ({"zookeeper_connect": "zk:2181"}, {"zookeeper_connect": "zk:2181", "process_roles": ""}):
        alone = found(**values)
        assert alone[0] == f"{newest} zookeeper"
        assert {item.split()[1] for item in alone} == {"zookeeper"}
    assert found(None, "zookeeper")[0] == f"{newest} zookeeper"
    kraft = found(process_roles="broker")
    assert kraft[0] == f"{NEWEST} kraft"
    assert {item.split()[1] for item in kraft} == {"kraft"}


@pytest.mark.parametrize(
    ("version", "plane", "values", "parts"),
    [
        ("4.0", None, {ZK: "z"}, ("--kafka-version", "zookeeper.connect (server.properties:1)")),
        ("2.8", None, {ROLES: "broker"}, ("--kafka-version", "process.roles")),
        ("3.5", None, {IBP: "3.6"}, ("--kafka-version", "inter.broker.protocol.version=3.6")),
        ("3.5", None, {MV: "3.6-IV2"}, ("--kafka-version", "metadata.version=3.6-IV2")),
        ("4.1", "zookeeper", {}, ("--kafka-version", "--control-plane")),
        (None, "kraft", {ZK: "z"}, ("zookeeper.connect", "--control-plane says kraft")),
        (None, "zookeeper", {ROLES: "broker"}, ("process.roles", "--control-plane says zookeeper")),
        (None, None, {ZK: "z", ROLES: "broker"}, ("zookeeper.connect", "process.roles", "say with --control-plane")),
        (None, None, {ZK: "z", MV: "3.6-IV2"}, ("zookeeper.connect", "metadata.version")),
        (None, None, {ROLES: "broker", IBP: "2.8"}, ("inter.broker.protocol.version", "process.roles")),
        (None, None, {IBP: "three"}, ("server.properties:1", "'three' is not a version")),
        (None, None, {MV: "20"}, ("server.properties:1", "'20' is not a version")),
        ("3.6", "kraft", {"container image": "3.5.1"}, ("--kafka-version", "container image=3.5.1")),
        (None, None, {"container image": "3.5.1", IBP: "3.6"}, ("container image=3.5.1", f"{IBP}=3.6")),
    ],
)
def test_what_contradicts_is_an_error_that_names_both_sides(
    version: str | None, plane: str | None, values: dict[str, str], parts: tuple[str, ...]
) -> None:
    given = gather([*(SettingEntry(key, value, "server.properties", at) for at, (key, value) in enumerate(values.items(), 1)),
                    SettingEntry("replication.factor", "3", "t", 1)])  # fmt: skip
    with pytest.raises(ConfigurationError) as caught:
        contexts(given, version, plane)
    for part in parts:
        assert part in str(caught.value)


def test_a_forgotten_protocol_and_one_that_is_raised_later_contradict_nothing() -> None:
    assert found("4.1", inter_broker_protocol_version="3.9") == ["4.1 kraft"]
    assert found("3.9", process_roles="broker", metadata_version="3.6-IV2") == ["3.9 kraft"]
    image = gather([SettingEntry("container image", "3.4.1", "pod.json", 1), SettingEntry("replication.factor", "3", "t", 1)])
    assert contexts(image, "3.4", "kraft").first.release.name == "3.4.1"
    assert found("3.9.1", "kraft", zookeeper_connect="z", process_roles="broker") == ["3.9.1 kraft"]


def test_an_old_level_of_features_keeps_the_old_rules_and_has_no_eligible_leader_replicas() -> None:
    configuration = configure(given_of(metadata_version="3.5-IV2"), release("4.1"), "kraft")
    assert configuration.rules == "3.5"
    assert configuration["eligible.leader.replicas.version"].value == "0"
    assert "metadata.version=3.5-IV2" in configuration["eligible.leader.replicas.version"].source
    assert constants_of(configuration, Faults())["eligible_leader_replicas"] == 0
    with pytest.raises(RefusedByKafka, match=r"needs a metadata\.version of 4\.0"):
        configure(given_of(metadata_version="3.9-IV0", eligible_leader_replicas_version="1"), release("4.1"), "kraft")


@pytest.mark.parametrize(
    ("image", "runs"),
    [("apache/kafka:3.9.0", "3.9.0"), ("docker.io/apache/kafka:4.1.0", "4.1.0"), ("apache/kafka-native:3.8.0", "3.8.0"),
     ("confluentinc/cp-kafka:7.6.0", "3.6"), ("confluentinc/cp-server:6.2.1", "2.8"), ("confluentinc/cp-kafka:5.5.1", "2.5"),
     ("confluentinc/cp-kafka:8.0.0", "4.0"), ("confluentinc/cp-kafka:4.1.2", "1.1"), ("bitnami/kafka:3.7", "3.7"),
     ("bitnami/kafka:3.7.0-debian-12-r1", "3.7.0"), ("wurstmeister/kafka:2.13-2.8.1", "2.8.1"),
     ("quay.io/strimzi/kafka:0.40.0-kafka-3.7.0", "3.7.0"), ("registry:5000/apache/kafka:3.9.0@sha256:ab", "3.9.0"),
     ("apache/kafka:latest", None), ("apache/kafka", None), ("postgres:15.2", None), ("my/kafka-ui:1.2", None),
     ("confluentinc/cp-kafka:9.0.0", None)],
)  # fmt: skip
def test_the_tag_of_an_image_names_the_release(image: str, runs: str | None) -> None:
    assert release_of_image(image) == runs


def test_an_image_in_a_file_names_the_release(tmp_path: Path) -> None:
    file = tmp_path / "container.json"
    content = {"image": "confluentinc/cp-kafka:7.6.0", "topic": {"replication.factor": 3}, "broker": {ZK: "z"}}
    file.write_text(json.dumps(content))
    these = contexts(gather(read_file(file)))
    assert (these.first.release.name, these.first.plane, these.others) == ("3.6", "zookeeper", ())
    assert f"{file}:1" in these.source


def test_releases_that_follow_each_other_are_told_by_the_first_and_the_last() -> None:
    names = [name for name in LISTED if release(name).since("3.0") and "zookeeper" in planes_of(name)]
    zookeeper = [Deployment(release(name), "zookeeper") for name in names]
    last = zookeeper[-1].release.name
    assert span(zookeeper) == f"3.0 to {last} with ZooKeeper"
    assert span([*zookeeper[:2], zookeeper[-1], Deployment(release("4.0"), "kraft")]) == (
        f"3.0 to 3.1 and {last} with ZooKeeper, 4.0 with KRaft"
    )


@pytest.mark.slow
def test_every_rule_that_is_left_out_of_a_question_says_nothing_there() -> None:
    """Releases that a search cannot tell apart are searched once: the expressions are the same, to the letter."""
    base = configure(given_of(), release("3.9"), "kraft")
    task = task_of(QUESTIONS[0], base, Assumptions())
    constants = {**dict(task.asked.constants), "replicas": 2, "records": 1}
    rules = {rule.name: switches for rule, switches in NEEDS.items()} | {settings.in_flight_refused.name: ()}

    @cache
    def fingerprint(**other: int) -> str:
        asked = replace(task.asked, constants=tuple({**constants, **other}.items()))
        return asked.question().fingerprint

    for rule, switches in rules.items():
        off = {switch.name: 0 for switch in switches}
        assert fingerprint(**{**constants, **off, rule: 0}) == fingerprint(**{**constants, **off, rule: 1}), rule
    for unclean in (0, 1):
        asked = [fingerprint(min_insync_replicas=least, strict_min_isr=0, acks=settings.ACKS_1, unclean_election=unclean)
                 for least in (1, 2)]  # fmt: skip
        assert asked[0] == asked[1], "nobody asks how many are in sync"
        more = [fingerprint(min_insync_replicas=least, strict_min_isr=1, unclean_election=unclean) for least in (2, 3)]
        assert more[0] == more[1], "no more than there are"
    for switch in NEEDS[settings.assignment_keeps_elr]:
        on = {"eligible_leader_replicas": 1, switch.name: 1}
        assert fingerprint(**on, assignment_keeps_elr=0) != fingerprint(**on, assignment_keeps_elr=1), "it needs one of them"
    assert fingerprint(strict_min_isr=0) != fingerprint(strict_min_isr=1), "what does say something"


@pytest.mark.slow
def test_the_answer_names_the_releases_between_which_it_differs_and_is_undecided_until_one_is_named() -> None:
    """Nobody says which release: 2.8 answers with acks=1 by default and loses records, from 3.0 on they are waited for."""
    given = gather([SettingEntry("replication.factor", "2", "t", 1), SettingEntry("min.insync.replicas", "2", "t", 2)])
    wanted = (("2.8.1", "zookeeper"), ("3.9", "zookeeper"), ("3.9", "kraft"))
    others = [Deployment(release(name), plane) for name, plane in wanted]
    auditor = Auditor(given, release("4.0"), "kraft", runner=KEPT, others=others)
    audit = auditor.run((AuditQuestion.LOSS, AuditQuestion.WRITES), advise=False, everywhere=(AuditQuestion.LOSS,))
    answer = audit.of(AuditQuestion.LOSS)
    assert answer.reply is AuditVerdict.NO
    assert {item.context: item.reply for item in answer.elsewhere} == {
        others[0]: AuditVerdict.YES, others[1]: AuditVerdict.NO, others[2]: AuditVerdict.NO,
    }  # fmt: skip
    assert answer.worst is AuditVerdict.UNDECIDED
    assert audit.worst((AuditQuestion.LOSS,)) is AuditVerdict.UNDECIDED
    words = verdict_in_words(audit, (AuditQuestion.LOSS,))
    assert words.endswith("it can in 2.8.1 with ZooKeeper, and not in 3.9 with ZooKeeper, 3.9 and 4.0 with KRaft; "
                          "--kafka-version and --control-plane will decide it")  # fmt: skip
    assert audit.of(AuditQuestion.WRITES).elsewhere == ()


def test_a_release_in_which_kafka_would_not_start_is_named_and_not_asked_about() -> None:
    given = gather(
        [
            SettingEntry("replication.factor", "1", "t", 1),
            SettingEntry("max.in.flight.requests.per.connection", "6", "p", 1),
        ]
    )
    others = [Deployment(release("4.0"), "kraft"), Deployment(release("3.8"), "kraft")]
    auditor = Auditor(given, release("3.9"), "kraft", runner=KEPT, others=others)
    audit = auditor.run((AuditQuestion.LOSS,), advise=False)
    assert [(other.release.name, bool(refused)) for other, refused in audit.others] == [("3.8", False), ("4.0", True)]
    assert [item.context.release.name for item in audit.of(AuditQuestion.LOSS).elsewhere] == ["3.8"]


def test_a_search_that_is_not_finished_elsewhere_leaves_the_whole_undecided() -> None:
    given = gather([SettingEntry("replication.factor", "1", "t", 1)])
    audit = Auditor(given, release("3.9"), "kraft", runner=KEPT).run((AuditQuestion.LOSS,), advise=False)
    answer = audit.of(AuditQuestion.LOSS)
    assert answer.worst is AuditVerdict.NO
    lost = replace(answer, outcome=None, failure="the process died")
    assert replace(answer, elsewhere=(answer, lost)).worst is AuditVerdict.UNDECIDED
    both = replace(audit, answers=(replace(answer, elsewhere=(answer, lost)),))
    assert both.worst((AuditQuestion.LOSS,)) is AuditVerdict.UNDECIDED


def test_a_rule_that_matters_only_with_a_circumstance_is_in_the_table_of_the_audit() -> None:
    circumstances = {item.name for item in settings.CIRCUMSTANCES}
    needs = {rule.name: {switch.name for switch in switches} for rule, switches in NEEDS.items()}
    for rule in settings.RULES:
        said = {name for name in re.findall(r"only with (\w+)", rule.doc) if name in circumstances}
        assert said <= needs.get(rule.name, set()), f"{rule.name}: name {said} in NEEDS of audit/decision/questions.py"
