"""Negative controls: every promise can be broken, and every clause of kip320's guards is known to be needed or not.

What happens when a guard clause is left out, clause by clause, and the one promise that no clause protects.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import Bounds, search
from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import specs_under
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import DomainOverflow
from acked.model.language.action import require
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.quantify import ite
from acked.model.replication.common import CONTROL_AND_WRITE, is_sent, take_up_request
from acked.model.replication.state import CONSTANTS, Epoch, Replica, State, initial
from tests.places import SPECS
from tests.shipped import shipped

CONTROLS = specs_under(SPECS / "controls")
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
MEMORY = 1 << 30
Clause = tuple[str, str]

OVERFLOWS = {
    # Without these an action assigns what its field cannot hold: the search refuses to go on.
    ("ControllerElectLeader", "a leader epoch is left"),
    ("ControllerShrinkIsr", "a leader epoch is left"),
    ("LeaderWrite", "presumes leadership"),
    ("LeaderWrite", "a record is left"),
    ("FencedLeaderIncHighWatermark", "leader holds the offset"),
}

IMPLIED = {
    # Without these not one state more or less is reached: other clauses say the same, or the step changes nothing.
    ("BecomeLeader", "request was sent"),
    ("LeaderWrite", "room in the log"),
    ("FencedLeaderShrinkIsr", "in the ISR"),
    ("FencedLeaderShrinkIsr", "not the leader itself"),
    ("FencedLeaderShrinkIsr", "in another epoch or lagging"),
    ("FencedLeaderExpandIsr", "outside the ISR"),
    ("FencedBecomeFollowerAndTruncate", "leader presumes leadership"),
    ("FencedBecomeFollowerAndTruncate", "another replica leads"),
    ("FencedBecomeFollowerAndTruncate", "request was sent"),
    ("FencedBecomeFollowerAndTruncate", "request names this leader"),
    ("FencedBecomeFollowerAndTruncate", "truncation point within the log"),
    ("FencedFollowerFetch", "room in the follower's log"),
}

HARMLESS = {
    # Without these more states are reached, and every promise holds in all of them up to (3, 2, 2, 2).
    ("ControllerElectLeader", "not the leader already"),
    ("ControllerShrinkIsr", "leads or is in the ISR"),
}


def weakened(protocol: str, size: tuple[int, ...], *drop: Clause) -> Instance:
    return PROTOCOLS[protocol].instantiate(dict(zip(NAMES, size, strict=True)), drop)


def every_promise(instance: Instance) -> Question:
    return Question(instance, tuple(properties_of(instance.protocol).values()))


def controls_of(protocol: str) -> list[Spec]:
    return [spec for spec in map(load_spec, CONTROLS) if spec.protocol.name == protocol]


def kip320_clauses() -> set[Clause]:
    instance = weakened("kip320", (2, 2, 2, 1))
    return {(step.action.name, guard.label) for step in instance.actions for guard in step.guards}


def test_every_clause_of_kip320_is_needed_or_known_not_to_be() -> None:
    needed = {clause for spec in controls_of("kip320") if len(spec.drop) == 1 for clause in spec.drop}
    assert needed | OVERFLOWS | IMPLIED | HARMLESS == kip320_clauses()
    assert len(needed) + len(OVERFLOWS) + len(IMPLIED) + len(HARMLESS) == len(kip320_clauses())


@pytest.mark.parametrize("clause", sorted(OVERFLOWS), ids=": ".join)
def test_a_clause_that_keeps_fields_in_their_domains_is_missed_at_once(clause: Clause) -> None:
    question = every_promise(weakened("kip320", (2, 2, 2, 1), clause))
    with pytest.raises(DomainOverflow, match=rf"{clause[0]}\(.*outside its domain"):
        search(question, Bounds(1, MEMORY), StopPolicy.EVERY_PROPERTY)


@cache
def levels_of_the_whole(size: tuple[int, ...]) -> tuple[int, ...]:
    """How many states are new on each level when no clause is left out."""
    return search(every_promise(weakened("kip320", size)), Bounds(1, MEMORY)).level_sizes


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("size", [(2, 2, 2, 2), (3, 2, 2, 1)], ids=lambda size: "".join(map(str, size)))
@pytest.mark.parametrize("clause", sorted(IMPLIED), ids=": ".join)
def test_a_clause_that_others_imply_changes_no_state(clause: Clause, size: tuple[int, ...]) -> None:
    result = search(every_promise(weakened("kip320", size, clause)), Bounds(1, MEMORY))
    assert result.verdict is Verdict.HOLDS
    assert result.level_sizes == levels_of_the_whole(size)


@pytest.mark.slow
@pytest.mark.parametrize("clause", sorted(HARMLESS), ids=": ".join)
def test_a_clause_without_which_every_promise_holds_is_no_promise_s_guard(clause: Clause) -> None:
    result = search(every_promise(weakened("kip320", (3, 2, 2, 2), clause)), Bounds(2, MEMORY))
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states > 737_794


@pytest.mark.long  # Above are three brokers, and three epochs; this is both.
@pytest.mark.parametrize("clause", sorted(IMPLIED), ids=": ".join)
def test_a_clause_that_others_imply_changes_no_state_with_three_brokers_and_epochs(clause: Clause) -> None:
    result = search(every_promise(weakened("kip320", (3, 2, 2, 2), clause)), Bounds(2, MEMORY))
    assert (result.verdict, result.distinct_states, result.depth) == (Verdict.HOLDS, 737_794, 26)


@pytest.mark.sampled(7)
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    # The one that takes 20 s of a processor without its weakening, up to renaming, is asked by `make test-long`.
    [pytest.param(path, marks=[pytest.mark.long] if path.stem == "voter-change-first" else []) for path in CONTROLS],
    ids=lambda path: path.stem,
)
def test_a_control_is_violated_only_because_of_what_it_drops(path: Path) -> None:
    spec = load_spec(path)
    assert spec.drop
    assert spec.expect is not None
    assert spec.expect.verdict is Verdict.VIOLATED
    assert [item.name for item in spec.properties] == list(spec.expect.violates)
    whole = Question(spec.protocol.instantiate(spec.constants), spec.properties, is_symmetric=spec.question().is_symmetric)
    assert search(whole, Bounds(2, MEMORY)).verdict is Verdict.HOLDS


# -- the promise that no clause protects -------------------------------------------------------------------------------


def forgetful_controller() -> Protocol:
    """kip320's beginnings under a controller that, once out of epochs, uses the last one again."""
    protocol = Protocol(
        "forgetful",
        State,
        title="the controller uses its last leader epoch twice",
        source="negative control of OneLeaderPerEpoch",
        constants=CONSTANTS,
        initial=initial,
        actions=[item for item in CONTROL_AND_WRITE if item.name == "ControllerElectLeader"],
    )

    @protocol.action()
    def reelect(s: State, replica: Replica, epoch: Epoch) -> None:
        """The controller sends a request with an epoch that it has used before."""
        require("used before", is_sent(s, epoch))
        require("another leader", s.requests[epoch].leader != replica)
        s.quorum.leader = s.requests[epoch].leader = replica
        s.quorum.leader_epoch = epoch

    @protocol.action()
    def become_leader(s: State, leader: Replica, epoch: Epoch) -> None:
        """As in the family."""
        require("request was sent", is_sent(s, epoch))
        require("request names this leader", s.requests[epoch].leader == leader)
        require("newer leader epoch", s.replica[leader].leader_epoch < epoch)
        take_up_request(s, leader, epoch)

    return protocol


def promise(name: str) -> Property:
    return properties_of(PROTOCOLS["kip320"])[name]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_controller_that_uses_an_epoch_twice_breaks_one_leader_per_epoch(workers: int) -> None:
    instance = forgetful_controller().instantiate(dict(zip(NAMES, (2, 1, 1, 0), strict=True)))
    result = search(Question(instance, (promise("OneLeaderPerEpoch"),)), Bounds(workers, MEMORY))
    assert [(item.property.name, item.trace_length) for item in result.violations] == [("OneLeaderPerEpoch", 5)]
    assert [step.label for step in result.violations[0].run.actions] == [
        "ControllerElectLeader(replica=1)",
        "BecomeLeader(leader=1, epoch=0)",
        "Reelect(replica=0, epoch=0)",
        "BecomeLeader(leader=0, epoch=0)",
    ]


def unambitious_quorum() -> Protocol:
    """A controller that falls back to an earlier leader epoch."""
    protocol = Protocol(
        "fallback",
        State,
        title="the quorum's leader epoch falls",
        source="negative control of LeaderEpochsOnlyGrow",
        constants=CONSTANTS,
        initial=initial,
        actions=[item for item in CONTROL_AND_WRITE if item.name == "ControllerElectLeader"],
    )

    @protocol.action()
    def fall_back(s: State) -> None:
        """Back to the epoch before the last."""
        require("two epochs were used", s.next_leader_epoch > 1)
        s.quorum.leader_epoch = ite(s.next_leader_epoch > 1, s.next_leader_epoch - 2, s.next_leader_epoch)

    return protocol


def test_a_quorum_whose_epoch_falls_breaks_that_epochs_only_grow() -> None:
    instance = unambitious_quorum().instantiate(dict(zip(NAMES, (2, 1, 1, 1), strict=True)))
    result = search(Question(instance, (promise("LeaderEpochsOnlyGrow"),)), Bounds(1, MEMORY), StopPolicy.EVERY_PROPERTY)
    assert [(item.property.name, item.trace_length) for item in result.violations] == [("LeaderEpochsOnlyGrow", 4)]


@pytest.mark.slow
def test_every_promise_of_the_family_is_violated_somewhere() -> None:
    promises = set(properties_of(PROTOCOLS["kip320"]))
    specs = [spec for spec in shipped() if set(properties_of(spec.protocol)) == promises]
    broken = {name for spec in specs if spec.expect for name in spec.expect.violates if name in properties_of(spec.protocol)}
    assert broken | {"OneLeaderPerEpoch"} == promises
