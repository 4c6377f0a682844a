"""Transactions on real brokers, as far as it goes without brokers: scripts, comparisons, promises, and the answer."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, ExitCode
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.transacted import (
    Transacted,
    print_transacted,
    transacted_document,
    verdicts_in_words,
)
from acked.cluster.reports.reproductions.verdict import Control
from acked.cluster.transacting.driver import STEPS
from acked.cluster.transacting.play import Played, Prepared, Reproduction, SeenStep, prepare
from acked.cluster.transacting.script import NOT_PLAYED, as_asked, playable
from acked.cluster.transacting.seen import (
    ABORTED,
    ASKED,
    COMMITTED,
    PartitionSeen,
    Seen,
    broken,
    differences,
    modelled,
    seen_of,
)
from acked.cluster.wire.records import LogEntry
from acked.cluster.wire.transactional import CoordinatorView, LedgerView
from acked.invariants.catalogue import properties_of
from acked.model.formulas.evaluate import Evaluator
from acked.model.transactions import state as states
from acked.model.transactions.protocol import transactions
from tests.oracle import Space

FATES = {states.COMMITTED: COMMITTED, states.COMMITTING: ASKED, states.ABORTED: ABORTED}


@cache
def question() -> Question:
    return load_spec("kafka14402-bug").question()


@cache
def bug() -> Prepared:
    asked = question()
    (found,) = search(playable(asked), Bounds(workers=1)).violations
    return prepare(asked, as_asked(asked, found.run), "3.5.1", Mode.KRAFT)


def told(state: dict[str, Any]) -> dict[int, str]:
    return {number: FATES[txn["fate"]] for number, txn in enumerate(state["txn"]) if txn["fate"] in FATES}


def test_every_action_has_a_step_or_a_reason_why_there_is_none() -> None:
    names = {item.name for item in transactions.actions}
    assert STEPS.keys() | NOT_PLAYED.keys() == names
    assert not STEPS.keys() & NOT_PLAYED.keys()


@pytest.mark.parametrize(
    "changed",
    [
        {"late_produce": True},
        {"late_end": True},
        pytest.param({"offsets": True, "init_first": False}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_promises_are_judged_of_what_is_seen_as_the_model_judges_them(changed: dict[str, Any]) -> None:
    off = dict.fromkeys(("late_init", "late_add", "late_produce", "late_end", "late_marker", "coordinator_moves"), False)
    constants = {**off, "producers": 1, "partitions": 1, "transaction_version": 1, "verification": False,
                 "client_bumps_epoch": 0, **changed}  # fmt: skip
    constants |= {"partitions": 2, "aborts": False, "producers": 2} if changed.get("offsets") else {}
    made = transactions.instantiate(constants)
    has_offsets = bool(changed.get("offsets"))
    decided = broken(Seen("", 0, frozenset(), (PartitionSeen((), 0, -1, -1),)), {}, {} if has_offsets else None)
    promises = [item for item in properties_of(transactions).values() if item.name in decided]
    judge = Evaluator([made.state_predicate(item.name, item.predicate) for item in promises])
    found = set()
    for words in Space(Question(made, ())).level_of:
        codes = made.schema.unpack(words)
        state = made.schema.decode(codes)
        inputs = {n: txn["input"] for n, txn in enumerate(state["txn"])} if has_offsets else None
        said = broken(modelled(state), told(state), inputs)
        assert said == {item.name: not holds for item, holds in zip(promises, judge(codes), strict=True)}
        found |= {name for name, is_broken in said.items() if is_broken}
    expected = {"late_produce": {"NoAbortedRead", "NoRecordOfAnother", "NoHangingTransaction"}, "offsets": {"NoInputTwice"}}
    assert found >= expected.get(next(iter(changed)), {"NoRecordOfAnother"})


def test_what_brokers_say_is_compared_in_the_models_terms() -> None:
    marker, record = LogEntry(0, 7, "ABORT", True), LogEntry(1, 7, "r0", False)
    ledger = LedgerView((marker, record), 1, 2, 0, 0, 1, ())
    seen = seen_of(CoordinatorView("CompleteAbort", 0, frozenset({"p0"})), (ledger,), ("p0",))
    assert seen.partitions == frozenset(), "what is complete has no partitions"
    assert seen.ledgers == (PartitionSeen(("r0",), 0, 0, 0),), "a marker that ends nothing does not count"
    last = bug().script.steps[-1].after
    both = replace(seen, ledgers=(*seen.ledgers, PartitionSeen((), 0, -1, -1)))
    assert differences(last, both) == ()
    assert broken(both, told(last))["NoHangingTransaction"]
    other = replace(both, state="Ongoing", ledgers=(PartitionSeen(("r0", "COMMIT"), 2, 0, 0), both.ledgers[1]))
    assert [str(one) for one in differences(last, other)] == [
        "the coordinator's state is Ongoing, and in the model CompleteAbort",
        "the log of partition 0 is ['r0', 'COMMIT'], and in the model ['r0']",
        "the last stable offset of partition 0 is 2, and in the model 0",
    ]


def test_what_cannot_be_played_is_refused_in_a_sentence() -> None:
    first = bug()
    assert [rule.constant for rule in first.others] == []
    assert [rule.constant for rule in first.control("3.6.2").others] == ["verification"]
    assert first.control("4.0.0").is_v2
    with pytest.raises(ConfigurationError, match="does not describe its transactions"):
        prepare(first.question, first.run, "2.8.2")
    newest = Question(transactions.instantiate({"partitions": 1, "producers": 1, "transactions": 1}), ())
    with pytest.raises(ConfigurationError, match=r"which Kafka 3\.9\.1 does not have; take --kafka 4\.0\.0 or later"):
        prepare(newest, replace(first.run, states=newest.instance.initial, actions=()), "3.9.1")
    moves = next(step for step in first.question.instance.actions if step.action.name == "MoveCoordinator")
    with pytest.raises(ConfigurationError, match=r"step 1 of 1, MoveCoordinator\(\): no step of the driver moves"):
        prepare(first.question, replace(first.run, states=first.run.states[:2], actions=(moves,)), "3.5.1")


def played(prepared: Prepared, hangs: bool, parts: bool) -> Reproduction:
    late = [LogEntry(1, 7, "r0", False)] if hangs else []
    ledger = LedgerView((LogEntry(0, 7, "ABORT", True), *late), 1, 1 + hangs, 0, 0, 1, ())
    end = seen_of(CoordinatorView("CompleteAbort", 0, frozenset()), (ledger,), ("p0",))
    *most, last = prepared.script.steps
    reason = "the late r0 is refused" if parts else ""
    taken = [SeenStep(step, end, 0.1) for step in (most if parts else prepared.script.steps)]
    beyond = (SeenStep(last, end, 0.1, reason),) if parts else ()
    judged = broken(end, {0: ABORTED})
    found = Played(end, tuple(taken), last if parts else None, reason, (), beyond, end, {0: ABORTED}, None, judged,
                   5.0, 9.0)  # fmt: skip
    return Reproduction(prepared, found, 3.0, None)


def test_where_the_files_of_brokers_are_that_were_kept_is_said_of_the_run_and_of_its_control(tmp_path: Path) -> None:
    first, control = tmp_path / "first", tmp_path / "control"
    made, other = played(bug(), True, False), played(bug().control("3.6.2"), False, True)
    kept = Transacted("t", question().properties[0], replace(made, folder=first), replace(other, folder=control))
    assert [f"The brokers' files are in {folder}." in printed(kept) for folder in (first, control)] == [True, True]
    assert "files are in" not in printed(Transacted("t", None, made, other))


def printed(answer: Transacted) -> str:
    written = io.StringIO()
    print_transacted(Console(file=written, width=400), answer)
    return written.getvalue()


def test_an_answer_counts_only_if_what_is_seen_breaks_the_promise_and_the_control_keeps_it() -> None:
    prepared, promise = bug(), question().properties[0]
    hung, kept = played(prepared, True, False), played(prepared.control("3.6.2"), False, True)
    answer = Transacted("t", promise, hung, kept)
    assert (answer.judgement.exit_code, answer.judgement.control) == (ExitCode.INVARIANT, Control.KEEPS)
    said = [text for _, text in verdicts_in_words(answer)]
    assert "partition 0 stays open at LSO 1 of 2" in said[0]
    assert said[1].endswith("keeps it and goes another way at step 7: the late r0 is refused")
    assert Transacted("t", promise, hung, hung).judgement.exit_code is ExitCode.UNMET_EXPECTATION
    assert Transacted("t", promise, kept).judgement.exit_code is ExitCode.UNMET_EXPECTATION
    assert Transacted("t", promise, played(prepared, False, False)).judgement.exit_code is ExitCode.NOT_SHOWN
    assert Transacted("t", None, hung).judgement.exit_code is ExitCode.HOLDS
    document = transacted_document(answer, {"TimeOut": "by its clock"})
    assert document["verdict"] == "reproduced"
    assert document["control"]["parted"] == {"index": 7, "reason": "the late r0 is refused"}
    assert document["first"]["last"]["partitions"][0]["last_stable_offset"] == 1
