"""Reassignment beside the public TLA+ specification of KRaft 3.5 (github.com/Vanlightly/kafka-tlaplus).

What it says of a cluster with moves is asked of `partition` at its sizes: three brokers, one record, one move,
min.insync.replicas=2, one machine that dies, and no member that dies as the last of the ISR.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import wraps
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.language.action import Action, require
from acked.model.language.quantify import every, implies
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool
from acked.model.partition import failing
from acked.model.partition.common import is_true_leader
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import profile
from acked.model.partition.state import Offset, Replica, State

PROMISES = properties_of(partition)


def leader_has_controllers_isr(s: State) -> Bool:
    """The ISR of a leader in office, with what it has asked for, has every member of the controller's."""

    def maximal(r: Replica) -> SetValue[Replica]:
        return s.broker[r].isr | s.broker[r].pending

    return every(Replica, lambda r: implies(is_true_leader(s, r), s.controller.isr.issubset(maximal(r))))


QUORUM = Property(
    "QuorumSuperset", Kind.STATE, leader_has_controllers_isr, "a leader waits for the ISR", "the specification", "3.5"
)
THEIRS = {
    "LeaderCompletenessProperty": "AckedRecordsSurvive",
    "LeaderCandidateCompletenessProperty": "AckedRecordsInIsr",
    "LogMatchingProperty": "LogsAgreeBelowHw",
    "ConsistentReadProperty": "ReadsStay",
    "NoCommittedRecordLostGlobally": "AckedRecordsExist",
}
"""By their name ours, beside `QUORUM`, their ReplicationQuorumSupersetProperty. MetadataLogMatchingProperty is true of
`partition` as it is written, for there is one metadata log."""


def without_last_standing(crash: Action) -> Action:
    """The crash of a machine, but for the last member of the ISR (their AvoidLastReplicaStanding)."""

    @wraps(crash.function)
    def others_crash(s: State, broker: Replica, log_end: Offset, checkpoint: Offset) -> None:
        require("not the last one in sync", (log_end == s.log[broker].end) | ~s.controller.isr.is_only(broker))
        crash.function(s, broker, log_end, checkpoint)

    return replace(crash, function=others_crash)


def broken(last_dies: bool, **constants: Any) -> tuple[int, dict[str, int]]:
    """How many states there are by the rules of 3.5, and their properties that are violated, each with its steps."""
    crash = failing.crash if last_dies else without_last_standing(failing.crash)
    asked = copy(partition)
    asked.actions = tuple(crash if item is failing.crash else item for item in partition.actions)
    release = profile("3.5", "kraft")
    rules = {item.name: item.show(release[item.name].value) for item in partition.constants if item.name in release}
    plain = {
        "replicas": 3, "log_size": 1, "records": 1, "acks": "all", "retries": False, "idempotence": False,
        "unclean_election": False, "min_insync_replicas": 2, "crashes": "lossy", "lossy_crashes": 1, "consumer": "leader",
        "reassignment": True, "assigned": 3, "moves": 1,
    }  # fmt: skip
    made = asked.instantiate({**rules, **plain, **constants})
    question = Question(made, (*(PROMISES[name] for name in THEIRS.values()), QUORUM), is_symmetric=True)
    found = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    assert found.stopped is StopReason.COMPLETE
    return found.distinct_states, {item.property.name: item.trace_length - 1 for item in found.violations}


@pytest.mark.parametrize(
    "constants",
    [
        pytest.param({"assigned": 2, "moved_to": 2}, marks=pytest.mark.slow),
        pytest.param({}, marks=pytest.mark.long),
        pytest.param({"reassignment": False, "assigned": 0, "zombies": True}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_what_the_public_specification_says_of_moves_holds_here(constants: dict[str, Any]) -> None:
    states, violated = broken(last_dies=False, **constants)
    assert states > 100_000
    assert violated == {}


@pytest.mark.long
def test_where_the_last_in_sync_may_die_a_move_brings_the_loss_of_every_copy_nearer() -> None:
    _, without = broken(last_dies=True, reassignment=False, assigned=0)
    _, moving = broken(last_dies=True)
    assert set(THEIRS.values()) - set(moving) == {"LogsAgreeBelowHw"}
    assert (without["AckedRecordsExist"], moving["AckedRecordsExist"]) == (13, 8)
