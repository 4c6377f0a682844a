"""Which releases' promises are inductive with the lemmas of `partition`, as docs/partition_proof.md has it."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.processes import Limits
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.lemmas.catalogue import PARTITION_LEMMAS
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import VERSIONS, planes_of
from tests.places import CHECKOUT

PAGE = CHECKOUT / "docs" / "partition_proof.md"
PROMISES = tuple(properties_of(partition)[name] for name in ("AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr"))
SMALL: dict[str, Any] = {"replicas": 2, "log_size": 1, "records": 1, "acks": "all", "unclean_election": False}
PRODUCER: dict[str, Any] = {"retries": True, "idempotence": True, "delivery_timeout": True, "producer_restarts": 1}
FAULTS: tuple[dict[str, Any], ...] = (
    {"crashes": "clean"},
    {"crashes": "lossy outside the ISR"},
    {"crashes": "clean", "zombies": True},
    {"crashes": "clean", "leadership_moves": True},
)
"""What may go wrong, in the order of the table's columns."""


def rows() -> list[list[str]]:
    """The cells of the table: releases, control plane, and a column for each of the faults."""
    lines = PAGE.read_text("utf-8").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("| releases | control plane |"))
    end = next(at for at in range(begin, len(lines)) if not lines[at].startswith("|"))
    return [line.strip("| ").split(" | ") for line in lines[begin + 2 : end]]


def proved() -> list[tuple[str, str, int]]:
    """Release, control plane and column of everything that the table says is proved."""
    found = []
    for releases, plane, *cells in rows():
        first, _, last = releases.partition(" to ")
        named = VERSIONS[VERSIONS.index(first) : VERSIONS.index(last or first) + 1]
        found += [(version, plane, at) for version in named for at, cell in enumerate(cells) if cell == "proved"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "plane", "column"),
    [
        pytest.param(*item, marks=() if item == ("3.6", "kraft", 2) else pytest.mark.long)
        for item in proved()
    ],
)
def test_what_the_page_calls_proved_is_inductive(version: str, plane: str, column: int) -> None:
    profile = {name: setting.value for name, setting in partition.profile(version, plane).items()}
    instance = partition.instantiate({**profile, **SMALL, **PRODUCER, **FAULTS[column]})
    result = prove_by_induction(Question(instance, PROMISES), PARTITION_LEMMAS, Limits(2, 300.0), InductionOptions())
    assert result.verdict is Verdict.HOLDS


def test_the_page_names_every_release_and_control_plane_once() -> None:
    named = [(version, plane) for releases, plane, *_ in rows() for version in _between(releases)]
    assert sorted(named) == sorted((version, plane) for version in VERSIONS for plane in planes_of(version))
    assert all(len(row) == 2 + len(FAULTS) for row in rows())


def _between(releases: str) -> tuple[str, ...]:
    first, _, last = releases.partition(" to ")
    return VERSIONS[VERSIONS.index(first) : VERSIONS.index(last or first) + 1]
