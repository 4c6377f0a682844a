"""A reproduction in the terminal and as JSON, made without brokers from what they would have shown."""

from __future__ import annotations

import io
import json

import pytest

from acked.checker.errors import ExitCode
from acked.cluster.observe.disk import Replica
from acked.cluster.playing.play import Played, SeenStep
from acked.cluster.playing.reproduce import Brokers, Changed, Prepared, Reproduction, prepare
from acked.cluster.releases.release import Mode
from acked.cluster.stories.seen import Seen
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record
from acked.reports.console import open_console
from acked.reports.reproductions.document import answer_document
from acked.reports.reproductions.terminal import print_answer
from acked.reports.reproductions.words import Answer, Verdict, modelled, real
from tests.cluster.playing.runs import question, run

STEPS = [
    "Produce(leader=0, record=0, answered=True)",
    "Crash(broker=0, log_end=1, checkpoint=0)",
    "ElectLeader(broker=1)",
    "BecomeLeader(leader=1)",
]


def prepared() -> Prepared:
    asked = question("3.9", "kraft", replicas=2, acks="1", log_size=1)
    return prepare(asked, run(asked, STEPS), Brokers("3.9.1", Mode.KRAFT))


def seen(leader: int, is_written: bool = True, running: tuple[int, ...] = (0, 1)) -> Seen:
    log = (Record(0, 0, b"r0"),) if is_written else ()
    replicas = (Replica(0, log, None, 0), Replica(1, (), None, 0))
    return Seen(PartitionView(0, leader, (0, 1), running, 0), replicas, running)


def played(made: Prepared, taken: int = 4) -> Reproduction:
    """All steps, or the first ones, after which the brokers went another way and the producer had no answer."""
    shown = [seen(0), None, seen(1, running=(1,)), seen(1, running=(1,))]
    acknowledged = {0: 0} if taken else {}
    steps = [
        SeenStep(step, what, acknowledged, 0.1)
        for step, what in zip(made.script.steps[:taken], shown[:taken], strict=True)
    ]
    parted = None if taken == 4 else made.script.steps[taken]
    lost = (0,) if parted is None else ()
    end = Played(
        seen(0, False), tuple(steps), parted, "" if parted is None else "the producer of r0 has no answer",
        acknowledged, {}, 1, seen(1, running=(1,)), lost, (), (),
        {"AckedRecordsSurvive": bool(lost)}, ("broker 1: Truncating to offset 0",), 1.5,
    )  # fmt: skip
    return Reproduction(made, Mode.KRAFT, end, 7.0, None)


def answer(first: int = 4, control: int | None = None) -> Answer:
    made = prepared()
    [promise] = made.question.properties
    second = None if control is None else played(made.control(Changed(setting=("acks", "all"))), control)
    changed = None if second is None else Changed(setting=("acks", "all"))
    return Answer("acks=1 keeps", promise, played(made, first), changed, second)


def text(shown: Answer) -> str:
    stream = io.StringIO()
    print_answer(open_console(stream, 100), shown)
    return stream.getvalue()


def test_every_step_stands_with_what_model_and_brokers_have() -> None:
    said = text(answer())
    assert "acks=1 keeps: 4 steps on Kafka 3.9.1 with KRaft" in said
    assert " 1 ✓ the producer sends record 0 to broker 0" in said
    assert "both  r0 | hw 0" in said
    assert " 2 · broker 0 crashes" in said
    assert "Producer: r0 was acknowledged at offset 0." in said
    assert "broker 1: Truncating to offset 0" in said
    where = "✗ reproduced on Kafka 3.9.1 with KRaft (AckedRecordsSurvive)"
    assert f"{where}: r0, acknowledged, is not in the log of broker 1" in " ".join(said.split())


def test_model_and_brokers_stand_below_each_other_where_they_part() -> None:
    said = text(answer(first=0))
    where = "the model and Kafka 3.9.1 with KRaft part at step 1 of 4"
    assert f"{where}: the producer of r0 has no answer" in " ".join(said.split())
    assert "     model " in said
    assert "     Kafka " in said
    assert "broker 0 crashes" not in said, "steps after the parting were not compared"


@pytest.mark.parametrize(
    ("first", "control", "code", "verdict"),
    [
        (4, None, ExitCode.INVARIANT, Verdict.REPRODUCED),
        (4, 0, ExitCode.INVARIANT, Verdict.REPRODUCED),
        (4, 4, ExitCode.UNMET_EXPECTATION, Verdict.REPRODUCED),
        (0, None, ExitCode.UNMET_EXPECTATION, Verdict.PARTED),
        (0, 0, ExitCode.UNMET_EXPECTATION, Verdict.PARTED),
    ],
)
def test_a_control_counts_only_if_it_goes_another_way_and_keeps(
    first: int, control: int | None, code: ExitCode, verdict: Verdict
) -> None:
    made = answer(first, control)
    assert (made.exit_code, made.verdict) == (code, verdict)
    words = {0: "the control keeps it and goes another way at step 1", 4: "the control, acks=all, goes the same way"}
    if control is not None:
        assert words[control] in " ".join(text(made).split())


def test_a_trace_that_breaks_nothing_is_kept() -> None:
    made = answer()
    kept = Answer(made.title, None, made.first)
    assert (kept.verdict, kept.exit_code) == (Verdict.KEPT, ExitCode.HOLDS)


def test_the_document_has_all_of_it() -> None:
    document = json.loads(json.dumps(answer_document(answer(control=0), {"AskToShrink": "by the clock"})))
    assert (document["format"], document["verdict"], document["exit_code"]) == ("acked-reproduction/1", "reproduced", 12)
    assert (document["acknowledged"], document["lost"], document["leader"]) == ({"r0": 0}, ["r0"], 1)
    assert [step["seen"] is not None for step in document["steps"]] == [True, False, True, True]
    assert document["steps"][0]["seen"]["brokers"][0] == {
        "log": [{"value": "r0", "epoch": 0}], "high_watermark": 0, "running": True,
    }  # fmt: skip
    assert (document["control"]["keeps"], document["control"]["parted"]["step"]) == (True, 1)
    assert document["control"]["settings"]["acks"] == -1
    assert document["left_out"] == {"AskToShrink": "by the clock"}


def test_a_line_of_the_model_and_one_of_brokers_are_written_alike() -> None:
    script = prepared().script
    assert modelled(script.steps[0].after) == real(seen(0), 2) == ["r0 | hw 0", "- | hw 0", "0, ISR {0, 1}"]
    assert real(Seen(None, seen(0).replicas, ()), 2) == ["r0 | hw 0, down", "- | hw 0, down", "nobody, ISR {}"]
