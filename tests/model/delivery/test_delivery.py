"""Delivery end to end, held against an enumeration that shares nothing with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.delivery.protocol import delivery
from acked.model.delivery.versions import profile
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.model.releases import TRANSACTIONAL
from tests.model.delivery.enumeration import Rules, explore
from tests.model.twins import assert_is_asked
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly

PROMISES = tuple(properties_of(delivery).values())


def answer(made: Instance, is_symmetric: bool = False) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and by promise that is broken the length of a shortest trace."""
    question = Question(made, PROMISES, is_symmetric=is_symmetric)
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    return result.distinct_states, {item.property.name: item.trace_length - 1 for item in result.violations}


CASES = [
    Rules(),
    Rules(ids="per partition", group_metadata=False, stable_offsets=False),
    Rules(commits="before", idempotence=False),
    Rules(commits="after"),
    Rules(commits="auto", threads=True),
    Rules(commits="auto", crashes=False, inputs=3),
    Rules(commits="after", rebalances=False, lost_answers=False, members=3),
    Rules(commits="after", one_owner=False),
    Rules(commits="after", one_owner=False, rebalances=False, lost_answers=False, members=3, inputs=1),
    Rules(commits="auto", commits_returned=False),
    Rules(commits="before", keeps_offsets=False),
]
LARGER = [
    Rules(one_owner=False),
    Rules(one_owner=False, ids="per partition", group_metadata=False),
    Rules(group_metadata=False),
    Rules(stable_offsets=False),
    Rules(keeps_offsets=False),
    Rules(ids="per partition", members=3, inputs=3),
]


def told(rules: Rules) -> str:
    """What a case has other than the defaults."""
    return ", ".join(f"{name}={value}" for name, value in asdict(rules).items() if value != getattr(Rules(), name))


@pytest.mark.parametrize("rules", [*CASES, *(pytest.param(item, marks=pytest.mark.long) for item in LARGER)], ids=told)
def test_states_verdicts_and_lengths_are_those_of_an_enumeration_that_knows_nothing_of_the_protocol(rules: Rules) -> None:
    assert answer(delivery.instantiate(asdict(rules))) == explore(rules)


def test_the_enumeration_is_asked_about_every_constant() -> None:
    assert_is_asked(delivery.constants, map(asdict, CASES + LARGER))


def test_the_native_search_says_what_the_plain_evaluator_says() -> None:
    question = Question(delivery.instantiate({"commits": "after"}), PROMISES)
    result = search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(result, explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY))
    assert result.distinct_states > 500


def test_members_are_interchangeable() -> None:
    made = delivery.instantiate({})
    plain, folded = answer(made), answer(made, is_symmetric=True)
    assert plain[0] / 2 <= folded[0] < plain[0]
    assert plain[1] == folded[1] == {}


@pytest.mark.parametrize(
    ("constants", "broken"),
    [
        ({"commits": "before"}, ("NoInputLost",)),
        ({"commits": "before", "idempotence": False}, ("NoInputLost", "NoInputTwice")),
        ({"commits": "after"}, ("NoInputTwice",)),
        ({"commits": "auto"}, ("NoInputTwice",)),
        ({"commits": "auto", "threads": True}, ("NoInputLost", "NoInputTwice")),
        ({"commits": "in transaction"}, ()),
        ({"group_metadata": False}, ("NoInputTwice",)),
        ({"stable_offsets": False}, ("NoInputTwice",)),
        ({"commits": "after", "crashes": False, "rebalances": False}, ()),
        ({"commits": "after", "crashes": False, "rebalances": False, "one_owner": False}, ("NoInputTwice",)),
        ({"one_owner": False}, ("NoInputTwice",)),
        ({"keeps_offsets": False}, ("NoInputTwice",)),
        ({"commits": "before", "keeps_offsets": False}, ("NoInputLost", "NoInputTwice")),
        ({"ids": "per partition", "one_owner": False}, ()),
        ({"commits": "auto", "commits_returned": False}, ("NoInputLost", "NoInputTwice")),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),  # The same in every process.
)
def test_how_offsets_are_committed_decides_what_is_promised(constants: dict[str, Any], broken: tuple[str, ...]) -> None:
    assert sorted(answer(delivery.instantiate(constants))[1]) == sorted(broken)


def test_two_owners_are_of_one_generation_until_one_of_them_is_told_or_dies() -> None:
    made = delivery.instantiate({"commits": "after", "one_owner": False})

    def owners(*steps: tuple[str, int]) -> tuple[Any, Any]:
        codes = made.schema.unpack(made.initial[0])
        for name, member in (("Rebalance", 0), ("GiveTwice", 1), *steps):
            codes = made.fire(made.action_instance(name, {"member": member}), codes)
        state = made.schema.decode(codes)
        return state["owner"], state["also"]

    assert owners() == (0, 1)
    assert owners(("LeaveToOne", 1)) == owners(("Crash", 0)) == (1, None)
    assert owners(("LeaveToOne", 0)) == owners(("Crash", 1)) == (0, None)


def test_with_the_rules_on_the_state_has_no_second_owner() -> None:
    made = delivery.instantiate({})
    assert "also" not in made.schema.decode(made.schema.unpack(made.initial[0]))


def test_releases_have_the_rules_that_came_with_them() -> None:
    rules = {version: {name: item.value for name, item in profile(version, None).items()} for version in TRANSACTIONAL}
    had = {version: rules[version] for version in ("2.4", "2.5")}
    assert had == {
        "2.4": {"idempotence": 0, "group_metadata": 0, "stable_offsets": 0},
        "2.5": {"idempotence": 0, "group_metadata": 1, "stable_offsets": 1},
    }, "a rule has an entry in each: what that release has"
    with pytest.raises(ModelError, match=r"there is no version '2.44' \(did you mean 2.4\?\)"):
        profile("2.44", None)
    with pytest.raises(ModelError, match="remove the control plane"):
        profile("2.4", "kraft")


@pytest.mark.parametrize(
    ("commits", "keeps"), [("before", True), ("after", True), ("auto", True), ("in transaction", True), ("auto", False)]
)
def test_every_action_says_in_a_sentence_what_it_does(commits: str, keeps: bool) -> None:
    threads = commits == "auto"
    rules = {"commits": commits, "threads": threads, "ids": "per partition", "one_owner": keeps, "keeps_offsets": keeps}
    made = delivery.instantiate(rules)
    told: dict[str, str] = {}
    for kind, text in sentences(made, 1200):
        assert "None" not in text
        told.setdefault(kind, text)
    assert set(told) == {item.action.name for item in made.actions}


def test_nobody_that_is_alone_hears_of_a_loss() -> None:
    question = Question(delivery.instantiate({"commits": "after", "crashes": False, "rebalances": False}), PROMISES)
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    assert result.verdict is Verdict.HOLDS
    assert list(result.never_fired) == ["HearOfLoss"]
