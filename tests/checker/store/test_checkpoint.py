"""Run directories: what the local search writes while it goes, and which runs go on: undamaged ones of the same question."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ConfigurationError, ExitCode, SystemFailure
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason
from acked.checker.search.local import LocalSearch
from acked.checker.store import recorder
from acked.checker.store.level_file import LevelWriter, StateCodec
from acked.checker.store.run_directory import RunDirectory, read_document, write_document
from tests.checker.toys import always, answer, ask, counters, every_step
from tests.places import CHECKOUT

MEMORY = 64 << 20
TOP = 6


def question(limit: int = 3 * TOP + 1) -> Question:
    return ask(counters(3, TOP), always("Below", lambda s: s.n0 + s.n1 + s.n2 < limit))


def search(stored: RunDirectory | None = None, workers: int = 1, limit: int = 3 * TOP + 1, **bounds: int) -> Result:
    asked = question(limit)
    return LocalSearch(asked, Bounds(workers, MEMORY, **bounds), StopPolicy.FIRST_VIOLATION, stored=stored).run()


def recorded(path: Path, workers: int = 1, buckets: int = 5, limit: int = 3 * TOP + 1, **bounds: int) -> Result:
    with RunDirectory.create(path, question(limit), buckets) as run:
        return search(run, workers, limit, **bounds)


def resumed(path: Path, workers: int = 1, limit: int = 3 * TOP + 1, **bounds: int) -> Result:
    with RunDirectory.open(path, question(limit)) as run:
        return search(run, workers, limit, **bounds)


def cut(path: Path, keep: int) -> None:
    """Leaves a run as if it had been killed after so many commits."""
    for name in sorted(os.listdir(path / "commits"))[keep:]:
        os.unlink(path / "commits" / name)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("buckets", [1, 2, 7, 64])
def test_a_run_cut_off_after_any_level_goes_on_to_the_same_answer(tmp_path: Path, workers: int, buckets: int) -> None:
    expected = answer(search())
    assert answer(recorded(tmp_path / "run", workers, buckets)) == expected
    levels = len(expected["levels"])
    for keep in (1, 2, levels // 2, levels, levels + 1):
        copy = tmp_path / f"cut-{keep}"
        shutil.copytree(tmp_path / "run", copy)
        cut(copy, keep)
        assert answer(resumed(copy, 1 + keep % 3)) == expected
        assert answer(resumed(copy)) == expected, "what the second search added is as good as what it found"


@pytest.mark.parametrize("keep", [1, 4, 8, 9])
def test_a_violation_found_before_or_after_the_cut_has_the_same_run(tmp_path: Path, keep: int) -> None:
    limit = 8
    expected = answer(search(limit=limit))
    assert expected["stopped"] is StopReason.VIOLATION
    assert answer(recorded(tmp_path / "run", 2, limit=limit)) == expected
    cut(tmp_path / "run", keep)
    assert answer(resumed(tmp_path / "run", limit=limit)) == expected
    assert answer(resumed(tmp_path / "run", 2, limit=limit)) == expected


def test_a_step_violation_is_found_again_in_a_finished_run(tmp_path: Path) -> None:
    def asked() -> Question:
        return ask(counters(2, 4), every_step("NotTwice", lambda before, after: (before.n1 < 4) | (after.n0 < 3)))

    with RunDirectory.create(tmp_path / "run", asked()) as run:
        expected = answer(LocalSearch(asked(), Bounds(2, MEMORY), stored=run).run())
    assert expected["violations"]
    with RunDirectory.open(tmp_path / "run", asked()) as run:
        assert answer(LocalSearch(asked(), Bounds(1, MEMORY), stored=run).run()) == expected


def test_a_bounded_run_goes_on_where_the_bound_stopped_it(tmp_path: Path) -> None:
    assert recorded(tmp_path / "run", max_depth=4).stopped is StopReason.MAX_DEPTH
    assert resumed(tmp_path / "run", max_states=200).stopped is StopReason.MAX_STATES
    shallow = resumed(tmp_path / "run", max_depth=3)
    assert (shallow.stopped, shallow.depth) == (StopReason.MAX_DEPTH, 3)
    assert answer(resumed(tmp_path / "run")) == answer(search())


def test_a_run_that_does_not_fit_into_memory_is_incomplete_and_stays_as_it_was(tmp_path: Path) -> None:
    def wide() -> Question:
        return ask(counters(5, 5), always("Any", lambda s: s.n0 >= 0))

    with RunDirectory.create(tmp_path / "run", wide()) as run:
        small = LocalSearch(wide(), Bounds(1, 80_000), stored=run).run()
        known = run.known_levels
    assert small.stopped is StopReason.MEMORY
    assert 0 < small.depth == known < 26
    with RunDirectory.open(tmp_path / "run", wide()) as run:
        again = LocalSearch(wide(), Bounds(1, 40_000), stored=run).run()
    assert again.stopped is StopReason.MEMORY
    with RunDirectory.open(tmp_path / "run", wide()) as run:
        assert LocalSearch(wide(), Bounds(2, MEMORY), stored=run).run().distinct_states == 6**5


# -- refusals -------------------------------------------------------------------------------------------------------


def test_a_run_of_another_question_is_refused_with_what_differs(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    other = ask(counters(3, TOP), always("Other", lambda s: s.n0 >= 0))
    with pytest.raises(ConfigurationError, match=r"run\.json is about the properties Below, and the spec about .*Other"):
        RunDirectory.open(tmp_path / "run", other)


@pytest.mark.parametrize("changed", [question(5), ask(counters(3, TOP - 1), always("Below", lambda s: s.n0 >= 0))])
def test_a_run_of_other_rules_under_the_same_name_is_refused(tmp_path: Path, changed: Question) -> None:
    recorded(tmp_path / "run")
    with pytest.raises(ConfigurationError, match=r"run\.json was started with another version of the rules of counters"):
        RunDirectory.open(tmp_path / "run", changed)


def test_a_run_of_an_older_version_whose_rules_cannot_be_compared_is_refused_in_a_sentence(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    about = read_document(path)
    del about["identity"]["hashes"]
    about["identity"]["fingerprint"] = "0" * 64
    write_document(path, about)
    with pytest.raises(ConfigurationError, match=r"an older version of acked, .*start over in another folder"):
        RunDirectory.open(tmp_path / "run", question())


def flip(path: Path, at: int) -> None:
    """Turns one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def largest(run: Path) -> Path:
    return max((run / "levels").iterdir(), key=lambda path: path.stat().st_size)


DAMAGES: dict[str, Callable[[Path], Path]] = {}


def damage(function: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """A way to damage a run; returns the file that the refusal must name."""
    DAMAGES[function.__name__] = function
    return function


@damage
def a_flipped_bit_in_states(run: Path) -> Path:
    flip(largest(run), -1)
    return largest(run)


@damage
def a_flipped_bit_in_a_header(run: Path) -> Path:
    flip(largest(run), 20)
    return largest(run)


@damage
def a_level_file_cut_short(run: Path) -> Path:
    path = largest(run)
    path.write_bytes(path.read_bytes()[:-1])
    return path


@damage
def a_level_file_gone(run: Path) -> Path:
    path = largest(run)
    path.unlink()
    return path


@damage
def another_levels_file(run: Path) -> Path:
    sizes: dict[int, list[Path]] = {}
    known = len(list((run / "commits").iterdir()))
    for path in sorted((run / "levels").iterdir()):
        if int(path.name[:5]) <= known:
            sizes.setdefault(path.stat().st_size, []).append(path)
    # Which worker found what differs from run to run, and with it whether two files are equally long.
    alike = (paths[:2] for paths in sizes.values() if len(paths) > 1)
    first, second = next(alike, [paths[0] for paths in sizes.values()][:2])
    second.write_bytes(first.read_bytes())
    return second


@damage
def a_commit_gone(run: Path) -> Path:
    (run / "commits" / "00003.json").unlink()
    return run / "commits" / "00003.json"


@damage
def a_commit_that_is_a_pipe(run: Path) -> Path:
    path = run / "commits" / "00003.json"
    path.unlink()
    os.mkfifo(path)
    return path


@damage
def a_level_that_is_a_pipe(run: Path) -> Path:
    path = next((run / "levels").glob("00003-*"))
    path.unlink()
    os.mkfifo(path)
    return path


@damage
def an_edited_commit(run: Path) -> Path:
    path = run / "commits" / "00003.json"
    path.write_text(path.read_text().replace('"next_states": 1', '"next_states": 2'))
    return path


@damage
def a_commit_of_another_level(run: Path) -> Path:
    path = run / "commits" / "00003.json"
    path.write_bytes((run / "commits" / "00002.json").read_bytes())
    return path


@damage
def an_empty_description(run: Path) -> Path:
    (run / "run.json").write_text("")
    return run / "run.json"


@damage
def an_edited_description(run: Path) -> Path:
    path = run / "run.json"
    path.write_text(path.read_text().replace('"buckets": 5', '"buckets": 6'))
    return path


@damage
def another_format(run: Path) -> Path:
    write_document(run / "run.json", {"format": "acked-run/0"})
    return run / "run.json"


@pytest.mark.parametrize("keep", [14, 30])
@pytest.mark.parametrize("name", list(DAMAGES))
def test_a_damaged_run_is_refused_with_the_name_of_the_file(tmp_path: Path, name: str, keep: int) -> None:
    recorded(tmp_path / "run", workers=2)
    cut(tmp_path / "run", keep)
    path = DAMAGES[name](tmp_path / "run")
    with pytest.raises(SystemFailure) as caught:
        resumed(tmp_path / "run")
    assert str(path) in str(caught.value)
    assert caught.value.exit_code is ExitCode.SYSTEM


PRESSED = """
import os, signal, sys, threading, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background is started without

from acked.checker.store import level_file as levelfile

from acked.checker.store import recorder
from acked.base.bounds import Bounds
from acked.checker.store.run_directory import RunDirectory
from acked.checker.search.local import LocalSearch
from tests.checker.store.test_checkpoint import question

add, leave = levelfile.LevelWriter.add, recorder.Recorder.__exit__

def slow_add(*given):
    time.sleep(0.2)
    return add(*given)

def pressed_exit(*given):
    for after in (0.1, 0.3):
        threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    return leave(*given)

levelfile.LevelWriter.add, recorder.Recorder.__exit__ = slow_add, pressed_exit
with RunDirectory.create(Path(sys.argv[1]), question(), 5) as run:
    result = LocalSearch(question(), Bounds(int(sys.argv[2]), 1 << 28, max_depth=6), stored=run).run()
    print(result.stopped.name, run.known_levels)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_key_press_while_the_last_levels_are_written_leaves_them_whole(tmp_path: Path, workers: int) -> None:
    """The states were unmapped under the writer once, which ended the process."""
    command = [sys.executable, "-c", PRESSED, str(tmp_path / "run"), str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "INTERRUPTED 7\n", "")
    assert answer(resumed(tmp_path / "run")) == answer(search())


def test_small_levels_are_not_written_by_a_thread_that_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would keep the search, which needs Python as it does, waiting for whatever else the machine does."""
    gave_way: list[int] = []
    monkeypatch.setattr(recorder, "give_way", lambda: gave_way.append(threading.get_ident()))
    recorded(tmp_path / "small")
    assert gave_way == []
    monkeypatch.setattr(recorder, "WIDE", 10)
    recorded(tmp_path / "wide")
    assert len(gave_way) == 1


def test_what_is_left_in_the_end_is_not_written_by_a_thread_that_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody searches any more, and on a busy machine it would be the last to be served."""
    gave_way, wrote = set[int](), set[int]()
    add = LevelWriter.add

    def starved() -> None:
        gave_way.add(threading.get_ident())
        time.sleep(0.3)  # The search is over by then.

    def noted(self: LevelWriter, codec: StateCodec, states: int, count: int) -> None:
        wrote.add(threading.get_ident())
        add(self, codec, states, count)

    monkeypatch.setattr(recorder, "give_way", starved)
    monkeypatch.setattr(recorder, "WIDE", 0)
    monkeypatch.setattr(LevelWriter, "add", noted)
    assert answer(recorded(tmp_path / "run")) == answer(search())
    assert gave_way
    assert wrote
    assert not gave_way & wrote
    assert answer(resumed(tmp_path / "run")) == answer(search())


@pytest.mark.slow
def test_every_bit_of_a_level_file_is_guarded(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    cut(tmp_path / "run", 4)
    path = next((tmp_path / "run" / "levels").glob("00004-*"))
    whole = path.read_bytes()
    for at in range(len(whole)):
        flip(path, at)
        with pytest.raises(SystemFailure, match=path.name):
            resumed(tmp_path / "run")
        path.write_bytes(whole)
    assert answer(resumed(tmp_path / "run")) == answer(search())


def test_a_run_directory_is_not_begun_twice(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    with pytest.raises(ConfigurationError, match="--resume"):
        RunDirectory.create(tmp_path / "run", question())


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="not empty"):
        RunDirectory.create(tmp_path, question())
    with pytest.raises(ConfigurationError, match="is a file"):
        RunDirectory.create(tmp_path / "notes.txt", question())
    assert os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize("place", ["nowhere", "empty"])
def test_resuming_where_no_run_is_says_so(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemFailure, match=r"(no|not a) run directory"):
        RunDirectory.open(tmp_path / place, question())


def test_two_searches_do_not_work_in_one_run_directory(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    with RunDirectory.open(tmp_path / "run", question()), pytest.raises(SystemFailure, match="another search is at work"):
        RunDirectory.open(tmp_path / "run", question())
    RunDirectory.open(tmp_path / "run", question()).close()


def test_what_a_killed_search_left_unfinished_is_cleared_away(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    cut(tmp_path / "run", 5)
    (tmp_path / "run" / "levels" / ".00009-x.states.part").write_text("half")
    resumed(tmp_path / "run", max_depth=1)
    with RunDirectory.open(tmp_path / "run", question()) as run:
        known = {file.name for commit in run.commits for file in commit.files}
    assert {path.name for path in (tmp_path / "run" / "levels").iterdir()} == known
    assert answer(resumed(tmp_path / "run")) == answer(search())


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("acked.checker.store.level_file.os.replace", refuse)
    with pytest.raises(AckedError, match=r"cannot write .*: No space left on device; make room"):
        recorded(tmp_path / "run")


def test_commits_are_json_that_others_can_read(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    body = json.loads((tmp_path / "run" / "commits" / "00002.json").read_text())
    assert body["report"]["states"] == 3
    assert body["report"]["next_states"] == sum(states for _, states, _, _ in body["files"]) == 6
