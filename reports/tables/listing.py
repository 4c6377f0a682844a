"""What there is to check, for `acked list`: protocols, constants, properties, specs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, combinations, product
from pathlib import Path

from acked.checker.spec.spec import Spec
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.action import Action
from acked.model.language.context import Constant, Switch
from acked.model.language.protocol import Protocol
from acked.model.language.tracings import Tracings
from acked.reports.console import Console, put, put_paragraph

LABELS = Path(__file__).with_name("guard_labels.json")
"""By protocol and action: labels of guards, for which each protocol is traced under dozens of constants (`tools/made.py`)."""

_SMALL = 2
"""The value, where the range allows it, under which a protocol is instantiated to learn its guards' labels."""


def print_protocols(console: Console, protocols: Iterable[Protocol]) -> None:
    """Every protocol with its source, its constants and its actions with their guards."""
    for protocol in protocols:
        _entry(console, protocol.name, protocol.title)
        _fact(console, "source", protocol.source)
        _fact(console, "properties", ", ".join(properties_of(protocol)))
        for constant in protocol.constants:
            _fact(console, constant.name, f"{values_of(constant)}: {constant.doc}")
        labels = guard_labels(protocol)
        for item in protocol.actions:
            # With the names of the parameters, by which fairness is asked for.
            names = ", ".join(item.parameters())
            put_paragraph(console, f"{item.name}({names})" if names else item.name, "bold", "  ", "  ")
            doc = item.doc.strip().splitlines()
            if doc:
                put_paragraph(console, doc[0], "", "    ", "    ")
            if labels.get(item.name):
                put_paragraph(console, f"enabled if: {'; '.join(labels[item.name])}", "dim", "    ", "      ")
        put(console, [])


def values_of(constant: Constant) -> str:
    """The values that a spec may give a constant, and its default."""
    values = constant.range if constant.names or isinstance(constant, Switch) else f"{constant.lo}..{constant.hi}"
    return values if constant.default is None else f"{values} (default {spec_text(constant, constant.default)})"


def spec_text(constant: Constant, value: int) -> str:
    """A value as a spec file writes it."""
    return json.dumps(constant.show(value))


def print_profile(console: Console, protocol: Protocol, version: str | None, control_plane: str | None) -> None:
    """What a release of Kafka has for each constant, with the source; what it leaves to the spec has the default."""
    profile = protocol.profile(version, control_plane)
    _entry(console, protocol.name, f"version {version or 'latest'}" + (f" with {control_plane}" if control_plane else ""))
    for constant in protocol.constants:
        if constant.name in profile:
            setting = profile[constant.name]
            _fact(console, f"{constant.name} = {spec_text(constant, setting.value)}", setting.source)
    put(console, [])


def print_constants(console: Console, constants: Iterable[tuple[Constant, Sequence[str]]]) -> None:
    """Every constant with its range, its meaning and the protocols that have it."""
    for constant, users in constants:
        _entry(console, constant.name, values_of(constant))
        put_paragraph(console, constant.doc, "", "  ", "  ")
        _fact(console, "protocols", ", ".join(users))
        put(console, [])


def print_properties(console: Console, properties: Iterable[tuple[Property, Sequence[str]]]) -> None:
    """Every property with its kind, its promise, where it comes from and the protocols that have it."""
    for item, users in properties:
        _entry(console, item.name, item.kind.value)
        put_paragraph(console, item.promise, "", "  ", "  ")
        _fact(console, "source", item.source)
        _fact(console, "kept since", item.since)
        _fact(console, "protocols", ", ".join(users))
        put(console, [])


def print_specs(console: Console, specs: Iterable[Spec], on_brokers: Mapping[str, str]) -> None:
    """Every spec with its protocol, the verdict that it expects, and of constants those that its file names.

    `on_brokers` says by name of a spec what real brokers did with it, where it was played.
    """
    for spec in specs:
        _entry(console, spec.name, spec.title)
        settings = [f"{name}={json.dumps(value)}" for name, value in spec.given.items()]
        settings = [f"version={spec.version}", *settings] if spec.version else settings
        protocol = spec.protocol.name
        _fact(console, "protocol", f"{protocol}: {', '.join(settings)}" if settings else protocol)
        _fact(console, "expected", expected_of(spec) or "nothing")
        if spec.name in on_brokers:
            _fact(console, "real brokers", on_brokers[spec.name])
        put(console, [])


def expected_of(spec: Spec) -> str:
    """`violated AckedRecordsSurvive`; empty if nothing is expected."""
    return "" if spec.expect is None else " ".join([spec.expect.verdict.value, *spec.expect.violates])


def guard_labels(protocol: Protocol) -> dict[str, list[str]]:
    """The labels of every action's guard clauses, by action name; those of shipped protocols are kept."""
    kept = _kept().get(protocol.name)  # none of one that was just written
    return kept if kept is not None and PROTOCOLS[protocol.name] is protocol else traced_labels(protocol)


@cache
def _kept() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads(LABELS.read_text("utf-8"))
    return found


def traced_labels(protocol: Protocol) -> dict[str, list[str]]:
    """The labels by tracing a protocol under small constants; an action that these rule out has none."""
    labels: dict[str, list[str]] = {}
    tracings = Tracings()
    taken = []
    for constants in _configurations(protocol):
        asked = (constants, *_lowered(protocol, constants))
        taken.append(next((one for one in asked if _learn_labels(protocol, one, labels, tracings)), constants))
    tried = (taken, [*_configurations(protocol)])
    for action in protocol.actions:
        if not labels.get(action.name):
            turned = chain.from_iterable(_turn(protocol, some, number) for number in (1, 2) for some in tried)
            having = (constants for constants in turned if _has(protocol, constants, action))
            for constants in having:
                if _learn_labels(protocol, constants, labels, tracings) and labels.get(action.name):
                    break
    return labels


def _has(protocol: Protocol, constants: Mapping[str, int], action: Action) -> bool:
    try:
        return action in protocol.actions_under(constants)
    except ModelError:
        return False


def _learn_labels(
    protocol: Protocol, constants: Mapping[str, int], labels: dict[str, list[str]], tracings: Tracings
) -> bool:
    """Whether the protocol takes these constants; a listing must not fail because it refuses them."""
    try:
        learned = protocol.labels_under(constants, tracings)
    except ModelError:
        return False
    for name, under_these in learned.items():
        known = labels.setdefault(name, [])
        known += [label for label in under_these if label not in known]
    return True


def _configurations(protocol: Protocol) -> Iterator[dict[str, int]]:
    """Small constants; where settings add and remove actions, with every choice and every switch at least once."""
    choices = max((len(item.names) for item in protocol.constants), default=0)
    small = {item.name: min(max(_SMALL, item.lo), item.hi) for item in protocol.constants}
    if not choices:
        yield small
    for number, on in product(range(choices), (1, 0)):
        picked = {item.name: min(number, item.hi) for item in protocol.constants if item.names}
        switched = {item.name: on for item in protocol.constants if isinstance(item, Switch)}
        bounded = {item.name: max(item.default, on) for item in protocol.constants if item.default is not None}
        yield {**small, **bounded, **picked, **switched}


def _lowered(protocol: Protocol, constants: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The same with one bound as it is by default, the newest first, or without all that is not there by default.

    Some bounds exclude each other.
    """
    for item in reversed(protocol.constants):
        if not (item.names or isinstance(item, Switch) or item.default in (None, constants[item.name])):
            yield {**constants, item.name: item.default}
    yield {**constants, **{item.name: 0 for item in protocol.constants if item.default == 0 and not item.names}}


def _turn(protocol: Protocol, taken: Sequence[dict[str, int]], number: int) -> Iterator[dict[str, int]]:
    """Configurations with so many two-valued constants turned: some actions need one switch on and another off."""
    turnable = [item for item in protocol.constants if item.hi - item.lo == 1]
    for constants, chosen in product(taken, combinations(turnable, number)):
        yield {**constants, **{item.name: item.lo + item.hi - constants[item.name] for item in chosen}}


def _entry(console: Console, name: str, text: str) -> None:
    put_paragraph(console, f"{name}  {text}", "bold")


def _fact(console: Console, name: str, text: str) -> None:
    lead = f"  {name:<18}"
    if len(lead) > 20 or not lead.endswith(" "):
        put_paragraph(console, name, "", "  ", "  ")
        lead = " " * 20
    put_paragraph(console, text, "", lead, " " * 20)
