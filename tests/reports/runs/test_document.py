"""The JSON documents have exactly the promised names and nothing that JSON cannot say."""

from __future__ import annotations

import json

from acked.checker.question.result import Counterexample, Result
from acked.checker.replay.trace_file import trace_document
from acked.reports.runs.document import check_document


def document(result: Result, **more: object) -> dict:
    written = check_document("specs/x.toml", "title", result, 1.25, **more)  # type: ignore[arg-type]
    return json.loads(json.dumps(written, allow_nan=False))


def test_the_check_document_has_the_promised_names(violated: Result) -> None:
    assert set(document(violated)) == {
        *("spec", "title", "protocol", "constants", "drop", "engine", "workers", "verdict", "stopped"),
        *("distinct_states", "generated_states", "depth", "symmetry", "levels", "stored_levels"),
        *("seconds", "total_seconds", "memory_bytes"),
        *("properties", "reach", "violations", "actions", "never_fired", "expectation", "notes"),
    }


def test_a_violated_check_carries_kind_length_and_trace(violated: Result) -> None:
    answer = document(violated)
    assert (answer["verdict"], answer["stopped"]) == ("violated", "violation")
    assert (answer["distinct_states"], answer["depth"], sum(answer["levels"])) == (565, 9, 565)
    (found,) = answer["violations"]
    assert (found["property"], found["kind"], found["trace_length"]) == ("WeakIsr", "invariant", 9)
    assert len(found["trace"]["steps"]) == 9
    assert answer["properties"] == [
        {"name": "WeakIsr", "kind": "invariant", "holds": False},
        {"name": "CommittedRecordsStay", "kind": "step property", "holds": None},
    ]


def test_counts_are_given_by_action_and_those_that_never_fired_are_named(searched) -> None:
    answer = document(searched("kip320", (2, 2, 2, 1), "WeakIsr", max_depth=2))
    assert answer["verdict"] == "incomplete"
    assert answer["actions"]["LeaderWrite"] == {"enabled": 0, "new": 0}
    assert "LeaderWrite" in answer["never_fired"]
    assert answer["properties"][0]["holds"] is None


def test_an_expectation_is_put_in_as_it_was_given(violated: Result) -> None:
    assert document(violated)["expectation"] is None
    expectation = {"met": False, "differences": ["depth"]}
    assert document(violated, expectation=expectation)["expectation"] == expectation


def test_a_trace_names_its_spec_and_starts_without_an_action(violated: Result) -> None:
    found = violated.violations[0]
    trace = trace_document(Counterexample.of("title", violated.question, found))
    trace = json.loads(json.dumps(trace, allow_nan=False))
    assert trace["format"] == "acked-trace/1"
    assert trace["spec"] == {
        "title": "title",
        "protocol": "truncate-to-hw",
        "constants": {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1},
        "drop": [],
        "properties": ["WeakIsr", "CommittedRecordsStay"],
        "fingerprint": violated.question.fingerprint,
        "violates": "WeakIsr",
    }
    first = trace["steps"][0]
    assert (first["index"], first["action"], first["params"], first["changed"]) == (0, None, {}, [])
    assert first["properties"] == {"WeakIsr": True, "CommittedRecordsStay": None}


def test_every_step_of_a_trace_can_be_fired_again(violated: Result) -> None:
    found, instance = violated.violations[0], violated.question.instance
    trace = json.loads(json.dumps(trace_document(Counterexample("title", violated.question, found.run))))
    by_label = {(step.action.name, json.dumps(step.arguments)): step for step in instance.actions}
    codes = instance.schema.encode(trace["steps"][0]["state"])
    for step in trace["steps"][1:]:
        codes = instance.fire(by_label[step["action"], json.dumps(step["params"])], codes)
        assert instance.schema.decode(codes) == step["state"]
    assert trace["steps"][4]["changed"] == [
        "log[0].end",
        "log[0].records[0].id",
        "log[0].records[0].epoch",
        "next_record_id",
    ]
    assert trace["steps"][-1]["properties"]["WeakIsr"] is False
