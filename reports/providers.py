"""Which provider pictures which protocol. What does not live here: the providers themselves (one module per family)."""

from __future__ import annotations

from model.protocol import Instance
from reports.majority import MAJORITY
from reports.partition import PARTITION
from reports.picture import Provider
from reports.replication import REPLICATION

PROVIDERS: tuple[Provider, ...] = (REPLICATION, PARTITION, MAJORITY)
"""Every provider; a protocol that none of them recognises is shown by its fields alone."""


def provider_of(instance: Instance) -> Provider | None:
    """The provider of a protocol; None if there is none."""
    return next((provider for provider in PROVIDERS if provider.recognises(instance)), None)
