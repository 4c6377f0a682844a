"""Drives the Firefox that is installed by Marionette, the protocol in it; Playwright takes a Firefox of its own only.

Messages are JSON with their length before them. Source: Firefox's own documentation, "Marionette", protocol version 3.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 300
"""What is waited for comes by then, on a busy machine too."""

HOW_TO_GET_ONE = "no Firefox is installed: `apt-get install firefox-esr`"


def installed() -> str | None:
    """Where Firefox is; None where there is none."""
    return next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)


class Firefox:
    """One page of a browser without a window."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._number = 0
        self._receive()
        self._ask("WebDriver:NewSession", {"capabilities": {}})
        self._ask("WebDriver:SetTimeouts", {"script": SECONDS * 1000, "pageLoad": SECONDS * 1000})

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Firefox]:
        """A browser with a profile of its own and an empty page, which ends with the block."""
        program = installed()
        if program is None:
            raise SystemExit(HOW_TO_GET_ONE)
        with tempfile.TemporaryDirectory() as profile:
            Path(profile, "user.js").write_text('user_pref("marionette.port", 0);\n', encoding="utf-8")
            empty = Path(profile, "empty.html")
            empty.write_text("<!DOCTYPE html><title>empty</title>", encoding="utf-8")
            line = [program, "--headless", "--no-remote", "--marionette", "--profile", profile]
            quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(line, env={**os.environ, "HOME": profile}, **quiet) as process:
                try:
                    with socket.create_connection(("127.0.0.1", _port(Path(profile))), timeout=SECONDS) as stream:
                        driver = cls(stream)
                        driver.open(empty.as_uri())
                        yield driver
                finally:
                    process.terminate()

    def open(self, address: str) -> None:
        """Goes to a page, and waits until it is there."""
        self._ask("WebDriver:Navigate", {"url": address})

    def evaluate(self, function: str, argument: object = None) -> Any:
        """What an asynchronous function of one argument returns in the page."""
        failed = "(error) => done({ failed: String(error) })"
        script = f"const [argument, done] = arguments; ({function})(argument).then(done, {failed});"
        answer = self._ask("WebDriver:ExecuteAsyncScript", {"script": script, "args": [argument]})["value"]
        if isinstance(answer, dict) and "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer

    def _ask(self, command: str, arguments: dict[str, Any]) -> Any:
        self._number += 1
        text = json.dumps([0, self._number, command, arguments])
        self._stream.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, answer = self._receive()
        if error is not None:
            raise RuntimeError(f"{command}: {error['message']}")
        return answer

    def _receive(self) -> Any:
        size = b""
        while (letter := self._stream.recv(1)) != b":":
            if not letter:
                raise ConnectionError("Firefox has ended")
            size += letter
        parts: list[bytes] = []
        missing = int(size)
        while missing:
            parts.append(self._stream.recv(min(missing, 1 << 20)))
            if not parts[-1]:
                raise ConnectionError("Firefox has ended")
            missing -= len(parts[-1])
        return json.loads(b"".join(parts))


def _port(profile: Path) -> int:
    """The port that Firefox has chosen, once it says so."""
    place, until = profile / "MarionetteActivePort", time.monotonic() + SECONDS
    while time.monotonic() < until:
        if place.is_file() and (text := place.read_text("ascii").strip()):
            return int(text)
        time.sleep(0.1)
    raise TimeoutError("Firefox has not begun")

