"""Several ZooKeeper controllers: one of them is today's model, and two are an enumeration that shares nothing with it."""

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
from acked.model.language.action import actions_of
from acked.model.language.protocol import Instance
from acked.model.partition.controllers import hearing, racing
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import profile
from tests.model.partition.controllers_enumeration import Rules
from tests.model.partition.controllers_exploration import explore
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly

PROMISES = properties_of(partition)
COMPARED = (
    "OneController", "OneControllerPerEpoch", "NodeHolderIsNewest", "BrokersFollowZookeeper", "LeaderKnowsOffice",
    "ElectionsAreKnown", "IsrChangesByController", "NewLeaderFromIsr",
)  # fmt: skip


def instance(version: str = "2.1", **constants: Any) -> Instance:
    """A release with ZooKeeper, two brokers, one record that is sent once."""
    release = profile(version, "zookeeper")
    rules = {item.name: item.show(release[item.name].value) for item in partition.constants if item.name in release}
    plain = {"replicas": 2, "log_size": 1, "records": 1, "acks": "all", "retries": False, "idempotence": False,
             "unclean_election": False, "crashes": "none"}  # fmt: skip
    return partition.instantiate({**rules, **plain, **constants})


def searched(made: Instance, *names: str) -> Any:
    asked = tuple(PROMISES[name] for name in names or ("IsrHasLeader",))
    return search(Question(made, asked), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)


# -- with one controller --------------------------------------------------------------------------------------------------


def seen(state: dict[str, Any]) -> str:
    """A state without what only controllers know."""
    brokers = [{name: value for name, value in broker.items() if name != "known_controller"} for broker in state["broker"]]
    return repr({**{name: state[name] for name in state if name not in ("zookeeper", "candidate")}, "broker": brokers})


def steps(made: Instance) -> tuple[list[str], set[tuple[str, str]]]:
    """Every reachable state and every step between two, as far as both models see them."""
    space = Space(Question(made, (PROMISES["IsrHasLeader"],)))
    name = {words: seen(made.schema.decode(made.schema.unpack(words))) for words in space.level_of}
    return sorted(name.values()), {(name[step.source], name[step.target]) for level in space.steps for step in level}


@pytest.mark.slow
def test_one_controller_with_nothing_late_has_exactly_the_states_and_steps_of_the_model_without_several() -> None:
    plain = steps(instance(crashes="clean", acks="0", kills=False))
    several = steps(instance(crashes="clean", acks="0", kills=False, controllers="many", candidates=1))
    assert several == plain
    assert len(plain[0]) > 100


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("2.0", {"crashes": "clean", "zombies": True, "leadership_moves": True}),
        pytest.param("1.0", {"crashes": "clean", "unclean_election": True}, marks=pytest.mark.long),
        pytest.param("3.2", {"crashes": "clean", "zombies": True}, marks=pytest.mark.long),
    ],
)
def test_one_controller_takes_as_many_steps_to_as_many_states(version: str, more: dict[str, Any]) -> None:
    def counts(**constants: Any) -> tuple[int, list[int]]:
        found = searched(instance(version, **more, **constants))
        return found.distinct_states, list(found.level_sizes)

    assert counts(controllers="many", candidates=1) == counts(controllers="one")


def test_without_several_controllers_no_action_of_theirs_and_no_field_is_there() -> None:
    made = instance()
    assert not {item.name for item in made.action_rules} & {item.name for item in actions_of(racing, hearing)}
    own = [leaf for leaf in made.schema.leaves if leaf.name.startswith(("zookeeper", "candidate")) or "known_c" in leaf.name]
    assert own
    assert {leaf.cardinality for leaf in own} == {1}


# -- with two -------------------------------------------------------------------------------------------------------------


def of_rules(rules: Rules) -> Instance:
    constants = asdict(rules)
    constants["crashes"] = "clean" if rules.crashes else "none"
    return instance(
        **constants, acks="0", controllers="many", truncation="diverging fetch", fetch_fencing="leader epoch",
        hw_waits_for_caught_up=False, reelection_forgets_ends=True, maximal_isr=rules.asynchronous_isr,
    )  # fmt: skip


def answer(rules: Rules) -> tuple[int, dict[str, int]]:
    found = searched(of_rules(rules), *COMPARED)
    return found.distinct_states, {item.property.name: item.trace_length - 1 for item in found.violations}


UNNOTICED: dict[str, bool] = {"crashes": True, "unnoticed_restarts": True, "requests_name_incarnation": False}
STOPPED: dict[str, bool] = {"crashes": True, "kills": False, "late_requests": True, "requests_name_incarnation": False}
ASKED: dict[str, bool] = {"asynchronous_isr": True}
ASKED_IN_2_7: dict[str, bool] = {**ASKED, "alter_partition_settled": False, "behind_controller_resent": False}
QUICK = [
    Rules(max_controller_epoch=1),
    Rules(max_controller_epoch=1, max_leader_epoch=2, candidates=1, crashes=True, requests_queued=2),
    Rules(max_controller_epoch=1, max_leader_epoch=1, candidates=1, **UNNOTICED),
    Rules(max_controller_epoch=1, max_leader_epoch=1, candidates=1, **STOPPED),
    Rules(max_controller_epoch=1, max_leader_epoch=1, candidates=1, crashes=True, **ASKED),
]
MORE = [
    Rules(max_controller_epoch=1, max_leader_epoch=1, **UNNOTICED),
    Rules(crashes=True, candidates=1),
    Rules(),
    Rules(elected_at_once=False, old_controllers_refused=False, requests_name_incarnation=False),
    Rules(max_controller_epoch=1, max_leader_epoch=1, leadership_moves=True, old_controllers_refused=False),
    Rules(
        max_controller_epoch=1, max_leader_epoch=1, crashes=True, elected_at_once=False, old_controllers_refused=False,
        requests_name_incarnation=False,
    ),
    Rules(max_controller_epoch=1, max_leader_epoch=2, leadership_moves=True, requests_queued=2),
    Rules(max_controller_epoch=1, max_leader_epoch=1, crashes=True),
    Rules(max_controller_epoch=1, max_leader_epoch=1, crashes=True, unclean_election=True),
    Rules(max_controller_epoch=1, max_leader_epoch=1, **ASKED),
    Rules(max_controller_epoch=1, max_leader_epoch=1, leadership_moves=True, behind_controller_resent=False, **ASKED),
    Rules(max_controller_epoch=1, max_leader_epoch=1, leadership_moves=True, **ASKED_IN_2_7),
    Rules(max_controller_epoch=1, max_leader_epoch=1, crashes=True, **ASKED_IN_2_7),
    Rules(max_controller_epoch=1, max_leader_epoch=1, crashes=True, fenced_stay_out=True, **ASKED),
    Rules(max_controller_epoch=1, max_leader_epoch=1, **STOPPED),
]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in MORE)], ids=str)
def test_states_and_verdicts_are_those_of_an_enumeration_written_from_the_facts(rules: Rules) -> None:
    assert answer(rules) == explore(rules)


@pytest.mark.long
def test_the_plain_evaluator_finds_the_same_states_and_traces() -> None:
    question = Question(
        instance(acks="0", controllers="many", max_controller_epoch=1, hw_waits_for_caught_up=False),
        (PROMISES["OneController"], PROMISES["IsrChangesByController"]),
    )
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY), expected)


# -- releases, and what is refused ----------------------------------------------------------------------------------------


def test_rules_of_controllers_by_release() -> None:
    names = ("elected_at_once", "old_controllers_refused", "requests_name_incarnation", "behind_controller_resent")

    def rules(version: str) -> list[int]:
        found = profile(version, "zookeeper")
        return [found[name].value for name in names]

    assert [rules(version) for version in ("0.8", "2.0", "2.1", "2.2", "2.7", "3.2", "3.3", "3.9")] == [
        [0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "plane", "more", "said"),
    [
        ("4.0", "kraft", {}, 'race for /controller in ZooKeeper; set control_plane = "zookeeper"'),
        ("3.9", "zookeeper", {"reassignment": 1}, "not modelled together"),
    ],
)
def test_several_controllers_are_refused_where_there_are_none(
    version: str, plane: str, more: dict[str, int], said: str
) -> None:
    release = {name: setting.value for name, setting in profile(version, plane).items()}
    given = {"controllers": "many", **more}
    with pytest.raises(ModelError, match=said):
        partition.settle(given, _bound(release, given), plane)


def _bound(release: dict[str, int], given: dict[str, Any]) -> dict[str, int]:
    shown = {item.name: item.show(release[item.name]) for item in partition.constants if item.name in release}
    return partition.bind({**shown, **given})


def test_the_argument_for_all_constants_refuses_several_controllers_where_leaders_are_deposed_alive() -> None:
    with pytest.raises(ModelError, match="does not cover controllers: where several fail over its lemmas cover"):
        prove_all_constants(partition, Limits(jobs=1, timeout=60), constants={"controllers": 1, "zombies": 1})
