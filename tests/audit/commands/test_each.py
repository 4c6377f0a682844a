"""What a hook is given: every changed file for itself, and what is not Kafka's is passed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from acked.audit.commands.audit import audit
from tests.places import CHECKOUT

OPTIONS = ("--each", "-q", "-j", "1", "--ask", "loss", "--faults", "clean", "--no-advice", "--kafka-version", "4.1")


def run(*arguments: object) -> Result:
    named = [argument.name if isinstance(argument, Path) else argument for argument in arguments]
    return CliRunner().invoke(audit, [*OPTIONS, *map(str, named)], standalone_mode=False)


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of a service in Java, in which commands run."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "src/main/resources/log4j.properties": "log4j.rootLogger=INFO, stdout\n",
        "src/main/resources/messages_en.properties": "greeting=Hello\nfarewell=Goodbye\n",
        "gradle.properties": "org.gradle.jvmargs=-Xmx2g\n",
        "docker-compose.yml": "services:\n  db:\n    image: postgres:16\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_files_of_nothing_of_kafkas_are_passed(java: Path) -> None:
    done = run(*(str(path.relative_to(java)) for path in java.rglob("*") if path.is_file()))
    assert (done.exception, done.return_value) == (None, 0)


@pytest.mark.slow
def test_files_that_differ_are_each_audited_and_a_weak_one_is_red(java: Path) -> None:
    for name, least in (("dev", 1), ("prod", 2)):
        (java / f"{name}.properties").write_text(f"default.replication.factor=2\nmin.insync.replicas={least}\n", "utf-8")
    (java / "producer.properties").write_text("bootstrap.servers=kafka:9092\nacks=all\n", "utf-8")
    files = [java / "gradle.properties", *(java / f"{name}.properties" for name in ("dev", "prod", "producer"))]
    done = run(*files, "--full")
    assert (done.exception, done.return_value) == (None, 0)
    assert "replication.factor=3 and min.insync.replicas=2 is assumed" in " ".join(done.output.split())
    (java / "producer.properties").write_text("bootstrap.servers=kafka:9092\nacks=1\n", "utf-8")
    red = run(*files)
    assert (red.exception, red.return_value) == (None, 12)
    assert "producer.properties" in red.output


@pytest.mark.slow
def test_the_only_file_that_changed_is_named(java: Path) -> None:
    (java / "server.properties").write_text("default.replication.factor=2\nunclean.leader.election.enable=true\n", "utf-8")
    red = run("server.properties")
    assert (red.exception, red.return_value) == (None, 12)
    assert "server.properties: every topic" in red.output
    assert "0 topics" not in red.output


def test_a_name_with_a_slip_stops_the_commit(java: Path) -> None:
    (java / "server.properties").write_text("min.insync.replica=2\n", "utf-8")
    assert "min.insync.replicas seems to be meant" in str(run(java / "server.properties").exception)


def test_what_the_command_line_sets_counts_in_every_file_and_a_slip_in_it_is_refused(java: Path) -> None:
    server = java / "server.properties"
    server.write_text("min.insync.replicas=2\n", "utf-8")
    shown = run(server, "--show-settings", "--producer", "acks=1", "--set", "min.insync.replicas=1")
    assert shown.exception is None
    assert re.search(r"^acks=1 +--producer$", shown.output, re.MULTILINE)
    assert re.search(r"^min.insync.replicas=1 +--set,", shown.output, re.MULTILINE)
    assert "did you mean min.insync.replicas?" in str(run(server, "--set", "min.insync.replica=1").exception)


@pytest.mark.parametrize(
    "others", [("--bootstrap-server", "localhost:1"), ("--set", "acks=1"), ("--timeout", "3", "gradle.properties")]
)
def test_no_answer_is_green_because_nothing_of_what_was_named_was_audited(java: Path, others: tuple[str, ...]) -> None:
    assert "name files alone" in str(run(*others).exception)


def test_a_file_that_is_not_there_is_not_passed(java: Path) -> None:
    assert "server.properties is not there" in str(run("gradle.properties", "server.properties").exception)


def test_the_hook_that_ships_is_this_command() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert hooks["acked-audit"]["entry"] == "acked audit --quiet --each --faults clean"
