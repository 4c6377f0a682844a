"""How a command ends: with its code, all that it wrote, and whatever was to be done at the end, but not object by object."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.places import CHECKOUT

ENDING = """
import atexit, os, sys, threading, time
import acked.cli
from acked.__main__ import main

class Kept:
    def __del__(self, write=os.write):
        write(1, b" freed")

sys.kept = Kept()
atexit.register(lambda: print("at the end", end=""))

def command():
    print("answered " + {many} * "x", end=" ")
    {work}
    return 12

acked.cli.main = command
sys.exit(main())
"""
WAITS = "threading.Thread(target=lambda: (time.sleep(0.3), print('waited ', end=''))).start()"
LOOKS = "sys.setprofile(lambda *_: None)"
COMPILES = """
    from acked.checker.native.compile import compile_once
    from acked.checker.search import tiers
    from acked.model.catalogue import PROTOCOLS
    begun, protocol = threading.Event(), PROTOCOLS["kip320"]
    tiers.begin_loops = lambda *_: compile_once("some.o", lambda: begun.set() or time.sleep(30) or 1 / 0)
    tiers.begin_beside(protocol, protocol.bind(dict(replicas=3, log_size=2, max_records=2, max_leader_epoch=2)))
    begun.wait(60)
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program that ends as the command does, below what is named."""

    def run(work: str, many: int, *below: str, stdout: int | IO[str] = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        file, variables = tmp_path / "program.py", {**os.environ, "PYTHONUNBUFFERED": ""}
        file.write_text(ENDING.format(work=work, many=many), "utf-8")
        command = [sys.executable, *below, str(file)]
        return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=variables, check=False, cwd=CHECKOUT)

    return run


@pytest.mark.parametrize(
    ("work", "then"),
    [
        ("pass", "at the end"),
        (WAITS, "waited at the end freed"),
        (LOOKS, "at the end freed"),
        pytest.param(COMPILES, "at the end", marks=pytest.mark.slow),
    ],
    ids=["alone", "a thread", "a profile", "loops that nobody needs any more"],
)
def test_a_command_ends_at_once_unless_something_still_runs(
    program: Callable[..., subprocess.CompletedProcess[str]], work: str, then: str
) -> None:
    done = program(work, 100_000)
    assert (done.returncode, done.stderr) == (12, "")
    first, told, *last = done.stdout.split()
    assert (first, len(told), " ".join(last)) == ("answered", 100_000, then)


def test_what_cannot_be_written_at_the_end_is_told(program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = program("pass", 10, stdout=full)
    assert done.returncode == 120
    assert "No space left on device" in done.stderr


WRITES_LATER = """
import pathlib, runpy, sys
try:
    runpy.run_path(sys.argv[2], run_name="__main__")
except SystemExit:
    pathlib.Path(sys.argv[1]).touch()
"""


@pytest.mark.parametrize(
    "below",
    [("-m", "cProfile", "-o"), ("-m", "trace", "--count", "-C"), ("-c", WRITES_LATER)],
    ids=["cProfile", "trace", "one's own"],
)
def test_what_watches_a_command_writes_what_it_saw(
    program: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, below: tuple[str, ...]
) -> None:
    seen = tmp_path / "seen"
    assert program("pass", 10, *below, str(seen)).stderr == ""
    assert seen.exists()


FAULTY = """
from acked import Array, Constant, Id, Int, Protocol, Struct, field

brokers = Constant("brokers", 1, 5, "brokers", 3)

class Broker(Id, size=brokers):
    pass

class End(Int, lo=0, hi=1000):
    pass

class State(Struct):
    end = field(Array(Broker, End), "where the log ends")

def initial(s):
    pass

logs = Protocol("logs", State, title="logs", source="mine", constants=(brokers,), initial=initial)

@logs.action(says=lambda t: "a record is written")
def append(s: State, broker: Broker) -> None:
    s.ende[broker] = s.end[broker] + 1
"""
SPEC = """
title = "logs"
protocol = "logs.py:logs"

[constants]
brokers = 3

[check]
count_only = true
"""


@pytest.mark.slow
def test_a_mistake_is_one_sentence_while_loops_are_compiled_for_the_first_time(tmp_path: Path) -> None:
    """The compiling thread begins when the command is over, or nearly; in several runs, as that is a race."""
    (tmp_path / "logs.py").write_text(FAULTY, "utf-8")
    (tmp_path / "logs.toml").write_text(SPEC, "utf-8")
    for at in range(3):
        variables = {**os.environ, "ACKED_CACHE_DIR": str(tmp_path / f"cache-{at}"), "PYTHONPATH": str(CHECKOUT / ".import")}
        command = [sys.executable, "-m", "acked", "check", "logs.toml"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=variables, check=False)
        assert "Traceback" not in done.stderr
        assert (done.returncode, done.stdout, "ende" in done.stderr) == (151, "", True)
