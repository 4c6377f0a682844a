"""Which provider pictures which protocol."""

from __future__ import annotations

from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.reports.pictures.delivery import DELIVERY
from acked.reports.pictures.majority import MAJORITY
from acked.reports.pictures.partition import PARTITION
from acked.reports.pictures.picture import Pictures, Provider
from acked.reports.pictures.replication import REPLICATION
from acked.reports.pictures.transactions import TRANSACTIONS

PROVIDERS: tuple[Provider, ...] = (REPLICATION, PARTITION, MAJORITY, TRANSACTIONS, DELIVERY)
"""The providers of shipped protocols, and of those that have the same fields."""

LANES_ALONE: Provider = Pictures()
"""Of a protocol that nobody pictures the states are shown by their fields, and who has to do with a step by lanes."""


def provider_of(instance: Instance) -> Provider:
    """The provider of a protocol; `ModelError` if what the protocol names is not a provider."""
    own = instance.protocol.pictures
    if own is None:
        return next((provider for provider in PROVIDERS if provider.recognises(instance)), LANES_ALONE)
    if not isinstance(own, Provider):
        base = f"{Pictures.__module__}.{Pictures.__qualname__}"
        raise ModelError(f"{instance.protocol.name}: pictures is not a provider; derive its class from {base}")
    return own
