"""The picture of `partition`: brokers with their logs, the controller, the producer, the consumer, and who tells whom.

What lives here: everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a
part that the configuration turns off has no field. What does not: what is the same for every protocol (`view.py`,
`picture.py`), and drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from model.partition.protocol import partition
from model.partition.state import ACKED, FAILED, SENT
from model.protocol import ActionInstance, Instance
from reports.picture import Box, Fact, Message, Moment, Picture, Role, Row, State, row
from reports.records import Lost, cells, ids, plain_label, remember
from reports.replication import CONTROLLER, PRODUCER, set_in_words

CONSUMER = "consumer"

_TOLD = ("log", "broker", "controller", "producer", "consumer", "lossy_left", "killed", "known_end")

_BROKER_ACTS = {
    "BecomeLeader": "leader", "LearnIsr": "leader", "ShrinkIsr": "leader", "AskToShrink": "leader", "AskToExpand": "leader",
    "BecomeFollower": "follower", "TruncateByEpoch": "follower", "FetchRecord": "follower", "FetchNothingNew": "follower",
    "FetchUnanswered": "follower", "FetchDiverging": "follower", "Crash": "broker", "ShutDown": "broker", "Restart": "broker",
    "Halt": "follower",
    "RestartUnnoticed": "broker", "LoseSession": "broker", "RegainSession": "broker",
}  # fmt: skip
"""The actions that a broker takes, and the parameter that says which."""

_PRODUCER_ACTS = ("Produce", "Retry", "RetryKnown", "GiveUp", "LoseRequest", "RestartProducer")
_CONSUMER_ACTS = ("Read", "QueryLatestOffset")


class PartitionPictures:
    """The provider of `partition`."""

    def recognises(self, instance: Instance) -> bool:
        """Whether this is the protocol."""
        return instance.protocol.state is partition.state

    def tells(self, field: str) -> bool:
        """Whether the picture tells of a change of this leaf field."""
        return field.partition("[")[0].partition(".")[0] in _TOLD

    def says_initial(self, state: State) -> str:
        """One sentence about the state that a run starts from."""
        controller = state["controller"]
        return (
            f"initially every log is empty, broker {controller['leader']} leads in leader epoch "
            f"{controller['leader_epoch']}, and the ISR is {set_in_words(controller['isr'])}"
        )

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, Lost]:
        """The picture of a moment; what is lost goes by the run so far."""
        state = moment.after
        brokers = range(len(state["log"]))
        memory = remember(moment)
        boxes = [_controller(state), _producer(state)]
        if _consumer_facts(state):
            boxes.append(Box(CONSUMER, CONSUMER, None, _consumer_facts(state)))
        has_consumer = len(boxes) == 3
        picture = Picture(
            rows=tuple(_row(state, broker, instance.constants["log_size"], memory[broker]) for broker in brokers),
            boxes=tuple(boxes),
            actors=(PRODUCER, CONTROLLER, *map(_name, brokers), *([CONSUMER] if has_consumer else [])),
            actor=_actor(moment),
            messages=tuple(_messages(moment)),
        )
        return picture, memory

    def actor(self, step: ActionInstance) -> str | None:
        """Who takes a step."""
        return _actor(Moment(1, None, step, {}, None))

    def disagreements(self, name: str, before: State | None, after: State) -> list[str]:
        """What exactly breaks the property of that name; the properties are decided elsewhere, this only points."""
        return list(_POINTS[name](after)) if name in _POINTS else []


PARTITION = PartitionPictures()


def _name(broker: int) -> str:
    return f"broker {broker}"


def _acked(state: State) -> list[int]:
    return [record for record, status in enumerate(state["producer"]["status"]) if status == ACKED]


# -- rows and boxes ------------------------------------------------------------------------------------------------


def _row(state: State, broker: int, offsets: int, lost: frozenset[int]) -> Row:
    log, mine = state["log"][broker], state["broker"][broker]
    shown = cells(log, mine["hw"], "epoch", offsets, lost, _acked(state), _label)
    return row(broker, _name(broker), mine["leader_epoch"], shown, mine["hw"], log["end"], _badges(state, broker))


def _label(record: State) -> str:
    return plain_label(record) + (f"·p{record['session']}" if "session" in record else "")


def _badges(state: State, broker: int) -> Iterator[tuple[Role, str]]:
    mine, controller = state["broker"][broker], state["controller"]
    if broker in controller["isr"]:
        yield Role.IN_ISR, "in ISR"
    elif broker in controller.get("elr", []):
        yield Role.ELR, "eligible leader"
    else:
        yield Role.OUT_OF_ISR, "out of ISR"
    if mine.get("down"):
        yield Role.DOWN, "down"
        return
    if broker in controller.get("gone", []):
        yield Role.FENCED, "no session"
    is_elected = controller["leader"] == broker
    if mine["leader"] == broker:
        is_true = is_elected and mine["leader_epoch"] == controller["leader_epoch"]
        yield (Role.LEADER, "leader") if is_true else (Role.STALE_LEADER, "stale leader")
        if is_elected and not is_true:
            yield Role.ELECTED, "elected, unaware"
        if mine["isr"] != controller["isr"]:
            yield Role.OWN_ISR, f"own ISR {set_in_words(mine['isr'])}"
        if mine.get("pending"):
            heard = "has no answer to" if mine.get("unanswered") else "asked for"
            yield Role.NOTE, f"{heard} ISR {set_in_words(mine['pending'])}"
    elif is_elected:
        yield Role.ELECTED, "elected, unaware"
    elif mine["leader"] is None:
        yield Role.LEADERLESS, "knows no leader"
    else:
        yield Role.FOLLOWS, f"follows broker {mine['leader']}"
    if mine.get("truncating"):
        yield Role.NOTE, "has yet to truncate"
    if mine.get("empty_epoch") is not None:
        yield Role.NOTE, f"wrote nothing in epoch {mine['empty_epoch']}"


def _controller(state: State) -> Box:
    controller = state["controller"]
    leader = "no leader" if controller["leader"] is None else f"leader: broker {controller['leader']}"
    facts = [Fact("leader", leader), Fact("isr", f"ISR {set_in_words(controller['isr'])}")]
    if controller.get("elr"):
        facts.append(Fact("elr", f"eligible leaders {set_in_words(controller['elr'])}"))
    return Box(CONTROLLER, CONTROLLER, controller["leader_epoch"], tuple(facts))


def _producer(state: State) -> Box:
    producer = state["producer"]
    facts = []
    for record, status in enumerate(producer["status"]):
        word = {ACKED: "acknowledged", SENT: "sent, not answered", FAILED: "given up"}.get(status, "not sent")
        at = producer.get("waits_at", [None] * (record + 1))[record]
        facts.append(Fact(f"r{record}", f"r{record}: {word}" + (f", waits at broker {at}" if at is not None else "")))
    if producer.get("session"):
        facts.append(Fact("session", f"restarted, producer id p{producer['session']}"))
    return Box(PRODUCER, PRODUCER, None, tuple(facts))


def _consumer_facts(state: State) -> tuple[Fact, ...]:
    consumer = state.get("consumer", {})
    facts = []
    if "offset" in consumer:
        at = consumer["offset"]
        facts.append(Fact("read", "has read nothing" if at is None else f"read r{consumer['record']} at offset {at}"))
    if "latest" in consumer:
        epoch = f" in leader epoch {consumer['epoch']}" if "epoch" in consumer else ""
        facts.append(Fact("latest", f"was told latest offset {consumer['latest']}{epoch}"))
    return tuple(facts)


# -- who tells whom ------------------------------------------------------------------------------------------------


def _actor(moment: Moment) -> str | None:
    if moment.action is None:
        return None
    name, arguments = moment.action.action.name, moment.action.arguments
    if name in _BROKER_ACTS:
        return _name(arguments[_BROKER_ACTS[name]])
    if name in _PRODUCER_ACTS:
        return PRODUCER
    return CONSUMER if name in _CONSUMER_ACTS else CONTROLLER


def _messages(moment: Moment) -> Iterator[Message]:
    if moment.action is None or moment.before is None:
        return
    index, before, after = moment.index, moment.before, moment.after
    name, arguments = moment.action.action.name, moment.action.arguments

    def told(key: str, sender: str, receiver: str, text: str) -> Message:
        return Message(f"{key} {index}", sender, receiver, text, index, index)

    if name in ("Produce", "Retry", "RetryKnown"):
        yield told("write", PRODUCER, _name(arguments["leader"]), f"r{arguments['record']}")
    elif name == "LoseRequest":
        yield Message(f"write {index}", PRODUCER, _name(after["controller"]["leader"] or 0), f"r{arguments['record']}", index,
                      dropped=index)  # fmt: skip
    elif name.startswith("Fetch") or name == "TruncateByEpoch":
        yield from _fetch(index, name, arguments, before, after)
    elif name == "Halt":
        follower, leader = _name(arguments["follower"]), _name(arguments["leader"])
        yield told("fetch", follower, leader, f"fetch from {before['log'][arguments['follower']]['end']}")
        yield told("answer", leader, follower, "offset out of range")
    elif name in ("BecomeLeader", "BecomeFollower"):
        broker = arguments["leader" if name == "BecomeLeader" else "follower"]
        yield told("role", CONTROLLER, _name(broker), f"leader {after['controller']['leader']}")
    elif name in ("AskToShrink", "AskToExpand"):
        wanted = set_in_words(after["broker"][arguments["leader"]]["pending"])
        yield told("ask", _name(arguments["leader"]), CONTROLLER, f"AlterPartition: ISR {wanted}")
    elif name in ("LearnIsr", "ShrinkIsr"):
        isr = f"ISR {set_in_words(after['controller']['isr'])}"
        ends = (CONTROLLER, _name(arguments["leader"]))
        yield told("isr", *(ends if name == "LearnIsr" else ends[::-1]), isr)
    elif name == "Read":
        yield told("read", _name(arguments["broker"]), CONSUMER, f"r{after['consumer']['record']}")
    elif name == "QueryLatestOffset":
        yield told("latest", _name(arguments["leader"]), CONSUMER, f"latest offset {after['consumer']['latest']}")
    for record, (was, now) in enumerate(zip(before["producer"]["status"], after["producer"]["status"], strict=True)):
        if was != now == ACKED and name != "LoseRequest":
            leader = before["producer"].get("waits_at", {record: None})[record]
            leader = arguments["leader"] if leader is None else leader
            yield told(f"ack r{record}", _name(leader), PRODUCER, f"r{record} was taken")


def _fetch(index: int, name: str, arguments: dict[str, Any], before: State, after: State) -> Iterator[Message]:
    follower, leader = arguments["follower"], arguments["leader"]
    offset, hw = before["log"][follower]["end"], after["broker"][follower]["hw"]
    if name == "TruncateByEpoch":
        asked, text = "where does my epoch end?", f"truncate to {after['log'][follower]['end']}"
    else:
        got = after["log"][follower]["records"][offset]["id"] if name == "FetchRecord" else None
        asked = f"fetch from {offset}"
        text = f"r{got}, HW {hw}" if got is not None else f"HW {hw}"
        if name == "FetchDiverging":
            text = f"diverging: truncate to {after['log'][follower]['end']}"
    yield Message(f"fetch {index}", _name(follower), _name(leader), asked, index, index)
    lost = name == "FetchUnanswered"
    yield Message(
        f"answer {index}", _name(leader), _name(follower), text, index, None if lost else index, index if lost else None
    )


# -- what breaks a promise, in words -------------------------------------------------------------------------------


def _leaders(state: State) -> Iterator[tuple[int, State]]:
    controller = state["controller"]
    for broker, mine in enumerate(state["broker"]):
        in_office = mine["leader"] == broker == controller["leader"]
        if in_office and mine["leader_epoch"] == controller["leader_epoch"]:
            yield broker, mine


def _lost_at(state: State, broker: int, standing: str) -> Iterator[str]:
    for record in _acked(state):
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


def _vanished(state: State) -> Iterator[str]:
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
    "ReadsStay": _vanished,
    "NoDuplicates": _twice,
    "NoReordering": _out_of_order,
}
