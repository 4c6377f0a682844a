"""The partition is moved to other brokers: the lemmas hold, are inductive, and each is needed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.lemmas.catalogue import MOVE_LEMMAS, PARTITION_LEMMAS, RETURN_LEMMAS
from acked.invariants.proofs import all_lemmas, argument_of
from acked.invariants.property import Property
from acked.model.firstorder.reading import Reading
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import KRAFT
from tests.checker.proof.test_partition_proof import broken, only
from tests.model.firstorder.comparing import Comparison

PROMISES = tuple(
    properties_of(partition)[name] for name in ("AckedRecordsSurvive", "AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr")
)
CLEAN: dict[str, Any] = {
    "acks": "all", "crashes": "clean", "retries": False, "idempotence": False, "unclean_election": False,
    "reassignment": True, "replicas": 2, "assigned": 1, "log_size": 1, "records": 1,
}  # fmt: skip
STALE: dict[str, Any] = {"zombies": True, "leadership_moves": True}
HARDER: dict[str, Any] = {"retries": True, "idempotence": True, "crashes": "lossy outside the ISR"}
ONCE: dict[str, Any] = {"moves": 1, "min_insync_replicas": 2}
AGAIN: dict[str, Any] = {"moves": 0, "min_insync_replicas": 2, "eligible_leader_replicas": False}
AGAIN_ALONE: dict[str, Any] = {"moves": 0, "min_insync_replicas": 1}
"""Where one in-sync replica is enough nobody who was removed is an eligible leader."""
THREE: dict[str, Any] = {"replicas": 3, "assigned": 2, "moves": 1, "min_insync_replicas": 2}
LEMMAS = (*PARTITION_LEMMAS, *MOVE_LEMMAS, *RETURN_LEMMAS)
NEED = re.compile(r"Without it (\w+) breaks ([\w, ]+) \(2, 1, 1\)")


def constants(*parts: dict[str, Any], version: str = LATEST) -> dict[str, Any]:
    found = {name: setting.value for name, setting in partition.profile(version, KRAFT).items()}
    for part in (CLEAN, *parts):
        found |= part
    return found


def instance(*parts: dict[str, Any], version: str = LATEST) -> Instance:
    return partition.instantiate(constants(*parts, version=version))


def is_inductive(asked: Instance) -> bool:
    lemmas = all_lemmas(partition, asked.constants)
    found = prove_by_induction(Question(asked, PROMISES), lemmas, Limits(1, 300.0), InductionOptions(every_claim=True))
    assert found.induction is not None
    assert not any(action.never_fires for action in found.induction.actions)
    return found.verdict is Verdict.HOLDS


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "states"),
    [
        ((ONCE,), 4_000),
        ((AGAIN,), 40_000),
        ((AGAIN_ALONE,), 50_000),
        pytest.param((THREE,), 400_000, marks=pytest.mark.long),
    ],
    ids=["once", "again", "again, one is enough", "three brokers"],
)
def test_every_lemma_holds_in_every_reachable_state(parts: tuple[dict[str, Any], ...], states: int) -> None:
    found = search(Question(instance(*parts), (*PROMISES, *LEMMAS)), Bounds(memory=4 << 30))
    assert (found.verdict, found.violations) == (Verdict.HOLDS, ())
    assert found.distinct_states > states


@pytest.mark.slow
@pytest.mark.parametrize(
    "lemma",
    # One of each kind for all: each is missed where its text says so.
    [
        pytest.param(item, id=item.name, marks=[] if item in (MOVE_LEMMAS[0], RETURN_LEMMAS[0]) else [pytest.mark.long])
        for item in (*MOVE_LEMMAS, *RETURN_LEMMAS)
    ],
)
def test_without_the_lemma_the_step_that_its_text_names_breaks_what_it_says(lemma: Property) -> None:
    told = NEED.search(" ".join(str(lemma.predicate.__doc__).split()))
    assert told is not None
    parts = {"moves": 1, "min_insync_replicas": 1} if lemma in MOVE_LEMMAS else AGAIN_ALONE
    action = only(told[1], instance(parts, STALE))
    for lemmas, is_broken in ((LEMMAS, False), (tuple(item for item in LEMMAS if item is not lemma), True)):
        found = prove_by_induction(Question(action, PROMISES), lemmas, Limits(1, 300.0), InductionOptions(every_claim=True))
        assert (broken(found)[told[1]] >= set(told[2].split(", "))) is is_broken
        assert is_broken or not broken(found)[told[1]]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "parts",
    [
        (ONCE,), (ONCE, STALE, HARDER), (AGAIN,), (AGAIN, STALE, HARDER), (AGAIN_ALONE, STALE), (THREE,), (THREE, STALE),
        (ONCE, STALE, {"assigned": 2, "log_size": 2, "records": 2}),
    ],
)  # fmt: skip
def test_the_promises_are_inductive_with_them(parts: tuple[dict[str, Any], ...]) -> None:
    assert is_inductive(instance(*parts))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "parts"),
    [
        *((version, ({"moves": 0},)) for version in ("3.3", "3.5", "3.7", "3.8", "3.9", "4.0")),
        ("3.3", (THREE,)), ("4.0", (THREE, {"moves": 0})), ("4.1", (THREE,)),
    ],
)  # fmt: skip
def test_so_they_are_in_older_releases_with_kraft(version: str, parts: tuple[dict[str, Any], ...]) -> None:
    assert is_inductive(instance(*parts, version=version))


@pytest.mark.slow
def test_who_was_removed_and_comes_back_as_an_eligible_leader_is_beyond_them() -> None:
    """`acked check claims/move-and-back-keeps-acked` loses a record: there is no lemma to be found."""
    asked = Question(instance({"moves": 2, "min_insync_replicas": 2, "assigned": 2}), (PROMISES[0], *MOVE_LEMMAS))
    found = search(asked, Bounds(memory=1 << 30))
    assert found.verdict is Verdict.VIOLATED
    assert {item.property.name for item in found.violations} <= {"NamedAreReplicas", "AckedRecordsSurvive"}


def test_the_argument_has_them_where_the_partition_is_moved_and_says_what_it_does_not_cover() -> None:
    def argued(*parts: dict[str, Any], version: str = LATEST) -> tuple[set[str], dict[str, str]]:
        found = argument_of(partition, constants(*parts, version=version))
        assert found is not None
        return {item.name for item in found.clauses}, dict(found.uncovered)

    once, again = {item.name for item in MOVE_LEMMAS}, {item.name for item in RETURN_LEMMAS}
    assert argued({"reassignment": False})[0].isdisjoint(once | again)
    named, refused = argued(ONCE)
    assert (named & (once | again), "reassignment" in refused) == (once, False)
    named, refused = argued(AGAIN)
    assert (named >= once | again, "reassignment" in refused) == (True, False)
    assert "eligible leader" in argued({"moves": 2})[1]["reassignment"]
    assert "machine" in argued({"crashes": "lossy", "lossy_crashes": 1, "kills": False})[1]["reassignment"]
    assert "one record" in argued({"moves_in_one_record": False})[1]["reassignment"]
    assert {"moved_to", "moved_in"} <= set(argued(AGAIN, {"moved_to": 1, "moved_in": 1})[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        (ONCE,),
        pytest.param((AGAIN,), marks=pytest.mark.long),
        pytest.param((AGAIN_ALONE, STALE), marks=pytest.mark.long),
        pytest.param((ONCE, {"replicas": 3, "assigned": 2}), marks=pytest.mark.long),
    ],
    ids=["once", "again", "again, stale leaders", "three brokers"],
)
def test_the_reading_has_the_steps_of_a_partition_that_is_moved(parts: tuple[dict[str, Any], ...]) -> None:
    """And what is said of sizes, that one set has as many members as another, is true of them, in every reachable state."""
    given = constants(*parts)
    compared = Comparison(Reading(partition, constants=given), partition.instantiate({**given, "max_leader_epoch": 2}))
    found = search(Question(compared.instance, (compared.agreement(),)), Bounds(1, 4 << 30, max_states=500_000))
    assert not found.violations
    assert found.distinct_states > 1000
    assert all(found.actions[name].enabled for name in ("Reassign", "CancelMove", "DeleteReplica"))
