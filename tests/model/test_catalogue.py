"""Shipped protocols and their properties by name."""

import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from typing import TypeVar

import pytest

from acked.invariants.catalogue import properties_of
from acked.model.catalogue import FAMILY, PROTOCOLS
from acked.model.language.action import Action
from acked.model.language.context import Constant
from acked.model.partition.rules.versions import VERSIONS
from tests.places import CHECKOUT

PACKAGES = sorted({PROTOCOLS[name].state.__module__.rpartition(".")[0] for name in PROTOCOLS})
"""The packages of protocols, each with the state of its own."""
Named = TypeVar("Named", Action, Constant)


def defined_in(package: str, kind: type[Named]) -> Iterator[Named]:
    """What is defined at the top of a module of a package and is of a kind."""
    below = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    for module in (import_module(item.name) for item in below):
        yield from (value for value in vars(module).values() if isinstance(value, kind))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_action_and_constant_that_a_package_defines_is_one_of_its_protocols(package: str) -> None:
    protocols = [PROTOCOLS[name] for name in PROTOCOLS if PROTOCOLS[name].state.__module__.startswith(f"{package}.")]
    actions = {item.name for item in defined_in(package, Action)} - {item.name for one in protocols for item in one.actions}
    assert actions == set(), "the protocol is not given it, or its module, under actions="
    known = set(chain.from_iterable(one.constants for one in protocols))
    constants = {item.name for item in defined_in(package, Constant) if item not in known}
    assert constants == set(), "declare it above the line that ends its group, such as RULES = … or CONSTANTS = …"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_is_found_by_its_own_name_and_has_properties(name: str) -> None:
    assert PROTOCOLS[name].name == name
    assert properties_of(PROTOCOLS[name])


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_page_of_protocols_has_a_row_for_it(name: str) -> None:
    rows = [line for line in (CHECKOUT / "docs" / "protocols.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    assert any(f"`{name}`" in row.split("|")[1] for row in rows)


def test_an_unknown_protocol_is_in_no_catalogue() -> None:
    assert "paxos" not in PROTOCOLS
    assert PROTOCOLS.get("paxos") is None


def test_the_family_is_the_beginning_of_the_catalogue() -> None:
    assert list(PROTOCOLS)[: len(FAMILY)] == list(FAMILY)


@pytest.mark.parametrize("name", ["transactions", "delivery"])
def test_a_protocol_that_has_releases_knows_every_release_that_partition_knows(name: str) -> None:
    for version in VERSIONS[VERSIONS.index("0.11") :]:  # Transactions and idempotence came with 0.11.
        assert PROTOCOLS[name].profile(version, None)


def test_one_protocol_is_imported_without_the_others() -> None:
    code = (
        "import sys; from acked.invariants.catalogue import properties_of; from acked.model.catalogue import PROTOCOLS\n"
        "assert len(PROTOCOLS) > 2 and 'partition' in PROTOCOLS and properties_of(PROTOCOLS['majority'])\n"
        "print(*sorted({name.split('.')[2] for name in sys.modules if name.startswith('acked.model.')}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["catalogue", "formulas", "language", "majority", "ranks"]
