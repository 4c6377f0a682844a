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
TOLD = json.loads(ANSWERS.read_text("utf-8"))["clauses"]


def clause_of(told: dict[str, str]) -> Clause:
    action, _, label = told["clause"].partition(": ")
    return action, label


NEEDED = {clause_of(told): (told["violated"], told["steps"], told["spec"]) for told in TOLD if told["kind"] == "needed"}
SAMPLE = [
    ("AskToExpand", "caught up to HW and epoch"),
    ("ElectLeader", "candidate"),
    ("FetchRecord", "logs agree"),
]


def test_no_clause_is_told_twice_and_the_page_counts_them() -> None:
    assert len(TOLD) == len(set(map(clause_of, TOLD))) > len(NEEDED) > 70
    page = [*part()]
    assert page[0].startswith(f"{len(TOLD)} clauses: {len(NEEDED)} needed,")
    assert sum(line.startswith(("| `", "- `")) for line in page) == len(TOLD)


@pytest.mark.slow
def test_every_clause_of_the_shipped_defaults_is_on_the_page() -> None:
    told = {*map(clause_of, TOLD)}
    for name in ("acks-all-min-2-clean", "kip966-fix", "idempotence-mends", "kip101-2-fix", "kip207-fix", "kafka18991-fix"):
        assert set(clauses_of(load_spec(name).question().instance)) <= told, "run tools/guards.py"


@pytest.mark.slow
@pytest.mark.parametrize("clause", SAMPLE, ids=[": ".join(clause) for clause in SAMPLE])
def test_a_clause_that_is_needed_is_needed_by_what_the_page_says(clause: tuple[str, str]) -> None:
    broken, length, name = NEEDED[clause]
    whole = Task.of(load_spec(name))
    assert search(whole.question(), Bounds(1)).verdict is Verdict.HOLDS
    without = Task(replace(whole.asked, drop=(clause,)))
    result = search(without.question(), Bounds(1))
    assert [(item.property.name, item.trace_length - 1) for item in result.violations] == [(broken, length)]
