"""`acked audit --prove-it`, without brokers: what would be played, on which release, with which settings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from acked.audit.commands.prove_it import brokers_of
from acked.audit.decision.release import Deployment
from acked.audit.decision.release import release as number_of
from acked.base.errors import ConfigurationError, SystemFailure
from acked.cli import main
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from tests.cluster.reports.made import answer

ASKED = ["audit", "--ask", "loss", "--faults", "clean", "--records", "1", "--no-advice", "--no-cache", "-q", "--prove-it"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[PreparedRun]:
    """What would be played; instead of brokers there is a failure."""
    seen: list[PreparedRun] = []

    def instead(made: PreparedRun, keep: bool, heed: object) -> None:
        seen.append(made)
        raise SystemFailure("here brokers would start")

    monkeypatch.setattr("acked.audit.commands.prove_it.reproduce", instead)
    return seen


def settings(**more: str) -> list[str]:
    given = {"replication.factor": "2", "min.insync.replicas": "1", "enable.idempotence": "false", **more}
    return [f"--set={key}={value}" for key, value in given.items()]


@pytest.mark.slow
def test_a_yes_is_played_on_the_users_release_with_the_users_settings(
    started: list[PreparedRun], capsys: pytest.CaptureFixture[str]
) -> None:
    more = settings(**{"acks": "1", "log.flush.interval.messages": "7"})
    assert main([*ASKED, *more, "--kafka-version", "3.9", "--control-plane", "kraft"]) == 153
    told = capsys.readouterr()
    assert "FAIL: acknowledged records can be lost" in " ".join(told.out.split()), "the audit itself is shown first"
    assert told.err.splitlines() == ["acked: here brokers would start"]
    [made] = started
    assert (made.brokers, made.others) == (Brokers("3.9.0", Mode.KRAFT), ())
    assert (made.setting.acks, made.setting.replicas) == (1, 2)
    assert made.setting.topic == {
        "min.insync.replicas": "1", "unclean.leader.election.enable": "false", "flush.messages": "7",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "code", "words"),
    [
        ({"AckedRecordsSurvive": True}, 12, "reproduced on Kafka 3.9.1 with KRaft"),
        ({"AckedRecordsSurvive": False}, 14, "with KRaft, and AckedRecordsSurvive was not seen broken"),
        ({}, 14, "as the model says on Kafka 3.9.1 with KRaft, and brokers do not show whether AckedRecordsSurvive holds"),
    ],
)
def test_a_yes_is_proved_only_if_the_loss_was_seen(
    broken: dict[str, bool], code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = answer()
    end = replace(made.first.played, broken=broken)
    shown = replace(made, first=replace(made.first, played=end))
    monkeypatch.setattr("acked.audit.commands.prove_it.prove", lambda chosen, limit, heed: shown)
    assert main([*ASKED, *settings(acks="1"), "--kafka-version", "3.9", "--control-plane", "kraft"]) == code
    assert words in " ".join(capsys.readouterr().out.split())


@pytest.mark.long
def test_what_has_no_yes_has_nothing_to_play(started: list[PreparedRun], capsys: pytest.CaptureFixture[str]) -> None:
    more = settings(**{"acks": "all", "min.insync.replicas": "2"})
    assert main([*ASKED, *more, "--kafka-version", "4.1.0", "--format", "json"]) == 0
    told = capsys.readouterr()
    assert "there is no yes to prove" in told.err
    document = json.loads(told.out)
    assert (document["verdict"], document["proof"]) == ("no", None)
    assert started == []


def test_it_is_for_the_terminal_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, *settings(), "--format", "sarif"]) == 151
    assert "--prove-it is text or JSON" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("release", "plane", "version"),
    [
        ("3.9", "zookeeper", "3.9.0"),
        ("3.6", "kraft", "3.6.2"),
        ("3.6.1", "kraft", "3.6.1"),
        ("2.0.1", "zookeeper", "2.0.1"),
    ],
)
def test_brokers_are_the_newest_with_the_rules_of_the_release_that_is_audited(release: str, plane: str, version: str) -> None:
    assert brokers_of(Deployment(number_of(release), plane)) == Brokers(version, Mode(plane))


def test_a_release_that_cannot_be_started_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"no brokers of Kafka 0\.8\.2 with ZooKeeper to start"):
        brokers_of(Deployment(number_of("0.8.2"), "zookeeper"))
