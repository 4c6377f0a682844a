"""Shipped protocols and their properties by name."""

import subprocess
import sys

import pytest

from acked.invariants.catalogue import properties_of
from acked.model.catalogue import FAMILY, PROTOCOLS
from acked.model.partition.rules.versions import VERSIONS


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_is_found_by_its_own_name_and_has_properties(name: str) -> None:
    assert PROTOCOLS[name].name == name
    assert properties_of(PROTOCOLS[name])


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
    assert ran.stdout.split() == ["catalogue", "formulas", "language", "majority"]
