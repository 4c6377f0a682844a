"""Many runs one after the other: those that need the same brokers share a cluster as long as it can be cleared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

import pytest

from acked.cluster.nodes.jvm import Exited
from acked.cluster.playing.setting import Changed
from tests.cluster.reports.made import played, prepared
from tools.shared.plays import reproduce_each


class Fakes:
    """Clusters in the place of real ones: which were started, what was played on each, and which cannot be cleared."""

    def __init__(self, stuck: set[str], ending: set[str], is_full: bool = False) -> None:
        self.stuck, self.ending, self.is_full = stuck, ending, is_full
        self.started: list[tuple[str, list[str]]] = []

    def cluster(self, plan: Any) -> Any:
        topics: list[str] = []
        self.started.append((plan.name, topics))

        class Started:
            seconds = 1.0

            def __enter__(self) -> Self:
                self.topics = topics
                return self

            def __exit__(self, *_: object) -> None:
                pass

        return Started()

    def play(self, made: object, cluster: Any, topic: str) -> Any:
        if topic in self.ending and cluster.topics:
            raise Exited("broker 0 exited with code 1", is_of_machine=self.is_full)
        cluster.topics.append(topic)
        return played(prepared()).played

    def cleared(self, cluster: object, topic: str) -> bool:
        return topic not in self.stuck


def used(monkeypatch: pytest.MonkeyPatch, fakes: Fakes) -> Fakes:
    module = "tools.shared.plays"
    monkeypatch.setattr(f"{module}.Cluster", fakes.cluster)
    monkeypatch.setattr(f"{module}.play", fakes.play)
    monkeypatch.setattr(f"{module}.clear_away", fakes.cleared)
    monkeypatch.setattr(f"{module}.cluster_plan", lambda made: SimpleNamespace(name=made.brokers.version, mode=None))
    return fakes


def test_a_broker_that_ends_between_two_runs_costs_a_cluster_and_one_for_want_of_a_disk_ends_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = prepared()
    fakes = used(monkeypatch, Fakes(set(), {"played2"}))
    assert len(list(reproduce_each([made] * 3))) == 3
    assert [topics for _, topics in fakes.started] == [["played1"], ["played3", "played4"]]
    used(monkeypatch, Fakes(set(), {"played2"}, is_full=True))
    with pytest.raises(Exited):
        list(reproduce_each([made] * 3))


def test_runs_on_the_same_brokers_share_a_cluster_until_one_cannot_be_cleared_away(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes, made = used(monkeypatch, Fakes({"played2"}, set())), prepared()
    wanted = [made, made.control(Changed(setting=("acks", "all"))), made, made.control(Changed(version="4.1.0"))]
    found = list(reproduce_each(wanted))
    assert [one.prepared for one in found] == wanted
    assert fakes.started == [("3.9.1", ["played1", "played2"]), ("3.9.1", ["played3"]), ("4.1.0", ["played4"])]


def test_a_control_does_not_go_another_way_by_the_set_of_eligible_leaders_alone() -> None:
    made = prepared()
    assert made.setting.compares_eligible
    assert not made.control(Changed(setting=("min.insync.replicas", "2"))).setting.compares_eligible
