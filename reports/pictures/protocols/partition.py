"""The picture of `partition`: brokers with their logs, the controller, the producer, the consumer.

Everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a part that the
configuration turns off has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from acked.model.language.telling import CONSUMER, CONTROLLER, PRODUCER, Sort, says_set
from acked.model.partition.protocol import partition
from acked.model.partition.state import ACKED, FAILED, SENT, Candidate
from acked.reports.pictures.picture import Badge, Box, Fact, State, Tone
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
from acked.reports.pictures.protocols.logs import NumberedLogPictures, ids


def _acked_records(state: State) -> list[int]:
    return [record for record, status in enumerate(state["producer"]["status"]) if status == ACKED]


# -- rows and boxes ------------------------------------------------------------------------------------------------


def _assignment_badges(state: State, broker: int) -> Iterator[Badge]:
    """Whether a broker is being added or removed, or is no replica but still has something."""
    controller = state["controller"]
    if "replicas" not in controller:
        return
    if broker in controller["adding"]:
        yield Badge("adding", "being added", Tone.PENDING)
    if broker in controller["removing"]:
        yield Badge("removing", "being removed", Tone.PENDING)
    elif broker not in controller["replicas"]:
        yield Badge("not a replica", "not a replica" if _is_blank(state, broker) else "removed, has not heard")


def _is_blank(state: State, broker: int) -> bool:
    return not state["log"][broker]["end"] and state["broker"][broker]["leader_epoch"] is None


def _brings(late: State) -> str:
    if late.get("truncate_to") is not None:
        return f"truncate to {late['truncate_to']}"
    records = [f"r{record['id']}" for record in late["log"]["records"][late["fetched_at"] :]]
    return ", ".join([*records, f"HW {late['hw']}"])


def _controller(state: State) -> Box:
    controller = state["controller"]
    leader = "no leader" if controller["leader"] is None else f"leader: broker {controller['leader']}"
    if "controller" in state.get("zookeeper", {}):
        leader = f"ZooKeeper has {leader.replace(':', '')}"
    facts = [Fact("leader", leader), Fact("isr", f"ISR {says_set(controller['isr'])}")]
    if controller.get("elr"):
        facts.append(Fact("elr", f"eligible leaders {says_set(controller['elr'])}"))
    if "replicas" in controller:
        facts.append(Fact("replicas", f"replicas {says_set(controller['replicas'])}"))
    for name in ("adding", "removing"):
        if controller.get(name):
            facts.append(Fact(name, f"{name} {says_set(controller[name])}"))
    facts += _zookeeper_facts(state)
    if state.get("moves_left"):
        left = state["moves_left"]
        facts.append(Fact("moves", f"{left} more move{'s' if left > 1 else ''} may be asked for"))
    return Box(CONTROLLER.name, CONTROLLER.name, controller["leader_epoch"], tuple(facts))


def _zookeeper_facts(state: State) -> Iterator[Fact]:
    """Where there may be several controllers: who holds /controller, and the newest controller epoch."""
    keeper = state.get("zookeeper", {})
    if "controller" in keeper:
        who = "nobody" if keeper["controller"] is None else named_candidate(keeper["controller"])
        yield Fact("holder", f"/controller: {who}")
        yield Fact("controller epoch", f"controller epoch {keeper['epoch']}")


def named_candidate(number: int) -> str:
    """The lane and the box of a broker that may be the controller."""
    return f"candidate {number}"


def _candidates(state: State) -> Iterator[Box]:
    """Every broker that may be the controller: whether it takes itself for it, rightly or not, and what is on its way."""
    keeper = state.get("zookeeper", {})
    if "controller" not in keeper:
        return
    for number, mine in enumerate(state["candidate"]):
        holds = keeper["controller"] == number
        if not mine["active"]:
            waits = "has /controller, and no epoch yet" if mine.get("created") and holds else "is not the controller"
            yield Box(named_candidate(number), named_candidate(number), None, (Fact("role", waits),))
            continue
        role = "is the controller" if holds else "takes itself for the controller, and is not"
        leader = "no leader" if mine["leader"] is None else f"leader {mine['leader']} in leader epoch {mine['leader_epoch']}"
        facts = [
            Fact("role", f"{role}, controller epoch {mine['epoch']}", Tone.STRONG if holds else Tone.WRONG),
            Fact("knows", f"knows {leader}, ISR {says_set(mine['isr'])}, alive {says_set(mine['live'])}"),
        ]
        if mine.get("former"):
            facts.append(Fact("former", f"knows {says_set(mine['former'])} in a former incarnation alone"))
        older = [r for r, request in enumerate(mine.get("earlier", ())) if request.get("leader") is not None]
        if older:
            facts.append(Fact("older", f"an older LeaderAndIsr on its way to {says_set(older)}"))
        if mine["due"]:
            facts.append(Fact("due", f"LeaderAndIsr on its way to {says_set(mine['due'])}"))
        if mine.get("stops"):
            facts.append(Fact("stops", f"StopReplica on its way to {says_set(mine['stops'])}"))
        yield Box(named_candidate(number), named_candidate(number), None, tuple(facts))


def _producer(state: State) -> Box:
    producer = state["producer"]
    facts = []
    for record, status in enumerate(producer["status"]):
        word = {ACKED: "acknowledged", SENT: "sent, not answered", FAILED: "given up"}.get(status, "not sent")
        at = producer.get("waits_at", [None] * (record + 1))[record]
        facts.append(Fact(f"r{record}", f"r{record}: {word}" + (f", waits at broker {at}" if at is not None else "")))
    if producer.get("session"):
        facts.append(Fact("session", f"restarted, producer id p{producer['session']}"))
    return Box(PRODUCER.name, PRODUCER.name, None, tuple(facts))


def _consumer_facts(state: State) -> tuple[Fact, ...]:
    consumer = state.get("consumer", {})
    facts = []
    if "offset" in consumer:
        at = consumer["offset"]
        facts.append(Fact("read", "has read nothing" if at is None else f"read r{consumer['record']} at offset {at}"))
    if "latest" in consumer:
        epoch = f" in leader epoch {consumer['epoch']}" if "epoch" in consumer else ""
        facts.append(Fact("latest", f"got latest offset {consumer['latest']}{epoch}"))
    return tuple(facts)


# -- what exactly violates a property -------------------------------------------------------------------------------


def _leaders(state: State) -> Iterator[tuple[int, State]]:
    controller = state["controller"]
    for broker, mine in enumerate(state["broker"]):
        is_leader = mine["leader"] == broker == controller["leader"]
        if is_leader and mine["leader_epoch"] == controller["leader_epoch"]:
            yield broker, mine


def _lost_at(state: State, broker: int, standing: str) -> Iterator[str]:
    for record in _acked_records(state):
        if record not in ids(state["log"][broker]):
            yield f"record {record} was acknowledged, and broker {broker}, {standing}, does not have it"


def _lost_by_leader(state: State) -> Iterator[str]:
    for broker, _ in _leaders(state):
        yield from _lost_at(state, broker, "the leader")


def _lost_in_isr(state: State) -> Iterator[str]:
    for broker in state["controller"]["isr"]:
        yield from _lost_at(state, broker, "which is in the ISR")


def _beyond_isr(state: State) -> Iterator[str]:
    for broker, mine in _leaders(state):
        for member in state["controller"]["isr"]:
            end = state["log"][member]["end"]
            if mine["hw"] > end:
                yield f"the high watermark {mine['hw']} of leader {broker} is beyond log end {end} of in-sync broker {member}"


def _uncommitted_in_isr(state: State) -> Iterator[str]:
    for broker, mine in _leaders(state):
        for member in state["controller"]["isr"]:
            for offset in range(mine["hw"]):
                ours, theirs = (state["log"][at]["records"][offset : offset + 1] for at in (broker, member))
                if ours != theirs:
                    held = f"record {theirs[0]['id']}" if theirs else "nothing"
                    yield (
                        f"leader {broker} takes record {ours[0]['id']} at offset {offset} for committed, and in-sync broker "
                        f"{member} holds {held} there"
                    )


def _read_elsewhere(state: State) -> Iterator[str]:
    consumer = state.get("consumer", {})
    at = consumer.get("offset")
    for broker, _ in _leaders(state):
        held = state["log"][broker]["records"][at : at + 1] if at is not None else []
        if at is not None and (not held or held[0]["id"] != consumer["record"]):
            now = f"record {held[0]['id']}" if held else "nothing"
            yield f"the consumer read record {consumer['record']} at offset {at}, where leader {broker} has {now}"


def _twice(state: State) -> Iterator[str]:
    for broker, mine in _leaders(state):
        committed = ids(state["log"][broker])[: mine["hw"]]
        for record in sorted({record for record in committed if committed.count(record) > 1}):
            yield f"consumers get record {record} {committed.count(record)} times from leader {broker}"


def _out_of_order(state: State) -> Iterator[str]:
    for broker, mine in _leaders(state):
        committed = ids(state["log"][broker])[: mine["hw"]]
        first = [record for at, record in enumerate(committed) if record not in committed[:at]]
        for earlier, later in pairwise(first):
            if later < earlier:
                yield f"consumers get record {earlier} before record {later} from leader {broker}"


_POINTS: dict[str, Callable[[State], Iterator[str]]] = {
    "AckedRecordsSurvive": _lost_by_leader,
    "AckedRecordsInIsr": _lost_in_isr,
    "HwWithinIsr": _beyond_isr,
    "CommittedInIsr": _uncommitted_in_isr,
    "ReadsStay": _read_elsewhere,
    "NoDuplicates": _twice,
    "NoReordering": _out_of_order,
}


class PartitionPictures(NumberedLogPictures):
    """The provider of `partition`."""

    protocol = partition
    look = KAFKA
    views, epoch = "broker", "leader_epoch"
    coloured_by = "epoch"
    shown = (
        *("log", "broker", "controller", "producer", "consumer", "lossy_left", "killed", "known_end", "late", "moves_left"),
        *("disks_left", "unreported", "zookeeper", "candidate"),
    )
    first_lanes = (PRODUCER.name, CONTROLLER.name)
    in_state = _POINTS

    def name(self, sort: Sort, number: int) -> str:
        """Replicas, and brokers without a copy that may be the controller."""
        return named_candidate(number) if sort is Candidate else super().name(sort, number)

    def says_initial(self, state: State) -> str:
        """One sentence about the state that a run starts from."""
        controller = state["controller"]
        replicas = f", the replicas are {says_set(controller['replicas'])}" if "replicas" in controller else ""
        return (
            f"initially every log is empty{replicas}, broker {controller['leader']} leads in leader epoch "
            f"{controller['leader_epoch']}, and the ISR is {says_set(controller['isr'])}"
        )

    def label(self, record: State) -> str:
        """Its number, with the session of an idempotent producer."""
        return super().label(record) + (f"·p{record['session']}" if "session" in record else "")

    def acked_records(self, state: State) -> list[int]:
        """Those that the producer knows of."""
        return _acked_records(state)

    def badges(self, state: State, broker: int) -> Iterator[Badge]:
        """Whether a broker is in sync, up, a leader."""
        mine, controller = state["broker"][broker], state["controller"]
        yield from _assignment_badges(state, broker)
        is_replica = broker in controller.get("replicas", [broker])
        if broker not in controller["isr"] and not is_replica and _is_blank(state, broker):
            if broker in controller.get("elr", []):
                yield Badge("elr", "eligible leader")
            return
        if broker in controller["isr"]:
            yield IN_ISR
        elif broker in controller.get("elr", []):
            yield Badge("elr", "eligible leader")
        else:
            yield OUT_OF_ISR
        if mine.get("down"):
            yield Badge("down", "down", Tone.WRONG)
            return
        if broker in controller.get("gone", []):
            yield Badge("session", "no session", Tone.WRONG)
        is_elected = controller["leader"] == broker
        if mine["leader"] == broker:
            is_true = is_elected and mine["leader_epoch"] == controller["leader_epoch"]
            yield LEADER if is_true else STALE_LEADER
            if is_elected and not is_true:
                yield UNAWARE
            if mine["isr"] != controller["isr"]:
                yield own_isr(mine["isr"])
            if mine.get("assigned", []) != controller.get("replicas", []):
                yield Badge("own replicas", f"knows replicas {says_set(mine['assigned'])}")
            if mine.get("pending"):
                heard = "has no answer to" if mine.get("unanswered") else "asked for"
                yield Badge("pending", f"{heard} ISR {says_set(mine['pending'])}")
        elif is_elected:
            yield UNAWARE
        elif mine["leader"] is None:
            yield LEADERLESS
        else:
            yield follows(mine["leader"])
        if mine.get("former_leader") is not None:
            yield Badge("former", f"its fetcher goes on with broker {mine['former_leader']}", Tone.PENDING)
        if mine.get("truncating"):
            yield Badge("truncating", "has yet to truncate")
        if mine.get("empty_epoch") is not None:
            yield Badge("empty epoch", f"wrote nothing in epoch {mine['empty_epoch']}")
        if broker in state.get("unreported", []):
            yield Badge("directory", "new directory, not reported yet", Tone.PENDING)
        late = state["late"][broker] if "late" in state else {"leader": None}
        if late["leader"] is not None:
            yield Badge("late", f"awaits a late answer of broker {late['leader']}: {_brings(late)}", Tone.PENDING)

    def boxes(self, state: State) -> Iterator[Box]:
        """The controller (of several what ZooKeeper has, and each), the producer, and the consumer if there is one."""
        yield _controller(state)
        yield from _candidates(state)
        yield _producer(state)
        if facts := _consumer_facts(state):
            yield Box(CONSUMER.name, CONSUMER.name, None, facts)


PARTITION = PartitionPictures()
