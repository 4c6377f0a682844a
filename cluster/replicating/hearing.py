"""What frames, views and states say of a step: who takes it, whether an answer is an error, and who has heard what."""

from __future__ import annotations

from acked.cluster.playing.script import ScriptStep, State
from acked.cluster.proxies.frame import Frame
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.facts import FetchResponse


def pair_of(step: ScriptStep) -> tuple[int, int]:
    """The follower and the leader of a step."""
    return step.arguments["follower"], step.arguments["leader"]


def error_of(response: Frame) -> int:
    """The error of a Fetch response, 0 for none."""
    facts = response.facts
    if not isinstance(facts, FetchResponse):
        return 0
    return facts.error or next((one.error for one in facts.partitions if one.error), 0)


def cuts_nothing(response: Frame, end: int) -> bool:
    """Whether a fetch from the log end is answered with where epochs diverge, at or beyond that end."""
    facts = response.facts
    diverging = facts.partitions[0].diverging if isinstance(facts, FetchResponse) and facts.partitions else None
    return diverging is not None and diverging[1] >= end


def agrees(view: PartitionView, truth: PartitionView) -> bool:
    """Whether a broker has heard what the controller has decided."""
    return (view.leader, set(view.isr), view.epoch) == (truth.leader, set(truth.isr), truth.epoch)


def is_up_to_date(state: State, broker: int) -> bool:
    """Whether a broker of the model knows what the controller has decided last."""
    controller, mine = state["controller"], state["broker"][broker]
    if mine.get("down") or mine["leader_epoch"] != controller["leader_epoch"]:
        return False
    return mine["leader"] != broker or (mine["isr"] == controller["isr"] and not mine.get("outdated"))

