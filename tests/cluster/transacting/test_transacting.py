"""Transactions on real brokers, as far as it goes without brokers: scripts, comparisons, promises, and the answer."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, ExitCode, SpecUnreadable
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.cluster.playing.play import PlayedRun, SeenStep
from acked.cluster.playing.protocol import PreparedRun, restore_actions
from acked.cluster.playing.reproduce import Reproduction
from acked.cluster.playing.setting import Brokers, Changed
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.page import page_data
from acked.cluster.reports.reproductions.reading import read_answer
from acked.cluster.reports.reproductions.terminal import print_answer
from acked.cluster.reports.reproductions.verdict import Control
from acked.cluster.reports.reproductions.words import Answer, verdicts_in_words
from acked.cluster.transacting.compare import LedgerState, TransactionView, differences, model_view, view_of
from acked.cluster.transacting.driver import STEPS
from acked.cluster.transacting.promises import ABORTED, ASKED, COMMITTED, Answers, broken_promises
from acked.cluster.transacting.protocol import NOT_PLAYED, TRANSACTIONS
from acked.cluster.wire.records import LogEntry
from acked.cluster.wire.transactional import CoordinatorView, LedgerView
from acked.invariants.catalogue import properties_of
from acked.model.formulas.evaluate import Evaluator
from acked.model.transactions import state as states
from acked.model.transactions.protocol import transactions
from tests.oracle import Space

CHANGED = Changed("3.6.2")
FATES = {states.Fate.COMMITTED: COMMITTED, states.Fate.COMMITTING: ASKED, states.Fate.ABORTED: ABORTED}


@cache
def question() -> Question:
    return load_spec("kafka14402-bug").question()


@cache
def bug() -> PreparedRun:
    asked = question()
    brokers = Brokers("3.5.1", Mode.KRAFT)
    (found,) = search(TRANSACTIONS.playable(asked, brokers, False), Bounds(workers=1)).violations
    return TRANSACTIONS.prepare(asked, restore_actions(asked, found.run), brokers)


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
    nothing = TransactionView("", 0, frozenset(), (LedgerState((), 0, -1, -1),))
    decided = broken_promises(nothing, Answers({}, {} if has_offsets else None))
    promises = [item for item in properties_of(transactions).values() if item.name in decided]
    judge = Evaluator([made.state_predicate(item.name, item.predicate) for item in promises])
    found = set()
    for words in Space(Question(made, ())).level_of:
        codes = made.schema.unpack(words)
        state = made.schema.decode(codes)
        inputs = {n: txn["input"] for n, txn in enumerate(state["txn"])} if has_offsets else None
        said = broken_promises(model_view(state), Answers(told(state), inputs))
        assert said == {item.name: not holds for item, holds in zip(promises, judge(codes), strict=True)}
        found |= {name for name, is_broken in said.items() if is_broken}
    expected = {"late_produce": {"NoAbortedRead", "NoRecordOfAnother", "NoHangingTransaction"}, "offsets": {"NoInputTwice"}}
    assert found >= expected.get(next(iter(changed)), {"NoRecordOfAnother"})


def test_what_brokers_say_is_compared_in_the_models_terms() -> None:
    marker, record = LogEntry(0, 7, "ABORT", True), LogEntry(1, 7, "r0", False)
    ledger = LedgerView((marker, record), 1, 2, 0, 0, ())
    seen = view_of(CoordinatorView("CompleteAbort", 0, frozenset({"p0"})), (ledger,), ("p0",))
    assert seen.partitions == frozenset(), "what is complete has no partitions"
    assert seen.ledgers == (LedgerState(("r0",), 0, 0, 0),), "a marker that ends nothing does not count"
    last = bug().script.steps[-1].after
    both = replace(seen, ledgers=(*seen.ledgers, LedgerState((), 0, -1, -1)))
    assert differences(last, both) == ()
    assert broken_promises(both, Answers(told(last)))["NoHangingTransaction"]
    other = replace(both, state="Ongoing", ledgers=(LedgerState(("r0", "COMMIT"), 2, 0, 0), both.ledgers[1]))
    assert [str(one) for one in differences(last, other)] == [
        "the coordinator's state is Ongoing, and in the model CompleteAbort",
        "the log of partition 0 is ['r0', 'COMMIT'], and in the model ['r0']",
        "the last stable offset of partition 0 is 2, and in the model 0",
    ]


def test_what_cannot_be_played_is_refused_in_a_sentence() -> None:
    first = bug()
    assert [rule.constant for rule in first.others] == []
    assert [rule.constant for rule in first.control(CHANGED).others] == ["verification"]
    assert first.control(Changed("4.0.0")).setting.transaction_version == 2
    with pytest.raises(ConfigurationError, match="does not describe its transactions"):
        TRANSACTIONS.prepare(first.question, first.run, Brokers("2.8.2"))
    newest = Question(transactions.instantiate({"partitions": 1, "producers": 1, "transactions": 1}), ())
    with pytest.raises(ConfigurationError, match=r"which Kafka 3\.9\.1 does not have; take --kafka 4\.0\.0 or later"):
        TRANSACTIONS.prepare(newest, replace(first.run, states=newest.instance.initial, actions=()), Brokers("3.9.1"))
    moves = next(step for step in first.question.instance.actions if step.action.name == "MoveCoordinator")
    run = replace(first.run, states=first.run.states[:2], actions=(moves,))
    with pytest.raises(ConfigurationError, match=r"step 1 of 1, MoveCoordinator\(\): no step of the driver moves"):
        TRANSACTIONS.prepare(first.question, run, Brokers("3.5.1"))


def played(prepared: PreparedRun, hangs: bool, parts: bool) -> Reproduction[TransactionView, Answers]:
    late = [LogEntry(1, 7, "r0", False)] if hangs else []
    ledger = LedgerView((LogEntry(0, 7, "ABORT", True), *late), 1, 1 + hangs, 0, 0, ())
    other = LedgerView((), 0, 0, -1, -1, ())
    end = view_of(CoordinatorView("CompleteAbort", 0, frozenset()), (ledger, other), ("p0", "p1"))
    *most, last = prepared.script.steps
    reason = "the late r0 is refused" if parts else ""
    answers = Answers({0: ABORTED})
    taken = [SeenStep(step, end, answers, 0.1) for step in (most if parts else prepared.script.steps)]
    beyond = (SeenStep(last, end, answers, 0.1),) if parts else ()
    judged = broken_promises(end, answers)
    found = PlayedRun(end, tuple(taken), last if parts else None, reason, answers, end, judged, (), 9.0, beyond=beyond)
    return Reproduction(prepared, found, 3.0, None)


def test_where_the_files_of_brokers_are_that_were_kept_is_said_of_the_run_and_of_its_control(tmp_path: Path) -> None:
    first, control = tmp_path / "first", tmp_path / "control"
    made, other = played(bug(), True, False), played(bug().control(CHANGED), False, True)
    kept = Answer("t", question().properties[0], replace(made, folder=first), CHANGED, replace(other, folder=control))
    assert [f"The brokers' files are in {folder}." in printed(kept) for folder in (first, control)] == [True, True]
    assert "files are in" not in printed(Answer("t", None, made, CHANGED, other))


def printed(answer: Answer) -> str:
    written = io.StringIO()
    print_answer(Console(file=written, width=400), answer)
    return written.getvalue()


def test_an_answer_counts_only_if_what_is_seen_breaks_the_promise_and_the_control_keeps_it() -> None:
    prepared, promise = bug(), question().properties[0]
    hung, kept = played(prepared, True, False), played(prepared.control(CHANGED), False, True)
    answer = Answer("t", promise, hung, CHANGED, kept)
    assert (answer.judgement.exit_code, answer.judgement.control) == (ExitCode.INVARIANT, Control.KEEPS)
    said = [text for _, text in verdicts_in_words(answer)]
    assert "partition 0 stays open at LSO 1 of 2" in said[0]
    assert said[1].startswith("the control keeps it and goes another way at step 7: NoHangingTransaction holds")
    assert Answer("t", promise, hung, CHANGED, hung).judgement.exit_code is ExitCode.UNMET_EXPECTATION
    assert Answer("t", promise, kept).judgement.exit_code is ExitCode.UNMET_EXPECTATION
    assert Answer("t", promise, played(prepared, False, False)).judgement.exit_code is ExitCode.NOT_SHOWN
    assert Answer("t", None, hung).judgement.exit_code is ExitCode.HOLDS
    document = answer_document(answer, {"TimeOut": "by its clock"})
    assert document["verdict"] == "reproduced"
    assert document["control"]["parted"] == {"step": 7, "reason": "the late r0 is refused", "differences": []}
    assert document["after"]["partitions"][0]["last_stable_offset"] == 1


@pytest.mark.slow
def test_a_saved_answer_is_the_same_when_it_is_read_again_and_has_a_page(tmp_path: Path) -> None:
    prepared, path = bug(), tmp_path / "saved.json"
    kept = played(prepared.control(CHANGED), False, True)
    made = Answer("t", question().properties[0], played(prepared, True, False), CHANGED, kept)
    path.write_text(json.dumps(answer_document(made, {"TimeOut": "by its clock"})), "utf-8")
    again, left_out = read_answer(path)
    assert answer_document(again, left_out) == answer_document(made, {"TimeOut": "by its clock"})
    assert (printed(again), again.judgement) == (printed(made), made.judgement)
    data = page_data(again)
    assert data == page_data(made)
    steps = data["traces"][2]["packet"]["steps"]
    assert [step["seen"]["agreement"] for step in steps] == ["same"] * 7 + ["parted"]
    assert steps[7]["seen"]["rows"] == ["partition 0"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda it: it["told"].update(x="aborted"), "'x' is not a transaction, such as t0"),
        (lambda it: it["told"].update(t0="paid"), "clients are told one of committed, aborted and asked to commit"),
        (lambda it: it.update(inputs={}), "'inputs' lacks that of a transaction"),
        (lambda it: it["after"]["partitions"].pop(), "it tells of 1 partitions, and its trace has 2"),
        (lambda it: it["after"]["coordinator"].pop("epoch"), "'epoch' is missing or is not a number"),
        (lambda it: it["after"]["partitions"][0]["log"].append("r0"), "'offset' is missing or is not a number"),
    ],
)
def test_a_saved_answer_that_was_changed_is_refused_in_one_sentence(
    change: Callable[[dict[str, Any]], object], words: str, tmp_path: Path
) -> None:
    document = answer_document(Answer("t", question().properties[0], played(bug(), True, False)), {})
    change(document)
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(SpecUnreadable, match=re.escape(words)):
        read_answer(path)
