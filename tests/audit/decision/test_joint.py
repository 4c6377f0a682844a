"""Searches that two questions share: why one exploration decides both, and what it says of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from acked.audit.decision import advice
from acked.audit.decision.audit import Audit, Auditor
from acked.audit.decision.faults import BY_DEFAULT, Assumptions, AuditQuestion, CrashKind, Faults
from acked.audit.decision.gather import Given
from acked.audit.decision.joint import SHIPPED, Searches, join, part_of_outcome
from acked.base.processes import Done
from acked.base.release import release
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchLimits, KeptProcesses, answer_all
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.batch.shipped import ShippedAnswers
from acked.checker.question.ledger import Ledger, StopPolicy
from acked.checker.question.result import StopReason, Verdict
from acked.cluster.vocabulary.entry import SettingEntry
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Op
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import VERSIONS, planes_of
from tests.audit.reading import gather
from tests.checker.question.test_levels import BELOW_3, BELOW_4, level, one_counter
from tools.answers.shipped import Nobody

ONE = BatchLimits(1, 1 << 29)
READS = ("Read", "ReadBeforeTruncation")


def given_of(**values: str) -> Given:
    return gather([SettingEntry(key.replace("_", "."), value, "a file", 1) for key, value in values.items()])


def tasks_of(version: str = "4.1", assumed: Assumptions = BY_DEFAULT, **values: str) -> dict[str, Task]:
    given = given_of(**{"replication_factor": "3", "min_insync_replicas": "2"} | values)
    plan = Auditor(given, release(version), assumed=assumed)
    found = plan.tasks(tuple(AuditQuestion), (AuditQuestion.LOSS,))
    return {task.asked.properties[0]: task for task in reversed(found)}  # under clean crashes, which come first


# -- why a consumer changes nothing for loss ----------------------------------------------------------------------------


def told(instance: Instance, step: ActionInstance) -> tuple[object, ...]:
    """A step by its names: guard and updates, with the names of fields in place of their numbers."""
    names = [leaf.name for leaf in instance.schema.leaves]
    roots = [step.guard, *(new for _, new in step.updates)]
    text: dict[int, object] = {}
    for node in evaluation_order(roots):
        of = names[node.value] if node.op is Op.FIELD else node.value if node.op is Op.CONST else None
        text[node.id] = hash((node.op, of, *(text[arg.id] for arg in node.args)))
    updates = {names[leaf]: text[new.id] for leaf, new in step.updates}
    return step.label, text[step.guard.id], tuple(sorted(updates.items()))


def of_consumer(instance: Instance) -> set[int]:
    leaves = enumerate(instance.schema.leaves)
    return {number for number, leaf in leaves if leaf.name in ("consumer.offset", "consumer.record")}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.1", "3.4", VERSIONS[-1]])
@pytest.mark.parametrize("whom", [settings.FROM_LEADER, settings.FROM_FOLLOWERS])
def test_a_consumer_only_watches(version: str, whom: int) -> None:
    constants = {name: item.value for name, item in partition.profile(version, planes_of(version)[0]).items()}
    constants |= {"replicas": 2, "log_size": 1, "records": 2, "crashes": settings.LOSSY_CRASHES, "zombies": 1}
    without = partition.instantiate(partition.bind(constants | {"consumer": settings.NO_CONSUMER}))
    watched = partition.instantiate(partition.bind(constants | {"consumer": whom}))
    consumer = of_consumer(watched)
    assert len(consumer) == 2
    others = [step for step in watched.actions if step.action.name not in READS]
    assert [told(watched, step) for step in others] == [told(without, step) for step in without.actions]
    reads = [step for step in watched.actions if step.action.name in READS]
    assert reads
    assert all({leaf for leaf, _ in step.updates} <= consumer for step in reads)


# -- which tasks share a search -----------------------------------------------------------------------------------------


def test_the_default_audit_of_a_group_searches_less_often_than_it_has_cells() -> None:
    given = given_of(replication_factor="3", min_insync_replicas="2")
    tasks = Auditor(given, release("4.1"), assumed=BY_DEFAULT).tasks(tuple(AuditQuestion), (AuditQuestion.LOSS,))
    assert (len(tasks), len(set(join(tasks).values()))) == (26, 17)


def test_sizes_are_never_smaller_and_the_bound_is_that_of_both() -> None:
    for task, search in join(list(tasks_of().values())).items():
        mine, shared = dict(task.asked.constants), dict(search.asked.constants)
        assert all(shared[name] >= value for name, value in mine.items())
        assert {name for name in mine if mine[name] != shared[name]} <= {"consumer", "log_size"}
        assert search == task or search.max_states == 2 * (task.max_states or 0)


def test_writes_of_a_producer_without_idempotence_keep_their_smaller_log() -> None:
    tasks = tasks_of(acks="1")
    writes = tasks["WritesWithOneDown"]
    assert join(list(tasks.values()))[writes] == writes


# -- what a shared search says of each ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("values", [{}, {"acks": "1"}], ids=["nothing is lost", "records are lost"])
def test_a_shared_search_answers_as_each_alone_does(values: dict[str, str]) -> None:
    assumed = Assumptions(records=1)
    small = {"replication_factor": "2", "min_insync_replicas": "1"}
    tasks = list(tasks_of(assumed=assumed, **values, **small).values())
    wanted = [task for task in tasks if task.asked.properties[0] in ("AckedRecordsSurvive", "ReadsStay")]
    with KeptProcesses(ONE) as runner:
        searches = Searches(runner)
        searches.decide(wanted)
        for answered in answer_all(wanted, runner):
            alone, shared = answered.outcome, searches[wanted[answered.task]].outcome
            assert alone is not None
            assert shared is not None
            assert shared.verdict is alone.verdict
            assert shared.violated == alone.violated
            assert searches[wanted[answered.task]].task.asked.properties == wanted[answered.task].asked.properties


def outcome(stopped: StopReason, verdict: Verdict) -> Outcome:
    return Outcome(verdict, stopped, 1, 1, 1, {}, (), {}, 0.0, "")


def test_a_property_is_not_decided_by_a_search_that_ended_early() -> None:
    assert part_of_outcome(outcome(StopReason.MAX_STATES, Verdict.VIOLATED), "ReadsStay").verdict is Verdict.INCOMPLETE
    assert part_of_outcome(outcome(StopReason.VIOLATION, Verdict.VIOLATED), "ReadsStay").verdict is Verdict.INCOMPLETE
    assert part_of_outcome(outcome(StopReason.COMPLETE, Verdict.VIOLATED), "ReadsStay").verdict is Verdict.HOLDS


class Bounded:
    """Searches nothing: a search with a smaller bound than `enough` is incomplete, any other holds."""

    def __init__(self, enough: int) -> None:
        self.enough, self.asked = enough, list[Task]()

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        for number, task in enumerate(tasks):
            self.asked.append(task)
            is_short = (task.max_states or 0) < self.enough
            stopped = StopReason.MAX_STATES if is_short else StopReason.COMPLETE
            yield Done(number, outcome(stopped, Verdict.INCOMPLETE if is_short else Verdict.HOLDS))


def test_a_question_whose_own_bound_is_larger_is_searched_alone_if_the_shared_search_left_it_open() -> None:
    tasks = tasks_of(enable_idempotence="false")  # With idempotence a proof would decide it.
    loss, reads = tasks["AckedRecordsSurvive"], replace(tasks["ReadsStay"], max_states=100)
    runner = Bounded(enough=1_000)
    searches = Searches(runner)
    searches.decide([loss, reads])
    assert [task.asked.properties for task in runner.asked] == [
        ("AckedRecordsSurvive", "ReadsStay"),
        ("AckedRecordsSurvive",),
    ]
    assert searches[loss].outcome.verdict is Verdict.HOLDS  # type: ignore[union-attr]
    assert searches[reads].outcome.verdict is Verdict.INCOMPLETE  # type: ignore[union-attr]


def test_a_search_until_all_is_decided_ends_with_the_last_property() -> None:
    ledger = Ledger(one_counter(BELOW_4, BELOW_3), StopPolicy.UNTIL_DECIDED)
    assert ledger.commit(level(1, 1, states={1: (3,)}))
    assert not ledger.commit(level(1, 1, states={0: (8,), 1: (9,)}))
    assert [(found.position, found.state) for found in ledger.findings_to_report()] == [(1, (3,)), (0, (8,))]
    assert ledger.stopped is StopReason.VIOLATION


# -- what is made of what searches decide -----------------------------------------------------------------------------------


def advised(cache: ResultCache, **values: str) -> Audit:
    given = given_of(replication_factor="1", min_insync_replicas="1", acks="1", **values)
    assumed = Assumptions(faults=(Faults(CrashKind.CLEAN),))
    return Auditor(given, release("4.1"), "kraft", assumed, ONE, cache).run((AuditQuestion.LOSS, AuditQuestion.DUPLICATES))


@pytest.mark.slow
def test_what_was_advised_of_the_same_settings_is_read_and_nothing_is_configured_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ResultCache(tmp_path, "0", ShippedAnswers(SHIPPED))
    first = advised(cache)
    monkeypatch.setattr(advice, "configure", lambda *_: pytest.fail("a change is tried again"))
    assert advised(cache) == first
    assert any(answer.advice is not None for answer in first.answers)
    with pytest.raises(pytest.fail.Exception, match="a change is tried again"):
        advised(cache, retries="3")


@dataclass(frozen=True)
class Made:
    text: str


def test_what_another_machine_might_not_find_is_not_kept(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, "0")
    searches = Searches(Nobody(), cache)
    for text in ("first", "second"):
        assert searches.kept(Made, "inputs", lambda text=text: Made(text)) == Made("first")
    with_what_ships = Searches(Nobody(), ResultCache(tmp_path, "0", ShippedAnswers(SHIPPED)))
    assert with_what_ships.kept(Made, "inputs", lambda: Made("of what ships")) == Made("of what ships")
    searches.decide([next(iter(tasks_of().values()))])
    for text in ("third", "fourth"):
        assert searches.kept(Made, "others", lambda text=text: Made(text)) == Made(text), "its search has no outcome"
