"""The ledger: what is committed, where a search stops, and which of equally short violations is reported.

The ledger by itself, fed with levels by hand, and small searches that come down to one of its decisions.
"""

from __future__ import annotations

import pytest

from acked.base.processes import Limits
from acked.checker.explore.simulate import Plan, simulate
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.question.ledger import Ledger, LevelReport, StopPolicy
from acked.checker.question.overflow import Overflow
from acked.checker.question.question import DEADLOCK, OVERFLOW_BIT, Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search.local import Bounds, search
from acked.checker.store.trace_back import refusing_overflow
from acked.model.formulas.errors import DomainOverflow
from tests.checker.toys import always, ask, counters, every_step, marking, overflowing

MEMORY = 1 << 26
FIRST, EVERY = StopPolicy.FIRST_VIOLATION, StopPolicy.EVERY_PROPERTY

BELOW_3 = always("Below3", lambda s: s.n0 < 3)
BELOW_4 = always("Below4", lambda s: s.n0 < 4)
STEPS_BELOW_3 = every_step("StepsBelow3", lambda before, after: after.n0 < 3)


def level(size: int, following: int, fired: int = 1, **bad: dict) -> LevelReport:  # type: ignore[type-arg]
    return LevelReport(size, following, [fired], [fired], bad.get("states", {}), bad.get("steps", {}))


def one_counter(*properties: object) -> Question:
    return ask(counters(1, 5), *properties)  # type: ignore[arg-type]


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_a_level_s_firings_count_once_the_next_level_is_complete() -> None:
    ledger = Ledger(one_counter(BELOW_3), FIRST)
    assert ledger.commit(level(1, 1, fired=7))
    assert (ledger.depth, ledger.distinct_states, ledger.generated_states) == (1, 1, 1)
    assert ledger.commit(level(4, 2, fired=20))
    assert (ledger.depth, ledger.distinct_states, ledger.generated_states) == (2, 5, 8)


def test_the_last_level_s_firings_count_when_nothing_new_is_found() -> None:
    ledger = Ledger(one_counter(BELOW_3), FIRST)
    assert not ledger.commit(level(1, 0, fired=7))
    assert ledger.stopped is StopReason.COMPLETE
    assert ledger.generated_states == 8


def test_a_level_that_is_abandoned_does_not_count() -> None:
    ledger = Ledger(one_counter(BELOW_3), FIRST)
    ledger.commit(level(1, 3, fired=3))
    ledger.abandon(StopReason.MEMORY)
    assert (ledger.stopped, ledger.depth, ledger.generated_states) == (StopReason.MEMORY, 1, 1)
    assert ledger.findings_to_report() == []


def test_the_depth_bound_stops_after_its_level_unless_the_space_ends_there() -> None:
    for following, reason in ((3, StopReason.MAX_DEPTH), (0, StopReason.COMPLETE)):
        ledger = Ledger(one_counter(BELOW_3), FIRST, max_depth=2)
        assert ledger.commit(level(1, 2))
        assert not ledger.commit(level(2, following))
        assert (ledger.stopped, ledger.depth) == (reason, 2)


def test_a_step_property_waits_one_level_only_for_an_invariant_that_the_spec_names_before_it() -> None:
    edge = {1: ((0,), 0)}
    waits = Ledger(one_counter(BELOW_3, STEPS_BELOW_3), FIRST)
    assert waits.commit(level(1, 1, steps=edge))
    assert waits.stopped is None
    decided = Ledger(one_counter(STEPS_BELOW_3, BELOW_3), FIRST)
    assert not decided.commit(level(1, 1, steps=edge))
    assert decided.stopped is StopReason.VIOLATION
    ends = Ledger(one_counter(BELOW_3, STEPS_BELOW_3), FIRST)
    assert not ends.commit(level(1, 0, steps=edge)), "there is no level to wait for"


def test_an_invariant_that_ties_with_a_later_named_step_property_is_the_one_reported() -> None:
    ledger = Ledger(one_counter(BELOW_3, STEPS_BELOW_3), FIRST)
    ledger.commit(level(1, 1, steps={1: ((0,), 0)}))
    assert not ledger.commit(level(1, 1, states={0: (1,)}))
    [found] = ledger.findings_to_report()
    assert (found.position, found.trace_length, ledger.depth) == (0, 2, 2)


def test_looking_ahead_in_vain_leaves_no_trace_in_the_counts() -> None:
    ledger = Ledger(one_counter(BELOW_3, STEPS_BELOW_3), FIRST)
    ledger.commit(level(1, 1, steps={1: ((0,), 0)}))
    before = (ledger.depth, ledger.level_sizes, ledger.generated_states)
    assert not ledger.commit(level(9, 5))
    assert (ledger.depth, ledger.level_sizes, ledger.generated_states) == before
    [found] = ledger.findings_to_report()
    assert (found.position, found.trace_length) == (1, 2)
    assert ledger.stopped is StopReason.VIOLATION


@pytest.mark.parametrize("reason", [StopReason.MEMORY, StopReason.MAX_STATES, StopReason.INTERRUPTED])
def test_a_search_abandoned_while_it_looks_ahead_reports_what_it_has(reason: StopReason) -> None:
    ledger = Ledger(one_counter(BELOW_3, STEPS_BELOW_3), FIRST)
    ledger.commit(level(1, 1, steps={1: ((0,), 0)}))
    ledger.abandon(reason)
    assert ledger.stopped is StopReason.VIOLATION
    assert [found.position for found in ledger.findings_to_report()] == [1]


def test_a_search_that_goes_on_keeps_the_first_violation_of_every_property() -> None:
    ledger = Ledger(one_counter(BELOW_4, BELOW_3), EVERY)
    assert ledger.commit(level(1, 1, states={1: (3,)}))
    assert ledger.commit(level(1, 1, states={0: (8,), 1: (9,)}))
    assert not ledger.commit(level(1, 0))
    assert [(found.position, found.state) for found in ledger.findings_to_report()] == [(1, (3,)), (0, (8,))]
    assert ledger.stopped is StopReason.COMPLETE


def test_an_overflow_that_only_the_native_code_sees_is_told_as_a_defect() -> None:
    question = one_counter(BELOW_3)
    ledger = Ledger(question, FIRST)
    with (
        pytest.raises(DomainOverflow, match="please report this as a defect"),
        refusing_overflow(question, lambda *_: pytest.fail("a state of the first level has no source")),
    ):
        ledger.commit(level(1, 1, steps={OVERFLOW_BIT: ((0,), 0)}))


# -- by searching ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_of_equally_short_violations_the_one_named_first_is_reported(workers: int) -> None:
    # n reaches 3 in the fourth level: the invariant fails in that state, the step property on the edge to it.
    for properties, name, depth in (
        ((BELOW_3, STEPS_BELOW_3), "Below3", 4),
        ((STEPS_BELOW_3, BELOW_3), "StepsBelow3", 3),
        ((BELOW_4, STEPS_BELOW_3), "StepsBelow3", 3),
    ):
        result = search(one_counter(*properties), Bounds(workers, MEMORY))
        [violation] = result.violations
        assert (violation.property.name, violation.trace_length) == (name, 4)
        assert (result.depth, result.distinct_states, result.generated_states) == (depth, depth, depth)
        assert [step.label for step in violation.run.actions] == ["RaiseN0()"] * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_an_initial_state_can_violate(workers: int) -> None:
    result = search(ask(counters(1, 5, start=3), BELOW_3), Bounds(workers, MEMORY))
    [violation] = result.violations
    assert (violation.trace_length, result.depth, result.generated_states) == (1, 1, 1)
    assert violation.run.actions == ()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_deadlock_is_found_in_the_last_state(workers: int) -> None:
    result = search(one_counter(DEADLOCK), Bounds(workers, MEMORY))
    assert [(item.property.name, item.trace_length) for item in result.violations] == [("Deadlock", 6)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("policy", [FIRST, EVERY])
def test_leaving_a_domain_is_an_error_whatever_is_asked(workers: int, policy: StopPolicy) -> None:
    told = r"Climb\(\) assigns n a value outside its domain: 4, and it holds 0\.\.3 \(toys\.py:\d+\); the state is"
    with pytest.raises(DomainOverflow, match=told) as error:
        search(ask(overflowing(3)), Bounds(workers, MEMORY), policy)
    assert isinstance(error.value, Overflow)
    assert [step.label for step in error.value.run.actions] == ["Climb()"] * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_assigning_beyond_an_array_is_an_error_and_goes_not_nowhere(workers: int) -> None:
    asked = ask(marking(), always("True", lambda s: s.n <= 2))
    told = r"Mark\(\) assigns an element beyond the last, marks\[2\] \(toys\.py:\d+\); the state is {'n': 1, "
    with pytest.raises(Overflow, match=told) as error:
        search(asked, Bounds(workers, MEMORY))
    assert [step.label for step in error.value.run.actions] == ["Mark()"]
    with pytest.raises(DomainOverflow, match=told):
        simulate(asked, Plan(runs=10, depth=9, seed=1, weights={}))
    with pytest.raises(DomainOverflow, match=r"assigns an element beyond the last, marks\[2\]"):
        check_bounded(asked, Bound(9), Limits(1, 60.0))


def test_leaving_a_domain_beyond_the_depth_bound_is_not_seen() -> None:
    result = search(ask(overflowing(3), always("True", lambda s: s.n < 9)), Bounds(1, MEMORY, max_depth=2))
    assert (result.verdict, result.stopped) == (Verdict.INCOMPLETE, StopReason.MAX_DEPTH)


def test_nothing_asked_is_never_answered_with_holds() -> None:
    result = search(one_counter(), Bounds(1, MEMORY))
    assert (result.stopped, result.verdict) == (StopReason.COMPLETE, Verdict.INCOMPLETE)
