"""Optimized code, which a search gets piece by piece: no mixture changes an answer, and no piece is compiled in vain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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
from acked.checker.shards import forgetting
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
    """16,807 states in 31 levels; no step has more than 12 and the last state has 30."""
    small = always("Small", lambda s: s.n0 + s.n1 + s.n2 + s.n3 + s.n4 < 30)
    return ask(counters(5, 6), small, every_step("Few", lambda s, after: after.n1 + after.n2 <= 11))


def test_every_action_is_in_one_piece_and_pieces_are_few() -> None:
    for actions in (0, 1, 8, 9, 69, 140, 5000):
        first, *others = pieces_of(actions)
        assert len(first) == 0
        assert [action for piece in others for action in piece] == [*range(actions)]
        assert len(others) <= native.MOST_PIECES


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
    count = len(pieces_of(len(question.instance.actions)))
    expected = None
    for has in product([False, True], repeat=count):
        with monkeypatch.context() as patch:
            mixing(question, has, cache, patch)
            for workers in (1, 2, 3) if linked else (1,):
                for policy in StopPolicy:
                    found = policy, answer(search(question, Bounds(workers, MEMORY), policy))
                    expected = expected or {}
                    assert found[1] == expected.setdefault(policy, found[1]), (has, workers)
    native._load.cache_clear()
    assert expected
    assert all(one["violations"] for one in expected.values())
