"""What is seen of real brokers beside a state of the model: logs, epochs by rank, high watermarks, ISR and leader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from acked.cluster.observe.disk import Replica
from acked.cluster.playing.script import State
from acked.cluster.topics.topic import Difference, TopicView, differing
from acked.cluster.wire.client import PartitionView


def value_of(record: int) -> str:
    """What is written as a record of the model."""
    return f"r{record}"


def replica_of(seen: TopicView, broker: int) -> Replica:
    """What a broker has on disk."""
    return next(one for one in seen.replicas if one.broker == broker)


def differences(state: State, seen: TopicView, with_eligible: bool = True) -> tuple[Difference, ...]:
    """Everything in which a state of the model and what is seen differ; epochs only where the logs do not.

    `with_eligible`: the set of eligible leaders too.
    """
    replicas = range(len(state["log"]))
    pairs = _controller_pairs(state, seen, with_eligible)
    pairs += [pair for replica in replicas for pair in _replica_pairs(state, seen, replica)]
    if all(_values(state, replica) == list(replica_of(seen, replica).values) for replica in replicas):
        pairs += _epoch_pairs(state, seen)
    return differing(pairs)


def agrees(view: PartitionView, truth: PartitionView) -> bool:
    """Whether a broker has heard what the controller has decided."""
    return (view.leader, set(view.isr), view.epoch) == (truth.leader, set(truth.isr), truth.epoch)


def is_up_to_date(state: State, broker: int) -> bool:
    """Whether a broker of the model knows what the controller has decided last."""
    controller, mine = state["controller"], state["broker"][broker]
    if mine.get("down") or mine["leader_epoch"] != controller["leader_epoch"]:
        return False
    return mine["leader"] != broker or (mine["isr"] == controller["isr"] and not mine.get("outdated"))


Pair = tuple[str, object, object]


def _controller_pairs(state: State, seen: TopicView, with_eligible: bool) -> list[Pair]:
    controller, found = state["controller"], seen.partition
    if found is None:
        return [("the partition", "there", "not there")]
    pairs: list[Pair] = [
        ("the leader", _or_nobody(controller["leader"]), _or_nobody(None if found.leader < 0 else found.leader)),
        ("the ISR", sorted(controller["isr"]), sorted(found.isr)),
    ]
    if "replicas" in controller:  # With a reassignment: those that are being added or removed are among them.
        pairs.append(("the set of replicas", sorted(controller["replicas"]), sorted(found.replicas)))
    if with_eligible and "elr" in controller and found.eligible is not None:
        pairs.append(("the set of eligible leaders", sorted(controller["elr"]), sorted(found.eligible)))
    return pairs


def _replica_pairs(state: State, seen: TopicView, replica: int) -> Iterable[Pair]:
    real = replica_of(seen, replica)
    yield f"broker {replica}'s log", _list(_values(state, replica)), _list(real.values)
    yield f"broker {replica}'s high watermark", state["broker"][replica]["hw"], real.high_watermark or 0
    is_down = bool(state["broker"][replica].get("down", False))
    yield f"broker {replica}", "down" if is_down else "up", "up" if replica in seen.running else "down"


def _epoch_pairs(state: State, seen: TopicView) -> Iterable[Pair]:
    """Of logs with the same records; records have no epochs before 0.11."""
    if any(record.epoch is None for replica in seen.replicas for record in replica.log):
        return
    in_model, in_real = _model_ranks(state), _broker_ranks(seen)
    for replica, log in enumerate(state["log"]):
        model = [in_model[record["epoch"]] for record in log["records"][: log["end"]]]
        real = [in_real[record.epoch] for record in replica_of(seen, replica).log]
        yield f"the order of the leader epochs in broker {replica}'s log", model, real
    controller, found = state["controller"], seen.partition
    # A partition that loses its leader gets a new epoch with KRaft; the model gives the next leader one, which is later.
    if found is not None and found.epoch is not None and controller["leader"] is not None:
        yield "the rank of the leader epoch", in_model[controller["leader_epoch"]], in_real[found.epoch]


def _values(state: State, replica: int) -> list[str]:
    log = state["log"][replica]
    return [value_of(record["id"]) for record in log["records"][: log["end"]]]


def _model_ranks(state: State) -> dict[Any, int]:
    used = {record["epoch"] for log in state["log"] for record in log["records"][: log["end"]]}
    return _ranks(used | {state["controller"]["leader_epoch"]})


def _broker_ranks(seen: TopicView) -> dict[Any, int]:
    used = {record.epoch for replica in seen.replicas for record in replica.log if record.epoch is not None}
    if seen.partition is not None and seen.partition.epoch is not None:
        used.add(seen.partition.epoch)
    return _ranks(used)


def _ranks(epochs: Iterable[int]) -> dict[Any, int]:
    """Leader epochs by their order. Real ones are higher where a reassignment has raised them."""
    return {epoch: rank for rank, epoch in enumerate(sorted(epochs))}


def _or_nobody(broker: int | None) -> str:
    return "nobody" if broker is None else f"broker {broker}"


def _list(values: Iterable[str]) -> str:
    return f"[{' '.join(values)}]"
