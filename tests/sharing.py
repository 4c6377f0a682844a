"""What a session makes once, whichever of its processes comes first, and what is not shared."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import current_thread
from typing import Any

import pytest

from acked.base.files import PACKAGE
from acked.checker.batch.local import BatchLimits, KeptProcesses
from acked.checker.dataset.sql import CONF
from acked.checker.spark.session import QUICK_START, SparkDriver, SparkSettings
from acked.checker.spec import spec
from acked.checker.spec.spec import Spec, parse_spec
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.tracings import Tracings
from acked.roll.questions.protocol import roll
from tests.kept import KEYS, lend
from tests.places import SPECS


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """No other process that takes this file's lock goes on meanwhile."""
    with open(lock, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills, for all processes of the session; the others wait for the first."""
    base = factory.getbasetemp()
    place = (base.parent if base.name.startswith("popen-") else base) / f"shared-{name}"
    with alone(place.with_suffix(".lock")):
        if not place.exists():
            making = place.with_suffix(".part")
            making.mkdir()
            make(making)
            making.rename(place)
    return place


@contextmanager
def own_cache(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache for what is worth nothing to other tests and to later runs, such as kernels of random protocols.

    Loops, which are the same for all questions of as many words, are those of the session.
    """
    common, place = made_once(factory, "cache", lend), factory.mktemp("cache")
    _share_loops(common, place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACKED_CACHE_DIR", str(place))
        patch.setenv("XDG_STATE_HOME", str(KEYS))  # Else what is shared is sealed by somebody else.
        yield place
    _share_loops(place, common)


def _share_loops(source: Path, target: Path) -> None:
    for path in (*source.glob("*-loops.o"), *source.glob("*-quick.o"), *source.glob("*-first.o")):
        with suppress(FileExistsError):
            (target / path.name).hardlink_to(path)


SHIPPED = (*PROTOCOLS.values(), roll)
"""Protocols that tests do not change."""


@contextmanager
def traced_once(common: Tracings) -> Iterator[None]:
    """Instances of shipped protocols take what others have traced, as in an audit, and as the gate's; of this thread's alone.

    So do those that are given tracings by a search, a command or a test, which would trace the same once more. They are
    those that trace by themselves, which `tests/model/language/test_tracings.py` holds. What ships is read once, too.
    """
    instantiate, here = Protocol.instantiate, current_thread()

    def shared(
        self: Protocol,
        constants: Mapping[str, object],
        drop: Iterable[tuple[str, str]] = (),
        tracings: Tracings | None = None,
    ) -> Instance:
        is_shared = current_thread() is here and any(self is shipped for shipped in SHIPPED)
        return instantiate(self, constants, drop, common if is_shared else tracings)

    with pytest.MonkeyPatch.context() as patch, read_once():
        patch.setattr(Protocol, "instantiate", shared)
        yield


@contextmanager
def read_once() -> Iterator[None]:
    """A spec that ships is read once in a process; `_read`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spec, "parse_spec", _read)
        yield


def _read(text: str, path: Path, is_changed: bool = False) -> Spec:
    """As `parse_spec`; a spec that ships and its protocol are not changed by tests."""
    return (_read_once if any(map(path.is_relative_to, (SPECS, PACKAGE / "specs"))) else parse_spec)(text, path, is_changed)


@cache
def _read_once(text: str, path: Path, is_changed: bool) -> Spec:
    return parse_spec(text, path, is_changed)


INTERPRETED = {
    "spark.driver.extraJavaOptions": f"{QUICK_START} -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}
"""To compile queries about a few thousand rows takes longer than to answer them, and Java need not verify Spark's classes."""


@contextmanager
def lasting_spark(log: Path) -> Iterator[Callable[[], SparkDriver]]:
    """What gives the one Spark driver on two threads, which goes on from module to module: Java's start takes longer.

    Its sessions answer queries as those of `acked states query`; of that, searches see nothing.

    A process has room for one context: the driver ends where somebody starts another one, and is started again after that.
    Nothing that it has started outlives it.
    """
    queries = {name: value for name, value in CONF.items() if name.startswith("spark.sql.")} | INTERPRETED
    mine = SparkDriver(SparkSettings("local[2]", queries), log)
    begin = SparkDriver.__enter__

    def enter(other: SparkDriver) -> SparkDriver:
        mine.stop()
        return begin(other)

    def lend() -> SparkDriver:
        return mine if mine.context is not None else begin(mine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkDriver, "__enter__", enter)
        yield lend
    if mine.context is not None:
        from tests.checker.spark.spark_cluster import command_of, descendants  # It imports pyspark.

        started = [pid for pid in descendants(os.getpid()) if "spark" in command_of(pid)]
        mine.stop()
        assert started
        assert [pid for pid in started if command_of(pid)] == []


@contextmanager
def lasting_searches() -> Iterator[None]:
    """Audits that are asked for in this process take over the searching processes of the audit before them.

    They are started for the first audit with the same limits, and end with the block, or with an audit that fails: what a
    process has to import and to trace takes longer than most of the searches.
    """
    by_limits: dict[BatchLimits, KeptProcesses] = {}

    class Lasting(KeptProcesses):
        def __exit__(self, kind: type[BaseException] | None, *told: Any) -> None:
            if kind is not None:
                by_limits.pop(self._limits, None)
                super().__exit__(kind, *told)

    def of(limits: BatchLimits) -> KeptProcesses:
        return by_limits.setdefault(limits, Lasting(limits))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acked.checker.batch.local.default_memory", lambda: 2 << 30)  # Else each has limits of its own.
        patch.setattr("acked.checker.batch.local.default_workers", lambda: 1)  # A second one traces everything again.
        for command in ("answering", "plan"):
            patch.setattr(f"acked.audit.commands.{command}.KeptProcesses", of)
        yield
    for kept in by_limits.values():
        KeptProcesses.__exit__(kept, None, None, None)
