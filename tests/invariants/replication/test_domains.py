"""The domain lemmas in every reachable state of small instances, and how they relate to the encoding of states."""

from __future__ import annotations

import pytest

from acked.checker.question.question import Question
from acked.invariants.catalogue import properties_of
from acked.invariants.replication.domains import DOMAIN_LEMMAS
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from tests.oracle import Space


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_lemma_holds_in_every_reachable_state(name: str) -> None:
    instance = PROTOCOLS[name].instantiate({"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1})
    holds = Evaluator([instance.state_predicate(lemma.name, lemma.predicate) for lemma in DOMAIN_LEMMAS])
    for state in Space(Question(instance, ())).level_of:
        assert holds(instance.schema.unpack(state)) == [1] * len(DOMAIN_LEMMAS)


def test_lemmas_are_documented_and_not_offered_to_specs() -> None:
    offered = properties_of(PROTOCOLS["kip320"])
    for lemma in DOMAIN_LEMMAS:
        assert lemma.promise
        assert lemma.source
        assert lemma.predicate.__doc__
        assert lemma.name not in offered
