"""The steps of a first-order reading, expanded over an instance, beside the instance's own."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import address
from acked.invariants.property import Kind, Property
from acked.model.firstorder.reading import Parameter, Reading
from acked.model.firstorder.symbols import INT, Symbol
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.domain import Plain
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Bool
from tests.model.firstorder.expansion import Expansion

Codes = list[int]


class Comparison:
    """Fires every step of an instance twice: as the protocol says, and as the reading does."""

    def __init__(self, reading: Reading, instance: Instance) -> None:
        self.instance = instance
        by_name = {item.name: item for item in reading.steps}
        guards, self._updates, unique, facts = [], [], [], []
        self._alike: list[Expr] = []
        for step in instance.actions:
            symbolic = by_name[step.action.name]
            expansion = Expansion(reading, instance, _arguments(symbolic.parameters, step, instance))
            guards += [step.guard, expansion.expr(symbolic.guard)]
            after = expansion.codes(symbolic.after)
            self._updates.append(Evaluator([*(code for _, code in step.updates), *after]))
            self._alike.append(self._says_the_same(step, guards[-1], after))
            unique += expansion.unique
            facts += expansion.facts
        self._guards, self._true = Evaluator(guards), Evaluator([*unique, *facts])
        self._alike += [*unique, *facts]
        self.facts = len(facts)
        self.fired: dict[str, int] = {}

    def _says_the_same(self, step: ActionInstance, guard: Expr, after: Sequence[Expr]) -> Expr:
        """Both guards are alike, and where they hold, every leaf is the same afterwards."""
        pool = self.instance.pool
        own = dict(step.updates)
        fields = enumerate(zip(self.instance.fields, after, strict=True))
        same = [pool.eq(own.get(leaf, field), code) for leaf, (field, code) in fields]
        return pool.and_(pool.eq(step.guard, guard), pool.or_(pool.not_(step.guard), pool.all(same)))

    def agreement(self) -> Property:
        """That the reading has every step of a state, each with its successor, as an invariant for a search."""
        whole = self.instance.pool.all(self._alike)
        return Property("ReadingAgrees", Kind.STATE, lambda s: Bool(whole), "", "", "")

    def steps(self, codes: Codes) -> Iterator[tuple[ActionInstance, Codes]]:
        """The steps from a state and what they lead to; `AssertionError` where the two do not say the same."""
        enabled = self._guards(codes)
        assert all(self._true(codes)), "a defined term is not unique, or a fact about sizes is false"
        for number, step in enumerate(self.instance.actions):
            assert enabled[2 * number] == enabled[2 * number + 1], (step.label, codes)
            if enabled[2 * number]:
                found = self._updates[number](codes)
                after = list(codes)
                for (leaf, _), value in zip(step.updates, found, strict=False):
                    after[leaf] = value
                assert found[len(step.updates) :] == after, (step.label, codes)
                self.fired[step.action.name] = self.fired.get(step.action.name, 0) + 1
                yield step, after

    def walk(self, width: int | None = None, seed: int = 20) -> list[Codes]:
        """Every reachable state or, with a width, so many of each depth, drawn from what the last ones lead to."""
        source = random.Random(seed)
        schema = self.instance.schema
        seen = set(self.instance.initial)
        level = [schema.unpack(words) for words in self.instance.initial]
        walked = []
        while level:
            found = {}
            for codes in level:
                for _, after in self.steps(codes):
                    words = schema.pack(after)
                    if words not in seen:
                        seen.add(words)
                        found[words] = after
            walked += level
            kept = list(found.values())
            level = kept if width is None else source.sample(kept, min(width, len(kept)))
        return walked


def _arguments(parameters: Sequence[Parameter], step: ActionInstance, instance: Instance) -> dict[Symbol, Plain]:
    """What the symbols of an action's parameters stand for: the values themselves, or the codes of numbers and names."""
    made: dict[Symbol, Plain] = {}
    for item in parameters:
        domain, value = step.parameters[item.name].bare, step.arguments[item.name]
        is_coded = item.symbol.result is INT
        made[item.symbol] = domain.from_plain(value, instance.constants) if is_coded else value
    return made


def levels_of(instance: Instance) -> list[NDArray[np.uint64]]:
    """Every reachable state, packed, by its distance from the initial state."""
    search = LocalSearch(Question(instance, ()), Bounds(workers=1, memory=4 << 30), keeps_states=True)
    found = search.run()
    assert found.stopped is StopReason.COMPLETE
    (shard,) = search.shards
    width = instance.schema.words
    known = (ctypes.c_uint64 * (shard.count * width)).from_address(address(shard.states))
    states = np.array(known, np.uint64).reshape(-1, width)
    return np.split(states, np.cumsum(found.level_sizes)[:-1])


def drawn_evenly(instance: Instance, count: int, seed: int = 16) -> list[Codes]:
    """So many reachable states, as many of each level as of every other, or all of a level that has fewer."""
    source = np.random.default_rng(seed)
    drawn: list[Codes] = []
    smallest_first = sorted(levels_of(instance), key=len)
    for number, level in enumerate(smallest_first):
        share = -(-(count - len(drawn)) // (len(smallest_first) - number))
        chosen = source.choice(len(level), min(share, len(level)), replace=False)
        drawn += [instance.schema.unpack(tuple(int(word) for word in level[at])) for at in chosen]
    return drawn
