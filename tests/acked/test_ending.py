"""How a command ends: with its code, all that it wrote, and whatever was to be done at the end, but not object by object."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO

import pytest

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


def ended(work: str, many: int, stdout: int | IO[str] = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    program, variables = ENDING.format(work=work, many=many), {**os.environ, "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=variables, check=False)


@pytest.mark.parametrize(
    ("work", "then"),
    [("pass", "at the end"), (WAITS, "waited at the end freed"), (LOOKS, "at the end freed")],
    ids=["alone", "a thread", "a profile"],
)
def test_a_command_ends_at_once_unless_something_still_runs(work: str, then: str) -> None:
    done = ended(work, 100_000)
    assert (done.returncode, done.stderr) == (12, "")
    first, told, *last = done.stdout.split()
    assert (first, len(told), " ".join(last)) == ("answered", 100_000, then)


def test_what_cannot_be_written_at_the_end_is_told() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = ended("pass", 10, full)
    assert done.returncode == 120
    assert "No space left on device" in done.stderr
