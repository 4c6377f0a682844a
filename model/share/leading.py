"""Leaders of the share-partition: elections, and what a new one reads of what is kept.

Sources: `SharePartition.maybeInitialize`, `ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch` of 4.3.1.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.context import literal
from acked.model.language.quantify import every, ite, least
from acked.model.language.telling import CONTROLLER, PRODUCER, Telling, Tells
from acked.model.share.common import COORDINATOR, clear_leader, move_start, offsets, told_leader
from acked.model.share.settings import keeps_first_start, latest, max_epoch, records, some_zombies
from acked.model.share.state import UNKNOWN, Epoch, Offset, State


@action(
    says=lambda t: f"the controller elects a new leader of the topic partition, in epoch {t.after.epoch}", actor=CONTROLLER,
)
def elect(s: State, epoch: Epoch) -> None:
    """Another leader, or the same in another epoch; a former one hears of it at once, unless zombies are asked for."""
    require("an epoch is left", s.epoch < max_epoch)
    require("is the former epoch", epoch == s.epoch)
    s.epoch = s.epoch + 1
    if not some_zombies.on:
        clear_leader(s, epoch)


@action(
    says=lambda t: f"the leader of epoch {t.epoch} hears that it is none any more, and forgets the share-partition",
    when=lambda: some_zombies.on, actor="epoch",
)
def hear(s: State, epoch: Epoch) -> None:
    """A former leader learns of the newer epoch (`SharePartitionListener.onBecomingFollower`, `markFenced`)."""
    require("is a former epoch", epoch < s.epoch)
    require("has it in memory", s.leader[epoch].active)
    clear_leader(s, epoch)


def _says_read(t: Telling) -> str:
    return f"the leader of epoch {t.epoch} reads what is kept, and begins at offset {told_leader(t.after, t.epoch).start}"


READ = (Tells(COORDINATOR, "epoch", lambda t: f"from {told_leader(t.after, t.epoch).start}"),)


@action(says=_says_read, actor="epoch", messages=READ)
def initialise(s: State, epoch: Epoch) -> None:
    """A new leader reads what is kept, and fences those before it."""
    require("is the newest epoch", epoch == s.epoch)
    require("has not read it", ~s.leader[epoch].active)
    mine = s.leader[epoch]
    reset = s.produced if latest.on else Offset(literal(0))
    start = ite(s.kept_start.is_some, s.kept_start.value, reset)
    mine.active = True
    mine.start = start
    mine.end = least(Offset, lambda o: (o >= start) & every(Offset, lambda p: (p < o) | (s.kept[p].state == UNKNOWN)))
    for o in offsets():
        mine.record[o].state = s.kept[o].state
        mine.record[o].count = s.kept[o].count
    s.kept_epoch = epoch
    if keeps_first_start.on:
        s.kept_start = start
    if latest.on:
        s.first = ite(s.first.is_none, start, s.first.value)
    move_start(s, epoch, mine.active)


@action(says=lambda t: f"a producer writes record {t.before.produced}", when=lambda: latest.on, actor=PRODUCER)
def produce(s: State) -> None:
    """A record is written, and committed."""
    require("a record is left", s.produced < records.value)
    s.produced = s.produced + 1
