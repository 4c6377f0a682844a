"""How much of the machine a search may use.

`Bounds`, what the processors and the memory at hand suggest, its threads, and how one gives way to the search.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from acked.base.frozen import frozen

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_ADDRESS_SPACE_FOR_CODE = 1 << 30
"""What libraries and threads take of a limited address space besides resident memory."""
DISPENSABLE = "dispensable"
"""How the names of threads begin whose work is lost when a command that needs it no more ends."""


def default_workers() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_memory() -> int:
    """Four fifths of the memory that this process may still take, in bytes: of the machine, its control group, its limits."""
    free = [_available_memory(), *_control_group_room()]
    limit = address_space_limit()
    if limit is not None:
        free.append(limit - resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - _ADDRESS_SPACE_FOR_CODE)
    return max(min(free), 1 << 20) * 4 // 5


def address_space_limit() -> int | None:
    """How many bytes of address space this process may take; None if as many as it wants."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _available_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (OSError, ValueError):
        return 4 << 30


def _control_group_room() -> Iterator[int]:
    """What each control group around this process still has (version 2)."""
    root = Path("/sys/fs/cgroup")
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    own = next((line[3:].lstrip("/") for line in lines if line.startswith("0::")), "")
    for group in [root / own, *(root / own).parents]:
        try:
            yield int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
        except (OSError, ValueError):
            continue  # no limit here
        if group == root:
            return


def give_way() -> None:
    """Lets other threads go first: a worker that waits for a core makes all the others wait at the end of a level."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
    except (AttributeError, OSError):
        pass  # Where threads have no priority of their own, this one is only less polite.


def threads(workers: int, cancels: bool = False) -> ThreadPoolExecutor:
    """Threads that are started, and imported, with the first work: most searches end before there is any for them.

    If it `cancels`, what they have not begun when all ends is left undone.
    """
    return cast("ThreadPoolExecutor", _Threads(workers, cancels))


class _Threads:
    """What a search asks of a `ThreadPoolExecutor`."""

    def __init__(self, workers: int, cancels: bool) -> None:
        self._workers, self._cancels = workers, cancels

    @cached_property
    def _started(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self._workers)

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Has one of them do something."""
        return self._started.submit(work, *given, **named)

    def map(self, work: Callable[..., Any], *over: Iterable[Any]) -> Iterator[Any]:
        """Has them do something with each, and waits."""
        return self._started.map(work, *over)

    def __enter__(self) -> _Threads:
        return self

    def __exit__(self, *_: object) -> None:
        if "_started" in vars(self):
            self._started.shutdown(cancel_futures=self._cancels)


@frozen
class Bounds:
    """Limits of a search.

    >>> result = check(ask(toylog, nothing_lost, brokers=3, records=3), bounds=Bounds(workers=1, max_depth=4))
    >>> result.verdict, result.depth
    (<Verdict.INCOMPLETE: 'incomplete'>, 4)
    """

    workers: int = field(default_factory=default_workers)
    """Threads; by default one for each processor that the process may use."""
    memory: int = field(default_factory=default_memory)
    """Bytes for states and table; by default four fifths of what is free."""
    max_depth: int | None = None
    """Levels after which the search ends, the initial state being the first."""
    max_states: int | None = None
    """Distinct states after which the search ends."""
    beyond_memory: bool = False
    """Whether a search with a run directory goes on there when memory is full."""
