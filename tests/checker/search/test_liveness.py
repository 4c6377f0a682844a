"""Liveness under fairness: every verdict against trying all sets of states, every lasso against its own table of steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.plain import from_plain, to_plain
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.gate.gate import judge
from acked.checker.question.fairness import Group
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, Run, StopReason, Verdict
from acked.checker.question.user_properties import liveness
from acked.checker.replay.lasso import refusal_of
from acked.checker.replay.trace_file import replay, trace_document
from acked.checker.search.liveness import _Fair, fair_parts
from acked.checker.search.local import search
from acked.checker.spec.expectation import Reason
from acked.checker.spec.spec import Spec, load_spec, parse_spec
from acked.cli import main
from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.state import Struct, field
from acked.model.language.values import Bool, Id
from tests.places import SPECS

SPECS = SPECS / "liveness"
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

    def enabled_actions(self, group: frozenset[Step], place: int, lifted: bool) -> bool:
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
        enabled = [walk.enabled_actions(group, place, lifted) for place in places]
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
        enabled = [walk.enabled_actions(group, place, lifted=True) for place in loop]
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


@pytest.mark.slow
@settings(max_examples=120)
@given(WALKS)
def test_the_fair_parts_are_the_union_of_all_sets_in_which_a_fair_run_can_stay(walk: Walk) -> None:
    steps = sorted(walk.steps)
    numbers = [np.array([step[at] for step in steps], np.int64) for at in range(3)]
    graph: Any = SimpleNamespace(count=PLACES, sources=numbers[1], targets=numbers[2])
    groups = []
    for is_strong, group in walk.groups():
        taken = np.array([step in group and step[1] != step[2] for step in steps])
        enabled = np.array([walk.enabled_actions(group, place, lifted=False) for place in range(PLACES)])
        groups.append(_Fair(Group("", is_strong, ()), taken, enabled))
    region = np.array([place not in walk.goal for place in range(PLACES)])
    inside = [place for place in range(PLACES) if place not in walk.goal]
    sets = [set(chosen) for size in range(1, PLACES + 1) for chosen in combinations(inside, size)]
    expected = set().union(*(places for places in sets if can_stay(walk, places, lifted=False)), set())
    assert set(np.flatnonzero(fair_parts(graph, region, groups) >= 0).tolist()) == expected


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
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


@pytest.mark.slow
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


@pytest.mark.parametrize(("trigger", "verdict"), [(None, "holds"), (frozenset(range(PLACES)), "violated")])
def test_a_goal_that_has_come_once_need_not_come_again(trigger: frozenset[int] | None, verdict: str) -> None:
    through = frozenset({(0, 0, 1), (0, 1, 2)})
    asked = Walk(through, frozenset(), ("weak", "", ""), trigger, frozenset({1}))
    assert plainly(asked) == verdict
    assert said(search(question_of(asked), Bounds(1, MEMORY))) == verdict


@pytest.mark.parametrize(
    ("steps", "fair", "goal", "expected"),
    [
        # Three ends, the least of which is found last.
        ({(0, 0, 3), (1, 0, 2), (2, 0, 1)}, ("weak", "weak", "weak"), set(), [0, 1]),
        # Two places where c can be taken without the goal, the lesser of which is found last.
        ({(0, 0, 3), (1, 0, 2), (2, 3, 0), (2, 2, 0), (2, 0, 4)}, ("", "", "weak"), {4}, [0, 2, 0]),
        # The lesser of two ways to one place.
        ({(0, 0, 3), (1, 0, 2), (2, 3, 4), (2, 2, 4)}, ("weak", "weak", "weak"), set(), [0, 2, 4]),
    ],
)
def test_ties_are_broken_by_the_states_themselves(
    steps: set[Step], fair: tuple[str, str, str], goal: set[int], expected: list[int]
) -> None:
    asked = Walk(frozenset(steps), frozenset(), fair, None, frozenset(goal))
    for workers in (1, 2):
        assert places(search(question_of(asked), Bounds(workers, MEMORY))) == expected


@pytest.mark.parametrize(("fair", "verdict"), [("strong", "violated"), ("strong(target)", "holds")])
def test_one_instance_is_enough_for_an_action_but_every_value_counts_of_a_parameter(fair: str, verdict: str) -> None:
    both = frozenset({(0, 0, 1), (0, 1, 0), (0, 1, 2)})
    asked = Walk(both, frozenset(), (fair, "", ""), None, frozenset({2}))
    assert said(search(question_of(asked), Bounds(1, MEMORY))) == verdict


# -- shipped questions ------------------------------------------------------------------------------------------------


def shipped(name: str) -> Spec:
    return load_spec(SPECS / f"{name}.toml")


@cache
def answer(name: str, workers: int = 1) -> Result:
    return search(shipped(name).question(), Bounds(workers, MEMORY))


@pytest.mark.slow
def test_the_three_kinds_of_answers_are_shipped() -> None:
    assert said(answer("leader-in-office")) == "holds"
    assert said(answer("leader-in-office-weak")) == "violated"
    assert said(answer("leader-in-office-bounded")) == "budget"
    assert "a leader epoch is left" in answer("leader-in-office-bounded").notes[0]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["leader-in-office-weak", "majority-older-term", "record-settles-among-crashes"])
def test_two_workers_find_the_same_lasso_and_the_plain_evaluator_confirms_it(name: str) -> None:
    runs = [answer(name, workers).violations[0].run for workers in (1, 2)]
    question = shipped(name).question()
    assert (runs[0].states, runs[0].loop) == (runs[1].states, runs[1].loop)
    assert [step.label for step in runs[0].actions] == [step.label for step in runs[1].actions]
    assert refusal_of(question, question.properties[0], Run(runs[0].states, tuple(
        next(step for step in question.instance.actions if step.label == taken.label) for taken in runs[0].actions
    ), runs[0].loop)) == ""  # fmt: skip


@pytest.mark.parametrize("without", ["Restart(broker)", "ElectLeader", "BecomeLeader"])
def test_every_fairness_that_a_spec_asks_for_is_needed(without: str) -> None:
    question = shipped("leader-in-office").question()
    (item,) = question.properties
    assert item.liveness is not None
    fair = [tuple(text for text in texts if text != without) for texts in (item.liveness.weak, item.liveness.strong)]
    weaker = replace(item, liveness=replace(item.liveness, weak=fair[0], strong=fair[1]))
    assert said(search(replace(question, properties=(weaker,)), Bounds(1, MEMORY))) == "violated"
    assert replace(question, properties=(weaker,)).fingerprint != question.fingerprint


def test_all_that_the_graph_says_is_reported_and_nothing_that_it_refutes_holds() -> None:
    question = shipped("record-settles-unfetched").question()
    twin = replace(question.properties[0], name="Twin")
    result = search(replace(question, properties=(*question.properties, twin)), Bounds(1, MEMORY))
    assert list(result.violated) == ["Settles", "Twin"]


@pytest.mark.slow
def test_an_outcome_survives_its_file() -> None:
    spec = shipped("leader-in-office-weak")
    outcome = Outcome.of(search(Task.of(spec).question(), Bounds(1, MEMORY)))
    assert from_plain(Outcome, json.loads(json.dumps(to_plain(outcome)))) == outcome
    assert outcome.violations[0].loop == 3
    assert outcome.fingerprint == spec.question().fingerprint


def test_a_trigger_that_no_state_meets_says_nothing() -> None:
    text = (SPECS / "record-settles.toml").read_text().replace("log[0].end > broker[0].hw", "log[0].end < broker[0].hw")
    spec = parse_spec(text, Path("x.toml"))
    outcome = Outcome.of(search(Task.of(spec, Probing.VACUITY).question(), Bounds(1, MEMORY)))
    assert outcome.verdict is Verdict.HOLDS
    assert [departure.reason for departure in judge(spec, outcome)] == [Reason.VACUOUS]


# -- traces -----------------------------------------------------------------------------------------------------------


def document_of(name: str) -> dict[str, Any]:
    result = answer(name)
    item = result.violations[0]
    made: dict[str, Any] = json.loads(json.dumps(trace_document(Counterexample.of("x", result.question, item))))
    return made


def test_a_lasso_is_replayed() -> None:
    document = document_of("leader-in-office-weak")
    replayed = replay(document)
    assert (replayed.run.loop, document["loop"], len(document["steps"])) == (3, 3, 7)
    assert replayed.run.states[3] == replayed.run.states[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "edit", "said_of_it"),
    [
        ("leader-in-office-weak", lambda d: d.update(loop=2), "does not come back to its step 2"),
        ("leader-in-office-weak", lambda d: d.update(loop=7), "does not come back to its step 7"),
        ("leader-in-office-weak", lambda d: d.update(loop=-1), "does not come back to its step -1"),
        ("leader-in-office-weak", lambda d: d.update(loop=True), "must be the number of a step"),
        ("leader-in-office-weak", lambda d: d.pop("loop"), "has no loop"),
        ("leader-in-office-weak", lambda d: d["steps"].pop(), "does not come back to its step 3"),
        ("leader-in-office-weak", lambda d: d.update(loop=6), "passes over Restart\\(broker=0\\), whose fairness is weak"),
        ("leader-in-office-weak", lambda d: d["spec"].update(violates=None), "has a loop, but claims to violate nothing"),
        ("leader-in-office-weak", lambda d: d["spec"]["fairness"].update(strong=["BecomeLeader(leader)"]), "is strong"),
        ("leader-in-office-weak", lambda d: d["spec"]["fairness"].update(weak=["Elect"]), "did you mean ElectLeader"),
        ("leader-in-office-weak", lambda d: d["spec"]["liveness"].update(Led=["False", "False"]), "no state in which False"),
        ("leader-in-office-weak", lambda d: d["spec"]["liveness"].update(Led="True"), "a state in its loop in which True"),
        ("leader-in-office-weak", lambda d: d["spec"]["liveness"].update(Led=["True"]), "a trigger and a goal"),
        ("leader-in-office-weak", lambda d: d["spec"]["liveness"].update(Led="broker[1].down"), "it has a state in which"),
        ("leader-in-office-weak", lambda d: d["spec"].pop("fairness"), "'fairness' is missing"),
        ("leader-in-office-weak", lambda d: d["spec"]["liveness"].update(OneLeader="False"), "cannot be the name of a"),
        ("majority-older-term", lambda d: d["steps"].pop(), "does not come back to its step 5"),
        ("majority-older-term", lambda d: (d["steps"].pop(), d.update(loop=4)), "not fair: its loop passes over Replicate"),
    ],
)
def test_a_trace_that_was_edited_is_refused(name: str, edit: Callable[[dict[str, Any]], Any], said_of_it: str) -> None:
    document = document_of(name)
    edit(document)
    with pytest.raises((SpecUnreadable, ConfigurationError), match=said_of_it):
        replay(document)


@pytest.mark.parametrize(
    ("asked", "labels", "refused"),
    [
        # A step that changes nothing is not what fairness asks for.
        (Walk(frozenset({(0, 0, 0), (0, 0, 1)}), frozenset(), ("weak", "", ""), None, frozenset({1})), "A(0, 0)", "over A"),
        # What only a bound keeps from happening counts as passed over.
        (Walk(ROUND, frozenset({(2, 1, 2)}), ("weak", "", "strong"), None, frozenset({2})), "A(0, 1) B(1, 0)", "over C"),
        (Walk(ROUND, frozenset(), ("weak", "", ""), None, frozenset({2})), "A(0, 1) B(1, 0)", ""),
    ],
)
def test_a_loop_is_judged_by_the_plain_evaluator_alone(asked: Walk, labels: str, refused: str) -> None:
    question = question_of(asked)
    instance = question.instance
    states, actions = [instance.initial[0]], []
    for name, origin, target in re.findall(r"(\w)\((\d), (\d)\)", labels):
        arguments = {"origin": int(origin), "target": int(target)}
        actions += [step for step in instance.actions if step.action.name == name and step.arguments == arguments]
        states.append(instance.schema.pack(instance.fire(actions[-1], instance.schema.unpack(states[-1]))))
    refusal = refusal_of(question, question.properties[0], Run(tuple(states), tuple(actions), 0))
    assert (refused in refusal) if refused else refusal == ""


@pytest.mark.slow
def test_the_command_tells_the_story_and_shows_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, trace, page = str(SPECS / "leader-in-office-weak.toml"), tmp_path / "t.json", tmp_path / "t.html"
    assert main(["check", spec, "--quiet", "--trace-out", str(trace)]) == 13
    told = " ".join(capsys.readouterr().out.split())
    assert main(["show", str(trace)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    back = "Back to step 3: the state is the one after that step"
    for sentence in ("Here the loop begins.", back, "Steps 4 to 6 can repeat forever"):
        assert sentence in told
        assert sentence in shown
    assert "Led in 6 steps, the last 3 of which repeat forever" in told
    assert main(["view", str(trace), "--out", str(page), "--quiet"]) == 0
    assert '"remarks":{"3":"Here the loop begins.","6":"Back to step 3' in page.read_text()
    itf = tmp_path / "t.itf.json"
    assert main(["export", str(trace), "--to", "itf", "--out", str(itf)]) == 0
    exported = json.loads(itf.read_text())
    assert (exported["loop"], len(exported["states"])) == (3, 6)
