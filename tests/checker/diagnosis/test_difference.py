"""What is possible under one set of rules and not under the other: held against comparing all steps of all states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.checker.diagnosis.difference import compare
from acked.checker.question.question import Question
from acked.checker.spec.resolve import property_named
from acked.cli import main
from acked.model.catalogue import PROTOCOLS
from tests.oracle import Space, Words

FAMILY = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
SMALL = {"replicas": 2, "records": 1, "log_size": 1}
DROP = [("FencedLeaderExpandIsr", "HW in this epoch")]


def question_of(protocol: str, constants: dict[str, object], drop: list[tuple[str, str]] | None = None) -> Question:
    made = PROTOCOLS[protocol]
    name = "AckedRecordsInIsr" if protocol == "partition" else "WeakIsr"
    return Question(made.instantiate(constants, drop or []), (property_named(made, name),))


def expected(question: Question, other: Question) -> tuple[int, Words, int] | None:
    """The level, source and action of the first step that the other rules do not have."""
    mine, theirs = Space(question), Space(other, max_depth=0)
    for depth, steps in enumerate(mine.steps, 1):
        reached = {source: {step.target for step in theirs._fire_all(source)} for source in {step.source for step in steps}}
        missing = [
            (step.source, step.action)
            for step in steps
            if step.target not in (step.source, *reached[step.source])
        ]
        if missing:
            return depth, *min(missing)
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("kip101", FAMILY), ("kip279", FAMILY)),
        (("kip320", FAMILY, DROP), ("kip320", FAMILY)),
        pytest.param(
            ("partition", {**SMALL, "unclean_election": True}), ("partition", SMALL), marks=pytest.mark.long
        ),
    ],
)
def test_the_first_step_that_the_others_do_not_have_is_found(first: tuple, second: tuple) -> None:
    a, b = question_of(*first), question_of(*second)
    answers = [compare(question_of(*first), question_of(*second), Bounds(workers=workers)) for workers in (1, 2)]
    for found in answers:
        assert found.is_complete
        assert not found.obstacle
        for side, (question, other) in zip(found.sides, ((a, b), (b, a)), strict=True):
            first_step = expected(question, other)
            assert (side.run is None) == (first_step is None)
            if side.run is None or first_step is None:
                continue
            depth, source, action = first_step
            assert len(side.run.actions) == depth
            assert side.run.states[-2] == source
            assert side.run.actions[-1].label == question.instance.actions[action].label
            assert side.run.states[0] in question.instance.initial
            for at, step in enumerate(side.run.actions):
                codes = question.instance.schema.unpack(side.run.states[at])
                fired = question.instance.fire(step, codes) if step in question.instance.actions else None
                assert fired is None or question.instance.schema.pack(fired) == side.run.states[at + 1]
                assert step.label in {item.label for item in question.instance.enabled_actions(codes)}
        assert found.differs
    one, two = ([side.run.states if side.run else None for side in found.sides] for found in answers)
    assert one == two


def test_the_same_rules_do_not_differ() -> None:
    found = compare(question_of("kip320", FAMILY), question_of("kip320", FAMILY))
    assert (found.differs, found.is_complete, [side.run for side in found.sides]) == (False, True, [None, None])


@pytest.mark.slow
def test_two_releases_are_an_upgrade_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'title = "v"\nprotocol = "partition"\nversion = "{}"\n{}[constants]\nreplicas = 2\nrecords = 1\nlog_size = 1\n'
    text += '[check]\ninvariants = ["AckedRecordsInIsr", "LogsAgreeBelowHw"]\n'
    plane = {"4.0": 'control_plane = "kraft"\n'}
    for version in ("2.0", "2.6", "4.0"):
        (tmp_path / f"{version}.toml").write_text(text.format(version, plane.get(version, "")), "utf-8")
    paths = {version: str(tmp_path / f"{version}.toml") for version in ("2.0", "2.6", "4.0")}
    assert main(["diff", paths["2.0"], paths["2.6"], "-q", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["obstacle"] is None
    assert any(side["only_here"] for side in document["sides"])
    assert set(document["properties"]) == {"AckedRecordsInIsr", "LogsAgreeBelowHw"}
    assert main(["diff", paths["2.6"], paths["4.0"], "-q"]) == 1
    assert "Traces are not compared: one side has values of" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_rules_over_other_fields_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "kip320", "partition", "-q"]) == 151
    assert capsys.readouterr().err.endswith("there is nothing to compare; use specs of one protocol family and size\n")
    assert main(["diff", "kip320", "truncate-to-hw", "-q"]) == 151
    assert "(-c sets in both what differs: replicas, max_leader_epoch)" in capsys.readouterr().err
