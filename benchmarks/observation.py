"""How fast `acked kafka validate` is: a long run of one leader and two followers, written as lines, and read as it would be.

    python benchmarks/observation.py --events 1000000

The lines are those of a cluster under steady load with a batch a request: an append, two fetches that wait for it, their
answers, and the high watermark that rises with the second. It prints events, lines and bytes, the processor time of the
validation alone, and the most memory that the process had.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from acked.cluster.lines.recording import Recording
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import validate

EVENTS_A_BATCH = 5
BATCH = 100
"""Records of a batch."""
P, SC, RFT = "kafka.cluster.Partition", "state.change.logger", "kafka.server.ReplicaFetcherThread"
UL = "org.apache.kafka.storage.internals.log.UnifiedLog"
RCM = "org.apache.kafka.controller.ReplicationControlManager"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Writer:
    """The log files of a cluster, one a node, with a clock that all share."""

    def __init__(self, folder: Path) -> None:
        self._files = {node: (folder / f"{node}.log").open("w", encoding="utf-8") for node in (0, 1, 2, 100)}
        self._ms = 0
        self._second, self._text = -1, ""

    def put(self, node: int, level: str, thread: str, logger: str, message: str, after: int = 0) -> None:
        """A line, so many ms after the last one."""
        self._ms += after
        second, ms = divmod(self._ms, 1000)
        if second != self._second:
            self._second, self._text = second, f"{START + timedelta(seconds=second):%Y-%m-%d %H:%M:%S}"
        self._files[node].write(f"{self._text}.{ms:03d} {level} [{thread}] {logger} {message}\n")

    def close(self) -> None:
        """All files are complete."""
        for file in self._files.values():
            file.close()


def write_run(folder: Path, batches: int) -> None:
    """The files of a run of so many batches."""
    writer = Writer(folder)
    writer.put(
        100, "INFO", "quorum-controller", RCM,
        "[QuorumController id=100] Replayed PartitionRecord for new partition t-0 with topic ID x and PartitionRegistration("
        "replicas=[0, 1, 2], directories=[], isr=[0, 1, 2], removingReplicas=[], addingReplicas=[], elr=[], lastKnownElr=[], "
        "leader=0, leaderRecoveryState=RECOVERED, leaderEpoch=0, partitionEpoch=0).",
    )
    for node in (0, 1, 2):
        told = "Leader" if node == 0 else "Follower"
        where = "with topic id Some(x) starts" if node == 0 else "starts"
        rest = ", high watermark 0, ISR [0,1,2], adding" if node == 0 else " and high watermark 0. Current leader is 0."
        text = f"[Broker id={node}] {told} t-0 {where} at leader epoch 0 from offset 0 with partition epoch 0{rest}"
        writer.put(node, "INFO", "metadata", SC, text, after=2000)
    for follower in (1, 2):
        _recorded(writer, follower, 0)
    for number in range(batches):
        _batch(writer, number * BATCH)
    writer.close()


def _recorded(writer: Writer, follower: int, offset: int) -> None:
    noted = f"Recorded replica {follower} log end offset (LEO) position {offset} and log start offset 0."
    text = f"[Partition t-0 broker=0] {noted}"
    writer.put(0, "DEBUG", f"data-plane-kafka-request-handler-{follower}", P, text)


def _batch(writer: Writer, end: int) -> None:
    then = end + BATCH
    appended = f"Appended message set with last offset: {then - 1}, first offset: {end}, next offset: {then}, and messages: …"
    text = f"[UnifiedLog partition=t-0, dir=/kafka/data0] {appended}"
    writer.put(0, "TRACE", "data-plane-kafka-request-handler-0", UL, text, after=1)
    for follower in (1, 2):
        thread = "ReplicaFetcherThread-0-0"
        prefix = f"[ReplicaFetcher replicaId={follower}, leaderId=0, fetcherId=0] "
        received = f"Received 700 bytes of messages and leader hw {end}"
        got = f"Follower has replica log end offset {end} for partition t-0. {received}"
        writer.put(follower, "TRACE", thread, RFT, prefix + got, after=1)
        writer.put(follower, "TRACE", thread, UL, f"[UnifiedLog partition=t-0, dir=/kafka/data{follower}] {appended}")
        hw = f"and updated replica high watermark to {end}" if end else "but did not update replica high watermark"
        took = f"Follower received high watermark {end} from the leader {hw} for partition t-0"
        writer.put(follower, "TRACE", thread, RFT, prefix + took)
    for follower in (1, 2):
        if follower == 2:
            moved = f"from (offset={end}, segment=[0:1]) to (offset={then}, segment=[0:2])"
            text = f"[Partition t-0 broker=0] High watermark updated {moved}"
            writer.put(0, "DEBUG", "data-plane-kafka-request-handler-2", P, text, after=1)
        _recorded(writer, follower, then)


def sizes(folder: Path) -> Iterator[tuple[int, int]]:
    """Lines and bytes of every file."""
    for file in folder.iterdir():
        with file.open("rb") as lines:
            yield sum(1 for _ in lines), file.stat().st_size


def main() -> None:
    """Writes a run, validates it, and prints what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(folder, asked.events // EVENTS_A_BATCH)
        counted = [*sizes(folder)]
        started = time.process_time()
        recording = Recording([str(folder)], "t", 0)
        begun = recording.begin()
        subject = Subject("4.4.0", sorted(begun.created["replicas"]), {"min_insync_replicas": 2})
        verdict = validate(subject, begun.created, recording.events())
        seconds = time.process_time() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines, volume = (sum(item) for item in zip(*counted, strict=True))
    assert verdict.is_valid, verdict.stuck or verdict.broken
    each = seconds / verdict.explained * 1e6
    print(f"{verdict.explained:,} events in {lines:,} lines, {volume / 1e6:.0f} MB: valid, {verdict.tried:,} steps tried")
    print(f"{seconds:.1f} s of one core, {each:.0f} us an event; at most {memory:.0f} MB of memory")


if __name__ == "__main__":
    main()
