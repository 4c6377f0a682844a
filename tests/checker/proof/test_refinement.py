"""`partition` refines kip320 and truncate-to-hw, but for the steps that are named, and a missing guard is found.

The protocol of pairs decided by search and by the plain oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Verdict
from acked.checker.search.local import search
from acked.model.language.protocol import Instance
from acked.model.replication import common as family
from tests.oracle import Space, assert_same_answer, explore
from tests.proofs.refinement import (
    DEPARTURES,
    EPOCH_FOR_NONE,
    FOLLOWED,
    HW_IN_EPOCH,
    NEVER_WRITTEN,
    NO_CUT_AT_END,
    NO_CUT_SINCE,
    NO_EMPTY_ANSWER,
    NO_LATE_REPORT,
    NO_STALE_LAG,
    VARIANTS,
    Run,
    Variant,
    constants_of,
    pairs,
)

Size = tuple[int, int, int, int]
Clause = tuple[str, str]
SMALL: Size = (3, 1, 1, 1)


def instance_of(variant: Variant, size: Size, *drop: Clause) -> Instance:
    return pairs(variant).instantiate(constants_of(variant, *size), drop)


def quick(*kept: tuple[str, ...]) -> Callable[[tuple[str, ...]], Any]:
    """Rows that are not kept are of a kind with those that are, and left to the long run."""
    return lambda row: pytest.param(*row, marks=[] if row in kept else pytest.mark.long)


def answer(variant: Variant, size: Size, *drop: Clause) -> Result:
    return search(Question(instance_of(variant, size, *drop), (FOLLOWED,)), Bounds(workers=2))


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "pairs_at_least"),
    [
        ((2, 2, 2, 2), 4_000),
        pytest.param((3, 2, 2, 1), 80_000, marks=pytest.mark.long),
        pytest.param((3, 2, 2, 2), 3_000_000, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", VARIANTS)
def test_whatever_partition_does_the_family_can_do(name: str, size: Size, pairs_at_least: int) -> None:
    result = answer(VARIANTS[name], size)
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states >= pairs_at_least
    # With a new leader epoch for every removal a leader in office always knows the ISR.
    assert set(result.never_fired) == {"LearnIsr", "LearnIsrWhileHwWaits", "FetchDiverging", "GiveUp"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kip320", pytest.param("truncate-to-hw", marks=pytest.mark.long)])
def test_the_plain_oracle_says_so_too(name: str) -> None:
    def question() -> Question:
        return Question(instance_of(VARIANTS[name], (2, 1, 1, 1)), (FOLLOWED,))

    assert_same_answer(search(question()), explore(Space(question()), StopPolicy.FIRST_VIOLATION))


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_initially_the_family_has_elected_whom_partition_begins_with(name: str) -> None:
    instance = instance_of(VARIANTS[name], (2, 1, 1, 1))
    state = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    assert state["parted"] is False
    assert state["family"]["quorum"] == {"leader_epoch": 0, "leader": 0, "isr": [0, 1]}
    assert [replica["leader"] for replica in state["family"]["replica"]] == [0, 0]


# -- where they differ ----------------------------------------------------------------------------------------------

NEEDED = [
    ("kip320", NO_EMPTY_ANSWER),
    ("truncate-to-hw", NO_LATE_REPORT),
    ("kip320", NO_STALE_LAG),
    ("truncate-to-hw", EPOCH_FOR_NONE),
    ("kip320", HW_IN_EPOCH),
    ("truncate-to-hw", NO_CUT_SINCE),
    ("truncate-to-hw", NO_CUT_AT_END),
    ("kip320", NEVER_WRITTEN),
]
"""Every departure once; those of both variants are the same clauses of the same actions."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "clause"), [*map(quick(("truncate-to-hw", NO_CUT_AT_END), ("kip320", NEVER_WRITTEN)), NEEDED)]
)
def test_a_step_that_the_family_does_not_have_parts_them_if_it_is_not_left_out(name: str, clause: str) -> None:
    if clause == NO_CUT_AT_END:
        # It is left out whatever the state, so none of its instances is there to ask; and it takes a third leader epoch.
        size, steps = (2, 1, 1, 2), {("FetchDiverging", clause)}
    elif clause == NEVER_WRITTEN:
        size, steps = (2, 2, 2, 1), {("GiveUp", clause)}
    else:
        size = SMALL
        actions = instance_of(VARIANTS[name], size).actions
        steps = {(step.action.name, clause) for step in actions if clause in [guard.label for guard in step.guards]}
    result = answer(VARIANTS[name], size, *sorted(steps))
    assert result.verdict is Verdict.VIOLATED
    taken = [step.action.name for step in result.violations[0].run.actions]
    # That a record was given up shows as soon as another one is written.
    assert taken[-2 if clause == NEVER_WRITTEN else -1] in {action for action, _ in steps}


def test_every_departure_is_needed_somewhere() -> None:
    assert {clause for _, clause in NEEDED} == set(DEPARTURES)


# -- what the check finds -------------------------------------------------------------------------------------------

FENCES: list[tuple[str, str, str]] = [
    ("kip320", "FetchRecord", "same leader epoch"),
    ("kip320", "FetchNothingNew", "same leader epoch"),
    ("kip320", "FetchUnanswered", "same leader epoch"),
    ("kip320", "TruncateByEpoch", "same leader epoch"),
    ("kip320", "FetchRecord", "has truncated"),
    ("kip320", "ShrinkIsr", "true leader"),
    ("kip320", "BecomeLeader", "newer leader epoch"),
    ("truncate-to-hw", "BecomeFollower", "newer leader epoch"),
    ("truncate-to-hw", "FetchRecord", "follows"),
    ("truncate-to-hw", "ShrinkIsr", "true leader"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "action", "label"),
    [*map(quick(("kip320", "FetchRecord", "same leader epoch"), ("truncate-to-hw", "ShrinkIsr", "true leader")), FENCES)],
)
def test_deleting_a_fencing_guard_of_partition_makes_it_fail(name: str, action: str, label: str) -> None:
    result = answer(VARIANTS[name], SMALL, (action, label))
    assert result.verdict is Verdict.VIOLATED
    # The family of kip320 becomes a follower only when it truncates.
    told = result.violations[0].run.actions[-1].action.name
    assert told in (action, "TruncateByEpoch" if action == "BecomeFollower" else "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "action", ["Produce", *(pytest.param(name, marks=pytest.mark.long) for name in ("MoveLeadership", "TruncateByEpoch"))]
)
def test_a_mapping_that_forgets_a_step_is_found(action: str) -> None:
    def forgetful(run: Run, leader: Any, record: Any, answered: Any) -> Iterator[None]:
        yield
        run.take(family.leader_write, leader=family.Replica(leader.expr))

    def idle(run: Run, **_: Any) -> Iterator[None]:
        yield

    base = VARIANTS["kip320"]
    wrong = forgetful if action == "Produce" else idle
    assert answer(replace(base, witnesses={**base.witnesses, action: wrong}), SMALL).verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_a_run_that_parts_them_is_told_in_the_words_of_partition() -> None:
    variant = VARIANTS["kip320"]
    instance = instance_of(variant, SMALL, ("FetchNothingNew", NO_EMPTY_ANSWER))
    run = search(Question(instance, (FOLLOWED,))).violations[0].run
    codes = [instance.schema.unpack(words) for words in run.states]
    told = [instance.tell(step, *codes[at : at + 2]) for at, step in enumerate(run.actions)]
    assert "it gets no record and high watermark 1" in told[-1]
