"""The five variants: on whole small spaces the native search says in everything what the plain oracle says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.search.local import Bounds, search
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.language.protocol import Instance
from tests.oracle import Space, assert_same_answer, explore
from tests.places import CHECKOUT

MEMORY = 1 << 28
ROOT = CHECKOUT


def instance_of(name: str, numbers: tuple[int, ...]) -> Instance:
    protocol = PROTOCOLS[name]
    return protocol.instantiate(dict(zip((item.name for item in protocol.constants), numbers, strict=True)))


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_small_spaces_agree_in_everything(name: str) -> None:
    instance = instance_of(name, (2, 2, 2, 1))
    properties = tuple(properties_of(instance.protocol).values())
    # In both orders: ties between equally short violations are broken by the question's order.
    for asked in (properties, (DEADLOCK, *properties[::-1])):
        question = Question(instance, asked)
        space = Space(question)
        for policy in StopPolicy:
            for workers in (1, 2):
                assert_same_answer(search(question, Bounds(workers, MEMORY), policy), explore(space, policy))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name != "kip320")) for name in PROTOCOLS])
def test_larger_spaces_agree_in_everything(name: str) -> None:
    instance = instance_of(name, (2, 2, 2, 2))
    question = Question(instance, tuple(properties_of(instance.protocol).values()))
    space = Space(question)
    assert_same_answer(search(question, Bounds(2, MEMORY)), explore(space, StopPolicy.FIRST_VIOLATION))
    everything = StopPolicy.EVERY_PROPERTY
    assert_same_answer(search(question, Bounds(1, MEMORY), everything), explore(space, everything))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_depth_bound_covers_exactly_its_levels(depth: int) -> None:
    question = Question(instance_of("kip320", (2, 2, 2, 2)), ())
    space = Space(question, max_depth=depth)
    result = search(question, Bounds(1, MEMORY, max_depth=depth))
    assert_same_answer(result, explore(space, StopPolicy.FIRST_VIOLATION))


_SEARCHES = """
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.search.local import Bounds, search
from acked.model.catalogue import FAMILY as PROTOCOLS

constants = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
question = Question(PROTOCOLS["kip320"].instantiate(constants), (DEADLOCK,))
for workers in (1, 2, 3):
    search(question, Bounds(workers, 1 << 28), StopPolicy.EVERY_PROPERTY)
"""


@pytest.mark.slow
def test_native_code_touches_no_freed_memory() -> None:
    # The debugging allocator fills what is freed with a pattern, and checks the borders of what is not.
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    command = [sys.executable, "-c", _SEARCHES]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
