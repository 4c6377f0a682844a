"""Processes of acked that are forked instead of started: commands, and those that commands deal tasks to.

    python -P tests/forked.py FOLDER

serves whoever runs FOLDER/acked, and every `ProcessPool` that is told to (`forks_workers`), until it is killed, and says so
in a line: to import everything takes longer than most answers. What it forks has the arguments, the folder, the variables and
the streams of the caller, who hears its number, and its exit code when it ends.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CALL = """\
#!{python} -IS
import os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = repr((sys.argv, os.getcwd(), dict(os.environ))).encode()
    socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(asked)
    told = server.makefile("rb").read(8)
    sys.exit(int.from_bytes(told[4:], "big", signed=True) % 256)
"""
TOLD = struct.Struct(">i")
"""First the number of what was forked, then its exit code."""

WORKER = "-"
"""In place of a command: who answers tasks is called for, and where to look for what it imports."""

LIVE: list[Forked] = []
"""Who answers tasks of this process."""

TAKEN = "taken"
"""A file with a byte for each hundredth of a processor second that was taken by what has ended: the system tells only the
server of it, and it tells those who ask for it."""
FOLDERS: list[Path] = []
"""Of the servers of this process."""

IMPORTS = (
    "asking.checking", "commands.find", "commands.view", "commands.gate", "audit.commands.answering",
    "audit.commands.audit", "checker.solver.engine", "checker.allconstants.lemma_search",
)  # fmt: skip
"""What most commands and those who answer their tasks import, below `acked`; no threads yet, so that it can be forked."""


@contextmanager
def forking(folder: Path) -> Iterator[Path]:
    """A folder with the command, which is answered within the block."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    server = [sys.executable, "-P", __file__, str(folder), "acked.base.processes"]
    with subprocess.Popen(server, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            FOLDERS.append(folder)
            yield folder
        finally:
            process.kill()


class Forked:
    """A process that answers tasks, as `ProcessPool` uses the ones that it starts."""

    def __init__(self, folder: Path) -> None:
        asked = repr(([WORKER, *sys.path], os.getcwd(), dict(os.environ))).encode()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(str(folder / "calls"))
        (stdin, mine), (its, stdout) = os.pipe(), os.pipe()
        with open(os.devnull, "wb") as nowhere:
            socket.send_fds(self._server, [len(asked).to_bytes(8, "big")], [stdin, stdout, nowhere.fileno()])
        os.close(stdin)
        os.close(stdout)
        self._server.sendall(asked)
        self.stdin, self.stdout = os.fdopen(mine, "wb"), os.fdopen(its, "rb")
        self.pid = self._hear()
        self._code: int | None = None
        LIVE.append(self)

    def _hear(self) -> int:
        [number] = TOLD.unpack(self._server.recv(TOLD.size, socket.MSG_WAITALL))
        return int(number)

    def wait(self) -> int:
        """Its exit code, as `Popen` tells it."""
        if self._code is None:
            self._code = self._hear()
            self._server.close()
            LIVE.remove(self)
        return self._code

    def kill(self) -> None:
        """Ends it, if it has not ended."""
        if self._code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # It has ended, and nobody has asked for its code yet.


class Ending:
    """The end of this process, last of all that it does then: what it shares with its server is not taken apart, object by
    object, which takes four times as long as `acked --version`."""

    def __init__(self) -> None:
        self.code = 1  # of whoever ends by an exception
        atexit.register(self._leave)  # What is registered first is called last.

    def _leave(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                if not stream.closed:
                    stream.flush()
            except OSError:
                self.code = 120  # As Python says it.
        os._exit(self.code)


def seconds_of(pid: int) -> float | None:
    """What a process has taken of the processor so far, by Linux's account; None elsewhere."""
    try:
        account = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return None
    return sum(map(int, account.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def seconds_of_forked() -> float:
    """What was forked has taken of the processor so far, also workers that go on from test to test."""
    ended = sum((folder / TAKEN).stat().st_size for folder in FOLDERS)
    return ended / 100 + sum(seconds_of(worker.pid) or 0.0 for worker in LIVE)


def forks_workers(folder: Callable[[], Path]) -> SimpleNamespace:
    """What `ProcessPool` is to take for `subprocess`, so that its processes are forked by the server of a folder."""

    def start(_: Sequence[str], **streams: Any) -> Forked:
        return Forked(folder())

    return SimpleNamespace(Popen=start, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)


def serve(folder: Path) -> None:
    """Forks for every call; returns in what was forked, which has become the process that was called for."""
    gc.disable()
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # See conftest.py.
    for name in IMPORTS:
        import_module(f"acked.{name}")
    gc.freeze()
    gc.enable()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "calls"))
        listening.listen()
        (folder / "acked").write_text(CALL.format(python=sys.executable, address=str(folder / "calls")), "utf-8")
        (folder / "acked").chmod(0o755)
        (folder / TAKEN).touch()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody waits for those that wait for what was forked.
        print("ready", flush=True)
        while True:
            call, _ = listening.accept()
            if os.fork() == 0:
                break
            call.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer(call, folder / TAKEN)


def answer(call: socket.socket, taken: Path) -> None:
    """Forks the process that was called for, in which it returns, and sends its number and its exit code."""
    size, streams, _, _ = socket.recv_fds(call, 8, 3)
    with call.makefile("rb") as reading:
        arguments, place, variables = literal_eval(reading.read(int.from_bytes(size, "big")).decode())
    if child := os.fork():
        for stream in streams:
            os.close(stream)  # Who reads there is to hear when the child ends.
        call.sendall(TOLD.pack(child))
        _, status, used = os.wait4(child, 0)
        with open(taken, "ab", buffering=0) as file:
            file.write(b"." * round(100 * (used.ru_utime + used.ru_stime)))
        try:
            call.sendall(TOLD.pack(os.waitstatus_to_exitcode(status)))
        except OSError:
            pass  # Nobody waits for it.
        os._exit(0)
    call.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(place)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[:] = arguments


def main(folder: Path) -> int:
    """Serves; in what was forked, the exit code of the command, or of who answers tasks."""
    ending = Ending()
    serve(folder)
    processes = import_module("acked.base.processes")
    if sys.argv[0] == WORKER:
        sys.path[:] = sys.argv[1:]
        processes.serve()
        ending.code = 0
    else:
        processes.subprocess = forks_workers(lambda: folder)  # type: ignore[attr-defined]
        ending.code = int(import_module("acked.__main__").run())
    return ending.code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
