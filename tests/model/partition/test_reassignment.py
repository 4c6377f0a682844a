"""Reassignment, held against an enumeration that shares nothing with it, and what it leaves alone when it is off."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.allconstants.proof import prove_all_constants
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from acked.model.partition.rules.settings import ADDED_IN_SYNC, ALL_IN_SYNC, ALL_IN_SYNC_IF_FEWER
from acked.model.partition.rules.versions import profile
from tests.model.partition.enumeration import Rules, explore
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly

PROMISES = properties_of(partition)
COMPARED = (
    "AckedRecordsSurvive", "AckedRecordsInIsr", "AckedRecordsExist", "IsrWithinReplicas", "LeaderIsReplica",
    "EligibleAreReplicas", "LastAskedCounts", "MovesEndInSync",
)  # fmt: skip


def instance(**constants: Any) -> Instance:
    """One record sent once, and no high watermark that waits for a follower outside the ISR."""
    plain = {"log_size": 1, "records": 1, "acks": "all", "retries": False, "idempotence": False,
             "hw_waits_for_caught_up": False, "reassignment": True}  # fmt: skip
    return partition.instantiate({**plain, **constants})


def of_rules(rules: Rules) -> Instance:
    constants = asdict(rules)
    constants["crashes"] = "clean" if rules.crashes else "none"
    return instance(**constants)


def answer(rules: Rules) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and by promise that is broken after how many steps it is so first."""
    made = of_rules(rules)
    asked = tuple(PROMISES[name] for name in COMPARED if not PROMISES[name].lacks or not PROMISES[name].lacks(made.constants))
    result = search(Question(made, asked), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    return result.distinct_states, {item.property.name: item.trace_length - 1 for item in result.violations}


QUICK = [Rules(), Rules(assigned=2, moved_to=0, moves=2, eligible_leader_replicas=True, min_insync_replicas=2)]
MORE = [
    Rules(moved_to=0, crashes=True, move_completion="added in sync"),
    Rules(assigned=2, crashes=True, eligible_leader_replicas=True, min_insync_replicas=2),
    Rules(replicas=3, assigned=2, moved_to=2, min_insync_replicas=2, move_completion="added in sync"),
    Rules(replicas=3, assigned=2, moved_to=2, min_insync_replicas=2, move_completion="all in sync if fewer"),
    Rules(moved_to=0, unclean_election=True, leadership_moves=True),
    Rules(crashes=True, unclean_election=True, leadership_moves=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in MORE)], ids=str)
def test_states_and_verdicts_are_those_of_an_enumeration_written_from_the_facts(rules: Rules) -> None:
    assert answer(rules) == explore(rules)


def test_the_plain_evaluator_finds_the_same_states_and_traces() -> None:
    made = of_rules(Rules(unclean_election=True))
    question = Question(made, (PROMISES["AckedRecordsSurvive"], PROMISES["MovesEndInSync"]))
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY), expected)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"eligible_leader_replicas": True}, {"zombies": True, "crashes": "none"}], ids=str)
def test_where_nobody_can_be_asked_for_the_states_are_those_without_reassignment(more: dict[str, Any]) -> None:
    def states(**constants: Any) -> tuple[int, int, list[int]]:
        made = instance(replicas=2, min_insync_replicas=2, **more, **constants)
        found = search(Question(made, (PROMISES["AckedRecordsSurvive"],)), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
        return found.distinct_states, found.generated_states, list(found.level_sizes)

    assert states(reassignment=True, moved_to=3) == states(reassignment=False)


@pytest.mark.slow
def test_a_broker_that_nobody_moves_to_makes_no_more_states_up_to_the_names_of_brokers() -> None:
    # Where a set is left that only one of two brokers may be in, masks of it were forms that no renaming led to.
    def states(brokers: int) -> tuple[int, list[int]]:
        made = instance(replicas=brokers, assigned=1, moved_to=1)
        question = Question(made, (PROMISES["AckedRecordsSurvive"],), is_symmetric=True)
        found = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
        return found.distinct_states, list(found.level_sizes)

    assert states(2) == states(3)


def test_rules_of_completion_by_release() -> None:
    def rule(version: str, plane: str | None = None) -> object:
        return profile(version, plane)["move_completion"].value

    kraft = [rule(version, "kraft") for version in ("3.7", "3.8", "4.2", "4.3", "latest")]
    assert kraft == [ADDED_IN_SYNC, ALL_IN_SYNC, ALL_IN_SYNC, ALL_IN_SYNC_IF_FEWER, ALL_IN_SYNC_IF_FEWER]
    assert rule("3.7", "zookeeper") == ALL_IN_SYNC


def test_the_argument_for_all_constants_refuses_what_it_does_not_cover() -> None:
    refused = (
        ({"moves": 0}, "reassignment: with eligible leader replicas and moves other than 1"),
        ({"moves_in_one_record": 0}, "reassignment: its lemmas take each change of assignment"),
        ({"moved_to": 2}, "moved_to: how many brokers an assignment has is open"),
    )
    for given, why in refused:
        with pytest.raises(ModelError, match=f"does not cover {why}"):
            prove_all_constants(partition, Limits(jobs=1, timeout=60), constants={"reassignment": 1, **given})
    with pytest.raises(ModelError, match="does not cover empty_disks: its lemmas take for granted that whoever"):
        prove_all_constants(partition, Limits(jobs=1, timeout=60), constants={"empty_disks": 1, "crashes": "clean"})
