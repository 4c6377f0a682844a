"""Every topic that is described is asked about, once for all that have the same settings."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from acked.audit.clusters import topics as topics_module
from acked.audit.clusters.live import LiveCluster, live_entries
from acked.audit.clusters.several import Asked, Audited, audit_groups, is_unclean_open, worst_of_groups
from acked.audit.clusters.topics import TopicGroup, groups_of, left_out, topics_in
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, CrashKind, Faults
from acked.audit.decision.gather import Given, recognise
from acked.audit.formats.listings import described_entries
from acked.audit.reports.baseline import cells_of
from acked.audit.reports.junit import audit_junit
from acked.audit.reports.sarif import audit_sarif
from acked.audit.reports.topics import groups_table, topics_markdown, topics_view
from acked.base.errors import ConfigurationError
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import OPTION, REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.note import Listed, Note, Read, Unread
from tests.audit.commands.clusters import cluster
from tests.audit.decision.kept import KEPT

LISTED = """\
Topic: orders	TopicId: a	PartitionCount: 2	ReplicationFactor: 2	Configs: min.insync.replicas=2
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1,2	Isr: 1,2	Elr:
	Topic: orders	Partition: 1	Leader: 1	Replicas: 1,2	Isr: 1	Elr: 2	LastKnownElr:
Topic: payments	TopicId: b	PartitionCount: 1	ReplicationFactor: 2	Configs: retention.ms=9,min.insync.replicas=2
	Topic: payments	Partition: 0	Leader: 1	Replicas: 1,2	Isr: 1,2
Topic: logs	TopicId: c	PartitionCount: 1	ReplicationFactor: 1	Configs: segment.bytes=1
	Topic: logs	Partition: 0	Leader: 1	Replicas: 1	Isr: 1
Topic: __consumer_offsets	TopicId: d	PartitionCount: 1	ReplicationFactor: 1	Configs: cleanup.policy=compact
	Topic: __consumer_offsets	Partition: 0	Leader: 1	Replicas: 1	Isr: 1
"""
BROKERS = """\
Dynamic configs for broker 1 are:
  min.insync.replicas=2 sensitive=false synonyms={}
Dynamic configs for broker 2 are:
  min.insync.replicas=1 sensitive=false synonyms={}
"""


def entries(text: str, name: str = "topics.txt") -> list[Read]:
    return list(described_entries(name, text))


def topics(groups: list[TopicGroup]) -> list[tuple[str, ...]]:
    return [group.topics for group in groups]


def test_topics_with_the_same_settings_are_one_group_and_kafkas_own_are_left_out_unless_asked_for() -> None:
    found = recognise(entries(LISTED))
    groups = groups_of(found)
    assert topics(groups) == [("orders", "payments"), ("logs",)]
    assert left_out(found, groups) == ["__consumer_offsets"]
    assert topics(groups_of(found, with_internal=True)) == [("orders", "payments"), ("logs", "__consumer_offsets")]
    assert topics(groups_of(found, "__consumer_offsets")) == [("__consumer_offsets",)]
    with pytest.raises(ConfigurationError, match="no file describes a topic 'order'"):
        groups_of(found, "order")


def test_a_partition_that_lacks_a_replica_in_sync_is_remarked_with_its_line() -> None:
    (first, second) = groups_of(recognise(entries(LISTED)))
    (remark,) = [finding for finding in first.given.findings if finding.rule == "short-isr"]
    assert remark.text == "topic orders has fewer replicas in sync than replicas now: partition 1 has 1 of 1,2"
    assert remark.entry is not None
    assert remark.entry.where == "topics.txt:3"
    assert second.given.findings == ()


@pytest.mark.parametrize("nobody", ["none", "-1"])
def test_a_partition_without_a_leader_is_remarked_with_its_line(nobody: str) -> None:
    listed = LISTED.replace("1	Leader: 1	Replicas: 1,2	Isr: 1	", f"1	Leader: {nobody}	Replicas: 1,2	Isr:	")
    (first, _) = groups_of(recognise(entries(listed)))
    remarks = {finding.rule: finding for finding in first.given.findings}
    assert set(remarks) == {"short-isr", "no-leader"}
    found = remarks["no-leader"]
    assert found.text == "topic orders has partitions without a leader now, which nobody writes or reads: partition 1 of 1,2"
    assert found.entry is not None
    assert found.entry.where == "topics.txt:3"


def test_brokers_of_one_listing_that_differ_are_each_answered_and_only_where_topics_take_it_from_them() -> None:
    groups = groups_of(recognise([*entries(LISTED), *entries(BROKERS, "brokers.txt")]))
    found = {(group.topics, group.brokers): group.given.entries[keys.MIN_ISR].value for group in groups}
    assert found == {(("orders", "payments"), ()): "2", (("logs",), ("1",)): "2", (("logs",), ("2",)): "1"}
    assert [finding.rule for finding in groups[-1].given.findings] == ["drift"]


@pytest.mark.parametrize(("found", "kinds"), [(cluster(40), 11), (None, 4)])
def test_topics_of_which_the_same_is_said_are_settled_once_and_are_in_the_groups_that_each_has_alone(
    found: LiveCluster | None, kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = live_entries(found) if found else [*entries(LISTED), *entries(BROKERS, "brokers.txt")]
    twice = SettingEntry(keys.MIN_ISR, "9", said[0].file, 99, Scope.TOPIC, "topic-3" if found else "payments")
    read = recognise([*said, twice])
    calls: list[Any] = []
    settle = topics_module.settle

    def counted(*given: Any) -> Given:
        calls.append(given)
        return settle(*given)

    monkeypatch.setattr(topics_module, "settle", counted)
    groups = groups_of(read, with_internal=True)
    assert len(calls) == kinds * (3 if found else 2), "once under the lead of every broker"
    for name in topics_in(read):
        alone = {(group.brokers, group.refusal, values_of(group)) for group in groups_of(read, name)}
        assert alone == {(group.brokers, group.refusal, values_of(group)) for group in groups if name in group.topics}


def values_of(group: TopicGroup) -> frozenset[tuple[str, str]]:
    return frozenset((key, entry.value) for key, entry in group.given.entries.items())


@pytest.mark.slow
def test_one_topic_that_cannot_be_asked_about_leaves_the_others_their_answers_and_is_never_green() -> None:
    more = [SettingEntry("replication.factor", "9", "t", 1, Scope.TOPIC, "huge")]
    groups = groups_of(recognise([*entries(LISTED), *more]))
    required = (AuditQuestion.LOSS,)
    asked = Asked(required, required, Assumptions(), False, "4.1", runner=KEPT)
    audited = audit_groups(groups, asked)
    found = {one.group.topics[0]: one.worst for one in audited}
    assert found == {"orders": AuditVerdict.NO, "logs": AuditVerdict.NO, "huge": AuditVerdict.UNDECIDED}
    assert worst_of_groups(audited) is AuditVerdict.UNDECIDED
    view = topics_view(audited, ["__consumer_offsets"])
    assert view.verdict_in_words.startswith("UNDECIDED: 1 group of topics (1; 1 topic)")
    assert [row[0].text for row in groups_table(view).rows] == ["1. huge", "2. orders, payments", "3. logs"]
    text = topics_markdown(view)
    assert "9 replicas are more than acked can ask about" in text
    assert "left out: \\_\\_consumer\\_offsets" in text or "left out: __consumer_offsets" in text


@pytest.mark.slow
def test_who_loses_records_without_a_dying_machine_is_the_worst_and_the_verdict_has_all_faults_and_what_is_open() -> None:
    """A topic of one replica has more cells that are a yes; but what decides counts first."""
    unclean = {"replication.factor": "2", "unclean.leader.election.enable": "true"}
    given = {"huge": {"replication.factor": "9"}, "logs": {"replication.factor": "1"}, "payments": unclean}
    known = [SettingEntry(key, value, "t", 1, Scope.TOPIC, name) for name, its in given.items() for key, value in its.items()]
    questions, required = (AuditQuestion.LOSS, AuditQuestion.WRITES), (AuditQuestion.LOSS,)
    asked = Asked(questions, required, Assumptions(of_loss=(Faults(CrashKind.ONE_MACHINE),)), False, "4.1", runner=KEPT)
    audited = audit_groups(groups_of(recognise(known)), asked)
    assert [one.group.topics for one in audited] == [("payments",), ("logs",), ("huge",)]
    assert topics_view(audited, []).verdict_in_words == (
        "FAIL: 2 groups of topics (1, 2; 2 topics): 1: acknowledged records can be lost (faults: process dies, machine "
        "dies); 2: acknowledged records can be lost (faults: machine dies); undecided besides: 1 topic"
    )


@pytest.mark.slow
def test_what_hangs_on_controllers_that_cannot_be_asked_is_undecided_and_is_not_where_it_is_said() -> None:
    required = (AuditQuestion.LOSS,)
    asked = Asked(required, required, Assumptions(), False, "3.9", "kraft", KEPT)
    settings = {"replication.factor": "2", "min.insync.replicas": "1"}
    known = [SettingEntry(key, value, "live", 0, Scope.TOPIC, "orders") for key, value in settings.items()]
    known.append(SettingEntry("acks", "all", "live", 0, Scope.PRODUCER))
    unread = Note(Unread("brokers cannot tell"), "live", 0, said_by="controllers")

    def audited(*more: SettingEntry) -> Audited:
        (one,) = audit_groups(groups_of(recognise([*known, unread, *more])), asked)
        return one

    one = audited()
    (hinge,) = one.hinges
    assert (hinge.answer.question.asked, hinge.answer.reply) == (AuditQuestion.LOSS, AuditVerdict.NO)
    assert one.worst is AuditVerdict.UNDECIDED
    view = topics_view([one], [])
    assert view.verdict is AuditVerdict.UNDECIDED
    assert "hangs on the controllers' unclean.leader.election.enable" in view.verdict_in_words
    red = {cell.tag for cell in ET.fromstring(audit_junit(view)).iter() if cell.tag in ("failure", "error")}
    levels = {result["level"] for result in audit_sarif(view, ["t"], "1")["runs"][0]["results"]}  # type: ignore[index]
    assert (red, "warning" in levels) == ({"error"}, True)
    assert [row[-1].text for row in groups_table(view).rows] == ["process dies"]
    assert AuditVerdict.UNDECIDED in cells_of(view).values()
    said = "broker 1 (dynamic for all brokers)"
    of_all = SettingEntry("unclean.leader.election.enable", "false", "live", 0, Scope.BROKER, said_by=said)
    assert audited(of_all).worst is AuditVerdict.NO


UNCLEAN = "unclean.leader.election.enable"


def running(own: str, brokers: str = "false", source: str = "default") -> list[Read]:
    """A running cluster with controllers of their own, of whose topics one says whether unclean elections are allowed."""
    said = f"broker 1 ({source})"
    return [
        Note(Unread("brokers cannot tell"), "live", 0, said_by="controllers"),
        Note(Listed(), "live", 0, Scope.BROKER, "1", "broker 1"),
        SettingEntry(UNCLEAN, brokers, "live", 0, Scope.BROKER, "1", said_by=said),
        SettingEntry(REPLICATION_FACTOR, "3", "live", 0, Scope.TOPIC, "own", said_by="topic own"),
        SettingEntry(UNCLEAN, own, "live", 0, Scope.TOPIC, "own", said_by="topic own (dynamic)"),
        SettingEntry(REPLICATION_FACTOR, "3", "live", 0, Scope.TOPIC, "other", said_by="topic other"),
    ]


def test_a_topic_hangs_on_the_controllers_though_another_one_says_the_same_value_itself() -> None:
    groups = groups_of(recognise(running("false")))
    assert {group.topics: is_unclean_open(group.given) for group in groups} == {("own",): False, ("other",): True}


def test_what_the_controllers_have_by_an_option_hides_no_unclean_topic_of_a_running_cluster() -> None:
    option = [SettingEntry(UNCLEAN, "false", OPTION, 0)]
    own, other = groups_of(recognise(running("true"), option))
    assert (own.topics, own.given.entries[UNCLEAN].value, is_unclean_open(own.given)) == (("own",), "true", False)
    [remark] = [one for one in own.given.findings if one.rule == "override-unused"]
    assert remark.text == (
        f"{UNCLEAN}=false (--set) changes nothing: live, topic own (dynamic) says true, which counts before what brokers or "
        "controllers have"
    )
    assert (other.given.entries[UNCLEAN].value, is_unclean_open(other.given), other.given.findings) == ("false", False, ())


def test_what_the_controllers_have_by_an_option_takes_the_place_of_brokers_own_and_not_of_what_holds_for_all() -> None:
    option = [SettingEntry(UNCLEAN, "false", OPTION, 0)]
    for source, value in (("static", "false"), ("dynamic", "false"), ("dynamic for all brokers", "true")):
        groups = groups_of(recognise(running("true", "true", source), option))
        (other,) = (group for group in groups if "other" in group.topics)
        assert other.given.entries[UNCLEAN].value == value, source


def test_of_files_an_option_asks_what_would_be_instead_of_a_topics_own() -> None:
    files = [SettingEntry(UNCLEAN, "true", "topics.yml", 3, Scope.TOPIC, "own")]
    (group,) = groups_of(recognise(files, [SettingEntry(UNCLEAN, "false", OPTION, 0)]))
    assert group.given.entries[UNCLEAN].value == "false"
    assert [one.rule for one in group.given.findings] == ["overridden"]


@pytest.mark.slow
def test_to_2_1_a_no_about_loss_hangs_on_controllers_that_fail_over_and_from_2_2_on_it_does_not() -> None:
    required = (AuditQuestion.LOSS,)
    settings = {"replication.factor": "2", "min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
    known = [SettingEntry(key, value, "live", 0, Scope.TOPIC, "orders") for key, value in settings.items()]
    known.append(SettingEntry("acks", "all", "live", 0, Scope.PRODUCER))

    def audited(version: str) -> Audited:
        asked = Asked(required, required, Assumptions(), False, version, "zookeeper", KEPT)
        (one,) = audit_groups(groups_of(recognise(known)), asked)
        return one

    one = audited("2.1")
    assert {hinge.answer.reply for hinge in one.hinges} == {AuditVerdict.NO}
    assert one.worst is AuditVerdict.UNDECIDED
    view = topics_view([one], [])
    assert view.verdict is AuditVerdict.UNDECIDED
    assert "hangs on controllers that never fail over: to 2.1 a broker that has restarted" in view.verdict_in_words
    later = audited("2.2")
    assert (later.hinges, later.worst) == ((), AuditVerdict.NO)
