"""How real brokers are drawn: in the picture of the model, with what is seen of them in the place of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.replicating.compare import value_of
from acked.cluster.replicating.producers import NO_OFFSET, Answers
from acked.cluster.topics.views import TopicView
from acked.cluster.wire.apis import error_name
from acked.model.language.telling import CONTROLLER, PRODUCER, says_set
from acked.reports.pictures.kafka import IN_ISR, KAFKA, LEADER, OUT_OF_ISR
from acked.reports.pictures.picture import Badge, Box, Cell, Fact, Marker, MarkerKind, Picture, Row, Tone


def painter(prepared: PreparedRun) -> Callable[[TopicView, Answers], Picture]:
    """What draws what is seen, and what producers were answered by then, one moment after the other.

    A log has as many places as in the model, and the first free one stands for what its replica had before and lost.
    """
    offsets = prepared.question.instance.constants["log_size"]
    records = len(prepared.script.initial["producer"]["status"])
    before = [set[str]() for _ in range(prepared.setting.replicas)]

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
        return Picture(tuple(rows), (_controller(seen), _producer(records, answers)), ())

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


def _controller(seen: TopicView) -> Box:
    partition = seen.partition
    if partition is None:
        return Box(CONTROLLER.name, CONTROLLER.name, None, (Fact("leader", "the partition is not there"),))
    leader = "no leader" if partition.leader < 0 else f"leader: broker {partition.leader}"
    facts = [Fact("leader", leader), Fact("isr", f"ISR {says_set(sorted(partition.isr))}")]
    if partition.eligible:
        facts.append(Fact("elr", f"eligible leaders {says_set(sorted(partition.eligible))}"))
    return Box(CONTROLLER.name, CONTROLLER.name, partition.epoch, tuple(facts))


def _producer(records: int, answers: Answers) -> Box:
    facts = [Fact(f"r{record}", _answer_in_words(record, answers)) for record in range(records)]
    return Box(PRODUCER.name, PRODUCER.name, None, tuple(facts))


def _answer_in_words(record: int, answers: Answers) -> str:
    """`r0: acknowledged at offset 0`."""
    said = "no answer"
    if record in answers.acknowledged:
        offset = answers.acknowledged[record]
        said = "taken for written" if offset == NO_OFFSET else f"acknowledged at offset {offset}"
    elif record in answers.refused:
        said = f"answered with {error_name(answers.refused[record])}"
    return f"{value_of(record)}: {said}"
