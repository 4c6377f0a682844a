"""A reproduction in the terminal and as JSON, made without brokers from what they would have shown."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from acked.base.errors import ExitCode, SpecUnreadable
from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import replay
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.page import page_data, reproduction_page
from acked.cluster.reports.reproductions.reading import read_answer
from acked.cluster.reports.reproductions.replication import end_in_words, model_cells, real_cells
from acked.cluster.reports.reproductions.terminal import print_answer
from acked.cluster.reports.reproductions.verdict import Judgement, Verdict
from acked.cluster.reports.reproductions.words import Answer
from acked.cluster.topics.topic import TopicView
from acked.reports.console import open_console
from tests.cluster.reports.made import answer, played, prepared, seen


def text(shown: Answer, width: int = 60) -> str:
    stream = io.StringIO()
    print_answer(open_console(stream, width), shown)
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


def test_a_wide_terminal_has_model_brokers_and_control_beside_each_other() -> None:
    lines = text(answer(control=0), 140).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("     model"))
    assert [part.strip() for part in lines[at].split("│")] == ["model", "Kafka 3.9.1 with KRaft", "control, acks=all"]
    first = next(number for number, line in enumerate(lines) if line.startswith(" 1 ✓"))
    blocks = [" ".join(part.split()) for part in lines[first + 1].split("│")]
    assert blocks[0] == blocks[1] == "r0 | hw 0 - | hw 0 0, ISR {0, 1}"
    assert blocks[2] == "- | hw 0 ✗ - | hw 0 0, ISR {0, 1}", "what is another is marked"
    assert len(lines[first + 1]) <= 140


@cache
def saved_text() -> str:
    return json.dumps(answer_document(answer(), {}))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace of these tests is replayed once; what was changed in it is replayed all the same."""
    trace = json.dumps(json.loads(saved_text())["trace"])

    def replayed(document: dict[str, Any]) -> Counterexample:
        made = answer()
        is_known = json.dumps(document) == trace
        prepared = made.first.prepared
        return Counterexample(made.title, prepared.question, prepared.run, made.promise) if is_known else replay(document)

    monkeypatch.setattr("acked.cluster.reports.reproductions.reading.replay", replayed)


@pytest.mark.slow
def test_a_saved_reproduction_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    made, left_out = answer(4, 0), {"AskToShrink": "by the clock"}
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(answer_document(made, left_out), indent=1), "utf-8")
    again, reasons = read_answer(path)
    assert (text(again, 140), reasons) == (text(made, 140), left_out)
    assert answer_document(again, reasons) == answer_document(made, left_out)
    assert again.judgement == made.judgement


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda it: it.update(format="acked-trace/1"), "its format should be"),
        (lambda it: it.pop("trace"), "'trace' is missing"),
        (lambda it: it["trace"]["steps"][1]["params"].update(leader=1), "step 1 is not a transition of the protocol"),
        (lambda it: it["steps"].pop(), "it tells 3 steps of 4"),
        (lambda it: it["steps"][0].update(taken=False), "neither takes all steps nor parts"),
        (lambda it: it["steps"][0]["seen"]["brokers"].pop(), "it tells of 1 brokers"),
        (lambda it: it["steps"][0]["seen"]["brokers"][0].update(log="r0"), "'log' is missing or is not a JSON array"),
        (lambda it: it.update(acknowledged={"x": 0}), "'x' is not a record"),
        (lambda it: it.update(seconds=float("nan")), "'seconds' is missing or is not a number"),
        (lambda it: it.update(lines=["a"] * 2000), "more than 1000 lines"),
        (lambda it: it.update(kafka="9.9.9"), "Kafka 9.9.9 is not a release"),
        (lambda it: it.update(control_plane="paper"), "'control_plane' is missing or is not one of zookeeper, kraft"),
    ],
)
def test_a_saved_reproduction_that_was_changed_is_refused_in_one_sentence(
    change: Callable[[dict[str, Any]], object], words: str, tmp_path: Path, known: None
) -> None:
    document = json.loads(saved_text())
    change(document)
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(SpecUnreadable, match=re.escape(words)) as refused:
        read_answer(path)
    assert str(path) in str(refused.value)


def test_the_page_has_every_step_with_how_brokers_went_along() -> None:
    data = page_data(answer(control=0))
    model, brokers, control = data["traces"]
    assert [step["seen"]["agreement"] for step in brokers["packet"]["steps"]] == ["same", "same", "next", "same", "same"]
    agreements = [step["seen"]["agreement"] for step in control["packet"]["steps"]]
    assert agreements == ["same", "parted", "beyond", "beyond", "beyond"]
    parted = control["packet"]["steps"][1]["seen"]
    assert (parted["differs"], parted["rows"]) == (["the producer of r0 has no answer"], ["broker 0"])
    assert len(model["packet"]["steps"]) == 5
    assert [ending for ending, _ in data["played"]["verdicts"]] == ["bad", "good"]


def test_a_broker_cannot_write_into_the_page() -> None:
    page = reproduction_page(answer(control=0))
    assert "</script><img" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "Truncating partition played-0" in page


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
    assert (made.judgement.exit_code, made.judgement.verdict) == (code, verdict)
    words = {0: "the control keeps it and goes another way at step 1", 4: "the control, acks=all, goes the same way"}
    if control is not None:
        assert words[control] in " ".join(text(made).split())


def test_a_trace_that_breaks_nothing_is_kept() -> None:
    made = answer()
    assert Answer(made.title, None, made.first).judgement == Judgement(Verdict.KEPT)
    assert Verdict.KEPT.exit_code is ExitCode.HOLDS


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
    assert model_cells(script.steps[0].after) == real_cells(seen(0), 2) == ["r0 | hw 0", "- | hw 0", "0, ISR {0, 1}"]
    assert real_cells(TopicView(None, seen(0).replicas, ()), 2) == ["r0 | hw 0, down", "- | hw 0, down", "nobody, ISR {}"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (True, "the broker that ZooKeeper names as leader does not lead, or another one does"),
        (False, "the broker that ZooKeeper names as leader leads, and no other does"),
    ],
)
def test_what_became_of_a_promise_about_controllers_is_said(broken: bool, said: str) -> None:
    made = played(prepared())
    end = replace(made.played, broken={"BrokersFollowZookeeper": broken, "OneController": not broken})
    assert end_in_words(end, "BrokersFollowZookeeper") == said
