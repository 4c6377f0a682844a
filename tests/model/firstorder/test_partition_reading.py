"""The first-order reading of `partition`: switches as a question sets them, sizes unknown, steps the protocol's."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.release import LATEST
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason, Verdict
from acked.checker.search.local import search
from acked.model.firstorder.reading import Reading
from acked.model.firstorder.symbols import Op
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import for_each
from acked.model.partition.protocol import partition
from acked.model.partition.state import Replica, State
from tests.model.firstorder.comparing import Comparison, drawn_evenly
from tests.model.firstorder.expansion import Expansion

CLEAN = {"acks": "all", "retries": False, "idempotence": False, "crashes": "clean", "min_insync_replicas": 2}
EVERYTHING = {
    "acks": "all", "retries": True, "idempotence": True, "delivery_timeout": True, "producer_restarts": 1,
    "crashes": "lossy outside the ISR", "zombies": True, "leadership_moves": True, "min_insync_replicas": 2,
}  # fmt: skip


SEARCHABLE = {name: value for name, value in EVERYTHING.items() if name not in ("delivery_timeout", "producer_restarts")}
"""With two brokers, offsets and records all states can be gone through."""


def constants(given: dict[str, Any], version: str = LATEST, plane: str | None = None) -> dict[str, Any]:
    return {**{name: item.value for name, item in partition.profile(version, plane).items()}, **given}


@cache
def comparison(replicas: int, log_size: int, records: int, version: str = LATEST, plane: str | None = None) -> Comparison:
    given = constants(EVERYTHING if version == LATEST else {**CLEAN, "zombies": True}, version, plane)
    sizes = {"replicas": replicas, "log_size": log_size, "records": records, "max_leader_epoch": 2}
    return Comparison(Reading(partition, constants=given), partition.instantiate({**given, **sizes}))


@pytest.mark.slow
def test_all_actions_are_read_whatever_goes_wrong_at_once() -> None:
    read = Reading(partition, constants=constants(EVERYTHING))
    assert [step.name for step in read.steps] == [
        item.name for item in partition.actions_under(constants(EVERYTHING))
    ]
    assert len(read.steps) == 26


@pytest.mark.slow
def test_what_the_switches_leave_out_is_left_out() -> None:
    read = Reading(partition, constants=constants(CLEAN))
    assert {"LoseSession", "Retry"}.isdisjoint(step.name for step in read.steps)
    absent = {family.name for family in read.families.values() if family.is_absent}
    assert {"controller.gone", "late[].leader", "producer.session"} <= absent
    assert not absent & {name.removeprefix("Domain(").removesuffix(")") for name in read.domains()}
    # Where an ISR is written to ZooKeeper, there is no request for another.
    before = Reading(partition, constants=constants(CLEAN, "2.5", "zookeeper"))
    assert "broker[].pending" in {family.name for family in before.families.values() if family.is_absent}


@pytest.mark.slow
def test_no_step_depends_on_how_many_brokers_there_are_or_how_many_are_enough() -> None:
    read = Reading(partition, constants=constants(EVERYTHING))
    named = {
        node.value.name
        for node in evaluation_order([step.guard for step in read.steps])
        if node.op is Op.APPLY
    }
    assert not named & {"replicas", "min_insync_replicas"}
    assert {"broker[].isr.reaches0", "in_flight", "log_size"} <= named


def searched(compared: Comparison, most: int | None = None) -> Result:
    """A search that asks of every state whether the reading has its steps, each with its successor."""
    return search(Question(compared.instance, (compared.agreement(),)), Bounds(1, 4 << 30, max_states=most))


@pytest.mark.slow
def test_every_step_of_the_first_states_with_two_brokers_and_one_offset_is_the_readings() -> None:
    found = searched(comparison(2, 1, 1), 60_000)
    assert not found.violations
    assert found.distinct_states >= 20_000  # Complete levels only.


@pytest.mark.slow
@pytest.mark.long
def test_every_step_of_every_state_with_two_brokers_and_one_offset_is_the_readings() -> None:
    found = searched(comparison(2, 1, 1))
    assert (found.verdict, found.stopped) == (Verdict.HOLDS, StopReason.COMPLETE)
    assert found.distinct_states == 490_996
    assert {name for name, count in found.actions.items() if count.enabled == 0} == NEVER


NEVER = {"ProduceWhileHwWaits"}
"""With two brokers nobody is left to wait for."""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("sizes", "most"), [((2, 2, 2), 1_000_000), ((3, 2, 2), 500_000)], ids=["2,2,2", "3,2,2"])
def test_so_is_every_step_of_the_first_states_with_more_offsets(sizes: tuple[int, int, int], most: int) -> None:
    found = searched(comparison(*sizes), most)
    assert not found.violations
    assert found.distinct_states >= most // 5  # Complete levels only.


@pytest.mark.slow
@pytest.mark.long
def test_a_reading_of_other_rules_does_not_agree() -> None:
    sizes = {"replicas": 2, "log_size": 1, "records": 1, "max_leader_epoch": 2}
    older = constants({**EVERYTHING, "reelection_forgets_ends": False})
    compared = Comparison(Reading(partition, constants=older), partition.instantiate({**constants(EVERYTHING), **sizes}))
    assert searched(compared).violations


@pytest.mark.slow
def test_the_plain_evaluator_says_so_too() -> None:
    compared = comparison(2, 1, 1)
    assert len(compared.walk(60)) > 1000
    assert set(compared.fired) == {item.action.name for item in compared.instance.actions} - NEVER


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "width", "states"),
    [((2, 2, 2), 1000, 20_000), ((3, 2, 2), 60, 1000), ((4, 3, 3), 6, 100)],
    ids=["2,2,2", "3,2,2", "4,3,3"],
)
def test_the_steps_of_states_of_every_depth_are_the_readings(sizes: tuple[int, int, int], width: int, states: int) -> None:
    assert len(comparison(*sizes).walk(width)) >= states


@pytest.mark.slow
@pytest.mark.long
def test_the_steps_of_states_drawn_evenly_over_all_levels_are_the_readings() -> None:
    given = constants(SEARCHABLE)
    instance = partition.instantiate({**given, "replicas": 2, "log_size": 2, "records": 2, "max_leader_epoch": 2})
    compared = Comparison(Reading(partition, constants=given), instance)
    states = drawn_evenly(instance, 20_000)
    assert len({tuple(codes) for codes in states}) == 20_000
    assert sum(1 for codes in states for _ in compared.steps(codes)) > 20_000
    assert set(compared.fired) == {item.action.name for item in instance.actions} - NEVER


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "plane"), [("4.1", None), pytest.param("2.5", "zookeeper", marks=pytest.mark.long)]
)
def test_so_are_those_of_other_releases(version: str, plane: str | None) -> None:
    compared = comparison(2, 1, 1, version, plane)
    assert len(compared.walk(20)) > 100


@pytest.mark.slow
def test_the_initial_state_is_the_protocols() -> None:
    compared = comparison(2, 1, 1)
    instance = compared.instance
    read = Reading(partition, constants=constants(EVERYTHING))
    codes = Expansion(read, instance, {}).codes(read.initial)
    assert [code.value for code in codes] == instance.schema.unpack(instance.initial[0])


# -- what the reading refuses ------------------------------------------------------------------------------------------


def one_action(act: Any) -> Protocol:
    made = Protocol(
        "odd", State, title="", source="", constants=partition.constants, initial=lambda s: None, sizes={},
    )  # fmt: skip
    made.action()(act)
    return made


def test_an_assignment_to_all_of_what_another_element_decides_is_refused() -> None:
    def shift(s: State, broker: Replica) -> None:
        def take(r: Replica) -> None:
            s.broker[r].hw = s.broker[broker].hw

        for_each(Replica, take)

    with pytest.raises(ModelError, match="that is not the one in hand"):
        Reading(one_action(shift), constants=constants(CLEAN))


def test_an_assignment_to_one_element_for_all_values_is_refused() -> None:
    def last_one_counts(s: State, broker: Replica) -> None:
        def take(r: Replica) -> None:
            s.broker[broker].hw = s.log[r].end

        for_each(Replica, take)

    with pytest.raises(ModelError, match="as one of its indices"):
        Reading(one_action(last_one_counts), constants=constants(CLEAN))


def test_the_size_of_a_set_is_compared_with_declared_thresholds_only() -> None:
    def count(s: State, broker: Replica) -> None:
        s.broker[broker].outdated = s.controller.isr.reaches(2)

    with pytest.raises(ModelError, match="a threshold that the protocol declares"):
        Reading(one_action(count), constants=constants(CLEAN))


@pytest.mark.slow
@pytest.mark.long
def test_what_is_assumed_of_the_sizes_of_sets_is_true_of_them() -> None:
    compared = comparison(3, 1, 1)
    assert compared.facts > 100
    assert len(compared.walk(12)) > 200
