"""How a run of `partition` that was played is shown: in cells, in words, in pictures and in documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from acked.base.errors import SpecUnreadable
from acked.cluster.observe.disk import Replica
from acked.cluster.playing.play import PlayedRun
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import State
from acked.cluster.replicating.compare import replica_of, value_of
from acked.cluster.replicating.producers import NO_OFFSET, Answers
from acked.cluster.replicating.promises import forks, leader_of, lost_records, repeated_records
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.reports.reproductions.parts import few, integer_or_none, integers, numbered_entries, part
from acked.cluster.reports.reproductions.presentation import Presentation
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record
from acked.model.language.telling import CONTROLLER, PRODUCER, Role, says_list, says_set
from acked.reports.pictures.picture import Badge, Box, Cell, Fact, Marker, MarkerKind, Picture, Row, Tone
from acked.reports.pictures.protocols.kafka import IN_ISR, KAFKA, LEADER, OUT_OF_ISR

_OF_CONTROLLERS: Mapping[str, tuple[str, str]] = {
    "BrokersFollowZookeeper": (
        "the broker that ZooKeeper names as leader does not lead, or another one does",
        "the broker that ZooKeeper names as leader leads, and no other does",
    ),
    "OneController": ("two brokers take themselves for the controller", "one broker takes itself for the controller"),
}
"""By promise that is decided where there are several controllers: what is said if it is broken, and if it is kept."""


# -- cells -------------------------------------------------------------------------------------------------------------


def _heads(state: State) -> list[str]:
    return [*(f"broker {broker}" for broker in range(len(state["log"]))), "leader"]


def replica_in_words(values: Iterable[str], mark: int | None, is_down: bool) -> str:
    """`r0 r1 | hw 1`."""
    held = " ".join(values) or "-"
    return f"{held} | hw {mark or 0}{', down' if is_down else ''}"


def model_cells(state: State) -> list[str]:
    """What every broker of the model has, and the controller."""
    found = []
    for log, broker in zip(state["log"], state["broker"], strict=True):
        values = [value_of(record["id"]) for record in log["records"][: log["end"]]]
        found.append(replica_in_words(values, broker["hw"], bool(broker.get("down"))))
    controller = state["controller"]
    return [*found, controller_in_words(controller["leader"], controller["isr"])]


def real_cells(seen: TopicView, replicas: int) -> list[str]:
    """What every real broker has, and the controller."""
    found = []
    for broker in range(replicas):
        one = replica_of(seen, broker)
        found.append(replica_in_words(one.values, one.high_watermark, broker not in seen.running))
    return [*found, controller_in_words(leader_of(seen), () if seen.partition is None else seen.partition.isr)]


def controller_in_words(leader: int | None, isr: Sequence[int]) -> str:
    """`0, ISR {0, 1}`."""
    return f"{'nobody' if leader is None else leader}, ISR {says_set(sorted(isr))}"


# -- words -------------------------------------------------------------------------------------------------------------


def acknowledged_in_words(played: PlayedRun[TopicView, Answers]) -> str:
    """What the producer was answered: `r0 was acknowledged at offset 0`."""
    kept, refused = sorted(played.answers.acknowledged.items()), sorted(played.answers.refused.items())
    said = [
        f"{value_of(record)} was acknowledged at offset {offset}"
        if offset != NO_OFFSET
        else f"{value_of(record)} was taken for written without an answer"
        for record, offset in kept
    ]
    said += [f"{value_of(record)} was answered with {error_name(error)}" for record, error in refused]
    return says_list(said) if said else "the producer was answered nothing"


def end_in_words(played: PlayedRun[TopicView, Answers], promise: str) -> str:
    """What has become of what was acknowledged, or of the promise that the trace is about."""
    if promise in _OF_CONTROLLERS and promise in played.broken:
        is_broken, is_kept = _OF_CONTROLLERS[promise]
        return is_broken if played.broken[promise] else is_kept
    if promise and not played.broken.get(promise, True) and any(played.broken.values()):
        return f"{promise} holds"
    acknowledged, leader = played.answers.acknowledged, leader_of(played.last)
    gone, forked = lost_records(acknowledged, played.last, leader), forks(played.last.replicas)
    twice = repeated_records(played.last, leader)
    if gone and (not promise or played.is_broken(promise) is None or promise.startswith("Acked")):
        verb = "is" if len(gone) == 1 else "are"
        return f"{says_list(_values(gone))}, acknowledged, {verb} not in the log of broker {leader}, the leader"
    if forked:
        return f"replicas have different records below their high watermarks, at offset {forked[0]}"
    if twice:
        return f"{says_list(list(twice))} is in the log of broker {leader}, the leader, more than once"
    if promise and played.is_broken(promise):
        return f"{promise} does not hold of them"
    if not acknowledged:
        return "nothing was acknowledged, so nothing was lost"
    if leader is None:
        return "there is no leader, and nothing that was acknowledged is lost"
    return f"broker {leader}, the leader, has everything that was acknowledged"


def _values(records: Iterable[int]) -> list[str]:
    return [value_of(record) for record in records]


# -- pictures ----------------------------------------------------------------------------------------------------------


def painter(prepared: PreparedRun) -> Callable[[TopicView, Answers], Picture]:
    """What draws what is seen, and what producers were answered by then, one moment after the other."""
    records = range(len(prepared.script.initial["producer"]["status"]))
    return painter_of(prepared.setting.replicas, prepared.question.instance.constants["log_size"], records, PRODUCER)


def painter_of(
    replicas: int, offsets: int, records: Sequence[int], client: Role
) -> Callable[[TopicView, Answers], Picture]:
    """The same of logs with so many places, and of a client's records.

    A log has as many places as in the model, and the first free one stands for what its replica had before and lost.
    """
    before = [set[str]() for _ in range(replicas)]

    def picture(seen: TopicView, answers: Answers) -> Picture:
        kept, rows = {value_of(record) for record in answers.acknowledged}, []
        for one, had in zip(seen.replicas, before, strict=False):  # There may be brokers without replicas.
            had |= set(one.values)
            mark, end = one.high_watermark or 0, len(one.log)
            gone = ", ".join(sorted((had - set(one.values)) & kept))
            cells = [
                Cell(offset, record.text, record.epoch, offset < mark, record.text in kept)
                for offset, record in enumerate(one.log)
            ]
            cells += [Cell(at, None, None, lost=(gone or None) if at == end else None) for at in range(end, offsets)]
            marks = (Marker(MarkerKind.HIGH_WATERMARK, "high watermark", mark), Marker(MarkerKind.LOG_END, "log end", end))
            badges = tuple(_badges(seen, one.broker))
            rows.append(Row(str(one.broker), f"{KAFKA.row} {one.broker}", None, tuple(cells), marks, badges))
        return Picture(tuple(rows), (_controller_box(seen), _client_box(client, records, answers)), ())

    return picture


def _badges(seen: TopicView, broker: int) -> Iterator[Badge]:
    partition = seen.partition
    if partition is not None and broker in partition.isr:
        yield IN_ISR
    elif partition is not None and broker in (partition.eligible or ()):
        yield Badge("elr", "eligible leader")
    else:
        yield OUT_OF_ISR
    if broker not in seen.running:
        yield Badge("down", "down", Tone.WRONG)
    elif partition is not None and partition.leader == broker:
        yield LEADER


def _controller_box(seen: TopicView) -> Box:
    partition = seen.partition
    if partition is None:
        return Box(CONTROLLER.name, CONTROLLER.name, None, (Fact("leader", "the partition is not there"),))
    leader = "no leader" if partition.leader < 0 else f"leader: broker {partition.leader}"
    facts = [Fact("leader", leader), Fact("isr", f"ISR {says_set(sorted(partition.isr))}")]
    if partition.eligible:
        facts.append(Fact("elr", f"eligible leaders {says_set(sorted(partition.eligible))}"))
    return Box(CONTROLLER.name, CONTROLLER.name, partition.epoch, tuple(facts))


def _client_box(client: Role, records: Sequence[int], answers: Answers) -> Box:
    facts = [Fact(value_of(record), _answer_in_words(record, answers)) for record in records]
    return Box(client.name, client.name, None, tuple(facts))


def _answer_in_words(record: int, answers: Answers) -> str:
    """`r0: acknowledged at offset 0`."""
    said = "no answer"
    if record in answers.acknowledged:
        offset = answers.acknowledged[record]
        said = "taken for written" if offset == NO_OFFSET else f"acknowledged at offset {offset}"
    elif record in answers.refused:
        said = f"answered with {error_name(answers.refused[record])}"
    return f"{value_of(record)}: {said}"


# -- documents ---------------------------------------------------------------------------------------------------------


def _answers_document(answers: Answers) -> dict[str, Any]:
    return {"acknowledged": _values_document(answers.acknowledged), "refused": _values_document(answers.refused)}


def _end_document(played: PlayedRun[TopicView, Answers], judged: dict[str, Any]) -> dict[str, Any]:
    leader = leader_of(played.last)
    return {
        "leader": leader,
        "lost": _values(lost_records(played.answers.acknowledged, played.last, leader)),
        "forks": list(forks(played.last.replicas)),
        **judged,
        "repeated": list(repeated_records(played.last, leader)),
    }


def _values_document(records: Mapping[int, int]) -> dict[str, int]:
    return {value_of(record): number for record, number in sorted(records.items())}


def _seen_document(seen: TopicView, replicas: int) -> dict[str, Any]:
    partition = seen.partition
    return {
        "is_there": partition is not None,
        "leader": leader_of(seen),
        "leader_epoch": None if partition is None else partition.epoch,
        "isr": [] if partition is None else sorted(partition.isr),
        "eligible": None if partition is None or partition.eligible is None else sorted(partition.eligible),
        "brokers": [
            {
                "log": [{"value": record.text, "epoch": record.epoch} for record in one.log],
                "high_watermark": one.high_watermark,
                "running": one.broker in seen.running,
            }
            for one in seen.replicas
            if one.broker < replicas
        ],
    }


def _read_answers(document: Mapping[str, Any]) -> Answers:
    return Answers(*(numbered_entries(document, key, "r", "a record", int) for key in ("acknowledged", "refused")))


def _read_seen(document: Mapping[str, Any], replicas: int) -> TopicView:
    brokers = part(document, "brokers", list)
    if len(brokers) != replicas:
        raise SpecUnreadable(f"not a reproduction: it tells of {len(brokers)} brokers, and its trace has {replicas}")
    partition = None
    if document.get("is_there") is True:
        leader, epoch = integer_or_none(document, "leader"), integer_or_none(document, "leader_epoch")
        eligible = None if document.get("eligible") is None else tuple(integers(document, "eligible"))
        everyone, isr = tuple(range(replicas)), tuple(integers(document, "isr"))
        partition = PartitionView(0, -1 if leader is None else leader, everyone, isr, epoch, eligible)
    seen = tuple(_read_replica(number, one) for number, one in enumerate(brokers))
    return TopicView(partition, seen, tuple(number for number, one in enumerate(brokers) if one.get("running") is True))


def _read_replica(number: int, document: Any) -> Replica:
    log = [
        Record(offset, integer_or_none(record, "epoch"), part(record, "value", str).encode())
        for offset, record in enumerate(few(document, "log", "records"))
    ]
    return Replica(number, tuple(log), None, integer_or_none(document, "high_watermark"))


REPLICATION_SHOWN = Presentation(
    REPLICATION, KAFKA, "Producer", Answers(), _heads, model_cells, real_cells, acknowledged_in_words, end_in_words, painter,
    _answers_document, _seen_document, _end_document, _read_answers, _read_seen,
)
