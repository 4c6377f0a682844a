"""One machine dies with records that were not flushed (KIP-966): the lemmas hold, are inductive, and each is needed."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from acked.audit.releases.table import FaultClass, switches_of
from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.allconstants.obligations import GeneralObligation, Obligations
from acked.checker.allconstants.proof import AllConstantsOptions, _task
from acked.checker.allconstants.prover import Prover
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.solver.lemma_sets import Core, CoreFile
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.lemmas.catalogue import MACHINE_LEMMAS, PARTITION_LEMMAS
from acked.invariants.proofs import argument_of
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
LEMMAS = (*PARTITION_LEMMAS, *MACHINE_LEMMAS)
PLAIN = {"retries": 0, "idempotence": 0, "delivery_timeout": 0}
SWITCHES = switches_of((LATEST, KRAFT), FaultClass.MACHINE)
NEED = re.compile(r"Without it (\w+) breaks ([\w, ]+) \(2, 1, 1\)")


def instance(replicas: int, **changed: int) -> Instance:
    """One offset, one record, min.insync.replicas of 2."""
    sizes = {"replicas": replicas, "log_size": 1, "records": 1, "min_insync_replicas": 2, "in_flight": 1}
    return partition.instantiate({**SWITCHES, "max_leader_epoch": 0, **sizes, **changed})


def broken_by(action: str, lemmas: tuple[Property, ...], **changed: int) -> set[str]:
    """What a step of the action breaks, with two brokers."""
    question = Question(only(action, instance(2, **PLAIN, **changed)), PROMISES)
    found = prove_by_induction(question, lemmas, Limits(1, 300.0), InductionOptions(every_claim=True))
    return broken(found)[action]


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [2, pytest.param(3, marks=pytest.mark.long)])
def test_every_lemma_holds_in_every_reachable_state(replicas: int) -> None:
    asked = Question(instance(replicas, **(PLAIN if replicas == 3 else {})), (*PROMISES, *LEMMAS))
    found = search(asked, Bounds(memory=4 << 30))
    assert (found.verdict, found.violations) == (Verdict.HOLDS, ())
    assert found.distinct_states > 5000


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("replicas", [2, 3])
def test_the_promises_are_inductive_with_them(replicas: int) -> None:
    asked = Question(instance(replicas, **PLAIN), PROMISES)
    assert prove_by_induction(asked, LEMMAS, Limits(1, 300.0), InductionOptions()).verdict is Verdict.HOLDS


@pytest.mark.slow
@pytest.mark.parametrize(
    "lemma",
    # One for all: each is missed where its text says so.
    [pytest.param(item, id=item.name, marks=[pytest.mark.long] if at else []) for at, item in enumerate(MACHINE_LEMMAS)],
)
def test_without_the_lemma_the_step_that_its_text_names_breaks_what_it_says(lemma: Property) -> None:
    told = NEED.search(" ".join(str(lemma.predicate.__doc__).split()))
    assert told is not None
    assert broken_by(told[1], tuple(item for item in LEMMAS if item is not lemma)) >= set(told[2].split(", "))
    assert not broken_by(told[1], LEMMAS)


@pytest.mark.slow
def test_an_isr_of_one_may_be_lost_whole() -> None:
    assert "SomebodyIsLeft" in broken_by("CommitAlterPartition", LEMMAS, min_insync_replicas=1)


def test_the_argument_is_about_two_replicas_and_more_and_others_ask_nothing_of_sizes() -> None:
    found = argument_of(partition, SWITCHES)
    assert found is not None
    assert set(MACHINE_LEMMAS) < set(found.clauses)
    assert found.least == {"replicas": 2, "min_insync_replicas": 2}
    assert all(given[name] >= number for given in found.small for name, number in found.least.items())
    for changed in ({"kills": 1}, {"lossy_crashes": 2}, {"lossy_crashes": 0}, {"eligible_leader_replicas": 0}):
        other = argument_of(partition, {**SWITCHES, **changed})
        assert other is not None
        assert not other.least
        assert not set(MACHINE_LEMMAS) & set(other.clauses)


@pytest.mark.long
@pytest.mark.parametrize(
    ("least", "is_proved"),
    [({"replicas": 2, "min_insync_replicas": 2}, True), ({}, False)],
    ids=["two", "any"],
)
def test_somebody_is_left_by_the_size_of_an_isr_that_is_enough(least: dict[str, int], is_proved: bool) -> None:
    """That two are in a set with enough members is said of sizes only where min.insync.replicas is known to be 2 or more."""
    argument = argument_of(partition, SWITCHES)
    assert argument is not None
    prover = Prover(Obligations(partition, replace(argument, least=least), (), SWITCHES))
    (item,) = [item for item in prover.obligations.all if item.key == "LearnIsr|SomebodyIsLeft"]
    lemmas = ("SomebodyIsLeft", "EligibleOnlyWhereTooFew", "KilledAreEligible")
    assert (prover.solve(item, lemmas, 1_000_000) is not None) == is_proved


@pytest.mark.slow
def test_what_is_said_of_sizes_is_true_of_them() -> None:
    switches: dict[str, Any] = {**SWITCHES, **PLAIN}
    read = Reading(partition, constants=switches, least={"replicas": 2, "min_insync_replicas": 2})
    assert set(read.logic.thresholds.values()) == {2}
    compared = Comparison(read, instance(2, **PLAIN, max_leader_epoch=2))
    assert compared.facts > 50
    assert len(compared.walk(8)) > 50


def test_a_set_of_other_switches_is_asked_with_the_lemmas_that_there_are() -> None:
    """A name that is no lemma here would count as a lemma that is not kept, and what was proved with it as open."""
    after: Any = {"HwInEpoch'": 0}
    item: Any = GeneralObligation("Crash", "HwInLog", (), (), after, True, after)
    asked: Any = SimpleNamespace(all=[item], clauses={"HwInLog": 0})
    known = CoreFile("", {item.key: Core(("HwInLog", "LeadersAreTrue", "HwInEpoch'"), 3)})
    task = _task(0, asked, known, AllConstantsOptions())
    assert (task.lemmas, task.way) == (("HwInLog", "HwInEpoch'"), 3)
