"""Several controllers that fail over: the lemmas hold, are inductive, and each is needed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.proof import PROOF_EFFORT, covering_argument, prove_all_constants
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.solver.lemma_sets import CoreFile, add_older_sets, shipped_file
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.lemmas.catalogue import CONTROLLER_EPOCHS_ARE_DENSE, CONTROLLER_LEMMAS, PARTITION_LEMMAS
from acked.invariants.proofs import all_lemmas, argument_of
from acked.invariants.property import Property
from acked.model.firstorder.reading import Reading
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import ZOOKEEPER
from tests.checker.proof.test_partition_proof import broken, only
from tests.model.firstorder.comparing import Comparison
from tests.places import CHECKOUT
from tests.proofs.few import prover_of

PROMISES = tuple(
    properties_of(partition)[name] for name in ("AckedRecordsSurvive", "AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr")
)
LEMMAS = (*PARTITION_LEMMAS, *CONTROLLER_LEMMAS)
SEVERAL: dict[str, Any] = {
    "acks": "all", "retries": False, "idempotence": False, "crashes": "clean", "unclean_election": False,
    "controllers": "many",
}  # fmt: skip
SMALL: dict[str, Any] = {"replicas": 2, "log_size": 1, "records": 1, "min_insync_replicas": 1}
NEED = re.compile(r"Without it (\w+) breaks ([\w, ]+) \((2, 1, 1(?:, Kafka ([\d.]+))?)\)")
PAGE = CHECKOUT / "docs" / "partition_proof.md"
QUICK = ("OfficeBegan",)


def constants(version: str = "3.9", **changed: object) -> dict[str, Any]:
    return {**{name: item.value for name, item in partition.profile(version, ZOOKEEPER).items()}, **SEVERAL, **changed}


def instance(version: str = "3.9", **changed: object) -> Instance:
    return partition.instantiate({**constants(version), **SMALL, **changed})


def switches(**changed: object) -> dict[str, int]:
    """The constants that a proof for all constants is given."""
    bound = partition.bind({**constants(), **changed})
    return {name: value for name, value in bound.items() if name not in (*partition.sizes, "max_controller_epoch")}


def needed_by(lemma: Property) -> re.Match[str]:
    """The action of which a step breaks something without the lemma, what that breaks, and where, by the lemma's text."""
    told = NEED.search(" ".join(str(lemma.predicate.__doc__).split()))
    assert told is not None, lemma.name
    return told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "changed"),
    [
        ("3.9", {}),
        pytest.param("2.5", {"crashes": "lossy outside the ISR"}, marks=pytest.mark.long),
        pytest.param("2.7", {}, marks=pytest.mark.long),
        pytest.param("2.8.1", {}, marks=pytest.mark.long),
        pytest.param("3.2", {}, marks=pytest.mark.long),
        pytest.param("3.9", {"retries": True, "idempotence": True}, marks=pytest.mark.long),
        pytest.param("3.9", {"candidates": 3}, marks=pytest.mark.long),
    ],
)
def test_every_lemma_holds_in_every_reachable_state(version: str, changed: dict[str, Any]) -> None:
    asked = Question(instance(version, **changed), (*PROMISES, *LEMMAS), is_symmetric=True)
    found = search(asked, Bounds(memory=4 << 30), StopPolicy.EVERY_PROPERTY)
    assert ([item.property.name for item in found.violations], found.verdict) == ([], Verdict.HOLDS)
    assert found.distinct_states > 1_000_000


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "changed"),
    [
        ("3.9", {}),
        ("3.3", {}),
        ("3.2", {}),
        ("2.8.1", {}),
        ("2.7", {}),
        ("2.5", {}),
        ("3.9", {"retries": True, "idempotence": True}),
        ("3.9", {"log_size": 2, "records": 2}),
    ],
)
def test_the_promises_are_inductive_with_them(version: str, changed: dict[str, Any]) -> None:
    asked = Question(instance(version, **changed), PROMISES)
    assert prove_by_induction(asked, LEMMAS, Limits(1, 300.0), InductionOptions()).verdict is Verdict.HOLDS


@pytest.mark.slow
@pytest.mark.long
def test_a_step_by_which_a_leader_takes_office_keeps_every_claim() -> None:
    asked = Question(only("BecomeLeaderAsTold", instance()), PROMISES)
    found = prove_by_induction(asked, LEMMAS, Limits(1, 300.0), InductionOptions())
    assert found.verdict is Verdict.HOLDS
    assert found.induction is not None
    assert not any(action.never_fires for action in found.induction.actions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lemma",
    [pytest.param(item, id=item.name, marks=() if item.name in QUICK else pytest.mark.long) for item in CONTROLLER_LEMMAS],
)
def test_without_the_lemma_the_step_that_its_text_names_breaks_what_it_says(lemma: Property) -> None:
    action, claims, _, version = needed_by(lemma).groups()
    question = Question(only(action, instance(version or "3.9")), PROMISES[1:])
    rest = [item for item in LEMMAS if item is not lemma]
    found = prove_by_induction(question, rest, Limits(1, 300.0), InductionOptions(every_claim=True))
    assert broken(found)[action] >= set(claims.split(", "))


def test_the_lemmas_are_asked_where_they_are_about_something() -> None:
    assert set(CONTROLLER_LEMMAS) < set(all_lemmas(partition, partition.bind({**constants(), **SMALL})))
    others: list[dict[str, Any]] = [
        {"controllers": "one"}, {"zombies": True}, {"leadership_moves": True}, {"unclean_election": True},
        {"requests_name_incarnation": False}, {"old_controllers_refused": False}, {"elected_at_once": False},
        {"requests_queued": 2},
    ]  # fmt: skip
    for other in others:
        bound = partition.bind({**constants(), **SMALL, **other})
        assert not set(CONTROLLER_LEMMAS) & set(all_lemmas(partition, bound)), other


def test_the_argument_for_all_constants_says_which_controllers_it_covers() -> None:
    argument = covering_argument(partition, switches())
    assert set(CONTROLLER_LEMMAS) - {CONTROLLER_EPOCHS_ARE_DENSE} < set(argument.clauses)
    assert argument.least == {"max_controller_epoch": 1}
    for other in ({"zombies": True}, {"leadership_moves": True}, {"requests_name_incarnation": False}):
        with pytest.raises(ModelError, match="does not cover controllers: where several fail over its lemmas cover"):
            covering_argument(partition, switches(**other))


@pytest.mark.slow
def test_a_sample_of_the_obligations_is_proved_with_the_shipped_sets() -> None:
    argument = argument_of(partition, switches())
    assert argument is not None
    found = Obligations(partition, argument, (), switches())
    known = add_older_sets(CoreFile.load(shipped_file(argument)), argument)
    prover = prover_of(found, [item.key for item in found.all if item.may_use][::97])
    for item in prover.obligations.all:
        core = known.cores[item.key]
        assert prover.solve(item, core.lemmas, PROOF_EFFORT, core.way) is not None, item.key


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("changed", [{}, {"retries": True, "idempotence": True, "delivery_timeout": True}])
def test_every_obligation_is_proved_for_all_constants(changed: dict[str, Any]) -> None:
    made = prove_all_constants(partition, Limits(1, 600.0), constants=switches(**changed))
    assert [(item.subject, item.clause) for item in made.open] == []
    assert made.vacuous == ()
    assert made.holds


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("states", [200_000])
def test_the_reading_has_every_step_of_the_protocol(states: int) -> None:
    """Up to two leader epochs and two controller epochs, whatever several controllers believe."""
    argument = covering_argument(partition, switches())
    read = Reading(partition, (), switches(), argument.least)
    bounded = instance(max_leader_epoch=2, max_controller_epoch=2)
    compared = Comparison(read, bounded)
    found = search(Question(bounded, (compared.agreement(),)), Bounds(1, 4 << 30, max_states=states))
    assert found.violations == ()
    assert found.distinct_states > states // 2
