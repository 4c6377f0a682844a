"""A running cluster asked in a process of its own, with bounds of memory and time.

What brokers answer is read by a library in C, librdkafka, which ends its process where an answer is malformed enough. Here
that ends the asking, with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from acked.asking.live import SECONDS, ask_cluster
from acked.checker.audit.clusters.live import LiveCluster
from acked.checker.errors import AckedError, SystemFailure
from acked.checker.processes import Done, Limits, Lost, Note, ProcessPool, Service

_MEMORY = 4 << 30
"""Bytes of address space, of which most are stacks of threads that are never used."""
_SERVICE = Service("acked.asking.apart:Asker", "client library")
_MORE = 15.0
"""Seconds beyond those that the questions may take, for the process to begin and end."""


@dataclass(frozen=True)
class _Question:
    address: str
    properties: Mapping[str, str]
    seconds: float
    topic: str | None
    with_moves: bool


def ask_apart(
    address: str,
    properties: Mapping[str, str],
    seconds: float = SECONDS,
    topic: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
    with_moves: bool = False,
) -> LiveCluster:
    """`ask_cluster` in a process of its own; `SystemFailure` too if that ends or finds no end."""
    with ProcessPool(Limits(1, seconds + _MORE, _MEMORY), _SERVICE) as pool:
        pool.load(None)
        for reply in pool.run([_Question(address, properties, seconds, topic, with_moves)]):
            match reply:
                case Note(value=line):
                    tell(str(line))
                case Done(value=AckedError() as error):
                    raise error
                case Done(value=LiveCluster() as found):
                    return found
                case Lost(reason=reason):
                    raise SystemFailure(
                        f"the cluster at {address} cannot be read: {reason}, so what it answered is not Kafka's protocol, or "
                        "too much; look at --bootstrap-server"
                    )
    raise SystemFailure(f"the cluster at {address} was not asked; look at --bootstrap-server")


class Asker:
    """Asks in such a process; a refusal is an answer as well."""

    def __init__(self, problem: None, timeout: float) -> None:
        pass

    def answer(self, asked: _Question, note: Callable[[object], None]) -> LiveCluster | AckedError:
        """What the cluster says, or why it cannot be asked."""
        try:
            return ask_cluster(asked.address, asked.properties, asked.seconds, asked.topic, note, asked.with_moves)
        except AckedError as error:
            return error
