"""How real brokers are drawn: in the picture of the model, with what is seen of them in the place of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acked.cluster.playing.compare import value_of
from acked.cluster.playing.producers import NO_OFFSET
from acked.cluster.stories.seen import Seen
from acked.cluster.wire.apis import error_name
from acked.model.language.telling import CONTROLLER, PRODUCER
from acked.model.language.words import says_set
from acked.reports.pictures.kafka import IN_ISR, KAFKA, LEADER, OUT_OF_ISR
from acked.reports.pictures.picture import Badge, Box, Cell, Fact, Marker, MarkerKind, Picture, Row, Tone

Held = tuple[frozenset[str], ...]
"""By broker every record that it has had so far."""


def seen_picture(
    seen: Seen, offsets: int, records: int, acknowledged: Mapping[int, int], refused: Mapping[int, int], before: Held
) -> tuple[Picture, Held]:
    """The picture of what is seen after a step, and what each broker has had by then.

    `offsets` is how many places a log of the model has, `records` how many there are to be sent.
    """
    replicas = seen.replicas[: len(before)]
    kept = {value_of(record) for record in acknowledged}
    held = tuple(old | set(one.values) for old, one in zip(before, replicas, strict=True))
    rows = []
    for one, had in zip(replicas, held, strict=True):
        mark, end = one.high_watermark or 0, len(one.log)
        gone = ", ".join(sorted((had - set(one.values)) & kept))
        cells = [
            Cell(offset, record.text, record.epoch, offset < mark, record.text in kept)
            for offset, record in enumerate(one.log)
        ]
        # The first free place stands for what the replica had and lost.
        cells += [Cell(at, None, None, lost=(gone or None) if at == end else None) for at in range(end, offsets)]
        marks = (Marker(MarkerKind.HIGH_WATERMARK, "high watermark", mark), Marker(MarkerKind.LOG_END, "log end", end))
        badges = tuple(_badges(seen, one.broker))
        rows.append(Row(str(one.broker), f"{KAFKA.row} {one.broker}", None, tuple(cells), marks, badges))
    boxes = (_controller(seen), _producer(records, acknowledged, refused))
    return Picture(tuple(rows), boxes, ()), held


def nothing_held(replicas: int) -> Held:
    """What brokers have had before the first step."""
    return (frozenset[str](),) * replicas


def _badges(seen: Seen, broker: int) -> Iterator[Badge]:
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


def _controller(seen: Seen) -> Box:
    partition = seen.partition
    if partition is None:
        return Box(CONTROLLER.name, CONTROLLER.name, None, (Fact("leader", "the partition is not there"),))
    leader = "no leader" if partition.leader < 0 else f"leader: broker {partition.leader}"
    facts = [Fact("leader", leader), Fact("isr", f"ISR {says_set(sorted(partition.isr))}")]
    if partition.eligible:
        facts.append(Fact("elr", f"eligible leaders {says_set(sorted(partition.eligible))}"))
    return Box(CONTROLLER.name, CONTROLLER.name, partition.epoch, tuple(facts))


def _producer(records: int, acknowledged: Mapping[int, int], refused: Mapping[int, int]) -> Box:
    facts = [Fact(f"r{record}", answer_in_words(record, acknowledged, refused)) for record in range(records)]
    return Box(PRODUCER.name, PRODUCER.name, None, tuple(facts))


def answer_in_words(record: int, acknowledged: Mapping[int, int], refused: Mapping[int, int]) -> str:
    """`r0: acknowledged at offset 0`."""
    if record in acknowledged:
        offset = acknowledged[record]
        said = "taken for written" if offset == NO_OFFSET else f"acknowledged at offset {offset}"
    elif record in refused:
        said = f"answered with {error_name(refused[record])}"
    else:
        said = "no answer"
    return f"{value_of(record)}: {said}"


def brokers_named(differences: Sequence[str], brokers: int) -> list[str]:
    """The rows that differences are about, by what they are called in the picture."""
    names = [f"{KAFKA.row} {broker}" for broker in range(brokers)]
    return [name for name in names if any(what == name or what.startswith(f"{name}'") for what in differences)]
