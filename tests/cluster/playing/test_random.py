"""Random traces that can be played: real brokers do what the model says at every step."""

from __future__ import annotations

import random

import pytest

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.playing.playable import as_asked, playable, refusal
from acked.cluster.playing.reproduce import Brokers, prepare, reproduce
from acked.cluster.playing.script import NotPlayable
from acked.cluster.releases.release import Mode
from tests.cluster.conftest import real_plan
from tests.cluster.playing.runs import question

STEPS, RESTARTS = 18, 2
RARE = {"Crash": 0.15, "MoveLeadership": 0.4}
"""How often these are left as a choice, so that something happens between them."""


def walk(asked: Question, mode: Mode, seed: int) -> Run:
    """A trace of at most so many steps: every action that is possible is as likely as any other, but for the rare ones."""
    instance, draw = playable(asked, mode).instance, random.Random(seed)
    codes = instance.schema.unpack(instance.initial[0])
    states, actions = [instance.initial[0]], []
    for _ in range(STEPS):
        restarts = sum(step.action.name == "Restart" for step in actions)
        steps = [step for step in instance.enabled(codes) if step.action.name != "GiveUp"]
        steps = [step for step in steps if step.action.name != "Restart" or restarts < RESTARTS]
        steps = [step for step in steps if draw.random() < RARE.get(step.action.name, 1.0)]
        if not steps:
            break
        name = draw.choice(sorted({step.action.name for step in steps}))
        chosen = draw.choice([step for step in steps if step.action.name == name])
        codes = instance.fire(chosen, codes)
        states.append(instance.schema.pack(codes))
        actions.append(chosen)
    return as_asked(asked, Run(tuple(states), tuple(actions)))


def asked_of(version: str, plane: str | None) -> Question:
    return question(
        version, plane, log_size=2, records=2, leadership_moves=True, crashes="lossy", min_insync_replicas=2
    )  # fmt: skip


@pytest.mark.slow
def test_a_random_trace_of_playable_steps_is_refused_by_no_clause() -> None:
    asked = asked_of("4.1", None)
    assert [refusal(asked, walk(asked, Mode.KRAFT, seed), Mode.KRAFT) for seed in range(3)] == [None] * 3


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(("version", "rules", "plane"), [("4.1.0", "4.1", None), ("3.9.1", "3.9", "kraft")])
@pytest.mark.parametrize("seed", range(3))
def test_a_random_trace_is_played_without_parting(
    version: str, rules: str, plane: str | None, seed: int, users_cache: None
) -> None:
    real_plan(version, {})
    asked = asked_of(rules, plane)
    try:
        prepared = prepare(asked, walk(asked, Mode.KRAFT, seed), Brokers(version, Mode.KRAFT))
    except NotPlayable as error:
        pytest.skip(str(error))
    played = reproduce(prepared).played
    assert played.parted is None, (played.reason, [step.label for step in prepared.script.steps])
