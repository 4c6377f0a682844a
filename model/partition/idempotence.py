"""What an idempotent producer cannot be had with: Kafka's own checks of enable.idempotence, in one place.

Sources: KIP-98, KIP-679, KAFKA-5494, KAFKA-13673.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_IN_FLIGHT = 5
"""Requests in flight for which a leader remembers the batches of a producer (KIP-98; KAFKA-5494, 1.0)."""

MAX_IN_FLIGHT_AT_FIRST = 1
"""What it was in 0.11."""

ACKS, RETRIES, IN_FLIGHT = "acks", "retries", "max.in.flight.requests.per.connection"


def conflicts(acks: str, retries: int, in_flight: int, most_in_flight: int = MAX_IN_FLIGHT) -> Iterator[tuple[str, str]]:
    """The settings that idempotence cannot be had with, each with what it must be, in the order in which Kafka looks.

    `acks` is all, 0 or 1.
    """
    if retries == 0:
        yield RETRIES, "must not be 0 when the idempotent producer is used"
    if acks != "all":
        yield ACKS, "must be all when the idempotent producer is used, or it could guarantee nothing"
    if in_flight > most_in_flight:
        yield IN_FLIGHT, f"must be at most {most_in_flight} when the idempotent producer is used"
