"""What a yes hangs on is found by search, and what is recommended is what a senior operator would change first."""

from __future__ import annotations

import pytest

from acked.audit.decision.advice import Advice, SettingsChange, costly, preferences, price_of
from acked.audit.decision.audit import Answer, Audit, Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, CrashKind, Faults
from acked.audit.decision.gather import Given
from acked.audit.decision.settings import configure
from acked.audit.reports.build import no_cause_in_words, undecided_in_words
from acked.base.release import release
from acked.cluster.vocabulary.entry import SettingEntry
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather

LOSS, WRITES = AuditQuestion.LOSS, AuditQuestion.WRITES

NAMES = {"acks": "acks", "factor": "replication.factor", "least": "min.insync.replicas", "retries": "retries",
         "unclean": "unclean.leader.election.enable", "idempotence": "enable.idempotence",
         "flight": "max.in.flight.requests.per.connection", "selector": "replica.selector.class"}  # fmt: skip
LAST = {"retries=0", "max.in.flight.requests.per.connection=1", "log.flush.interval.messages=1"}


def given_of(**values: str) -> Given:
    return gather(
        [SettingEntry(NAMES[key], value, "given.properties", at) for at, (key, value) in enumerate(values.items(), 1)]
    )


def audit_of(
    version: str, asked: tuple[AuditQuestion, ...] = tuple(AuditQuestion), crashes: CrashKind = CrashKind.CLEAN, **values: str
) -> Audit:
    return Auditor(given_of(**values), release(version), assumed=Assumptions((Faults(crashes),)), runner=KEPT).run(asked)


def advice_of(answer: Answer) -> tuple[Advice, SettingsChange]:
    """The advice and the change that is recommended."""
    assert answer.reply is AuditVerdict.YES
    assert answer.advice is not None
    assert answer.advice.remedy is not None
    return answer.advice, answer.advice.remedy


@pytest.mark.slow
def test_the_setting_that_loses_records_is_found_and_the_change_is_checked() -> None:
    answer = audit_of("3.6", (LOSS,), acks="1", factor="2", least="2").of(LOSS)
    advice, remedy = advice_of(answer)
    assert answer.story is not None
    assert answer.story.trace_length == 5
    assert [change.words for change in advice.causes] == ["acks=all"]
    assert "acks=all" in [change.words for change in advice.tried]
    assert (remedy.words, remedy.turns, remedy.price) == ("acks=all", (), ())


@pytest.mark.slow
def test_two_settings_that_each_lose_records_have_to_be_changed_together() -> None:
    advice, remedy = advice_of(audit_of("3.6", (LOSS,), acks="1", factor="2", unclean="true").of(LOSS))
    assert advice.causes == ()
    assert {"acks=all", "unclean.leader.election.enable=false"} <= {change.words for change in advice.tried}
    assert remedy.words == "acks=all, unclean.leader.election.enable=false"


@pytest.mark.slow
@pytest.mark.parametrize("asked", [AuditQuestion.DUPLICATES, AuditQuestion.REORDERING])
def test_acks_and_idempotence_together_are_offered_and_neither_retries_nor_requests_in_flight(asked: AuditQuestion) -> None:
    """A producer with retries=0 drops a record at the first error: that is no remedy while idempotence is to be had."""
    advice, remedy = advice_of(audit_of("4.0", (asked,), acks="1", idempotence="false", factor="2").of(asked))
    assert remedy.words == "acks=all, enable.idempotence=true"
    assert not LAST & {change.words for change in (*advice.tried, *advice.causes)}


@pytest.mark.slow
def test_a_release_with_eligible_leader_replicas_is_offered_before_a_flush_of_every_record() -> None:
    """KIP-966: with 3.9 the last replica in sync takes what was acknowledged with it."""
    _, remedy = advice_of(audit_of("3.9", (LOSS,), CrashKind.ONE_MACHINE, factor="2", least="2").of(LOSS))
    assert remedy.words == "kafka version=4.1, eligible.leader.replicas.version=1"


@pytest.mark.slow
def test_more_replicas_and_more_in_sync_are_offered_together_rather_than_all_in_sync() -> None:
    _, remedy = advice_of(audit_of("4.1", (LOSS,), CrashKind.ONE_MACHINE, factor="2", least="1").of(LOSS))
    assert remedy.words == "replication.factor=3, min.insync.replicas=2"


@pytest.mark.slow
def test_a_flush_of_every_record_is_offered_where_nothing_else_helps_and_with_its_price() -> None:
    advice, remedy = advice_of(audit_of("4.1", (LOSS,), CrashKind.ONE_LOSSY, factor="1").of(LOSS))
    assert remedy.words == "log.flush.interval.messages=1"
    assert "waits for the disk" in remedy.price[0]
    assert [change.words for change in advice.causes] == ["log.flush.interval.messages=1"]


@pytest.mark.slow
def test_where_no_setting_helps_a_later_release_is_found() -> None:
    _, remedy = advice_of(audit_of("0.10", (LOSS,), acks="all", factor="2", least="2", unclean="false").of(LOSS))
    assert remedy.words == "kafka version=0.11"


@pytest.mark.slow
def test_an_upgrade_raises_what_brokers_speak_and_moves_to_the_control_plane_that_is_left() -> None:
    given = gather([
        SettingEntry("zookeeper.connect", "z", "s", 1), SettingEntry("inter.broker.protocol.version", "3.9", "s", 2),
        SettingEntry("replication.factor", "2", "s", 3), SettingEntry("min.insync.replicas", "2", "s", 4),
    ])  # fmt: skip
    auditor = Auditor(given, release("3.9"), "zookeeper", Assumptions((Faults(CrashKind.ONE_MACHINE),)), KEPT)
    _, remedy = advice_of(auditor.run((LOSS,)).of(LOSS))
    words = "kafka version=4.1, eligible.leader.replicas.version=1"
    assert (remedy.words, remedy.price) == (words, ("a migration from ZooKeeper to KRaft",))


@pytest.mark.slow
def test_an_upgrade_with_settings_comes_before_a_flush_and_is_to_the_first_release_that_will_do() -> None:
    audit = audit_of("3.9", (LOSS,), CrashKind.ONE_MACHINE, factor="2", least="2", acks="1")
    _, remedy = advice_of(audit.of(LOSS))
    assert remedy.words == "kafka version=4.1, eligible.leader.replicas.version=1, acks=all"


@pytest.mark.slow
def test_a_change_that_spoils_another_answer_is_passed_over_or_says_so() -> None:
    _, remedy = advice_of(audit_of("3.6", (LOSS, WRITES), factor="2", least="2").of(WRITES))
    assert (remedy.words, remedy.turns) == ("replication.factor=3", ())
    lossy = audit_of("3.6", (LOSS, WRITES), CrashKind.OUTSIDE_ISR, factor="1", acks="1")
    _, remedy = advice_of(lossy.of(WRITES))
    assert LOSS in dict(remedy.turns), "a second replica keeps writes going and, with acks=1, loses records"


@pytest.mark.slow
def test_follower_reads_vanish_to_3_4_and_an_upgrade_or_reading_from_the_leader_mends_it() -> None:
    values = {"selector": "RackAwareReplicaSelector", "factor": "2"}
    advice, _ = advice_of(audit_of("3.4", (AuditQuestion.VANISHING,), **values).of(AuditQuestion.VANISHING))
    assert [change.words for change in advice.causes] == ["no replica.selector.class"]
    assert audit_of("3.5", (AuditQuestion.VANISHING,), **values).of(AuditQuestion.VANISHING).reply is AuditVerdict.NO


def test_without_advice_nothing_is_said_about_causes() -> None:
    auditor = Auditor(given_of(factor="1", least="1"), release("3.6"), runner=KEPT)
    audit = auditor.run((WRITES,), advise=False)
    assert audit.of(WRITES).reply is AuditVerdict.YES
    assert audit.of(WRITES).advice is None
    assert not audit.is_advised


@pytest.mark.parametrize("asked", list(AuditQuestion))
@pytest.mark.parametrize("crashes", [CrashKind.CLEAN, CrashKind.ONE_MACHINE, CrashKind.LOSSY])
@pytest.mark.parametrize("values", [{}, {"acks": "1"}, {"acks": "1", "idempotence": "false", "retries": "5"},
                                    {"factor": "2", "least": "2"},
                                    {"unclean": "true", "flight": "9", "idempotence": "false"}])  # fmt: skip
def test_the_order_of_preference_is_acks_and_idempotence_replicas_in_sync_feature_and_what_costs_is_not_in_it(
    asked: AuditQuestion, crashes: CrashKind, values: dict[str, str]
) -> None:
    configuration = configure(given_of(**{"factor": "3", **values}), release("4.0"))
    found = preferences(configuration, asked, Faults(crashes))
    order = ["acks", "enable.idempotence", "max.in.flight.requests.per.connection", "unclean.leader.election.enable",
             "replication.factor", "min.insync.replicas", "eligible.leader.replicas.version"]  # fmt: skip
    places = [order.index(key) for key, _ in found]
    assert places == sorted(places)
    assert not LAST & {f"{key}={value}" for key, value in found}
    last = costly(configuration, asked, Faults(crashes))
    assert not set(found) & {one for one in last if one[0] != "min.insync.replicas"}
    assert all(price_of((one,), configuration) for one in last)


@pytest.mark.slow
def test_changes_that_were_not_decided_are_named_and_not_taken_for_changes_that_do_not_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acked.audit.decision.joint.is_proved", lambda _: False)  # As where nothing is proved.
    assumed = Assumptions((Faults(CrashKind.ONE_MACHINE),), max_states=30_000)
    given = given_of(acks="all", factor="3", least="1")
    advice = Auditor(given, release("4.1"), "kraft", assumed=assumed, runner=KEPT).run((LOSS,)).of(LOSS).advice
    assert advice is not None
    assert advice.remedy is None
    assert "min.insync.replicas=2" in [change.words for change in advice.undecided]
    assert undecided_in_words(advice.undecided).startswith("; whether min.insync.replicas=2")
    assert no_cause_in_words(advice.tried, advice.undecided).startswith("none is known; tried")
    assert undecided_in_words(()) == ""


def test_of_many_changes_that_were_not_decided_the_first_are_named() -> None:
    changes = [SettingsChange((("acks", "all"), ("retries", str(at)))) for at in range(5)]
    assert undecided_in_words(changes).split(" would")[0] == (
        "; whether acks=all with retries=0, acks=all with retries=1, acks=all with retries=2 or 2 more"
    )
