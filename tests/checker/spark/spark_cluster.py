"""Spark for tests: a real standalone cluster on loopback, and processes found by whose children they are.

No port is fixed: the system chooses them.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from acked.checker.spark.java import find_java
from acked.checker.spark.session import QUICK_START

START_SECONDS = 120.0
PATIENT = {"spark.scheduler.maxRegisteredResourcesWaitingTime": "300s"}
"""For a machine that has other work: how long a first slot is waited for."""


@dataclass
class Cluster:
    """A master and its workers of so many cores, each a Java process in a process group of its own."""

    home: Path
    cores: int = 1
    host: str = "127.0.0.1"
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    master: str = ""

    def start_master(self) -> None:
        """Starts the master at a free port."""
        options = {"SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false"}
        arguments = ["--host", self.host, "--port", "0", "--webui-port", "0"]
        process, log = self._start("org.apache.spark.deploy.master.Master", arguments, "master.log", options)
        self.master = self._wait(process, log, r"Starting Spark master at (spark://\S+)")

    def start_workers(self, wanted: int) -> None:
        """Starts workers and waits until the master knows them."""
        for process, log in [self._start_worker() for _ in range(wanted)]:
            self._wait(process, log, r"Successfully registered with master (\S+)")

    def _start_worker(self) -> tuple[subprocess.Popen[bytes], Path]:
        number = len(self.processes)
        folder = self.home / f"worker-{number}"
        arguments = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "-c", str(self.cores), "-m", "1g"]
        arguments += ["-d", str(folder), self.master]
        return self._start("org.apache.spark.deploy.worker.Worker", arguments, f"worker-{number}.log", {})

    def _start(
        self, name: str, arguments: list[str], log: str, options: dict[str, str], within: Sequence[str] = ()
    ) -> tuple[subprocess.Popen[bytes], Path]:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
            "JAVA_HOME": str(find_java()),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": self.host,
            "PYSPARK_PYTHON": sys.executable,
            **options,
        }
        path = self.home / log
        with open(path, "wb") as out:
            command = [*within, str(home / "bin" / "spark-class"), name, *arguments]
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd=self.home,
                    start_new_session=True,
                )
            )
        return self.processes[-1], path

    @staticmethod
    def _wait(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if match := re.search(pattern, log.read_text(errors="replace")):
                return match[1]
            if process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"not started: {log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """Ends every process that was started here, and their children."""
        for process in reversed(self.processes):
            family = [process.pid, *descendants(process.pid)]
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                pass
            for pid in family:
                kill(pid)
            process.wait()


@contextmanager
def cluster(home: Path, workers: int = 2, cores: int = 1) -> Iterator[Cluster]:
    """A standalone cluster of workers of so many cores for a `with` block."""
    made = Cluster(home, cores)
    try:
        made.start_master()
        made.start_workers(workers)
        yield made
    finally:
        made.stop()


def kill(pid: int) -> None:
    """SIGKILL, if the process is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def descendants(root: int) -> list[int]:
    """The processes below a process, as /proc tells, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # It has just ended.
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found[1:]


def command_of(pid: int) -> str:
    """A process's command line; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def executors_below(root: int) -> list[int]:
    """The Java processes of executors below a process."""
    return [pid for pid in descendants(root) if "CoarseGrainedExecutorBackend" in command_of(pid)]


def python_workers(root: int) -> list[int]:
    """The Python workers below a process: children of the daemons that fork them."""
    return [pid for daemon in python_daemons(root) for pid in descendants(daemon)]


def kill_python_workers(root: int) -> list[int]:
    """Kills them, idle ones too, as Spark keeps those of other tests; their numbers."""
    workers = python_workers(root)
    for worker in workers:
        kill(worker)
    return workers


def python_daemons(root: int) -> list[int]:
    """The Python daemons below a process: one for each executor, and as many workers as it has forked below it."""
    return [pid for pid in descendants(root) if "pyspark.daemon" in command_of(pid) and descendants(pid)]
