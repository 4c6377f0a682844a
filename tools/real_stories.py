"""Plays the stories of `tests/cluster/stories` on real brokers, and counts how often they end as they are told.

    python tools/real_stories.py [--runs 10] [--only STORY] [--burners N]
    python tools/real_stories.py --others

`--others` plays those that are not of the prototype, three times each.
`--burners` starts so many processes beside them that do nothing but use a processor. What was counted stands in
docs/real_stories.json, with the load of the machine, and from there in docs/real.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.files import write_text  # noqa: E402
from acked.cluster.nodes.archive import add_archive  # noqa: E402
from acked.cluster.nodes.cluster import Cluster  # noqa: E402
from acked.cluster.nodes.plan import make_plan  # noqa: E402
from acked.cluster.releases.release import Mode  # noqa: E402
from tests.cluster.stories.scripted import STORIES, reset  # noqa: E402
from tests.cluster.stories.stage import Stage  # noqa: E402

COUNTED = ROOT / "docs" / "real_stories.json"
_BURNER = "while True: pass"


@dataclass(frozen=True)
class Told:
    """A story on a release, and how it ends: what was acknowledged, what the leader lacks of it, and the leader's log."""

    story: str
    kafka: str
    acknowledged: tuple[str, ...]
    lost: tuple[str, ...]
    log: tuple[str, ...]
    mode: Mode | None = None

    def in_words(self) -> str:
        """How it ends."""
        if self.lost:
            return f"{' and '.join(self.lost)} is acknowledged, and lost"
        if not self.acknowledged:
            return "nothing is acknowledged, nothing lost"
        return f"nothing is lost; the log is {' '.join(self.log)}"


def loses(story: str, kafka: str, mode: Mode | None = None) -> Told:
    """The record that was acknowledged is lost."""
    return Told(story, kafka, ("r0",), ("r0",), (), mode)


NINE = (
    loses("acks-1", "4.1.0"),
    loses("unclean", "2.1.1"),
    loses("alone", "0.10.2.2"),
    loses("kip101", "0.10.2.2"),
    loses("no-epoch-yet", "2.0.0"),
    Told("diverging", "2.8.0", ("r1",), ("r1",), ("r0",)),
    Told("lost-answer", "4.1.0", ("r0",), (), ("r0", "r0")),
    loses("kills", "4.1.0"),
    loses("shutdowns", "3.9.1", Mode.KRAFT),
)


OTHERS = (
    Told("past-epoch", "2.4.1", ("r1",), ("r1",), ("r0",)),
    Told("past-epoch", "2.5.1", (), (), ("r0",)),
    Told("lost-answer-idempotent", "4.1.0", ("r0",), (), ("r0",)),
    *(
        told
        for kafka in ("2.1.1", "4.1.0")
        for told in (
            Told("library-retries", kafka, ("r0",), (), ("r0", "r0")),
            Told("library-retries-idempotent", kafka, ("r0",), (), ("r0",)),
            Told("library-overtakes", kafka, ("r0", "r2", "r1"), (), ("r0", "r2", "r1")),
            Told("library-overtakes-idempotent", kafka, ("r0", "r1", "r2"), (), ("r0", "r1", "r2")),
        )
    ),
)
"""Those that are not of the prototype: three of three are enough."""


def processor_seconds(cluster: Cluster) -> float:
    """What a broker has used of a processor by now, in the middle of all brokers."""
    used = []
    for broker in cluster.plan.brokers:
        jvm = cluster.nodes[broker].jvm
        assert jvm is not None
        fields = Path(f"/proc/{jvm.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        used.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return statistics.median(used)


def count(one: Told, runs: int, burners: int) -> dict[str, Any]:
    """Plays one on one cluster so many times."""
    story, seconds, loads, others = STORIES[one.story], [], [], []
    with Cluster(add_archive(make_plan(one.kafka, one.mode, settings=dict(story.settings)))) as cluster:
        used = processor_seconds(cluster)
        for number in range(runs):
            stage = Stage(cluster, f"t{number}")
            begun = time.monotonic()
            outcome = story.play(stage)
            seconds.append(time.monotonic() - begun)
            loads.append(os.getloadavg()[0])
            ended = (tuple(stage.acknowledged), outcome.lost, outcome.log)
            if ended != (one.acknowledged, one.lost, one.log):
                others.append(str(ended))
            told = f"{number + 1} of {runs}, {seconds[-1]:.1f} s, load {loads[-1]:.0f}"
            print(f"{one.story} on {one.kafka}: {told}{'' if not others else f', others: {others}'}", flush=True)
            if number < runs - 1:
                reset(stage, cluster)
    return {
        "story": one.story,
        "kafka": one.kafka,
        "date": datetime.date.today().isoformat(),
        "runs": runs,
        "as_told": runs - len(others),
        "others": others,
        "burners": burners,
        "load": [round(min(loads), 1), round(max(loads), 1)],
        "up": round(cluster.seconds, 1),
        "processor": round(used, 1),
        "seconds": round(statistics.median(seconds), 1),
    }


@contextmanager
def burning(burners: int) -> Iterator[None]:
    """Processes that use a processor each, as long as it lasts."""
    started = [subprocess.Popen([sys.executable, "-c", _BURNER]) for _ in range(burners)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> None:
    """Counts, and keeps what was counted after every story."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--others", action="store_true", help="those that are not of the prototype")
    parser.add_argument("--runs", type=int, help="how often; 10, or 3 of the others")
    parser.add_argument("--only", help="a story")
    parser.add_argument("--burners", type=int, default=0)
    given = parser.parse_args()
    counted: dict[str, Any] = json.loads(COUNTED.read_text("utf-8")) if COUNTED.is_file() else {}
    with burning(given.burners):
        for one in OTHERS if given.others else NINE:
            if given.only in (None, one.story):
                beside = f", {given.burners} burners" if given.burners else ""
                runs = given.runs or (3 if given.others else 10)
                counted[f"{one.story} on {one.kafka}{beside}"] = count(one, runs, given.burners)
                write_text(COUNTED, json.dumps(counted, indent=1, sort_keys=True) + "\n", "counts")


if __name__ == "__main__":
    main()
