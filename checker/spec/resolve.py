"""What the names in a question stand for: protocols, constants, properties, and guard clauses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.names import choices, choices_or, near
from acked.checker.question.question import DEADLOCK
from acked.checker.spec.user_protocol import is_reference, load_protocol
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol


def protocol_named(name: str, folder: Path | None = None) -> Protocol:
    """A shipped protocol, or that of a file (`toylog.py:toylog`, beside `folder`); `ConfigurationError` lists the choices."""
    if is_reference(name):
        return load_protocol(name, folder or Path())
    if name not in PROTOCOLS:
        raise ConfigurationError(
            f"there is no protocol {name!r}{near(name, PROTOCOLS)}; the protocols are {choices(PROTOCOLS)}"
        )
    return PROTOCOLS[name]


def _names_or_command(protocol: Protocol, names: Collection[str]) -> str:
    """The names, or the command that lists those of a shipped protocol."""
    return choices_or(names, f"acked list {protocol.name}") if protocol.name in PROTOCOLS else f"it has {choices(names)}"


def no_constant(protocol: Protocol, name: str, known: Collection[str]) -> str:
    """That a protocol has no constant of a name, with the one that was meant, or all of them."""
    if name in ("version", "kafka_version", "kafka-version"):
        return f"{protocol.name} has no constant {name!r}; a release is version = \"…\" in a spec, or --kafka-version"
    listed = _names_or_command(protocol, known)
    return f"{protocol.name} has no constant {name!r}{near(name, known)}; {listed}"


def property_named(protocol: Protocol, name: str, written: Iterable[Property] = ()) -> Property:
    """A property of a protocol, or one that a spec writes; `ConfigurationError` lists the choices."""
    known = {**properties_of(protocol), **{item.name: item for item in written}}
    if name == DEADLOCK.name:
        return DEADLOCK
    if name not in known:
        none = "it has none, because its state is its own; write it under [invariants.NAME]"
        has = _names_or_command(protocol, known) if known else none
        raise ConfigurationError(f"{protocol.name} has no property {name!r}{near(name, known)}; {has}")
    return known[name]


def clause_named(protocol: Protocol, text: str) -> tuple[str, str]:
    """`LeaderWrite: room in the log` as (action, label); whether the action has the clause shows when it is traced."""
    action, separator, label = text.partition(":")
    actions = [item.name for item in protocol.actions]
    if not separator or action.strip() not in actions:
        raise ConfigurationError(
            f"{text!r} does not name a guard clause; write \"Action: label\" with one of the actions {choices(actions)}"
        )
    return action.strip(), label.strip()


def refuse_unasked(properties: Iterable[Property], constants: Mapping[str, int]) -> None:
    """`ConfigurationError` for a property about a part that the constants turn off: it would hold vacuously."""
    for item in properties:
        if lacks := item.lacks(constants):
            raise ConfigurationError(f"{item.name} would hold vacuously: there is no {lacks}, or do not ask it")


def bind_constants(protocol: Protocol, constants: Mapping[str, Any]) -> dict[str, int]:
    """Checked constants; `ConfigurationError` names the one that does not fit."""
    try:
        return protocol.bind(constants)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None


def settle(
    protocol: Protocol, given: Mapping[str, Any], constants: Mapping[str, int], control_plane: str | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The constants in effect, and warnings; `ConfigurationError` for settings that Kafka refuses together."""
    try:
        return protocol.settle(given, constants, control_plane)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None
