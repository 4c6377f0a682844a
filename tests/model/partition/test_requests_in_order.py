"""One LeaderAndIsr request on its way from a controller to a broker, or two in order: what brokers and ZooKeeper come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.search.local import search
from acked.invariants.property import Kind
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from tests.model.partition.stored import columns_of
from tests.model.partition.test_controllers import PROMISES, instance

SPECS = Path(__file__).resolve().parents[3] / "specs"
FEW: dict[str, Any] = {"controllers": "many", "max_controller_epoch": 1, "max_leader_epoch": 2}
"""With bounds instead of ranks, which requests on their way would shift."""


def without_controllers(made: Instance, folder: Path) -> set[bytes]:
    """Every reachable state without what candidates know and send: logs, brokers, producer, and what ZooKeeper has."""
    question = Question(made, (PROMISES["IsrHasLeader"],))
    leaves = [leaf for leaf in made.schema.leaves if not leaf.name.startswith("candidate") and leaf.cardinality > 1]
    assert all(leaf.cardinality <= 256 for leaf in leaves)
    seen: set[bytes] = set()
    for columns in columns_of(question, folder, leaves):
        seen.update(row.tobytes() for row in np.unique(np.stack(list(columns.values()), 1), axis=0))
    return seen


def with_one_and_two(version: str, folder: Path, **constants: Any) -> tuple[set[bytes], set[bytes]]:
    one, two = (
        without_controllers(instance(version, **{**FEW, **constants}, requests_queued=number), folder / str(number))
        for number in (1, 2)
    )
    return one, two


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "constants"),
    [
        ("3.9", {"candidates": 1, "crashes": "clean", "leadership_moves": True}),
        pytest.param("2.6", {"crashes": "clean"}, marks=pytest.mark.long),
        pytest.param("3.9", {"crashes": "clean", "leadership_moves": True}, marks=pytest.mark.long),
        pytest.param("3.9", {"zombies": True}, marks=pytest.mark.long),
        pytest.param(
            "2.6", {"candidates": 1, "replicas": 3, "leadership_moves": True, "max_leader_epoch": 3}, marks=pytest.mark.long
        ),
    ],
    ids=str,
)
def test_where_fetches_name_their_epoch_a_second_request_brings_nothing_new(
    version: str, constants: dict[str, Any], tmp_path: Path
) -> None:
    one, two = with_one_and_two(version, tmp_path, **constants)
    assert not two - one
    assert len(two) > 1000


@pytest.mark.slow
def test_where_a_fetch_need_not_name_its_epoch_it_does(tmp_path: Path) -> None:
    # A broker that is behind answers one that is ahead, and takes an older request afterwards.
    one, two = with_one_and_two("2.2", tmp_path, candidates=1, leadership_moves=True)
    assert two - one


ASKED = tuple(item for item in PROMISES.values() if item.kind in (Kind.STATE, Kind.STEP))


def broken(name: str, number: int) -> dict[str, int]:
    """The promises that a spec's setting breaks with so many requests on their way, each with its shortest trace."""
    spec = load_spec(name)
    constants = {**spec.constants, "requests_queued": number}
    made = partition.instantiate({item.name: item.show(constants[item.name]) for item in partition.constants})
    asked = tuple(item for item in ASKED if not item.lacks or not item.lacks(constants))
    found = search(Question(made, asked, is_symmetric=True), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    assert found.stopped is StopReason.COMPLETE
    return {item.property.name: item.trace_length for item in found.violations}


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "claims/new-leader-from-isr", "gallery/kafka14154-bug", "gallery/kafka14154-latest", "gallery/kafka2729-fix",
        "gallery/kafka2729-latest", "gallery/kip380-leader-fix", "gallery/kip380-leader-latest", "gallery/kip380-stop-fix",
    ],
)  # fmt: skip
def test_a_second_request_breaks_no_other_promise_and_none_sooner(name: str) -> None:
    assert broken(name, 2) == broken(name, 1)
