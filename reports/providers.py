"""Which provider pictures which protocol. What does not live here: the providers themselves (one module per family)."""

from __future__ import annotations

from model.errors import ModelError
from model.protocol import Instance
from reports.majority import MAJORITY
from reports.partition import PARTITION
from reports.picture import Pictures, Provider
from reports.replication import REPLICATION

PROVIDERS: tuple[Provider, ...] = (REPLICATION, PARTITION, MAJORITY)
"""The providers of shipped protocols, and of those that have the same fields."""

LANES_ALONE: Provider = Pictures()
"""Of a protocol that nobody pictures the states are shown by their fields, and who has to do with a step by lanes."""


def provider_of(instance: Instance) -> Provider:
    """The provider of a protocol; `ModelError` if the protocol names something that is none."""
    own = instance.protocol.pictures
    if own is None:
        return next((provider for provider in PROVIDERS if provider.recognises(instance)), LANES_ALONE)
    if not isinstance(own, Provider):
        raise ModelError(f"{instance.protocol.name}: pictures is no provider; derive its class from reports.picture.Pictures")
    return own
