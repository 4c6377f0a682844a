"""The easiest of all shortest runs, and why a run breaks its promise: held against enumerating every run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.checker.diagnosis.easiest import Cost, cost_of, easiest_of
from acked.checker.diagnosis.necessary import necessity
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Verdict
from acked.checker.question.user_properties import written_invariant
from acked.checker.search.local import search
from acked.checker.spec.resolve import property_named
from acked.cli import main
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.language.quantify import implies
from acked.reports.runs.effort import effort_of
from tests.oracle import Space, Step, Words

FAMILY = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
ACKS_1 = {"replicas": 2, "records": 1, "log_size": 1, "acks": "1"}


def question_of(protocol: str, constants: dict[str, object], *names: str) -> Question:
    made = PROTOCOLS[protocol]
    return Question(made.instantiate(constants), tuple(property_named(made, name) for name in names))


ONE_RECORD = Property(
    "OneRecord", Kind.STEP, lambda before, after: implies(before.next_record_id == 1, after.next_record_id == 1), "", "", ""
)
SHORT = written_invariant("Short", "count(log[r].end > 0 for r in replicas) < 2")
CASES = [
    question_of("truncate-to-hw", FAMILY, "WeakIsr"),
    Question(PROTOCOLS["kip320"].instantiate(FAMILY), (ONE_RECORD,)),
    question_of("partition", ACKS_1, "AckedRecordsInIsr"),
    Question(PROTOCOLS["kip101"].instantiate(FAMILY), (SHORT,)),
]


def every_shortest_run(question: Question) -> Iterator[Run]:
    """By walking backwards over all levels, without any sharing."""
    space = Space(question, max_depth=14)
    found = space.first_violation(0)
    assert found is not None
    instance = question.instance

    def back(states: list[Words], actions: list[int]) -> Iterator[Run]:
        level = space.level_of[states[0]]
        if level == 0:
            yield Run(tuple(states), tuple(instance.actions[number] for number in actions))
        for step in space.steps[level - 1] if level else []:
            if step.target == states[0]:
                yield from back([step.source, *states], [step.action, *actions])

    for culprit in found[1]:
        if isinstance(culprit, Step):
            yield from back([culprit.source, culprit.target], [culprit.action])
        else:
            yield from back([culprit], [])


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("question", CASES, ids=lambda case: f"{case.instance.protocol.name}-{case.properties[0].name}")
def test_no_shortest_run_is_easier_to_tell(question: Question) -> None:
    effort = effort_of(question.instance)
    violation = search(question).violations
    if not violation:
        pytest.fail("the case must be violated")
    numbers = {step.label: at for at, step in enumerate(question.instance.actions)}

    def rank(run: Run) -> tuple[int, int, int, tuple[int, ...]]:
        cost = cost_of(run, effort)
        return cost.brokers, cost.switches, cost.faults, tuple(numbers[step.label] for step in run.actions)

    runs = sorted(every_shortest_run(question), key=rank)
    for workers in (1, 2):
        found = easiest_of(question, violation[0], effort, Bounds(workers=workers))
        assert found.violation.run == runs[0]
        assert found.runs == len(runs)
        assert found.cost == Cost(*rank(runs[0])[:3])


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("question", CASES, ids=lambda case: case.instance.protocol.name)
def test_what_an_event_is_there_for_is_what_leaving_it_out_does(question: Question) -> None:
    instance, violation = question.instance, search(question).violations[0]
    found = necessity(question, violation)
    steps = violation.run.actions
    for item in found.left_out:
        codes, blocked = instance.schema.unpack(violation.run.states[0]), None
        for index, step in enumerate(steps, 1):
            if index == item.index:
                continue
            if step not in instance.enabled_actions(codes):
                blocked = index
                break
            codes = instance.fire(step, codes)
        assert item.blocked == blocked
    space = Space(question, max_depth=len(steps) + 1)
    for never in found.forbidden:
        assert never.action in {step.action.name for step in steps}
        # Whatever breaks the promise without it is no shorter than the shortest of all.
        assert never.verdict is Verdict.HOLDS or (never.trace_length or 0) >= len(violation.run.states)
    assert found.kept is not None
    run = found.kept.run
    assert run.actions != steps
    assert 0 <= len(run.actions) - len(steps) <= 1
    for source, step, target in zip(run.states, run.actions, run.states[1:], strict=False):
        codes = instance.schema.unpack(source)
        assert step in instance.enabled_actions(codes)
        assert instance.schema.pack(instance.fire(step, codes)) == target
    bad = space.first_violation(0)
    assert bad is not None
    assert run.states[-1] not in bad[1]


@pytest.mark.slow
def test_the_canonical_run_stays_in_json_and_the_easiest_stands_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace = tmp_path / "t.json"
    assert main(["check", "truncate-to-hw", "-q", "--format", "json"]) == 12
    plain = json.loads(capsys.readouterr().out)
    arguments = ["check", "truncate-to-hw", "-q", "--format", "json", "--easiest", "--explain", "--trace-out", str(trace)]
    assert main(arguments) == 12
    told = json.loads(capsys.readouterr().out)
    assert told["violations"] == plain["violations"]
    (easiest,) = told["easiest"]
    assert (easiest["brokers"], easiest["switches"], easiest["faults"], easiest["shortest_runs"]) == (2, 4, 1, 36)
    assert easiest["trace"] == json.loads(trace.read_text("utf-8"))
    assert len(easiest["trace"]["steps"]) == len(plain["violations"][0]["trace"]["steps"]) == 9
    (explained,) = told["explained"]
    assert {item["verdict"] for item in explained["forbidden"]} == {"holds"}
    assert main(["show", str(trace)]) == 0


def test_nothing_is_told_of_what_holds(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "kip320", "-c", "replicas=1", "-q", "--format", "json", "--easiest", "--explain"]
    assert main(arguments) == 0
    assert {"easiest", "explained"}.isdisjoint(json.loads(capsys.readouterr().out))
