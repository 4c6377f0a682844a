"""Random runs: the same by their seed on any number of threads, made of real steps, and shortened to what they need."""

from __future__ import annotations

import json

import pytest

from acked.checker.explore.simulate import Plan, Simulation, _start, simulate
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.search.local import search
from acked.checker.spec.resolve import property_named
from acked.cli import main
from acked.model.catalogue import PROTOCOLS
from acked.reports.shell.specs import find_spec
from tests.oracle import Space

FAMILY = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
MASK = (1 << 64) - 1


def question_of(protocol: str, *names: str) -> Question:
    made = PROTOCOLS[protocol]
    return Question(made.instantiate(FAMILY), tuple(property_named(made, name) for name in names))


def mixed(x: int) -> int:
    y = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((y ^ y >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def by_hand(question: Question, plan: Plan) -> tuple[dict[str, int], int, int]:
    """Steps by action, runs that ended early and distinct states, said in plain Python for runs that violate nothing."""
    instance = question.instance
    counts = {item.name: 0 for item in instance.action_rules}
    seen, stuck = {instance.initial[0]}, 0
    for run in range(plan.runs):
        random, state = _start(plan.seed, run), instance.initial[0]
        for _ in range(plan.depth):
            codes = instance.schema.unpack(state)
            total, choice = 0, None
            for step in instance.enabled_actions(codes):
                weight = plan.weights.get(step.action.name, 1)
                if weight:
                    total += weight
                    random = (random + 0x9E3779B97F4A7C15) & MASK
                    if (mixed(random) * total) >> 64 < weight:
                        choice = step
            if choice is None:
                stuck += 1
                break
            counts[choice.action.name] += 1
            state = instance.schema.pack(instance.fire(choice, codes))
            seen.add(state)
    return counts, stuck, len(seen)


@pytest.mark.parametrize("weights", [{}, {"ControllerShrinkIsr": 0, "LeaderWrite": 7}])
def test_every_random_choice_is_as_the_seed_says(weights: dict[str, int]) -> None:
    question, plan = question_of("kip320", "WeakIsr"), Plan(60, 12, 3, weights)
    counts, stuck, distinct = by_hand(question, plan)
    found = simulate(question, plan, 1)
    assert {name: fired.enabled for name, fired in found.actions.items()} == counts
    assert found.stuck == stuck
    assert found.steps == sum(counts.values())
    assert abs(found.distinct[0] - distinct) <= 0.02 * distinct + 1
    assert found.violation is None


def told(found: Simulation) -> tuple[object, ...]:
    run = None if found.violation is None else found.violation.run.states
    return found.runs, found.steps, found.stuck, found.actions, found.distinct, run, found.number, found.length


def test_the_number_of_threads_has_no_say() -> None:
    for name, protocol in (("WeakIsr", "truncate-to-hw"), ("WeakIsr", "kip320")):
        answers = [simulate(question_of(protocol, name), Plan(3000, 40, 11, {}), workers) for workers in (1, 2, 3)]
        assert told(answers[0]) == told(answers[1]) == told(answers[2])
    assert told(simulate(question_of("kip320", "WeakIsr"), Plan(3000, 40, 12, {}), 2)) != told(answers[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "name", "seed"),
    [("truncate-to-hw", "WeakIsr", 1), ("truncate-to-hw", "StrongIsr", 2), ("kip320", "Deadlock", 3)],
)
def test_what_is_found_is_a_run_that_needs_every_step(protocol: str, name: str, seed: int) -> None:
    question = question_of(protocol, name)
    found = simulate(question, Plan(4000, 60, seed, {}), 2)
    assert found.violation is not None
    run, instance = found.violation.run, question.instance
    shortest = search(question).violations[0].run
    assert len(shortest.actions) <= len(run.actions) <= (found.length or 0)
    codes = instance.schema.unpack(run.states[0])
    for step, target in zip(run.actions, run.states[1:], strict=True):
        assert step in instance.enabled_actions(codes)
        codes = instance.fire(step, codes)
        assert instance.schema.pack(codes) == target
    space = Space(question)
    bad = {words for words in space.level_of if _is_bad(question, name, words)}
    assert run.states[-1] in bad
    for at in range(len(run.actions)):
        state = run.states[0]
        for step in run.actions[:at] + run.actions[at + 1 :]:
            codes = instance.schema.unpack(state)
            if step not in instance.enabled_actions(codes):
                break
            state = instance.schema.pack(instance.fire(step, codes))
            assert state not in bad


@pytest.mark.slow
@pytest.mark.parametrize("row", ["kafka10614", "kafka13194", "kafka13727", "hidden-refusal"])
def test_walks_of_what_stands_on_the_log_find_its_bugs_and_nothing_where_they_are_mended(row: str) -> None:
    """Coordinators, compaction with and without transactions, share groups: real steps, as few as a search needs at least."""
    bug, fix = (find_spec(f"{row}-{role}").question() for role in ("bug", "fix"))
    found = simulate(bug, Plan(20_000, 60, 1, {}), 2)
    assert found.violation is not None
    run, schema = found.violation.run, bug.instance.schema
    assert len(run.actions) >= len(search(bug).violations[0].run.actions)
    for step, before, after in zip(run.actions, run.states[:-1], run.states[1:], strict=True):
        assert schema.pack(bug.instance.fire(step, schema.unpack(before))) == after
    assert simulate(fix, Plan(2000, 60, 1, {}), 2).violation is None


def _is_bad(question: Question, name: str, words: tuple[int, ...]) -> bool:
    from acked.model.formulas.evaluate import Evaluator

    holds = Evaluator([question.holds_in_state(0)])
    return not holds(question.instance.schema.unpack(words))[0]


def test_long_enough_runs_see_the_whole_of_a_small_space() -> None:
    found = simulate(question_of("kip320", "WeakIsr"), Plan(60_000, 40, 5, {}), 2)
    assert found.violation is None
    assert 0.9 * 957 <= found.distinct[0] <= 1.02 * 957
    assert all(fired.enabled for fired in found.actions.values())


@pytest.mark.slow
def test_the_command_says_its_seed_and_that_nothing_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "kip320", "--runs", "100", "--depth", "20", "--seed", "9"]) == 152
    out = capsys.readouterr().out
    assert "this is not a proof" in out
    assert "--seed 9 makes the same traces again" in out
    assert "an estimate" in out
    assert main(["simulate", "truncate-to-hw", "--seed", "7", "--format", "json"]) == 12
    document = json.loads(capsys.readouterr().out)
    assert document["seed"] == 7
    assert document["violation"]["property"] == "WeakIsr"
    assert main(["simulate", "kip320", "--weight", "LeaderWrit=2"]) == 151
    assert "did you mean LeaderWrite?" in capsys.readouterr().err


def test_it_is_told_how_many_runs_are_made() -> None:
    told: list[tuple[int, int]] = []
    question = question_of("kip320", "WeakIsr")
    simulate(question, Plan(2500, 5, 1, {}), 2, lambda done, total: told.append((done, total)))
    assert told == [(1024, 2500), (2048, 2500), (2500, 2500)]


def test_a_deadlock_is_found_natively() -> None:
    question = Question(PROTOCOLS["kip320"].instantiate(FAMILY), (DEADLOCK,))
    assert simulate(question, Plan(2000, 60, 1, {}), 1).violation is not None
