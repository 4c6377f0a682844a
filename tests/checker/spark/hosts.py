"""Several machines on one: Spark's workers with a network and a root for temporary files of their own each, by namespaces.

`enter` begins a program again in namespaces of its own, all of which end with it; `Hosts` is the cluster within.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.checker.spark.spark_cluster import Cluster, command_of, descendants, python_workers

NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
BRIDGE, NETWORK = "acked0", "10.77.0"
DRIVER = f"{NETWORK}.1"

_HOST = """
set -e
while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip addr add "$1/24" dev eth0
ip link set eth0 up
mount -t tmpfs tmpfs "$2"
mkdir "$2/tmp"
cd "$2"
shift 2
exec "$@"
"""


def missing() -> str | None:
    """What this machine lacks for several machines on it, in one sentence; None if nothing."""
    probe = f"ip link add {BRIDGE} type bridge && mount -t tmpfs tmpfs /mnt"
    try:
        done = subprocess.run([*NAMESPACES, "sh", "-c", probe], capture_output=True, text=True, timeout=60)
    except OSError as error:
        return f"{error.filename} is missing, of util-linux"
    return f"no namespaces of network, mounts and processes here: {done.stderr.strip()}" if done.returncode else None


def enter(arguments: Sequence[str]) -> int:
    """Runs a Python program in new namespaces; its exit code."""
    return subprocess.run([*NAMESPACES, sys.executable, *arguments], check=False).returncode


@dataclass
class Hosts(Cluster):
    """A master at `DRIVER`, where the driver is, too, and workers at addresses of their own, which do not see `home`."""

    host: str = DRIVER
    links: list[str] = field(default_factory=list)

    def _start_worker(self) -> tuple[subprocess.Popen[bytes], Path]:
        number = len(self.links) + 1
        host, link = self.address(number - 1), f"host{number}"
        folder = self.home / "tmp"
        options = {"SPARK_LOCAL_IP": host, "TMPDIR": str(folder), "SPARK_LOCAL_DIRS": str(folder)}
        arguments = ["--host", host, "--port", "0", "--webui-port", "0", "-c", str(self.cores), "-m", "1g"]
        arguments += ["-d", str(folder / "work"), self.master]
        within = ["unshare", "--net", "--mount", "sh", "-c", _HOST, "host", host, str(self.home)]
        started = self._start(
            "org.apache.spark.deploy.worker.Worker", arguments, f"host-{number}.log", options, within
        )
        own = os.stat("/proc/self/ns/net").st_ino
        while os.stat(f"/proc/{started[0].pid}/ns/net").st_ino == own:
            time.sleep(0.01)  # It has not entered its own network yet.
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(started[0].pid))
        run("ip", "link", "set", link, "master", BRIDGE, "up")
        self.links.append(link)
        return started

    @staticmethod
    def address(host: int) -> str:
        """Where a host is, counted from 0."""
        return f"{NETWORK}.{host + 2}"

    def cut(self, host: int) -> None:
        """Nothing gets to or from a host, counted from 0."""
        run("ip", "link", "set", self.links[host], "down")

    def heal(self, host: int) -> None:
        """The network of a host is there again."""
        run("ip", "link", "set", self.links[host], "up")

    def fill(self, host: int, room: int = 4) -> None:
        """The disk of a host for temporary files is full, but for so many kilobytes."""
        within = ["nsenter", "--mount", "--target", str(self.processes[host + 1].pid)]
        shown = subprocess.run([*within, "df", "--output=used", str(self.home)], check=True, capture_output=True, text=True)
        run(*within, "mount", "-o", f"remount,size={int(shown.stdout.split()[-1]) + room}k", str(self.home))

    def empty(self, host: int) -> None:
        """It has room again."""
        within = ["nsenter", "--mount", "--target", str(self.processes[host + 1].pid)]
        run(*within, "mount", "-o", "remount,size=1g", str(self.home))

    def executors(self, host: int) -> list[int]:
        """The executors of a host."""
        below = descendants(self.processes[host + 1].pid)
        return [pid for pid in below if "CoarseGrainedExecutorBackend" in command_of(pid)]

    def tasks(self, host: int) -> list[int]:
        """The Python workers of a host."""
        return python_workers(self.processes[host + 1].pid)


@contextmanager
def hosts(home: Path, workers: int = 3) -> Iterator[Hosts]:
    """A cluster of such hosts for a `with` block; only within `enter`."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", f"{DRIVER}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    (home / "tmp").mkdir(exist_ok=True)
    made = Hosts(home)
    try:
        made.start_master()
        made.start_workers(workers)
        yield made
    finally:
        made.stop()


def run(*command: str) -> None:
    """A command that must not fail."""
    subprocess.run(command, check=True, capture_output=True, timeout=60)
