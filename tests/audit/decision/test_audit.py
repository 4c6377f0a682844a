"""The audit gets configurations that people really have right: ten of them, each with where it comes from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import pytest

from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import (
    BY_DEFAULT,
    CLASSES,
    LEADER_MOVES,
    Assumptions,
    AuditQuestion,
    AuditVerdict,
    CrashKind,
    Faults,
)
from acked.audit.decision.questions import QUESTIONS, reply_of, task_of
from acked.audit.decision.settings import configure
from acked.base.release import release
from acked.checker.batch.local import answer_all
from acked.checker.batch.outcome import Task
from acked.checker.spec.question_text import QuestionText
from acked.cluster.vocabulary.entry import SettingEntry
from acked.model.partition.protocol import partition
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather, read_settings
from tests.places import DATA

AUDIT = DATA / "audit"
YES, NO = AuditVerdict.YES, AuditVerdict.NO


@dataclass(frozen=True)
class Case:
    """A configuration, where it comes from, and what is known of it."""

    source: str
    version: str
    files: tuple[str, ...]
    answers: Mapping[AuditQuestion, AuditVerdict]
    faults: Faults = field(default_factory=Faults)
    settings: tuple[tuple[str, str], ...] = ()


CASES = {
    "the 0.10 defaults": Case(
        "config/server.properties and ProducerConfig of 0.10: acks=1, retries=0, unclean elections; three replicas",
        "0.10.2.1",
        ("quickstart-zookeeper.properties", "topics-3.txt", "producer-defaults.properties"),
        {AuditQuestion.LOSS: YES, AuditQuestion.DUPLICATES: NO, AuditQuestion.REORDERING: NO, AuditQuestion.WRITES: NO},
    ),
    "careful settings before KIP-101": Case(
        "KIP-101, KAFKA-1211: acks=all, two in sync, clean elections, and still a record is lost",
        "0.10.2",
        ("producer-ordered-1.1.properties",),
        {AuditQuestion.LOSS: YES},
        settings=(
            ("replication.factor", "2"),
            ("min.insync.replicas", "2"),
            ("unclean.leader.election.enable", "false"),
        ),
    ),
    "ordered without idempotence": Case(
        "the documentation of max.in.flight.requests.per.connection in 1.1: with retries, set it to 1 to keep the order",
        "1.1",
        ("producer-ordered-1.1.properties", "topics-2-2.txt"),
        {AuditQuestion.DUPLICATES: YES, AuditQuestion.REORDERING: NO},
    ),
    "the 2.8 defaults": Case(
        "ProducerConfig of 2.8: acks=1, retries without bound, five in flight, no idempotence",
        "2.8.1",
        ("producer-defaults.properties", "topics-3.txt"),
        {AuditQuestion.LOSS: YES, AuditQuestion.DUPLICATES: YES, AuditQuestion.REORDERING: YES},
    ),
    "durability as recommended": Case(
        "the documentation of min.insync.replicas: three replicas, min.insync.replicas=2, acks=all",
        "2.6",
        ("broker-durable.properties", "producer-durable.properties"),
        dict.fromkeys(AuditQuestion, NO),
    ),
    "throughput as recommended": Case(
        "vendors' guides to throughput: acks=1; with 3.6 that also switches off idempotence (KIP-679, KAFKA-13673)",
        "3.6.1",
        ("producer-throughput.properties", "topics-3-2.txt"),
        {AuditQuestion.LOSS: YES, AuditQuestion.DUPLICATES: YES, AuditQuestion.REORDERING: YES},
    ),
    "availability as recommended": Case(
        "vendors' guides to availability: unclean elections, min.insync.replicas=1",
        "3.6",
        ("broker-available.properties", "producer-defaults.properties"),
        {AuditQuestion.LOSS: YES, AuditQuestion.WRITES: NO},
    ),
    "the KRaft quickstart": Case(
        "config/kraft/server.properties of 3.x: one broker; default.replication.factor=1",
        "3.7",
        ("quickstart-kraft.properties", "producer-defaults.properties"),
        {AuditQuestion.LOSS: NO, AuditQuestion.DUPLICATES: NO, AuditQuestion.WRITES: YES},
        settings=(("default.replication.factor", "1"),),
    ),
    "the KRaft quickstart on a machine that dies": Case(
        "the same: what its one broker did not flush is gone",
        "3.7",
        ("quickstart-kraft.properties", "producer-defaults.properties"),
        {AuditQuestion.LOSS: YES},
        Faults(CrashKind.ONE_MACHINE),
        (("default.replication.factor", "1"),),
    ),
    "as many in sync as there are": Case(
        "a common mistake: two replicas and min.insync.replicas=2, no writes while one broker is down",
        "3.4",
        ("topics-2-2.txt", "producer-defaults.properties"),
        {AuditQuestion.LOSS: NO, AuditQuestion.WRITES: YES},
    ),
    "last replica standing in 3.9": Case(
        "KIP-966: the ISR shrinks to one, that broker loses its suffix and is the only candidate",
        "3.9",
        ("topics-3-2.txt", "producer-durable.properties"),
        {AuditQuestion.LOSS: YES},
        Faults(CrashKind.ONE_LOSSY),
    ),
    "eligible leader replicas in 4.1": Case(
        "KIP-966: on for new clusters from 4.1",
        "4.1",
        ("settings.json",),
        {AuditQuestion.LOSS: NO},
        Faults(CrashKind.ONE_MACHINE),
    ),
    "eligible leader replicas in 4.1 where brokers are killed, too": Case(
        "KIP-966: a broker whose shutdown was unclean is no eligible leader",
        "4.1",
        ("settings.json",),
        {AuditQuestion.LOSS: YES},
        Faults(CrashKind.ONE_LOSSY),
    ),
    "an empty disk in 4.1, though every record is flushed": Case(
        "to 4.2 the controller forgets the eligible leaders when it hears of the new disk's directory",
        "4.1",
        ("topics-2-2.txt", "producer-durable.properties"),
        {AuditQuestion.LOSS: YES},
        Faults(CrashKind.EMPTY_DISK),
        (("log.flush.interval.messages", "1"),),
    ),
    "an empty disk in 4.3": Case(
        "KIP-966: the broker that was shut down in order is elected",
        "4.3",
        ("topics-2-2.txt", "producer-durable.properties"),
        {AuditQuestion.LOSS: NO},
        Faults(CrashKind.EMPTY_DISK),
    ),
    "the 4.1 defaults": Case(
        "ProducerConfig and KafkaConfig of 4.1: acks=all, idempotence, min.insync.replicas=1; three replicas",
        "4.1.0",
        ("topics-3.txt", "producer-defaults.properties"),
        {AuditQuestion.LOSS: NO, AuditQuestion.DUPLICATES: NO, AuditQuestion.REORDERING: NO, AuditQuestion.WRITES: NO},
    ),
}


LARGE = {
    (name, AuditQuestion.REORDERING)
    for name in ("the 0.10 defaults", "the 4.1 defaults", "durability as recommended")
}
"""Of millions of states, for which nothing is special but their number: `make test-long` asks them."""
EVERY = {(name, asked) for name, case in CASES.items() for asked in case.answers}
OF_LOSS = {(name, asked) for name, asked in EVERY if asked is AuditQuestion.LOSS}


def entries_of(case: Case) -> list[SettingEntry]:
    read = [entry for name in case.files for entry in read_settings(AUDIT / name)]
    return [*read, *(SettingEntry(key, value, "case", 0) for key, value in case.settings)]


def assert_right(wanted: Collection[tuple[str, AuditQuestion]]) -> None:
    """In one batch: tests that are dealt to several processes would search everything in each of them."""
    tasks = {}
    for name, case in CASES.items():
        configuration = configure(gather(entries_of(case)), release(case.version))
        for question in QUESTIONS:
            if (name, question.asked) in wanted:
                tasks[name, question.asked] = task_of(question, configuration, Assumptions((case.faults,)))
    order = list(tasks)
    found = {order[answered.task]: reply_of(answered.outcome) for answered in answer_all([*tasks.values()], KEPT)}
    assert found == {(name, asked): CASES[name].answers[asked] for name, asked in wanted}


FEW = {
    ("the 2.8 defaults", AuditQuestion.LOSS), ("as many in sync as there are", AuditQuestion.WRITES),
    ("the KRaft quickstart", AuditQuestion.DUPLICATES), ("the KRaft quickstart on a machine that dies", AuditQuestion.LOSS),
    ("ordered without idempotence", AuditQuestion.REORDERING), ("an empty disk in 4.3", AuditQuestion.LOSS),
}  # fmt: skip
"""Of small sizes, a yes or a no to each question."""


@pytest.mark.slow
def test_a_few_configurations_get_the_right_answers() -> None:
    assert_right(FEW)


@pytest.mark.landing("test_a_few_configurations_get_the_right_answers")
@pytest.mark.slow
def test_configurations_from_public_defaults_and_recommendations_get_the_right_answers() -> None:
    """Of loss all, and every third of the other questions, which are asked in the same way of other promises."""
    others = sorted(EVERY - LARGE - OF_LOSS, key=lambda pair: (pair[0], pair[1].value))
    assert_right(OF_LOSS | {*others[::3]})


@pytest.mark.long
def test_so_do_all_and_those_whose_answers_take_millions_of_states() -> None:
    assert_right(EVERY)


@pytest.mark.slow
def test_a_search_that_met_its_bound_leaves_the_question_undecided() -> None:
    given = gather([SettingEntry("replication.factor", "2", "f", 1)])
    # Of 2.8 nothing is proved.
    audit = Auditor(given, release("2.8"), assumed=Assumptions(max_states=50), runner=KEPT).run((AuditQuestion.LOSS,))
    assert audit.of(AuditQuestion.LOSS).reply is AuditVerdict.UNDECIDED
    assert audit.worst((AuditQuestion.LOSS,)) is AuditVerdict.UNDECIDED


@pytest.mark.slow
def test_records_of_acks_all_and_one_in_sync_replica_are_lost_with_a_machine_and_by_default_that_is_asked() -> None:
    """Three replicas, acks=all, min.insync.replicas=1: processes that die lose nothing, and the exit goes by the worse."""
    given = gather([SettingEntry("replication.factor", "3", "t", 1), SettingEntry("acks", "all", "p", 1)])
    asked = (AuditQuestion.LOSS, AuditQuestion.WRITES)
    assumed = replace(BY_DEFAULT, besides=(), of_loss_besides=())  # What else the table shows decides nothing.
    audit = Auditor(given, release("4.1"), assumed=assumed, runner=KEPT).run(asked, advise=False)
    found = {answer.faults.name: answer.reply for answer in audit.all_of(AuditQuestion.LOSS)}
    assert found == {"clean": NO, "one-machine": YES}
    assert [answer.faults.name for answer in audit.all_of(AuditQuestion.WRITES)] == ["clean"]
    assert audit.worst((AuditQuestion.LOSS,)) is YES
    assert audit.worst((AuditQuestion.WRITES,)) is NO


def test_the_last_in_sync_replica_may_be_the_one_that_is_down_unless_elections_may_be_unclean() -> None:
    wanted = {"replicas": 2, "log_size": 1, "records": 1}
    tasks = [
        Task(QuestionText("partition", tuple(bound.items()), ("LeaderWithOneDown",)))
        for bound in (partition.bind({**wanted, "unclean_election": on}) for on in (False, True))
    ]
    found = {answered.task: reply_of(answered.outcome) for answered in answer_all(tasks, KEPT)}
    assert found == {0: YES, 1: NO}


def test_a_no_because_nothing_is_ever_accepted_says_so() -> None:
    given = gather([SettingEntry("replication.factor", "1", "t", 1), SettingEntry("min.insync.replicas", "2", "t", 2)])
    answer = Auditor(given, release("3.6"), runner=KEPT).run((AuditQuestion.LOSS,)).of(AuditQuestion.LOSS)
    assert answer.reply is NO
    assert answer.is_empty


@pytest.mark.long
def test_the_default_audit_of_careful_settings_takes_no_more_than_people_wait_and_leaves_no_cell_out() -> None:
    """The states that are searched are bounded, and with them the time, whatever else runs on the machine."""
    given = gather([SettingEntry("replication.factor", "3", "t", 1), SettingEntry("min.insync.replicas", "2", "t", 2)])
    audit = Auditor(given, release("4.1"), assumed=BY_DEFAULT, runner=KEPT).run()
    assert sum(answer.outcome.distinct_states for answer in audit.answers if answer.outcome is not None) < 32_000_000
    cells = {(answer.question.asked, answer.faults) for answer in audit.answers}
    asked = {(asked, faults) for asked in AuditQuestion for faults in CLASSES}
    assert cells == asked | {(AuditQuestion.LOSS, LEADER_MOVES)}
    decisive = {answer.reply for answer in audit.answers if answer.decides}
    assert decisive == {NO}
    worst = {answer.faults.name: answer.reply for answer in audit.answers if answer.question.asked is AuditQuestion.LOSS}
    assert (worst["lossy"], worst["none,moves"], worst["none,zombies"]) == (YES, YES, AuditVerdict.UNDECIDED)
