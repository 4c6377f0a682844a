"""Moves that are planned: the partitions as they are once the moves have begun, and what acks=1 loses by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from acked.audit.moves.plan import ReassignmentPlan
from acked.base.errors import ConfigurationError
from acked.base.names import first_of
from acked.roll.decision.judge import Judge
from acked.roll.partitions.now import ClusterNow, PartitionNow


def with_plan(now: ClusterNow, plan: ReassignmentPlan) -> tuple[ClusterNow, list[PartitionNow]]:
    """The cluster once the plan was handed in, and the partitions that it moves; `ConfigurationError` if it cannot be."""
    known = {(one.topic, one.number): one for one in now.partitions}
    moved: dict[tuple[str, int], PartitionNow] = {}
    for wanted in plan.wanted:
        one = known.get((wanted.topic, wanted.partition))
        if one is None:
            raise ConfigurationError(f"{plan.file}: {wanted.name} is to be moved, and nothing that was read describes it")
        if one.adding or one.removing:
            raise ConfigurationError(f"{one.where}: {one.name} is being moved already; let that end, or cancel it")
        adding = tuple(replica for replica in wanted.replicas if replica not in one.replicas)
        removing = tuple(replica for replica in one.replicas if replica not in wanted.replicas)
        if adding or removing:
            moved[one.topic, one.number] = replace(one, replicas=(*one.replicas, *adding), adding=adding, removing=removing)
    partitions = tuple(moved.get((one.topic, one.number), one) for one in now.partitions)
    return replace(now, partitions=partitions), list(moved.values())


def lost_by_moving(moved: Iterable[PartitionNow], judge: Judge) -> list[str]:
    """What producers with acks=1 lose by moves though nothing fails, as a sentence; nothing where there are no moves.

    A leader that a move removes hands over to a replica that may not have fetched what was acknowledged; so does a preferred
    election (KAFKA-20554).
    """
    names = list(moved)
    if not names:
        return []
    losing = [one.name for one in names if judge.loses_acks_1(one)]
    if not losing:
        return ["Producers with acks=1 lose nothing by the planned moves alone."]
    return [
        f"Producers with acks=1 lose acknowledged records by the planned move of {first_of(losing, 3)} though "
        "nothing fails: its leader goes before others have fetched them (as at a preferred election, KAFKA-20554)."
    ]
