"""Bounded model checking: as short as the search's, judged by the plain evaluator, and no proof."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.result import ProofResult
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search.local import LocalSearch, search
from acked.checker.solver.problem import conditions, make_problem
from acked.checker.solver.terms import LoweredProblem
from acked.checker.spec.variants import file_and_variant, specs_under
from acked.checker.symmetry.check import named_initially
from acked.invariants.property import Kind, Property
from acked.invariants.replication.properties import PROPERTIES
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.errors import DomainOverflow
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from tests.places import SPECS

KNOWN = {item.name: item for item in PROPERTIES}
LIMITS = Limits(jobs=1, timeout=600.0)


def instance_of(name: str, numbers: tuple[int, ...], drop: Iterable[tuple[str, str]] = ()) -> Instance:
    protocol = PROTOCOLS[name]
    names = [constant.name for constant in protocol.constants]
    return protocol.instantiate(dict(zip(names, numbers, strict=True)), drop)


def question(
    name: str, numbers: tuple[int, ...], *properties: str, drop: Iterable[tuple[str, str]] = ()
) -> Question:
    return Question(instance_of(name, numbers, drop), tuple(KNOWN[item] for item in properties))


def lengths(result: ProofResult) -> list[tuple[str, int]]:
    return [(item.property.name, item.trace_length) for item in result.violations]


@pytest.mark.slow
def test_finds_the_shortest_violation() -> None:
    result = check_bounded(question("truncate-to-hw", (2, 2, 2, 1), "WeakIsr"), Bound(12), LIMITS)
    assert result.verdict is Verdict.VIOLATED
    assert result.exit_code == 12
    assert lengths(result) == [("WeakIsr", 9)]
    assert result.bounded is not None
    assert result.bounded.depth == 8
    assert len(result.bounded.depths) == 8, "eight depths without a violation, 0 to 7"


@pytest.mark.slow
def test_a_run_that_it_shows_is_a_run() -> None:
    asked = question("truncate-to-hw", (2, 2, 2, 1), "WeakIsr")
    run = check_bounded(asked, Bound(8), LIMITS).violations[0].run
    instance = asked.instance
    assert run.states[0] in instance.initial
    for before, step, after in zip(run.states, run.actions, run.states[1:], strict=False):
        codes = instance.schema.unpack(before)
        assert step in instance.enabled_actions(codes)
        assert instance.schema.pack(instance.fire(step, codes)) == after
    holds = instance.state_predicate("WeakIsr", KNOWN["WeakIsr"].predicate)
    assert [Evaluator([holds])(instance.schema.unpack(words))[0] for words in run.states] == [1] * 8 + [0]


@pytest.mark.slow
def test_no_violation_up_to_a_bound_is_no_proof() -> None:
    result = check_bounded(question("truncate-to-hw", (2, 2, 2, 1), "WeakIsr"), Bound(7), LIMITS)
    assert result.verdict is Verdict.INCOMPLETE
    assert result.exit_code == 152
    assert result.bounded is not None
    assert (result.bounded.depth, len(result.bounded.depths)) == (7, 8)


def test_step_properties_and_deadlocks_are_found_too() -> None:
    grow = Property("Still", Kind.STEP, lambda a, b: a.next_record_id == b.next_record_id, "", "this test", "")
    asked = Question(instance_of("kip320", (2, 1, 1, 1)), (grow,))
    result = check_bounded(asked, Bound(6), LIMITS)
    assert result.exit_code == 13
    found = search(asked, Bounds(workers=1))
    assert result.violations[0].trace_length == found.violations[0].trace_length


def test_of_equally_short_violations_the_one_that_is_asked_first_counts() -> None:
    moved = Property("Moved", Kind.STATE, lambda s: s.next_leader_epoch == 0, "", "this test", "")
    led = Property("Led", Kind.STATE, lambda s: s.quorum.leader.is_none, "", "this test", "")
    for first, second in ((moved, led), (led, moved)):
        asked = Question(instance_of("kip320", (2, 1, 1, 1)), (first, second))
        assert lengths(check_bounded(asked, Bound(3), LIMITS)) == [(first.name, 2)]


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "length"), [("claims/quorum-isr-2-writes-at-min-2", 3), ("gallery/kip841-bug", 6), ("claims/acks-1-loses", 5)]
)
def test_runs_of_partition_may_begin_with_any_broker(name: str, length: int) -> None:
    """Its initial state names broker 0: a run that another broker begins is no renamed one of broker 0's."""
    asked = load_spec(name).question()
    result = check_bounded(asked, Bound(length), LIMITS)
    assert [item.trace_length for item in result.violations] == [length]
    assert named_initially(asked.instance) == 1
    assert named_initially(instance_of("kip320", (3, 2, 2, 1))) == 0


@pytest.mark.slow
def test_a_value_that_leaves_its_domain_is_an_error_of_the_protocol() -> None:
    asked = question("kip320", (2, 1, 1, 1), "WeakIsr", drop=[("ControllerElectLeader", "a leader epoch is left")])
    with pytest.raises(DomainOverflow, match="next_leader_epoch"):
        check_bounded(asked, Bound(5), LIMITS)


def test_a_solver_without_time_says_how_far_it_came() -> None:
    result = check_bounded(question("kip320", (3, 2, 2, 2), "WeakIsr"), Bound(20), Limits(1, 0.001))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.bounded is not None
    assert result.bounded.reason
    assert result.bounded.depth < 20


@pytest.mark.slow
def test_symmetry_does_not_change_what_is_found() -> None:
    for name in ("truncate-to-hw", "kip320"):
        asked = question(name, (2, 2, 2, 1), "WeakIsr", "StrongIsr")
        one = check_bounded(asked, Bound(8), LIMITS)
        other = check_bounded(asked, Bound(8, use_symmetry=False), LIMITS)
        assert lengths(one) == lengths(other)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "action", "label"),
    [
        ("kip320", "FencedLeaderIncHighWatermark", "every ISR member follows in this epoch and holds the offset"),
        ("kip101", "LeaderIncHighWatermark", "every ISR member follows and holds the offset"),
        ("truncate-to-hw", "ControllerElectLeader", "in the ISR"),
    ],
)
def test_agrees_with_the_search_on_weakened_protocols(name: str, action: str, label: str) -> None:
    for property_name in ("WeakIsr", "StrongIsr", "LeaderInIsr", "HwWithinLog"):
        asked = question(name, (2, 1, 1, 2), property_name, drop=[(action, label)])
        expected = search(asked, Bounds(workers=1, max_depth=7))
        result = check_bounded(asked, Bound(6), LIMITS)
        assert lengths(result) == [(item.property.name, item.trace_length) for item in expected.violations]

Asked = tuple[str, tuple[tuple[str, int], ...], tuple[tuple[str, str], ...]]


def asked_of_the_family() -> dict[Asked, tuple[Property, ...]]:
    """What all bundled specs of the family ask, by protocol, constants and dropped clauses."""
    found: dict[Asked, dict[Property, None]] = {}
    for path in specs_under(SPECS):
        text = file_and_variant(path)[0].read_text("utf-8")
        if any(f'protocol = "{name}"' in " ".join(text.split()) for name in PROTOCOLS):
            spec = load_spec(path)
            key = (spec.protocol.name, tuple(spec.constants.items()), tuple(spec.drop))
            asked = [item for item in spec.properties if item.kind not in (Kind.RECOVERABLE, Kind.LIVENESS)]  # Of runs.
            found.setdefault(key, {}).update(dict.fromkeys(asked))
    return {key: tuple(items) for key, items in found.items() if items}


FAMILY_SPECS = asked_of_the_family()
MANY = 5
"""Properties from which on a question says more than its like."""


def spec_cases() -> Iterable[object]:
    """Every question that the bundled specs ask of the family.

    Left to the long run: little asked of a protocol as it is, rules between the oldest and the newest, and of one size all
    controls but the first.
    """
    known = set()
    for asked, properties in FAMILY_SPECS.items():
        name, constants, drop = asked
        is_like_another = bool(drop) and (name, constants) in known
        known |= {(name, constants)} if drop else set()
        is_short = bool(drop) or (len(properties) >= MANY and name in ("truncate-to-hw", "kip320"))
        marks = [pytest.mark.slow, *([] if is_short and not is_like_another else [pytest.mark.long])]
        yield pytest.param(asked, id=f"{name} {tuple(dict(constants).values())} {len(drop)}", marks=marks)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("asked", list(spec_cases()))
def test_agrees_with_the_search_up_to_six_actions_on_every_spec_of_the_family(asked: Asked) -> None:
    name, constants, drop = asked
    what = Question(PROTOCOLS[name].instantiate(dict(constants), drop), FAMILY_SPECS[asked])
    expected = search(what, Bounds(workers=1, memory=2 << 30, max_depth=7))
    result = check_bounded(what, Bound(6), LIMITS)
    assert lengths(result) == [(item.property.name, item.trace_length) for item in expected.violations]


KNOWN_LENGTHS = [
    # As published for the original, and as the search finds them.
    ("truncate-to-hw", (2, 2, 2, 1), "StrongIsr", 10),
    ("truncate-to-hw", (3, 2, 2, 1), "WeakIsr", 9),
    ("truncate-to-hw", (3, 2, 2, 2), "StrongIsr", 9),
    ("kip101", (3, 2, 2, 1), "StrongIsr", 12),
    ("kip101", (3, 2, 2, 2), "WeakIsr", 11),
    ("kip101", (3, 2, 2, 2), "StrongIsr", 11),
    ("kip279", (3, 2, 2, 1), "StrongIsr", 12),
    ("kip279", (3, 2, 2, 2), "WeakIsr", 11),
    ("kip279", (3, 2, 2, 2), "StrongIsr", 11),
]
LONG = 10
"""States in a run from which on the proof that none is shorter takes minutes."""


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "numbers", "asked", "length"),
    [pytest.param(*row, id=str(row), marks=[pytest.mark.long] if row[3] > LONG else []) for row in KNOWN_LENGTHS],
)
def test_finds_the_known_shortest_lengths(name: str, numbers: tuple[int, ...], asked: str, length: int) -> None:
    assert lengths(check_bounded(question(name, numbers, asked), Bound(length), LIMITS)) == [(asked, length)]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("asked", ["WeakIsr", "StrongIsr"])
def test_the_first_attempt_at_kip320_breaks_as_soon_as_the_search_says(asked: str) -> None:
    found = search(question("kip320-first-try", (3, 2, 2, 2), asked))
    length = found.violations[0].trace_length
    result = check_bounded(question("kip320-first-try", (3, 2, 2, 2), asked), Bound(length), LIMITS)
    assert lengths(result) == [(asked, length)]


@pytest.mark.slow
def test_every_depth_is_a_file_that_a_second_solver_agrees_with(tmp_path: Path) -> None:
    cvc5 = pytest.importorskip("cvc5")
    check_bounded(question("truncate-to-hw", (2, 1, 1, 1), "WeakIsr"), Bound(4, smt2=tmp_path), LIMITS)
    files = sorted(tmp_path.glob("*.smt2"))
    assert [file.name for file in files] == [f"depth-{depth:03}.smt2" for depth in range(5)]
    for file in files:
        solver = cvc5.Solver()
        parser = cvc5.InputParser(solver)
        parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))
        symbols = parser.getSymbolManager()
        said = []
        while not (command := parser.nextCommand()).isNull():
            said.append(command.invoke(solver, symbols).strip())
        assert "unsat" in said


# -- one engine checks the other --------------------------------------------------------------------------------------------


@cache
def family(name: str) -> Instance:
    return instance_of(name, (3, 2, 2, 2))


@st.composite
def states(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A family member and one of its states: reached by a walk, or any state of the domain."""
    name = draw(st.sampled_from(sorted(PROTOCOLS)))
    instance = family(name)
    if draw(st.booleans()):
        return name, [draw(st.integers(0, leaf.cardinality - 1)) for leaf in instance.schema.leaves]
    state = list(instance.schema.unpack(instance.initial[0]))
    for choice in draw(st.lists(st.integers(0, 10**6), max_size=25)):
        steps = instance.enabled_actions(state)
        if not steps:
            break
        state = instance.fire(steps[choice % len(steps)], state)
    return name, state


@pytest.mark.slow
@given(states(), st.integers(0, 10**6))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_z3_makes_the_one_successor_that_the_evaluator_makes(where: tuple[str, list[int]], choice: int) -> None:
    import z3

    from acked.checker.solver.smt import Lowering

    name, state = where
    instance = family(name)
    steps = instance.enabled_actions(state)
    assume(steps)
    step = steps[choice % len(steps)]
    assume(not any(Evaluator([bad for _, bad in step.overflows])(state)))
    lowering = Lowering(instance, [step.guard, *(code for _, code in step.updates)])
    now, then = lowering.frame("@0"), lowering.frame("@1")
    solver = z3.SolverFor("QF_BV")
    updates = dict(step.updates)
    solver.add(*now.is_state(state), now.term(step.guard), *then.domain_terms())
    for leaf, item in enumerate(instance.schema.leaves):
        if item.bits:
            new = now.term(updates[leaf]) if leaf in updates else now.field(leaf)
            solver.add(then.field(leaf) == new)
    assert solver.check() == z3.sat
    expected = instance.fire(step, state)
    assert then.codes(solver.model()) == expected
    solver.add(z3.Not(z3.And(then.is_state(expected))))
    assert solver.check() == z3.unsat


@pytest.mark.slow
@given(states())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_the_native_code_makes_the_successors_that_the_evaluator_makes(where: tuple[str, list[int]]) -> None:
    name, state = where
    instance, schema = native(name).instance, native(name).instance.schema
    steps = instance.enabled_actions(state)
    assume(not any(any(Evaluator([bad for _, bad in step.overflows])(state)) for step in steps))
    vars(native(name)).update(initial=(schema.pack(state),))
    explorer = LocalSearch(native(name), Bounds(workers=1, memory=1 << 28, max_depth=2), keeps_states=True)
    found = explorer.run()
    (shard,) = explorer.shards
    words = shard.states[: found.distinct_states * schema.words]  # Beyond them it has looked ahead.
    seen = {tuple(words[at : at + schema.words]) for at in range(0, len(words), schema.words)}
    assert seen == {schema.pack(state), *(schema.pack(instance.fire(step, state)) for step in steps)}
    # A second level that leads nowhere new is known to be the last one, and then what it fires counts, too.
    expanded = {schema.pack(state)} if found.stopped is StopReason.MAX_DEPTH else seen
    assert found.generated_states == 1 + sum(len(instance.enabled_actions(list(schema.unpack(item)))) for item in expanded)


@pytest.mark.slow
@given(states())
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_what_a_solver_process_is_told_means_what_was_meant(where: tuple[str, list[int]]) -> None:
    name, state = where
    instance = family(name)
    engine = engine_of(name)
    guards = Evaluator([engine.rows[step.guard] for step in engine.problem.steps])(state)
    told = [step.label for step, holds in zip(engine.problem.steps, guards, strict=True) if holds]
    assert told == [step.label for step in instance.enabled_actions(state)]
    for number, step in enumerate(instance.actions):
        if guards[number] and not any(Evaluator([bad for _, bad in step.overflows])(state)):
            after = instance.fire(step, state)
            rebuilt = engine.after(engine.problem.steps[number], range(len(PROPERTIES)))
            for item, condition in zip(PROPERTIES, rebuilt, strict=True):
                if item.kind is Kind.STATE:
                    root, codes = instance.state_predicate(item.name, item.predicate), after
                else:
                    root, codes = instance.step_predicate(item.name, item.predicate, step), state
                assert Evaluator([condition])(state) == Evaluator([root])(codes), (step.label, item.name)
            break


@cache
def native(name: str) -> Question:
    """Of its own, because the tests give it other initial states."""
    return Question(instance_of(name, (3, 2, 2, 2)), ())


@cache
def engine_of(name: str) -> LoweredProblem:
    instance = instance_of(name, (3, 2, 2, 2))
    return LoweredProblem(make_problem(instance, PROPERTIES, conditions(instance, PROPERTIES), True), 60.0)
