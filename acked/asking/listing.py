"""What `acked list` lists: for people, for programs, and the names alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.base.release import release
from acked.checker.question.question import DEADLOCK
from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import as_own_file, name_of
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.reports.console import Console
from acked.reports.shell.bundled import all_bundled, broker_outcomes, bundled_specs, full_name
from acked.reports.tables.findings import Finding, print_findings, read_findings
from acked.reports.tables.listing import (
    expected_of,
    print_constants,
    print_profile,
    print_properties,
    print_protocols,
    print_specs,
)


def _paths() -> list[Path]:
    """Every bundled spec, those of a folder together."""
    return sorted(all_bundled(), key=lambda path: (len(path.parts), as_own_file(path).parts))


FOUND = "found"
"""No part of "all": it is what came of questions, not what may be asked."""
PARTS = ("protocols", "invariants", "properties", "constants", "specs", "all", FOUND)


@frozen
class Filter:
    """Which entries are listed: those in which all words are found; a word with *, ? or [ is a shell pattern of names."""

    words: tuple[str, ...] = ()

    def takes(self, names: Iterable[str], *texts: str) -> bool:
        """Whether an entry of these names and texts is listed."""
        named = [name.lower() for name in names]
        everything = "\n".join([*named, *(text.lower() for text in texts)])
        return all(
            any(fnmatch(name, word) for name in named) if set(word) & set("*?[") else word in everything
            for word in map(str.lower, self.words)
        )


EVERYTHING = Filter()


def check_what(what: str, version: str | None, control_plane: str | None) -> None:
    """Refuses what cannot be listed."""
    names = (*PARTS, *PROTOCOLS)
    if what not in names:
        raise ConfigurationError(f"there is nothing to list as {what!r}{near(what, names)}; choose from {choices(names)}")
    if (version or control_plane) and what not in PROTOCOLS:
        raise ConfigurationError(
            "--kafka-version and --control-plane need a protocol: acked list partition --kafka-version 2.1"
        )


def release_listing(
    what: str, version: str | None, control_plane: str | None
) -> tuple[dict[str, Any], Callable[[Console], None]]:
    """The constants of a protocol as a release of Kafka has them: the document, and what prints it for people."""
    protocol = PROTOCOLS[what]
    if version is not None and protocol.has_profiles:
        version = release(version).newest_of(protocol.releases)
    try:
        profile = protocol.profile(version, control_plane)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None
    shown = {constant.name: constant for constant in protocol.constants}
    rows = [
        {"name": name, "value": shown[name].show(setting.value), "source": setting.source}
        for name, setting in profile.items()
    ]
    document = {"protocol": what, "version": version, "control_plane": control_plane, "constants": rows}
    return document, lambda console: print_profile(console, protocol, version, control_plane)


def _protocols(chosen: Filter) -> list[Protocol]:
    return [item for item in PROTOCOLS.values() if chosen.takes([item.name], item.title, item.source)]


def _properties(chosen: Filter) -> list[tuple[Property, list[str]]]:
    """Each with the protocols that have it; two protocols may have different properties of one name."""
    users: dict[Property, list[str]] = {}
    for protocol in PROTOCOLS.values():
        for item in properties_of(protocol).values():
            users.setdefault(item, []).append(protocol.name)
    users[DEADLOCK] = list(PROTOCOLS)
    return [(item, names) for item, names in users.items() if chosen.takes([item.name], item.promise)]


def _constants(chosen: Filter) -> list[tuple[Constant, list[str]]]:
    users: dict[Constant, list[str]] = {}
    for protocol in PROTOCOLS.values():
        for constant in protocol.constants:
            users.setdefault(constant, []).append(protocol.name)
    return [(item, names) for item, names in users.items() if chosen.takes([item.name], item.doc)]


def _findings(chosen: Filter) -> list[Finding]:
    known = read_findings((bundled_specs() / "found.json").read_text("utf-8"))
    return [one for one in known if chosen.takes([one.id], one.title, one.status, one.promise, one.releases)]


@cache
def _chosen_specs(chosen: Filter) -> list[Spec]:
    found = []
    for path in _paths():
        spec = load_spec(path, is_changed=True)  # What comes with acked is not judged once more.
        if chosen.takes([spec.name, full_name(path)], spec.title, spec.protocol.name):
            found.append(spec)
    return found


def names_with(what: str, words: tuple[str, ...]) -> list[str]:
    """The names of what has all words; `ConfigurationError` if nothing has."""
    found = names_in(what, Filter(words))
    if words and not found:
        raise ConfigurationError(f"nothing of {what} has {choices(words)} in it; `acked list {what} --names` has all names")
    return found


def names_in(what: str, chosen: Filter) -> list[str]:
    """The names alone, those of specs as `acked check` takes them; of a protocol its constants, actions and properties."""
    if what in PROTOCOLS:
        protocol = PROTOCOLS[what]
        parts = (protocol.constants, protocol.actions, properties_of(protocol).values())
        return [item.name for part in parts for item in part if chosen.takes([item.name], item.name)]
    if what == "specs" and not chosen.words:
        return [name_of(path) for path in _paths()]  # No spec is made for it: completion and scripts ask for this.
    if what == FOUND:
        return [one.id for one in _findings(chosen)]
    names: dict[str, Callable[[], Iterable[str]]] = {
        "protocols": lambda: (item.name for item in _protocols(chosen)),
        "invariants": lambda: dict.fromkeys(item.name for item, _ in _properties(chosen)),
        "constants": lambda: (item.name for item, _ in _constants(chosen)),
        "specs": lambda: (item.name for item in _chosen_specs(chosen)),
    }
    return [name for part, made in names.items() if what in (part, "all") for name in made()]


def listing_document(what: str, chosen: Filter = EVERYTHING) -> dict[str, Any]:
    """The listing as plain values for JSON."""
    played = broker_outcomes()
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "protocols": lambda: [_about_protocol(item) for item in _protocols(chosen)],
        "invariants": lambda: [_about_property(item, users) for item, users in _properties(chosen)],
        "constants": lambda: [
            {"name": item.name, "least": item.lo, "greatest": item.hi, "doc": item.doc, "protocols": users}
            for item, users in _constants(chosen)
        ],
        "specs": lambda: [_about_spec(spec, played.get(spec.name)) for spec in _chosen_specs(chosen)],
    }
    if what in PROTOCOLS:
        return _about_protocol(PROTOCOLS[what])
    if what == FOUND:
        return {FOUND: [asdict(one) for one in _findings(chosen)]}
    return {part: made() for part, made in parts.items() if what in (part, "all")}


def _about_protocol(protocol: Protocol) -> dict[str, Any]:
    return {
        "name": protocol.name,
        "title": protocol.title,
        "source": protocol.source,
        "constants": [constant.name for constant in protocol.constants],
        "actions": {item.name: item.doc for item in protocol.actions},
        "invariants": list(properties_of(protocol)),
    }


def _about_property(item: Property, users: list[str]) -> dict[str, Any]:
    return {
        "name": item.name,
        "kind": item.kind.value,
        "promise": item.promise,
        "source": item.source,
        "since": item.since,
        "protocols": users,
    }


def _about_spec(spec: Spec, brokers: str | None) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "protocol": spec.protocol.name,
        "constants": spec.constants,
        "expected": expected_of(spec),
        "slow": spec.slow,
        "brokers": brokers,
        "path": str(spec.path),
    }


def print_listing(console: Console, what: str, chosen: Filter) -> None:
    """The listing for people."""
    if what == FOUND:
        print_findings(console, _findings(chosen))
    if what in PROTOCOLS:
        print_protocols(console, [PROTOCOLS[what]])
    if what in ("protocols", "all"):
        print_protocols(console, _protocols(chosen))
    if what in ("constants", "all"):
        print_constants(console, _constants(chosen))
    if what in ("invariants", "all"):
        print_properties(console, _properties(chosen))
    if what in ("specs", "all"):
        print_specs(console, _chosen_specs(chosen), broker_outcomes())
