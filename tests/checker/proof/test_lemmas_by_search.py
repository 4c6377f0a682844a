"""What the proof of KIP-320 says of all states, held against every reachable state by explicit search."""

from __future__ import annotations

import json

import pytest

from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import Bounds, search
from acked.invariants.property import Kind, Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.model.replication.kip320 import kip320
from tests.places import DATA

NAMES = tuple(item.name for item in kip320.constants)
COUNTS = json.loads((DATA / "state_counts.json").read_text("utf-8"))
INSTANCES = [(tuple(row[name] for name in NAMES), row["distinct_states"]) for row in COUNTS if row["protocol"] == "kip320"]
LARGE = 100_000


def cases() -> list[object]:
    """Every instance with a published count, the larger ones marked as slow."""
    return [
        pytest.param(numbers, count, id=str(numbers), marks=[pytest.mark.slow] if count > LARGE else [])
        for numbers, count in INSTANCES
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("numbers", "count"), cases())
def test_every_lemma_holds_in_every_reachable_state(numbers: tuple[int, ...], count: int) -> None:
    asked = Question(kip320.instantiate(dict(zip(NAMES, numbers, strict=True))), KIP320_LEMMAS)
    result = search(asked, Bounds(memory=2 << 30))
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states == count


def test_a_lemma_that_does_not_hold_would_be_found() -> None:
    assert len(INSTANCES) == 6
    wrong = Property("NeverElected", Kind.STATE, lambda s: s.quorum.leader.is_none, "wrong on purpose", "this test", "")
    asked = Question(kip320.instantiate(dict(zip(NAMES, INSTANCES[0][0], strict=True))), (*KIP320_LEMMAS, wrong))
    result = search(asked, Bounds(memory=2 << 30))
    assert [item.property.name for item in result.violations] == ["NeverElected"]
