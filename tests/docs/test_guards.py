"""docs/guards.json says what `tools/guards.py` found: every clause is there once, and a sample is asked again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from acked.api import load_spec
from acked.checker.batch.outcome import Task
from acked.checker.question.coverage import clauses_of
from acked.checker.question.result import Verdict
from acked.checker.search.local import Bounds, search
from tools.guards import ANSWERS, part

Clause = tuple[str, str]
BY_PROTOCOL = {protocol: told["clauses"] for protocol, told in json.loads(ANSWERS.read_text("utf-8")).items()}


def clause_of(told: dict[str, str]) -> Clause:
    action, _, label = told["clause"].partition(": ")
    return action, label


NEEDED = {
    (protocol, clause_of(told)): (told["violated"], told["steps"], told["spec"])
    for protocol, clauses in BY_PROTOCOL.items() for told in clauses if told["kind"] == "needed"
}  # fmt: skip
LEAST = {"partition": 70, "compaction": 9, "share": 6, "coordinator": 19}
SAMPLE = [
    ("partition", ("AskToExpand", "caught up to HW and epoch")),
    ("partition", ("ElectLeader", "candidate")),
    ("partition", ("FetchRecord", "logs agree")),
    ("compaction", ("DropSegment", "it is below the log start")),
    ("share", ("Acknowledge", "a consumer has it")),
    ("coordinator", ("Elect", "is in sync")),
]


def test_no_clause_is_told_twice_and_the_page_counts_them() -> None:
    page = [*part()]
    assert {*BY_PROTOCOL} == {*LEAST}
    for protocol, clauses in BY_PROTOCOL.items():
        needed = sum(name == protocol for name, _ in NEEDED)
        assert len(clauses) == len(set(map(clause_of, clauses))) > needed >= LEAST[protocol]
        assert any(line.startswith(f"{len(clauses)} clauses: {needed} needed,") for line in page)
    assert sum(line.startswith(("| `", "- `")) for line in page) == sum(map(len, BY_PROTOCOL.values()))


@pytest.mark.slow
def test_every_clause_of_the_shipped_defaults_is_on_the_page() -> None:
    told = {*map(clause_of, BY_PROTOCOL["partition"])}
    for name in ("acks-all-min-2-clean", "kip966-fix", "idempotence-mends", "kip101-2-fix", "kip207-fix", "kafka18991-fix"):
        assert set(clauses_of(load_spec(name).question().instance)) <= told, "run tools/guards.py"


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "clause"), SAMPLE, ids=[": ".join(clause) for _, clause in SAMPLE])
def test_a_clause_that_is_needed_is_needed_by_what_the_page_says(protocol: str, clause: Clause) -> None:
    broken, length, name = NEEDED[protocol, clause]
    whole = Task.of(load_spec(name))
    assert search(whole.question(), Bounds(1)).verdict is Verdict.HOLDS
    without = Task(replace(whole.asked, drop=(clause,)))
    result = search(without.question(), Bounds(1))
    assert [(item.property.name, item.trace_length - 1) for item in result.violations] == [(broken, length)]
