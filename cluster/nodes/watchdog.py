"""What ends brokers when the driver dies, however it dies: a small process that waits for the end of its input.

Linux could send a signal when a parent dies (PR_SET_PDEATHSIG), but it does so already when the thread that started the
child ends, and other systems have nothing like it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """\
import os, shutil, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
watched, folders = {}, []
for line in sys.stdin:
    word, _, rest = line.rstrip("\\n").partition(" ")
    if word == "folder":
        folders.append(rest)
    elif word == "keep":
        folders.clear()
    elif word == "watch":
        try:
            watched[rest] = os.pidfd_open(int(rest)) if hasattr(os, "pidfd_open") else None
        except OSError:
            pass
    elif word == "forget":
        number = watched.pop(rest, None)
        if number is not None:
            os.close(number)
for name, number in watched.items():
    try:
        if number is None:
            os.kill(int(name), signal.SIGKILL)
        else:
            signal.pidfd_send_signal(number, signal.SIGKILL)
    except OSError:
        pass
for folder in folders:
    shutil.rmtree(folder, ignore_errors=True)
"""


class Watchdog:
    """Kills the processes that it watches, and removes a folder, when this process ends without having stopped it."""

    def __init__(self, folder: Path | None) -> None:
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        if folder is not None:
            self._say(f"folder {folder}")

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """From now on the process does not outlive this one."""
        self._say(f"watch {process.pid}")

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """The process has ended and its number may be another's."""
        self._say(f"forget {process.pid}")

    def stop(self) -> None:
        """Ends the watchdog; it kills what it still watches."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._say("keep")
            self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # It has gone; what it watches is then stopped by the cluster alone.
