"""Optimized code, which a search gets piece by piece: no mixture changes an answer, and what is begun is not lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.native import compile as native
from acked.checker.native.compile import Kernel, compile_kernel, load_kernel, pieces_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.plan import KernelPlan
from acked.checker.question.question import Question
from acked.checker.search import local, tiers
from acked.checker.search.local import LocalSearch, search
from acked.checker.shards import compact, forgetting
from acked.checker.shards.compact import CompactShard
from acked.checker.spec.spec import load_spec
from tests.checker.toys import always, answer, ask, counters, every_step
from tests.places import CHECKOUT

MEMORY = 1 << 28


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing is compiled yet."""
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    return tmp_path


def shipped(name: str) -> Question:
    return load_spec(CHECKOUT / "specs" / f"{name}.toml").question()


def grid() -> Question:
    """16,807 states in 31 levels: the only one of the last breaks a promise, and some steps break another."""
    small = always("Small", lambda s: s.n0 + s.n1 + s.n2 + s.n3 + s.n4 < 30)
    return ask(counters(5, 6), small, every_step("Few", lambda s, after: after.n1 + after.n2 <= 11))


def in_halves(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the actions of a question in two pieces, so that there are three with that of guards."""
    monkeypatch.setattr(native, "LEAST_OF_PIECE", -(-len(question.instance.actions) // 2))


def mixing(question: Question, has: tuple[bool, ...], cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on searches of a question have some pieces, and are given no more."""
    pieces = {number: native.compile_piece(question.plan, number) for number, is_there in enumerate(has) if is_there}
    for path in cache.glob("*-*-*.o"):
        path.unlink()

    def loaded(plan: KernelPlan, *asked: Any, **named: Any) -> Kernel:
        return Kernel(compile_kernel(plan, *asked, **named).with_pieces(pieces))

    monkeypatch.setattr(local, "load_kernel", loaded)
    monkeypatch.setattr(tiers.Tiers, "advance", lambda _, kernel, *__: kernel)


def test_every_action_is_in_one_piece_and_pieces_are_few() -> None:
    for actions in (0, 1, 8, 9, 69, 140, 5000):
        first, *others = pieces_of(actions)
        assert len(first) == 0
        assert [action for piece in others for action in piece] == [*range(actions)]
        assert len(others) <= native.MOST_PIECES


@pytest.mark.slow
@pytest.mark.parametrize("linked", [True, False], ids=["linked", "by LLVM"])
@pytest.mark.parametrize("most_work", [500, 0], ids=["programs", "code for single states"])
@pytest.mark.parametrize("ask_it", [grid, lambda: shipped("truncate-to-hw"),
                                    lambda: replace(shipped("truncate-to-hw"), is_symmetric=True),
                                    lambda: shipped("liveness/leader-in-office-weak")],
                         ids=["grid", "specification", "symmetric", "liveness"])  # fmt: skip
def test_answers_are_the_same_whatever_code_is_mixed(
    ask_it: Callable[[], Question], most_work: int, linked: bool, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = ask_it()
    if not linked:
        monkeypatch.setattr(native, "link", lambda _: None)
        native._load.cache_clear()
    monkeypatch.setattr("acked.checker.native.programs.MOST_WORK", most_work)
    in_halves(question, monkeypatch)
    expected: dict[StopPolicy, dict[str, Any]] = {}
    for has in product([False, True], repeat=len(pieces_of(len(question.instance.actions)))):
        with monkeypatch.context() as patch:
            mixing(question, has, cache, patch)
            for workers, policy in product((1, 2, 3) if linked else (1,), StopPolicy):
                found = answer(search(question, Bounds(workers, MEMORY), policy))
                assert found == expected.setdefault(policy, found), (has, workers)
    native._load.cache_clear()
    assert all(one["violations"] for one in expected.values())


@pytest.mark.slow
@pytest.mark.parametrize("has", [(True, False, False), (False, True, False), (True, True, False)])
def test_a_table_without_states_is_searched_with_mixed_code(
    has: tuple[bool, ...], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = grid()
    in_halves(question, monkeypatch)
    expected = answer(search(question, Bounds(1, MEMORY)))
    mixing(question, has, cache, monkeypatch)
    for number, is_there in enumerate(has):
        if is_there:
            native.compile_piece(question.plan, number)
    assert tuple(map(bool, compile_kernel(question.plan).pieces)) == has, "what is in the cache is taken at once"
    moved: list[int] = []
    without = compact.without_states

    def counting(*given: Any) -> Any:
        moved.append(1)
        return without(*given)

    monkeypatch.setattr(forgetting, "without_states", counting)
    monkeypatch.setattr(forgetting.Forgetting, "is_ready", lambda _, shards, *__: not isinstance(shards[0], CompactShard))
    for workers in (1, 2):
        assert answer(search(question, Bounds(workers, MEMORY))) == expected
    assert moved


class Patient(Observer):
    """Waits for so many of the pieces that a search has compiled as soon as they are being made."""

    def __init__(self, pieces: int) -> None:
        self.search: LocalSearch | None = None
        self._pieces = pieces

    def progress(self, now: Progress) -> None:
        if self.search is not None:
            for piece in [*self.search._tiers.pieces.values()][: self._pieces]:
                piece.result()


def patiently(question: Question, workers: int, pieces: int) -> tuple[dict[str, Any], LocalSearch]:
    patient = Patient(pieces)
    patient.search = LocalSearch(question, Bounds(workers, MEMORY), observer=patient)
    return answer(patient.search.run()), patient.search


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_that_takes_long_changes_its_code_between_levels(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LEAST_OF_PIECE", 2)
    expected = answer(search(grid(), Bounds(workers, MEMORY)))
    assert not any(load_kernel(grid().plan).code.pieces), "so short a search compiles none"
    monkeypatch.setattr(tiers, "LEAST_RATIO", 0)
    monkeypatch.setattr(tiers, "FIRE_RATIO", 0)
    monkeypatch.setattr(tiers, "REST_RATIO", 0)
    found, done = patiently(grid(), workers, 9)
    assert found == expected
    assert done._kernel.is_optimized
    assert load_kernel(grid().plan).is_optimized, "the next search begins with it"


@pytest.mark.slow
def test_a_search_goes_on_with_the_pieces_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LEAST_OF_PIECE", 2)
    expected = answer(search(grid(), Bounds(1, MEMORY)))
    monkeypatch.setattr(tiers, "LEAST_RATIO", 0)
    monkeypatch.setattr(tiers, "FIRE_RATIO", 0)
    for rest, made in ((1 << 60, [1, 2, 3]), (0, [0])):
        monkeypatch.setattr(tiers, "REST_RATIO", rest)
        found, done = patiently(grid(), 1, 9)
        assert found == expected
        assert sorted(done._tiers.pieces) == made
        assert done._kernel.is_optimized == (rest == 0)


@pytest.mark.slow
def test_the_end_of_a_search_waits_for_no_more_than_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LEAST_OF_PIECE", 1)
    monkeypatch.setattr(tiers, "LEAST_RATIO", 0)
    monkeypatch.setattr(tiers, "FIRE_RATIO", 0)
    begun: list[int] = []
    asked = LocalSearch(grid(), Bounds(1, MEMORY))

    def until_others_are_left(plan: KernelPlan, number: int) -> bytes:
        begun.append(number)
        latest = time.monotonic() + 60
        left: list[bool] = []
        while time.monotonic() < latest and not (left and all(left)):
            left = [other.cancelled() for at, other in [*asked._tiers.pieces.items()] if at not in begun]
            time.sleep(0.001)
        return b""

    monkeypatch.setattr(tiers, "compile_piece", until_others_are_left)
    asked.run()
    assert len(begun) == 1
    assert len(asked._tiers.pieces) > 1
