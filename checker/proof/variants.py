"""Every variant of the replication family against every named promise: proved, or refuted by a shortest run.

Which questions the matrix asks, by which method each is answered, and for every variant which of its actions breaks which
step of KIP-320's argument.

The state spaces are small enough to be searched, all promises of a variant at once, in seconds. So every answer of a solver
is held against the search's: the verdict, and the length of the shortest run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import Enum, unique

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.base.processes import Limits
from acked.checker.allconstants.counterparts import Counterparts
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import ProofResult
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, ProofProgress
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search.local import search
from acked.invariants.proofs import all_lemmas, lemmas_for
from acked.invariants.property import Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.catalogue import FAMILY
from acked.model.language.protocol import Protocol

CONSTANTS: Mapping[str, int] = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
"""Small, and large enough that every promise that a variant breaks is broken."""

DEPTH = 11
"""Actions of the longest run that bounded model checking looks for; one more takes it minutes."""

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


@frozen
class VariantAnswer:
    """The answer for one variant and one property; `actions` of the shortest violating run, if there is one."""

    protocol: str
    promise: str
    property: str
    verdict: Verdict
    how: How
    seconds: float
    actions: int | None = None


@frozen
class Breach:
    """An action of a variant, and the lemmas of KIP-320's proof that it does not preserve.

    `asks` are the clauses by which kip320 forbids such steps.
    """

    protocol: str
    action: str
    lemmas: tuple[str, ...]
    asks: tuple[str, ...] = ()


@frozen
class Matrix:
    """The whole table; `seconds` is all the work."""

    constants: Mapping[str, int]
    entries: tuple[VariantAnswer, ...]
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
    asked = [(promise, known[name]) for promise, names in PROMISES for name in names]
    entries: list[VariantAnswer] = []
    breaches: list[Breach] = []
    attempts: list[ProofResult] = []
    total = len(FAMILY) * (len(asked) + 1)
    for protocol in FAMILY.values():
        searched = Searched.all_of(protocol, [item for _, item in asked])
        for promise, item in asked:
            done = entry_of(protocol, promise, item, searched, limits)
            entries.append(done)
            subject = f"{done.protocol}: {done.property}, by {done.how.value}"
            told.decided(ProofProgress(subject, done.verdict.value, done.seconds, len(entries) + len(attempts), total))
        attempts.append(_refuse_interrupted(explain(protocol, limits)))
        breaches += breaches_of(attempts[-1])
        subject = f"{protocol.name}: which action breaks which lemma"
        told.decided(ProofProgress(subject, "done", attempts[-1].seconds, len(entries) + len(attempts), total))
    return Matrix(CONSTANTS, tuple(entries), tuple(breaches), time.perf_counter() - begin)


@frozen
class Searched:
    """What explicit search says of promises: how many actions the shortest run has that breaks one, if any does.

    If it is not complete, of what is not broken nothing is known.
    """

    is_complete: bool
    shortest: Mapping[str, int]
    seconds: float

    @staticmethod
    def all_of(protocol: Protocol, promises: Sequence[Property], constants: Mapping[str, int] = CONSTANTS) -> Searched:
        """One search for all promises."""
        begin = time.perf_counter()
        found = search(Question(protocol.instantiate(constants), tuple(promises)), policy=StopPolicy.EVERY_PROPERTY)
        if found.stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        shortest = {item.property.name: item.trace_length - 1 for item in found.violations}
        # A search for every property ends early only where every one is broken.
        is_complete = found.stopped is StopReason.COMPLETE or len(shortest) == len(promises)
        return Searched(is_complete, shortest, time.perf_counter() - begin)

    def verdict(self, promise: str) -> Verdict:
        """What is known of one."""
        if promise in self.shortest:
            return Verdict.VIOLATED
        return Verdict.HOLDS if self.is_complete else Verdict.INCOMPLETE


def explain(protocol: Protocol, limits: Limits) -> ProofResult:
    """KIP-320's proof tried on a protocol: every action with what it does not preserve."""
    goals = tuple(item for item in PROPERTIES if item.name in ("WeakIsr", "StrongIsr"))
    question = Question(protocol.instantiate(CONSTANTS), goals)
    return prove_by_induction(question, all_lemmas(protocol), limits, InductionOptions(every_claim=True))


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


def entry_of(protocol: Protocol, promise: str, item: Property, searched: Searched, limits: Limits) -> VariantAnswer:
    """One answer: a proof where there are lemmas, a shortest run by bmc where one is short enough, or the search's.

    `SystemFailure` if a solver says otherwise than the search.
    """
    begin = time.perf_counter()
    question = Question(protocol.instantiate(CONSTANTS), (item,))
    verdict, actions = searched.verdict(item.name), searched.shortest.get(item.name)
    how, result = How.NONE, None
    lemmas = lemmas_for(protocol, (item,))
    if lemmas is not None:
        how, result = How.INDUCTION, _refuse_interrupted(prove_by_induction(question, lemmas, limits))
    is_short = verdict is Verdict.INCOMPLETE or (actions is not None and actions <= DEPTH)
    if is_short and (result is None or result.verdict is Verdict.INCOMPLETE):
        how, result = How.BMC, _refuse_interrupted(check_bounded(question, Bound(DEPTH), limits))
    if result is None or result.verdict is Verdict.INCOMPLETE:
        how = How.NONE if verdict is Verdict.INCOMPLETE else How.SEARCH
        return VariantAnswer(protocol.name, promise, item.name, verdict, how, searched.seconds, actions)
    found = result.violations[0].trace_length - 1 if result.violations else None
    if verdict is not Verdict.INCOMPLETE and (result.verdict, found) != (verdict, actions):
        raise SystemFailure(
            f"{protocol.name}, {item.name}: {how.value} says {_describe(result.verdict, found)}, explicit search "
            f"{_describe(verdict, actions)}; please report this as a defect of acked"
        )
    return VariantAnswer(protocol.name, promise, item.name, result.verdict, how, time.perf_counter() - begin, found)


def _refuse_interrupted(result: ProofResult) -> ProofResult:
    """A result as it is; who was interrupted in one answer does not want the next."""
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _describe(verdict: Verdict, actions: int | None) -> str:
    return verdict.value if actions is None else f"{verdict.value} after {actions} actions"
