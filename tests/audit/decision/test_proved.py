"""Questions that a proof for all constants covers are no, whatever a search saw; others are left as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acked.audit.decision.faults import BY_DEFAULT, MAX_STATES, MAX_STATES_BESIDES, Assumptions, AuditQuestion, read_faults
from acked.audit.decision.joint import Searches, is_by_proof, is_proved, with_proof
from acked.audit.decision.questions import QUESTIONS, task_of
from acked.audit.decision.settings import configure
from acked.audit.reports.view import DecidedBy
from acked.base.processes import Done
from acked.base.release import release
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import answer_all
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.checker.question.result import StopReason, Verdict
from acked.cluster.vocabulary.entry import SettingEntry
from acked.invariants.property import Kind
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather
from tools.proofs import PROVED, proved

SAFE = {"replication.factor": "3", "min.insync.replicas": "2", "acks": "all", "enable.idempotence": "true"}
LOSS, ORDER, READS = AuditQuestion.LOSS, AuditQuestion.REORDERING, AuditQuestion.VANISHING
RACKS = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def asked(question: AuditQuestion, faults: str, version: str = "4.1", plane: str = "kraft", **other: str) -> Task:
    values = {**SAFE, **({"eligible.leader.replicas.version": "1"} if version >= "4.1" else {}),
              **{key.replace("_", "."): value for key, value in other.items()}}  # fmt: skip
    given = gather([SettingEntry(key, value, "f", at) for at, (key, value) in enumerate(values.items(), 1)])
    (sized,) = (one for one in QUESTIONS if one.asked is question)
    return task_of(sized, configure(given, release(version), plane), Assumptions(), read_faults(faults))


def test_audits_take_what_the_table_of_releases_has() -> None:
    assert PROVED.read_text("utf-8") == proved()


@pytest.mark.parametrize(("question", "faults", "version", "plane"), [
    (LOSS, "clean", "3.9.1", "kraft"), (LOSS, "none,zombies", "4.1", "kraft"), (LOSS, "none,zombies", "4.4", "kraft"),
    (LOSS, "one-machine", "4.4", "kraft"), (LOSS, "clean,zombies", "3.7", "zookeeper"), (LOSS, "outside-isr", "3.6", "kraft"),
    (ORDER, "none,zombies", "3.9.1", "kraft"), (ORDER, "one-machine", "4.1", "kraft"),
    (AuditQuestion.DUPLICATES, "none,zombies", "4.4", "kraft"), (READS, "none,zombies", "4.4", "kraft"),
    (READS, "one-machine", "4.1", "kraft"),
])  # fmt: skip
def test_what_is_proved_of_a_release_covers_its_questions(
    question: AuditQuestion, faults: str, version: str, plane: str
) -> None:
    assert is_proved(asked(question, faults, version, plane))


@pytest.mark.parametrize(("question", "faults", "version", "other"), [
    (LOSS, "none,zombies", "4.1", {"acks": "1", "enable_idempotence": "false"}),
    (LOSS, "none,zombies", "4.1", {"unclean_leader_election_enable": "true"}),
    (LOSS, "none,zombies", "4.1", {"enable_idempotence": "false"}),
    (LOSS, "one-machine", "3.9.1", {}), (LOSS, "one-machine", "4.1", {"min_insync_replicas": "1"}),
    (LOSS, "one-machine", "4.1", {"replication_factor": "1", "min_insync_replicas": "2"}),
    (LOSS, "one-lossy", "4.1", {}), (LOSS, "lossy", "4.1", {}), (LOSS, "empty-disk", "4.1", {}),
    (LOSS, "none,moves", "4.4", {}), (LOSS, "clean,producer-restart", "4.1", {}), (LOSS, "clean", "2.8.0", {}),
    (READS, "none,zombies", "4.1", {"replica_selector_class": RACKS, "client_rack": "a"}),
    (READS, "one-machine", "3.9.1", {}),
    (LOSS, "clean", "3.6", {"min_insync_replicas": "4"}), (AuditQuestion.WRITES, "clean", "4.1", {}),
])  # fmt: skip
def test_no_proof_covers_what_goes_beyond_it(
    question: AuditQuestion, faults: str, version: str, other: dict[str, str]
) -> None:
    plane = "zookeeper" if version < "3" else "kraft"
    assert not is_proved(asked(question, faults, version, plane, **other))


@pytest.mark.slow
def test_a_search_that_met_its_bound_is_decided_by_the_proof_and_says_so() -> None:
    for question in (LOSS, ORDER):
        bounded = replace(asked(question, "none,zombies"), max_states=2_000)
        (raw,) = (one.outcome for one in answer_all([bounded], KEPT))
        assert raw is not None
        assert raw.verdict is Verdict.INCOMPLETE
        searches = Searches(KEPT)
        searches.decide([bounded])
        found = searches[bounded].outcome
        assert found is not None
        assert (found.verdict, found.stopped, is_by_proof(found)) == (Verdict.HOLDS, StopReason.MAX_STATES, True)
        assert (DecidedBy.of(found), DecidedBy.of(raw)) == (DecidedBy.PROOF, DecidedBy.SEARCH)
        assert with_proof(replace(bounded, asked=replace(bounded.asked, properties=("ReadsStay",))), raw) == raw


class Ships:
    """A cache with answers that ship, and none of what is asked."""

    ships = True

    def __init__(self) -> None:
        self.put: list[Task] = []

    def get(self, task: Task) -> None:
        return None


def test_what_is_proved_is_not_searched_where_answers_that_ship_count() -> None:
    tasks = [asked(question, "none,zombies") for question in (LOSS, ORDER, READS)]
    searches = Searches(lambda *_: pytest.fail("a search"), Ships())
    searches.decide(tasks)
    found = [searches[task].outcome for task in tasks]
    assert [(one.verdict, is_by_proof(one), one.distinct_states) for one in found if one] == [(Verdict.HOLDS, True, 0)] * 3


class Short:
    """Searches nothing: every search meets its bound, unless it has more states than there are."""

    def __init__(self, there_are: int) -> None:
        self.there_are, self.asked = there_are, list[Task]()

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        for at, task in enumerate(tasks):
            self.asked.append(task)
            is_whole = (task.max_states or 0) > self.there_are
            stopped = StopReason.COMPLETE if is_whole else StopReason.MAX_STATES
            verdict = Verdict.HOLDS if is_whole else Verdict.INCOMPLETE
            yield Done(at, Outcome(verdict, stopped, 1, 1, 1, {}, (), {}, 0.0, "it"))


def besides(question: AuditQuestion, faults: str, **other: str) -> Task:
    return replace(asked(question, faults, **other), max_states=MAX_STATES_BESIDES)


def test_what_is_proved_and_asked_for_besides_is_searched_within_a_tenth_of_its_bound() -> None:
    proved_ones = [besides(question, "none,zombies") for question in (LOSS, ORDER, READS)]
    decisive, open_ = asked(LOSS, "clean"), besides(ORDER, "lossy")
    # Reads are proved, and what shares their search decides.
    shared = [replace(asked(LOSS, "one-machine"), max_states=MAX_STATES), besides(READS, "one-machine")]
    for there_are, by in ((100_000, DecidedBy.SEARCH), (10**9, DecidedBy.PROOF)):
        runner = Short(there_are)
        searches = Searches(runner)
        searches.decide([*proved_ones, decisive, open_, *shared])
        bounds = {(task.asked.properties, task.max_states) for task in runner.asked}
        assert bounds == {
            (("AckedRecordsSurvive", "ReadsStay"), MAX_STATES_BESIDES // 5), (("NoReordering",), MAX_STATES_BESIDES // 10),
            (("AckedRecordsSurvive", "ReadsStay"), 2 * MAX_STATES_BESIDES), (("NoReordering",), MAX_STATES_BESIDES),
            (("AckedRecordsSurvive",), MAX_STATES),
        }  # fmt: skip
        found = [searches[task].outcome for task in proved_ones]
        assert [(one.verdict, DecidedBy.of(one)) for one in found if one] == [(Verdict.HOLDS, by)] * 3
        left = searches[open_].outcome
        assert left is not None
        assert (left.verdict is Verdict.HOLDS) == (by is DecidedBy.SEARCH)


def test_where_all_answers_have_one_bound_none_is_cut() -> None:
    task, runner = besides(ORDER, "none,zombies"), Short(10**9)
    one_bound = replace(BY_DEFAULT, max_states=MAX_STATES_BESIDES)
    Searches(runner, besides=one_bound.bound_besides).decide([task])
    assert [one.max_states for one in runner.asked] == [MAX_STATES_BESIDES]


def test_a_violation_counts_even_if_a_proof_says_that_there_is_none() -> None:
    task = besides(ORDER, "none,zombies")

    class Violated:
        def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
            found = FoundViolation("NoReordering", Kind.STATE, ((0,),), ())
            yield Done(0, Outcome(Verdict.VIOLATED, StopReason.VIOLATION, 1, 1, 1, {}, (found,), {}, 0.0, "it"))

    searches = Searches(Violated())
    searches.decide([task])
    outcome = searches[task].outcome
    assert outcome is not None
    assert (outcome.verdict, len(outcome.violations)) == (Verdict.VIOLATED, 1)


def test_an_answer_within_the_whole_bound_that_was_found_before_is_read(tmp_path: Path) -> None:
    task, cache, runner = besides(ORDER, "none,zombies"), ResultCache(tmp_path, "0"), Short(MAX_STATES_BESIDES // 2)
    list(answer_all([task], runner, cache))
    assert [one.max_states for one in runner.asked] == [MAX_STATES_BESIDES]
    searches = Searches(runner, cache)
    searches.decide([task])
    assert len(runner.asked) == 1
    found = searches[task].outcome
    assert found is not None
    assert DecidedBy.of(found) is DecidedBy.SEARCH


@pytest.mark.slow
def test_where_a_proof_covers_a_question_a_search_to_the_end_finds_nothing_either() -> None:
    places = ((LOSS, "clean", "3.9.1", "zookeeper"), (LOSS, "one-machine", "4.1", "kraft"), (ORDER, "clean", "4.4", "kraft"))
    tasks = [asked(*place, replication_factor="2") for place in places]
    assert all(map(is_proved, tasks))
    outcomes = [one.outcome for one in answer_all(tasks, KEPT)]
    assert [outcome and outcome.verdict for outcome in outcomes] == [Verdict.HOLDS] * 3
