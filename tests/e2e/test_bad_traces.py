"""Traces that cannot be written, and trace files that are refused: one exact code, one sentence that names it."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acked.cli import main
from tests.e2e.driver import TINY, acked, assert_one_sentence, call, installed
from tests.places import CHECKOUT

# -- where traces go ---------------------------------------------------------------------------------------------------


def test_a_trace_cannot_be_written_to_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "check", "truncate-to-hw", "--trace-out", tmp_path)
    assert_one_sentence(done, 153, str(tmp_path), "is a folder")


def test_a_trace_cannot_be_written_into_a_folder_that_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "trace.json"
    assert_one_sentence(call(capsys, "check", "truncate-to-hw", "--trace-out", path), 153, str(path), "does not exist")


def test_a_trace_cannot_be_written_below_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "trace.json"
    assert_one_sentence(call(capsys, "check", "truncate-to-hw", "--trace-out", path), 153, str(path))


def test_a_trace_cannot_be_written_where_nothing_can_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/proc/self/trace.json"
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc here")
    assert_one_sentence(call(capsys, "check", "truncate-to-hw", "--trace-out", path), 153, path)


def test_a_name_that_is_too_long_for_the_file_system_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("x" * 300)
    assert_one_sentence(call(capsys, "check", "truncate-to-hw", "--trace-out", path), 153, "too long")


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_trace_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("old")
    warm = acked("check", "truncate-to-hw", "--quiet")  # so that the limit below meets no kernel that is being cached
    assert warm.returncode == 12

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = installed("check", "truncate-to-hw", "--trace-out", path, before=no_room)
    assert_one_sentence(done, 153, str(path), "too large")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# -- trace files -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A trace of 12 states with two properties asked, of which the last step violates the second."""
    folder = tmp_path_factory.mktemp("trace")
    spec = folder / "spec.toml"
    text = (CHECKOUT / "specs" / "answers" / "kip279-3222-committed-stay.toml").read_text()
    spec.write_text(text.replace('["CommittedRecordsStay"]', '["HwWithinLog", "CommittedRecordsStay"]'))
    path = folder / "trace.json"
    assert main(["check", str(spec), "--quiet", "--format", "json", "--trace-out", str(path)]) == 13
    document = json.loads(path.read_text("utf-8"))
    assert isinstance(document, dict)
    return document


Edit = Callable[[Any], Any]


def put(value: Any, *path: Any) -> Edit:
    """Sets what stands at a path of the document."""

    def edit(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return edit


def cut(*path: Any) -> Edit:
    """Removes what stands at a path of the document."""

    def edit(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        del document[path[-1]]

    return edit


def swap(document: Any) -> None:
    steps = document["steps"]
    steps[2], steps[3] = steps[3], steps[2]


def one_step_more(document: Any) -> None:
    document["steps"].append(document["steps"][-1])


TRACES: list[tuple[str, Edit, tuple[str, ...]]] = [
    ("a-list", lambda _: [], ("format",)),
    ("null", lambda _: "null", ("format",)),
    ("wrong-format", put("acked-trace/2", "format"), ("acked-trace/1",)),
    ("no-format", cut("format"), ("acked-trace/1",)),
    ("no-spec", cut("spec"), ("'spec'",)),
    ("no-steps", cut("steps"), ("'steps'",)),
    ("zero-steps", put([], "steps"), ("no steps",)),
    ("unknown-protocol", put("kip278", "spec", "protocol"), ("'kip278'", "did you mean kip279?")),
    ("other-protocol", put("kip320", "spec", "protocol"), ("step",)),
    ("unknown-constant", put(1, "spec", "constants", "x"), ("'x'",)),
    ("constant-out-of-range", put(99, "spec", "constants", "replicas"), ("replicas is 99",)),
    ("constant-true", put(True, "spec", "constants", "replicas"), ("replicas is True",)),
    ("other-constant", put(2, "spec", "constants", "replicas"), ("step 0",)),
    ("unknown-property", put(["Nope"], "spec", "properties"), ("'Nope'",)),
    ("property-twice", put(["HwWithinLog"] * 2, "spec", "properties"), ("twice",)),
    ("properties-in-other-order", put(["CommittedRecordsStay"], "spec", "properties"), ("properties",)),
    ("drop-is-a-number", put(3, "spec", "drop"), ("'drop'",)),
    ("drop-of-numbers", put([3], "spec", "drop"), ("'3'",)),
    ("drop-unknown", put(["LeaderWrite: x"], "spec", "drop"), ("'x'",)),
    ("violates-another-that-is-asked", put("HwWithinLog", "spec", "violates"), ("'HwWithinLog'", "holds")),
    ("violates-one-not-asked", put("WeakIsr", "spec", "violates"), ("'WeakIsr'", "does not ask")),
    ("violates-a-list", put(["HwWithinLog"], "spec", "violates"), ("does not ask",)),
    ("last-step-removed", cut("steps", -1), ("'CommittedRecordsStay'", "holds")),
    ("step-removed", cut("steps", 4), ("step 4",)),
    ("first-step-removed", cut("steps", 0), ("step 0",)),
    ("steps-swapped", swap, ("step 2",)),
    ("step-repeated", one_step_more, ("step 12",)),
    ("step-is-null", put(None, "steps", 3), ("step 3",)),
    ("first-step-is-text", put("x", "steps", 0), ("step 0",)),
    ("state-missing", cut("steps", 3, "state"), ("step 3",)),
    ("state-edited", put(1, "steps", 5, "state", "replica", 0, "hw"), ("step 5",)),
    ("state-out-of-domain", put(77, "steps", 5, "state", "replica", 0, "hw"), ("step 5",)),
    ("state-true-for-one", put(True, "steps", 5, "state", "next_leader_epoch"), ("step 5",)),
    ("state-of-text", put("x", "steps", 5, "state", "quorum", "isr"), ("step 5",)),
    ("state-with-a-field-too-many", put(1, "steps", 5, "state", "extra"), ("step 5",)),
    ("initial-state-edited", put(1, "steps", 0, "state", "next_record_id"), ("step 0",)),
    ("action-edited", put("LeaderWrite", "steps", 2, "action"), ("step 2",)),
    ("action-unknown", put("Nope", "steps", 2, "action"), ("step 2", "'Nope'")),
    ("action-null", put(None, "steps", 2, "action"), ("step 2",)),
    ("action-of-the-first-step", put("LeaderWrite", "steps", 0, "action"), ("steps[0].action",)),
    ("params-edited", put({"replica": 9}, "steps", 1, "params"), ("step 1",)),
    ("params-missing", cut("steps", 1, "params"), ("step 1",)),
    ("params-of-the-first-step", put({"replica": 0}, "steps", 0, "params"), ("steps[0].params",)),
    ("index-edited", put(7, "steps", 1, "index"), ("steps[1].index",)),
    ("mark-edited", put(True, "steps", -1, "properties", "CommittedRecordsStay"), ("properties.CommittedRecordsStay",)),
    ("mark-invented", put(True, "steps", -1, "properties", "WeakIsr"), ("properties",)),
    ("marks-missing", cut("steps", -1, "properties"), ("properties",)),
    ("changed-edited", put([], "steps", 3, "changed"), ("steps[3].changed",)),
    ("changed-missing", cut("steps", 3, "changed"), ("steps[3].changed",)),
    ("something-added", put("trust me", "note"), ("note",)),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "parts"), [case[1:] for case in TRACES], ids=[case[0] for case in TRACES])
def test_an_edited_trace_is_refused_in_one_sentence(
    edit: Edit, parts: tuple[str, ...], trace: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(json.dumps(trace))
    replaced = edit(document)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document if replaced is None else replaced))
    assert_one_sentence(call(capsys, "show", path), 150, str(path), *parts)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ("not valid JSON",)),
        (b"hello", ("not valid JSON",)),
        (b"\xff\xff", ("not UTF-8",)),
        (bytes(range(256)), ("not UTF-8",)),
        (b"[" * 200_000, ("nested too deeply",)),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, ("nested too deeply",)),
        (b'{"format": ' + b"9" * 5000 + b"}", ("not valid JSON",)),
    ],
    ids=["empty", "text", "not-utf-8", "binary", "nested-lists", "nested-objects", "long-number"],
)
def test_a_file_that_is_no_json_is_no_trace(
    content: bytes, parts: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    assert_one_sentence(call(capsys, "show", path), 150, str(path), *parts)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_trace_is_no_trace(
    share: float, trace: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(trace)
    path = tmp_path / "trace.json"
    path.write_text(text[: int(len(text) * share)])
    assert_one_sentence(call(capsys, "show", path), 150, str(path), "not valid JSON")


def test_a_trace_of_another_version_is_replayed_whatever_its_fingerprint(
    trace: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(json.dumps(trace))
    document["spec"]["fingerprint"] = "0" * 64
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    assert call(capsys, "show", path).returncode == 0


def test_a_trace_that_is_missing_or_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_one_sentence(call(capsys, "show", tmp_path / "t.json"), 150, "t.json", "No such file")
    assert_one_sentence(call(capsys, "show", tmp_path), 150, str(tmp_path), "is a folder")


@pytest.mark.slow
def test_a_spec_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(TINY)
    assert_one_sentence(installed("show", path), 150, str(path), "not valid JSON")
