"""A protocol with a rule that is weaker is refused, by a step of a small instance that breaks the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acked.checker.allconstants.lemma_search import FIRST_EFFORT, CoreSearch, LemmaProcess
from acked.checker.allconstants.proof import covering_argument
from acked.checker.allconstants.small_instances import SmallInstance
from acked.checker.solver.lemma_sets import StepCounterexample
from acked.checker.solver.tasks import FirstOrderProblem, ObligationAnswer, ObligationTask
from acked.model.formulas.errors import ModelError
from acked.model.language.action import Action, require
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every
from acked.model.partition.protocol import partition
from acked.model.replication.common import (
    become_follower,
    follows,
    follows_in_epoch,
    matching_point,
    presumes_leadership,
    replicate,
    require_newer_request,
    take_up_request,
)
from acked.model.replication.kip320 import kip320
from acked.model.replication.state import Epoch, Replica, State
from tests.checker.allconstants.test_allconstants import ASKED, SHIPPED, obligations
from tests.proofs.few import prover_of

pytestmark = pytest.mark.slow


def replaced(name: str, function: Callable[..., None]) -> Protocol:
    """KIP-320 with one action's rules replaced."""
    actions = tuple(
        Action(item.name, function, None, "", item.file, item.line) if item.name == name else item for item in kip320.actions
    )
    assert actions != kip320.actions
    return Protocol(
        "weakened", State, title="", source="", constants=kip320.constants, initial=kip320.initial, actions=actions
    )


def hw_of_any_epoch(s: State, leader: Replica) -> None:
    hw = s.replica[leader].hw
    require("leader holds the offset", s.log[leader].has(hw))

    def counts(f: Replica) -> Any:
        return presumes_leadership(s, leader) & follows(s, leader, f) & s.log[f].has(hw)

    require("every ISR member follows and holds the offset", every(s.replica[leader].isr, counts))
    s.replica[leader].hw = hw + 1


def hw_without_followers(s: State, leader: Replica) -> None:
    hw = s.replica[leader].hw
    require("presumes leadership", presumes_leadership(s, leader))
    require("leader holds the offset", s.log[leader].has(hw))
    require("every ISR member holds the offset", every(s.replica[leader].isr, lambda f: s.log[f].has(hw)))
    s.replica[leader].hw = hw + 1


def follow_without_truncation(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    require("leader presumes leadership", presumes_leadership(s, leader))
    require("leader is in the request's epoch", s.replica[leader].leader_epoch == epoch)
    require_newer_request(s, leader, replica, epoch)
    take_up_request(s, replica, epoch)


def follow_a_leader_to_be(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    become_follower(s, leader, replica, epoch, truncate_to=matching_point(s, leader, replica))


def fetch_across_epochs(s: State, follower: Replica, leader: Replica) -> None:
    require("follows", presumes_leadership(s, leader) & follows(s, leader, follower))
    replicate(s, follower, leader)


def expand_before_hw_in_epoch(s: State, leader: Replica, follower: Replica) -> None:
    from acked.model.replication.common import has_reached, leader_update

    require("outside the ISR", ~s.replica[leader].isr.contains(follower))
    require("follows in this epoch", follows_in_epoch(s, leader, follower))
    require("caught up to HW", has_reached(s, follower, s.replica[leader].hw))
    leader_update(s, leader, s.replica[leader].isr.add(follower))


WEAKENED = [
    ("FencedLeaderIncHighWatermark", hw_without_followers, "WeakIsr"),
    ("FencedLeaderIncHighWatermark", hw_of_any_epoch, "StrongIsr"),
    ("FencedBecomeFollowerAndTruncate", follow_without_truncation, "FollowerPrefix"),
    ("FencedLeaderExpandIsr", expand_before_hw_in_epoch, "CommitQuorum"),
    ("FencedFollowerFetch", fetch_across_epochs, "LogMatching"),
    ("FencedBecomeFollowerAndTruncate", follow_a_leader_to_be, "LeaderFirst"),
]
OTHERWISE = (hw_of_any_epoch, follow_a_leader_to_be)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("action", "function", "broken"),
    [
        # One for each action; the others weaken the same action otherwise.
        pytest.param(*item, id=item[1].__name__, marks=[pytest.mark.long] if item[1] in OTHERWISE else [])
        for item in WEAKENED
    ],
)
def test_a_weakened_protocol_is_refused_with_a_step_of_a_small_instance(
    action: str, function: Callable[..., None], broken: str
) -> None:
    weakened = prover_of(obligations(replaced(action, function)), [f"{action}|{broken}"])
    [obligation] = weakened.obligations.all
    assert weakened.solve(obligation, SHIPPED.cores[obligation.key].lemmas, FIRST_EFFORT) is None
    found = CoreSearch(weakened).find(obligation, suspect=True)
    assert isinstance(found, StepCounterexample)
    assert found.breaks == broken
    assert found.step.startswith(action)


def test_a_dropped_clause_is_missed_where_the_argument_needs_it() -> None:
    action = "FencedFollowerFetch"
    engine = LemmaProcess(FirstOrderProblem("kip320", ((action, "follows in this epoch"),), asked=ASKED["kip320"]), 600.0)
    keys = [item.key for item in engine._obligations.all]
    for clause, proved in (("RecordEpoch", False), ("LogMatching", False), ("IsrHasLeader", True)):
        core = SHIPPED.cores[f"{action}|{clause}"]
        task = ObligationTask(keys.index(f"{action}|{clause}"), core.lemmas, core.way, FIRST_EFFORT, True, suspect=True)
        answer = engine.answer(task, lambda _: None)
        assert isinstance(answer, ObligationAnswer)
        assert answer.is_proved is proved
        assert proved or (answer.counterexample is not None and answer.counterexample.step.startswith(action))


def test_fetches_that_name_no_epoch_are_not_covered() -> None:
    """From 3.5.1 to 3.6.2 (KAFKA-15510) the lemmas about followers' logs are not so where a fetch names no epoch."""
    faults = {"crashes": "lossy", "unnoticed_restarts": True}
    for version in ("3.5.1", "3.6"):
        profile = {name: setting.value for name, setting in partition.profile(version, "kraft").items()}
        with pytest.raises(ModelError, match=r"the rules of 3\.5\.1 to 3\.6\.2 \(fetched_epoch_kept\)"):
            covering_argument(partition, partition.bind({**profile, **faults}))
    for version, more in (("3.6", {}), ("3.7", faults)):
        profile = {name: setting.value for name, setting in partition.profile(version, "kraft").items()}
        assert covering_argument(partition, partition.bind({**profile, **more})).goals


@pytest.mark.parametrize(
    ("clause", "sentence"),
    [
        (("FencedFollowerFetch", "follows"), "action FencedFollowerFetch has no clause 'follows'; it has 'follows in this"),
        (("Fetch", "follows in this epoch"), "kip320 has no action 'Fetch' to drop a clause of; it has Controller"),
    ],
)
def test_a_dropped_clause_that_there_is_not_is_an_error(clause: tuple[str, str], sentence: str) -> None:
    """What is left out would otherwise be nothing, and what is proved another protocol than was meant."""
    with pytest.raises(ModelError, match=sentence):
        obligations(kip320, [("FencedFollowerFetch", "follows in this epoch"), clause])


def test_an_action_that_can_never_happen_is_vacuous() -> None:
    def never(s: State, leader: Replica) -> None:
        require("cannot be", (s.log[leader].end < 1) & (s.log[leader].end > 1))
        s.replica[leader].hw = 0

    small = SmallInstance(replaced("LeaderWrite", never), {item.name: 2 for item in kip320.constants}, ())
    assert small.can_fire("LeaderWrite") is False
    assert small.can_fire("BecomeLeader") is True
