"""What leads brokers through a script, whatever the protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from acked.cluster.nodes.cluster import Cluster
from acked.cluster.playing.script import ScriptStep

S = TypeVar("S")
"""What is seen of brokers at one moment."""
A = TypeVar("A")
"""What clients have been answered by then."""


class Parted(Exception):
    """Real brokers do something else than the model: a sentence."""


class Driver(ABC, Generic[S, A]):
    """Leads the brokers of a cluster through a script, step by step. `seconds` is how long an effect may take to be seen."""

    cluster: Cluster
    seconds: float

    @abstractmethod
    def begin(self) -> None:
        """Makes what the initial state has; nothing happens by itself from then on."""

    @abstractmethod
    def perform(self, step: ScriptStep) -> None:
        """Takes a step; `Parted` if brokers do otherwise than the model, `NotSeen` if an effect does not come in time."""

    @abstractmethod
    def observe(self) -> S:
        """All that is seen now; `SystemFailure` if nobody is there to be asked."""

    @abstractmethod
    def answers(self) -> A:
        """What clients have been answered by now."""

    @abstractmethod
    def broken_promises(self, moments: Sequence[S]) -> Mapping[str, bool]:
        """By promise whether it is broken; `moments` are all that was seen, the last one in the end."""

    @abstractmethod
    def close(self) -> None:
        """Closes connections, and lets everything go."""

    def hurry(self, seconds: float) -> None:
        """From now on an effect may take only so long."""
        self.seconds = seconds

    def check_answers(self, step: ScriptStep) -> None:
        """`Parted` if clients have not been answered what those of the model have been after a step."""

    def is_fresh(self, step: ScriptStep, since: int) -> bool:
        """Whether what is seen was written after a moment, in nanoseconds, where brokers write it from time to time."""
        return True

    def end(self) -> S:
        """What is seen when all steps have been taken."""
        return self.observe()

    def sayings(self, last: S) -> Mapping[str, bool]:
        """Of what is only said of Kafka, whether it is contradicted in the end."""
        return {}

    def lines(self) -> tuple[str, ...]:
        """What brokers have said in their own logs since this was asked last."""
        return ()

    def losses(self) -> tuple[str, ...]:
        """What brokers have said of losing something."""
        return ()
