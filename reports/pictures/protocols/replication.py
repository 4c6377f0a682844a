"""The replication family's picture: logs, high watermarks, leaders and in-sync replicas, in Kafka's words.

Everything in the reports that knows what a log, a replica's view and the quorum are; it works on decoded states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from acked.base.frozen import frozen
from acked.model.language.protocol import Instance
from acked.model.language.telling import CONTROLLER, PRODUCER, says_set
from acked.reports.pictures.picture import Badge, Box, Cell, Fact, Moment, State
from acked.reports.pictures.protocols.kafka import (
    IN_ISR,
    KAFKA,
    LEADER,
    LEADERLESS,
    OUT_OF_ISR,
    STALE_LEADER,
    UNAWARE,
    follows,
    own_isr,
)
from acked.reports.pictures.protocols.logs import LogPictures

Known = tuple[int, int, int]
"""A record at its place: offset, record id, leader epoch."""


@frozen
class Memory:
    """What a run has shown so far: what was acknowledged, and what each broker held of it."""

    acked: frozenset[Known] = frozenset()
    held: tuple[frozenset[Known], ...] = ()


_FIELDS = {
    ("log", "end"), ("log", "records", "id"), ("log", "records", "epoch"),
    ("replica", "hw"), ("replica", "leader_epoch"), ("replica", "leader"), ("replica", "isr"),
    ("quorum", "leader_epoch"), ("quorum", "leader"), ("quorum", "isr"),
    ("requests", "leader"), ("requests", "isr"), ("next_record_id",), ("next_leader_epoch",),
}  # fmt: skip


# -- the picture ---------------------------------------------------------------------------------------------------


def _remember(moment: Moment) -> Memory:
    state, old = moment.after, moment.memory or Memory()
    acked = old.acked | {
        (offset, record["id"], record["epoch"])
        for broker, replica in _presumed_leaders(state)
        for offset, record in enumerate(state["log"][broker]["records"][: replica["hw"]])
    }
    held = old.held or (frozenset(),) * len(state["log"])
    now = [
        {(offset, record["id"], record["epoch"]) for offset, record in enumerate(log["records"])} for log in state["log"]
    ]
    before = [set(mine) for mine in held]
    if moment.before is not None:
        for mine, log in zip(before, moment.before["log"], strict=True):
            mine |= {(offset, record["id"], record["epoch"]) for offset, record in enumerate(log["records"])}
    return Memory(acked, tuple(frozenset(was | has) for was, has in zip(before, now, strict=True)))


def _cell(log: State, offset: int, high_watermark: int, acked: frozenset[Known], held: frozenset[Known]) -> Cell:
    record = _record(log, offset)
    mine = None if record is None else (offset, record["id"], record["epoch"])
    gone = sorted(known for known in acked & held if known[0] == offset and known != mine)
    return Cell(
        offset=offset,
        record=None if record is None else f"r{record['id']}",
        epoch=None if record is None else record["epoch"],
        committed=record is not None and offset < high_watermark,
        acked=mine in acked,
        lost=", ".join(f"r{record_id}·e{epoch}" for _, record_id, epoch in gone) or None,
    )


def _controller(quorum: State) -> Box:
    leader = "no leader" if quorum["leader"] is None else f"leader: broker {quorum['leader']}"
    return Box(
        key=CONTROLLER.name,
        name=CONTROLLER.name,
        epoch=quorum["leader_epoch"],
        facts=(Fact("leader", leader), Fact("isr", f"ISR {says_set(quorum['isr'])}")),
    )


# -- what exactly violates a property -------------------------------------------------------------------------------


def _record(log: State, offset: int) -> State | None:
    return log["records"][offset] if offset < log["end"] else None


def _holds(record: State | None) -> str:
    return "nothing" if record is None else f"record {record['id']} of epoch {record['epoch']}"


def _presumed_leaders(state: State) -> Iterator[tuple[int, State]]:
    for broker, replica in enumerate(state["replica"]):
        if replica["leader"] == broker:
            yield broker, replica


def _members(state: State, replica: State, own: bool) -> tuple[Sequence[int], str]:
    return (replica["isr"], "which it counts as in sync") if own else (state["quorum"]["isr"], "which is in the ISR")


def _differing(state: State, own: bool) -> Iterator[str]:
    for leader, replica in _presumed_leaders(state):
        members, standing = _members(state, replica, own)
        for member in members:
            for offset in range(replica["hw"]):
                mine, theirs = (_record(state["log"][broker], offset) for broker in (leader, member))
                if mine is None:
                    if member == leader or leader not in members:
                        yield (
                            f"broker {leader}, which considers itself leader in epoch {replica['leader_epoch']}, has "
                            f"high watermark {replica['hw']} beyond its own log's end {state['log'][leader]['end']}"
                        )
                    break
                if mine != theirs:
                    yield (
                        f"broker {leader}, which considers itself leader in epoch {replica['leader_epoch']} with "
                        f"high watermark {replica['hw']}, holds {_holds(mine)} at offset {offset}, "
                        f"but broker {member}, {standing}, holds {_holds(theirs)} there"
                    )


def _beyond(state: State, own: bool) -> Iterator[str]:
    for leader, replica in _presumed_leaders(state):
        members, standing = _members(state, replica, own)
        for member in members:
            end = state["log"][member]["end"]
            if replica["hw"] > end:
                whose = "its own log end" if member == leader else f"the log end of broker {member}, {standing}"
                yield f"the high watermark {replica['hw']} of broker {leader} is beyond {whose} ({end})"


def _beyond_own_log(state: State) -> Iterator[str]:
    for broker, (log, replica) in enumerate(zip(state["log"], state["replica"], strict=True)):
        if replica["hw"] > log["end"]:
            yield f"the high watermark {replica['hw']} of broker {broker} is beyond its log end {log['end']}"


def _leader_outside_isr(state: State) -> Iterator[str]:
    quorum = state["quorum"]
    if quorum["leader"] is not None and quorum["leader"] not in quorum["isr"]:
        yield f"the elected leader is broker {quorum['leader']} and the ISR is {says_set(quorum['isr'])}"


def _shared_epochs(state: State) -> Iterator[str]:
    leaders = list(_presumed_leaders(state))
    for at, (a, first) in enumerate(leaders):
        for b, second in leaders[at + 1 :]:
            if first["leader_epoch"] == second["leader_epoch"]:
                yield f"brokers {a} and {b} both take themselves for the leader in epoch {first['leader_epoch']}"


def _falling_epochs(state: State) -> Iterator[str]:
    for broker, log in enumerate(state["log"]):
        epochs = [record["epoch"] for record in log["records"]]
        for offset in range(1, len(epochs)):
            if epochs[offset - 1] > epochs[offset]:
                yield (
                    f"the log of broker {broker} falls from epoch {epochs[offset - 1]} at offset {offset - 1} to epoch "
                    f"{epochs[offset]} at offset {offset}"
                )


def _unknown_epochs(state: State) -> Iterator[str]:
    used = state.get("next_leader_epoch", 0)
    for broker, replica in enumerate(state["replica"]):
        if replica["leader_epoch"] is not None and replica["leader_epoch"] >= used:
            yield f"broker {broker} is in leader epoch {replica['leader_epoch']}, which the controller has not used"


def _lost_records(before: State, after: State) -> Iterator[str]:
    for broker, replica in enumerate(before["replica"]):
        for offset in range(replica["hw"]):
            was, now = (_record(state["log"][broker], offset) for state in (before, after))
            if was is not None and was != now:
                yield (
                    f"broker {broker} held {_holds(was)} at offset {offset}, below its high watermark {replica['hw']}, "
                    f"and after this step holds {_holds(now)} there"
                )


def _falling_leader_epochs(before: State, after: State) -> Iterator[str]:
    pairs = [("the controller", before["quorum"], after["quorum"])]
    views = zip(before["replica"], after["replica"], strict=True)
    pairs += [(f"broker {broker}", was, now) for broker, (was, now) in enumerate(views)]
    for who, was, now in pairs:
        old, new = was["leader_epoch"], now["leader_epoch"]
        if old is not None and (new is None or new < old):
            yield f"{who} falls from leader epoch {old} to {'none' if new is None else new}"


_IN_STATE: dict[str, Callable[[State], Iterator[str]]] = {
    "WeakIsr": lambda state: _differing(state, own=True),
    "StrongIsr": lambda state: _differing(state, own=False),
    "LeaderInIsr": _leader_outside_isr,
    "HwWithinLog": _beyond_own_log,
    "HwWithinOwnIsr": lambda state: _beyond(state, own=True),
    "HwWithinQuorumIsr": lambda state: _beyond(state, own=False),
    "OneLeaderPerEpoch": _shared_epochs,
    "LogEpochsAscend": _falling_epochs,
    "KnownEpochs": _unknown_epochs,
}

_IN_STEP: dict[str, Callable[[State, State], Iterator[str]]] = {
    "LeaderEpochsOnlyGrow": _falling_leader_epochs,
    "CommittedRecordsStay": _lost_records,
}


class ReplicationPictures(LogPictures[Memory]):
    """The provider of the replication family."""

    look = KAFKA
    views, epoch = "replica", "leader_epoch"
    shown = ("log", "replica", "quorum", "requests", "next_record_id", "next_leader_epoch")
    first_lanes = (PRODUCER.name, CONTROLLER.name)
    in_state = _IN_STATE
    in_step = _IN_STEP

    def recognises(self, instance: Instance) -> bool:
        """Whether the protocol's state has the family's fields."""
        leaves = {tuple(part for part in leaf.path if isinstance(part, str)) for leaf in instance.schema.leaves}
        return leaves >= _FIELDS

    def says_initial(self, state: State) -> str:
        """One sentence about the state that a run starts from."""
        quorum, ends = state["quorum"], [log["end"] for log in state["log"]]
        logs = f"the logs end at offsets {', '.join(map(str, ends))}" if any(ends) else "every log is empty"
        lead = "no broker leads"
        if quorum["leader"] is not None:
            lead = f"broker {quorum['leader']} is elected in leader epoch {quorum['leader_epoch']}"
        return f"initially {logs}, {lead}, and the ISR is {says_set(quorum['isr'])}"

    def remember(self, moment: Moment) -> Memory:
        """What was acknowledged up to a moment, and what each broker held of it."""
        return _remember(moment)

    def cells(self, state: State, replica: int, offsets: int, memory: Memory) -> tuple[Cell, ...]:
        """The records of a broker; lost is what it held at the same offset."""
        log, high_watermark = state["log"][replica], state["replica"][replica]["hw"]
        acked, held = memory.acked, memory.held[replica]
        return tuple(_cell(log, offset, high_watermark, acked, held) for offset in range(offsets))

    def badges(self, state: State, broker: int) -> Iterator[Badge]:
        """Whether a broker is in sync, and whom it follows."""
        replica, quorum = state["replica"][broker], state["quorum"]
        is_elected = quorum["leader"] == broker
        yield IN_ISR if broker in quorum["isr"] else OUT_OF_ISR
        if replica["leader"] == broker:
            is_true = is_elected and replica["leader_epoch"] == quorum["leader_epoch"]
            yield LEADER if is_true else STALE_LEADER
            is_unaware = is_elected and not is_true
        else:
            is_unaware = is_elected
            if replica["leader"] is None and not is_elected:
                yield LEADERLESS
            elif replica["leader"] is not None:
                yield follows(replica["leader"])
        if is_unaware:
            yield UNAWARE
        if replica["leader"] == broker:
            yield own_isr(replica["isr"])

    def boxes(self, state: State) -> Iterator[Box]:
        """The controller."""
        yield _controller(state["quorum"])


REPLICATION = ReplicationPictures()
