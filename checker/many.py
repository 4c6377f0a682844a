"""Many specs at once: a Spark task for each, with the local search inside, in a process of its own.

What lives here: `answer_many`, and what runs in a task and in its process. What does not: one spec over many machines
(`spark.py`), what is expected of all of them together.

A search runs in a process below the task's, because one that is killed, for its memory say, would otherwise take the Spark
worker and, after a few attempts, all other specs with it: here it is one spec's answer, which says how the process ended.
"""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from checker.errors import AckedError
from checker.sparksession import HOME, SparkDriver, remote

_BOOT = """\
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_acked_rooms", sys.argv[1] + "/acked/rooms.py")
rooms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rooms)
rooms.claim()
from checker.many import child
child()
"""


@dataclass(frozen=True)
class SpecAnswer:
    """What became of one spec; `error` is None if it was answered, and otherwise one sentence, and the rest is empty.

    `violated` pairs names with trace lengths; `differences` is what is not as the spec expects, None if it expects nothing.
    """

    name: str
    verdict: str | None = None
    stopped: str | None = None
    distinct_states: int = 0
    generated_states: int = 0
    depth: int = 0
    seconds: float = 0.0
    violated: tuple[tuple[str, int], ...] = ()
    differences: tuple[str, ...] | None = None
    actions: dict[str, tuple[int, int]] = field(default_factory=dict)
    error: str | None = None


def answer_many(
    driver: SparkDriver, specs: Sequence[Path], memory: int | None = None, seconds: float | None = None
) -> list[SpecAnswer]:
    """Answers every spec, in their order; `memory` bounds the states of each in bytes, `seconds` its whole process.

    Specs are read here, so that executors need no files. Without `memory`, each takes a fair part of its machine.
    """
    requests = [(path.stem, path.read_bytes()) for path in specs]
    payload = pickle.dumps((memory, seconds, max(driver.slots(), 1)), pickle.HIGHEST_PROTOCOL)
    numbered = list(enumerate(requests))
    found = driver.collect(numbered, len(numbered), remote("many:task", payload))
    return [SpecAnswer(**answer) for _, answer in sorted(found, key=lambda item: item[0])]


def task(payload: bytes, partition: Iterator[tuple[int, tuple[str, bytes]]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """On an executor: answers the specs of a partition, each in a process."""
    memory, seconds, neighbours = pickle.loads(payload)
    for number, (name, text) in partition:
        yield number, asdict(_in_a_process(name, text, memory, seconds, neighbours))


def _in_a_process(name: str, text: bytes, memory: int | None, seconds: float | None, neighbours: int) -> SpecAnswer:
    request = {"name": name, "text": text.decode("utf-8", "replace"), "memory": memory, "neighbours": neighbours}
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _BOOT, str(HOME)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return SpecAnswer(name, error=f"{name} was not answered within {seconds:g} seconds")
    spent = time.monotonic() - begun
    if done.returncode < 0:
        how = signal.Signals(-done.returncode).name
        hint = "; the machine may be out of memory, use less for each" if how == "SIGKILL" else ""
        return SpecAnswer(name, error=f"the search of {name} was ended by {how} after {spent:.1f} seconds{hint}")
    try:
        body = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return SpecAnswer(name, error=f"the search of {name} ended with code {done.returncode}: {last[:200]}")
    body["violated"] = tuple(map(tuple, body["violated"]))
    body["actions"] = {key: tuple(counts) for key, counts in body["actions"].items()}
    if body["differences"] is not None:
        body["differences"] = tuple(body["differences"])
    return SpecAnswer(**body)


def child() -> None:
    """In the process: reads a request from stdin, searches, writes a `SpecAnswer` as JSON to stdout."""
    request = json.load(sys.stdin)
    name = request["name"]
    try:
        answer = _search(name, request["text"], request["memory"], request["neighbours"])
    except MemoryError:
        answer = SpecAnswer(name, error=f"the search of {name} ran out of memory; use smaller constants or fewer at once")
    except Exception as error:  # a spec's mistake or a protocol's: told as its answer
        kind = "" if isinstance(error, AckedError) else f"{type(error).__name__}: "
        answer = SpecAnswer(name, error=f"{kind}{error}".splitlines()[0])
    json.dump(asdict(answer), sys.stdout)
    sys.stdout.write("\n")


def _search(name: str, text: str, memory: int | None, neighbours: int) -> SpecAnswer:
    from checker.bounds import Bounds, default_memory
    from checker.levels import StopPolicy
    from checker.search import search
    from checker.spec import parse_spec

    spec = parse_spec(text, Path(f"{name}.toml"))
    policy = StopPolicy.EVERY_PROPERTY if spec.wants_every_property else StopPolicy.FIRST_VIOLATION
    result = search(spec.question(), Bounds(1, memory or default_memory() // neighbours), policy)
    return SpecAnswer(
        name=name,
        verdict=result.verdict.value,
        stopped=result.stopped.name.lower(),
        distinct_states=result.distinct_states,
        generated_states=result.generated_states,
        depth=result.depth,
        seconds=result.seconds,
        violated=tuple((item.property.name, item.trace_length) for item in result.violations),
        differences=tuple(spec.expect.differences(result)) if spec.expect else None,
        actions={key: (count.enabled, count.new) for key, count in result.actions.items()},
    )
