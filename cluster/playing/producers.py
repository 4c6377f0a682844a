"""The producers of a script: one connection for each record that waits for an answer."""

from __future__ import annotations

from acked.cluster.playing.compare import value_of
from acked.cluster.stories.stage import Stage
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.client import Acknowledgement, BrokerGone, Client

NO_OFFSET = -1
"""The offset of a record that was only taken for written."""


class Producers:
    """What was sent and what was answered. `acks` as Kafka counts it: 0, 1, or -1 for all."""

    def __init__(self, stage: Stage, acks: int, seconds: float) -> None:
        self._stage, self._acks, self.seconds = stage, acks, seconds
        self._waiting: dict[int, Client] = {}
        self.acknowledged: dict[int, Acknowledgement] = {}
        self.refused: dict[int, int] = {}
        """By record the error that its producer was answered."""

    def send(self, record: int, broker: int) -> None:
        """Sends a record; returns when it is in the broker's log, as often as it was sent there."""
        self.forget(record)
        value = value_of(record)
        before = self._stage.replica(broker).values.count(value)
        client = self._stage.cluster.client(broker, self.seconds, gated=True)
        self._waiting[record] = client
        client.send_record(self._stage.topic, value.encode(), self._acks)

        def look() -> bool:
            if self._acks != 0 and client.is_answered() and self._stage.replica(broker).values.count(value) == before:
                self._read(record)
            return record in self.refused or self._stage.replica(broker).values.count(value) > before

        wait_for(look, f"{value} in broker {broker}'s log", self.seconds, self._stage.check)
        if self._acks == 0:
            self.take_for_sent(record)
            self.forget(record)

    def take_for_sent(self, record: int) -> None:
        """With acks=0 nobody answers, and the producer takes what it has sent for written."""
        self.acknowledged[record] = Acknowledgement(0, NO_OFFSET)

    def forget(self, record: int) -> None:
        """Nobody waits for the answer any more."""
        client = self._waiting.pop(record, None)
        if client is not None:
            client.close()

    def hear(self) -> None:
        """Takes in what has been answered by now."""
        for record, client in list(self._waiting.items()):
            if client.is_answered():
                self._read(record)

    def await_acknowledgement(self, record: int, seconds: float) -> bool:
        """Whether a record is acknowledged, waiting for it if need be."""

        def look() -> bool:
            self.hear()
            return record in self.acknowledged or record not in self._waiting

        try:
            wait_for(look, "an answer", seconds, self._stage.check)
        except NotSeen:
            return False
        return record in self.acknowledged

    def close(self) -> None:
        """Closes all connections."""
        for record in list(self._waiting):
            self.forget(record)

    def _read(self, record: int) -> None:
        client = self._waiting.pop(record)
        try:
            answer = client.acknowledgement()
        except BrokerGone:
            return
        finally:
            client.close()
        if answer.error:
            self.refused[record] = answer.error
        else:
            self.acknowledged[record] = answer
