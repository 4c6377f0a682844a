"""What several controllers need of a cluster, and what is seen of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acked.cluster.nodes.plan import make_plan
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.jars import Jars
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.candidates import Candidates, controller_settings
from acked.cluster.replicating.protocol import REPLICATION
from tests.cluster.playing.runs import question, run

EXPIRES, CREATES = "Expire(controller=0)", "CreateControllerNode(controller=1)"
TAKES = "TakeControllerEpoch(controller=1, shrinks=False)"
MOVES = "MoveLeadershipAsController(controller=0, broker=1)"


@pytest.mark.slow
def test_the_first_controller_moves_leadership_by_itself_only_where_an_old_one_does() -> None:
    asked = question("2.0", controllers="many", leadership_moves=True, replicas=2, acks="1")
    moved, idle = (REPLICATION.prepare(asked, run(asked, labels), Brokers("2.0.1"))
                   for labels in ([EXPIRES, CREATES, TAKES, MOVES], [EXPIRES, CREATES, TAKES]))  # fmt: skip
    assert controller_settings(moved.script)["auto.leader.rebalance.enable"] == "true"
    assert controller_settings(idle.script) == {}
    assert (moved.setting.other_candidates, moved.setting.replicas) == (1, 2)


@pytest.mark.parametrize(("mode", "brokers", "candidates"), [(Mode.ZOOKEEPER, (0, 1, 2), (2,)), (Mode.KRAFT, (0, 1), ())])
def test_candidates_are_brokers_of_their_own_with_zookeeper(
    mode: Mode, brokers: tuple[int, ...], candidates: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    jars = Jars("none", ())
    monkeypatch.setattr("acked.cluster.nodes.plan.release_jars", lambda *_: jars)
    monkeypatch.setattr("acked.cluster.nodes.plan.zookeeper_jars", lambda *_: jars)
    monkeypatch.setattr("acked.cluster.nodes.plan.broker_java", lambda: Path("java"))
    plan = make_plan("3.9.1", mode, brokers=(0, 1), other_candidates=1)
    assert (plan.brokers, plan.other_candidates) == (brokers, candidates)


@pytest.mark.parametrize(
    ("answers", "held", "broken"),
    [
        ({0: False, 1: True}, (), False),
        ({0: True, 1: False}, (), True),
        ({0: True, 1: False}, (0, 1), False),  # Something that tells them is still on its way.
        ({0: True, 1: False}, (1,), True),
        ({0: True, 1: True}, (), True),
    ],
)
def test_brokers_follow_zookeeper_if_its_leader_leads_and_nobody_else(
    answers: dict[int, bool], held: tuple[int, ...], broken: bool
) -> None:
    seen = SimpleNamespace(partition=SimpleNamespace(leader=1), running=(0, 1, 2))
    topic: Any = SimpleNamespace(observe=lambda: seen, answers_as_leader=answers.__getitem__, name="t")
    cluster: Any = SimpleNamespace(plan=SimpleNamespace(other_candidates=(2,)))
    script: Any = SimpleNamespace(initial={"log": [0, 1]}, steps=())
    made = Candidates(cluster, topic, script, SimpleNamespace(), lambda *_: None, 1.0)  # type: ignore[arg-type]
    made._epochs = {1: 0}
    made._orders = {(1, broker): SimpleNamespace(held=(broker in held) * ("frame",)) for broker in (0, 1)}  # type: ignore[misc]
    made._acting = lambda: [9]  # type: ignore[method-assign]
    assert made.broken_promises() == {"BrokersFollowZookeeper": broken, "OneController": False}
