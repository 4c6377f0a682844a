"""Liveness under fairness: every verdict against trying all sets of states, every lasso against its own table of steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from checker.bounds import Bounds
from checker.fairness import Group
from checker.lasso import refusal_of
from checker.levels import StopPolicy
from checker.liveness import _Fair, fair_parts
from checker.question import Question
from checker.result import Result, Run, StopReason, Verdict
from checker.search import search
from checker.written import liveness
from model.protocol import Protocol, require
from model.state import Struct, field
from model.values import Bool, Id

MEMORY = 1 << 26
PLACES = 5
LEFT = "a step is left"


class Place(Id, size=PLACES):
    """Where the walker is."""


class Whereabouts(Struct):
    """The walker's state; nothing is ever left."""

    place = field(Place)
    left = field(Bool)


Step = tuple[int, int, int]
"""An action, where it leaves, where it leads."""


@dataclass(frozen=True)
class Walk:
    """A drawn question: steps, those of them that a bound holds up, fairness by action, and what is promised."""

    steps: frozenset[Step]
    held: frozenset[Step]
    fair: tuple[str, str, str]
    trigger: frozenset[int] | None
    goal: frozenset[int]

    def groups(self) -> list[tuple[bool, frozenset[Step]]]:
        """(is strong, its steps, held up or not) of every fairness."""
        found = []
        for action, how in enumerate(self.fair):
            own = frozenset(step for step in self.steps | self.held if step[0] == action)
            if how.endswith("(target)"):
                found += [
                    (how.startswith("strong"), frozenset(step for step in own if step[2] == target))
                    for target in range(PLACES)
                ]
            elif how:
                found.append((how == "strong", own))
        return found

    def enabled(self, group: frozenset[Step], place: int, lifted: bool) -> bool:
        """Whether a step of a group can change the place; one that is held up counts if bounds are `lifted`."""
        return any(
            (step in self.held and lifted) or (step in self.steps and step not in self.held and step[2] != place)
            for step in group
            if step[1] == place
        )

    @property
    def moves(self) -> list[Step]:
        return [step for step in self.steps - self.held if step[1] != step[2]]


def reached(begin: set[int], moves: list[Step], inside: set[int]) -> set[int]:
    """Where one can get from `begin` without leaving `inside`."""
    found = begin & inside
    while more := {there for _, here, there in moves if here in found and there in inside and there not in found}:
        found |= more
    return found


def promise(walk: Walk) -> Any:
    def one_of(places: frozenset[int]) -> str:
        return " or ".join(f"place == {place}" for place in sorted(places)) or "False"

    names = "ABC"
    fairness = tuple(
        [how.replace(kind, names[at]) for at, how in enumerate(walk.fair) if how.startswith(kind)]
        for kind in ("weak", "strong")
    )
    trigger = None if walk.trigger is None else one_of(walk.trigger)
    return liveness("Arrives", trigger, one_of(walk.goal), (fairness[0], fairness[1]))


def question_of(walk: Walk) -> Question:
    protocol = Protocol(
        "walk", Whereabouts, title="", source="test", constants=(), initial=lambda s: None, budgets=(LEFT,)
    )
    for at, name in enumerate("abc"):

        def go(s: Whereabouts, origin: Place, target: Place, at: int = at) -> None:
            step = (at, origin.expr.value, target.expr.value)
            require("there is a way", step in walk.steps | walk.held)
            require("is there", s.place == origin)
            require(LEFT, s.left | (step not in walk.held))
            s.place = target

        def signed(s: Whereabouts, origin: Place, target: Place) -> None: ...

        go.__name__ = name
        go.__signature__ = __import__("inspect").signature(signed)  # type: ignore[attr-defined]
        go.__annotations__ = {"origin": Place, "target": Place}
        protocol.action()(go)
    return Question(protocol.instantiate({}), (promise(walk),))


# -- the judge: no components, just every set of states ------------------------------------------------------------------


def can_stay(walk: Walk, places: set[int], lifted: bool) -> bool:
    """Whether a fair run can visit exactly these places again and again."""
    inner = [step for step in walk.moves if step[1] in places and step[2] in places]
    if any(reached({place}, inner, places) != places for place in places):
        return False
    for is_strong, group in walk.groups():
        enabled = [walk.enabled(group, place, lifted) for place in places]
        passed_over = any(enabled) if is_strong else all(enabled)
        if passed_over and not any(step in group for step in inner):
            return False
    return True


def plainly(walk: Walk) -> str:
    everywhere = set(range(PLACES))
    seen = reached({0}, walk.moves, everywhere)
    asks = {0} if walk.trigger is None else seen & walk.trigger
    without = reached(asks - walk.goal, walk.moves, everywhere - walk.goal)
    sets = [set(chosen) for size in range(1, PLACES + 1) for chosen in combinations(sorted(without), size)]
    if any(can_stay(walk, places, lifted=True) for places in sets):
        return "violated"
    return "budget" if any(can_stay(walk, places, lifted=False) for places in sets) else "holds"


def said(result: Result) -> str:
    if result.stopped is StopReason.BUDGET:
        assert result.verdict is Verdict.INCOMPLETE
        return "budget"
    return result.verdict.value


def places(result: Result) -> list[int]:
    """Where the run that was found leads."""
    unpack = result.question.instance.schema.unpack
    return [unpack(state)[0] for state in result.violations[0].run.states]


def check_lasso(walk: Walk, places: list[int], run: Run) -> None:
    """That a run is one, that it comes back, is fair, and never reaches what it should: by the walk's own table."""
    labels = {"A": 0, "B": 1, "C": 2}
    steps = [
        (labels[step.action.name], here, there)
        for step, here, there in zip(run.actions, places, places[1:], strict=False)
    ]
    assert places[0] == 0
    assert set(steps) <= walk.steps - walk.held
    assert run.loop is not None
    assert places[run.loop] == places[-1]
    loop, inner = places[run.loop :], steps[run.loop :]
    bad = [at for at, place in enumerate(places) if place in walk.goal]
    asks = [at for at, place in enumerate(places) if at == 0 or walk.trigger is not None]
    asks = [at for at in asks if walk.trigger is None or places[at] in walk.trigger]
    assert any(all(here < at for here in bad) for at in asks)
    assert not set(loop) & walk.goal
    for is_strong, group in walk.groups():
        enabled = [walk.enabled(group, place, lifted=True) for place in loop]
        assert any(step in group for step in inner) or not (any(enabled) if is_strong else all(enabled))


STEPS = st.tuples(st.integers(0, 2), st.integers(0, PLACES - 1), st.integers(0, PLACES - 1))
HOW = st.sampled_from(["", "weak", "strong", "weak(target)", "strong(target)"])
SETS = st.frozensets(st.integers(0, PLACES - 1), max_size=2)
WALKS = st.builds(
    Walk,
    st.frozensets(STEPS, min_size=2, max_size=12),
    st.just(frozenset()),
    st.tuples(HOW, HOW, HOW),
    st.none() | SETS,
    SETS,
)
BOUNDED = st.builds(
    lambda walk, held: Walk(walk.steps, held, walk.fair, walk.trigger, walk.goal),
    WALKS,
    st.frozensets(STEPS, max_size=3),
)

ROUND = frozenset({(0, 0, 1), (1, 1, 0), (2, 1, 2)})
"""0 and 1 in turns, and from 1 a way to 2."""


@settings(max_examples=400, deadline=None)
@given(WALKS)
def test_the_fair_parts_are_the_union_of_all_sets_in_which_a_fair_run_can_stay(walk: Walk) -> None:
    steps = sorted(walk.steps)
    numbers = [np.array([step[at] for step in steps], np.int64) for at in range(3)]
    graph: Any = SimpleNamespace(count=PLACES, sources=numbers[1], targets=numbers[2])
    groups = []
    for is_strong, group in walk.groups():
        taken = np.array([step in group and step[1] != step[2] for step in steps])
        enabled = np.array([walk.enabled(group, place, lifted=False) for place in range(PLACES)])
        groups.append(_Fair(Group("", is_strong, ()), taken, enabled))
    region = np.array([place not in walk.goal for place in range(PLACES)])
    inside = [place for place in range(PLACES) if place not in walk.goal]
    sets = [set(chosen) for size in range(1, PLACES + 1) for chosen in combinations(inside, size)]
    expected = set().union(*(places for places in sets if can_stay(walk, places, lifted=False)), set())
    assert set(np.flatnonzero(fair_parts(graph, region, groups) >= 0).tolist()) == expected


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(Walk(ROUND, frozenset(), ("", "", ""), None, frozenset({2})))
@example(Walk(ROUND, frozenset(), ("weak", "weak", "weak"), None, frozenset({2})))
@example(Walk(ROUND, frozenset(), ("weak", "", "strong"), None, frozenset({2})))
@example(Walk(ROUND, frozenset({(2, 1, 2)}), ("weak", "weak", "strong"), None, frozenset({2})))
@given(BOUNDED)
def test_random_questions_are_answered_as_by_trying_every_set_of_states(walk: Walk) -> None:
    question, expected = question_of(walk), plainly(walk)
    event(expected)
    results = [search(question, Bounds(workers, MEMORY), StopPolicy.EVERY_PROPERTY) for workers in (1, 2)]
    assert [said(result) for result in results] == [expected, expected]
    if expected == "violated":
        runs = [result.violations[0].run for result in results]
        assert runs[0] == runs[1]
        check_lasso(walk, places(results[0]), runs[0])
        assert refusal_of(question, question.properties[0], runs[0]) == ""


def answered(fair: tuple[str, str, str], held: frozenset[Step] = frozenset()) -> tuple[str, Result]:
    result = search(question_of(Walk(ROUND, held, fair, None, frozenset({2}))), Bounds(1, MEMORY))
    return said(result), result


def test_without_fairness_a_run_may_stand_still() -> None:
    verdict, result = answered(("", "", ""))
    assert verdict == "violated"
    assert int(result.exit_code) == 13
    assert places(result) == [0]
    assert result.violations[0].run.loop == 0


def test_weak_fairness_is_not_enough_where_an_action_is_disabled_again_and_again() -> None:
    verdict, result = answered(("weak", "weak", "weak"))
    assert (verdict, places(result), result.violations[0].run.loop) == ("violated", [0, 1, 0], 0)
    assert answered(("weak", "weak", "strong"))[0] == "holds"


def test_leaving_out_one_fairness_breaks_what_held() -> None:
    assert answered(("weak", "", "strong"))[0] == "holds"
    assert answered(("", "", "strong"))[0] == "violated"
    assert answered(("weak", "", ""))[0] == "violated"


def test_what_only_a_bound_keeps_from_happening_is_no_violation() -> None:
    verdict, result = answered(("weak", "", "strong"), held=frozenset({(2, 1, 2)}))
    assert verdict == "budget"
    assert int(result.exit_code) == 152
    assert LEFT in result.notes[0]


def test_a_step_that_changes_nothing_is_not_taken_and_does_not_count_as_enabled() -> None:
    idle = frozenset({(0, 0, 0), (1, 0, 1)})
    asked = Walk(idle, frozenset(), ("strong", "", ""), None, frozenset({1}))
    run = search(question_of(asked), Bounds(1, MEMORY)).violations[0].run
    assert (run.actions, run.loop) == ((), 0)


@pytest.mark.parametrize(("fair", "verdict"), [("strong", "violated"), ("strong(target)", "holds")])
def test_one_instance_is_enough_for_an_action_but_every_value_counts_of_a_parameter(fair: str, verdict: str) -> None:
    both = frozenset({(0, 0, 1), (0, 1, 0), (0, 1, 2)})
    asked = Walk(both, frozenset(), (fair, "", ""), None, frozenset({2}))
    assert said(search(question_of(asked), Bounds(1, MEMORY))) == verdict
