"""`acked audit plan`: whether a reassignment can lose records, in every form."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from acked.audit.commands import plan as command
from acked.audit.moves.ask import PlanAudit
from acked.audit.reports.moves import plan_document, plan_markdown, plan_page, print_plan
from acked.cli import main
from acked.reports.console import open_console

pytestmark = pytest.mark.usefixtures("lasting_searches")

TOPICS = """\
Topic: logs	PartitionCount: 2	ReplicationFactor: 1	Configs: retention.ms=60000
	Topic: logs	Partition: 0	Leader: 1	Replicas: 1	Isr: 1
	Topic: logs	Partition: 1	Leader: 2	Replicas: 2	Isr: 2
"""


def run(tmp_path: Path, replicas: list[int], *options: str, topics: str = TOPICS, faults: str = "none") -> int:
    (tmp_path / "topics.txt").write_text(topics)
    partitions = [{"topic": "logs", "partition": 0, "replicas": replicas}, {"topic": "logs", "partition": 1, "replicas": [2]}]
    (tmp_path / "plan.json").write_text(json.dumps({"version": 1, "partitions": partitions}))
    named = ["plan", str(tmp_path / "plan.json"), str(tmp_path / "topics.txt")]
    return main(["audit", *named, "--kafka-version", "4.1", "--no-cache", "-q", "--faults", faults, *options])


def answers(document: dict[str, Any]) -> dict[str, str]:
    (group,) = document["groups"]
    return {answer["stage"]: answer["answer"] for answer in group["answers"]}


@pytest.mark.slow
def test_the_only_replica_is_moved_without_a_loss_while_nothing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, [3], "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert answers(document) == dict.fromkeys(("now", "moving", "cancelled", "after"), "no")
    assert document["unchanged"] == ["logs-1"]
    said = "PASS: no acknowledged record is lost while the plan runs (faults: nothing crashes)"
    assert document["verdict_in_words"] == said


@pytest.mark.slow
def test_a_cancellation_with_unclean_elections_loses_records_and_every_form_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim `cancel-keeps-acked-unclean`. Without one stale log ends do it, as there are three replicas for a while."""
    trace = tmp_path / "trace.json"
    audits: list[PlanAudit] = []
    monkeypatch.setattr(command, "plan_document", lambda audit: audits.append(audit) or plan_document(audit))
    more = ("--set", "unclean.leader.election.enable=true", "--records", "1", "--trace-out", str(trace), "--format", "json")
    assert run(tmp_path, [3, 4], *more, faults="none,moves") == 12
    document = json.loads(capsys.readouterr().out)
    assert "AckedRecordsSurvive" in trace.read_text()
    told = {answer["stage"]: answer["story"] for answer in document["groups"][0]["answers"] if answer["story"]}
    assert "CancelMoveUncleanly" in told["cancelled"]["actions"]
    assert len(told["cancelled"]["steps"]) < len(told["moving"]["steps"])
    text = StringIO()
    print_plan(open_console(text, width=200), audits[0])
    for shown in (text.getvalue(), plan_markdown(audits[0]).replace("\\", ""), plan_page(audits[0])):
        assert "acknowledged records can be lost while move 1 runs (faults: leader moves)" in shown
        assert "the operator cancels the reassignment; no old replica is in sync" in shown
        assert "logs-0 (1 → 3,4)" in shown


@pytest.mark.slow
def test_a_loss_without_the_move_is_one_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics = TOPICS.replace("ReplicationFactor: 1", "ReplicationFactor: 2").replace("Replicas: 1", "Replicas: 1,2")
    more = ("--set", "acks=1", "--records", "1", "--format", "json")
    assert run(tmp_path, [1, 3], *more, topics=topics, faults="clean") == 12
    document = json.loads(capsys.readouterr().out)
    assert document["verdict_in_words"].startswith("FAIL: acknowledged records can be lost while move 1 runs, as they can be")
    found = {answer["stage"]: answer["follows_from"] for answer in document["groups"][0]["answers"]}
    assert found["moving"] == found["cancelled"] == "now"


def test_what_a_plan_is_not_asked_with_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, [3], "--ask", "loss") == 151
    assert "No such option '--ask'" in capsys.readouterr().err
    assert run(tmp_path, [3], "--format", "sarif") == 151
    assert "'sarif' is not one of 'text', 'markdown', 'html', 'json'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_plan_that_changes_nothing_passes_and_one_without_a_release_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, [1]) == 0
    assert "PASS: the plan leaves every partition on the brokers that it is on" in " ".join(capsys.readouterr().out.split())
    named = ["audit", "plan", str(tmp_path / "plan.json"), str(tmp_path / "topics.txt"), "-q"]
    (tmp_path / "plan.json").write_text('{"partitions": [{"topic": "logs", "partition": 0, "replicas": [3]}]}')
    assert main(named) == 151
    assert "what a move does differs by release, and nothing names yours; name it with --kafka-version" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_on_4_1_two_replicas_survive_a_move_and_a_machine_that_dies_and_not_a_cancellation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claim `cancel-against-one-loss`: a cancelled move leaves an ISR below min.insync.replicas."""
    topics = TOPICS.replace("ReplicationFactor: 1", "ReplicationFactor: 2").replace("Replicas: 1", "Replicas: 1,2")
    topics = topics.replace("retention.ms=60000", "min.insync.replicas=2")
    more = ("--records", "1", "--format", "json")
    assert run(tmp_path, [2, 3], *more, topics=topics, faults="one-machine") == 0
    assert answers(json.loads(capsys.readouterr().out)) == {"now": "no", "moving": "no", "cancelled": "yes", "after": "no"}
