"""What find prints and writes: reached, unreachable only if every state was seen, and incomplete otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.user_properties import sought
from acked.checker.search.local import search
from acked.model.catalogue import PROTOCOLS
from acked.reports.tables.find import PredicateSearch, find_document, print_find

CONSTANTS = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}


def answered(max_states: int | None = None) -> PredicateSearch:
    wanted = (sought("Empty", "quorum.isr == {}"), sought("Never", "log[0].end > 1"))
    question = Question(PROTOCOLS["kip320"].instantiate(CONSTANTS), wanted)
    result = search(question, Bounds(1, 1 << 28, None, max_states), StopPolicy.EVERY_PROPERTY)
    return PredicateSearch("a title", result, wanted, ())


def test_what_is_reached_has_its_steps_and_what_is_unreachable_the_states_that_were_seen(drawn: Callable[..., Any]) -> None:
    found = answered()
    text = drawn(print_find, found).text
    assert "✓ reached in 2 steps: quorum.isr == {}" in text
    assert f"✗ unreachable: none of the {found.result.distinct_states:,} reachable states satisfies log[0].end > 1" in text


def test_what_a_bound_left_open_is_not_called_unreachable(drawn: Callable[..., Any]) -> None:
    text = drawn(print_find, answered(max_states=5)).text
    assert "the search is incomplete (" in text
    assert "unreachable" not in text


@pytest.mark.parametrize(("max_states", "verdict"), [(None, "unreachable"), (5, "incomplete")])
def test_the_document_counts_states_of_traces_and_has_one_only_for_what_is_reached(
    max_states: int | None, verdict: str
) -> None:
    document = find_document("mine", answered(max_states), 1.0)
    reached, never = document["found"]
    assert never == {"name": "Never", "predicate": "log[0].end > 1", "verdict": verdict, "trace_length": None, "trace": None}
    if max_states is None:
        assert (reached["verdict"], reached["trace_length"], len(reached["trace"]["steps"])) == ("reached", 3, 3)
    assert document["spec"] == "mine"
