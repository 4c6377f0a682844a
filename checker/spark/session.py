"""Spark's driver: a Java process and a context, started quietly with settings that work, ended with all that it started."""

from __future__ import annotations

import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.checker.spark.java import find_java
from acked.checker.spark.shipping import environment_archive

LOOPBACK = "127.0.0.1"
LOCAL = (LOOPBACK, "localhost")
CONNECT_SECONDS = 5.0
SLOT_SECONDS = 60.0
"""How long a cluster may take to offer its first slot."""

STEADY_SECONDS = 2.0
"""Executors of a cluster come one by one: no further one for so long, and those that came are all."""

_MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|local-cluster\[ *[1-9]\d* *, *[1-9]\d* *, *[1-9]\d* *\]"
    r"|spark://\S+:\d+(,\S+:\d+)*|yarn|k8s://\S+"
)
_DYNAMIC = "spark.dynamicAllocation.enabled"

LEAST_OVERHEAD = 384
"""Megabytes that Spark asks for beside Java's heap at least."""

PORT = "spark.acked.port"
"""Where the driver listens for tasks; these listen at the following ports. By default the system chooses all of them."""

QUICK_START = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options with which Java starts in half the processor time. Of a search Java does nothing but start it: tasks are Python."""

_OURS = {
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The first barrier job would wait 15 seconds for its check of slots.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    # Where a cluster's own settings have it on: Spark refuses barrier tasks then (SPARK-24942).
    _DYNAMIC: "false",
    # A task that failed is told at once; the search begins the next attempt.
    "spark.stage.maxConsecutiveAttempts": "1",
    # An executor that says nothing for half a minute is lost; Spark waits for two.
    "spark.executor.heartbeatInterval": "5s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "30s",
    "spark.network.timeoutInterval": "5s",
    "spark.sql.session.timeZone": "UTC",
}


@frozen
class SparkSettings:
    """Where Spark runs and with which settings of the user's."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    ship: bool | None = None
    """Whether executors get acked from here; None for those of other machines."""
    memory: int | None = None
    """Bytes of states for each task, for which executors in containers ask beside Java's heap."""

    @property
    def is_local(self) -> bool:
        """Whether everything happens on this machine, in one Java process."""
        return self.master.partition("[")[0] == "local"

    @property
    def is_loopback(self) -> bool:
        """Whether everything happens on this machine."""
        match = re.match(r"spark://(\[?[^\]]+\]?):\d+", self.master)
        return self.master.startswith("local") or (match is not None and match[1] in LOCAL)

    @property
    def ships(self) -> bool:
        """Whether executors get acked and what its tasks need from here."""
        return not self.is_loopback if self.ship is None else self.ship

    @property
    def port(self) -> int:
        """Where the driver listens for tasks; 0 for what the system chooses."""
        return int(self.conf.get(PORT, "0"))

    @property
    def asks_for_containers(self) -> bool:
        """Whether Spark asks somebody else to start executors, in containers of a size."""
        return self.master.startswith(("yarn", "k8s://"))

    @property
    def wanted_slots(self) -> int:
        """How many slots are waited for: the share of the executors that are asked for, without which Spark begins no job."""
        cores, share = self._number("spark.cores.max", "0"), "0"
        if self.asks_for_containers:
            cores = self._number("spark.executor.instances", "2") * self._number("spark.executor.cores", "1")
            share = "0.8"
        share = self.conf.get("spark.scheduler.minRegisteredResourcesRatio", share)
        return math.ceil(cores // self._number("spark.task.cpus", "1") * float(share))

    def _number(self, name: str, otherwise: str) -> int:
        return int(self.conf.get(name, otherwise))

    @property
    def overhead(self) -> dict[str, str]:
        """The setting that asks for the memory of states, where Spark asks somebody for containers."""
        if self.memory is None or not self.asks_for_containers:
            return {}
        states = self._number("spark.executor.cores", "1") * self.memory
        return {"spark.executor.memoryOverhead": f"{(states * 5 // 4 >> 20) + LEAST_OVERHEAD}m"}

    def __post_init__(self) -> None:
        if self.master.startswith("sc://"):
            raise ConfigurationError(
                f"--master {self.master}: Spark Connect has no barrier tasks, in which acked searches; name the cluster's "
                "own master, e.g. spark://HOST:PORT"
            )
        if not _MASTER.fullmatch(self.master):
            raise ConfigurationError(
                f"--master {self.master!r} is not a Spark master; use local[2], spark://HOST:PORT, yarn or k8s://HOST:PORT"
            )
        for name in self.conf:
            if not name.startswith("spark."):
                raise ConfigurationError(
                    f"--conf {name}: Spark's settings begin with “spark.”; use e.g. spark.driver.memory=2g"
                )
        for name in ("spark.executor.cores", "spark.executor.instances", "spark.cores.max", "spark.task.cpus"):
            if not re.fullmatch(r"[1-9]\d*", self.conf.get(name, "1")):
                raise ConfigurationError(f"--conf {name}={self.conf[name]} is no number of at least 1")
        if self.conf.get(_DYNAMIC, "").lower() == "true":
            raise ConfigurationError(
                f"--conf {_DYNAMIC}=true: Spark has no barrier tasks under dynamic allocation, and acked searches in such; "
                "leave it out, and ask for executors with --conf spark.executor.instances=N"
            )
        if not re.fullmatch(r"\d{1,5}", self.conf.get(PORT, "0")):
            raise ConfigurationError(f"--conf {PORT}={self.conf[PORT]} is no port; use e.g. {PORT}=7100")


class SparkDriver:
    """A Spark context of its own, for a `with` block, which ends it and its Java process.

    Spark's output goes to the file `log`.
    """

    def __init__(self, settings: SparkSettings, log: Path) -> None:
        self.settings = settings
        self.log = log
        self.context: Any = None
        self._offered = 0, 0.0
        self._late = 0.0
        self._log_begin = 0
        self._gateway: Any = None
        self._handler: Callable[[int, FrameType | None], object] | int | None = None

    def __enter__(self) -> Self:
        with optional_packages():
            import pyspark  # noqa: F401  # Without it there is nothing to look for Java for.
        java = find_java()
        self._check_master()
        try:
            self._start(java)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, java: Path) -> None:
        import pyspark
        from py4j.protocol import Py4JError
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException, PySparkRuntimeError
        from pyspark.java_gateway import launch_gateway

        if SparkContext._active_spark_context is not None:
            raise SystemFailure("a Spark context is already active in this process; stop it first")
        home = str(Path(pyspark.__file__).parent)
        chosen = self.settings.conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON", sys.executable)
        python = sys.executable if self.settings.is_local else chosen
        environment = {
            "JAVA_HOME": str(java),
            "SPARK_HOME": home,
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            # A worker must not take a folder `acked/` of the place where it is started for ours.
            "PYTHONSAFEPATH": "1",
        }
        if self.settings.is_loopback and "SPARK_LOCAL_IP" not in os.environ:
            # Without it Spark looks its host's name up, which fails where that does not resolve.
            environment["SPARK_LOCAL_IP"] = LOOPBACK
        conf = SparkConf(loadDefaults=False)
        settings = {**_OURS, "spark.master": self.settings.master, "spark.app.name": "acked"}
        if self.settings.is_loopback:
            settings |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        for name, value in {**settings, **self.settings.overhead, **self.settings.conf}.items():
            conf.set(name, value)
        is_main_thread = threading.current_thread() is threading.main_thread()
        self._handler = signal.getsignal(signal.SIGINT) if is_main_thread else None
        try:
            with open(self.log, "ab") as log, _environment(environment):
                self._log_begin = log.tell()
                streams = {"stdout": log, "stderr": log}
                self._gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
                self.context = SparkContext(conf=conf, gateway=self._gateway, environment={"PYTHONSAFEPATH": "1"})
            wait = self.settings.conf.get("spark.scheduler.maxRegisteredResourcesWaitingTime", "30s")
            java_utils = self.context._jvm.org.apache.spark.network.util.JavaUtils
            self._late = time.monotonic() + float(java_utils.timeStringAsSec(wait))
            if self.settings.ships:
                self.context.addArchive(environment_archive(self.log.parent))
        except OSError as error:
            raise SystemFailure(f"cannot start Spark: {error.strerror}: {error.filename}") from None
        except PySparkRuntimeError:
            raise SystemFailure(f"Spark's Java process ended at its start; its log is {self.log}") from None
        except (Py4JError, PySparkException) as error:
            self.note_failure(str(error))
            raise SystemFailure(
                f"Spark cannot start on {self.settings.master}: {reason(error)}; its log is {self.log}"
            ) from None

    def _check_master(self) -> None:
        """Spark would try for a minute."""
        if not self.settings.master.startswith("spark://"):
            return
        reason = ""
        for place in self.settings.master.removeprefix("spark://").split(","):
            host, _, port = place.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
                return
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or str(error)
        raise SystemFailure(
            f"no Spark master answers at {self.settings.master}: {reason}; start it, or name another --master"
        )

    def note_failure(self, text: str) -> None:
        """Keeps the whole text of a failure in the log."""
        try:
            with open(self.log, "a", encoding="utf-8") as log:
                log.write(f"{text}\n")
        except OSError:
            pass  # The sentence that follows matters more.

    def stop(self) -> None:
        """Ends the context and the Java process; nothing that was started here keeps running."""
        from pyspark import SparkContext

        process = getattr(self._gateway, "proc", None)
        if self.context is not None:
            _within(15.0, self.context.stop)
            self.context = None
        if self._gateway is not None:
            _within(5.0, self._gateway.shutdown)
            self._gateway = None
            SparkContext._gateway = None
            SparkContext._jvm = None
        if process is not None:
            process.stdin.close()  # The Java process ends when its input does.
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            self._handler = None

    @property
    def addresses(self) -> tuple[str, str]:
        """Where executors reach this process, and where it listens."""
        conf = self.context.getConf()
        host = str(conf.get("spark.driver.host"))
        return host.strip("[]"), str(conf.get("spark.driver.bindAddress", host)).strip("[]")

    def collect(
        self, items: Sequence[object], partitions: int, function: Callable[..., object], *, is_barrier: bool = False
    ) -> list[Any]:
        """What a function of partitions yields for the items; in one barrier stage, if asked to."""
        data = self.context.parallelize(items, partitions)
        if is_barrier:
            data = data.barrier()
        return list(data.mapPartitions(function).collect())

    def describe(self, group: str, text: str) -> None:
        """What Spark's own pages say of the jobs that this thread begins from now on."""
        self.context.setJobGroup(group, text)

    def run_nothing(self) -> None:
        """A job without tasks, which needs no slot and a millisecond, so that its description is shown."""
        from py4j.protocol import Py4JError

        try:
            self.context._jsc.emptyRDD().count()
        except Py4JError:
            pass  # Whoever waits for the search is told what has happened to Spark.

    def cancel(self) -> None:
        """Ends all jobs."""
        _within(5.0, self.context.cancelAllJobs)

    def slots(self, wanted: int = 1, patience: float | None = None) -> int:
        """How many tasks can run at once; waits for the first, and for up to `patience` seconds for as many as wanted.

        Without a patience for those that Spark's settings ask for, as long as these say, and until no further one comes:
        which is believed of those of the last time, if they are as many.
        """
        if patience is not None:
            self._offered = 0, 0.0
        begin = time.monotonic()
        deadline = begin + patience if patience is not None and wanted > 1 else max(begin + SLOT_SECONDS, self._late)
        while True:
            now = self.slots_now()
            if now != self._offered[0]:
                self._offered = now, time.monotonic()
            is_complete = now >= self.settings.wanted_slots or time.monotonic() > self._late
            is_steady = self.settings.is_local or (is_complete and time.monotonic() - self._offered[1] > STEADY_SECONDS)
            if now and (now >= wanted > 1 or (is_steady and wanted == 1) or time.monotonic() > deadline):
                return now
            if not now:
                self._refuse_secret()
            if time.monotonic() > deadline and not now:
                raise SystemFailure(
                    f"{self.settings.master} has offered no slot for {deadline - begin:.0f} seconds; see whether it has "
                    "workers with free cores and memory"
                )
            time.sleep(0.05 if now else 0.2)

    def _refuse_secret(self) -> None:
        """Spark says in its log alone that a cluster has another secret, and tries again for a minute."""
        if b"sasl" in self.log.read_bytes()[self._log_begin :].lower():
            raise SystemFailure(
                f"{self.settings.master} has another secret than this driver; give --conf spark.authenticate=true and "
                f"--conf spark.authenticate.secret=… as the cluster has them; Spark's log is {self.log}"
            )

    def slots_now(self) -> int:
        """How many tasks can run at once, as Spark sees it at this moment."""
        scala = self.context._jsc.sc()
        return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started in the block."""
    hidden = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_REMOTE", "SPARK_TESTING")
    before = {name: os.environ.get(name) for name in (*values, *hidden)}
    os.environ.update(values)
    for name in hidden:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _within(seconds: float, work: Callable[[], object]) -> None:
    """Does something that may hang or fail because its other side is gone."""

    def attempt() -> None:
        try:
            work()
        except Exception:
            pass  # What is to be stopped has stopped.

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)


def reason(error: Exception) -> str:
    """The line of an error of Spark's or Java's that names the cause: what an executor of ours said, else the last cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.strip().startswith("at ")]
    ours = [line.partition(": ")[2] for line in lines if re.match(r"acked\.[\w.]+: ", line)]
    causes = [line for line in lines if re.match(r"(: |Caused by: )?[\w.$]+(Exception|Error): ", line)]
    chosen = (ours or causes or (lines or ["no reason given"])[:1])[-1]
    said = re.sub(r"^(: |Caused by: )?(?:[\w$]+\.)+[\w$]+: ", "", chosen)
    return said.partition(" SQLSTATE")[0].rstrip(". ;")[:300]
