"""What a leader writes to the share coordinator: taken in the order in which it was sent, refused, given up, or sent again.

Sources: `ShareCoordinatorShard.writeState`, `PersisterStateBatchCombiner`, `ShareCoordinatorService.writeState` and
`PersisterStateManager` of 4.3.1; class files of 4.4.0. One request is on its way from a broker to a share coordinator, and
what comes meanwhile is sent together; a write that is refused for a while goes behind those that came since.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, named, truth
from acked.model.language.telling import Telling, Tells
from acked.model.language.values import Bool
from acked.model.share.common import COORDINATOR, offsets, settle, told_leader
from acked.model.share.settings import failed_writes, hides_refusals, lost_answers, retries, start_goes_forward
from acked.model.share.state import ACKNOWLEDGED, ARCHIVED, AVAILABLE, UNKNOWN, Delivery, Epoch, State, Write


def _is_fenced(s: State, epoch: Epoch) -> Bool:
    """A newer leader has read what is kept (FENCED_LEADER_EPOCH)."""
    return epoch < s.kept_epoch


def _keep(s: State, write: Write, takes: Bool) -> None:
    """A write is merged with what is kept (`ShareCoordinatorShard.merge`, `PersisterStateBatchCombiner`)."""
    start = write.start
    if start_goes_forward.on:
        start = ite(s.kept_start > start, s.kept_start.value, start)
    for o in offsets():
        kept = s.kept[o]
        ranks_as_high = (write.state == ARCHIVED) | (kept.state == write.state)
        ranks_as_high = ranks_as_high | ((write.state == ACKNOWLEDGED) & (kept.state == AVAILABLE))
        wins = (kept.state == UNKNOWN) | (write.count > kept.count) | ((write.count == kept.count) & ranks_as_high)
        is_new = takes & (write.offset == o) & wins
        is_below = takes & (o < start)
        kept.state = ite(is_below, named(Delivery, UNKNOWN), ite(is_new, write.state, kept.state))
        kept.count = ite(is_below, 0, ite(is_new, write.count, kept.count))
    s.kept_start = ite(takes, start, s.kept_start)


def _receive(s: State, epoch: Epoch) -> Write:
    require("a write is on its way", ~s.leader[epoch].writes.is_empty)
    taken: Write = s.leader[epoch].writes.receive()
    return taken


def _says_write(t: Telling) -> str:
    write = told_leader(t.before, t.epoch).writes.records[0]
    return f"{write.state} for record {write.offset}, delivery count {write.count}, start offset {write.start}"


def _written(t: Telling) -> str:
    return str(told_leader(t.before, t.epoch).writes.records[0].state)


WRITE = (Tells("epoch", COORDINATOR, _written),)


def _says_taken(t: Telling) -> str:
    if t.epoch < t.before.kept_epoch:
        return f"the share coordinator refuses what the former leader of epoch {t.epoch} wrote: {_says_write(t)}"
    return f"the share coordinator takes what the leader of epoch {t.epoch} wrote, and says so: {_says_write(t)}"


@action(says=_says_taken, actor=COORDINATOR, messages=WRITE)
def take(s: State, epoch: Epoch) -> None:
    """The first write is taken and answered; that of a former leader is refused once a newer one has read what is kept."""
    write = _receive(s, epoch)
    takes = ~_is_fenced(s, epoch)
    _keep(s, write, takes)
    settle(s, epoch, write, takes)


@action(
    says=lambda t: f"the share coordinator refuses what the leader of epoch {t.epoch} wrote: {_says_write(t)}",
    when=lambda: failed_writes.on, actor=COORDINATOR, messages=WRITE,
)
def refuse(s: State, epoch: Epoch) -> None:
    """The first write is refused, and its leader gives it up (`PersisterStateManager.requestErrorResponse`)."""
    settle(s, epoch, _receive(s, epoch), truth(False))


@action(
    says=lambda t: (
        f"the share coordinator takes what the leader of epoch {t.epoch} wrote, which does not hear of that: {_says_write(t)}"
    ),
    when=lambda: lost_answers.on, actor=COORDINATOR, messages=WRITE,
)
def lose_answer(s: State, epoch: Epoch) -> None:
    """The first write is taken, and its leader gives it up for all that (REQUEST_TIMED_OUT, NETWORK_EXCEPTION)."""
    write = _receive(s, epoch)
    _keep(s, write, ~_is_fenced(s, epoch))
    settle(s, epoch, write, truth(False))


@action(
    says=lambda t: f"the leader of epoch {t.epoch} gives up what it wrote, which is still on its way: {_says_write(t)}",
    when=lambda: lost_answers.on and retries.on, actor="epoch",
)
def give_up(s: State, epoch: Epoch) -> None:
    """A leader gives a write up that is taken later than others."""
    write = _receive(s, epoch)
    require("its answer is awaited", write.awaited)
    settle(s, epoch, write, truth(False))
    late = Write(offset=write.offset, state=write.state, count=write.count, start=write.start, awaited=False)
    s.leader[epoch].writes.send(late)


@action(
    says=lambda t: f"the leader of epoch {t.epoch} has to send a write again, behind those that came since: {_says_write(t)}",
    when=lambda: retries.on, actor="epoch",
)
def retry(s: State, epoch: Epoch) -> None:
    """A write that cannot be taken for a while is tried again (COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, …)."""
    require("others came since", s.leader[epoch].writes.end > 1)
    s.leader[epoch].writes.send(_receive(s, epoch))


@action(
    says=lambda t: (
        "of two writes in one request the share coordinator refuses the first and takes the second, and its answer says that "
        f"both are taken: {_says_write(t)}"
    ),
    when=lambda: hides_refusals.on, actor=COORDINATOR, messages=WRITE,
)
def hide_refusal(s: State, epoch: Epoch) -> None:
    """Two writes about one partition have one answer: that of the second (`ShareCoordinatorService.writeState`)."""
    require("two are on their way", s.leader[epoch].writes.end > 1)
    require("no newer leader has read what is kept", ~_is_fenced(s, epoch))
    refused = _receive(s, epoch)
    taken = s.leader[epoch].writes.receive()
    _keep(s, taken, truth(True))
    settle(s, epoch, refused, truth(True))
    settle(s, epoch, taken, truth(True))
