"""Walks through an instance by the plain evaluator: all states, and what random steps say."""

from __future__ import annotations

import random
from collections.abc import Iterator

from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance


def reachable(instance: Instance) -> set[tuple[int, ...]]:
    """Every reachable state, as words."""
    start = instance.initial[0]
    seen, frontier = {start}, [start]
    guards = Evaluator([item.guard for item in instance.actions])
    updates = [Evaluator([code for _, code in item.updates]) for item in instance.actions]
    while frontier:
        found = []
        for words in frontier:
            codes = instance.schema.unpack(words)
            for step, update, holds in zip(instance.actions, updates, guards(codes), strict=True):
                if holds:
                    changed = list(codes)
                    for (leaf, _), value in zip(step.updates, update(codes), strict=True):
                        changed[leaf] = value
                    if (after := instance.schema.pack(changed)) not in seen:
                        seen.add(after)
                        found.append(after)
        frontier = found
    return seen


def sentences(instance: Instance, turns: int, length: int = 40) -> Iterator[tuple[str, str]]:
    """By action what random steps say of themselves, in runs of so many steps; each kind of step is as likely as another."""
    chance = random.Random(3)
    guards = Evaluator([item.guard for item in instance.actions])
    start = codes = instance.schema.unpack(instance.initial[0])
    for turn in range(turns):
        codes = start if turn % length == 0 else codes
        enabled = [item for item, holds in zip(instance.actions, guards(codes), strict=True) if holds]
        if not enabled:
            continue
        kind = chance.choice(sorted({item.action.name for item in enabled}))
        step = chance.choice([item for item in enabled if item.action.name == kind])
        after = instance.fire(step, codes)
        yield kind, instance.tell(step, codes, after)
        codes = after
