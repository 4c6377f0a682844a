"""`acked check` with run directories and over Spark, as a user runs it, and killed as machines kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from acked.base.files import ROOMS
from acked.checker.spark import session
from acked.checker.spark.session import SparkDriver, SparkSettings
from tests.checker.spark.spark_cluster import cluster, command_of, descendants
from tests.e2e.driver import COMMAND, TINY, acked, heed_interrupts, installed

LARGE = ("kip320", "--quiet", "--format", "json")
BOTH = ("distinct_states", "generated_states", "depth", "levels", "actions", "verdict", "violations", "never_fired")


def same(document: dict[str, Any]) -> dict[str, Any]:
    """What no engine may change."""
    return {key: document[key] for key in BOTH}


def check(*arguments: str | Path, code: int = 0, **variables: str) -> dict[str, Any]:
    done = acked("check", *arguments, "--format", "json", "--quiet", **variables)
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture
def masters(driver: SparkDriver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The masters that commands ask in this process; one Java process stands for all of them."""
    asked: list[str] = []

    def lent(settings: SparkSettings, log: Path) -> nullcontext[SparkDriver]:
        asked.append(settings.master)
        return nullcontext(driver)

    monkeypatch.setattr(session, "SparkDriver", lent)
    return asked


def killed_at(commit: int, run: Path, *arguments: str | Path) -> None:
    """Starts a search and kills it with SIGKILL once so many levels are complete; nothing of it may go on."""
    command = [COMMAND, "check", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while not (run / "commits" / f"{commit:05}.json").exists():
            assert child.poll() is None, "the search ended before it could be killed"
            time.sleep(0.0005)
        below = [(pid, command_of(pid)) for pid in descendants(child.pid)]
        child.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(text and command_of(pid) == text for pid, text in below):
        assert time.monotonic() < deadline, "what the search had started goes on without it"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_local_search_goes_on_after_sigkill(tmp_path: Path, workers: int) -> None:
    killed_at(8, tmp_path / "run", *LARGE, "-w", str(workers), "--run-dir", tmp_path / "run")
    resumed = check("kip320", "--resume", tmp_path / "run")
    assert resumed["stored_levels"] >= 8
    assert same(resumed) == same(check("kip320"))
    assert resumed["expectation"] == {"met": True, "differences": []}


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.slow
def test_a_killed_spark_driver_is_resumed_by_either_engine(tmp_path: Path) -> None:
    expected = same(check("kip320"))
    for number, engine in enumerate(("spark", "local")):
        run = tmp_path / str(number)
        killed_at(8, run, *LARGE, "--engine", "spark", "--master", "local[2]", "--run-dir", run)
        resumed = check("kip320", "--resume", run, "--engine", engine)
        assert resumed["stored_levels"] >= 8
        assert same(resumed) == expected
        assert resumed["engine"] == engine


@pytest.mark.long
@pytest.mark.spark
def test_spark_is_not_misled_by_a_users_own_packages(tmp_path: Path) -> None:
    for name in (*ROOMS, "acked", "pyspark"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('the foreign {name} was imported')\n")
    (tmp_path / "mine.toml").write_text(TINY)
    asked = ("check", "mine.toml", "--engine", "spark", "--master", "local[2]", "-q", "--format", "json")
    done = installed(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["distinct_states"] == 277
    assert done.stderr == ""


@pytest.mark.spark
def test_a_violation_over_spark_has_the_same_run_and_exit_code(masters: list[str], tmp_path: Path) -> None:
    arguments = ("check", "truncate-to-hw", "--trace-out", "t.json", "-q")
    local = acked(*arguments, cwd=tmp_path)
    first = (tmp_path / "t.json").read_text()
    spark = acked(*arguments, "--engine", "spark", "--master", "local[2]", "--buckets", "7", cwd=tmp_path)
    assert (local.returncode, spark.returncode) == (12, 12)
    assert (tmp_path / "t.json").read_text() == first
    assert masters == ["local[2]"]


@pytest.mark.slow
def test_options_that_contradict_each_other_are_usage_errors(tmp_path: Path) -> None:
    for arguments, reason in (
        (["--engine", "local", "--master", "local[2]"], "--master is for Spark"),
        (["--engine", "spark", "-w", "2"], "--workers is for the local search"),
        (["--conf", "spark.x=1"], "--conf is for Spark"),
        (["--conf", "spark.x"], "is not a setting"),
        (["--engine", "spark", "--conf", "x=1"], "begin with"),
        (["--engine", "spark", "--conf", "spark.x=1", "--conf", "spark.x=2"], "given twice"),
        (["--run-dir", "a", "--resume", "b"], "give one of them"),
        (["--buckets", "3"], "--buckets is for runs that are stored"),
        (["--run-dir", "a", "--buckets", "0"], "choose from 1 to"),
        (["--engine", "spark", "--master", "mesos://x"], "is not a Spark master"),
        (["--engine", "quantum"], "'quantum'"),
        (["--engine", "spark", "--master", "yarn"], "name --memory"),
        (["--engine", "spark", "--master", "sc://host:1"], "Spark Connect has no barrier tasks"),
        (["--run-dir", "hdfs://host/run"], "add --engine spark, or name a folder"),
        (["--no-ship"], "--ship is for Spark"),
    ):
        done = acked("check", "kip320", "-q", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (151, ""), arguments
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_places_that_cannot_hold_a_run_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, code in (("file", 151), ("file/below", 153), ("/proc/acked", 153)):
        done = acked("check", "kip320", "-q", "--run-dir", place, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert place in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_disk_that_fills_up_while_the_search_is_under_way_is_one_sentence(tmp_path: Path) -> None:
    import resource

    def no_large_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = installed("check", "kip320", "-q", "--run-dir", "run", cwd=tmp_path, before=no_large_files)
    assert done.returncode == 153
    assert "cannot write run/levels/" in done.stderr
    assert done.stderr.count("\n") == 1
    assert same(check("kip320", "--resume", tmp_path / "run")) == same(check("kip320"))


@pytest.mark.spark
def test_java_that_does_not_do_is_named_before_anything_starts(tmp_path: Path) -> None:
    done = acked("check", "kip320", "-q", "--engine", "spark", JAVA_HOME=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (151, 1)
    assert f"JAVA_HOME is {tmp_path}" in done.stderr


@pytest.mark.slow
def test_a_full_memory_without_a_cluster_prints_the_command_that_goes_on(tmp_path: Path) -> None:
    done = acked("check", "kip320", "-q", "--memory", "4MB", "--run-dir", "run", cwd=tmp_path)
    assert done.returncode == 152
    way = "acked check kip320 --resume run --engine spark --master spark://HOST:PORT"
    assert way in " ".join(done.stdout.split())
    small = acked("check", "kip320", "-q", "--memory", "4MB", cwd=tmp_path)
    assert "--run-dir DIR --master spark://HOST:PORT" in " ".join(small.stdout.split())
    assert same(check("kip320", "--resume", tmp_path / "run")) == same(check("kip320"))


@pytest.mark.spark
@pytest.mark.slow
def test_the_gate_runs_its_searches_as_spark_tasks(masters: list[str]) -> None:
    command = ("gate", "kip101-2221", "truncate-to-hw-2221-weak", "--no-cache", "--format", "json")
    here, over = (json.loads(acked(*command, *master).stdout) for master in ((), ("--master", "local[2]")))
    for document in (here, over):
        assert document.pop("seconds") > 0
        for entry in document["specs"]:
            assert entry["outcome"].pop("seconds") > 0
    assert over == here
    assert len(over["specs"]) == 2
    assert masters == ["local[2]"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [("gate", "kip101-2221", "--no-cache"), ("matrix", "--no-cache")])
def test_commands_that_run_many_searches_refuse_masters_that_are_none(command: tuple[str, ...]) -> None:
    for arguments, reason in (
        (["--master", "nowhere"], "is not a Spark master"),
        (["--master", "local[2]", "--jobs", "2"], "Spark's slots are chosen by --master"),
    ):
        done = acked(*command, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (151, 1), done.stderr
        assert reason in done.stderr


def assert_handed_over(master: str, folder: Path) -> None:
    """A search whose memory is full goes on over Spark, and leaves nothing behind."""
    small = ("--memory", "10MB", "-w", "1", "--conf", "spark.executor.memory=512m")
    handed = check("kip320", *small, "--master", master, TMPDIR=str(folder))
    assert same(handed) == same(check("kip320"))
    assert handed["engine"] == "spark"
    assert "the local search reached its memory budget" in handed["notes"][0]
    assert not [path for path in folder.iterdir() if path.name.startswith("acked-run-")]


@pytest.mark.spark
@pytest.mark.slow
def test_auto_hands_over_to_spark_when_memory_is_full(
    masters: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)  # It is kept once it was asked for.
    assert_handed_over("spark://127.0.0.1:7077", tmp_path)
    assert masters == ["spark://127.0.0.1:7077"]


@pytest.mark.long
@pytest.mark.spark
def test_auto_hands_over_to_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    with cluster(tmp_path) as machines:
        assert_handed_over(machines.master, tmp_path)


@pytest.mark.long
@pytest.mark.spark
def test_a_full_memory_over_spark_says_what_would_help(tmp_path: Path) -> None:
    asked = ["check", "kip320", "-q", "--memory", "2MB", "--engine", "spark", "--master", "local[1]"]
    full = acked(*asked, TMPDIR=str(tmp_path))
    assert full.returncode == 152
    assert "give each task more --memory, or name a --master with more executors" in " ".join(full.stdout.split())


@pytest.mark.spark
@pytest.mark.slow
def test_a_temporary_run_that_is_worth_resuming_is_kept_and_named_and_a_small_one_goes(
    masters: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    asked = ["kip320-3222", "--engine", "spark", "--master", "local[2]", "--memory"]
    full = check(*asked, "4MB", code=152, TMPDIR=str(tmp_path))
    [kept] = [path for path in tmp_path.iterdir() if path.name.startswith("acked-run-")]
    assert f"acked check kip320-3222 --resume {kept} --engine spark" in full["notes"][-1]
    assert same(check("kip320-3222", "--resume", kept)) == same(check("kip320-3222"))
    assert "--resume" not in check(*asked, "100kB", code=152, TMPDIR=str(tmp_path))["notes"][-1]
    assert [path for path in tmp_path.iterdir() if path.name.startswith("acked-run-")] == [kept]
    assert masters == ["local[2]"] * 2


@pytest.mark.spark
def test_ctrl_c_during_a_spark_search_leaves_a_run_that_goes_on(masters: list[str], tmp_path: Path) -> None:
    """The test below without a Java process of its own."""
    run = tmp_path / "run"

    over = Event()

    def interrupt() -> None:
        while not (run / "commits" / "00006.json").exists() and not over.wait(0.0005):
            pass
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    Thread(target=interrupt, daemon=True).start()
    try:
        done = acked("check", *LARGE, "--engine", "spark", "--master", "local[2]", "--run-dir", run)
    except KeyboardInterrupt:
        pytest.fail("the search was faster than the signal")
    finally:
        over.set()
    assert_interrupted(run, done.returncode, done.stdout, done.stderr)
    assert masters == ["local[2]"]


def assert_interrupted(run: Path, code: int, out: str, err: str) -> None:
    assert "Traceback" not in err
    assert code == 130, "the search was faster than the signal"
    assert f"--resume {run}" in json.loads(out)["notes"][-1]
    assert same(check("kip320", "--resume", run)) == same(check("kip320"))
    assert os.listdir(run / "scratch") == []


@pytest.mark.long
@pytest.mark.spark
def test_ctrl_c_ends_the_driver_too_and_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["check", *LARGE, "--engine", "spark", "--master", "local[2]", "--run-dir", str(run)]
    with subprocess.Popen(
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as child:
        while not (run / "commits" / "00006.json").exists():
            assert child.poll() is None
            time.sleep(0.0005)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    assert_interrupted(run, child.returncode, out, err)
