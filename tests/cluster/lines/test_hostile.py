"""Files that were not written by nodes, or by somebody who means harm: an answer in time and a sentence, never an internal
error."""

from __future__ import annotations

import gzip
import io
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acked.base.errors import ExitCode
from acked.cli import main
from acked.cluster.lines import reading
from acked.cluster.lines.facts import Fact, Node
from acked.cluster.lines.joining import Joiner
from acked.cluster.lines.wordings import WORDINGS, Kind, Wording
from acked.cluster.observation.events import Says
from tests.cluster.lines.test_lines import recorded_lines
from tests.observations import LINES

HEAD = "2026-11-22 11:45:44.591 INFO [thread] "
LEADER = f"{HEAD}state.change.logger [Broker id=0] Leader t-0 with topic id Some(x) starts at leader epoch "
FETCHER = f"{HEAD}kafka.server.ReplicaFetcherThread "
FOLLOWER = "Follower has replica log end offset 1 for partition t-0. Received 0 bytes of messages and leader hw 1"
LONG = "7" * 5_000
NO_NUMBER = "a number that is none of Kafka's, or lacks one"


def refused(capsys: pytest.CaptureFixture[str], logs: Path | str, code: ExitCode = ExitCode.SPEC_UNREADABLE) -> str:
    """The one sentence with which logs are refused, of the validation and of the check of what is missing alike."""
    assert main(["validate", str(logs), "-t", "t", "-q", "--kafka-version", "4.4"]) == code
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "internal error" not in said
    assert main(["observe", str(logs), "-t", "t", "--check"]) != ExitCode.OTHER
    capsys.readouterr()
    return said


def recorded(folder: Path, node: str, *lines: str) -> Path:
    """A recorded run, one node's file of it with some more lines."""
    folder.mkdir()
    for file in (LINES / "k4-s1").glob("*.gz"):
        text = gzip.decompress(file.read_bytes()).decode()
        more = "".join(f"{line}\n" for line in lines) if file.name == f"{node}.log.gz" else ""
        (folder / file.stem).write_text(text + more)
    return folder


@pytest.mark.parametrize(("line", "says"), [
    pytest.param(f"2026-99-99 11:45:44.591 INFO [t] {LEADER[len(HEAD):]}", "2026-99-99 11:45:44 is no date", id="a month 99"),
    pytest.param(f"0000-01-01 00:00:00.000 INFO [t] {LEADER[len(HEAD):]}", "is no date of the calendar", id="a year 0"),
    pytest.param(f"{LEADER}{LONG} from offset 0 with partition epoch 0, high watermark 0, ISR [0]", NO_NUMBER, id="an epoch"),
    pytest.param(f"{LEADER}1 from offset 0 with partition epoch 0, high watermark 0, ISR [0, {LONG}]", NO_NUMBER, id="an id"),
    pytest.param(f"{FETCHER}[replicaId=0] {FOLLOWER}", NO_NUMBER, id="no leader"),
    pytest.param(f"{FETCHER}[replicaId=0, leaderId={LONG}] {FOLLOWER}", NO_NUMBER, id="a leader"),
])  # fmt: skip
def test_a_line_with_a_date_or_a_number_that_is_none_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    said = refused(capsys, recorded(tmp_path / "run", "0", line))
    assert says in said
    assert re.search(r"0\.log:\d+: ", said)
    assert len(said) < 1_000


@pytest.mark.parametrize("line", [
    f"{HEAD}AppInfoParser Kafka version: ", f"{HEAD}AppInfoParser Kafka version: {LONG}",
    f"{HEAD}AppInfoParser Kafka version: unknown", f"{HEAD}AppInfoParser Kafka version: 4.1.0.redhat-00001",
    f"\tmin.insync.replicas = {LONG}", f"{HEAD}x [Controller id={LONG}] nothing",
    f"{HEAD}x Created log for partition t-0 with min.insync.replicas={LONG}",
])  # fmt: skip
def test_a_start_up_line_that_is_cut_or_odd_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    folder = recorded(tmp_path / "run", "0")
    file = folder / "0.log"
    file.write_text(f"{line}\n{file.read_text()}")
    assert main(["validate", str(folder), "-t", "t", "-q", "--kafka-version", "4.4"]) == 0
    assert "VALID: all 31 events" in " ".join(capsys.readouterr().out.split())


def test_a_line_is_read_to_a_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 100_000)
    assert main(["validate", str(recorded(tmp_path / "run", "0", "x" * 100_000)), "-t", "t", "-q"]) == 150
    assert "0.log:" in (said := capsys.readouterr().err)
    assert "this line is longer than" in said
    assert main(["validate", str(recorded(tmp_path / "shorter", "0", "x" * 99_000)), "-t", "t", "-q"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 200_000)))
    assert "stdin:1: this line is longer than" in refused(capsys, "-")


def test_what_is_no_text_on_stdin_is_read_as_in_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00 t-0\n"), encoding="utf-8"))
    assert "no line of these logs tells of t-0" in refused(capsys, "-", ExitCode.CONFIGURATION)


@pytest.mark.slow
def test_an_archive_that_holds_far_more_than_it_takes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LOOKS", 1 << 20)
    (tmp_path / "0.log.gz").write_bytes(gzip.compress((b"x" * 99 + b"\n") * 60_000))
    assert f"{tmp_path}/0.log.gz holds more than 250 times what it takes" in refused(capsys, tmp_path / "0.log.gz")


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_damaged_archive_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: int) -> None:
    whole = (LINES / "k4-s1" / "0.log.gz").read_bytes()
    (tmp_path / "0.log.gz").write_bytes(whole[:cut])
    assert "0.log.gz cannot be read: " in refused(capsys, tmp_path / "0.log.gz")


def test_what_is_no_file_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert "/dev/zero cannot be read: it is a device" in refused(capsys, "/dev/zero")


@pytest.mark.parametrize(
    "text", ["offset,value\n" + LONG + ",x\n", '{"offset": ' + LONG + "}\n", "offset,value\n0," + "x" * 200_000]
)
def test_an_acknowledged_offset_that_is_none_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "acked.csv").write_text(text)
    code = main(["validate", str(LINES / "k4-s1"), "-t", "t", "-q", "--acknowledged", str(tmp_path / "acked.csv")])
    assert code == ExitCode.SPEC_UNREADABLE
    assert str(tmp_path / "acked.csv") in capsys.readouterr().err


def test_a_follower_that_truncates_by_an_answer_whose_line_is_missing_truncates_all_the_same() -> None:
    took = Fact(Kind.TOOK, 1, "fetcher", {"leader_hw": 1}, "0.log", 1, "took")
    cuts = Fact(Kind.TRUNCATING, 2, "fetcher", {"to": 0, "leader": 1}, "0.log", 2, "truncates")
    [event] = Joiner(Node(("0.log",), 0)).events([took, cuts])
    assert event is not None
    assert (event.says, event.fields) == (Says.TRUNCATES, {"to": 0, "leader": 1})


# -- time -----------------------------------------------------------------------------------------------------------------

SIZE = 30_000
SECONDS_A_MEGABYTE = 2.0


def longer(said: str) -> Iterator[str]:
    """A text with one part of it repeated, or cut after that, whatever the part."""
    cuts = [0, *(found.end() for found in re.finditer(r"[ (\[,=]", said)), len(said)]
    for at in range(len(cuts) - 1):
        for width in (1, 3, len(cuts)):
            end = min(at + width, len(cuts) - 1)
            part = said[cuts[at] : cuts[end]]
            if part:
                repeated = said[: cuts[at]] + part * (SIZE // len(part))
                yield repeated + said[cuts[end] :]
                yield repeated
        for character in "7 ":
            yield said[: cuts[at]] + character * SIZE + said[cuts[at] :]


@pytest.mark.slow
@pytest.mark.parametrize("wording", WORDINGS, ids=lambda item: item.text[:40])
def test_the_time_of_a_line_grows_with_its_length_and_no_faster(wording: Wording) -> None:
    topic, said = next(
        (topic, said)
        for _, topic, logger, said in recorded_lines()
        if logger in wording.loggers and wording.pattern(topic, 0).match(said)
    )
    pattern = wording.pattern(topic, 0)
    for text in longer(said):
        began = time.process_time()
        pattern.match(text)
        assert time.process_time() - began < SECONDS_A_MEGABYTE * len(text) / 1e6, text[:300]


def test_changes_that_are_far_apart_are_counted_and_not_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = gzip.decompress((LINES / "k4-s1" / "100.log.gz").read_bytes()).decode().splitlines()
    first = next(line for line in lines if "Replayed PartitionRecord" in line and " t-0 " in line)
    run = recorded(tmp_path / "run", "100", first.replace("partitionEpoch=0", "partitionEpoch=2000000000"))

    began = time.process_time()
    assert main(["observe", str(run), "-t", "t", "--check"]) == ExitCode.SPEC_UNREADABLE
    told = capsys.readouterr()
    assert "1999999999 changes, the first of which is 1, of t-0" in " ".join(told.out.split())
    assert time.process_time() - began < 5
