"""`acked audit plan` of a quorum: at which step a failure loses metadata, as specs and the page of controllers have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acked.audit.quorum.plan import read_quorum_plan
from acked.base.errors import SpecUnreadable
from acked.cli import main

LOST = {"dynamic 1 2": "QuorumCanElect", "dynamic 1 2 3": None, "static 1 2": None, "static 1 2 3": "OneLeaderPerEpoch"}
"""What one lost disk breaks, as `docs/controllers.md` has it."""


def run(tmp_path: Path, plan: str, *options: str) -> int:
    (tmp_path / "quorum.txt").write_text(plan.replace(", ", "\n"))
    return main(["audit", "plan", str(tmp_path / "quorum.txt"), "-q", *options])


def steps(document: dict[str, Any]) -> dict[str, dict[str, str | None]]:
    """By step, and by failure, what is broken."""
    return {one["step"]: {answer["failure"]: answer["violates"] for answer in one["answers"]} for one in document["steps"]}


@pytest.mark.slow
@pytest.mark.parametrize("voters", LOST)
def test_before_any_step_one_lost_disk_costs_what_the_page_says(
    voters: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(tmp_path, voters, "--format", "json")
    document = json.loads(capsys.readouterr().out)
    assert steps(document) == {"before it": {"nothing": None, "disk": LOST[voters]}}
    assert (code, document["verdict"]) == ((12, "yes") if LOST[voters] else (0, "no"))


@pytest.mark.slow
def test_the_active_one_of_two_is_not_removed_safely_and_every_form_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claim `controllers-remove-active-of-two`, which needs no failure but that it stops."""
    plan = "dynamic 10 20, remove-controller 10"
    assert run(tmp_path, plan, "--format", "json") == 12
    document = json.loads(capsys.readouterr().out)
    assert steps(document)["remove-controller 10"] == {"nothing": "QuorumCanElect"}
    assert document["steps"][1]["answers"][0]["steps"] == ["leader 0 dies and starts again and leads no more"]
    for form in ("text", "markdown"):
        assert run(tmp_path, plan, "--format", form) == 12
        told = capsys.readouterr().out.replace("\\", "")
        assert "no leader for good" in told
        assert "leader 0 dies and starts again and leads no more" in told
        assert "0 is 10 and 1 is 20" in told


@pytest.mark.long
def test_one_of_three_that_was_stopped_is_removed_safely_and_the_two_that_are_left_bear_no_lost_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Above one of two is removed, and below one of three is stopped."""
    assert run(tmp_path, "dynamic 1 2 3, stop 3, remove-controller 3", "--format", "json") == 12
    found = steps(json.loads(capsys.readouterr().out))
    assert found["stop 3"] == {"nothing": None, "disk": None}
    assert found["remove-controller 3"] == {"nothing": None, "disk": "QuorumCanElect"}


@pytest.mark.slow
def test_a_third_voter_is_added_safely_and_two_of_which_one_loses_its_disk_have_no_leader_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "dynamic 1 2, add-controller 3", "--format", "json") == 12
    document = json.loads(capsys.readouterr().out)
    assert steps(document) == {
        "before it": {"nothing": None, "disk": "QuorumCanElect"},
        "add-controller 3": {"nothing": None, "disk": "QuorumCanElect"},
    }
    assert "2 records, 2 leader epochs beyond" in document["assumed"]


@pytest.mark.long
def test_a_fourth_voter_is_added_safely_unless_a_disk_is_lost_before_the_change_is_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who has the change needs the vote of the new one, whose log is newer; the new one does not know that it may stand.

    Above a third one is added.
    """
    assert run(tmp_path, "dynamic 1 2 3, add-controller 4", "--format", "json") == 12
    document = json.loads(capsys.readouterr().out)
    assert steps(document) == {
        "before it": {"nothing": None, "disk": None}, "add-controller 4": {"nothing": None, "disk": "QuorumCanElect"},
    }  # fmt: skip
    assert "1 record, 1 leader epoch beyond" in document["assumed"]


@pytest.mark.slow
def test_a_search_that_meets_its_bound_leaves_the_plan_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "dynamic 1 2 3", "--max-states", "50") == 152
    assert "UNDECIDED" in capsys.readouterr().out


@pytest.mark.parametrize(("plan", "why"), [
    ("dynamic, stop 1", ":1: 'dynamic' does not name the voters"),
    ("static 1 1", "does not name the voters, each once"),
    ("dynamic 1 2, restart 1", ":2: 'restart 1' is no step"),
    ("static 1 2 3, remove-controller 1", "static voters are not changed while controllers run"),
    ("dynamic 1 2, add-controller 2", "DUPLICATE_VOTER"),
    ("dynamic 1 2, stop 3, add-controller 3", "it is stopped, and Kafka adds one that has caught up"),
    ("dynamic 1 2, remove-controller 3", "it is no voter"),
    ("dynamic 1 2, remove-controller 1, remove-controller 2", ":3: remove-controller 2: it is the last voter"),
    ("dynamic 1 2, upgrade", "kraft.version is 1 already"),
    ("static 1 2, stop 2, upgrade", "a voter is stopped"),
    ("dynamic 1 2, format 1", "it runs; stop it first"),
    ("dynamic 1 2, stop 1, stop 1", "it is stopped already"),
    ("dynamic 1 2, start 1", "it runs already"),
    ("dynamic 1 2 3 4 5 6", "has 6 controllers, and at most 5"),
    ("dynamic 1, stop 1, start 1, stop 1, start 1, stop 1, start 1, stop 1", "has 4 stops, and at most 3"),
])  # fmt: skip
def test_what_cannot_be_done_is_refused_with_its_line(plan: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "quorum.txt").write_text(plan.replace(", ", "\n"))
    with pytest.raises(SpecUnreadable) as refused:
        read_quorum_plan(tmp_path / "quorum.txt")
    assert why in str(refused.value)


@pytest.mark.slow
def test_an_upgrade_protects_from_a_lost_disk_once_every_voter_has_it_and_not_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "static 1 2 3, upgrade, stop 3", "--format", "json") == 12
    document = json.loads(capsys.readouterr().out)
    assert {name: answers["disk"] for name, answers in steps(document).items()} == {
        "before it": "OneLeaderPerEpoch", "upgrade": "OneLeaderPerEpoch", "stop 3": None,
    }  # fmt: skip


@pytest.mark.slow
def test_before_pre_vote_four_static_voters_bear_no_lost_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version, broken in (("3.9", "MetadataSurvives"), ("4.0", None)):
        run(tmp_path, "static 1 2 3 4", "--format", "json", "--kafka-version", version)
        assert steps(json.loads(capsys.readouterr().out)) == {"before it": {"nothing": None, "disk": broken}}


@pytest.mark.slow
def test_a_change_that_nobody_can_commit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "dynamic 1 2 3, stop 2, stop 3, remove-controller 3, remove-controller 2") == 150
    assert "those that run cannot lead or commit" in capsys.readouterr().err


def test_what_a_plan_of_a_quorum_is_not_asked_with_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, why in (
        (("--faults", "clean"), "leave out faults"),
        (("--format", "html"), "choose another --format"),
        (("--kafka-version", "3.8"), "Kafka 3.8 has no dynamic voters"),
    ):
        assert run(tmp_path, "dynamic 1 2", *options) == 151
        assert why in capsys.readouterr().err
    assert run(tmp_path, "static 1 2, upgrade", "--kafka-version", "4.0") == 151
    assert "Kafka 4.0 has no upgrade of kraft.version" in capsys.readouterr().err


def test_how_many_may_stop_meanwhile_counts_voters_that_run_with_the_disk_that_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "quorum.txt"
    file.write_text("# a disk is replaced\ndynamic 1 2 3\nstop 3\nformat 3\nstart 3 # as no voter\nremove-controller 3\n"
                    "add-controller 3\nadd-controller 4\n")  # fmt: skip
    plan = read_quorum_plan(file)
    assert [standing.spare for standing in plan.standings] == [1, 0, 0, 0, 0, 1, 1]
    file.write_text("static 1 2 3\nstop 3\nformat 3\nstart 3\nupgrade\nstop 1\n")
    assert [standing.spare for standing in read_quorum_plan(file).standings] == [1, 0, 0, 1, 1, 0]
