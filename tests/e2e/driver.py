"""Runs `acked …` in this process, or the installed command as a user does where that is the point."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from acked.cli import main
from tests.forked import seconds_of

COMMAND = Path(sysconfig.get_path("scripts")) / "acked"

TINY = """\
title = "tiny"
protocol = "kip320"
[constants]
replicas = 2
log_size = 1
max_records = 1
max_leader_epoch = 1
[check]
invariants = ["WeakIsr"]
[expect]
verdict = "holds"
"""
"""A spec that holds, with 277 distinct states and depth 12; every key stands on a line of its own."""


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without what would change the output."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return kept | variables


def acked(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `acked …` in this process, as if it were one of its own: its folder, its environment, its three streams.

    To start a process takes longer than most answers; `test_limits.py` and others see to the command as it is installed.
    """
    with chdir(cwd or os.curdir), patch.dict(os.environ, environment(**variables), clear=True), streams() as (out, err):
        code = main([str(argument) for argument in arguments])
        return subprocess.CompletedProcess(arguments, code, written(out), written(err))


@contextmanager
def streams() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """An empty stdin, and a stdout and a stderr that are read afterwards."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with open(os.devnull, encoding="utf-8") as empty, patch.multiple(sys, stdin=empty, stdout=out, stderr=err):
        yield out, err


def written(stream: io.TextIOWrapper) -> str:
    """What a stream of `streams` has been given."""
    stream.flush()
    stream.seek(0)
    return stream.read()


def installed(
    *arguments: str | Path,
    cwd: Path | None = None,
    before: Callable[[], None] | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Runs the installed command in a process; `before` runs in the child, before the command."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=before,
    )


def processor_time(process: subprocess.Popen[str], since: float) -> float:
    """Seconds that a running process has computed, by Linux's account; elsewhere those since its start."""
    taken = seconds_of(process.pid)
    return time.monotonic() - since if taken is None else taken


def heed_interrupts() -> None:
    """A job in the background of a shell ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(*arguments: str | Path, after: float = 0, computing: float = 0) -> subprocess.CompletedProcess[str]:
    """Runs `acked …` and sends it Ctrl-C's signal so many seconds later, or when it has computed for so long.

    The latter does not depend on what else the machine is busy with.
    """
    with subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        begun = time.monotonic()
        time.sleep(after)
        while process.poll() is None and processor_time(process, begun) < computing:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    """The command failed with this code, said one line that holds all the parts, and nothing on stdout."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("acked: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.endswith("\n")
    for part in parts:
        assert part in done.stderr


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, code, captured.out, captured.err)
