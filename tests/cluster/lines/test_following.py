"""Files that grow are followed: over rotation, half lines and pauses, and a run that goes on is judged when it is stopped."""

from __future__ import annotations

import gzip
import threading
import time
from pathlib import Path

import pytest

from acked.cluster.lines.facts import Lines, Node
from acked.cluster.lines.following import ANOTHER, Following
from acked.cluster.observation.events import Event, Says
from acked.cluster.validating.judge import Asked, Judged, Live, SoFar, judge
from tests.observations import LINES


def test_a_line_is_given_when_it_is_whole_and_a_rotated_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "0.log"
    file.write_text("one\ntw", "utf-8")
    following = Following()
    with following.follow(str(file)) as lines:
        assert [next(lines), next(lines)] == ["one\n", None]
        with file.open("a", encoding="utf-8") as more:
            more.write("o\nthree\n")
        assert [next(lines), next(lines), next(lines)] == ["two\n", "three\n", None]
        with file.open("a", encoding="utf-8") as more:
            more.write("four\n")
        file.rename(tmp_path / "0.log.1")
        file.write_text("five\n", "utf-8")
        assert [next(lines) for _ in range(4)] == ["four\n", ANOTHER, "five\n", None]
        following.stop.set()
        with file.open("a", encoding="utf-8") as more:
            more.write("six\n")
        assert list(lines) == ["six\n"]


@pytest.mark.parametrize("is_compressed", [False, True])
def test_files_that_came_and_went_between_two_looks_are_read(tmp_path: Path, is_compressed: bool) -> None:
    """Three rotations; a compressed copy of what was read is not read again."""

    def rotate(number: int) -> None:
        rotated = tmp_path / f"0.log.{number}"
        file.rename(rotated)
        if is_compressed:
            (tmp_path / f"0.log.{number}.gz").write_bytes(gzip.compress(rotated.read_bytes()))
            rotated.unlink()

    file = tmp_path / "0.log"
    file.write_text("0\n", "utf-8")
    with Following().follow(str(file)) as lines:
        assert [next(lines), next(lines)] == ["0\n", None]
        for number in (1, 2, 3):
            rotate(number)
            file.write_text(f"{number}\n", "utf-8")
            time.sleep(0.01)
        assert [next(lines) for _ in range(7)] == [ANOTHER, "1\n", ANOTHER, "2\n", ANOTHER, "3\n", None]


def test_files_are_opened_before_any_is_read_and_a_line_is_numbered_within_its_own_file(tmp_path: Path) -> None:
    text = "2026-11-23 16:00:00.000 INFO [main] kafka.server.KafkaServer [KafkaServer id=0] Kafka version: 3.9.1\n"
    started = text.replace("Kafka version: 3.9.1", "Registered signal handlers for TERM").replace("[KafkaServer id=0] ", "")
    for name, second in (("0.log.1", "01"), ("0.log", "02")):
        (tmp_path / name).write_text(text + started.replace("00.000", f"{second}.000"), "utf-8")
    files = tuple(str(tmp_path / name) for name in ("0.log.1", "0.log"))
    following = Following()
    following.hold(files)
    (tmp_path / "0.log.1").rename(tmp_path / "0.log.2")
    (tmp_path / "0.log").rename(tmp_path / "0.log.1")
    (tmp_path / "0.log").write_text(started.replace("00.000", "03.000"), "utf-8")
    following.stop.set()
    facts = [fact for fact in Lines("t", 0, following=following).facts(Node(files, 0)) if fact is not None]
    assert [(fact.text[17:19], fact.line) for fact in facts] == [("01", 2), ("02", 2), ("03", 1)]


def event(at: int, by: int) -> Event:
    return Event(at, by, Says.APPENDS, {})


def test_events_of_nodes_are_merged_by_their_times_and_a_silent_node_does_not_hold_up_the_others() -> None:
    following = Following(pause=0.001, delay=0.02)
    streams = [iter([event(1, 0), event(5_000, 0), None, None]), iter([None, event(3, 1), None]), iter([None] * 50)]
    assert [(one.at, one.by) for one in following.merge(streams)] == [(1, 0), (3, 1), (5_000, 0)]


def test_while_old_lines_are_caught_up_with_nodes_are_read_side_by_side() -> None:
    read_ahead = 0

    def long_past() -> list[Event | None]:
        return [event(at, 0) for at in range(0, 100_000, 1_000)]

    def counted() -> object:
        nonlocal read_ahead
        for one in long_past():
            read_ahead += 1
            yield one

    following = Following(pause=0.001, delay=0.02)
    merged = following.merge([counted(), iter([event(at, 1) for at in range(0, 100_000, 1_000)])])  # type: ignore[arg-type]
    next(merged)
    assert read_ahead < 20
    assert len(list(merged)) == 199


@pytest.mark.timeout(60)
def test_a_run_that_is_written_while_it_is_followed_is_valid_when_it_is_stopped(tmp_path: Path) -> None:
    contents = {node: gzip.decompress((LINES / "k4-s1" / f"{node}.log.gz").read_bytes()) for node in (0, 1, 2, 100)}
    for node in contents:
        (tmp_path / f"{node}.log").write_bytes(contents[node][:2_000] if node != 100 else b"")
    told: list[SoFar] = []
    live = Live(told.append, every=0.1)
    judged: list[Judged] = []
    thread = threading.Thread(target=lambda: judged.append(judge(Asked((str(tmp_path),), "t"), live=live)))
    thread.start()
    time.sleep(0.3)
    for node, data in contents.items():
        with (tmp_path / f"{node}.log").open("ab") as file:
            file.write(data[2_000:] if node != 100 else data)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not (told and told[-1].explained):
        time.sleep(0.05)
    live.stop.set()
    thread.join(40)
    [found] = judged
    assert found.is_valid
    assert found.verdict.explained == 31
    assert told[-1].explained > 0
    assert told[-1].in_sync == {0, 1, 2}
