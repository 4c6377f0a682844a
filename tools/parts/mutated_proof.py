"""Which guard clauses the proof for all constants needs: each is left out in turn, and its action's obligations asked again.

An obligation is about one action, and no other action changes: with a clause of `FetchRecord` left out, what was proved of
all others stays proved. So the proof is refused without the clause if an obligation of that action, or of a term that its
rule defines, is no longer proved; the first one in the order of the clauses is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acked.base.errors import SystemFailure
from acked.base.processes import Limits, Lost, Note, ProcessPool, Service
from acked.checker.allconstants.lemma_search import CoreSearch
from acked.checker.allconstants.obligations import TERMS, GeneralObligation, Obligations
from acked.checker.allconstants.prover import Prover
from acked.checker.solver.lemma_sets import Core, CoreFile, StepCounterexample, shipped_sets
from acked.checker.solver.queries import OutOfTime
from acked.invariants.proofs import Argument, argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Protocol

EFFORT = 6_000_000
"""How long z3 may think about an obligation with a known lemma set, in its own count of steps."""

MUTATION = Service("tools.parts.mutated_proof:MutationProcess", "solver", ("z3",))
"""Processes each of which proves one mutation after the other."""

Clause = tuple[str, str]
"""An action and the label of one of its guard clauses."""


class ActionObligations(Obligations):
    """The obligations about one action without one of its clauses, and about the terms that its rule defines."""

    def __init__(self, protocol: Protocol, argument: Argument, clause: Clause, switches: Mapping[str, int]) -> None:
        self._action = clause[0]
        super().__init__(protocol, argument, (clause,), switches)

    def _make(self) -> Iterator[GeneralObligation]:
        # To read what all other actions lead to takes most of the time.
        self.reading.steps = tuple(step for step in self.reading.steps if step.name == self._action)
        return (item for item in super()._make() if item.subject in (self._action, TERMS))


@dataclass(frozen=True)
class Mutated:
    """What the proof says without a clause: `broken` is the first lemma that the action is not proved to keep, or empty.

    `step` is one of a small instance that breaks it, `sizes` of that instance; both empty if it is only unproved. `proved`
    counts the obligations before it.
    """

    clause: Clause
    broken: str
    proved: int
    step: str = ""
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the proof goes through without the clause."""
        return not self.broken


@dataclass(frozen=True)
class MutationSetup:
    """The protocol by name, its switches, and the lemma sets to begin with."""

    protocol: str
    switches: tuple[tuple[str, int], ...]
    known: CoreFile


class MutationProcess:
    """Proves an action without one of its clauses."""

    def __init__(self, setup: MutationSetup, seconds: float) -> None:
        self._setup = setup
        self._seconds = seconds

    def answer(self, task: Clause, emit: Callable[[Any], None]) -> Mutated:
        """What became of the obligations of the clause's action; `emit` is called before each query."""
        return without_clause(self._setup, task, self._seconds, lambda: emit(None))


def without_clause(
    setup: MutationSetup, clause: Clause, seconds: float = 0.0, alive: Callable[[], None] = lambda: None
) -> Mutated:
    """The obligations of the clause's action without it, until one is not proved."""
    protocol, switches = PROTOCOLS[setup.protocol], dict(setup.switches)
    argument = argument_of(protocol, switches)
    assert argument is not None
    asked = ActionObligations(protocol, argument, clause, switches)
    prover = Prover(asked, seconds, alive)
    search = CoreSearch(prover, seconds=seconds, alive=alive)
    proved = 0
    for item in asked.all:
        found = _decided(prover, search, setup.known, item)
        if isinstance(found, StepCounterexample):
            sizes = tuple((name, value) for name, value in found.constants.items() if name in protocol.sizes)
            return Mutated(clause, item.clause, proved, found.step, sizes)
        if found is None:
            return Mutated(clause, item.clause, proved)
        proved += 1
    return Mutated(clause, "", proved)


def _decided(
    prover: Prover, search: CoreSearch, known: CoreFile, item: GeneralObligation
) -> Core | StepCounterexample | None:
    core = known.cores.get(item.key) if item.may_use else Core()
    try:
        if core is not None and prover.solve(item, core.lemmas, EFFORT, core.way) is not None:
            return core
        return search.find(item, suspect=True)
    except OutOfTime:
        return None


def without_each(
    protocol: str,
    switches: Mapping[str, int],
    clauses: Sequence[Clause],
    limits: Limits,
) -> Iterator[Mutated]:
    """What the proof says without each of some clauses, one at a time, as they are decided."""
    setup = MutationSetup(protocol, tuple(switches.items()), shipped_sets(PROTOCOLS[protocol]))
    with ProcessPool(limits, MUTATION) as pool:
        pool.load(setup)
        for reply in pool.run(clauses):
            if isinstance(reply, Lost):
                raise SystemFailure(f"without {': '.join(clauses[reply.task])} there is no answer: {reply.reason}")
            if not isinstance(reply, Note):
                yield reply.value
