"""The table of variants and promises, with made-up answers: the real ones are a slow test of the command."""

from __future__ import annotations

import json
from collections.abc import Callable

from acked.checker.proof.variants import PROMISES, Breach, How, Matrix, VariantAnswer
from acked.checker.question.result import Verdict
from acked.model.catalogue import FAMILY
from acked.reports.proofs.variants import matrix_document, print_matrix
from acked.reports.table import table_markdown
from tools.proofs import breaches_table, matrix, promises_table

MATRIX = Matrix(
    {"replicas": 3},
    (
        VariantAnswer("kip320", "durable", "StrongIsr", Verdict.HOLDS, How.INDUCTION, 1.5),
        VariantAnswer("kip101", "durable", "StrongIsr", Verdict.VIOLATED, How.BMC, 70.0, 10),
    ),
    (Breach("kip101", "FollowerReplicate", ("LogMatching", "CommitQuorum"), ("follows in this epoch",)),),
    72.0,
)


def test_the_terminal_tells_verdict_method_and_time(drawn: Callable[..., object]) -> None:
    lines = " ".join(str(drawn(print_matrix, MATRIX, 73.0).text).split())  # type: ignore[attr-defined]
    assert "kip320 StrongIsr ✓ holds induction 1.50 s" in lines
    assert "kip101 StrongIsr ✗ violated in 10 steps bmc, shortest trace 1 min 10 s" in lines
    assert "kip101, FollowerReplicate: LogMatching, CommitQuorum kip320 asks in addition: follows in this epoch" in lines


def test_the_document_counts_states_as_traces_do() -> None:
    document = json.loads(json.dumps(matrix_document(MATRIX, 73.0)))
    assert [item["trace_length"] for item in document["matrix"]] == [None, 11]
    assert [item["method"] for item in document["matrix"]] == ["induction", "bmc"]


def test_the_page_is_made_of_tables() -> None:
    page = [*table_markdown(promises_table(MATRIX)), *table_markdown(breaches_table(MATRIX))]
    assert "| kip101 | durable | StrongIsr | violated in 10 steps | bmc, shortest trace | 1 min 10 s |" in page
    assert "| kip101 | FollowerReplicate | LogMatching, CommitQuorum | follows in this epoch |" in page


def test_a_matrix_with_an_open_entry_is_not_decided() -> None:
    assert MATRIX.is_decided
    unknown = VariantAnswer("kip101", "durable", "StrongIsr", Verdict.INCOMPLETE, How.NONE, 1.0)
    assert not Matrix({}, (*MATRIX.entries, unknown), (), 1.0).is_decided


def test_the_answers_that_docs_keep_are_whole_and_decided() -> None:
    kept = matrix()
    assert kept.is_decided
    asked = [(item.protocol, item.property) for item in kept.entries]
    assert asked == [(protocol, name) for protocol in FAMILY for _, names in PROMISES for name in names]
    assert {item.protocol for item in kept.breaches} == {*FAMILY} - {"kip320"}


def test_every_promise_is_stated_by_a_property() -> None:
    assert [name for _, names in PROMISES for name in names] == [
        "HwWithinOwnIsr",
        "HwWithinQuorumIsr",
        "StrongIsr",
        "CommittedRecordsStay",
        "CommitRequest",
    ]
