"""Listings name everything that a spec may say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.reports.shell.specs import find_spec
from acked.reports.tables import listing
from acked.reports.tables.listing import (
    _configurations,
    print_constants,
    print_properties,
    print_protocols,
    print_specs,
)

Drawn = Callable[..., Any]


def is_taken(protocol: Protocol, constants: dict[str, int]) -> bool:
    """Whether the protocol does not refuse these very constants."""
    try:
        protocol.instantiate(constants)
    except ModelError:
        return False
    return True


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, pytest.param(100, marks=pytest.mark.long)])
def test_a_protocol_is_listed_with_constants_actions_and_guards(drawn: Drawn, width: int) -> None:
    screen = drawn(print_protocols, PROTOCOLS.values(), width=width)
    text = words(screen.text)
    for protocol in PROTOCOLS.values():
        assert f"{protocol.name} {protocol.title}" in text
        assert words(protocol.source) in text
    assert "max_leader_epoch 0..14: the last leader epoch; epochs count from 0" in text
    assert "LeaderWrite(leader) A producer's next record reaches a broker that presumes leadership." in text
    assert "enabled if: presumes leadership; a record is left; room in the log" in text
    assert max(map(len, screen.lines)) <= width


@pytest.mark.slow
def test_every_action_of_every_shipped_protocol_has_its_guards_listed_which_are_those_that_it_has_now() -> None:
    for protocol in PROTOCOLS.values():
        labels = listing.guard_labels(protocol)
        assert [item.name for item in protocol.actions if not labels.get(item.name)] == []
        assert labels == listing.traced_labels(protocol), "run tools/made.py"


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_one_binding_has_the_labels_of_all(protocol: Protocol) -> None:
    taken = [constants for constants in _configurations(protocol) if is_taken(protocol, constants)]
    assert taken
    for constants in taken[:2]:
        traced: dict[str, dict[str, None]] = {}
        for step in protocol.instantiate(constants).actions:
            traced.setdefault(step.action.name, {}).update(dict.fromkeys(guard.label for guard in step.guards))
        assert protocol.labels_under(constants) == {name: tuple(labels) for name, labels in traced.items()}


def test_a_property_is_listed_with_kind_promise_source_and_since(drawn: Drawn) -> None:
    shipped = properties_of(PROTOCOLS["kip320"]).values()
    text = words(drawn(print_properties, [(item, ["kip101", "kip320"]) for item in shipped]).text)
    for item in shipped:
        assert f"{item.name} {item.kind.value} {item.promise}" in text
        assert f"source {item.source} kept since {item.since} protocols kip101, kip320" in text


def test_a_constant_is_listed_with_range_meaning_and_users(drawn: Drawn) -> None:
    text = words(drawn(print_constants, [(PROTOCOLS["kip320"].constants[0], ["kip101", "kip320"])]).text)
    assert text == "replicas 1..12 brokers that hold a copy of the partition protocols kip101, kip320"


def test_a_spec_is_listed_with_what_it_expects_and_its_title_is_only_text(drawn: Drawn) -> None:
    shipped = find_spec("acks-1-loses")
    spec = replace(shipped, title="[bold]A[/bold]", version="3.6", given={"replicas": 3, "acks": "all"})
    text = words(drawn(print_specs, [spec], {}).text)
    settings = 'partition: version=3.6, replicas=3, acks="all"'
    assert text == f"acks-1-loses [bold]A[/bold] protocol {settings} expected violated AckedRecordsSurvive"
    played = {"acks-1-loses": "reproduced on 3.6.2, not on 3.9.1"}
    assert words(drawn(print_specs, [spec], played).text) == f"{text} real brokers reproduced on 3.6.2, not on 3.9.1"


def test_a_protocol_that_refuses_small_constants_is_still_listed(drawn: Drawn) -> None:
    base = PROTOCOLS["kip320"]
    huge = [Constant(item.name, item.hi, item.hi, item.doc) for item in base.constants]
    picky = Protocol(
        "picky", base.state, title="t", source="s", constants=huge, initial=base.initial, actions=base.actions
    )
    text = drawn(print_protocols, [picky]).text
    assert "LeaderWrite" in text
