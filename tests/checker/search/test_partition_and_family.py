"""Partition with everything else off, beside the replication family: which rules keep the promise is the same."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.catalogue import FAMILY
from acked.model.language.quantify import every, implies
from acked.model.language.values import Bool
from acked.model.partition.common import presumes_leadership
from acked.model.partition.protocol import partition
from acked.model.partition.state import Offset, Replica, State

BARE: dict[str, Any] = {
    "acks": "1",
    "crashes": "none",
    "zombies": True,
    "leadership_moves": True,
    "asynchronous_isr": False,
    "eligible_leader_replicas": False,
    "strict_min_isr": False,
    "shrink_bumps_epoch": True,
}
"""The controller may take any broker for dead and move leadership at any time; nothing else goes wrong."""

OLD: dict[str, Any] = {"fetch_fencing": "none", "expand_in_own_epoch": False}

RULES: dict[str, dict[str, Any]] = {
    "truncate-to-hw": {"truncation": "high watermark", **OLD},
    "kip101": {"truncation": "leader epoch", "epoch_known_at_election": False, **OLD},
    "kip279": {"truncation": "floor epoch", **OLD},
    "kip320": {"truncation": "floor epoch", "fetch_fencing": "leader epoch"},
}


def strong_isr(s: State) -> Bool:
    """The family's StrongIsr: whoever presumes leadership agrees with the controller's ISR below its high watermark."""

    def agrees(leader: Replica) -> Bool:
        hw = s.broker[leader].hw
        return every(
            s.controller.isr,
            lambda r: every(Offset, lambda o: implies(o < hw, s.log[leader].same_record_at(s.log[r], o))),
        )

    return every(Replica, lambda leader: implies(presumes_leadership(s, leader), agrees(leader)))


STRONG_ISR = Property("StrongIsr", Kind.STATE, strong_isr, "as in the family", "the family", "kip320")


def verdict(question: Question) -> Verdict:
    return search(question, Bounds(workers=2)).verdict


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "replicas", "epochs"),
    [
        *((rules, 2, 1) for rules in RULES),
        # Kafka's follower falls back to its high watermark when it asks a leader that is behind; the family's never does.
        *((rules, 2, 2) for rules in RULES if rules != "kip279"),
        *((rules, 3, 2) for rules in RULES if rules != "kip320"),
        pytest.param("kip320", 3, 2, marks=pytest.mark.long),
    ],
)
def test_the_same_rules_keep_the_promise_in_both(rules: str, replicas: int, epochs: int) -> None:
    family = FAMILY[rules].instantiate(
        {"replicas": replicas, "log_size": 2, "max_records": 2, "max_leader_epoch": epochs}
    )
    ours = partition.instantiate(
        {"replicas": replicas, "log_size": 2, "records": 2, "max_leader_epoch": epochs, **BARE, **RULES[rules]}
    )
    expected = verdict(Question(family, (properties_of(FAMILY[rules])["StrongIsr"],)))
    assert expected is not Verdict.INCOMPLETE
    assert verdict(Question(ours, (STRONG_ISR,))) is expected
