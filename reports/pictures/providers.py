"""Which provider pictures which protocol."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.reports.pictures.fields import FieldPictures
from acked.reports.pictures.picture import Pictures

_SHIPPED = ("replication", "partition", "majority", "transactions", "delivery", "share", "compaction")
"""The modules with the providers of shipped protocols and of those that have the same fields, imported when asked."""


def providers() -> Iterator[Pictures]:
    """The shipped providers, one after the other."""
    for name in _SHIPPED:
        provider: Pictures = getattr(import_module(f"acked.reports.pictures.protocols.{name}"), name.upper())
        yield provider


def provider_of(instance: Instance) -> Pictures:
    """The provider of a protocol, if need be one that shows its fields; `ModelError` if what it names is not a provider."""
    own = instance.protocol.pictures
    if own is None:
        return next((provider for provider in providers() if provider.recognises(instance)), FieldPictures(instance))
    if not isinstance(own, Pictures):
        base = f"{Pictures.__module__}.{Pictures.__qualname__}"
        raise ModelError(f"{instance.protocol.name}: pictures is not a provider; derive its class from {base}")
    return own


def added_pictures(instance: Instance, provider: Pictures) -> FieldPictures | None:
    """What shows the fields that a copy of a shipped protocol has besides; None if it has none."""
    state = instance.protocol.state
    if instance.protocol.pictures is not None or provider.protocol is None or provider.protocol.state is state:
        return None
    return FieldPictures(instance, provider.protocol.state.domains())
