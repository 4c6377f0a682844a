"""Tiered compilation: when a search goes on with better code.

`Tiers`: the functions of a question are compiled beside the search, in pieces that it uses as they come. The loops, which
searches share, are optimized between two levels of the first that is long enough, because a search that goes on beside that
would take what processors there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from acked.base.bounds import DISPENSABLE
from acked.checker.native.compile import Haste, Kernel, begin_loops, compile_piece, pieces_of
from acked.checker.question.known import KnownPlan
from acked.checker.question.ledger import Ledger
from acked.checker.question.plan import KernelPlan
from acked.checker.shards.shard import Shard
from acked.model.language.protocol import Protocol
from acked.model.language.storage.layout import Schema

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

FIRE_RATIO = 10
"""A search is long, and a piece of successors is worth compiling, once its actions were fired so many times for every byte
that quickly compiled code of as many actions has on the average. Better code saves 20 to 40 ns each time, a byte takes six to
twelve microseconds: the rest is saved when the question is asked again, since the code is kept. Counted, not timed: a busy
machine is slow at both."""
LEAST_RATIO = 40
"""One that has generated fewer states for every byte of all its quickly compiled code may be over before LLVM is imported."""
REST_RATIO = 1 << 16
"""All that is left is worth compiling once a search has found so many states for every piece of it: guards are decided by
their code alone, a third of a microsecond sooner for each state, when no successor needs the formulas that it shares with
them."""
ONCE = 16
"""How many times as many, of a question that was not asked before: by then it has lost what the code takes."""

FEW_BITS = 16
"""A search whose states have no more is over soon: it begins with the loops that are compiled first of all."""
FIRST_UNTIL = 1 << 16
"""States that a search generates with the loops that are compiled first of all: with others each takes a twentieth to a
seventh of a microsecond less, and those take a sixth of a second to compile. One that is asked again loses that again."""
QUICK_UNTIL = 1 << 24
"""States that a search, if it was asked before, generates before it waits for loops that are optimized, which it does not if
another one had them compiled: what runs longer takes a fifth longer with those that it began with."""


def first_haste(schema: Schema) -> Haste:
    """How the loops may be compiled that a search of such states begins with."""
    return Haste.MOST if schema.bits <= FEW_BITS else Haste.SOME


def begin_beside(protocol: Protocol, constants: Mapping[str, int]) -> Thread:
    """Has the loops that a search will begin with compiled in a thread, if there are none, while the protocol is traced.

    Not those of few bits: writing them takes as long as to trace such a protocol.
    """

    def begin() -> None:
        # Whatever is wrong is told by who traces the protocol or needs the loops; and a command that has refused may be over.
        with suppress(Exception):
            schema = Schema(protocol.state, constants)
            if (haste := first_haste(schema)) is not Haste.MOST:
                begin_loops(schema.words, haste)

    beside = Thread(target=begin, name=DISPENSABLE)
    beside.start()
    return beside


class Tiers:
    """The better code of one search's plan."""

    def __init__(self, plan: KernelPlan) -> None:
        self._plan = plan
        self._times = 1 if isinstance(plan, KnownPlan) else ONCE
        self.pieces: dict[int, Future[bytes]] = {}
        """What was or is compiled, by number."""

    def advance(self, kernel: Kernel, shards: Sequence[Shard], ledger: Ledger, compiler: Executor) -> Kernel:
        """Between two levels: compiles what a search is long enough for, and switches to what is there; the kernel then."""
        until = {Haste.MOST: FIRST_UNTIL, Haste.SOME: QUICK_UNTIL}.get(shards[0].haste)
        if until is not None and ledger.generated_states > until * self._times:
            loops = shards[0].better_loops()
            for shard in shards:
                shard.use_loops(loops)
        if kernel.is_optimized:
            return kernel
        for number in self._worthwhile(kernel, ledger):
            self.pieces[number] = compiler.submit(compile_piece, self._plan, number)
        return self.use_pieces(kernel, shards)

    def use_pieces(self, kernel: Kernel, shards: Sequence[Shard]) -> Kernel:
        """Has shards use what is compiled by now beside the code of a kernel; the kernel then."""
        done = {number: piece.result() for number, piece in self.pieces.items() if piece.done()}
        if not all(kernel.code.pieces[number] for number in done):
            kernel = Kernel(kernel.code.with_pieces(done))
            for shard in shards:
                shard.use_kernel(kernel)
        return kernel

    def _worthwhile(self, kernel: Kernel, ledger: Ledger) -> list[int]:
        """The pieces that are to be compiled now, those first whose actions were fired most; that of guards last."""
        if ledger.generated_states < LEAST_RATIO * kernel.size:
            return []
        pieces, wanting = pieces_of(len(ledger.fired)), {}
        for number, of in enumerate(pieces):
            fired = sum(ledger.fired[of.start : of.stop])
            if not kernel.code.pieces[number] and number not in self.pieces and (fired or number == 0):
                wanting[number] = fired
        size = FIRE_RATIO * kernel.size * self._times / max(len(ledger.fired), 1)
        worth = [number for number, fired in wanting.items() if fired > size * len(pieces[number])]
        rest = REST_RATIO * (len(wanting) - len(worth)) * self._times
        if ledger.generated_states > rest and ledger.distinct_states > rest:  # the first is told sooner, of many levels
            worth = [*wanting]
        return sorted(worth, key=wanting.__getitem__, reverse=True)
