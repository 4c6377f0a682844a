"""Lines that containers, collectors, journald and other layouts have put something around are read as the nodes wrote them.

What lives here: a recorded run in each envelope and layout of the registry, lines in parts, two nodes in one file, layouts
that lack what is needed, and files that grow.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acked.base.errors import SpecUnreadable
from acked.cluster.lines.envelopes import HEAD, Opener
from acked.cluster.lines.recording import Recording
from tests.observations import LINES

Wraps = Callable[[str, str], str]
"""A line without its end, and the node, as a file has them."""
NODES = ("0", "1", "2", "100")


def parts(line: str) -> tuple[str, ...]:
    """Second, milliseconds, level, thread, logger and message of a line; of one that has no head all is message."""
    found = HEAD.match(line)
    return found.groups() if found else ("2026-11-22 11:45:44", "000", "INFO", "main", "root", line)


def in_fields(line: str, time: str, level: str, thread: str, logger: str) -> str:
    """A line as an object, its parts by these names; names with dots are those of objects in objects."""
    second, ms, *rest = parts(line)
    told = {time: f"{second}.{ms}Z".replace(" ", "T"), **dict(zip((level, thread, logger, "message"), rest, strict=True))}
    return json.dumps(told) + "\n"


def strimzi(line: str, _: str) -> str:
    """As Strimzi's images print by default."""
    second, ms, level, thread, logger, message = parts(line)
    return f"{second},{ms} {level} {message} ({logger}) [{thread}]\n"


def instant(line: str, _: str) -> str:
    """As Log4j's JsonLayout prints."""
    _, _, level, thread, logger, message = parts(line)
    second = int(datetime.fromisoformat(parts(line)[0]).replace(tzinfo=UTC).timestamp())
    nanos = int(parts(line)[1]) * 1_000_000
    told = {"instant": {"epochSecond": second, "nanoOfSecond": nanos}, "thread": thread, "level": level, "loggerName": logger}
    return json.dumps({**told, "message": message}) + "\n"


RUNTIME = "2026-11-22T11:45:44.591234567Z stdout F "
WRAPPED: dict[str, Wraps] = {
    "colours": lambda line, _: f"\x1b[36m{line}\x1b[m\n",
    "docker": lambda line, _: json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-11-22T11:45:44Z"}) + "\n",
    "cri": lambda line, _: f"{RUNTIME}{line}\n",
    "kubectl": lambda line, node: f"[pod/kafka-{node}/kafka] {line}\n",
    "kubectl with times": lambda line, node: f"[pod/kafka-{node}/kafka] 2026-11-22T11:45:44.591234567Z {line}\n",
    "compose": lambda line, node: f"kafka-{node}-1  | {line}\n",
    "compose in colours": lambda line, node: f"\x1b[36mkafka-{node}-1  | \x1b[0m{line}\n",
    "journald": lambda line, _: f"Nov 22 11:45:44 host kafka-server-start.sh[4711]: {line}\n",
    "journald by iso": lambda line, _: f"2026-11-22T11:45:44+0100 host kafka[4711]: {line}\n",
    "journald json": lambda line, _: json.dumps({"_PID": "4711", "MESSAGE": line}) + "\n",
    "ecs": lambda line, _: in_fields(line, "@timestamp", "log.level", "process.thread.name", "log.logger"),
    "logstash": lambda line, _: in_fields(line, "@timestamp", "level", "thread_name", "logger_name"),
    "json layout": instant,
    "strimzi": strimzi,
    "strimzi in pods": lambda line, node: f"[pod/kafka-{node}/kafka] {strimzi(line, node)}",
}


def text_of(node: str) -> str:
    """A node's lines of a recorded run."""
    return gzip.decompress((LINES / "k4-s1" / f"{node}.log.gz").read_bytes()).decode()


def told(folder: Path) -> list[tuple[int, str]]:
    """What is read of a folder: when, and what is said."""
    recording = Recording([str(folder)], "t", 0)
    begun = recording.begin()
    return [(begun.created.at, str(begun)), *((event.at, str(event)) for event in recording.events())]


@pytest.mark.parametrize("name", WRAPPED)
def test_a_run_says_the_same_whatever_stands_around_its_lines(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    for where in (tmp_path / "plain", folder):
        where.mkdir()
        for node in NODES:
            lines = text_of(node).splitlines()
            wrapped = "".join(f"{line}\n" if where != folder else WRAPPED[name](line, node) for line in lines)
            (where / f"{node}.log").write_text(wrapped, "utf-8")
    plain, read = (told(where)[1:] for where in (tmp_path / "plain", folder))
    assert read == plain
    assert len(plain) > 25


def test_a_line_in_parts_is_one_line_where_its_last_part_is() -> None:
    line = text_of("0").splitlines()[0]
    opened = Opener("0.log")
    first, second = (RUNTIME.replace(" F ", f" {kind} ") for kind in "PF")
    assert [opened(f"{first}{line[:60]}\n"), opened(f"{second}{line[60:]}\n")] == ["\n", f"{line}\n"]
    halves = (json.dumps({"log": line[:60]}) + "\n", json.dumps({"log": f"{line[60:]}\n"}) + "\n")
    opened = Opener("0.log")
    assert [opened(half) for half in halves] == ["\n", f"{line}\n"]


def test_lines_of_two_pods_in_one_file_are_refused_with_the_way_to_part_them(tmp_path: Path) -> None:
    both = zip(*(text_of(node).splitlines() for node in ("0", "1")), strict=False)
    lines = [WRAPPED["kubectl"](line, node) for pair in both for line, node in zip(pair, ("0", "1"), strict=True)]
    (tmp_path / "all.log").write_text("".join(lines), "utf-8")
    with pytest.raises(SpecUnreadable, match=r"lines of kafka-0/kafka and of kafka-1/kafka; write one file for each node"):
        told(tmp_path)


@pytest.mark.parametrize("layout", ["json", "kafka"])
def test_a_layout_without_threads_is_refused_in_an_envelope_too(tmp_path: Path, layout: str) -> None:
    message = "[Partition t-0 broker=0] Recorded replica 1 log end offset (LEO) position 1 and log start offset 0."
    said = {
        "json": json.dumps({"time": "2026-11-22T11:45:44.591Z", "logger": "kafka.cluster.Partition", "message": message}),
        "kafka": f"[2026-11-22 11:45:44,591] DEBUG {message} (kafka.cluster.Partition)",
    }[layout]
    (tmp_path / "0.log").write_text(WRAPPED["docker"](said, "0"), "utf-8")
    with pytest.raises(SpecUnreadable, match=r"0\.log:1: .*(?:another layout|do not name their threads)"):
        told(tmp_path)


@pytest.mark.parametrize("text", [
    "{\n", "{}\n", '{"log": {"level": 1}}\n', "[1/2] x\n", "Nov 22\n", "", "\x1b[",
    '{"instant": {"epochSecond": 9e99}}\n', "[]\n",
])  # fmt: skip
def test_what_only_looks_like_an_envelope_stays_as_it_is(text: str) -> None:
    assert Opener("0.log")(text).strip() in (text.strip(), "x")
