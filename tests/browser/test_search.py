"""The search as WebAssembly, in a browser: every count, level, verdict and trace is the native search's, for both widths."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings
from playwright.sync_api import Page

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.question.user_properties import reach_probes, sought
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import name_of
from acked.checker.wasm import module, script
from acked.checker.wasm.module import WIDTHS, linked
from acked.checker.wasm.script import script_of
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import DomainOverflow
from tests.checker.search.test_random_protocols import WIDE
from tests.checker.symmetry.test_orbits import SHIFTING, symmetric
from tests.checker.toys import always, ask, counters, every_step, overflowing
from tests.random_protocols import Plan, plans, question_of
from tests.sharing import own_cache
from tools.in_browser import ANSWER, MOST_STATES, LeftOut, all_specs, compared, differences
from tools.parts.firefox import Firefox

pytestmark = pytest.mark.browser

SMALL = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}

Answers = Callable[..., dict[str, Any]]


@pytest.fixture
def told(tab: Page) -> Answers:
    """What a script says in a worker: `answer`, or the sentence of its `refusal`."""
    tab.goto("about:blank")
    return lambda text, **options: dict(tab.evaluate(ANSWER, [text, options]))


@pytest.fixture
def answered(told: Answers) -> Answers:
    """The answer to a question."""

    def answer(question: Question, policy: StopPolicy = StopPolicy.FIRST_VIOLATION, **options: object) -> dict[str, Any]:
        said = told(script_of(question, policy), **options)
        assert "answer" in said, said
        return dict(said["answer"])

    return answer


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Modules of toys are worth nothing to other tests."""
    with own_cache(tmp_path_factory) as place:
        yield place


def family(name: str, *names: str, is_symmetric: bool = False, **constants: int) -> Question:
    protocol = PROTOCOLS[name]
    instance = protocol.instantiate({**SMALL, **constants})
    return Question(instance, tuple(properties_of(protocol)[item] for item in names), is_symmetric=is_symmetric)


def below(limit: int) -> Any:
    return always(f"Below{limit}", lambda s: s.n0 + s.n1 < limit)


def steps_below(limit: int) -> Any:
    return every_step(f"StepsBelow{limit}", lambda _, after: after.n0 + after.n1 < limit)


def assert_equal(question: Question, answered: Answers, policy: StopPolicy = StopPolicy.FIRST_VIOLATION) -> Mapping[str, Any]:
    result = search(question, Bounds(1), policy)
    for bits in WIDTHS:
        answer = answered(question, policy, bits=bits)
        assert differences(result, answer) == []
        assert answer["bits"] == bits
    return answer


TOYS = {
    "every state is seen": (ask(counters(2, 5), below(11)), "holds"),
    "nothing is asked": (ask(counters(2, 5)), "incomplete"),
    "a state": (ask(counters(2, 5), below(7)), "violated"),
    "a step": (ask(counters(2, 5), steps_below(7)), "violated"),
    "a step and, as late, an invariant that is named before it": (ask(counters(2, 5), below(7), steps_below(7)), "violated"),
    "a step before an invariant": (ask(counters(2, 5), below(8), steps_below(7)), "violated"),
    "an invariant that is named after a step": (ask(counters(2, 5), steps_below(7), below(7)), "violated"),
    "three words": (question_of(WIDE), "violated"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOYS)
def test_the_browser_answers_as_the_native_search(name: str, answered: Answers) -> None:
    question, verdict = TOYS[name]
    assert assert_equal(question, answered)["verdict"] == verdict


@pytest.mark.slow
def test_a_search_for_every_property_goes_on_after_a_violation(answered: Answers) -> None:
    question = ask(counters(2, 5), below(3), steps_below(7), below(9), below(11))
    answer = assert_equal(question, answered, StopPolicy.EVERY_PROPERTY)
    assert [item["property"] for item in answer["violations"]] == ["Below3", "StepsBelow7", "Below9"]
    assert answer["states"] == 36


@pytest.mark.slow
@pytest.mark.parametrize("is_symmetric", [False, True])
def test_a_lost_record_has_the_same_trace_with_and_without_symmetry(answered: Answers, is_symmetric: bool) -> None:
    question = family("truncate-to-hw", "WeakIsr", "CommittedRecordsStay", is_symmetric=is_symmetric)
    assert assert_equal(question, answered)["verdict"] == "violated"


@pytest.mark.slow
def test_a_step_that_is_violated_up_to_renaming_is_found_under_its_own_names(answered: Answers) -> None:
    question = replace(symmetric(question_of(SHIFTING), SHIFTING), is_symmetric=True)
    steps = replace(question, properties=tuple(question.properties[at] for at in question.step_properties))
    assert assert_equal(steps, answered)["violations"]
    assert_equal(question, answered, StopPolicy.EVERY_PROPERTY)


@pytest.mark.slow
def test_what_is_looked_for_besides_is_met_on_the_same_level(answered: Answers) -> None:
    plain = ask(counters(2, 5), below(11))
    sights = reach_probes((sought("Halfway", "n0 == 3 and n1 == 3"), sought("Nowhere", "n0 == 3 and n1 == 3 and n0 != n1")))
    answer = assert_equal(replace(plain, probes=sights), answered, StopPolicy.EVERY_PROPERTY)
    assert answer["met"] == [["reaches: Halfway", 7], ["reaches: Nowhere", None]]


@pytest.mark.slow
def test_a_table_that_has_grown_seven_times_has_lost_nothing(answered: Answers) -> None:
    """512 buckets at first, 65,536 at last."""
    answer = assert_equal(family("kip320", "WeakIsr", max_leader_epoch=2), answered)
    assert answer["states"] > 200_000


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@example(WIDE)
@given(plans())
def test_random_protocols_are_answered_as_natively(tab: Page, plan: Plan) -> None:
    question = question_of(plan)
    try:
        result = search(question, Bounds(1, max_states=100_000), StopPolicy.EVERY_PROPERTY)
    except DomainOverflow:
        assume(False)
    assume(result.stopped is not StopReason.MAX_STATES)
    event(f"{result.verdict.value}, {len(result.violations)} violations")
    for bits in WIDTHS:
        said = tab.evaluate(ANSWER, [script_of(question, StopPolicy.EVERY_PROPERTY), {"bits": bits}])
        assert differences(result, said["answer"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("bits", WIDTHS)
def test_firefox_answers_as_the_native_search(firefox: Firefox, bits: int) -> None:
    question = family("truncate-to-hw", "WeakIsr", "CommittedRecordsStay", is_symmetric=True)
    said = firefox.evaluate(ANSWER, [script_of(question), {"bits": bits}])
    assert differences(search(question, Bounds(1)), said["answer"]) == []
    assert said["answer"]["bits"] == bits


@pytest.mark.long
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("path", all_specs(), ids=name_of)
def test_every_claim_and_bug_below_two_million_states_is_answered_as_natively(path: Path, bits: int, tab: Page) -> None:
    tab.goto("about:blank")
    try:
        row = compared(load_spec(path), lambda script, options: tab.evaluate(ANSWER, [script, dict(options)]), bits)
    except LeftOut as left:
        reason = str(left)
    else:
        assert row.wrong == ""
        assert row.states <= MOST_STATES
        return
    assert "more than 2,000,000 states" in reason or "needs the graph of all states" in reason


# -- where there is no answer -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("bits", WIDTHS)
def test_where_memory_ends_nothing_is_said_to_hold(answered: Answers, bits: int) -> None:
    question = family("kip320", "WeakIsr", max_leader_epoch=2)
    answer = answered(question, bits=bits, limits={bits: 4_000_000})
    assert (answer["verdict"], answer["stopped"]) == ("incomplete", "memory")
    assert answer["bytes"] <= 4_000_000
    assert "the browser gave no more memory than 4 MB, so nothing is decided" in answer["words"]
    levels = search(question, Bounds(1, max_depth=len(answer["levels"]))).level_sizes
    assert answer["levels"] == list(levels)


@pytest.mark.slow
def test_where_32_bits_are_too_few_the_search_begins_anew_with_64(answered: Answers) -> None:
    question = family("truncate-to-hw", "WeakIsr", log_size=3, max_records=3, max_leader_epoch=2)
    answer = answered(question, limits={32: 3_000_000})
    assert answer["bits"] == 64
    assert differences(search(question, Bounds(1)), answer) == []


@pytest.mark.slow
def test_a_violation_on_the_level_on_which_memory_ends_is_found(answered: Answers) -> None:
    """It is on the last level that has states at all; with room for that level's states, and none for further ones."""
    question = family("truncate-to-hw", "WeakIsr", log_size=3, max_records=3, max_leader_epoch=2)
    result = search(question, Bounds(1))
    assert result.verdict is Verdict.VIOLATED
    full = answered(question, bits=32)["bytes"]
    tight = [answered(question, bits=32, limits={32: most}) for most in range(full // 2, full, full // 6)]
    assert {answer["verdict"] for answer in tight} == {"violated", "incomplete"}
    assert all(differences(result, answer) == [] for answer in tight if answer["verdict"] == "violated")


@pytest.mark.slow
def test_a_step_that_leaves_a_domain_is_an_error_of_the_protocol(answered: Answers) -> None:
    answer = answered(ask(overflowing(3)))
    assert answer["verdict"] == "error"
    assert answer["words"].startswith("A step leaves the domain of a field, so this protocol is in error: Climb()")


def test_a_browser_that_takes_no_module_says_what_it_lacks(told: Answers) -> None:
    nothing = {str(bits): script.packed(b"\0asm\2\0\0\0") for bits in WIDTHS}
    described = {**script.described(ask(counters(1, 1)), StopPolicy.FIRST_VIOLATION), "modules": nothing}
    assert told(script.assembled(described))["refusal"].startswith("This browser cannot run the search: it needs WebAssembly")


# -- the module -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_question_has_the_same_bytes_twice() -> None:
    plan = ask(counters(2, 5), below(7)).plan
    for bits in WIDTHS:
        assert module._compiled(plan, bits) == module._compiled(plan, bits)


PRODUCT = """\
define i64 @product(i64 %a, i64 %b) {
  %wide.a = zext i64 %a to i128
  %wide.b = zext i64 %b to i128
  %product = mul i128 %wide.a, %wide.b
  %high = lshr i128 %product, 64
  %result = trunc i128 %high to i64
  ret i64 %result
}
"""


@pytest.mark.parametrize("bits", WIDTHS)
def test_products_of_128_bits_are_right(tab: Page, bits: int) -> None:
    code = linked(PRODUCT, (), bits, ("product",), ())
    factors = [0, 1, 3, (1 << 32) - 1, 1 << 32, 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, (1 << 64) - 1]
    pairs = [(a, b) for a in factors for b in factors]
    run = """([code, pairs]) => {
      const { product } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code))).exports;
      return pairs.map(([a, b]) => String(BigInt.asUintN(64, product(BigInt(a), BigInt(b)))));
    }"""
    found = tab.evaluate(run, [list(code), [[str(a), str(b)] for a, b in pairs]])
    assert found == [str(a * b >> 64) for a, b in pairs]


def test_scripts_hold_no_text_that_ends_a_script(told: Answers) -> None:
    """A page holds the script as JSON, in which no text is a tag."""
    text = script_of(ask(counters(1, 1)))
    assert json.loads(json.dumps(text)) == text
    assert "</script" not in text
