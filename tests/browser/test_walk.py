"""A page steps through a protocol as acked does: the same states, actions, reasons, words and pictures along a walk."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from playwright.sync_api import Page, expect

from acked.base.errors import ConfigurationError
from acked.checker.explore.nearest import nearest, nearest_violation
from acked.checker.predicate.parse import PredicateError, parse_predicate
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Run
from acked.checker.replay.trace_file import replay, trace_document
from acked.checker.spec.spec import Spec
from acked.checker.wasm.script import explorer_script
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import evaluate
from acked.model.language.protocol import Protocol
from acked.model.language.state import SetOf, Struct, field
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id
from acked.reports.pages.exploring import explorer_page
from acked.reports.pages.page import script_text
from acked.reports.runs.packet import Packer, head_of
from acked.reports.shell.specs import find_spec
from acked.reports.standalone.javascript import Translator
from acked.reports.standalone.protocol import protocol_data, words_script
from acked.reports.standalone.sources import Untranslatable
from tests.random_protocols import Plan, plans, question_of
from tests.reports.pictures.added import copied
from tests.reports.pictures.locks import LABELS, run_of

pytestmark = pytest.mark.browser

MODULES = ("python", "instance", "explain", "teller", "walk", "tab")
STEPS = 25
TITLE = "Walked"

SHOWN = """const names = ["by", "says", "values", "marks", "failing", "rows", "boxes"];
const shown = (step) => Object.fromEntries(names.map((name) => [name, step[name]]));
const walk = new Walk(GIVEN.protocol, GIVEN.head, WORDS);"""
WALKED = """const steps = walk.steps(GIVEN.path);
const trace = walk.save(GIVEN.path);
return {
  steps: steps.map((step) => ({ ...shown(step), moves: step.moves().map(shown), refused: step.refused() })),
  lanes: lanesOf(steps), trace, loaded: walk.load(JSON.parse(JSON.stringify(trace))),
};"""


def run(page: Page, asked: Spec | Question, given: dict[str, Any], body: str) -> Any:
    """What a page says of a question with the scripts of the explorer."""
    question = asked if isinstance(asked, Question) else asked.question()
    data = {"protocol": protocol_data(TITLE, question), "head": head_of(question), **given}
    script = f"{script_text(MODULES)}\n{words_script(question)}\nconst GIVEN = {json.dumps(data)};\n{SHOWN}\n{body}"
    return page.evaluate(f"async () => {{\n{script}\n}}")


def walk_of(question: Question, seed: int, steps: int = STEPS) -> Run:
    """A walk at random from the initial state, shorter where nothing is enabled."""
    rng, instance = random.Random(seed), question.instance
    states, actions = [instance.initial[0]], []
    for _ in range(steps):
        codes = instance.schema.unpack(states[-1])
        enabled = instance.enabled_actions(codes)
        rng.shuffle(enabled)
        for action in enabled:
            try:
                states.append(instance.schema.pack(instance.fire(action, codes)))
            except ModelError:
                continue
            actions.append(action)
            break
        else:
            break
    return Run(tuple(states), tuple(actions))


def numbers_of(question: Question, actions: Sequence[ActionInstance]) -> list[int]:
    known = {step.label: number for number, step in enumerate(question.instance.actions)}
    return [known[step.label] for step in actions]


def unpacked(packet: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a packet with everything in full, as a page shows them."""
    texts, values, steps = packet["texts"], {}, []

    def shown(raw: dict[str, Any], before: dict[int, str]) -> dict[str, Any]:
        rows, boxes = raw["picture"] or ([], [])
        return {
            "by": raw["by"],
            "says": texts[raw["says"]],
            "values": list(dict(sorted({**before, **{at: texts[text] for at, text in raw["fields"]}}.items())).values()),
            "marks": raw["marks"],
            "failing": {str(at): [[texts[text] for text in part] for part in parts] for at, parts in raw["failing"].items()},
            "rows": [packet["rows"][at] for at in rows],
            "boxes": [packet["boxes"][at] for at in boxes],
        }

    for raw in packet["steps"]:
        step = shown(raw, values)
        values = dict(enumerate(step["values"]))
        step["moves"] = [shown(move, values) for move in raw["moves"]]
        step["refused"] = []
        for number, clauses in (packet["refusals"][at] for at in raw["refused"]):
            told = [{"label": texts[label], "reasons": [texts[text] for text in reasons]} for label, reasons in clauses]
            step["refused"].append({"instance": number, "clauses": told})
        steps.append(step)
    return steps


def compare(page: Page, question: Question) -> Run:
    """Asserts that a page walks as acked does, along the longest of some walks; the walk."""
    taken = max((walk_of(question, seed) for seed in range(7, 12)), key=lambda walk: len(walk.actions))
    packet, _ = Packer(question).run(taken)
    path = numbers_of(question, taken.actions)
    there = run(page, question, {"path": path}, WALKED)
    here = json.loads(json.dumps({"steps": unpacked(packet), "lanes": packet["lanes"]}))
    for number, (one, other) in enumerate(zip(there["steps"], here["steps"], strict=True)):
        assert one == other, f"step {number}"
    assert there["lanes"] == here["lanes"]
    assert there["trace"] == json.loads(json.dumps(trace_document(Counterexample(TITLE, question, taken))))
    assert there["loaded"] == path
    return taken


QUICK = ("truncate-to-hw", "delivery", "share-limit-leaders")


@pytest.mark.parametrize("name", QUICK)
def test_a_page_takes_the_same_steps_for_the_same_reasons(watched: Any, name: str) -> None:
    assert len(compare(watched.page, find_spec(name).question()).actions) > 5


EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "specs" / "examples").glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_a_page_draws_every_field_of_a_protocol_without_pictures(watched: Any, path: Path) -> None:
    assert len(compare(watched.page, find_spec(f"{path}#bug").question()).actions) > 5


def test_a_page_draws_the_field_that_a_copy_has_besides(watched: Any) -> None:
    taken = compare(watched.page, copied())
    assert "TryAgain" in {step.action.name for step in taken.actions}


def test_a_protocol_of_one_s_own_is_told_and_drawn_as_its_author_says(watched: Any) -> None:
    question, _ = run_of(*LABELS)
    assert len(compare(watched.page, question).actions) > 5


def test_words_that_no_page_can_say_are_left_out_and_named(watched: Any, tmp_path: Path) -> None:
    """The step is called by its name, and the page says which words are missing, and why."""
    whole, _ = run_of(*LABELS)
    told = {step.action.name: step.action for step in whole.instance.actions}
    first = next(iter(told))
    odd = [replace(action, says=lambda t: f"{1:>3}") if name == first else action for name, action in told.items()]
    protocol = copy(whole.instance.protocol)
    protocol.actions = tuple(odd)
    question = Question(protocol.instantiate(whole.instance.constants), ())
    script = words_script(question)
    assert f'missing: ["{first}: a format in a text has no counterpart in a page (test_walk.py:' in script
    page_file = tmp_path / "odd.html"
    page_file.write_text(explorer_page("odd", "odd", question, {"search": explorer_script(question)}), encoding="utf-8")
    page = watched.open(page_file)
    expect(page.locator(".headnote")).to_contain_text("No page can say some of the words of this protocol")
    expect(page.locator(".move .says").first).to_have_text(re.compile(rf"{first}\(.*\)"))


def spoken(state: dict[str, Any], number: int) -> list[object]:
    """What words may be made of, on one plain state."""
    *most, last = state["list"]
    text, seen = "", set()
    for at, (item, flag) in enumerate(zip(state["list"], state["flags"], strict=True)):
        if item in seen or not flag:
            continue
        seen |= {item}
        text += f"{at}:{item}{',' if item != last else ''}"
    later = [item for item in state["list"] if item > number and item not in (2, 9)]
    pairs = {(item, item % 2) for item in state["list"]}
    return [
        text, most, last, later, sorted(pairs - {(1, 1)}), state.get("none") or "nobody", state.get("missing", 7),
        "yes" if state["list"] and state["none"] is None else "no", sum(1 for item in state["list"] if item),
        state["list"][::-1], max(state["list"]), min(number, 3), any(item == 3 for item in state["list"]), (number or 5) * 2,
        next((item for item in state["list"] if item > 90), None), f"{state['none']} {True} {[1, 2]}", len(state["empty"]),
        1 <= number < 3 != number, ", ".join(map(str, state["list"])), state["flags"].count(True), not state["empty"],
        (later + most)[: number + 1], [*range(1, 4)], number == state["flags"][0], "a" in "cat", isinstance(state, dict),
        number // 2 - -7 // 2, -number % 3, state["list"][-2:],
    ]  # fmt: skip


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_translated_functions_mean_what_they_mean_in_python(watched: Any, number: int) -> None:
    state = {"list": [1, 2, 2, 3, 0], "flags": [True, True, False, True, True], "none": None, "empty": []}
    translator = Translator()
    name = translator.function(spoken)
    script = f"{script_text(('python',))}\n{translator.text}\nreturn {name}({json.dumps(state)}, {number});"
    there = watched.page.evaluate(f"() => {{\n{script}\n}}")
    here = json.loads(json.dumps(spoken(state, number)))
    assert list(zip(there, here, strict=True)) == list(zip(here, here, strict=True))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda t: f"{t:>3}", "a format in a text has no counterpart in a page"),
        (lambda t: t.upper(), "the method upper has no counterpart in a page"),
        (lambda t: nowhere, "the name nowhere has no counterpart in a page"),  # type: ignore[name-defined]  # noqa: F821
        (lambda *t: t, "a parameter that takes any arguments has no counterpart in a page"),
        (len, "is not a function with a text"),
    ],
)
def test_what_has_no_counterpart_is_named(function: Any, why: str) -> None:
    with pytest.raises(Untranslatable, match=re.escape(why)):
        Translator().function(function)


KINDS = [
    "kip320", "majority", "transactions", "claims/delivery-transactions", "gallery/elr-directories-bug",
    "gallery/kafka18723-bug", "claims/idempotence-mends", "claims/last-move-counts", "claims/follower-reads-vanish-3-3",
    "gallery/kafka13727-bug", "gallery/unmapped-tombstone-bug", "gallery/kafka7104-bug", "offsets-survive-failover",
]  # fmt: skip
"""Protocols, and parts with fields of their own: of `partition` eligible leaders, late answers, producers, moves, readers; of
`compaction` transactions, a reader, a follower."""
LIKE_THEM = [
    "partition", "kip101", "kip279", "kip320-first-try", "kafka7415-bug", "stale-ends-bug", "gallery/kafka1120-fix",
    "gallery/kafka13141-latest", "gallery/kafka14154-bug", "gallery/kafka14704-latest", "gallery/kafka15510-fix",
    "gallery/kip890-late-end-bug", "gallery/kip966-fix", "claims/acks-1-loses",
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", [*KINDS, *(pytest.param(name, marks=pytest.mark.long) for name in LIKE_THEM)])
def test_pages_of_every_protocol_take_the_same_steps_for_the_same_reasons(watched: Any, name: str) -> None:
    compare(watched.page, find_spec(name).question())


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(plan=plans())
def test_pages_of_random_protocols_take_the_same_steps_for_the_same_reasons(watched: Any, plan: Plan) -> None:
    compare(watched.page, question_of(plan))


def test_a_trace_that_a_page_saves_is_one_that_acked_replays(watched: Any) -> None:
    spec = find_spec("truncate-to-hw")
    taken = walk_of(spec.question(), 3)
    path = numbers_of(spec.question(), taken.actions)
    saved = run(watched.page, spec, {"path": path}, "return walk.save(GIVEN.path);")
    assert replay(saved).run.states == taken.states


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"format": "other"}, "not a trace file: its format should be 'acked-trace/1'"),
        ({"spec": {"protocol": "kip101"}}, "the trace is of another protocol, or of other constants"),
        ({"spec": {"constants": {}}}, "the trace is of another protocol, or of other constants"),
        ({"steps": []}, "the trace has no steps"),
        ({"steps": [{"state": {}}]}, "step 0 is not an initial state of the protocol"),
    ],
)
def test_a_file_that_is_not_a_trace_of_the_question_is_refused(watched: Any, changes: dict[str, Any], refused: str) -> None:
    spec = find_spec("truncate-to-hw")
    question = spec.question()
    taken = walk_of(question, 3, 2)
    document = json.loads(json.dumps(trace_document(Counterexample(spec.title, question, taken))))
    spoilt = {**document, **changes, "spec": {**document["spec"], **changes.get("spec", {})}}
    load = "try { return walk.load(GIVEN.trace); } catch (error) { return error.message; }"
    assert run(watched.page, spec, {"trace": document}, load) == numbers_of(question, taken.actions)
    assert run(watched.page, spec, {"trace": spoilt}, load) == refused


def test_random_walks_of_one_seed_are_the_same(watched: Any) -> None:
    spec = find_spec("kip320")
    body = "return [1, 1, 2].map((seed) => walk.random([], 12, seed).path);"
    first, again, other = run(watched.page, spec, {}, body)
    assert first == again != other
    assert len(first) == 12


class Member(Id, size=31):
    """More than a number of JavaScript has bits."""


class Many(Struct):
    """One set of them."""

    chosen = field(SetOf(Member), "some")


def test_a_field_that_javascript_cannot_compute_with_is_refused() -> None:
    many = Protocol("many", Many, title="many", source="tests", constants=(), initial=lambda s: None)
    with pytest.raises(ConfigurationError, match="chosen has 31 bits, more than a page computes with"):
        protocol_data("many", Question(many.instantiate({}), ()))


# -- searches of a page --------------------------------------------------------------------------------------------------


def states_along(question: Question, count: int) -> list[list[int]]:
    """Different states along walks, as codes."""
    found = {state: None for seed in range(count) for state in walk_of(question, seed, 15).states}
    return [question.instance.schema.unpack(state) for state in found]


PREDICATES = [
    "quorum.isr == {0} and log[1].end > 0",
    "replica[1].hw == 1 and quorum.leader == 1",
    "any(replica[r].leader == r for r in replicas)",
    "count(log[r].end > 0 for r in quorum.isr) >= 2 or quorum.leader is None",
    "all(log[r].end >= replica[r].hw for r in replicas if r in quorum.isr)",
    "log[0].records[0].epoch == 0 and not log[0].records[1].id == 1",
    "len(quorum.isr) + 1 == 3",
    "0 not in quorum.isr",
    "quorum.leader != None if log[0].end < 2 else log[0].end - replica[0].hw > -1",
    "any(log[r].records[o].id == 1 for r in replicas for o in range(log_size)) == True",
    "0 < log[0].end <= 2 and quorum.isr != {}",
    "log[0].records[1].id is not None",
]
WRONG = [
    "quorm.isr == {0}", "log[0]", "log[0].end = 1", "quorum.isr > {0}", "quorum.leader < 1", "log[0].end == 99", "0 in 1",
    "any(log[r].end > 0 for quorum in replicas)", "max(1, 2) == 1", "log[0].end == 1 and", "quorum.isr == 1",
    "replica[9].hw == 0", "quorum.leader == log[0].end", "all(r == 1 for r in nobody)", "quorum.isr == {7}",
    "log[0].end", "(log[0].end == 1",
]  # fmt: skip
JUDGED = """const worker = GIVEN.script.split("const SPEC")[0];
const fields = new Tab("", walk, GIVEN.constants).fields;
const judge = new Function("text", "fields", "states", `${worker}
  let codes = null;
  try {
    const holds = predicateOf(text, fields, (leaf) => codes[leaf]);
    return states.map((state) => { codes = state; return holds(); });
  } catch (error) { return error.constructor.name; }`);
return GIVEN.texts.map((text) => judge(text, fields, GIVEN.states));"""


@pytest.mark.slow
def test_a_predicate_means_in_a_page_what_it_means_elsewhere(watched: Any) -> None:
    spec = find_spec("kip320")
    question = spec.question()
    found = [nearest(question.instance, question.instance.initial[0], text).run for text in PREDICATES]
    states = states_along(question, 12)
    states += [question.instance.schema.unpack(run.states[-1]) for run in found if run is not None]
    given = {"constants": question.instance.constants, "texts": PREDICATES + WRONG, "states": states}
    given["script"] = explorer_script(question)
    judged = run(watched.page, spec, given, JUDGED)
    for text, said in zip(PREDICATES, judged, strict=False):
        root = parse_predicate(text, question.instance)
        assert said == [bool(evaluate(root, codes)) for codes in states], text
        assert len(set(said)) == 2 or "log[r].end >= replica[r].hw" in text, text
    for text, said in zip(WRONG, judged[len(PREDICATES) :], strict=True):
        assert said == "Refusal", text
        with pytest.raises(PredicateError):
            parse_predicate(text, question.instance)


LETTERS = [
    "any(m.ballot == 1 and m.value == 0 for m in proposals)",
    "count(p.by == 0 and p.accepted != None for p in promises) == 1",
    "len(proposals) == 2 or len(votes[1]) > 0",
    "all(m.value == 1 for m in votes[0] if m.ballot == 0) and len(promises) > 1",
    "any(votes[p.by][0][v] for p in promises for v in values)",
    "any(a == 1 and len(votes[a]) == 1 for a in acceptors)",
    "any(p.accepted is not None and p.accepted < p.ballot for p in promises)",
    "all(p.value == q.value for p in promises for q in promises if p.by != q.by)",
]


@pytest.mark.slow
def test_a_predicate_over_messages_means_in_a_page_what_it_means_elsewhere(watched: Any) -> None:
    question = find_spec(f"{EXAMPLES[3]}#bug").question()
    found = [nearest(question.instance, question.instance.initial[0], text).run for text in LETTERS[:4]]
    states = states_along(question, 12)
    states += [question.instance.schema.unpack(run.states[-1]) for run in found if run is not None]
    wrong = ["any(m.balot == 1 for m in proposals)", "any(m == 1 for m in proposals)", "votes[0] == {}"]
    wrong += ["any(p.by.x == 1 for p in promises)", "proposals.ballot == 1", "len(value[0]) == 1"]
    given = {"constants": question.instance.constants, "texts": LETTERS + wrong, "states": states}
    given["script"] = explorer_script(question)
    judged = run(watched.page, question, given, JUDGED)
    for text, said in zip(LETTERS, judged, strict=False):
        root = parse_predicate(text, question.instance)
        assert said == [bool(evaluate(root, codes)) for codes in states], text
        assert len(set(said)) == 2, text
    for text, said in zip(wrong, judged[len(LETTERS) :], strict=True):
        assert said == "Refusal", text
        with pytest.raises(PredicateError):
            parse_predicate(text, question.instance)


FOUND = """const tab = new Tab(GIVEN.script, walk, GIVEN.constants);
const found = [];
for (const [path, wanted] of GIVEN.wanted) {
  const step = walk.end(path);
  found.push(await tab.find({ path, codes: step.codes }, wanted, new AbortController().signal));
  found.push(await tab.depth({ path, codes: step.codes }));
}
return found;"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "predicate"),
    [
        ("truncate-to-hw", "log[0].end == 2 and quorum.isr == {1}"),
        ("kip320", "replica[1].hw == 1 and quorum.leader == 1"),
        ("stale-ends-bug", "log[2].end == 1 and controller.isr == {2}"),
        pytest.param("transactions", "partition[0].lso == 1", marks=pytest.mark.long),  # Farther, not otherwise.
    ],
)
def test_what_a_page_finds_nearest_is_what_acked_finds(watched: Any, name: str, predicate: str) -> None:
    """The same path: a shortest one to the least of the nearest states; also where a question is asked up to symmetry."""
    spec = find_spec(name)
    question = spec.question()
    instance, promises = question.instance, question.properties
    begun = walk_of(question, 5, 3)
    path = numbers_of(question, begun.actions)
    wanted = [[path, {"predicate": predicate}], [path, {"promise": None}]]
    given = {"script": explorer_script(question), "constants": instance.constants, "wanted": wanted}
    found = run(watched.page, spec, given, FOUND)
    state = begun.states[-1]
    native = [nearest(instance, state, predicate), nearest_violation(instance, state, promises)]
    for there, here in zip(found[::2], native, strict=True):
        expected = None if here.run is None else [*path, *numbers_of(question, here.run.actions)]
        assert there["path"] == expected, there["says"]
        if here.run is not None:
            assert f"{len(here.run.actions)} step" in there["says"]
    for before, after in pairwise(found[1::2]):
        assert before["least"] == after["least"] <= len(path)
