"""`acked` as a command in processes of its own, which are forked instead of started: to import everything takes longest.

    python -P tests/forked.py FOLDER

serves whoever runs FOLDER/acked, until it is killed, and says so in a line. What it forks has the arguments, the folder, the
variables and the streams of the caller, to whom its exit code goes back.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

CALL = """\
#!{python} -IS
import os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = repr((sys.argv, os.getcwd(), dict(os.environ))).encode()
    socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(asked)
    sys.exit(server.recv(1)[0])
"""
IMPORTS = ("commands.check", "commands.find", "commands.view", "commands.gate", "audit.commands.audit")
"""What most commands import, below `acked`; it has no threads yet, so that it can be forked."""


@contextmanager
def forking(folder: Path) -> Iterator[Path]:
    """A folder with the command, which is answered within the block."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    server = [sys.executable, "-P", __file__, str(folder)]
    with subprocess.Popen(server, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield folder
        finally:
            process.kill()


def serve(folder: Path) -> None:
    """Forks for every call; returns in what was forked, which has become the process of the command."""
    gc.disable()
    for name in IMPORTS:
        import_module(f"acked.{name}")
    gc.freeze()
    gc.enable()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "calls"))
        listening.listen()
        (folder / "acked").write_text(CALL.format(python=sys.executable, address=str(folder / "calls")), "utf-8")
        (folder / "acked").chmod(0o755)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody waits for those that wait for the commands.
        print("ready", flush=True)
        while True:
            call, _ = listening.accept()
            if os.fork() == 0:
                break
            call.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer(call)


def answer(call: socket.socket) -> None:
    """Forks the process of a command, in which it returns, and sends its exit code."""
    size, streams, _, _ = socket.recv_fds(call, 8, 3)
    with call.makefile("rb") as reading:
        arguments, place, variables = literal_eval(reading.read(int.from_bytes(size, "big")).decode())
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        call.sendall(bytes([os.waitstatus_to_exitcode(status) % 256]))
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


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
    sys.exit(import_module("acked.__main__").main())
