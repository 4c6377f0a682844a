"""Every variant of the replication family against every named promise: proved, or refuted by a shortest run.

What lives here: which questions the matrix asks, in which order methods are tried, and for every variant which of its actions
breaks which step of KIP-320's argument. What does not: the methods (`induction.py`, `bmc.py`, `search.py`) and the table
(`reports/matrix.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique

from checker.bmc import Bound, check_bounded
from checker.counterparts import Counterparts
from checker.induction import Options, prove_by_induction
from checker.observer import Observer, ProofProgress
from checker.proof import ProofResult
from checker.question import Question
from checker.result import Verdict
from checker.solvers import Limits
from invariants.kip320_lemmas import KIP320_LEMMAS
from invariants.proofs import all_lemmas, lemmas_for
from invariants.property import Property
from invariants.replication import PROPERTIES
from model.catalogue import FAMILY
from model.protocol import Protocol

CONSTANTS: Mapping[str, int] = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
"""Small, and large enough that every promise that a variant breaks is broken."""

DEPTH = 12
"""Actions of the longest run that is looked at."""

PROMISES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("high watermark ≤ least log end of the ISR", ("HwWithinOwnIsr", "HwWithinQuorumIsr")),
    ("committed records are durable", ("StrongIsr", "CommittedRecordsStay")),
    ("leader completeness", ("CommitRequest",)),
)
"""What people call a promise, and the properties that state it."""


@unique
class How(Enum):
    """By which method an entry was decided."""

    INDUCTION = "induction"
    BMC = "bmc"
    SEARCH = "search"
    NONE = "-"


@dataclass(frozen=True)
class Entry:
    """The answer for one variant and one property; `actions` of the shortest violating run, if there is one."""

    protocol: str
    promise: str
    property: str
    verdict: Verdict
    how: How
    seconds: float
    actions: int | None = None


@dataclass(frozen=True)
class Breach:
    """An action of a variant, and the lemmas of KIP-320's proof that it does not preserve.

    `asks` are the clauses by which kip320 forbids such steps.
    """

    protocol: str
    action: str
    lemmas: tuple[str, ...]
    asks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """The whole table; `seconds` is all the work."""

    constants: Mapping[str, int]
    entries: tuple[Entry, ...]
    breaches: tuple[Breach, ...]
    seconds: float

    @property
    def is_decided(self) -> bool:
        """Whether no entry was left open."""
        return all(item.verdict is not Verdict.INCOMPLETE for item in self.entries)


def prove_matrix(limits: Limits, observer: Observer | None = None) -> Matrix:
    """Answers every question of the matrix."""
    told = observer or Observer()
    begin = time.perf_counter()
    known = {item.name: item for item in (*KIP320_LEMMAS, *PROPERTIES)}
    asked = [
        (protocol, promise, known[name])
        for protocol in FAMILY.values()
        for promise, names in PROMISES
        for name in names
    ]
    entries: list[Entry] = []
    breaches: list[Breach] = []
    total = len(asked) + len(FAMILY)
    for protocol, promise, item in asked:
        entries.append(_entry(protocol, promise, item, limits))
        done = entries[-1]
        subject = f"{done.protocol}: {done.property}, by {done.how.value}"
        told.decided(ProofProgress(subject, done.verdict.value, done.seconds, len(entries), total))
    for number, protocol in enumerate(FAMILY.values(), start=1):
        attempt = explain(protocol, limits)
        breaches += breaches_of(attempt)
        subject = f"{protocol.name}: which action breaks which lemma"
        told.decided(ProofProgress(subject, "done", attempt.seconds, len(asked) + number, total))
    return Matrix(CONSTANTS, tuple(entries), tuple(breaches), time.perf_counter() - begin)


def explain(protocol: Protocol, limits: Limits, constants: Mapping[str, int] = CONSTANTS) -> ProofResult:
    """KIP-320's proof tried on a protocol: every action with what it does not preserve."""
    goals = tuple(item for item in PROPERTIES if item.name in ("WeakIsr", "StrongIsr"))
    question = Question(protocol.instantiate(constants), goals)
    return prove_by_induction(question, all_lemmas(protocol), limits, Options(every_claim=True))


def breaches_of(attempt: ProofResult) -> list[Breach]:
    """The actions that break something in an attempt at KIP-320's proof, and what kip320 has against those steps."""
    if attempt.induction is None:
        return []
    instance = attempt.question.instance
    compared = Counterparts(instance)
    found = []
    for action in attempt.induction.actions:
        asks: dict[str, None] = {}
        for one in (one for item in action.obligations for one in item.counterexamples if one.run.actions):
            objection = compared.objection(one.run.actions[-1], instance.schema.unpack(one.run.states[-2]))
            asks.update(dict.fromkeys(objection.clauses if objection is not None else ()))
        if action.broken:
            lemmas = tuple(item.name for item in (*KIP320_LEMMAS, *PROPERTIES) if item.name in action.broken)
            found.append(Breach(instance.protocol.name, action.name, lemmas, tuple(asks)))
    return found


def _entry(protocol: Protocol, promise: str, item: Property, limits: Limits) -> Entry:
    begin = time.perf_counter()
    question = Question(protocol.instantiate(CONSTANTS), (item,))
    how, result = How.NONE, None
    lemmas = lemmas_for(protocol, (item,))
    if lemmas is not None:
        how, result = How.INDUCTION, prove_by_induction(question, lemmas, limits)
    if result is None or result.verdict is Verdict.INCOMPLETE:
        how, result = How.BMC, check_bounded(question, Bound(DEPTH), limits)
    if result.verdict is not Verdict.INCOMPLETE:
        actions = result.violations[0].trace_length - 1 if result.violations else None
        return Entry(protocol.name, promise, item.name, result.verdict, how, time.perf_counter() - begin, actions)
    from checker.search import search

    found = search(question)
    actions = found.violations[0].trace_length - 1 if found.violations else None
    how = How.NONE if found.verdict is Verdict.INCOMPLETE else How.SEARCH
    return Entry(protocol.name, promise, item.name, found.verdict, how, time.perf_counter() - begin, actions)
