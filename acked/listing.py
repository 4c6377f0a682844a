"""What `acked list` lists. What does not live here: how tables look (`reports/listing.py`)."""

from __future__ import annotations

import sys
from typing import Any

from acked.bundle import bundled_specs
from checker.question import DEADLOCK
from checker.spec import Spec, load_spec
from invariants.catalogue import properties_of
from invariants.property import Property
from model.catalogue import PROTOCOLS
from model.context import Constant


def _specs() -> list[Spec]:
    root = bundled_specs()
    ordered = sorted(root.rglob("*.toml"), key=lambda path: (len(path.relative_to(root).parts), path.parts))
    return [load_spec(path) for path in ordered]


def _properties() -> list[Property]:
    listed: dict[str, Property] = {}
    for protocol in PROTOCOLS.values():
        listed.update(properties_of(protocol))
    return [*listed.values(), DEADLOCK]


def _constants() -> list[tuple[Constant, list[str]]]:
    users: dict[Constant, list[str]] = {}
    for protocol in PROTOCOLS.values():
        for constant in protocol.constants:
            users.setdefault(constant, []).append(protocol.name)
    return list(users.items())


def _expected(spec: Spec) -> str:
    if spec.expect is None:
        return ""
    return " ".join([spec.expect.verdict.value, *spec.expect.violates])


def as_document(what: str) -> dict[str, Any]:
    """The listing as plain values for JSON."""
    parts: dict[str, Any] = {
        "protocols": [
            {
                "name": protocol.name,
                "title": protocol.title,
                "source": protocol.source,
                "constants": [constant.name for constant in protocol.constants],
                "actions": {item.name: item.doc for item in protocol.actions},
                "invariants": list(properties_of(protocol)),
            }
            for protocol in PROTOCOLS.values()
        ],
        "invariants": [
            {
                "name": item.name,
                "kind": item.kind.value,
                "promise": item.promise,
                "source": item.source,
                "since": item.since,
            }
            for item in _properties()
        ],
        "constants": [
            {"name": item.name, "least": item.lo, "greatest": item.hi, "doc": item.doc, "protocols": users}
            for item, users in _constants()
        ],
        "specs": [
            {
                "name": spec.name,
                "title": spec.title,
                "protocol": spec.protocol.name,
                "constants": spec.constants,
                "expected": _expected(spec),
                "slow": spec.slow,
                "path": str(spec.path),
            }
            for spec in _specs()
        ],
    }
    return parts if what == "all" else {what: parts[what]}


def print_listing(what: str) -> None:
    """The listing for people."""
    from reports.console import open_console
    from reports.listing import SpecRow, print_constants, print_properties, print_protocols, print_specs

    console = open_console(sys.stdout)
    if what in ("protocols", "all"):
        print_protocols(console, PROTOCOLS.values())
    if what in ("constants", "all"):
        print_constants(console, _constants())
    if what in ("invariants", "all"):
        print_properties(console, _properties())
    if what in ("specs", "all"):
        print_specs(
            console,
            [
                SpecRow(spec.name, spec.title, spec.protocol.name, spec.constants, _expected(spec))
                for spec in _specs()
            ],
        )
