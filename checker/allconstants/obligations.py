"""What is to be proved for all constants at once: the obligations of an induction over the first-order reading of a protocol.

The clauses, the obligations (`Obligations`) and what is asked of a solver for each.

A clause is a lemma, a promise, or that a field stays in its range. The obligations: every clause holds initially; every
action keeps every clause, from states in which the clauses hold; and every term that stands for "the greatest such that"
exists and is unique. If all are proved, every clause holds in every reachable state, whatever the constants. An obligation
may use any subset of the clauses; with few of them a solver decides, with all it gets lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from acked.invariants.property import Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.firstorder.query import Query, Questions
from acked.model.firstorder.reading import Reading
from acked.model.firstorder.store import FunctionStore
from acked.model.firstorder.terms import Term
from acked.model.language.protocol import Protocol

GOALS: tuple[Property, ...] = tuple(item for item in PROPERTIES if item.name in ("WeakIsr", "StrongIsr"))
"""What is to be proved; the lemmas serve it."""

CLAUSES: tuple[Property, ...] = (*KIP320_LEMMAS, *GOALS)
"""Every clause that is not about a field's range."""

INITIAL = "initial state"
TERMS = "defined terms"


@dataclass(frozen=True)
class Obligation:
    """Where the subject's assumptions hold, so does the conclusion. `may_use` says whether clauses may be assumed."""

    subject: str
    clause: str
    assumptions: tuple[Term, ...]
    conclusion: Term
    may_use: bool

    @property
    def key(self) -> str:
        """`BecomeLeader|WeakIsr`."""
        return f"{self.subject}|{self.clause}"


class Obligations:
    """The obligations over one protocol; `drop` names (action, label) guard clauses to leave out."""

    def __init__(
        self, protocol: Protocol, clauses: Sequence[Property] = CLAUSES, drop: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.protocol = protocol
        self.properties = tuple(clauses)
        self.drop = tuple(drop)
        self.reading = Reading(protocol, self.drop)
        self._questions = Questions(self.reading)
        self._at: dict[str, Callable[[FunctionStore], Term]] = dict(self.reading.domains())
        for item in clauses:
            self._at[item.name] = self._clause(item)
        self.clauses: dict[str, Term] = {name: at(self.reading.before) for name, at in self._at.items()}
        self.all: tuple[Obligation, ...] = tuple(self._make())
        self.fingerprint = self._fingerprint()
        self._questions.prepare(self.clauses.values())
        for obligation in self.all:
            self._questions.prepare((*obligation.assumptions, self.reading.logic.not_(obligation.conclusion)))

    def _fingerprint(self) -> str:
        """A hash of all that the proof is about, the protocol and the clauses as read; queries add terms of their own."""
        text = hashlib.sha256()
        for line in self.reading.logic.rows():
            text.update(line.encode())
        for item in self.all:
            text.update(f"{item.key} {[term.id for term in item.assumptions]} {item.conclusion.id}\n".encode())
        return text.hexdigest()

    def query(self, obligation: Obligation, lemmas: Iterable[str]) -> Query:
        """The obligation with the named clauses assumed."""
        named = [(name, self.clauses[name]) for name in lemmas if name in self.clauses] if obligation.may_use else []
        given = [("", term) for term in obligation.assumptions]
        return self._questions.query([*given, *named], obligation.conclusion)

    def _clause(self, item: Property) -> Callable[[FunctionStore], Term]:
        return lambda store: self.reading.state_term(item.predicate, store)

    def _make(self) -> Iterator[Obligation]:
        constants = self.reading.constants_in_range()
        for name, at in self._at.items():
            yield Obligation(INITIAL, name, (constants,), at(self.reading.initial), may_use=False)
        for step in self.reading.steps:
            given = (constants, *(item.range for item in step.parameters), step.guard)
            for name, at in self._at.items():
                yield Obligation(step.name, name, given, at(step.after), may_use=True)
        for definition in self.reading.logic.definitions.values():
            for claim in definition.claims:
                yield Obligation(TERMS, claim.name, (constants, *claim.assumptions), claim.conclusion, may_use=False)
