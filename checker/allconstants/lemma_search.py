"""Which few lemmas an obligation needs: small instances name candidates, z3's proof of the obligation says which it used.

The search for lemma sets and for counterexamples (`CoreSearch`), and what a solver process does with the tasks of a proof for
all constants (`LemmaProcess`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from acked.base.files import write_text
from acked.checker.allconstants.obligations import PROMISES, GeneralObligation, Obligations
from acked.checker.allconstants.own import own_argument
from acked.checker.allconstants.prover import SEARCH_WAYS, Prover
from acked.checker.allconstants.small_instances import SmallInstance
from acked.checker.allconstants.texts import obligation_text
from acked.checker.solver.lemma_sets import Core, StepCounterexample
from acked.checker.solver.queries import OutOfTime
from acked.checker.solver.tasks import FiringTask, FirstOrderProblem, ObligationAnswer, ObligationTask
from acked.checker.spec.resolve import protocol_named
from acked.invariants.proofs import argument_of

SEARCH_EFFORT = 4_000_000
"""How long z3 may think about one candidate lemma set, in its own count of steps: about two seconds."""

AFTER_WAYS = (14, 16, 18)
"""The ways (`texts.WAYS`) in which an obligation is asked first that may use clauses after the step."""

ONE_CLAUSE_WAY = 10
"""The way in which a promise is asked that says in other words what one clause says."""

FIRST_EFFORT = SEARCH_EFFORT // 20
"""How much may be spent on what is tried before a small instance is asked: most obligations need no more."""

class CoreSearch:
    """Looks for lemma sets: small instances name candidates, z3's proof of the obligation itself says which it used."""

    def __init__(
        self,
        prover: Prover,
        effort: int = SEARCH_EFFORT,
        seconds: float = 0.0,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        self._prover = prover
        self._obligations = prover.obligations
        self._effort = effort
        self._seconds = seconds
        self._alive = alive
        self._small: dict[int, SmallInstance] = {}
        self._sizes = self._obligations.argument.small
        self._ranges = tuple(name for name in self._obligations.clauses if name.startswith("Domain("))

    def find(
        self, obligation: GeneralObligation, suspect: bool = False, near: Iterable[Core] = (), known: Core | None = None
    ) -> Core | StepCounterexample | None:
        """Lemmas with which z3 proves the obligation, a counterexample on a small instance, or None.

        Tried first: the set `known` of it, with which it was proved under other rules, in all ways; and sets `near` it.

        A query that the limit in seconds cuts short ends the search: `OutOfTime`. There are dozens more like it.
        A suspect obligation is first tried on the smallest instance: a refutation takes a moment, a vain proof does not.
        """
        if not obligation.may_use:
            return self._verify(obligation, (), self._effort)
        if self._obligations.is_untouched(obligation):
            return Core((obligation.clause,))
        if suspect and obligation.subject != PROMISES:
            found = self._instance(0).lemmas_of_step(obligation.subject, obligation.clause)
            if isinstance(found, StepCounterexample):
                return found
        first = ((known, self._effort),) if known is not None and known.lemmas else ()
        for given, effort in (*first, *((item, self._effort // 4) for item in near)):
            if (reduced := self._reduce(obligation, given, effort)) is not None:
                return reduced
        is_clause = obligation.clause in self._obligations.clauses
        own = (obligation.clause,) if is_clause and obligation.clause not in self._ranges else ()
        gathered = dict.fromkeys((*own, *self._ranges))
        for names in ((), own, tuple(gathered)):
            if (core := self._attempt(obligation, names, min(self._effort, FIRST_EFFORT))) is not None:
                return core
        everything = tuple(obligation.may_name(self._obligations.clauses))
        if obligation.afterwards:
            # What the step leads to says more than how it comes about.
            for way in AFTER_WAYS:
                core = Core((*gathered, *obligation.afterwards), way)
                if self._prover.effort(obligation, core, self._effort) is not None:
                    return self._least(obligation, core, self._effort)
        if obligation.subject == PROMISES:
            return self._single_clause(obligation) or self._attempt(obligation, everything, self._effort)
        for number in range(len(self._sizes)):
            found = self._instance(number).lemmas_of_step(obligation.subject, obligation.clause)
            if isinstance(found, StepCounterexample):
                return found
            for lemmas in found or []:
                wanted = dict.fromkeys((*own, *lemmas))
                gathered.update(wanted)
                for extra in (self._ranges, ()):
                    if (core := self._attempt(obligation, tuple(dict.fromkeys((*wanted, *extra))), self._effort)) is not None:
                        return core
            if (core := self._attempt(obligation, (*gathered, *obligation.afterwards), self._effort)) is not None:
                return core
        return self._attempt(obligation, everything, self._effort)

    def _reduce(self, obligation: GeneralObligation, core: Core, effort: int) -> Core | None:
        """What is left of a lemma set that may do, in the way that is known for it or in others; None if it does not."""
        known = obligation.may_name(self._obligations.clauses)
        lemmas = tuple(name for name in core.lemmas if name in known)
        for way in dict.fromkeys((core.way, *SEARCH_WAYS)):
            tried = Core(lemmas, way)
            if self._prover.effort(obligation, tried, effort) is not None:
                return self._least(obligation, tried, self._effort)
        return None

    def _single_clause(self, obligation: GeneralObligation) -> Core | None:
        """A promise that is a clause in other words follows from that one, and from where fields are in their domains."""
        effort = min(self._effort, FIRST_EFFORT)
        for name in reversed(self._obligations.clauses):
            core = Core((name, *(item for item in self._ranges if item != name)), ONE_CLAUSE_WAY)
            if self._prover.effort(obligation, core, effort) is not None:
                return self._least(obligation, core, effort)
        return None

    def can_fire(self, action: str) -> bool:
        """Whether the action is enabled in some state of a small instance in which every clause holds."""
        return any(self._instance(number).can_fire(action) for number in range(len(self._sizes)))

    def _instance(self, number: int) -> SmallInstance:
        if number not in self._small:
            asked = self._obligations
            self._small[number] = SmallInstance(
                asked.protocol,
                {**asked.switches, **self._sizes[number]},
                asked.argument.clauses,
                asked.drop,
                self._seconds,
                self._alive,
                asked.argument.of_steps,
            )
        return self._small[number]

    def _attempt(self, obligation: GeneralObligation, names: Sequence[str], effort: int) -> Core | None:
        """What is left of `names` after dropping one lemma at a time; None if they do not suffice."""
        if not names:
            return self._verify(obligation, (), effort)
        used = self._prover.core(obligation, names, effort)
        if used is None:
            return None
        core = self._verify(obligation, used, effort)
        for name in used if core is None else ():
            # Whatever else is in the way, fewer lemmas may do.
            if (core := self._verify(obligation, tuple(item for item in used if item != name), effort)) is not None:
                break
        return None if core is None else self._least(obligation, core, effort)

    def _least(self, obligation: GeneralObligation, core: Core, effort: int) -> Core:
        steps = self._prover.effort(obligation, core, effort)
        for name in core.lemmas:
            fewer = Core(tuple(item for item in core.lemmas if item != name), core.way)
            # A proof that needs a lemma less seldom takes longer.
            found = None if steps is None else self._prover.effort(obligation, fewer, 2 * steps + 10_000)
            if found is not None:
                core, steps = fewer, found
        return core

    def _verify(self, obligation: GeneralObligation, lemmas: tuple[str, ...], effort: int) -> Core | None:
        way = self._prover.solve(obligation, lemmas, effort)
        return None if way is None else Core(lemmas, way)


class LemmaProcess:
    """Answers tasks about one protocol's obligations."""

    def __init__(self, problem: FirstOrderProblem, seconds: float) -> None:
        self._emit: Callable[[Any], None] = lambda _: None
        constants = dict(problem.constants)
        protocol, own = protocol_named(problem.protocol), problem.own
        argument = argument_of(protocol, constants, problem.asked) if own is None else own_argument(protocol, own)
        assert argument is not None
        self._obligations = Obligations(protocol, argument, problem.drop, constants)
        self._prover = Prover(self._obligations, seconds, self._alive)
        self._search = CoreSearch(self._prover, SEARCH_EFFORT, seconds, self._alive)

    def _alive(self) -> None:
        self._emit(None)  # Each query may take its whole time.

    def answer(self, task: ObligationTask | FiringTask, emit: Callable[[Any], None]) -> ObligationAnswer | bool:
        """The answer to a task; `emit` is called before each query."""
        self._emit = emit
        if isinstance(task, FiringTask):
            try:
                return self._search.can_fire(task.action)
            except OutOfTime:
                return False
        started = time.perf_counter()
        obligation = self._obligations.all[task.number]
        reason = ""
        core: Core | None = None
        counterexample: StepCounterexample | None = None
        try:
            found = self._decide(obligation, task)
        except OutOfTime as late:
            reason = str(late)
        else:
            core = found if isinstance(found, Core) else None
            counterexample = found if isinstance(found, StepCounterexample) else None
        if task.smt2 is not None and core is not None:
            write_text(Path(task.smt2), obligation_text(self._obligations, obligation, core), "SMT-LIB text")
        seconds = time.perf_counter() - started
        used = core or Core(task.lemmas or ())
        return ObligationAnswer(core is not None, used.lemmas, used.way, counterexample, seconds, reason)

    def _decide(self, obligation: GeneralObligation, task: ObligationTask) -> Core | StepCounterexample | None:
        """With what it is proved, the known lemma set first; what refutes it; or None."""
        if task.lemmas is not None or not task.search:
            lemmas = task.lemmas or ()
            way = self._prover.solve(obligation, lemmas, task.effort, task.way)
            if way is not None:
                return Core(lemmas, way)
        # Where a set is known that does not suffice, the rules or the lemmas are others than it was found for.
        known = None if task.lemmas is None else Core(task.lemmas, task.way)
        return self._search.find(obligation, task.suspect or known is not None, task.near, known) if task.search else None
