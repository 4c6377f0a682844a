"""Questions of which something is known from before: their searches trace nothing, and answer the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from acked.base.bounds import Bounds
from acked.checker.batch.local import BatchProcess
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.native.compile import compile_once
from acked.checker.question import known
from acked.checker.question.known import KnownPlan
from acked.checker.question.question import Question
from acked.checker.question.result import Result
from acked.checker.search.local import search
from acked.checker.search.tiers import begin_beside
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
def test_a_question_that_was_asked_before_is_answered_alike_and_not_traced(asked: QuestionText, traced: list[str]) -> None:
    first = search(asked.question())
    traced.clear()
    again = search(asked.question())
    assert told(again) == told(first)
    assert traced == []
    for one, other in zip(first.violations, again.violations, strict=True):
        for step, same in zip(one.run.actions, other.run.actions, strict=True):
            assert [guard.label for guard in same.guards] == [guard.label for guard in step.guards]
            assert [leaf for leaf, _ in same.updates] == [leaf for leaf, _ in step.updates]


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


def test_what_a_thread_compiles_another_one_waits_for() -> None:
    made: list[str] = []
    begun, ends = Event(), Event()

    def make() -> bytes:
        made.append("once")
        begun.set()
        assert ends.wait(60)
        return b"code"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(compile_once, "some.o", make)
        assert begun.wait(60)
        second = pool.submit(compile_once, "some.o", make)
        ends.set()
        assert (first.result(), second.result(), made) == (b"code", b"code", ["once"])


@pytest.mark.slow
@pytest.mark.parametrize("constants", [{}, {"replicas": 1, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}])
def test_loops_that_many_states_need_are_compiled_beside_the_trace(constants: dict[str, int], cache: Path) -> None:
    asked = replace(text("kip320", "WeakIsr"), constants=tuple(PROTOCOLS["kip320"].bind({**SIZES, **constants}).items()))
    begin_beside(PROTOCOLS["kip320"], dict(asked.constants)).join()
    found = [*cache.glob("*-quick.o")]
    assert len(found) == (0 if constants else 1)
    search(asked.question(), Bounds(1))
    assert [*cache.glob("*-quick.o")] == found
