"""A set is the same however it is put together; what renaming changes is refused, with the clause or the field."""

# mypy: ignore-errors

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.symmetry.check import check_symmetry, renamed_state
from acked.checker.symmetry.renaming import kinds_of, places
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.action import require
from acked.model.language.context import Constant, literal
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import each, ite, some, those
from acked.model.language.state import Array, Optional, SetOf, Struct, all_of, field, none_of
from acked.model.language.values import Bool, Id, Int

HERE = Path(__file__).name
n = Constant("n", 1, 6, "processes")
values = Constant("values", 1, 6, "values")


class P(Id, size=n):
    """A process."""


class V(Id, size=values):
    """A value, of another sort."""


class K(Int, lo=0, hi=n):
    """How many."""


class State(Struct):
    """Who is up, who has voted, and whether it is decided."""

    up = field(Array(P, Bool))
    votes = field(SetOf(P))
    done = field(Bool)
    has = field(Array(P, Optional(V)))


def by_those(s):
    return those(P, lambda p: s.up[p]).size


def by_adding(s):
    found = none_of(P)
    for p in each(P):
        found = ite(s.up[p], found.add(p), found)
    return found.size


def by_union(s):
    found = none_of(P)
    for p in each(P):
        found = found | ite(s.up[p], none_of(P).add(p), none_of(P))
    return found.size


def by_sum(s):
    return sum((ite(s.up[p], K(literal(1)), K(literal(0))) for p in each(P)), K(literal(0)))


def by_leaving_out(s):
    found = all_of(P)
    for p in each(P):
        found = ite(s.up[p], found, found.remove(p))
    return found.size


def by_adding_backwards(s):
    found = none_of(P)
    for p in reversed(each(P)):
        found = ite(s.up[p], found.add(p), found)
    return found.size


QUORUMS = [by_those, by_adding, by_union, by_sum, by_adding_backwards]


def protocol_of(decide: Callable, symmetric=(P,)) -> Protocol:
    """Processes that rise and vote, and one action more."""
    made = Protocol("q", State, title="", source="", constants=(n, values), initial=lambda s: None, symmetric=symmetric)

    @made.action()
    def rise(s: State, p: P) -> None:
        s.up[p] = True

    @made.action()
    def vote(s: State, p: P) -> None:
        s.votes = s.votes.add(p)

    made.action()(decide)
    return made


def orbits(size: int) -> int:
    """Reachable states up to renaming, by a search that shares nothing with the checker."""
    seen, todo = set(), [((False,) * size, frozenset(), False)]
    while todo:
        up, votes, done = todo.pop()
        least = min(
            (tuple(up[to[k]] for k in range(size)), tuple(to[k] in votes for k in range(size)), done)
            for to in permutations(range(size))
        )
        if least in seen:
            continue
        seen.add(least)
        todo += [((*up[:k], True, *up[k + 1 :]), votes, done) for k in range(size)]
        todo += [(up, votes | {k}, done) for k in range(size)]
        if sum(up) >= 2:
            todo.append((up, votes, True))
    return len(seen)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("quorum", QUORUMS, ids=lambda quorum: quorum.__name__)
def test_a_quorum_is_counted_in_any_natural_way(quorum: Callable, size: int) -> None:
    def decide(s: State) -> None:
        require("quorum", quorum(s) >= 2)
        s.done = True

    question = Question(protocol_of(decide).instantiate({"n": size, "values": 1}), (), is_symmetric=True)
    question.refuse_asymmetry()
    assert search(question, Bounds(1, 1 << 24)).distinct_states == orbits(size)


def test_thirty_orbits_of_three_processes() -> None:
    assert orbits(3) == 30


def refusal(decide: Callable) -> str:
    """Why the ids are not interchangeable."""
    question = Question(protocol_of(decide).instantiate({"n": 3, "values": 1}), (), is_symmetric=True)
    with pytest.raises(ConfigurationError) as error:
        question.refuse_asymmetry()
    return str(error.value)


def test_a_clause_that_prefers_an_id_is_named_with_its_line() -> None:
    def decide(s: State) -> None:
        require("a quorum", by_those(s) >= 2)
        require("the first", s.up[0])
        s.done = True

    told = rf"no action is what Decide\(\) becomes when ids are renamed: its clause 'the first' \({HERE}:\d+\) is another one"
    assert re.search(told, refusal(decide))


def test_an_assignment_that_prefers_an_id_is_named_with_its_field() -> None:
    def decide(s: State) -> None:
        s.votes = ite(s.up[0], s.votes.add(0), s.votes)

    assert f"what it assigns to votes ({HERE}:" in refusal(decide)


@pytest.mark.slow
def test_of_two_sorts_with_too_many_renamings_together_the_one_with_more_is_renamed() -> None:
    def take(s: State, p: P, v: V) -> None:
        require("nothing yet", s.has[p].is_none)
        s.has[p] = v

    made = Protocol("two", State, title="", source="", constants=(n, values), initial=lambda s: None, symmetric=(P, V))
    made.action()(take)
    question = Question(made.instantiate({"n": 4, "values": 3}), (), is_symmetric=True)
    question.refuse_asymmetry()
    # Multisets of four out of four: none and three values.
    assert search(question, Bounds(1, 1 << 24)).distinct_states == 35
    both = Question(made.instantiate({"n": 3, "values": 3}), (), is_symmetric=True)
    # Partitions of at most three nodes that have a value into at most three classes.
    assert search(both, Bounds(1, 1 << 24)).distinct_states == 7


# -- nothing is accepted that is not so --------------------------------------------------------------------------------


class Drawn:
    """A random set of processes, made of those that are up, of votes, and of single ones.

    What is drawn is drawn beforehand: an action asks for no random numbers.
    """

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def pick(self, *items):
        return items[int(next(self.numbers) * len(items))]

    def is_likely(self, share):
        return next(self.numbers) < share

    def condition(self, s, depth):
        kind = self.pick("first", "voted", "any", "size", "done", "member")
        if kind == "first":
            return s.up[0]
        if kind == "voted":
            return some(P, lambda p: s.up[p] & s.votes.contains(p))
        if kind == "any":
            return some(P, lambda p: ~s.up[p])
        if kind == "size":
            return self.set(s, depth - 1).size >= self.pick(1, 2)
        return self.set(s, depth - 1).contains(self.pick(0, 1, 2)) if kind == "member" and self.is_likely(0.3) else ~s.done

    def set(self, s, depth):
        if depth <= 0:
            return self.pick(s.votes, none_of(P), all_of(P))
        kind = self.pick("those", "both", "ite", "or", "and", "minus", "fold", "fold", "single")
        if kind == "those":
            return those(P, lambda p: s.up[p])
        if kind == "both":
            return those(P, lambda p: s.up[p] & s.votes.contains(p))
        if kind == "ite":
            return ite(self.condition(s, depth), self.set(s, depth - 1), self.set(s, depth - 1))
        if kind == "or":
            return self.set(s, depth - 1) | self.set(s, depth - 1)
        if kind == "and":
            return self.set(s, depth - 1) & self.set(s, depth - 1)
        if kind == "minus":
            return self.set(s, depth - 1) - self.set(s, depth - 1)
        if kind == "single":
            return none_of(P).add(self.pick(0, 1, 2)) if self.is_likely(0.3) else self.set(s, depth - 1)
        found, negative = self.set(s, depth - 1), self.is_likely(0.5)
        for p in each(P) if self.is_likely(0.85) else each(P)[:2]:
            more = found.add(p)
            found = ite(s.up[p], found, more) if negative else ite(s.up[p], more, found)
        return found


def deciding(seed: int) -> Callable:
    """An action with a random guard and a random assignment."""
    rng = random.Random(seed)
    numbers = [rng.random() for _ in range(500)]

    def decide(s: State) -> None:
        drawn = Drawn(numbers)
        require("drawn", drawn.set(s, 3).size >= drawn.pick(1, 2, 3))
        s.votes = drawn.set(s, 3)

    return decide


def is_renamed(instance, step) -> bool:
    """Whether an action instance is the same under every renaming, by trying all of them in every state."""
    guard, updated, leaves = Evaluator([step.guard]), step.updated, [leaf for leaf, _ in step.updates]
    kinds = kinds_of(instance, P)
    ways = [(places(instance, P, to), to) for to in permutations(range(3))]

    def rename(codes, way):
        return None if codes is None else renamed_state(codes, way[0], kinds, way[1])

    def after(codes):
        if not guard(codes)[0]:
            return None
        new = dict(zip(leaves, updated(codes), strict=True))
        return [new.get(leaf, code) for leaf, code in enumerate(codes)]

    seen = ("up", "votes", "done")
    sizes = [range(leaf.cardinality if leaf.name.startswith(seen) else 1) for leaf in instance.schema.leaves]
    states = map(list, product(*sizes))
    return all(after(rename(codes, way)) == rename(after(codes), way) for codes in states for way in ways)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [50, pytest.param(250, marks=pytest.mark.long)])
def test_what_is_accepted_is_so_in_every_state(seeds: int) -> None:
    answers = []
    for seed in range(seeds):
        instance = protocol_of(deciding(seed)).instantiate({"n": 3, "values": 1})
        accepts = check_symmetry(instance, [], P).is_symmetric
        answers += [(accepts, is_renamed(instance, step)) for step in instance.actions if step.action.name == "Decide"]
    assert (True, False) not in answers
    assert answers.count((True, True)) > seeds // 7
    assert answers.count((False, False)) > seeds // 7
    # What is so and not recognised: some; not most.
    assert answers.count((False, True)) < answers.count((True, True))
