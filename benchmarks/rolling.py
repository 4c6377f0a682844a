"""How long `acked roll` takes for many partitions, from a description that it makes up: with nothing cached, and again.

    python benchmarks/rolling.py         10,000 partitions of 1,000 topics on 12 brokers, one of which is down

Each time in a process of its own, as a user would run it; wall clock and processor time, in seconds.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BROKERS = 12
DOWN = 12
TOPICS, PARTITIONS = 1_000, 10
QUORUM = "LeaderId:  101\nCurrentVoters:  [101,102,103]\n"


def describe(seed: int = 0) -> Iterator[str]:
    """What `kafka-topics --describe` of 4.1 would print of such a cluster."""
    among = random.Random(seed)
    for at in range(TOPICS):
        size, least = among.choice(((3, 2), (3, 2), (3, 2), (3, 1), (2, 1), (4, 2), (3, 3)))
        name = f"topic-{at}"
        yield (f"Topic: {name}\tTopicId: 0nbqYUGlQ8mAk9kyqkCUOQ\tPartitionCount: {PARTITIONS}\tReplicationFactor: {size}\t"
               f"Configs: min.insync.replicas={least}")  # fmt: skip
        for number in range(PARTITIONS):
            replicas = among.sample(range(1, BROKERS + 1), size)
            isr = [one for one in replicas if one != DOWN and among.random() > 0.002] or replicas[:1]
            elr = [one for one in replicas if one not in isr] if len(isr) < least else []
            shown = [",".join(map(str, some)) for some in (replicas, isr, elr)]
            yield (f"\tTopic: {name}\tPartition: {number}\tLeader: {isr[0]}\tReplicas: {shown[0]}\tIsr: {shown[1]}\t"
                   f"Elr: {shown[2]}\tLastKnownElr: ")  # fmt: skip


def main() -> None:
    """Runs it twice with a cache of its own."""
    with tempfile.TemporaryDirectory() as place:
        topics, quorum = Path(place, "topics.txt"), Path(place, "quorum.txt")
        topics.write_text("\n".join(describe()) + "\n", "utf-8")
        quorum.write_text(QUORUM, "utf-8")
        words = ("--kafka-version", "4.1.0", "--quorum", str(quorum), "-q")
        command = [sys.executable, "-m", "acked", "roll", str(topics), *words]
        environment = {**os.environ, "ACKED_CACHE_DIR": str(Path(place, "cache"))}
        Path(place, "cache").mkdir(mode=0o700)
        for when in ("nothing cached", "again"):
            begun, used = time.monotonic(), _processor_seconds()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            wall, processor = time.monotonic() - begun, _processor_seconds() - used
            lines = done.stdout.splitlines()
            print(f"{when}: {wall:.1f} s, {processor:.1f} s of a processor; exit {done.returncode}, {len(lines)} lines")
        print("\n".join(lines))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
