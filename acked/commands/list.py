"""The command `list`, and what it lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from acked.asking.options import shows_without_progress
from acked.asking.output import Output
from acked.asking.specs import bundled_specs
from acked.checker.errors import ConfigurationError
from acked.checker.names import choices, near
from acked.checker.question.question import DEADLOCK
from acked.checker.spec.spec import Spec, load_spec
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant

if TYPE_CHECKING:
    from rich.console import Console


def _specs() -> list[Spec]:
    root = bundled_specs()
    ordered = sorted(root.rglob("*.toml"), key=lambda path: (len(path.relative_to(root).parts), path.parts))
    return [load_spec(path) for path in ordered]


PARTS = ("protocols", "invariants", "constants", "specs", "all")


def check_what(what: str, version: str | None, control_plane: str | None) -> None:
    """Refuses what cannot be listed."""
    names = (*PARTS, *PROTOCOLS)
    if what not in names:
        raise ConfigurationError(f"there is nothing to list as {what!r}{near(what, names)}; choose from {choices(names)}")
    if (version or control_plane) and what not in PROTOCOLS:
        raise ConfigurationError("--version and --control-plane need a protocol: acked list partition --version 2.1")


def show_release(what: str, version: str | None, control_plane: str | None, output: Output) -> None:
    """Prints the constants of a protocol as a release of Kafka has them."""
    from acked.reports.tables.listing import print_profile

    protocol = PROTOCOLS[what]
    try:
        profile = protocol.profile(version, control_plane)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None
    shown = {constant.name: constant for constant in protocol.constants}
    rows = [
        {"name": name, "value": shown[name].show(setting.value), "source": setting.source}
        for name, setting in profile.items()
    ]
    output.emit(
        lambda: {"protocol": what, "version": version, "control_plane": control_plane, "constants": rows},
        lambda console: print_profile(console, protocol, version, control_plane),
    )


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
    if what in PROTOCOLS:
        found: dict[str, Any] = next(item for item in parts["protocols"] if item["name"] == what)
        return found
    return parts if what == "all" else {what: parts[what]}


def print_listing(console: Console, what: str) -> None:
    """The listing for people."""
    from acked.reports.tables.listing import SpecRow, print_constants, print_properties, print_protocols, print_specs

    if what in PROTOCOLS:
        print_protocols(console, [PROTOCOLS[what]])
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


@click.command("list", short_help="List protocols, properties, constants or specs.")
@click.argument("what", default="all")
@click.option("--version", "version", metavar="V", help="With a protocol: its constants as in this release of Kafka.")
@click.option("--control-plane", metavar="P", help="With --version: zookeeper or kraft.")
@shows_without_progress
def list_(what: str, version: str | None, control_plane: str | None, output: Output) -> None:
    """List protocols, invariants, constants or bundled specs, with their docs.

    WHAT is one of protocols, invariants, constants, specs, all, or the name of a protocol.

    \b
    acked list specs                       what can be checked by name
    acked list kip320                      a protocol's constants, actions and properties
    acked list partition --version 2.1     which rules and defaults that release has, and why
    """
    check_what(what, version, control_plane)
    if version or control_plane:
        show_release(what, version, control_plane, output)
    else:
        output.emit(lambda: as_document(what), lambda console: print_listing(console, what))
