"""Lines of real brokers are read for what they say, and what is not understood is an error.

What lives here: a recorded line for every wording and every release that it is known of, lines that nobody knows, layouts
that do not do, files that are rotated, compressed or on stdin, runs that lack a part, and the configuration.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.cluster.lines.envelopes import HEAD
from acked.cluster.lines.facts import Lines, Node, Ununderstood
from acked.cluster.lines.joining import Joiner
from acked.cluster.lines.recording import Reassigned, Recording
from acked.cluster.lines.templates import FAMILY, Tells, Template, read_templates, template_of
from acked.cluster.lines.wordings import LOGS, STRICT, WORDINGS, Kind, Wording
from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import validate
from tests.observations import LINES, RUNS, run

RELEASES = {"k39": "3.9.1", "k4": "4.4.0"}
EXERCISED = ("2.8.2", "3.3.2", "3.4.1", "3.5.1", "3.6.2", "3.7.2", "3.9.1", "4.1.0", "4.3.1")
"""Releases of which `acked kafka exercise` has recorded lines."""


TOPICS = ("t", "exercise", "played", "attempt-3-0", "orders", "payments")


@cache
def recorded_lines() -> list[tuple[str, str, str, str]]:
    """Every recorded line: release, topic, logger, and the message after its prefix."""
    found = []
    for file in sorted(LINES.rglob("*.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            found += [(RELEASES[file.parent.name.split("-")[0]], line) for line in lines]
    others = (LINES / "others.txt").read_text("utf-8").splitlines()
    found += [("3.9.1" if number < 3 else "4.4.0", line) for number, line in enumerate(others)]
    topics = [(release, "t", line) for release, line in found]
    for release in EXERCISED:
        lines = (LINES / "exercises" / f"{release}.txt").read_text("utf-8").splitlines()
        topics += [(release, "exercise", line) for line in lines]
    topics += [("4.1.0", "played", line) for line in (LINES / "reproduced.txt").read_text("utf-8").splitlines()]
    topics += [("4.4.0", "attempt-3-0", line) for line in (LINES / "paused.txt").read_text("utf-8").splitlines()]
    for release, name in (("4.3.1", "strangers"), ("source", "sources")):
        lines = (LINES / f"{name}.txt").read_text("utf-8").splitlines()
        topics += [(release, "payments" if "payments-0" in line else "orders", line) for line in lines]
    split = []
    for release, topic, line in topics:
        if head := HEAD.match(line):
            message = head[6]
            said = message[message.find("] ") + 2 :] if message.startswith("[") else message
            split.append((release, topic, head[5], said))
    return split


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda item: item.text[:40])
def test_every_wording_fits_a_recorded_line_of_every_release_that_it_is_known_of(wording: Wording) -> None:
    patterns = {topic: wording.pattern(topic, 0) for topic in TOPICS}
    seen = {
        release
        for release, topic, logger, said in recorded_lines()
        if logger in wording.loggers and patterns[topic].match(said)
    }
    assert seen >= set(wording.recorded)
    assert wording.recorded


NEEDED = {
    Kind.CREATED, Kind.APPENDED, Kind.RECORDED, Kind.RAISED, Kind.EXPANDING, Kind.ISR, Kind.LEADER, Kind.FOLLOWER,
    Kind.GOT, Kind.TOOK, Kind.OPENED, Kind.LOADED, Kind.ALTERED, Kind.CHANGED, Kind.FENCED, Kind.UNFENCED,
}  # fmt: skip


@pytest.mark.parametrize("release", EXERCISED)
def test_of_every_exercised_release_a_line_of_every_kind_that_matters_is_read(release: str) -> None:
    lines = [(logger, said) for found, _, logger, said in recorded_lines() if found == release]
    patterns = [(wording, wording.pattern("exercise", 0)) for wording in WORDINGS]
    told = {
        wording.kind for wording, pattern in patterns for logger, said in lines
        if logger in wording.loggers and pattern.match(said)
    }  # fmt: skip
    assert told >= NEEDED


def test_no_line_is_worded_as_two_wordings_are() -> None:
    patterns = [(wording, topic, wording.pattern(topic, 0)) for wording in WORDINGS for topic in TOPICS]
    for _, about, logger, said in recorded_lines():
        fitting = [
            wording.text
            for wording, topic, pattern in patterns
            if topic == about and logger in wording.loggers and pattern.match(said)
        ]
        assert len(fitting) <= 1, said


# -- messages by the sources ---------------------------------------------------------------------------------------------


def read_by(wordings: dict[str, list[tuple[Wording, re.Pattern[str]]]], topic: str, logger: str, said: str) -> bool:
    """Whether a wording reads a line about partition 0 of a topic."""
    return any(logger in wording.loggers and pattern.match(said) for wording, pattern in wordings[topic])


def test_every_recorded_line_about_the_partition_is_read_or_tells_nothing_by_the_sources() -> None:
    patterns = {topic: [(wording, wording.pattern(topic, 0)) for wording in WORDINGS] for topic in TOPICS}
    for _, topic, logger, said in recorded_lines():
        if logger in STRICT and f"{topic}-0" in said and not read_by(patterns, topic, logger, said):
            template = template_of(logger, said.rstrip())
            assert template is not None, said
            assert template.tells is Tells.NOTHING, said


def test_what_a_wording_reads_is_an_event_by_the_table_of_messages() -> None:
    """But for changes of the partition, whose text Kafka builds in a class that has no logger."""
    patterns = {topic: [(wording, wording.pattern(topic, 0)) for wording in WORDINGS] for topic in TOPICS}
    for _, topic, logger, said in recorded_lines():
        if logger in STRICT and read_by(patterns, topic, logger, said) and "partition change for " not in said[:29]:
            template = template_of(logger, said.rstrip())
            assert template is not None, said
            assert template.tells is Tells.EVENT, said


@pytest.mark.parametrize("template", read_templates(), ids=lambda item: item.text[:40])
def test_a_message_is_known_by_its_own_text(template: Template) -> None:
    """With words in the place of its values, and another message with none of them."""
    logger = LOGS[0] if template.logger == FAMILY else template.logger
    found = template_of(logger, template.text.replace("{}", "such as (this)"))
    assert found is not None
    assert len(found.text.replace("{}", "")) >= len(template.text.replace("{}", ""))
    assert template_of(logger, "Xyzzy") is None


def read(tmp_path: Path, *lines: str) -> list[Event]:
    """The events of a file with these lines after those of a controller that makes the partition; others say nothing."""
    file = tmp_path / "0.log"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    others = [tmp_path / f"{node}.log" for node in (1, 2)]
    for other in others:
        other.write_text(f"{TIME} INFO [x] kafka.server.BrokerServer [BrokerServer id={other.stem}] Starting\n", "utf-8")
    recording = Recording([str(file), *map(str, others), str(LINES / "k4-s1" / "100.log.gz")], "t", 0)
    recording.begin()
    return list(recording.events())


TIME = "2026-11-22 12:00:00.000"
KRAFT_CHANGE = "partition change for t-0 with topic ID WSRML-6NQISUhUZmrIBTvg: "


@pytest.mark.parametrize(
    ("said", "replicas"),
    [
        # As 3.7.1 and 3.3.2 print them; another order of the same replicas is how leadership is moved.
        (f"{KRAFT_CHANGE}replicas: [0, 1, 2] -> [0, 1], leaderEpoch: 0 -> 1, partitionEpoch: 1 -> 2", {0, 1}),
        (f"{KRAFT_CHANGE}replicas: [0, 1, 2] -> [1, 2, 0], partitionEpoch: 0 -> 1", {0, 1, 2}),
        # By their sources.
        (f"{KRAFT_CHANGE}addingReplicas: [3] -> [], partitionEpoch: 1 -> 2", None),
        (f"{KRAFT_CHANGE}replicas: [0, 1] -> [0, 1, 2], addingReplicas: [] -> [2], partitionEpoch: 0 -> 1", {0, 1, 2}),
    ],
)
def test_a_change_of_the_partition_tells_its_replicas(tmp_path: Path, said: str, replicas: set[int] | None) -> None:
    prefix = f"{TIME} DEBUG [x] org.apache.kafka.controller.ReplicationControlManager [QuorumController id=9]"
    file = tmp_path / "9.log"
    file.write_text(f"{prefix} {said}\n", "utf-8")
    [fact] = Lines("t", 0).facts(Node((str(file),)))
    assert fact is not None
    assert fact.fields.get("replicas") == replicas


def test_a_reassignment_to_another_broker_names_it(tmp_path: Path) -> None:
    prefix = f"{TIME} DEBUG [x] org.apache.kafka.controller.ReplicationControlManager [QuorumController id=9]"
    line = f"{prefix} {KRAFT_CHANGE}replicas: [0, 1, 2] -> [0, 1, 2, 3], addingReplicas: [] -> [3], partitionEpoch: 0 -> 1"
    (tmp_path / "9.log").write_text(f"{line}\n", "utf-8")
    recording = Recording([str(tmp_path / "9.log"), str(LINES / "k4-s1")], "t", 0)
    recording.begin()
    with pytest.raises(Reassigned) as moved:
        list(recording.events())
    assert moved.value.brokers == {3}


def test_another_order_of_replicas_is_a_reassignment_with_zookeeper(tmp_path: Path) -> None:
    """As 2.8.2 prints it where `acked reproduce` moves leadership: the epoch rises, and the same broker leads."""
    lines = (LINES / "exercises" / "2.8.2.txt").read_text("utf-8").splitlines()
    [line] = [line.replace("exercise-0", "t-0") for line in lines if "Updated leader epoch" in line]
    with pytest.raises(SpecUnreadable, match=r"0\.log:1: a line about t-0 tells of a reassignment, which acked does not"):
        read(tmp_path, line)


@pytest.mark.parametrize(("said", "why"), [
    ("kafka.cluster.Partition [Partition t-0 broker=0] Watermark is now at 7", "is worded in a way that acked does not know"),
    ("kafka.log.UnifiedLog [UnifiedLog partition=t-0] Truncate and start at offset 3, logStartOffset: 3", "tells what acked"),
    ("kafka.log.UnifiedLog [UnifiedLog partition=t-0] Truncating to offset many", "says otherwise what acked reads"),
])  # fmt: skip
def test_a_line_about_the_partition_that_is_not_understood_is_counted_with_why(tmp_path: Path, said: str, why: str) -> None:
    file = tmp_path / "0.log"
    file.write_text(f"{TIME} DEBUG [x] {said}\n{TIME} DEBUG [x] {said}\n", "utf-8")
    lines = Lines("t", 0, Ununderstood.COUNTED)
    assert list(lines.facts(Node((str(file),)))) == []
    [unknown] = lines.unknown.values()
    assert (unknown.line, unknown.lines, why in unknown.why) == (1, 2, True)


def test_a_line_about_the_partition_in_unknown_words_is_an_error_that_shows_it(tmp_path: Path) -> None:
    line = f"{TIME} DEBUG [x] kafka.cluster.Partition [Partition t-0 broker=0] Watermark is now at 7"
    with pytest.raises(SpecUnreadable, match=r"0\.log:1: a line about t-0 is worded in a way .*Watermark is now at 7"):
        read(tmp_path, line)


@pytest.mark.parametrize(
    "line",
    [
        f"{TIME} DEBUG [x] kafka.cluster.Partition [Partition t-01 broker=0] Watermark is now at 7",
        f"{TIME} DEBUG [x] kafka.cluster.Partition [Partition not-0 broker=0] Watermark is now at 7",
        f"{TIME} DEBUG [x] kafka.cluster.Partition [Partition a.t-0 broker=0] Watermark is now at 7",
        f"{TIME} DEBUG [x] some.other.Logger of broker 0 about t-0",
        "java.lang.IllegalStateException: of broker 0 about t-0",
        "\tat kafka.cluster.Partition.makeLeader(Partition.scala:700) of broker 0 about t-0",
    ],
)
def test_lines_about_other_partitions_and_of_other_loggers_are_passed_over(tmp_path: Path, line: str) -> None:
    assert [event for event in read(tmp_path, line) if event.by == 0] == []


def test_kafkas_own_layout_is_refused_because_it_names_no_thread(tmp_path: Path) -> None:
    line = "[2026-11-22 12:00:00,000] DEBUG [Partition t-0 broker=0] Recorded replica 1 … (kafka.cluster.Partition)"
    with pytest.raises(SpecUnreadable, match="do not name their threads"):
        read(tmp_path, line)


@pytest.mark.parametrize(
    "line",
    [
        f"{TIME} DEBUG kafka.cluster.Partition [Partition t-0 broker=0] Recorded replica 1 log end offset (LEO) position 1",
        "12:00:00.000 [x] DEBUG kafka.cluster.Partition: [Partition t-0 broker=0] Recorded replica 1 log end offset",
        '{"level": "DEBUG", "logger": "kafka.cluster.Partition", "message": "[Partition t-0 broker=0] Recorded replica 1"}',
    ],
)
def test_another_layout_is_refused_and_not_passed_over(tmp_path: Path, line: str) -> None:
    with pytest.raises(SpecUnreadable, match=r"0\.log:1: this line about t-0 has another layout"):
        read(tmp_path, line)


def test_lines_of_one_thread_are_one_event_and_those_of_others_are_not(tmp_path: Path) -> None:
    hw = "High watermark updated from (offset=0, segment=[0:0]) to (offset=1, segment=[0:70])"
    noted = "Recorded replica 2 log end offset (LEO) position 1 and log start offset 0."
    prefix = "kafka.cluster.Partition [Partition t-0 broker=0]"
    together = read(tmp_path, f"{TIME} DEBUG [a] {prefix} {hw}", f"{TIME} DEBUG [a] {prefix} {noted}")
    apart = read(tmp_path, f"{TIME} DEBUG [a] {prefix} {hw}", f"{TIME} DEBUG [b] {prefix} {noted}")
    told = [[(event.says, dict(event.fields)) for event in events if event.by == 0] for events in (together, apart)]
    fetch = {"follower": 2, "offset": 1}
    assert told[0] == [(Says.NOTES_FETCH, {**fetch, "hw": 1})]
    assert sorted(told[1], key=str) == sorted(
        [(Says.RAISES_HW, {"hw": 1, "cut": True}), (Says.NOTES_FETCH, fetch)], key=str
    )


def test_a_leader_that_replays_a_record_of_the_partition_does_not_know_that_it_has_asked(tmp_path: Path) -> None:
    where = "DEBUG [a] kafka.cluster.Partition [Partition t-0 broker=0]"
    stayed = (
        "INFO [m] state.change.logger [Broker id=0] Skipped the become-leader state change for t-0 with topic id Some(x) and "
        "partition state y since it is already the leader with leader epoch 0. Current high watermark 0, ISR [0,2], adding "
        "replicas [] and removing replicas []."
    )

    def asks(follower: int) -> tuple[str, str]:
        return (
            f"{where} Submitting ISR state change PendingExpandIsr(newInSyncReplicaId={follower}, x, "
            "lastCommittedState=CommittedPartitionState[isr=[0, 2], leaderRecoveryState=RECOVERED])",
            f"{where} Recorded replica {follower} log end offset (LEO) position 0 and log start offset 0.",
        )

    lines = (*asks(1), *asks(1), stayed, stayed, *asks(1), *asks(1), stayed, *asks(3))
    events = read(tmp_path, *(f"2026-11-22 12:00:00.{number:03} {line}" for number, line in enumerate(lines)))
    fetches = [event for event in events if event.says is Says.NOTES_FETCH and event.by == 0]
    assert [event.get("again") for event in fetches] == [None, None, True, None, None]


@pytest.mark.parametrize(
    ("raised", "offset", "by"),
    [
        ("12:00:00.001", 3, Says.APPENDS),
        ("12:00:00.054", 3, Says.NOTES_FETCH),
        ("12:00:00.001", 2, Says.NOTES_FETCH),
        ("12:00:00.054", 1, Says.NOTES_FETCH),
    ],
)
def test_a_rise_between_an_append_and_a_fetch_of_one_thread_is_the_fetchs_if_it_asks_for_that_offset_else_the_nearer_ones(
    tmp_path: Path, raised: str, offset: int, by: Says
) -> None:
    said = (
        ("12:00:00.000", "TRACE", "org.apache.kafka.storage.internals.log.UnifiedLog [UnifiedLog partition=t-0, dir=/d]",
         "Appended message set with last offset: 2, first offset: 2, next offset: 3, and messages: x"),
        (raised, "DEBUG", "kafka.cluster.Partition [Partition t-0 broker=0]",
         "High watermark updated from (offset=0, segment=[0:0]) to (offset=2, segment=[0:70])"),
        ("12:00:00.055", "DEBUG", "kafka.cluster.Partition [Partition t-0 broker=0]",
         f"Recorded replica 2 log end offset (LEO) position {offset} and log start offset 0."),
    )  # fmt: skip
    events = read(tmp_path, *(f"2026-11-22 {at} {level} [a] {where} {text}" for at, level, where, text in said))
    assert {event.says: event.get("hw") for event in events if event.by == 0} == {
        Says.APPENDS: None, Says.NOTES_FETCH: None, by: 2,
    }  # fmt: skip


def test_lines_of_one_millisecond_come_in_their_order_though_the_second_threads_step_is_whole_first(tmp_path: Path) -> None:
    """4.1.0, seed 4: the node stood still before the thread of the first append went on."""
    appends = (
        "TRACE [{thread}] org.apache.kafka.storage.internals.log.UnifiedLog [UnifiedLog partition=t-0, dir=/d] "
        "Appended message set with last offset: {at}, first offset: {at}, next offset: {next}, and messages: x"
    )
    notes = "DEBUG [b] kafka.cluster.Partition [Partition t-0 broker=0] Recorded replica 2 log end offset (LEO) position 0 "
    events = read(
        tmp_path,
        f"2026-11-22 12:00:00.000 {appends.format(thread='a', at=0, next=1)}",
        f"2026-11-22 12:00:00.000 {appends.format(thread='b', at=1, next=2)}",
        f"2026-11-22 12:00:00.001 {notes}and log start offset 0.",
        f"2026-11-22 12:00:01.200 {notes}and log start offset 0.",
    )
    assert [event["offset"] for event in events if event.says is Says.APPENDS] == [0, 1]


def test_a_log_that_is_made_anew_in_the_same_process_is_an_empty_one(tmp_path: Path) -> None:
    """3.6.2: the partition had moved to others meanwhile, and moves back."""
    loaded = "INFO [a] kafka.cluster.Partition [Partition t-0 broker=0] Log loaded for partition t-0 with initial high "
    events = read(tmp_path, f"{TIME} {loaded}watermark 0", f"2026-11-22 12:01:00.000 {loaded}watermark 0")
    assert [dict(event.fields) for event in events if event.says is Says.RESTARTS] == [{"hw": 0, "end": 0}]


def test_an_isr_with_which_the_leader_goes_tells_who_asked_for_it_and_who_leads_then(tmp_path: Path) -> None:
    """3.6.2, where a reassignment is complete."""
    prefix = "DEBUG [x] org.apache.kafka.controller.ReplicationControlManager [QuorumController id=9]"
    changed = "replicas: [1, 0, 2] -> [1, 0], isr: [2, 1] -> [1, 0], removingReplicas: [2] -> [], addingReplicas: [0] -> [], "
    file = tmp_path / "9.log"
    file.write_text(
        f"{TIME} {prefix} Node 2 has altered ISR for t-0 to [1, 0].\n"
        f"{TIME} {prefix} {KRAFT_CHANGE}{changed}leader: 2 -> 1, leaderEpoch: 5 -> 6, partitionEpoch: 26 -> 27\n", "utf-8",
    )  # fmt: skip
    node = Node((str(file),))
    [event] = Joiner(node).events(Lines("t", 0).facts(node))
    assert event is not None
    told = event.fields
    assert (told["leader"], told["elects"], told["isr"], told["epoch"]) == (2, 1, {0, 1}, 6)


def test_a_smaller_isr_is_asked_for_in_the_words_of_either_release(tmp_path: Path) -> None:
    others = (LINES / "others.txt").read_text("utf-8").splitlines()
    for line in others:
        told = [event.fields for event in read(tmp_path, line) if event.says is Says.ASKS_TO_SHRINK]
        assert told == ([{"followers": frozenset({2})}] if "PendingShrinkIsr" in line else [])


# -- files --------------------------------------------------------------------------------------------------------------


def plain_text(node: str) -> str:
    return gzip.decompress((LINES / "k4-s1" / f"{node}.log.gz").read_bytes()).decode()


def told(paths: list[str]) -> list[tuple[int, str]]:
    recording = Recording(paths, "t", 0)
    recording.begin()
    return [(event.at, str(event)) for event in recording.events()]


def test_rotated_files_of_a_node_are_read_in_the_order_of_their_lines(tmp_path: Path) -> None:
    for node in ("0", "1", "2", "100"):
        lines = plain_text(node).splitlines(keepends=True)
        middle = len(lines) // 2
        (tmp_path / f"{node}.log").write_text("".join(lines[middle:]), "utf-8")
        (tmp_path / f"{node}.log.1").write_text("".join(lines[:middle]), "utf-8")
    assert told([str(tmp_path)]) == told([str(LINES / "k4-s1")])


def test_a_nodes_lines_may_come_in_on_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(plain_text("1")))
    files = [str(LINES / "k4-s1" / f"{node}.log.gz") for node in ("0", "2", "100")]
    assert told(["-", *files]) == told([str(LINES / "k4-s1")])


def test_logs_that_begin_in_the_middle_are_refused(tmp_path: Path) -> None:
    files = [str(LINES / "k4-s1" / f"{node}.log.gz") for node in ("0", "1", "2")]
    with pytest.raises(SpecUnreadable, match="the logs begin in the middle"):
        told(files)


def test_a_change_of_the_controller_that_is_missing_is_seen_by_its_number(tmp_path: Path) -> None:
    text = gzip.decompress((LINES / "k4-s3" / "100.log.gz").read_bytes()).decode()
    missing = ("partitionEpoch: 0 -> 1", "partitionEpoch: 1, leader")
    kept = [line for line in text.splitlines() if not any(part in line for part in missing)]
    (tmp_path / "100.log").write_text("\n".join(kept), "utf-8")
    with pytest.raises(SpecUnreadable, match="lines are missing: this is the controller's change 2 of t-0"):
        told([str(tmp_path), *(str(LINES / "k4-s3" / f"{node}.log.gz") for node in (0, 1, 2))])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder / "nowhere.log", "nowhere.log cannot be read: No such file"),
        (lambda folder: folder, "has no log files"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, make: object, says: str) -> None:
    assert callable(make)
    with pytest.raises(SpecUnreadable, match=says):
        Recording([str(make(tmp_path))], "t", 0)


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:200], lambda packed: packed[:100] + b"no" + packed[102:], lambda _: b"no"]
)
def test_a_compressed_file_that_is_damaged_is_named(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "100.log.gz"
    file.write_bytes(damage((LINES / "k4-s1" / "100.log.gz").read_bytes()))
    with pytest.raises(SpecUnreadable, match=r"100\.log\.gz cannot be read: "):
        told([str(file)])


def test_a_partition_that_nothing_is_said_of_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no line of these logs tells of t-7"):
        Recording([str(LINES / "k4-s1")], "t", 7).begin()


@pytest.mark.slow
def test_release_and_settings_are_read_from_start_up_lines() -> None:
    for name in RUNS:
        recording = Recording([str(LINES / name)], "t", 0)
        begun = recording.begin()
        assert (begun.releases, begun.settings) == ((RELEASES[name.split("-")[0]],), {"min_insync_replicas": 2})
        assert run(name).created["replicas"] == frozenset({0, 1, 2})


def test_matches_are_counted_by_what_they_tell() -> None:
    node = Node((str(LINES / "k4-s1" / "0.log.gz"),))
    facts = list(Lines("t", 0).facts(node))
    assert node.met[Kind.APPENDED] == sum(fact.kind is Kind.APPENDED for fact in facts) == 2


def test_a_broker_whose_file_is_missing_is_named() -> None:
    files = [str(LINES / "k4-s1" / f"{node}.log.gz") for node in ("0", "1", "100")]
    with pytest.raises(SpecUnreadable, match=r"the lines of broker 2 are missing: it holds t-0 from the beginning"):
        told(files)


@pytest.mark.parametrize("seconds", [-15, -5, 5, 15])
def test_a_run_is_valid_with_a_brokers_clock_that_goes_some_seconds_wrong(tmp_path: Path, seconds: int) -> None:
    for node in ("0", "1", "2", "100"):
        lines = plain_text(node).splitlines(keepends=True)
        late = [shifted(line, seconds) if node == "1" else line for line in lines]
        (tmp_path / f"{node}.log").write_text("".join(late), "utf-8")
    recording = Recording([str(tmp_path)], "t", 0)
    begun = recording.begin()
    subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), begun.settings)
    verdict = validate(subject, begun.created, recording.events())
    assert verdict.is_valid, verdict.stuck
    assert verdict.explained == 31


def shifted(line: str, seconds: int) -> str:
    """A line as a clock prints it that goes so many seconds wrong."""
    if HEAD.match(line) is None:
        return line
    return f"{datetime.fromisoformat(line[:19]) + timedelta(seconds=seconds)}{line[19:]}"
