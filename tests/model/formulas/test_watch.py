"""What an author's function asks beside its state, while other threads do something else."""

from __future__ import annotations

import random
import sys
from types import ModuleType

import pytest

from acked.model.formulas.errors import ModelError
from acked.model.formulas.watch import watch

CHANCE = random.Random(7)


def asks_nothing() -> None:
    len(())


def draws() -> None:
    CHANCE.random()


def test_a_module_that_another_thread_is_importing_is_nothing_that_a_function_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="a random number is drawn once"), watch(draws):
        draws()
    monkeypatch.setitem(sys.modules, "random", ModuleType("random"))
    with watch(asks_nothing):
        asks_nothing()
