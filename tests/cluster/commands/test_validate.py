"""The commands `validate` and `observe`: what they print, as text and as JSON, and how they end.

What lives here: a recorded run that is valid, one that was changed, releases that are given, and what is refused.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from acked.cli import main
from acked.cluster.lines.envelopes import HEAD
from acked.cluster.observation.events import Says
from acked.cluster.observation.lanes import Slack
from acked.cluster.observation.validation import validate
from tests.observations import LINES, edited, run


def ends(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, and what the command printed on stdout and stderr."""
    code = main([*arguments])
    printed = capsys.readouterr()
    return code, " ".join(printed.out.split()), " ".join(printed.err.split())


def changed(tmp_path: Path, node: str, old: str, new: str) -> Path:
    """The files of a run, of which one says something else in one line."""
    folder = tmp_path / "run"
    shutil.copytree(LINES / "k4-s1", folder)
    file = folder / f"{node}.log.gz"
    text = gzip.decompress(file.read_bytes()).decode()
    assert text.count(old) == 1
    file.write_bytes(gzip.compress(text.replace(old, new).encode()))
    return folder


ANOTHER_OFFSET = (
    "last offset: 1, first offset: 1, next offset: 2", "last offset: 2, first offset: 2, next offset: 3",
)  # fmt: skip
"""Of the leader's second append what it says, and another offset."""


def test_a_recorded_run_is_valid_and_what_was_seen_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ends(capsys, "validate", str(LINES / "k4-s1"), "--topic", "t", "-q")
    assert code == 0
    assert "VALID: all 31 events are a behaviour of the model, and every promise holds on the way" in out
    assert "t-0 of Kafka 4.4.0, by the rules of 4.4, min.insync.replicas=2: 31 events" in out
    assert "appends 2" in out
    assert "BecomeLeader 1" in out
    assert err == ""


@pytest.mark.slow
def test_a_line_that_is_not_explained_is_named_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = changed(tmp_path, "0", *ANOTHER_OFFSET)
    code, out, _ = ends(capsys, "validate", str(folder), "--topic", "t", "-q")
    assert code == 12
    assert "NOT EXPLAINED" in out
    assert "Appended message set with last offset: 2, first offset: 2, next offset: 3" in out
    assert "the line says first offset 2, and by the rules it is 1" in out


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_the_system_s_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = changed(tmp_path, "0", *ANOTHER_OFFSET)
    code, _, err = ends(capsys, "validate", str(folder), "-t", "t", "-q", "--html", str(tmp_path / "no" / "page.html"))
    assert code == 153
    assert "cannot write the page to" in err


def test_a_look_around_that_is_given_up_is_not_explained_and_never_undecided() -> None:
    """The first search, the one with ten times as much slack, and the short one that finds the line to tell end at once: 12
    for the command, and no 152.
    """
    recorded = run("k4-s1")
    append = recorded.the(Says.APPENDS)
    changed = recorded.changed(append, edited(append, next=append["next"] + 1))
    verdict = validate(recorded.subject, recorded.created, changed, slack=Slack(nodes=1))
    assert (verdict.is_valid, verdict.stuck is not None, verdict.slack.nodes) == (False, True, 1)


@pytest.mark.slow
def test_the_answer_is_a_document_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = changed(tmp_path, "0", *ANOTHER_OFFSET)
    assert main(["validate", str(folder), "--topic", "t", "--format", "json"]) == 12
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "acked-validation/1"
    assert document["verdict"] == "not explained"
    first = document["not_explained"][0]
    assert first["file"].endswith("0.log.gz")
    assert (first["by"], first["says"], first["fields"]) == (0, "appends", {"offset": 2, "next": 3})


def test_a_release_that_is_given_wins_and_the_difference_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ends(capsys, "validate", str(LINES / "k4-s1"), "-t", "t", "--kafka-version", "3.9", "-q")
    assert code == 0
    assert "the logs are of Kafka 4.4.0; the rules of 3.9 are taken, as asked for" in err
    assert "by the rules of 3.9" in out


def test_a_release_that_is_that_of_the_logs_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = ends(capsys, "validate", str(LINES / "k4-s1"), "-t", "t", "--kafka-version", "4.4", "-q")
    assert (code, err) == (0, "")


def test_a_setting_that_is_given_wins_and_the_difference_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ends(capsys, "validate", str(LINES / "k4-s1"), "-t", "t", "-c", "min_insync_replicas=1", "-q")
    assert code == 0
    assert "the logs say min_insync_replicas = 2; 1 is taken, as asked for" in err
    assert "by the rules of 4.4, min.insync.replicas=1: 31 events" in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["validate", "nowhere.log", "-t", "t"], 150, "nowhere.log cannot be read: No such file or directory"),
        (["validate", str(LINES / "k4-s1" / "0.log.gz"), "-t", "t"], 150, "the logs begin in the middle"),
        (["validate", str(LINES / "k4-s1"), "-t", "orders"], 151, "no line of these logs tells of orders-0"),
        (["validate", str(LINES / "k4-s1"), "-t", "t", "-c", "min_insync=2"], 151, "partition has no constant 'min_insync'"),
        (["validate", str(LINES / "k4-s1"), "-t", "t", "--kafka-version", "x"], 151, "'x' is not a version of Kafka"),
        (["validate", str(LINES / "k4-s1"), "-t", "t", "--kafka-version", "3.61"], 151, "Kafka 3.61 is not known here"),
        (["observe", "--kafka-version", "5.0", "-t", "t"], 151, "Kafka 5.0 is not known here"),
        (["observe", "--kafka-version", "2.7", "-t", "t"], 151, "the lines of Kafka 2.7 are not known"),
        (["observe", "--kafka-version", "3.9", "-t", "t", "--log-format", "log4j2"], 151, "with log4j, not with log4j2"),
        (["observe", "-t", "t"], 151, "name it with --kafka-version"),
        (["observe", "-t", "t", "--check"], 151, "--check reads LOGS"),
    ],
)
def test_what_is_refused_ends_with_one_sentence_and_its_code(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    ended, _, err = ends(capsys, *arguments)
    assert (ended, says in err) == (code, True), err


def test_observe_prints_the_configuration_and_on_stderr_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ends(capsys, "observe", "--kafka-version", "4.1", "--topic", "orders")
    assert code == 0
    assert "shutdownHook=disable" in out
    assert "0.9 kB of log per broker" in err


def test_logs_that_have_what_is_needed_are_counted_by_what_their_lines_tell(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ends(capsys, "observe", str(LINES / "k4-s1"), "--topic", "t", "--check")
    assert code == 0
    assert "2 × records were appended to a log" in out
    assert "the logs have what a validation needs" in out


@pytest.mark.parametrize(
    ("without", "says"),
    [
        ("Follower received high watermark", "node 1: lines tell that a follower has an answer to a fetch, and none that a"),
        ("Recorded replica", "kafka.cluster.Partition at DEBUG"),
        ("Replayed PartitionRecord", "no controller tells that t-0 was made"),
        (" starts at leader epoch ", "no broker tells that it leads or follows"),
    ],
)
def test_what_logs_lack_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], without: str, says: str) -> None:
    for file in (LINES / "k4-s3").iterdir():
        lines = gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True)
        (tmp_path / file.name.removesuffix(".gz")).write_text("".join(line for line in lines if without not in line), "utf-8")
    code, out, _ = ends(capsys, "observe", str(tmp_path), "--topic", "t", "--check")
    assert code == 150
    assert says in out


TIME = "2026-11-22 23:00:00.000"
SIGNALS = "org.apache.kafka.common.utils.LoggingSignalHandler"
ENDS = f"{TIME} INFO [SIGTERM handler] {SIGNALS} Terminating process due to signal SIGTERM"
HAS_ENDED = f"{TIME} INFO [kafka-shutdown-hook] kafka.server.BrokerServer [BrokerServer id=0] shut down completed"
STARTS = f"{TIME} INFO [main] {SIGNALS} Registered signal handlers for TERM, INT, HUP"
TALKS = f"{TIME} DEBUG [x] kafka.cluster.Partition [Partition t-0 broker=0] Watermark is now at"


def with_lines(folder: Path, *lines: str, without: tuple[str, ...] = ()) -> Path:
    """The files of a run in which broker 0 prints some lines at its end, and nodes leave some out."""
    for file in (LINES / "k4-s3").iterdir():
        text = gzip.decompress(file.read_bytes()).decode()
        kept = [line for line in text.splitlines() if not any(part in line for part in without)]
        (folder / file.name.removesuffix(".gz")).write_text("\n".join(kept) + "\n", "utf-8")
    with (folder / "0.log").open("a", encoding="utf-8") as last:
        last.write("".join(f"{line}\n" for line in lines))
    return folder


def two_partitions(folder: Path) -> Path:
    """The lines of two runs of one partition as those of two partitions of a cluster."""
    folder.mkdir()
    for node in ("0", "1", "2", "100"):
        both = [gzip.decompress((LINES / "k4-s1" / f"{node}.log.gz").read_bytes()).decode().splitlines()] * 2
        other = [line.replace("t-0", "t-1").replace("partitionId=0", "partitionId=1").replace("partition=0", "partition=1")
                 for line in both[1] if "t-0" in line or "partitionId=0" in line]  # fmt: skip
        lines = sorted([*(line for line in both[0] if HEAD.match(line)), *other], key=lambda line: line[:23])
        (folder / f"{node}.log").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder


@pytest.mark.slow
def test_several_partitions_are_validated_with_files_that_are_read_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = two_partitions(tmp_path / "run")
    code, out, _ = ends(capsys, "validate", str(folder), "-t", "t", "--partitions", "all", "-q")
    assert code == 0
    assert "t-0: VALID: all 31 events" in out
    assert "t-1: VALID: all 31 events" in out
    assert out.endswith("2 of 2 partitions valid, 62 events explained")
    file = folder / "0.log"
    text = file.read_text("utf-8")
    line = next(line for line in text.splitlines() if ANOTHER_OFFSET[0] in line and "t-1" in line)
    file.write_text(text.replace(line, line.replace(*ANOTHER_OFFSET)), "utf-8")
    code, out, _ = ends(capsys, "validate", str(folder), "-t", "t", "--partitions", "0-1", "--format", "json")
    found = json.loads(out)
    assert (code, found["is_valid"]) == (12, False)
    assert [(one["partition"], one["verdict"]) for one in found["partitions"]] == [(0, "valid"), (1, "not explained")]
    first = found["partitions"][1]["not_explained"][0]
    places = [number for number, one in enumerate(file.read_text("utf-8").splitlines(), 1) if ANOTHER_OFFSET[1] in one]
    assert (first["file"], first["line"]) == (str(file), places[0])


@pytest.mark.parametrize(("more", "code", "says"), [
    (("--partitions", "0,7"), 151, "no line of these logs tells of t-7; are these topics and partitions?"),
    (("-t", "u", "--partitions", "all"), 151, "no line of these logs tells of u; are these topics and partitions?"),
    (("--partitions", "some"), 151, "--partitions takes all, or numbers such as 0-9,12, and not 'some'"),
    (("--partitions", "all", "--follow"), 151, "--follow and --html show one partition"),
])  # fmt: skip
def test_partitions_that_are_not_there_are_named(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: int, says: str
) -> None:
    found, _, err = ends(capsys, "validate", str(LINES / "k4-s1"), "-t", "t", "-q", *more)
    assert (found, says in err) == (code, True), err


@pytest.mark.slow
def test_a_verdict_says_without_how_many_lines_that_are_not_understood_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = f"{TIME} DEBUG [x] kafka.log.UnifiedLog [UnifiedLog partition=t-0, dir=/d] Truncate and start at offset 3"
    folder = with_lines(tmp_path, f"{TALKS} 7", f"{TALKS} 8", cut)
    code, out, _ = ends(capsys, "validate", str(folder), "-t", "t", "-q")
    assert code == 0
    assert out.startswith("? VALID WITHOUT 3 lines of 2 kinds not understood: all ")
    assert "Not understood, 2 lines: " in out
    assert "is worded in a way that acked does not know" in out
    document = json.loads(ends(capsys, "validate", str(folder), "-t", "t", "--format", "json")[1])
    assert [one["lines"] for one in document["not_understood"]] == [2, 1]
    code, _, err = ends(capsys, "validate", str(folder), "-t", "t", "-q", "--refuse-unknown")
    assert code == 150
    assert "is worded in a way that acked does not know, so what it tells would be lost" in err


@pytest.mark.parametrize(
    ("lines", "without", "says"),
    [
        ((), ("partitionEpoch: 0 -> 1", "partitionEpoch: 1, leader"), "lines are missing: change 1 of t-0 by"),
        ((), ("first offset: 1,",), "records are appended at offset 2, and the log ended at 1"),
        ((), ("Log loaded for partition",), "none before tells where the log ended"),
        ((), ("Recorded replica", "replica log end offset"), "no leader tells that it noted a fetch; log kafka.cluster"),
        ((ENDS,), (), "the broker is told to end, and no line tells that it has shut down"),
        ((ENDS, STARTS), (), "the broker is told to end, and no line tells that it has shut down"),
        ((ENDS, HAS_ENDED, STARTS), (), ""),
        ((f"{TALKS} 7", f"{TALKS} 8"), (), "the first of 2, is worded in a way that acked does not know"),
    ],
)  # fmt: skip
def test_lines_that_are_missing_or_not_understood_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: tuple[str, ...], without: tuple[str, ...], says: str
) -> None:
    code, out, _ = ends(capsys, "observe", str(with_lines(tmp_path, *lines, without=without)), "--topic", "t", "--check")
    assert (code, says in out) == (150 if says else 0, True), out


@pytest.mark.slow
def test_a_page_shows_the_steps_before_the_line_the_line_and_why_it_is_not_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed(tmp_path, "0", *ANOTHER_OFFSET)
    page = tmp_path / "page.html"
    assert ends(capsys, "validate", str(folder), "--topic", "t", "-q", "--html", str(page))[0] == 12
    text = page.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    model, cluster = data["traces"]
    assert len(model["packet"]["steps"]) == len(cluster["packet"]["steps"]) > 5
    assert all(step["picture"] is not None for step in model["packet"]["steps"])
    last = cluster["packet"]["steps"][-1]["seen"]
    assert last["agreement"] == "parted"
    assert "the line says first offset 2, and by the rules it is 1" in " ".join(last["differs"])
    assert last["rows"] == ["broker 0"]
    assert "0.log.gz:" in last["lines"][0][0]
    assert "Appended message set with last offset: 2, first offset: 2" in last["lines"][0][0]
    assert all(step["seen"]["agreement"] == "same" for step in cluster["packet"]["steps"][:-1])
    assert data["played"]["notes"]


def test_there_is_no_page_of_a_run_that_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    code, _, err = ends(capsys, "validate", str(LINES / "k4-s1"), "--topic", "t", "-q", "--html", str(page))
    assert (code, page.exists()) == (0, False)
    assert "every line is explained, so there is nothing to show" in err


def test_acknowledged_records_decide_with_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "acknowledged.csv"
    file.write_text("offset\n0\n1\n", "utf-8")
    code, out, _ = ends(capsys, "validate", str(LINES / "k4-s1"), "-t", "t", "-q", "--acknowledged", str(file))
    assert code == 0
    assert "each of 2 acknowledged records is at brokers 0, 1, 2, which are in sync" in out
    file.write_text("offset\n0\n2\n", "utf-8")
    code, out, _ = ends(capsys, "validate", str(LINES / "k4-s1"), "-t", "t", "-q", "--acknowledged", str(file))
    assert code == 12
    assert "1 acknowledged record is not there (its log ends at 2), at offsets 2" in out
    assert "✗ NOT VALID: all 31 events are a behaviour of the model, and every promise holds, but acknowledged records" in out


def test_what_follow_cannot_do_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--follow reads files that grow" in ends(capsys, "validate", "-", "--topic", "t", "--follow")[2]
    code, _, err = ends(capsys, "validate", str(LINES), "-t", "t", "--follow", "--acknowledged", str(tmp_path / "x.csv"))
    assert code == 151
    assert "--follow does not compare disks and acknowledged records" in err
