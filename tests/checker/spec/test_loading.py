"""A protocol of one's own is loaded from its file, and whatever is wrong in it is one sentence with its line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acked.base.errors import AckedError
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.search.local import search
from acked.checker.spec.resolve import protocol_named
from acked.checker.spec.spec import load_spec
from acked.checker.spec.user_protocol import load_protocol
from acked.cli import main


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with what `acked new protocol my-log` writes."""
    assert main(["new", "protocol", "my-log", "--out", str(tmp_path)]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", "mine.py:1: this is not valid Python: '(' was never closed"),
        ("\n1 / 0", "mine.py:2: ZeroDivisionError: division by zero"),
        ("import nothing_of_the_kind", "mine.py:1: ModuleNotFoundError: No module named 'nothing_of_the_kind'"),
        (
            "from model.no_such_module import Protocol",  # There is a `model` where the tests run, and only there.
            "; acked's model is now acked.model: write `from acked import …` or `from acked.model… import …`",
        ),
        ("import os\nimport checker.no_such_module", "mine.py:2: ModuleNotFoundError: No module named 'checker"),
        ("raise SystemExit(0)", "mine.py:1: SystemExit: 0"),
        ("mine = 3", "mine.py defines 'mine', which is not a protocol; its protocols are none"),
        ("", "mine.py has no protocol 'mine'; its protocols are none"),
        ("\0", "this is not valid Python"),
        (
            "from acked.model.catalogue import PROTOCOLS\nmine = PROTOCOLS['kip320']",
            "kip320 is the name of a shipped protocol",
        ),
        (
            "from acked.model.language.context import Constant\nc = Constant('a', 1, 2, '')\nc + 'x'",
            "mine.py:3: TypeError: unsupported",
        ),
    ],
)
def test_what_is_wrong_in_a_protocol_file_is_told_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text, "utf-8")
    with pytest.raises(AckedError) as refused:
        load_protocol("mine.py:mine", tmp_path)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["gone.py:x", "mine.py", "mine.py:", ":x.py:", "mine.py:a.b", "mine.py:__import__('os')"])
def test_a_reference_that_names_nothing_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("", "utf-8")
    with pytest.raises(AckedError):
        protocol_named(name, tmp_path)


def test_what_a_file_prints_is_no_part_of_the_answer(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = mine / "my_log.py"
    path.write_text(path.read_text("utf-8") + "print('hello')\n", "utf-8")
    capsys.readouterr()
    assert main(["check", str(mine / "my_log.toml"), "--format", "json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["distinct_states"] == 150


@pytest.fixture
def loses(mine: Path) -> Path:
    """A trace in which that protocol, changed, loses a record."""
    path, trace = mine / "my_log.py", mine / "t.json"
    waits, does_not = "every(Broker, lambda b: s.acked < s.end[b])", "s.acked < s.end[s.leader]"
    path.write_text(path.read_text("utf-8").replace(waits, does_not), "utf-8")
    assert main(["check", str(mine / "my_log.toml"), "-q", "--trace-out", str(trace)]) == 12
    return trace


OPENED: dict[str, tuple[str, ...]] = {
    "show": ("show", "TRACE"),
    "view": ("view", "TRACE", "-q"),
    "beside": ("view", "truncate-to-hw", "TRACE", "-q"),
    "export": ("export", "TRACE", "--to", "csv"),
    "graph": ("graph", "kip320-2111", "--to", "dot", "--from", "TRACE"),
}


@pytest.mark.parametrize("command", OPENED)
@pytest.mark.parametrize("place", ["beside it", "in the working directory"])
def test_opening_a_trace_runs_no_file(
    command: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "sub" / "t.json"
    trace.parent.mkdir()
    script = (trace.parent if place == "beside it" else tmp_path) / "deploy.py"
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", "utf-8")
    spec = {"protocol": "deploy.py:x", "constants": {}, "properties": []}
    trace.write_text(json.dumps({"format": "acked-trace/1", "spec": spec, "steps": []}), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([str(trace) if item == "TRACE" else item for item in OPENED[command]]) == 150
    assert not (tmp_path / "ran").exists()
    said = capsys.readouterr().err
    assert "deploy.py:x" in said
    assert said.count("\n") == 1
    if command != "graph":  # where the spec is named
        assert "name the spec with --spec SPEC, or add --trust if that file may be run" in said


def test_a_trace_of_ones_own_protocol_is_shown_if_the_spec_is_named(
    loses: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = str(loses.with_name("my_log.toml"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # where nothing of it is
    for command in (["show", str(loses)], ["export", str(loses), "--to", "csv"], ["view", str(loses), "-q"]):
        assert main(command) == 150
        assert main([*command, "--spec", spec]) == 0
        assert main([*command, "--trust"]) == 0
    assert main(["graph", spec, "--to", "dot", "-c", "brokers=3", "--from", str(loses)]) == 0
    capsys.readouterr()
    assert main(["show", str(loses), "--spec", "kip320"]) == 150
    assert "the trace is of another protocol, my_log.py:my_log, than kip320" in capsys.readouterr().err
    loses.with_name("my_log.py").rename(loses.with_name("other.py"))
    text = Path(spec).read_text("utf-8")
    Path(spec).write_text(text.replace("my_log.py:my_log", "other.py:my_log"), "utf-8")
    assert main(["show", str(loses), "--spec", spec]) == 150
    assert "the trace is of another protocol, my_log.py:my_log, than other.py:my_log" in capsys.readouterr().err


def test_a_trace_that_is_trusted_is_replayed_beside_its_file_and_runs_no_other(
    loses: Path, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, trace = mine / "my_log.py", loses
    assert main(["show", str(trace), "--trust"]) == 0
    document = json.loads(trace.read_text("utf-8"))
    assert document["spec"]["protocol"] == "my_log.py:my_log"
    elsewhere = mine / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(path, elsewhere / "my_log.py")
    for name in (str(path) + ":my_log", "elsewhere/my_log.py:my_log", "../my_log.py:my_log"):
        document["spec"]["protocol"] = name
        trace.write_text(json.dumps(document), "utf-8")
        assert main(["show", str(trace), "--trust"]) == 150
    assert "must be named without a folder" in capsys.readouterr().err


def test_an_answer_is_cached_by_what_the_rules_are_and_not_by_the_file(mine: Path) -> None:
    path = mine / "my_log.py"
    cache = ResultCache(mine / "cache", "1")
    task = Task.of(load_spec(mine / "my_log.toml"))
    cache.put(task, Outcome.of(search(task.question())))
    path.write_text(path.read_text("utf-8") + "# a remark\n", "utf-8")
    known = cache.get(task)
    assert known is not None
    assert known.distinct_states == 150
    path.write_text(path.read_text("utf-8").replace("< s.end[b])", "< s.end[b] + 0) | (s.acked < s.end[s.leader])"), "utf-8")
    assert cache.get(task) is None
    assert search(Task.of(load_spec(mine / "my_log.toml")).question()).violations
    path.write_text("oh no", "utf-8")
    assert cache.get(task) is None


def test_its_promises_are_proved_together_by_induction(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", str(mine / "my_log.toml"), "-q", "--format", "json", "-c", "brokers=2"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "holds"


def test_nothing_that_exists_is_overwritten(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_text("utf-8") for path in mine.iterdir()}
    assert set(before) == {"my_log.py", "my_log.toml", "test_my_log.py"}
    (mine / "my_log.py").unlink()
    assert main(["new", "protocol", "my-log", "--out", str(mine)]) == 151
    assert "my_log.toml already exists" in capsys.readouterr().err
    assert not (mine / "my_log.py").exists()
    for name in ("kip320", "a/b", "../x", "", "A b"):
        assert main(["new", "protocol", name, "--out", str(mine)]) == 151
    assert {path.name for path in mine.iterdir()} == {"my_log.toml", "test_my_log.py"}


@pytest.mark.parametrize("name", ["truncate-to-hw", "kip101", "kip279", "kip320-first-try", "kip320", "partition"])
def test_a_new_spec_of_every_shipped_protocol_is_as_it_expects(name: str, tmp_path: Path) -> None:
    assert main(["new", "spec", "mine", "--protocol", name, "--out", str(tmp_path)]) == 0
    spec = load_spec(tmp_path / "mine.toml")
    assert spec.expect is not None
    assert spec.expect.differences(search(spec.question())) == []


@pytest.mark.parametrize("asked", ["s.leader is None", "s.leader is not None", "s.by[n] is None"])
def test_an_action_that_asks_python_and_not_the_state_is_refused_with_its_line(asked: str, tmp_path: Path) -> None:
    lines = ["def keep(x=None):", "    return x is None", "", "@p.action(says=lambda t: t.after.leader is None)"]
    lines += ["def act(s, n):", f"    require('nobody', {asked})"]
    (tmp_path / "mine.py").write_text("\n".join(lines), "utf-8")
    with pytest.raises(AckedError, match=r"mine\.py:6: `is` compares Python objects, not the state; use s\..+\.is_none, "):
        load_protocol("mine.py:mine", tmp_path)
