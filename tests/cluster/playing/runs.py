"""Runs of `partition` by the labels of their steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.checker.spec.resolve import bind_constants
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.invariants.catalogue import properties_of
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import profile

ON_KRAFT, ON_ZOOKEEPER = Brokers("3.9.1", Mode.KRAFT), Brokers("3.9.1", Mode.ZOOKEEPER)

PLAIN: Mapping[str, int | str | bool] = {
    "acks": "all", "retries": False, "idempotence": False, "unclean_election": False,
    "replicas": 3, "log_size": 1, "records": 1,
}  # fmt: skip


@lru_cache(maxsize=8)
def question(version: str, plane: str | None = None, **constants: int | str | bool) -> Question:
    """Acknowledged records survive, in a release."""
    rules = {name: setting.value for name, setting in profile(version, plane).items()}
    bound = bind_constants(partition, {**rules, **PLAIN, **constants})
    return Question(partition.instantiate(bound), (properties_of(partition)["AckedRecordsSurvive"],))


def run(asked: Question, labels: Iterable[str]) -> Run:
    """The run of these steps, each of which must be enabled."""
    instance = asked.instance
    codes = instance.schema.unpack(instance.initial[0])
    states, actions = [instance.initial[0]], []
    for label in labels:
        enabled = {step.label: step for step in instance.enabled_actions(codes)}
        assert label in enabled, (label, sorted(enabled))
        actions.append(enabled[label])
        codes = instance.fire(enabled[label], codes)
        states.append(instance.schema.pack(codes))
    return Run(tuple(states), tuple(actions))
