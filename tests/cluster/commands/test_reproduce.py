"""`acked reproduce` and `acked kafka`: what is refused before anything starts, and what there is to start."""

from __future__ import annotations

import io
import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from acked.base.errors import SystemFailure
from acked.checker.question.result import Counterexample
from acked.cli import main
from acked.cluster.commands.whole_release import Candidate, candidates
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Found
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.release_table import (
    Deed,
    Predicted,
    ReleaseRow,
    WholeRelease,
    print_release,
    read_release,
    release_document,
    summary_of,
)
from acked.cluster.reports.reproductions.words import AnyReproduction
from acked.reports.shell.output import TraceFile
from acked.reports.shell.specs import find_spec
from tests.cluster.playing.runs import question, run
from tests.cluster.reports.made import played, prepared


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["acks-1-loses", "--kafka", "9.9.9"], 151, "Kafka 9.9.9 is not a release that acked can start"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control-plane", "zookeeper"], 151, "cannot be started with zookeeper"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control", "4.1"], 151, "Kafka 4.1 is not a release"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control", "acks="], 151, "neither a release nor KEY=VALUE"),
        (["acks-1-loses", "--kafka", "3.9.1", "--control-plane", "zookeeper"], 151, "rules are those of kraft, and"),
        (["acks-1-loses", "--kafka", "4.1.0", "--control", "min.isr=2"], 151, "topics (did you mean min.insync.replicas?)"),
        (["truncate-to-hw", "--kafka", "4.1.0"], 151, "real brokers play traces of partition"),
        (["kafka14402-bug", "--kafka", "2.8.0"], 151, "does not describe its transactions"),
        (["kafka14402-bug", "--kafka", "3.5.1", "--expire"], 151, "played without --expire"),
        (["kafka14402-bug", "--kafka", "3.5.1", "--control", "acks=all"], 151, "again on another release"),
        pytest.param(
            ["acks-1-min-insync", "--kafka", "4.1.0", "-c", "acks=all"],
            151,
            "has no counterexample to play",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *arguments, "-q"]) == code
    [line] = said(capsys).splitlines()
    assert words in line


# -- how it ends, without brokers --------------------------------------------------------------------------------------


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace that brokers play, of the reproduction that `made` tells of."""
    made, path = prepared(), tmp_path / "trace.json"
    [promise] = made.question.properties
    TraceFile(path).write(Counterexample("acks=1 loses", made.question, made.run, promise))
    return path


@pytest.mark.parametrize(
    ("first", "control", "code", "words"),
    [
        (4, 0, 12, "the control keeps it"),
        (None, None, 14, "brokers do not show whether AckedRecordsSurvive holds"),
        (4, 4, 1, "goes the same way"),
        (0, None, 1, "part at step 1"),
    ],
)
def test_the_exit_code_is_that_of_what_the_brokers_did(
    first: int | None, control: int | None, code: int, words: str,
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    ends = iter([first] if control is None else [first, control])

    def plays(made: PreparedRun, keep: bool, heed: object) -> AnyReproduction:
        taken = next(ends)
        found = played(made, 4 if taken is None else taken)
        return found if taken is not None else replace(found, played=replace(found.played, broken={}))

    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", plays)
    more = [] if control is None else ["--control", "acks=all"]
    arguments = [str(trace), "--kafka", "3.9.1", "--control-plane", "kraft"]
    assert main(["reproduce", *arguments, *more, "-q"]) == code
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_trace_that_breaks_nothing_ends_with_0_and_brokers_that_do_not_start_with_153(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, path = prepared(), tmp_path / "kept.json"
    TraceFile(path).write(Counterexample("nothing is lost", made.question, made.run, None))
    arguments = ["reproduce", str(path), "--kafka", "3.9.1", "--control-plane", "kraft", "-q"]
    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", lambda made, keep, heed: played(made, 4))
    assert main(arguments) == 0

    def fails(made: object, keep: bool, heed: object) -> None:
        raise SystemFailure("broker 1 did not start: its disk is full")

    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", fails)
    assert main(arguments) == 153
    assert said(capsys).splitlines() == ["acked: broker 1 did not start: its disk is full"]


def test_rules_that_are_not_the_brokers_are_said_before_anything_starts(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def starts(made: object, keep: bool, heed: object) -> None:
        raise SystemFailure("here brokers would start")

    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", starts)
    assert main(["reproduce", str(trace), "--kafka", "2.0.1"]) == 153
    rules, end = said(capsys).splitlines()
    assert rules.startswith("the rules of the trace are not those of Kafka 2.0.1: truncation is ")
    assert end == "acked: here brokers would start"
    assert main(["reproduce", str(trace), "--kafka", "2.0.1", "--kafka-version", "2.0.1"]) == 151
    assert "whose constants are fixed" in said(capsys)


def test_the_rules_may_be_those_of_another_release_than_the_brokers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[PreparedRun] = []

    def starts(made: PreparedRun, keep: bool, heed: object) -> None:
        seen.append(made)
        raise SystemFailure("here brokers would start")

    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", starts)
    assert main(["reproduce", "acks-1-loses", "--kafka", "4.1.0", "--kafka-version", "0.10"]) == 153
    rules = next(line for line in said(capsys).splitlines() if line.startswith("the rules"))
    assert rules.startswith("the rules of the trace are not those of Kafka 4.1.0: truncation is ")
    [made] = seen
    assert made.brokers.version == "4.1.0"
    assert made.question.instance.shown_constants["truncation"] == "high watermark"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "mode", "other"),
    [
        (["kip966-bug", "--kafka", "3.9.1", "--control", "4.1.0"], Mode.KRAFT, "4.1.0"),
        (["kip966-bug", "--kafka", "3.9.1", "--kafka-version", "3.9"], Mode.KRAFT, None),
        (["kip966-bug", "--kafka", "3.9.1", "--kafka-version", "3.9", "--control-plane", "zookeeper"], Mode.ZOOKEEPER, None),
        (["acks-1-loses", "--kafka", "2.8.2", "--kafka-version", "3.9"], Mode.ZOOKEEPER, None),
    ],
)
def test_brokers_keep_their_metadata_where_the_rules_of_the_trace_have_it(
    arguments: list[str], mode: Mode, other: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[PreparedRun] = []

    def starts(made: PreparedRun, keep: bool, heed: object) -> AnyReproduction:
        seen.append(made)
        return played(made, 0)

    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", starts)
    main(["reproduce", *arguments, "-q"])
    assert [made.brokers.chosen_mode for made in seen] == [mode] * len(seen)
    assert [made.brokers.version for made in seen] == [arguments[2], *([] if other is None else [other])]


@pytest.mark.slow
def test_a_saved_answer_is_shown_again_and_can_be_played_again(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("acked.cluster.commands.single_play.reproduce", lambda made, keep, heed: played(made, 4))
    brokers = ["--kafka", "3.9.1", "--control-plane", "kraft", "-q"]
    assert main(["reproduce", str(trace), *brokers, "--format", "json"]) == 12
    saved = tmp_path / "saved.json"
    saved.write_text(capsys.readouterr().out, "utf-8")
    page = trace.with_suffix(".html")
    assert main(["reproduce", str(saved), *brokers, "--html", str(page)]) == 12
    told = capsys.readouterr().out
    assert main(["show", str(saved)]) == 0
    assert capsys.readouterr().out == told
    assert main(["view", str(saved), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_bytes() == page.read_bytes()
    assert main(["view", str(saved), "--against", "kip320"]) == 151
    saved.write_text(saved.read_text("utf-8").replace('"verdict"', '"verdict', 1), "utf-8")
    assert main(["show", str(saved)]) == 150


# -- wrong use, with a java that is a script ---------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a release that is none and a java that is a script; where clusters are is all that it leaves."""
    java, libs, clusters = tmp_path / "jdk" / "bin" / "java", tmp_path / "kafka" / "libs", tmp_path / "clusters"
    for folder in (java.parent, libs, clusters):
        folder.mkdir(parents=True)
    (libs / "kafka_2.13-4.1.0.jar").write_text("a jar")
    (java.parent.parent / "release").write_text('JAVA_VERSION="17.0.2"\n')
    java.write_text('#!/bin/sh\necho "ERROR $JAVA_SAYS" >&2\nexit 1\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(clusters))
    return clusters


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("java.io.IOException: No space left on device", "the disk is full (“ERROR java.io.IOException"),
        ("Exiting Kafka due to fatal exception", "“ERROR Exiting Kafka due to fatal exception”"),
    ],
)
def test_what_the_machine_lacks_is_one_sentence_and_nothing_is_left(
    says: str, words: str, trace: Path, machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_SAYS", says)
    home = str(machine.parent / "kafka")
    assert main(["reproduce", str(trace), "--kafka", "4.1.0", "--kafka-home", home, "-q"]) == 153
    [line] = said(capsys).splitlines()
    assert line.startswith(f"acked: Kafka's format tool failed with code 1: {words}")
    assert list(machine.iterdir()) == []


def test_without_java_the_sentence_says_what_to_do(
    trace: Path, machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(machine))
    assert main(["reproduce", str(trace), "--kafka", "4.1.0", "-q"]) == 153
    [line] = said(capsys).splitlines()
    assert line == "acked: brokers need Java 17 or later, and there is no java on PATH; install one, or correct JAVA_HOME"


# -- a whole release ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_that_concerns_a_release_is_asked_played_and_kept_between_interruptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [find_spec(name) for name in ("acks-1-loses", "hw-trails")]
    whole = "acked.cluster.commands.whole_release"
    monkeypatch.setattr(f"{whole}.candidates", lambda version, mode: [Candidate(spec, ()) for spec in few])

    def interrupted(made: PreparedRun) -> AnyReproduction:
        if len(made.script.steps) > 3:
            return as_played(made)
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{whole}.play", interrupted)
    out = tmp_path / "4.1.0.json"
    arguments = ["reproduce", "--all", "--kafka", "4.1.0", "-o", str(out)]
    assert main(arguments) == 130
    before = json.loads(out.read_text("utf-8"))
    assert [row["spec"] for row in before["rows"]] == ["acks-1-loses"]
    assert not before["is_whole"]
    monkeypatch.setattr(f"{whole}.play", partial(as_played, parts=True))
    capsys.readouterr()
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert "acks-1-loses" not in told.err, "it was played before the interruption"
    assert "2 of 2: hw-trails: " in told.err
    assert "1 reproduced, 1 parted" in " ".join(told.out.split())
    after = json.loads(out.read_text("utf-8"))
    assert (after["is_whole"], after["rows"][0]) == (True, before["rows"][0])
    assert main(["reproduce", "--all", "--kafka", "4.2.0", "-o", str(out)]) == 151
    assert "is about Kafka 4.1.0 with KRaft, not Kafka 4.2.0" in said(capsys)


def as_played(made: PreparedRun, parts: bool = False) -> AnyReproduction:
    """As the model says; or not so from the first step on."""
    told = played(prepared(), 0 if parts else 4)
    return replace(told, prepared=made)


@pytest.mark.parametrize("more", [["acks-1-loses"], ["-c", "replicas=2"], ["--control", "4.2.0"], ["--keep"]])
def test_all_of_a_release_goes_with_nothing_that_is_about_one_run(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--all", "--kafka", "4.1.0", *more]) == 151
    assert "leave out the spec" in said(capsys)


@pytest.mark.parametrize(
    ("deeds", "code"),
    [
        ((), 0),
        ((Deed.NOTHING, Deed.NOT_PLAYED), 0),
        ((Deed.NOTHING, Deed.NOT_PLAYED, Deed.AS_MODELLED), 14),
        ((Deed.AS_MODELLED, Deed.REPRODUCED), 12),
        ((Deed.REPRODUCED, Deed.NOT_DECIDED), 152),
        ((Deed.NOT_DECIDED, Deed.PARTED, Deed.REPRODUCED), 1),
    ],
)
def test_the_exit_code_of_a_release_is_its_worst_news(deeds: tuple[Deed, ...], code: int) -> None:
    rows = tuple(ReleaseRow("s", "t", None, "P", (), Predicted.VIOLATED, deed) for deed in deeds)
    whole = WholeRelease("4.1.0", Mode.KRAFT, rows)
    assert whole.exit_code == code
    assert read_release(json.loads(json.dumps(release_document(whole)))) == whole


def test_a_release_s_answer_says_whether_what_its_brokers_logged_is_a_behaviour() -> None:
    row = ReleaseRow("s", "t", None, "P", (), Predicted.VIOLATED, Deed.REPRODUCED, logged=Found.EXPLAINED)
    other = replace(row, spec="other", logged=Found.NOT_EXPLAINED, unexplained="0/log:7, broker 0 appends: no")
    unread = replace(row, spec="unread", logged=Found.NOT_READ, unexplained="a reassignment")
    whole = WholeRelease("4.1.0", Mode.KRAFT, (row, other, unread, replace(row, spec="before", logged=None)))
    document = release_document(whole)
    assert read_release(json.loads(json.dumps(document))) == whole
    assert summary_of(whole).endswith("What the brokers logged meanwhile is a behaviour of the model in 1 of 2.")
    written = io.StringIO()
    print_release(Console(file=written, width=200), whole)
    said = " ".join(written.getvalue().split())
    assert "other, what its brokers logged is not explained: 0/log:7, broker 0 appends: no" in said
    assert "unread, what its brokers logged is not read: a reassignment" in said
    for item in document["rows"]:  # As they were written before.
        del item["logged"], item["unexplained"]
    assert {one.logged for one in read_release(document).rows} == {None}


def test_what_concerns_a_release_are_claims_under_its_rules_and_its_own_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [find_spec(name).path for name in ("claims/acks-1-loses", "kafka7415-bug", "kafka13141-bug", "kafka7415-fix")]
    monkeypatch.setattr("acked.cluster.commands.whole_release.all_bundled", lambda: iter(paths))
    names = {one.spec.name: one.others for one in candidates("2.0.0", Mode.ZOOKEEPER)}
    assert set(names) == {"acks-1-loses", "kafka7415-bug"}, "not a bug of later releases, whatever else loses records here"
    assert set(names["kafka7415-bug"]) == {"fetch_fencing", "truncation_fencing", "reelection_forgets_ends"}
    assert names["acks-1-loses"] == ()
    assert {one.spec.name for one in candidates("2.0.1", Mode.ZOOKEEPER)} == {"acks-1-loses"}


def test_a_claim_about_what_a_release_lacks_does_not_concern_it(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [find_spec(name).path for name in ("eligible-leader-is-replica", "zookeeper-last-move-counts", "hw-trails")]
    monkeypatch.setattr("acked.cluster.commands.whole_release.all_bundled", lambda: iter(paths))
    assert [one.spec.name for one in candidates("2.8.2", Mode.ZOOKEEPER)] == ["zookeeper-last-move-counts", "hw-trails"]
    assert [one.spec.name for one in candidates("4.1.0", Mode.KRAFT)] == ["eligible-leader-is-replica", "hw-trails"]


@pytest.mark.slow
def test_a_saved_trace_that_cannot_be_played_is_refused_with_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    asked = question("2.1", replicas=2, unnoticed_restarts=True)
    step = "RestartUnnoticed(broker=1, log_end=0, checkpoint=0)"
    TraceFile(trace).write(Counterexample("back unnoticed", asked, run(asked, [step])))
    assert main(["reproduce", str(trace), "--kafka", "2.1.1", "-q"]) == 151
    assert f"step 1 of 1, {step}: a broker cannot register again" in said(capsys)


def test_the_releases_that_can_be_started_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "list", "--format", "json"]) == 0
    found = {one["release"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["4.1.0"]["control_planes"] == ["kraft"]
    assert found["3.9.1"]["control_planes"] == ["zookeeper", "kraft"]
    assert main(["kafka", "list"]) == 0
    assert "3.9.1" in capsys.readouterr().out


def test_a_release_that_there_is_not_is_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "fetch", "1.2.3", "-q"]) == 151
    assert "Kafka 1.2.3 is not a release" in said(capsys)
