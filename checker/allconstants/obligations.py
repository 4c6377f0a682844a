"""What is to be proved for all constants at once: the obligations of an induction over the first-order reading of a protocol.

The clauses, the obligations (`Obligations`) and what is asked of a solver for each.

A clause is a lemma, a promise, or that a field stays in its range. The obligations: every clause holds initially; every
action keeps every clause, from states in which the clauses hold; every promise that is no clause follows from the clauses in
one and the same state, or, where it is about steps, at every step from such a state; and every term that stands for "the
greatest such that" exists and is unique. If all are proved, every clause and every promise holds in every reachable state,
whatever the constants. An obligation may use any subset of the clauses; with few of them a solver decides, with all it gets
lost.

An action's obligation may also use what clauses before its own say after the step, as long as those are proved themselves:
`CommitQuorum'` is that CommitQuorum holds then. No clause rests on itself so, for there is a first one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

from acked.base.frozen import frozen
from acked.checker.allconstants.ways import WAYS, Way
from acked.invariants.proofs import Argument
from acked.invariants.property import Property
from acked.model.firstorder.definitions import shape_of
from acked.model.firstorder.normal import Clause
from acked.model.firstorder.query import Query, Questions
from acked.model.firstorder.reading import Reading
from acked.model.firstorder.store import FunctionStore
from acked.model.firstorder.terms import Term
from acked.model.language.protocol import Protocol

INITIAL = "initial state"
TERMS = "defined terms"
PROMISES = "promises"
"""Subjects of obligations that are about no action."""

AFTERWARDS = "'"
"""Ends the name of a clause that is meant to hold after the step."""


@frozen
class GeneralObligation:
    """Where the subject's assumptions and guard hold, so does the conclusion. `may_use`: whether clauses may be assumed.

    `afterwards` are those clauses as they are after the subject's step, by their names, that may be assumed too; the `barred`
    may not.
    """

    subject: str
    clause: str
    assumptions: tuple[Term, ...]
    guard: tuple[Term, ...]
    conclusion: Term
    may_use: bool
    afterwards: Mapping[str, Term]
    barred: frozenset[str] = frozenset()

    def may_name(self, clauses: Mapping[str, Term]) -> Mapping[str, Term]:
        """What it may assume, by name: of these clauses before the step, and of those after it."""
        if not self.may_use:
            return {}
        return {**{name: term for name, term in clauses.items() if name not in self.barred}, **self.afterwards}

    @property
    def key(self) -> str:
        """`BecomeLeader|WeakIsr`."""
        return f"{self.subject}|{self.clause}"


class Obligations:
    """The obligations over one protocol under some setting of its switches, and the argument that is to be checked.

    `drop` names (action, label) guard clauses to leave out; `ModelError` for one that there is not.
    """

    def __init__(
        self,
        protocol: Protocol,
        argument: Argument,
        drop: Iterable[tuple[str, str]] = (),
        constants: Mapping[str, object] | None = None,
    ) -> None:
        self.protocol = protocol
        self.argument = argument
        self.drop = tuple(drop)
        self.reading = Reading(protocol, self.drop, constants, argument.least, argument.is_exact)
        self.switches: Mapping[str, int] = self.reading.switches
        self._questions = Questions(self.reading)
        self._at: dict[str, Callable[[FunctionStore], Term]] = dict(self.reading.domains())
        for item in argument.clauses:
            self._at[item.name] = self._clause(item)
        self.clauses: dict[str, Term] = {name: at(self.reading.before) for name, at in self._at.items()}
        self.all: tuple[GeneralObligation, ...] = tuple(self._make())
        self.fingerprint = self._fingerprint()

    def prepare(self) -> None:
        """Normalises what is asked ahead of all questions: then no query depends on which were made before."""
        self._questions.prepare(self.clauses.values())
        for obligation in self.all:
            denied = self.reading.logic.not_(obligation.conclusion)
            self._questions.prepare((*obligation.assumptions, *obligation.guard, denied))
        for obligation in self.all:
            self._questions.prepare(obligation.afterwards.values())

    def _fingerprint(self) -> str:
        """A hash of all that the proof is about, the protocol and the clauses as read; queries add terms of their own."""
        text = hashlib.sha256()
        for line in self.reading.logic.rows():
            text.update(line.encode())
        for item in self.all:
            given = (*item.assumptions, *item.guard)
            text.update(f"{item.key} {[term.id for term in given]} {item.conclusion.id}\n".encode())
        return text.hexdigest()

    def query(self, obligation: GeneralObligation, lemmas: Iterable[str], way: Way = WAYS[0]) -> Query:
        """The obligation with the named clauses assumed; see `Questions.query`. Less may be assumed than the guard says."""
        known = obligation.may_name(self.clauses)
        named = [(name, known[name]) for name in lemmas if name in known]
        guard = obligation.guard if way.with_guard else ()
        given = [("", term) for term in (*obligation.assumptions, *guard)]
        return self._questions.query([*given, *named], obligation.conclusion, way.detail, way.are_alike)

    def is_untouched(self, obligation: GeneralObligation) -> bool:
        """Whether a step evidently leaves alone what a clause speaks of; asked where nobody keeps lemma sets."""
        clause = obligation.may_name(self.clauses).get(obligation.clause)
        is_asked = self.argument.is_exact and clause is not None
        return is_asked and shape_of(cast(Term, clause)) == shape_of(obligation.conclusion)

    def numbers_of_ids(self, query: Query) -> tuple[Clause, ...]:
        """See `Questions.numbers_of_ids`."""
        return self._questions.numbers_of_ids(query)

    def _clause(self, item: Property) -> Callable[[FunctionStore], Term]:
        return lambda store: self.reading.state_term(item.predicate, store)

    def _make(self) -> Iterator[GeneralObligation]:
        constants = self.reading.constants_in_range()
        chosen = self.reading.initially
        initially = (constants,) if chosen is self.reading.logic.true else (constants, chosen)
        kept = {name: at for name, at in self._at.items() if name not in self.argument.derived}
        for name, at in kept.items():
            yield GeneralObligation(INITIAL, name, initially, (), at(self.reading.initial), False, {})
        for step in self.reading.steps:
            given = (constants, *(item.range for item in step.parameters))
            afterwards: dict[str, Term] = {}
            for name, at in kept.items():
                conclusion = at(step.after)
                yield GeneralObligation(step.name, name, given, (step.guard,), conclusion, True, dict(afterwards))
                if name in self.argument.afterwards:
                    afterwards[name + AFTERWARDS] = conclusion
            for promise in self.argument.of_steps:
                conclusion = self.reading.step_term(promise.predicate, step.after)
                yield GeneralObligation(step.name, promise.name, given, (step.guard,), conclusion, True, dict(afterwards))
        derived = self.argument.derived
        for number, name in enumerate(derived):
            barred = frozenset(derived[number:])
            yield GeneralObligation(PROMISES, name, (constants,), (), self.clauses[name], True, {}, barred)
        for promise in self.argument.promises:
            yield GeneralObligation(
                PROMISES, promise.name, (constants,), (), self._clause(promise)(self.reading.before), True, {}
            )
        for definition in self.reading.logic.definitions.values():
            for claim in definition.claims:
                yield GeneralObligation(TERMS, claim.name, (constants, *claim.assumptions), (), claim.conclusion, False, {})
