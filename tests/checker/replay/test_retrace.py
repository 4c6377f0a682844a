"""Given states are followed step by step; the first that is no step is named with what forbids it."""

from __future__ import annotations

import pytest

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.checker.replay.retrace import StepHint, retrace, under
from acked.checker.search.local import Bounds, search
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Instance

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


@pytest.fixture(scope="module")
def lost() -> tuple[Instance, Run]:
    """truncate-to-hw's shortest run against WeakIsr: nine states, the last step truncates."""
    protocol = PROTOCOLS["truncate-to-hw"]
    question = Question(protocol.instantiate(SMALL), (properties_of(protocol)["WeakIsr"],))
    result = search(question, Bounds(workers=1))
    return question.instance, result.violations[0].run


def test_states_alone_lead_back_to_a_run_through_them(lost: tuple[Instance, Run]) -> None:
    instance, run = lost
    found = retrace(instance, run.states)
    assert found.blocked is None
    assert found.run.states == run.states
    assert [step.action.name for step in found.run.actions] == [step.action.name for step in run.actions]


def test_other_rules_refuse_the_step_with_the_clause_that_forbids_it(lost: tuple[Instance, Run]) -> None:
    instance, run = lost
    found = under(PROTOCOLS["kip320"].instantiate(SMALL), instance, run)
    assert found.blocked is not None
    assert found.blocked.index == 8
    assert found.blocked.step is not None
    assert found.blocked.step.label == "FencedBecomeFollowerAndTruncate(leader=0, replica=1, epoch=1)"
    assert [clause.label for clause in found.blocked.clauses] == ["leader is in the request's epoch"]
    assert len(found.run.states) == 8


def test_other_rules_that_lead_elsewhere_say_where(lost: tuple[Instance, Run]) -> None:
    instance, run = lost
    found = under(PROTOCOLS["kip101"].instantiate(SMALL), instance, run)
    assert found.blocked is not None
    assert found.blocked.clauses == ()
    assert found.blocked.elsewhere == (("log[1].end", 1, 0),)


def test_a_dropped_clause_is_what_the_whole_rules_name() -> None:
    protocol = PROTOCOLS["kip320"]
    constants = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
    clause = ("FencedLeaderExpandIsr", "follows in this epoch")
    question = Question(protocol.instantiate(constants, [clause]), (properties_of(protocol)["WeakIsr"],))
    run = search(question, Bounds(workers=1)).violations[0].run
    found = under(protocol.instantiate(constants), question.instance, run)
    assert found.blocked is not None
    assert found.blocked.step is not None
    assert (found.blocked.step.action.name, [item.label for item in found.blocked.clauses]) == (clause[0], [clause[1]])


def test_a_first_state_that_is_not_initial_hinders_at_once(lost: tuple[Instance, Run]) -> None:
    instance, run = lost
    found = retrace(instance, run.states[1:])
    assert found.blocked is not None
    assert (found.blocked.index, found.blocked.step) == (0, None)


def test_a_state_that_no_action_leads_to_names_the_nearest_action_and_the_fields(lost: tuple[Instance, Run]) -> None:
    instance, run = lost
    codes = instance.schema.unpack(run.states[1])
    state = instance.schema.decode(codes)
    state["next_record_id"] = 1
    states = [run.states[0], instance.schema.pack(instance.schema.encode(state))]
    blocked = retrace(instance, states).blocked
    assert blocked is not None
    assert blocked.step is not None
    assert blocked.step.label == "ControllerElectLeader(replica=0)"
    assert blocked.elsewhere == (("next_record_id", 0, 1),)


def test_a_hint_chooses_between_actions_that_lead_to_the_same_state(lost: tuple[Instance, Run]) -> None:
    instance, run = lost
    hints = [StepHint(step.action.name, step.arguments) for step in run.actions]
    assert retrace(instance, run.states, hints).run.actions == run.actions
