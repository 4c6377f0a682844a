"""Questions of which something is known from before: their searches trace nothing, and answer the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acked.checker.batch.local import BatchProcess
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.question import known
from acked.checker.question.known import KnownPlan
from acked.checker.question.question import Question
from acked.checker.question.result import Result
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.model.catalogue import PROTOCOLS
from acked.model.language.tracings import Tracer, Tracings
from tests.checker.toys import always

SIZES = {"replicas": 2, "log_size": 2, "max_records": 1, "max_leader_epoch": 1}


def text(protocol: str = "kip320", *properties: str, **changes: object) -> QuestionText:
    constants = PROTOCOLS[protocol].bind(SIZES)
    return replace(QuestionText(protocol, tuple(constants.items()), properties), **changes)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The actions that are traced from now on."""
    found: list[str] = []
    effect = Tracer.effect

    def noted(self: Tracer, item: object, *more: object) -> object:
        found.append(item.name)  # type: ignore[attr-defined]
        return effect(self, item, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Tracer, "effect", noted)
    return found


def told(result: Result) -> object:
    runs = [(item.property.name, item.run.states, [step.label for step in item.run.actions]) for item in result.violations]
    return runs, result.level_sizes, result.actions, result.generated_states, result.stopped


ASKED = {
    "holds": text("kip320", "WeakIsr"),
    "violated": text("truncate-to-hw", "WeakIsr", "StrongIsr"),
    "symmetric": text("kip320", "WeakIsr", symmetry=True),
    "deadlock": text("kip320", "Deadlock"),
    "weakened": text("kip320", "StrongIsr", drop=(("LeaderWrite", "room in the log"),)),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_question_that_was_asked_before_is_answered_alike_and_hardly_traced(
    asked: QuestionText, traced: list[str]
) -> None:
    first = search(asked.question())
    all_traced = len(traced)
    traced.clear()
    again = search(asked.question())
    assert told(again) == told(first)
    steps = sum(len(item.run.actions) for item in first.violations)
    assert len(traced) <= (2 * steps if "Deadlock" not in asked.properties else all_traced)


@pytest.mark.parametrize("probing", Probing)
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_process_of_a_batch_answers_what_was_asked_before_alike(asked: QuestionText, probing: Probing) -> None:
    if asked.symmetry and probing is Probing.COVERAGE:
        return  # `Task.of` never asks that.
    task = Task(asked, every_property=True, probing=probing)

    def outcome() -> Outcome:
        found = BatchProcess(64 << 20, 0.0).answer(task, lambda _: None)
        assert isinstance(found, Outcome)
        return replace(found, seconds=0.0)

    first, again = outcome(), outcome()
    assert isinstance(task.question(Tracings()).plan, KnownPlan)
    assert again == first
    assert first.fingerprint == replace(task.question()).fingerprint


def test_nothing_is_traced_where_everything_holds(traced: list[str]) -> None:
    search(ASKED["holds"].question())
    traced.clear()
    question = ASKED["holds"].question()
    assert isinstance(question.plan, KnownPlan)
    search(question)
    assert traced == []
    assert question.instance.actions[-1].label == text("kip320").question().instance.actions[-1].label
    assert traced


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        lambda: text("kip320", "StrongIsr").question(),
        lambda: text("kip320", "WeakIsr", constants=(*ASKED["holds"].constants[:-1], ("max_leader_epoch", 0))).question(),
        lambda: replace(ASKED["holds"].question(), properties=(always("Nothing", lambda s: s.next_record_id == 0),)),
        lambda: ASKED["holds"].question(probes=lambda *_: ()),
    ],
    ids=["property", "constant", "replaced", "probed"],
)
def test_another_question_is_not_taken_for_it(other: Callable[[], Question]) -> None:
    search(ASKED["holds"].question())
    assert isinstance(ASKED["holds"].question().plan, KnownPlan)
    assert not isinstance(other().plan, KnownPlan)


@pytest.mark.slow
def test_other_sources_and_a_damaged_entry_are_not_believed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search(ASKED["holds"].question())
    with monkeypatch.context() as changed:
        changed.setattr(known, "sources_hash", lambda _: "of other files")
        assert not isinstance(ASKED["holds"].question().plan, KnownPlan)
    [kept] = cache.glob("*.question")
    kept.write_bytes(kept.read_bytes().replace(b"LeaderWrite", b"LeaderWrote"))
    assert not isinstance(ASKED["holds"].question().plan, KnownPlan)


@pytest.mark.slow
def test_the_whole_plan_of_a_known_question_is_the_one_of_a_new_one() -> None:
    new = ASKED["violated"].question()
    search(new)
    question = ASKED["violated"].question()
    assert isinstance(question.plan, KnownPlan)
    assert question.fingerprint == new.fingerprint
    assert (question.plan.code, question.plan.rows) == (new.plan.code, new.plan.rows)
    checks = [(check.action, check.bit) for check in new.plan.step_checks]
    assert [(check.action, check.bit) for check in question.plan.step_checks] == checks
