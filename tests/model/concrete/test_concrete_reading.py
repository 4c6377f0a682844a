"""The concrete reading of `partition` decides and does what the finite one does.

What lives here: every step in every reachable state of small instances, random walks of larger ones, appends of many records,
quantifiers that it refuses, and what it makes of states too large for a search.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from acked.model.concrete.inputs import Inputs, Wanted
from acked.model.concrete.reading import Concrete
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.domain import BoolDomain, IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance
from acked.model.partition.protocol import partition
from acked.model.partition.state import Offset

Codes = tuple[int, ...]
HUGE = 2**52

FAULTS = {
    "crashes": "lossy", "lossy_crashes": 1, "zombies": True, "leadership_moves": True, "unclean_election": True,
    "delivery_timeout": True,
}  # fmt: skip
"""Everything on that adds steps."""
SMALL = {"replicas": 2, "log_size": 1, "records": 1, "max_leader_epoch": 1, "retries": False, "idempotence": False}


def settings(version: str, **more: Any) -> dict[str, Any]:
    """`partition` with the rules of a release, and with leader epochs as they are rather than ranks."""
    profile = {name: setting.value for name, setting in partition.profile(version, None).items()}
    return {**profile, "max_leader_epoch": 2, **more}


class Both:
    """An instance and its concrete reading, state by state."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.instance: Instance = partition.instantiate(constants)
        self.concrete = Concrete(partition, constants, searched=(Offset,))
        self.by_label: dict[str, ActionInstance] = {item.label: item for item in self.instance.actions}
        self._guards = Evaluator([item.guard for item in self.instance.actions])
        self._updates = {item.label: Evaluator([code for _, code in item.updates]) for item in self.instance.actions}
        self.bindings = list(self._bindings())
        self.fired: dict[str, int] = {}

    @property
    def initial(self) -> Codes:
        return tuple(self.instance.schema.unpack(self.instance.initial[0]))

    def _bindings(self) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
        """Every step: its label, its function or None, and the codes of its parameters that are numbers or sets."""
        for name, action in self.concrete.actions.items():
            domains = action.parameters()
            for codes in product(*(range(domain.cardinality(self.concrete.constants)) for domain in domains.values())):
                given = dict(zip(domains, codes, strict=True))
                plain = {key: domain.to_plain(given[key], self.concrete.constants) for key, domain in domains.items()}
                bound = {key: plain[key] for key, item in domains.items() if isinstance(item, IdDomain | BoolDomain)}
                step = self.concrete.step(name, **bound)
                label = f"{name}({', '.join(f'{key}={value}' for key, value in plain.items())})"
                numbers = () if step is None else tuple(given.get(key, 1) for key in step.parameters)
                yield label, step, numbers

    def successors(self, codes: Codes) -> list[Codes]:
        """By the finite reading; everything else that the concrete one says must be the same."""
        state = self.concrete.encode(self.instance.schema.decode(codes))
        enabled = {item.label for item, holds in zip(self.instance.actions, self._guards(codes), strict=True) if holds}
        found = []
        for label, step, numbers in self.bindings:
            after = 0 if step is None else step.take(state, *numbers)
            assert (label in enabled) == (not isinstance(after, int)), f"{label} in {self.instance.schema.decode(codes)}"
            if not isinstance(after, int):
                self.fired[label.partition("(")[0]] = self.fired.get(label.partition("(")[0], 0) + 1
                changed = list(codes)
                for (leaf, _), value in zip(self.by_label[label].updates, self._updates[label](codes), strict=True):
                    changed[leaf] = value
                assert after == self.concrete.encode(self.instance.schema.decode(changed)), label
                found.append(tuple(changed))
        return found


def compare_all(both: Both, most: int) -> int:
    """How many reachable states there are; the two readings agree in each."""
    seen = {both.initial}
    to_do = [both.initial]
    while to_do:
        for after in both.successors(to_do.pop()):
            if after not in seen:
                assert len(seen) < most, "more states than a test can look at"
                seen.add(after)
                to_do.append(after)
    return len(seen)


def walk(both: Both, steps: int, seed: int) -> None:
    """Random walks from the initial state, of at most 60 steps each; the readings agree in every state on the way."""
    draw = random.Random(seed)
    codes, taken = both.initial, 0
    for _ in range(steps):
        successors = both.successors(codes)
        codes, taken = (draw.choice(successors), taken + 1) if successors and taken < 60 else (both.initial, 0)
    assert len(both.fired) > 4, "the walks saw too few actions to say anything"


@pytest.mark.slow
def test_every_step_in_every_state_of_a_small_instance_is_the_same_in_both_readings() -> None:
    both = Both(settings("2.1", **SMALL))
    assert compare_all(both, 2_000) == 1_472
    assert {"BecomeLeader", "TruncateByEpoch", "FetchAtOnce", "ShrinkIsrWhileHwWaits", "ElectLeader"} <= both.fired.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("latest", {**FAULTS, "replicas": 3, "log_size": 3, "records": 3}),
        ("0.11", {**FAULTS, "replicas": 2, "log_size": 3, "records": 3, "acks": "all", "min_insync_replicas": 2}),
    ],
)
def test_random_walks_of_larger_instances_are_the_same_in_both_readings(version: str, more: dict[str, Any]) -> None:
    walk(Both(settings(version, **more)), 7, seed=18)


@pytest.mark.slow
def test_answers_that_are_late_are_the_same_in_both_readings() -> None:
    late = {"late_answers": True, "late_reads": True, "leadership_moves": True, "crashes": "none", "acks": "0"}
    both = Both(settings("4.0", **{**SMALL, "log_size": 2, "records": 2, "max_leader_epoch": 3}, **late))
    walk(both, 500, seed=18)
    assert {"FetchLate", "LateRecordsCount", "LateRecordsAreMixed", "LateAnswerIsDropped"} <= both.fired.keys()


@pytest.mark.long
@pytest.mark.parametrize(
    "version", ["0.8", "0.10.2", "0.11", "2.0", "2.1", "2.7", "2.8", "3.3", "3.6", "3.9", "4.0", "4.1", "latest"]
)
def test_every_release_is_the_same_in_both_readings(version: str) -> None:
    late = {"late_answers": True, "late_reads": True, "unnoticed_restarts": True}
    walk(Both(settings(version, **FAULTS, **late, log_size=3, records=3)), 2_000, seed=18)
    walk(Both(settings(version, **FAULTS, replicas=2, log_size=4, records=2, acks="all", min_insync_replicas=2)), 4_000, 18)


# -- large states ------------------------------------------------------------------------------------------------------


def large(**more: Any) -> Concrete:
    """`partition` as a run of a real cluster is read with: logs of any size, epochs as they are, nothing of producers."""
    sizes = {"replicas": 3, "records": 1, "min_insync_replicas": 2}
    constants = settings("4.1", **sizes, acks="all", retries=False, idempotence=False, **more)
    return Concrete(
        partition,
        constants,
        searched=(Offset,),
        beyond={"log_size": HUGE, "max_leader_epoch": HUGE},
        unseen=("producer", "consumer", "log.records.id", "log.records.session"),
    )


def take(concrete: Concrete, state: Any, name: str, *numbers: int, **bound: Any) -> Any:
    step = concrete.step(name, **bound)
    assert step is not None
    after = step.take(state, *numbers)
    assert not isinstance(after, int), f"{name}: {step.guards[after].label} is not so"
    return after


PRODUCED = {"leader": 0, "answered": True}


def test_a_batch_is_as_many_appends_of_one_record() -> None:
    concrete = large()
    draw = random.Random(3)
    for _ in range(20):
        state = concrete.initial
        for _ in range(draw.randrange(6)):
            state = take(concrete, state, "Produce", draw.randrange(1, 1000), **PRODUCED)
            end, fetch = concrete.plain(state, ("log", 0, "end")), {"leader": 0, "follower": draw.randrange(1, 3)}
            assert isinstance(end, int)
            state = take(concrete, take(concrete, state, "FetchUnanswered", 1, **fetch), "FetchAtOnce", end, 1, **fetch)
        size = draw.randrange(1, 9)
        one_by_one = state
        for _ in range(size):
            one_by_one = take(concrete, one_by_one, "Produce", 1, **PRODUCED)
        assert take(concrete, state, "Produce", size, **PRODUCED) == one_by_one


def test_a_log_of_a_billion_records_is_kept_as_the_starts_of_its_epochs() -> None:
    concrete = large(crashes="clean")
    state = take(concrete, concrete.initial, "Produce", 1_000_000_000, **PRODUCED)
    state = take(concrete, state, "FetchAtOnce", 999_999_000, 1, leader=0, follower=1)
    state = take(concrete, state, "Crash", 1_000_000_000, 0, broker=0)
    state = take(concrete, state, "ElectLeader", 1, broker=1)
    state = take(concrete, state, "BecomeLeader", 1, leader=1)
    state = take(concrete, state, "Produce", 7, leader=1, answered=True)
    assert concrete.runs(state, 0) == ((0, (0,)),)
    assert concrete.runs(state, 1) == ((0, (0,)), (999_999_000, (1,)))
    state = take(concrete, state, "Restart", 1, broker=0, is_clean=True)
    state = take(concrete, state, "BecomeFollower", 1, follower=0, leader=1)
    state = take(concrete, state, "FetchDiverging", 1, follower=0, leader=1)
    assert concrete.plain(state, ("log", 0, "end")) == 999_999_000


def test_a_step_names_the_first_clause_that_is_not_so() -> None:
    concrete = large()
    step = concrete.step("FetchAtOnce", follower=1, leader=2)
    assert step is not None
    refused = step.take(concrete.initial, 0, 1)
    assert isinstance(refused, int)
    assert step.guards[refused].label == "follows"
    assert [guard.label for guard, so in zip(step.guards, step.holds(concrete.initial, 0, 1), strict=True) if not so] == [
        "follows",
    ]


def test_a_step_that_its_ids_rule_out_is_none() -> None:
    assert large().step("FetchAtOnce", follower=1, leader=1) is None


def test_a_quantifier_that_computes_with_its_offset_is_refused() -> None:
    pool = Inputs()
    offset = pool.variable(0, 0, HUGE)
    with pytest.raises(ModelError, match="does more with its offset"):
        pool.search(Wanted.SOME, offset, pool.eq(pool.add(offset, offset), pool.int(4)), (0, HUGE), pool.false)
