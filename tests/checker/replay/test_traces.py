"""Replaying a trace document: what is confirmed, and that every violation's document is a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import FORMAT, replay, trace_document
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import FAMILY as PROTOCOLS

SIZE = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def documents(protocol: str, *drop: tuple[str, str]) -> list[tuple[dict[str, Any], Any]]:
    """The document of every violation of every property and of deadlock, through JSON and back."""
    known = PROTOCOLS[protocol]
    question = Question(known.instantiate(SIZE, drop), (*properties_of(known).values(), DEADLOCK))
    result = search(question, Bounds(2, 1 << 26), StopPolicy.EVERY_PROPERTY)
    return [
        (json.loads(json.dumps(trace_document(Counterexample.of("t", question, item)))), item.run)
        for item in result.violations
    ]


def test_readers_and_writers_agree_on_the_format() -> None:
    assert FORMAT == FORMAT == "acked-trace/1"


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_violation_s_document_replays_to_the_same_run(protocol: str) -> None:
    found = documents(protocol)
    assert found
    for document, run in found:
        replayed = replay(document)
        assert replayed.run.states == run.states
        assert [step.label for step in replayed.run.actions] == [step.label for step in run.actions]
        assert (replayed.property and replayed.property.name) == document["spec"]["violates"]
        assert trace_document(replayed) == document


@pytest.mark.slow
def test_a_trace_of_a_weakened_protocol_replays_only_with_what_was_dropped() -> None:
    clause = ("BecomeLeader", "newer leader epoch")
    found = documents("kip320", clause)
    assert {document["spec"]["violates"] for document, _ in found} >= {"WeakIsr", "LeaderEpochsOnlyGrow"}
    for document, run in found:
        assert replay(document).run.states == run.states
        if document["spec"]["violates"] in ("WeakIsr", "LeaderEpochsOnlyGrow"):
            document["spec"]["drop"] = []
            with pytest.raises(SpecUnreadable, match="is not enabled, 'newer leader epoch' does not hold"):
                replay(document)


@pytest.mark.slow
def test_a_claim_is_confirmed_in_the_last_state_or_step_alone() -> None:
    for document, _ in documents("truncate-to-hw"):
        claimed = document["spec"]["violates"]
        document["steps"].pop()
        with pytest.raises(SpecUnreadable, match=rf"claims to violate '{claimed}', which holds in its last"):
            replay(document)


def test_a_trace_may_claim_nothing() -> None:
    document, run = documents("kip320")[0]
    document["spec"]["violates"] = None
    document["steps"].pop()
    assert replay(document).run.states == run.states[:-1]


def test_a_trace_of_one_state_is_the_initial_state() -> None:
    document, _ = documents("kip320")[0]
    document["spec"]["violates"] = None
    del document["steps"][1:]
    assert replay(document).run.actions == ()
    document["spec"]["violates"] = "CommittedRecordsStay"
    with pytest.raises(SpecUnreadable, match="holds in its last step"):
        replay(document)


@pytest.mark.parametrize("document", [None, 3, "x", [], {}, {"format": FORMAT}, {"format": FORMAT, "spec": []}])
def test_what_is_no_trace_is_refused(document: Any) -> None:
    with pytest.raises((SpecUnreadable, ConfigurationError), match="not a trace file"):
        replay(document)
