"""The lemmas of `partition`: they hold in all reachable states, and are inductive where docs/partition_proof.md says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from acked.checker.bounds import Bounds
from acked.checker.processes import Limits
from acked.checker.proof.induction import Options, prove_by_induction
from acked.checker.proof.result import ProofResult
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.lemmas import PARTITION_LEMMAS
from acked.invariants.property import Property
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from acked.model.partition.versions import LATEST
from tests.places import CHECKOUT

LIMITS = Limits(2, 300.0)
PROMISES = tuple(properties_of(partition)[name] for name in ("AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr"))
CLEAN: dict[str, Any] = {"acks": "all", "crashes": "clean", "retries": False, "idempotence": False}
STALE: dict[str, Any] = {"zombies": True, "leadership_moves": True}
HARDER: dict[str, Any] = {"retries": True, "idempotence": True, "crashes": "lossy outside the ISR"}
SMALL: dict[str, Any] = {"replicas": 2, "log_size": 1, "records": 1}
TWO: dict[str, Any] = {"replicas": 2, "log_size": 2, "records": 2}
THREE: dict[str, Any] = {"replicas": 3, "log_size": 1, "records": 1, "min_insync_replicas": 2}
PAGE = CHECKOUT / "docs" / "partition_proof.md"


def latest(*parts: dict[str, Any]) -> Instance:
    constants = {name: setting.value for name, setting in partition.profile(LATEST, None).items()}
    for part in (CLEAN, *parts):
        constants |= part
    return partition.instantiate(constants)


def attempt(lemmas: Sequence[Property], *parts: dict[str, Any]) -> ProofResult:
    return prove_by_induction(Question(latest(*parts), PROMISES), lemmas, LIMITS, Options(every_claim=True))


def broken(result: ProofResult) -> dict[str, set[str]]:
    """What each action breaks; all fields that leave their domain are one."""
    assert result.induction is not None
    return {
        action.name: {"domains" if name.endswith("domain") else name for name in action.broken}
        for action in result.induction.actions
    }


def told() -> dict[str, set[str]]:
    """What each action breaks without lemmas, as the page's table of actions has it."""
    lines = PAGE.read_text("utf-8").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("| action |"))
    rows: dict[str, set[str]] = {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        name, alone, _ = line.strip("| ").split(" | ")
        rows[name] = set(alone.split(", ")) - {"–"}
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((SMALL, STALE, HARDER), id="smallest"),
        pytest.param((TWO, STALE), id="stale leaders"),
        pytest.param((THREE,), id="three brokers"),
        pytest.param((TWO, STALE, HARDER), id="stale leaders, retries, lossy outside the ISR", marks=pytest.mark.long),
        pytest.param((THREE, {"leadership_moves": True}), id="three brokers, moves", marks=pytest.mark.long),
    ],
)
def test_every_lemma_holds_in_every_reachable_state(parts: tuple[dict[str, Any], ...]) -> None:
    question = Question(latest(*parts), (*PROMISES, *PARTITION_LEMMAS))
    result = search(question, Bounds(memory=4 << 30), StopPolicy.EVERY_PROPERTY)
    assert [item.property.name for item in result.violations] == []
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states > 10_000


@pytest.mark.parametrize("parts", [(SMALL,), (SMALL, STALE), (SMALL, STALE, HARDER)], ids=["crashes", "stale", "harder"])
def test_the_latest_release_keeps_its_promises_in_runs_of_any_length(parts: tuple[dict[str, Any], ...]) -> None:
    result = attempt(PARTITION_LEMMAS, *parts)
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert not any(action.never_fires for action in result.induction.actions)


def test_the_page_lists_what_each_action_breaks_without_lemmas() -> None:
    assert broken(attempt((), SMALL, STALE)) == told()
