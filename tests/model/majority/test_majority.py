"""The protocol of majorities: what its constants add and take away, its words, and what one-step elections leave out."""

from __future__ import annotations

from typing import Any

import pytest

from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.model.majority.protocol import majority
from acked.model.majority.state import most_terms
from acked.model.ranks import MAX_RANKS
from tests.model.walking import reachable, sentences

TINY: dict[str, Any] = {"replicas": 3, "log_size": 1, "records": 1}


def names(instance: Instance) -> set[str]:
    return {item.action.name for item in instance.actions}


def leaves(instance: Instance) -> set[str]:
    return {leaf.name for leaf in instance.schema.leaves if leaf.bits}


def test_a_part_that_is_turned_off_adds_neither_fields_nor_actions() -> None:
    plain = majority.instantiate({**TINY, "crashes": "none"})
    assert names(plain) == {"Elect", "Write", "Replicate", "Heartbeat", "Commit"}
    assert not {"replica[0].down", "replica[0].voted_for", "replica[0].lost", "lossy_left"} & leaves(plain)
    full = majority.instantiate(
        {**TINY, "crashes": "lossy", "lossy_crashes": 1, "votes": "one by one", "max_term": 2}
    )
    assert names(full) == names(plain) - {"Elect"} | {"Stand", "Vote", "TakeOffice", "HearOfTerm", "Crash", "Restart"}
    assert {"replica[0].down", "replica[0].voted_for", "replica[0].granted", "replica[0].lost", "lossy_left"} <= leaves(full)
    assert "replica[0].lost" not in leaves(majority.instantiate({**TINY, "crashes": "lossy", "lost_logs_vote": True}))


@pytest.mark.parametrize(("replicas", "voters"), [(1, 1), (2, 2), (3, 2), (4, 3)])
def test_more_than_half_of_the_replicas_elect(replicas: int, voters: int) -> None:
    instance = majority.instantiate({"replicas": replicas, "log_size": 1, "records": 1})
    elections = [step.arguments for step in instance.actions if step.action.name == "Elect"]
    assert {len(item["voters"]) for item in elections} == {voters}
    assert all(item["candidate"] in item["voters"] for item in elections)


def test_a_parameter_that_is_a_set_is_named_as_a_set() -> None:
    instance = majority.instantiate(TINY)
    assert "Elect(candidate=2, voters=[0, 2])" in {step.label for step in instance.actions}


def test_sizes_whose_terms_cannot_be_told_apart_by_rank_need_a_bound_as_do_single_votes() -> None:
    for replicas, log_size in ((1, 4), (2, 4), (3, 3), (4, 2), (5, 1)):
        assert most_terms({"replicas": replicas, "log_size": log_size}) <= MAX_RANKS
    with pytest.raises(ModelError, match=r"15 terms may be in use .* max_term"):
        majority.instantiate({"replicas": 5, "log_size": 2})
    with pytest.raises(ModelError, match="bound them with max_term"):
        majority.instantiate({**TINY, "votes": "one by one"})
    assert majority.instantiate({**TINY, "votes": "one by one", "max_term": 3}).actions


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"crashes": "lossy"}, {"crashes": "lossy", "votes": "one by one", "max_term": 9}])
def test_every_action_says_in_a_sentence_what_it_does(other: dict[str, Any]) -> None:
    instance = majority.instantiate({"replicas": 3, "log_size": 2, "records": 2, **other})
    told: dict[str, str] = {}
    # A run is soon at its end: no record is left to write, and who has lost its log votes no more.
    for kind, text in sentences(instance, 900, length=30):
        assert text[0].islower()
        assert "None" not in text
        told.setdefault(kind, text)
    assert set(told) == names(instance)


# -- elections in one step, and vote by vote ------------------------------------------------------------------------


def states(instance: Instance) -> list[dict[str, Any]]:
    """Every reachable state, decoded."""
    return [instance.schema.decode(instance.schema.unpack(words)) for words in reachable(instance)]


def ranked(state: dict[str, Any], fields: tuple[str, ...]) -> str:
    """Logs with their terms by rank, what was acknowledged, and these fields of every replica."""
    terms = sorted({record["term"] for log in state["log"] for record in log["records"]})
    logs = [[(record["id"], terms.index(record["term"])) for record in log["records"]] for log in state["log"]]
    return repr((logs, state["acked"], state["next_record"], [[r[name] for name in fields] for r in state["replica"]]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [
        {"replicas": 2, "log_size": 1, "records": 2, "max_term": 3},
        {"replicas": 3, "log_size": 1, "records": 1, "max_term": 1},
        pytest.param({"replicas": 3, "log_size": 1, "records": 2, "max_term": 2}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_one_step_elections_reach_the_logs_and_answers_that_single_votes_reach(constants: dict[str, Any]) -> None:
    """Not the same states: a leader may have stepped down for a candidate that nobody elects."""
    fields = ("down", "hw")
    found = [
        {ranked(state, fields) for state in states(majority.instantiate({**constants, "votes": votes}))}
        for votes in ("at once", "one by one")
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 20


def test_ranks_reach_what_few_terms_reach_and_from_some_number_of_terms_on_no_more() -> None:
    constants = {"replicas": 2, "log_size": 1, "records": 2}
    fields = ("down", "hw", "leads")
    ranks, *bounded = (
        {ranked(state, fields) for state in states(majority.instantiate({**constants, "max_term": bound}))}
        for bound in (0, 1, 5)
    )
    assert bounded[0] < bounded[1] == ranks
