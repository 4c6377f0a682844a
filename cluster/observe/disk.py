"""A replica as it lies on disk, which may be read at any time, of dead brokers too, and disturbs nobody."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.wire.records import Damaged, Record, batches, read_records

EPOCHS = "leader-epoch-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"


@frozen
class EpochStart:
    """A line of a leader epoch checkpoint: at which offset a leader's epoch begins."""

    epoch: int
    offset: int


@frozen
class Replica:
    """A replica of a partition. `epochs` and `high_watermark` are None where their checkpoint is missing.

    The high watermark is the checkpointed one, some tenths of a second late; a leader's exact one is in its Fetch responses.
    """

    broker: int
    log: tuple[Record, ...]
    epochs: tuple[EpochStart, ...] | None
    high_watermark: int | None

    @property
    def values(self) -> tuple[str, ...]:
        """The records' values in order."""
        return tuple(record.text for record in self.log)


def partition_folder(data: Path, topic: str, partition: int = 0) -> Path:
    """Where a broker keeps a partition. `data` is its `log.dirs`."""
    return data / f"{topic}-{partition}"


def read_replica(broker: int, data: Path, topic: str, partition: int = 0) -> Replica:
    """A replica as it is on disk now; without a folder its log is empty."""
    folder = partition_folder(data, topic, partition)
    marks = read_high_watermarks(data)
    return Replica(broker, read_log(folder), read_epochs(folder), marks.get((topic, partition)))


def read_log(folder: Path) -> tuple[Record, ...]:
    """The records of all segments, by offset."""
    found: list[Record] = []
    for segment in segments(folder):
        try:
            found += read_records(segment.read_bytes())
        except FileNotFoundError:
            continue  # The broker has just removed it.
        except Damaged as error:
            raise SystemFailure(f"{segment} cannot be read: {error}") from None
    return tuple(found)


def segments(folder: Path) -> tuple[Path, ...]:
    """The segments of a partition, the oldest first."""
    return tuple(sorted(path for path in folder.glob("*.log") if path.is_file()))


def log_start(folder: Path) -> int:
    """The offset at which a partition's oldest segment begins; 0 without one."""
    oldest = segments(folder)[:1]
    return int(oldest[0].stem) if oldest and oldest[0].stem.isdigit() else 0


def read_epochs(folder: Path) -> tuple[EpochStart, ...] | None:
    """The leader epoch checkpoint (since 0.11); None if there is none."""
    lines = _lines(folder / EPOCHS)
    if lines is None:
        return None
    pairs = [line.split() for line in lines[2:]]
    return tuple(EpochStart(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2)


def read_high_watermarks(data: Path) -> dict[tuple[str, int], int]:
    """The checkpointed high watermarks of a broker, by topic and partition."""
    found = {}
    for line in (_lines(data / HIGH_WATERMARKS) or [])[2:]:
        topic, partition, offset = line.rsplit(" ", 2)
        found[topic, int(partition)] = int(offset)
    return found


def lose_page_cache(folder: Path, flushed: int) -> None:
    """What the death of a machine leaves of a partition of a dead broker: the log below offset `flushed`.

    Segments are cut at the first batch at or above it, indexes are removed, as a broker rebuilds them, and epochs that
    begin there or later are forgotten. Kafka writes the checkpoints of high watermarks and recovery points through to the
    disk, so these stay.
    """
    for number, segment in enumerate(segments(folder)):
        kept = 0
        for batch in batches(segment.read_bytes()):
            if batch.base_offset >= flushed:
                break
            kept = batch.position + batch.size
        if number > 0 and kept == 0:
            segment.unlink()  # It began above what is left; the first one stays, empty or not.
        else:
            with open(segment, "r+b") as file:
                file.truncate(kept)
        for index in folder.glob(f"{segment.stem}.*index"):
            index.unlink()
    epochs = read_epochs(folder)
    if epochs is not None:
        write_epochs(folder, [one for one in epochs if one.offset < flushed])


def write_high_watermark(data: Path, topic: str, offset: int, partition: int = 0) -> None:
    """What a broker that crashed earlier, or checkpointed earlier, would have left: another high watermark of a partition."""
    marks = read_high_watermarks(data) | {(topic, partition): offset}
    lines = ["0", str(len(marks)), *(f"{name} {number} {mark}" for (name, number), mark in sorted(marks.items()))]
    (data / HIGH_WATERMARKS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_epochs(folder: Path, epochs: Sequence[EpochStart]) -> None:
    """A leader epoch checkpoint with these epochs."""
    lines = ["0", str(len(epochs)), *(f"{one.epoch} {one.offset}" for one in epochs)]
    (folder / EPOCHS).write_text("\n".join(lines) + "\n", encoding="ascii")


def log_lines(log: Path, pattern: str, start: int = 0) -> tuple[str, ...]:
    """The lines of a broker's own log from byte `start` on in which a regular expression is found."""
    try:
        with open(log, "rb") as file:
            file.seek(start)
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    return tuple(line for line in text.splitlines() if re.search(pattern, line))


def _lines(path: Path) -> list[str] | None:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
