"""The lemmas of `partition`: they hold in all reachable states, and are inductive where docs/partition_proof.md says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from acked.checker.bounds import Bounds
from acked.checker.processes import Limits
from acked.checker.proof.induction import InductionOptions, prove_by_induction
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
SMALL: dict[str, Any] = {**CLEAN, "replicas": 2, "log_size": 1, "records": 1}
PAGE = CHECKOUT / "docs" / "partition_proof.md"


def latest(**constants: Any) -> Instance:
    profile = {name: setting.value for name, setting in partition.profile(LATEST, None).items()}
    return partition.instantiate({**profile, **constants})


def attempt(lemmas: Sequence[Property], **constants: Any) -> ProofResult:
    return prove_by_induction(Question(latest(**constants), PROMISES), lemmas, LIMITS, InductionOptions(every_claim=True))


def broken(result: ProofResult) -> dict[str, set[str]]:
    """What each action breaks; all fields that leave their domain are one."""
    assert result.induction is not None
    return {
        action.name: {"domains" if name.endswith("domain") else name for name in action.broken}
        for action in result.induction.actions
    }


def told(column: int) -> dict[str, set[str]]:
    """A column of the page's table of actions."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    table = rows[2 : next(at for at, row in enumerate(rows) if row[0].startswith("lemma of"))]
    return {row[0]: set(row[column].split(", ")) - {"–", "proved"} for row in table}


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [{"replicas": 2, "log_size": 2, "records": 2}, {"replicas": 3, "log_size": 1, "records": 1, "min_insync_replicas": 2}],
    ids=str,
)
def test_every_lemma_holds_in_every_reachable_state(constants: dict[str, Any]) -> None:
    question = Question(latest(**CLEAN, **constants), PARTITION_LEMMAS)
    result = search(question, Bounds(memory=2 << 30), StopPolicy.EVERY_PROPERTY)
    assert [item.property.name for item in result.violations] == []
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states > 10_000


@pytest.mark.slow
def test_the_latest_release_keeps_its_promises_in_runs_of_any_length_if_crashes_lose_nothing() -> None:
    result = attempt(PARTITION_LEMMAS, **SMALL)
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert not any(action.never_fires for action in result.induction.actions)
    assert set(told(2)) >= {action.name for action in result.induction.actions}


def test_the_page_lists_what_each_action_breaks_without_lemmas() -> None:
    found = broken(attempt((), **SMALL))
    assert {name: told(1)[name] for name in found} == found


@pytest.mark.slow
def test_the_page_lists_what_is_open_where_leaders_may_be_stale() -> None:
    lemmas = [item for item in PARTITION_LEMMAS if item.name != "LeaderInOffice"]
    found = broken(attempt(lemmas, **SMALL, zombies=True, leadership_moves=True))
    assert found == told(3)


def test_a_stale_leader_breaks_what_the_proof_rests_on() -> None:
    for switch in ("zombies", "leadership_moves"):
        instance = latest(**SMALL, **{switch: True})
        result = search(Question(instance, PARTITION_LEMMAS), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
        assert [item.property.name for item in result.violations] == ["LeaderInOffice"]
