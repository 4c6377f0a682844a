"""A thread of a JVM that stands still where it enters a method: Java's own debugger, `jdb`.

Nothing on the class path is changed by it, and all other threads go on.
"""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from acked.cluster.waiting import wait_for

LISTENS = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"
"""The option of a JVM that a debugger can be attached to; it prints on which port."""
_SECONDS = 60.0


class HeldThread:
    """The first thread that enters `class.method` of the JVM that prints to `out`, from now until `let`.

    When the context ends the debugger does, and the thread goes on.
    """

    def __init__(self, out: Path, method: str) -> None:
        port = re.findall(r"dt_socket at address: (?:\S+:)?(\d+)", out.read_text("utf-8"))[-1]
        jdb = ["jdb", "-connect", f"com.sun.jdi.SocketAttach:hostname=127.0.0.1,port={port}"]
        self._jdb = subprocess.Popen(jdb, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self._said = ""
        threading.Thread(target=self._listen, daemon=True).start()
        self._method, self._name = method, ""
        self._ask(f"stop thread in {method}", "Set breakpoint")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._jdb.kill()
        self._jdb.wait()

    def await_it(self) -> str:
        """Returns the thread's name as soon as it stands still; no other one will."""
        self._name = self._hear(r'Breakpoint hit: "thread=([^"]+)"', 0)[1]
        self._ask(f"clear {self._method}", "Removed")
        return self._name

    def let(self) -> None:
        """It goes on; returns when the debugger says so."""
        number, _ = self._line()
        self._ask(f"resume {number}", "> ")
        wait_for(lambda: "at breakpoint" not in self._line()[1], f"that {self._name} goes on", _SECONDS)

    def _line(self) -> tuple[str, str]:
        """The thread's number and what it does, of the list of all threads."""
        found = self._ask("threads", rf"(0x[0-9a-f]+|\d+)\s+{re.escape(self._name)}\s(.*)\n")
        return found[1], found[2]

    def _listen(self) -> None:
        assert self._jdb.stdout is not None
        while said := self._jdb.stdout.read(4096):
            self._said += said.decode()

    def _ask(self, command: str, answer: str) -> re.Match[str]:
        assert self._jdb.stdin is not None
        before = len(self._said)
        self._jdb.stdin.write(f"{command}\n".encode())
        return self._hear(answer, before)

    def _hear(self, answer: str, begin: int) -> re.Match[str]:
        said = re.compile(answer)
        return wait_for(lambda: said.search(self._said, begin), f"that the debugger says {answer}", _SECONDS)
