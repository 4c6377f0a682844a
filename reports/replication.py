"""The replication family's picture: logs, high watermarks, leaders and in-sync replicas, in Kafka's words.

What lives here: everything in the reports that knows what a log, a replica's view and the quorum are; it works on
decoded states. What does not: what is the same for every protocol (`view.py`), and drawing (`terminal.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

State = Mapping[str, Any]

_TOLD = ("log", "replica", "quorum", "requests", "next_record_id", "next_leader_epoch")
"""Fields that the picture shows, or that repeat what it shows: a request is what the controller just said."""


@unique
class Edit(Enum):
    """What a step did to one offset of a log."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@unique
class Role(Enum):
    """What a badge says about a broker; the value is for style sheets, the badge's text for people."""

    LEADER = "leader"
    STALE_LEADER = "stale-leader"
    ELECTED = "elected"
    FOLLOWS = "follows"
    LEADERLESS = "leaderless"
    IN_ISR = "in-isr"
    OUT_OF_ISR = "out-of-isr"
    OWN_ISR = "own-isr"


@dataclass(frozen=True)
class Cell:
    """One offset of one log: a record and the epoch that wrote it, or None past the log end."""

    offset: int
    record: int | None
    epoch: int | None
    committed: bool
    edit: Edit | None


@dataclass(frozen=True)
class Badge:
    """One fact about a broker in two or three words; the first badge of a broker is its place in or outside the ISR."""

    role: Role
    text: str
    is_new: bool


@dataclass(frozen=True)
class BrokerView:
    """One broker's row; `changed` names its own attributes that the step changed."""

    broker: int
    cells: tuple[Cell, ...]
    log_end: int
    high_watermark: int
    leader_epoch: int | None
    badges: tuple[Badge, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True)
class ControllerView:
    """The controller's truth; `changed` names its attributes that the step changed."""

    leader: int | None
    leader_epoch: int | None
    isr: tuple[int, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True)
class PartitionView:
    """The whole picture of one state."""

    controller: ControllerView
    brokers: tuple[BrokerView, ...]


# -- which states it is the picture of -----------------------------------------------------------------------------


def recognises(state: State) -> bool:
    """Whether a decoded state has the family's fields."""
    log, replica, quorum = state.get("log"), state.get("replica"), state.get("quorum")
    if not (isinstance(log, list) and isinstance(replica, list) and isinstance(quorum, dict)):
        return False
    return (
        len(log) == len(replica) > 0
        and all(isinstance(item, dict) and {"end", "records"} <= set(item) for item in log)
        and all(isinstance(item, dict) and {"hw", "leader_epoch", "leader", "isr"} <= set(item) for item in replica)
        and all({"id", "epoch"} <= set(record) for item in log for record in item["records"])
        and {"leader_epoch", "leader", "isr"} <= set(quorum)
    )


def tells(field: str) -> bool:
    """Whether the picture tells of a change of this leaf field."""
    return field.partition("[")[0].partition(".")[0] in _TOLD


def log_sizes(paths: Sequence[tuple[str | int, ...]]) -> int:
    """How many offsets a log has room for, from the layout's leaf paths; 0 outside the family."""
    slots = [path[3] for path in paths if len(path) > 3 and path[0] == "log" and path[2] == "records"]
    return 1 + max((slot for slot in slots if isinstance(slot, int)), default=-1)


# -- the picture ---------------------------------------------------------------------------------------------------


def partition_view(before: State | None, after: State, offsets: int) -> PartitionView:
    """The picture of `after`, with what differs from `before`."""
    quorum = after["quorum"]
    old_quorum = quorum if before is None else before["quorum"]
    controller = ControllerView(
        leader=quorum["leader"],
        leader_epoch=quorum["leader_epoch"],
        isr=tuple(quorum["isr"]),
        changed=tuple(name for name in ("leader", "leader_epoch", "isr") if quorum[name] != old_quorum[name]),
    )
    brokers = tuple(_broker_view(before, after, broker, offsets) for broker in range(len(after["log"])))
    return PartitionView(controller, brokers)


def _broker_view(before: State | None, after: State, broker: int, offsets: int) -> BrokerView:
    old = after if before is None else before
    log, replica = after["log"][broker], after["replica"][broker]
    old_log, old_replica = old["log"][broker], old["replica"][broker]
    pairs = {
        "log_end": (old_log["end"], log["end"]),
        "high_watermark": (old_replica["hw"], replica["hw"]),
        "leader_epoch": (old_replica["leader_epoch"], replica["leader_epoch"]),
        "leader": (old_replica["leader"], replica["leader"]),
        "isr": (old_replica["isr"], replica["isr"]),
    }
    known = set(_badges(old, broker))
    return BrokerView(
        broker=broker,
        cells=tuple(_cell(old_log, log, offset, replica["hw"]) for offset in range(offsets)),
        log_end=log["end"],
        high_watermark=replica["hw"],
        leader_epoch=replica["leader_epoch"],
        badges=tuple(Badge(role, text, (role, text) not in known) for role, text in _badges(after, broker)),
        changed=tuple(name for name, (was, now) in pairs.items() if was != now),
    )


def _cell(old_log: State, log: State, offset: int, high_watermark: int) -> Cell:
    was, record = _record(old_log, offset), _record(log, offset)
    edit = None
    if was != record:
        edit = Edit.ADDED if was is None else Edit.REMOVED if record is None else Edit.REPLACED
    return Cell(
        offset=offset,
        record=None if record is None else record["id"],
        epoch=None if record is None else record["epoch"],
        committed=record is not None and offset < high_watermark,
        edit=edit,
    )


def _badges(state: State, broker: int) -> Iterator[tuple[Role, str]]:
    replica, quorum = state["replica"][broker], state["quorum"]
    is_elected = quorum["leader"] == broker
    yield (Role.IN_ISR, "in ISR") if broker in quorum["isr"] else (Role.OUT_OF_ISR, "out of ISR")
    if replica["leader"] == broker:
        is_true = is_elected and replica["leader_epoch"] == quorum["leader_epoch"]
        yield (Role.LEADER, "leader") if is_true else (Role.STALE_LEADER, "stale leader")
        is_unaware = is_elected and not is_true
    else:
        is_unaware = is_elected
        if replica["leader"] is None and not is_elected:
            yield Role.LEADERLESS, "knows no leader"
        elif replica["leader"] is not None:
            yield Role.FOLLOWS, f"follows broker {replica['leader']}"
    if is_unaware:
        yield Role.ELECTED, "elected, unaware"
    if replica["leader"] == broker:
        yield Role.OWN_ISR, f"own ISR {set_in_words(replica['isr'])}"


def set_in_words(members: Sequence[int]) -> str:
    """{0, 2}."""
    return "{" + ", ".join(map(str, members)) + "}"


# -- words ---------------------------------------------------------------------------------------------------------


def says_initial(state: State) -> str:
    """One sentence about the state that a run starts from."""
    quorum, ends = state["quorum"], [log["end"] for log in state["log"]]
    logs = f"the logs end at offsets {', '.join(map(str, ends))}" if any(ends) else "every log is empty"
    lead = "no broker leads"
    if quorum["leader"] is not None:
        lead = f"broker {quorum['leader']} is elected in leader epoch {quorum['leader_epoch']}"
    return f"initially {logs}, {lead}, and the ISR is {set_in_words(quorum['isr'])}"


def disagreements(name: str, before: State | None, after: State) -> list[str]:
    """What exactly breaks the property of that name in the state `after`, or in the step from `before`.

    Empty for a property that is not known here; the properties themselves are decided elsewhere, this only points.
    """
    if name in _IN_STATE:
        return list(_IN_STATE[name](after))
    if name in _IN_STEP and before is not None:
        return list(_IN_STEP[name](before, after))
    return []


def _record(log: State, offset: int) -> dict[str, Any] | None:
    return log["records"][offset] if offset < log["end"] else None


def _holds(record: dict[str, Any] | None) -> str:
    return "nothing" if record is None else f"record {record['id']} of epoch {record['epoch']}"


def _presumed_leaders(state: State) -> Iterator[tuple[int, dict[str, Any]]]:
    for broker, replica in enumerate(state["replica"]):
        if replica["leader"] == broker:
            yield broker, replica


def _members(state: State, replica: dict[str, Any], own: bool) -> tuple[Sequence[int], str]:
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
                            f"broker {leader}, which takes itself for the leader in epoch {replica['leader_epoch']}, has "
                            f"high watermark {replica['hw']} beyond its own log's end {state['log'][leader]['end']}"
                        )
                    break
                if mine != theirs:
                    yield (
                        f"broker {leader}, which takes itself for the leader in epoch {replica['leader_epoch']} with "
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
        yield f"the elected leader is broker {quorum['leader']} and the ISR is {set_in_words(quorum['isr'])}"


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
