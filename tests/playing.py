"""Runs of `partition` that tests write down step by step: a release, its steps by their labels, the state afterwards."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition

TINY = {"replicas": 2, "log_size": 1, "records": 1}


@lru_cache(maxsize=8)
def release(version: str, plane: str | None = None, **other: Any) -> Instance:
    """The rules of a release; many tests ask about the same ones in turn."""
    profile = {name: setting.value for name, setting in partition.profile(version, plane).items()}
    return partition.instantiate({**profile, **other})


def play(instance: Instance, *labels: str) -> dict[str, Any]:
    """The state after these steps, each of which must be enabled."""
    codes = instance.schema.unpack(instance.initial[0])
    for label in labels:
        step = next((item for item in instance.actions if item.label == label), None)
        kin = [item.label for item in instance.actions if item.action.name == label.partition("(")[0]]
        assert step is not None, f"there is no {label} under these constants, but {', '.join(kin[:4]) or 'none of that name'}"
        assert Evaluator([step.guard])(codes)[0], f"{label} is not enabled"
        codes = instance.fire(step, codes)
    state: dict[str, Any] = instance.schema.decode(codes)
    return state


def can(instance: Instance, label: str, *before: str) -> bool:
    """Whether a step is enabled after others."""
    codes = instance.schema.encode(play(instance, *before))
    return any(item.label == label and Evaluator([item.guard])(codes)[0] for item in instance.actions)
