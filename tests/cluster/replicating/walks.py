"""Random traces that can be played, and many of them on one cluster; what `tools/real_random.py` and tests play."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.playing.play import PlayedRun, play
from acked.cluster.playing.protocol import PreparedRun, restore_actions
from acked.cluster.playing.reproduce import cluster_plan
from acked.cluster.playing.script import NotPlayable
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.playable import ELECTIONS, playable
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.topics.topic import TopicView
from acked.model.language.tracings import ActionInstance
from tools.shared.plays import clear_away

STEPS, RESTARTS = 18, 2
"""The most steps of a trace, and restarts in it: with KRaft each waits for the end of a session."""
RARE: Mapping[str, float] = {"Crash": 0.15, "MoveLeadership": 0.4, "GiveUp": 0.05}
"""How often these are left as a choice, so that something happens between them."""


@dataclass(frozen=True)
class PlayedWalk:
    """A random trace and how it went; `played` is None for one that cannot be played, with the reason."""

    seed: int
    labels: tuple[str, ...]
    played: PlayedRun[TopicView, Answers] | None
    reason: str = ""


def walk(asked: Question, mode: Mode, seed: int) -> Run:
    """A trace of steps that can be played: every action is as likely as any other, but for the rare ones."""
    instance, draw = playable(asked, Brokers("3.9.1", mode)).instance, random.Random(seed)
    codes = instance.schema.unpack(instance.initial[0])
    states = [instance.initial[0]]
    actions: list[ActionInstance] = []
    while len(actions) < STEPS or any(step.action.name in ELECTIONS for step in instance.enabled_actions(codes)):
        restarts = sum(step.action.name == "Restart" for step in actions)
        steps = [step for step in instance.enabled_actions(codes) if step.action.name != "Restart" or restarts < RESTARTS]
        steps = [step for step in steps if draw.random() < RARE.get(step.action.name, 1.0)]
        if not steps:
            break
        name = draw.choice(sorted({step.action.name for step in steps}))
        chosen = draw.choice([step for step in steps if step.action.name == name])
        codes = instance.fire(chosen, codes)
        states.append(instance.schema.pack(codes))
        actions.append(chosen)
    return restore_actions(asked, Run(tuple(states), tuple(actions)))


def play_walks(asked: Question, brokers: Brokers, seeds: Sequence[int]) -> Iterator[PlayedWalk]:
    """Plays random traces one after the other, each on a topic of its own; the cluster is the same until one parts."""
    left = list(seeds)
    while left:
        first = _prepared(asked, brokers, left[0])
        if isinstance(first, PlayedWalk):
            left.pop(0)
            yield first
            continue
        with Cluster(cluster_plan(first)) as cluster:
            while left:
                found = _play(asked, brokers, cluster, left.pop(0))
                yield found
                played = found.played
                if played is not None and (played.parted is not None or not clear_away(cluster, _topic(found.seed))):
                    break


def _prepared(asked: Question, brokers: Brokers, seed: int) -> PreparedRun | PlayedWalk:
    """A trace ready to be played, or why it cannot be."""
    run = walk(asked, brokers.chosen_mode, seed)
    try:
        return REPLICATION.prepare(asked, run, brokers)
    except NotPlayable as error:
        return PlayedWalk(seed, tuple(step.label for step in run.actions), None, str(error))


def _play(asked: Question, brokers: Brokers, cluster: Cluster, seed: int) -> PlayedWalk:
    prepared = _prepared(asked, brokers, seed)
    if isinstance(prepared, PlayedWalk):
        return prepared
    played: PlayedRun[TopicView, Answers] = play(prepared, cluster, _topic(seed))
    return PlayedWalk(seed, tuple(step.label for step in prepared.script.steps), played, played.reason)


def _topic(seed: int) -> str:
    return f"walk{seed}"
