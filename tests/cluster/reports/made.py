"""Reproductions made without brokers from what they would have shown."""

from __future__ import annotations

from functools import cache

from acked.cluster.observe.disk import Replica
from acked.cluster.playing.play import PlayedRun, SeenStep
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Reproduction
from acked.cluster.playing.setting import Brokers, Changed
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.reports.reproductions.words import Answer
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record
from tests.cluster.playing.runs import question, run

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e Truncating partition played-0"

STEPS = [
    "Produce(leader=0, record=0, answered=True)",
    "Crash(broker=0, log_end=1, checkpoint=0)",
    "ElectLeader(broker=1)",
    "BecomeLeader(leader=1)",
]


@cache
def prepared() -> PreparedRun:
    asked = question("3.9", "kraft", replicas=2, acks="1", log_size=1)
    return REPLICATION.prepare(asked, run(asked, STEPS), Brokers("3.9.1", Mode.KRAFT))


def seen(leader: int, is_written: bool = True, running: tuple[int, ...] = (0, 1)) -> TopicView:
    log = (Record(0, 0, b"r0"),) if is_written else ()
    replicas = (Replica(0, log, None, 0), Replica(1, (), None, 0))
    return TopicView(PartitionView(0, leader, (0, 1), running, 0), replicas, running)


def played(made: PreparedRun, taken: int = 4) -> Reproduction[TopicView, Answers]:
    """All steps, or the first ones, after which the brokers went another way and the producer had no answer."""
    shown = [seen(0), None, seen(1, running=(1,)), seen(1, running=(1,))]
    answers = Answers({0: 0} if taken else {})
    steps = [
        SeenStep(step, what, answers, 0.1)
        for step, what in zip(made.script.steps[:taken], shown[:taken], strict=True)
    ]
    parted = None if taken == 4 else made.script.steps[taken]
    end = PlayedRun(
        seen(0, False), tuple(steps), parted, "" if parted is None else "the producer of r0 has no answer",
        answers, seen(1, running=(1,)),
        {"AckedRecordsSurvive": parted is None}, ("broker 1: Truncating to offset 0",), 1.5,
        beyond=() if parted is None else tuple(
            SeenStep(step, seen(0, is_written=False), Answers({}, {0: 19}), 0.2, (f"broker 0: {HOSTILE}",))
            for step in made.script.steps[taken:]
        ),
    )  # fmt: skip
    return Reproduction(made, end, 7.0, None)


def answer(first: int = 4, control: int | None = None) -> Answer:
    made = prepared()
    [promise] = made.question.properties
    second = None if control is None else played(made.control(Changed(setting=("acks", "all"))), control)
    changed = None if second is None else Changed(setting=("acks", "all"))
    return Answer("acks=1 keeps", promise, played(made, first), changed, second)
