"""What there is to check, for `acked list`: protocols, constants, properties, specs.

What lives here: their layout in the terminal; a blank line ends every entry. What does not: where they come
from (`model/catalogue.py`, `invariants/catalogue.py`, spec files).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from invariants.property import Property
from model.context import Constant
from model.errors import ModelError
from model.protocol import Protocol
from reports.console import put, put_paragraph

if TYPE_CHECKING:
    from rich.console import Console

_SMALL = 2
"""The value, where the range allows it, under which a protocol is instantiated to learn its guards' labels."""


@dataclass(frozen=True)
class SpecRow:
    """What a listing says about one spec file."""

    name: str
    title: str
    protocol: str
    constants: Mapping[str, int]
    expected: str


def print_protocols(console: Console, protocols: Iterable[Protocol]) -> None:
    """Every protocol with its source, its constants and its actions with their guards."""
    for protocol in protocols:
        _entry(console, protocol.name, protocol.title)
        _fact(console, "source", protocol.source)
        for constant in protocol.constants:
            _fact(console, f"{constant.name}", f"{constant.lo}..{constant.hi}: {constant.doc}")
        labels = guard_labels(protocol)
        for item in protocol.actions:
            put_paragraph(console, item.name, "bold", "  ", "  ")
            doc = item.doc.strip().splitlines()
            if doc:
                put_paragraph(console, doc[0], "", "    ", "    ")
            if labels.get(item.name):
                put_paragraph(console, f"enabled if: {'; '.join(labels[item.name])}", "dim", "    ", "      ")
        put(console, [])


def print_constants(console: Console, constants: Iterable[tuple[Constant, Sequence[str]]]) -> None:
    """Every constant with its range, its meaning and the protocols that have it."""
    for constant, users in constants:
        _entry(console, constant.name, f"{constant.lo}..{constant.hi}")
        put_paragraph(console, constant.doc, "", "  ", "  ")
        _fact(console, "protocols", ", ".join(users))
        put(console, [])


def print_properties(console: Console, properties: Iterable[Property]) -> None:
    """Every property with its kind, its promise and where it comes from."""
    for item in properties:
        _entry(console, item.name, item.kind.value)
        put_paragraph(console, item.promise, "", "  ", "  ")
        _fact(console, "source", item.source)
        _fact(console, "kept since", item.since)
        put(console, [])


def print_specs(console: Console, specs: Iterable[SpecRow]) -> None:
    """Every spec with its protocol, its constants and the verdict that it expects."""
    for row in specs:
        _entry(console, row.name, row.title)
        constants = ", ".join(f"{name}={value}" for name, value in row.constants.items())
        _fact(console, "protocol", f"{row.protocol}: {constants}" if constants else row.protocol)
        _fact(console, "expected", row.expected or "nothing")
        put(console, [])


def guard_labels(protocol: Protocol) -> dict[str, list[str]]:
    """The labels of every action's guard clauses, by action name; an action that small constants rule out has none."""
    constants = {item.name: min(max(_SMALL, item.lo), item.hi) for item in protocol.constants}
    try:
        instance = protocol.instantiate(constants)
    except ModelError:
        # A listing must not fail because a protocol refuses these very constants.
        return {}
    labels: dict[str, list[str]] = {}
    for step in instance.actions:
        known = labels.setdefault(step.action.name, [])
        known += [guard.label for guard in step.guards if guard.label not in known]
    return labels


def _entry(console: Console, name: str, text: str) -> None:
    put_paragraph(console, f"{name}  {text}", "bold")


def _fact(console: Console, name: str, text: str) -> None:
    lead = f"  {name:<18}"
    put_paragraph(console, text, "", lead if len(lead) == 20 else f"{lead} ", " " * 20)
