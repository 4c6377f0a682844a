"""Proofs for all constants at once: any number of replicas, offsets, records and leader epochs.

What lives here: the obligations of an induction over the first-order reading of a protocol (`Induction`), their proof
(`prove_all_constants`), the search for the few lemmas that each needs (`find_cores`) and their text for other solvers
(`write_smt2`). What does not: the reading (`model/firstorder/`), the lemmas (`invariants/`), induction under given
constants (`induction.py`) and small instances (`cores.py`).

A clause is a lemma, a promise, or that a field stays in its range. The obligations: every clause holds initially; every
action keeps every clause, from states in which the clauses hold; and every term that stands for "the greatest such that"
exists and is unique. If all are proved, every clause holds in every reachable state, whatever the constants. An obligation
may use any subset of the clauses; with few of them a solver decides, with all it gets lost.

z3 answers by instantiating quantifiers. "Unsatisfiable" is a proof; everything else is no answer, and then an obligation is
tried on small instances, where a counterexample can be found. It is open in either case, and one open obligation makes the
verdict `incomplete`. Importing this module imports z3, which is slow: do so only where a proof is asked for.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from pathlib import Path
from typing import Any

import z3

from checker.cores import Core, CoreFile, SmallInstance, StepCounterexample
from checker.errors import SystemFailure
from checker.files import write_text
from invariants.kip320_lemmas import KIP320_LEMMAS
from invariants.property import Property
from invariants.replication import PROPERTIES
from model.firstorder.query import Query, Questions
from model.firstorder.reading import FunctionStore, Reading, Step
from model.firstorder.solve import Lowering
from model.firstorder.terms import Term
from model.protocol import Protocol

GOALS: tuple[Property, ...] = tuple(item for item in PROPERTIES if item.name in ("WeakIsr", "StrongIsr"))
"""What is to be proved; the lemmas serve it."""

CLAUSES: tuple[Property, ...] = (*KIP320_LEMMAS, *GOALS)
"""Every clause that is not about a field's range."""

CORE_FILE = Path(__file__).parent.parent / "invariants" / "kip320_cores.json"
"""The lemma sets that ship with the lemmas."""

INITIAL = "initial state"
TERMS = "defined terms"


@dataclass(frozen=True)
class Way:
    """How z3 is asked: its random seed, how eagerly it looks at what is not yet decided, and with how many hints."""

    seed: int
    relevancy: int
    more_hints: bool


WAYS: tuple[Way, ...] = tuple(
    Way(seed, relevancy, more) for seed, relevancy in ((0, 2), (1, 1), (2, 2)) for more in (False, True)
)
"""Tried one after the other; a proof by any of them is a proof."""

SEARCH_EFFORT = 4_000_000
"""How long z3 may think about one candidate lemma set, in its own count of steps: about two seconds.

A count makes what is found independent of how busy the machine is.
"""

FIRST_EFFORT = SEARCH_EFFORT // 20
"""The same for what is tried before a small instance is asked: most obligations need no more."""

PROOF_EFFORT = 10 * SEARCH_EFFORT
"""The same for the proof with a known lemma set; the hardest of those that ship takes a tenth of it."""

SMALL: tuple[tuple[int, int, int, int], ...] = ((2, 2, 2, 2), (3, 2, 2, 2), (3, 2, 2, 3))
"""Instances on which lemma sets and counterexamples are looked for: replicas, log size, records, last leader epoch."""


@unique
class Verdict(Enum):
    """`UNSAT` proves an obligation; `REFUTED` comes with a step of a small instance; `UNKNOWN` is never a pass."""

    UNSAT = "unsat"
    REFUTED = "sat"
    UNKNOWN = "unknown"


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


@dataclass(frozen=True)
class ObligationResult:
    """What became of an obligation: the verdict, the lemmas that were assumed, and the solver's time."""

    subject: str
    clause: str
    verdict: Verdict
    seconds: float
    lemmas: tuple[str, ...]
    counterexample: StepCounterexample | None = None


@dataclass(frozen=True)
class AllConstantsProof:
    """Every obligation with its verdict. `seconds` is the whole time, reading the protocol included."""

    protocol: str
    fingerprint: str
    obligations: tuple[ObligationResult, ...]
    vacuous: tuple[str, ...]
    solver: str
    seconds: float

    @property
    def open(self) -> tuple[ObligationResult, ...]:
        """The obligations that are not proved."""
        return tuple(item for item in self.obligations if item.verdict is not Verdict.UNSAT)

    @property
    def holds(self) -> bool:
        """Whether every obligation is proved, and none for want of a state in which its action can happen."""
        return not self.open and not self.vacuous and bool(self.obligations)

    def document(self) -> dict[str, Any]:
        """The proof as plain data for JSON."""
        return {
            "protocol": self.protocol,
            "method": "induction for all constants",
            "verdict": "holds" if self.holds else "incomplete",
            "solver": self.solver,
            "fingerprint": self.fingerprint,
            "seconds": round(self.seconds, 3),
            "solver_seconds": round(sum(item.seconds for item in self.obligations), 3),
            "proved": len(self.obligations) - len(self.open),
            "open": [f"{item.subject}: {item.clause}" for item in self.open],
            "vacuous": list(self.vacuous),
            "obligations": [_result_document(item) for item in self.obligations],
        }


def _result_document(item: ObligationResult) -> dict[str, Any]:
    made: dict[str, Any] = {
        "subject": item.subject,
        "clause": item.clause,
        "verdict": item.verdict.value,
        "seconds": round(item.seconds, 4),
        "lemmas": list(item.lemmas),
    }
    if item.counterexample is not None:
        found = item.counterexample
        made["counterexample"] = {
            "constants": dict(found.constants),
            "step": found.step,
            "before": found.before,
            "after": found.after,
        }
    return made


class Induction:
    """The obligations over one protocol, ready for a solver; `drop` names (action, label) guard clauses to leave out."""

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
        self.obligations: tuple[Obligation, ...] = tuple(self._make())
        self.fingerprint = self._fingerprint()
        self._questions.prepare(self.clauses.values())
        for obligation in self.obligations:
            self._questions.prepare((*obligation.assumptions, self.reading.logic.not_(obligation.conclusion)))

    def _fingerprint(self) -> str:
        """A hash of all that the proof is about, the protocol and the clauses as read; queries add terms of their own."""
        text = hashlib.sha256()
        for line in self.reading.logic.rows():
            text.update(line.encode())
        for item in self.obligations:
            text.update(f"{item.key} {[term.id for term in item.assumptions]} {item.conclusion.id}\n".encode())
        return text.hexdigest()

    def query(self, obligation: Obligation, lemmas: Iterable[str]) -> Query:
        """The obligation with the named clauses assumed."""
        named = [(name, self.clauses[name]) for name in lemmas if name in self.clauses] if obligation.may_use else []
        given = [("", term) for term in obligation.assumptions]
        return self._questions.query([*given, *named], obligation.conclusion)

    def solve(
        self, obligation: Obligation, lemmas: Sequence[str], seconds: float, first: int = 0, effort: int = 0
    ) -> tuple[int | None, float]:
        """The number of the first way in which z3 proves the obligation with these lemmas, and the time until then.

        Way `first` is tried before the others. None if no way leads to a proof. Each way has `seconds` and `effort`, z3's own
        count of steps; 0 is no limit.
        """
        query = self.query(obligation, lemmas)
        order = [first, *(number for number in range(len(WAYS)) if number != first)]
        started = time.perf_counter()
        for number in order:
            if self._effort(query, number, seconds, effort) is not None:
                return number, time.perf_counter() - started
        return None, time.perf_counter() - started

    def effort(self, obligation: Obligation, core: Core, limit: int) -> int | None:
        """How many steps z3 needs for the proof with these lemmas, in the one way; None if it needs more than the limit."""
        return self._effort(self.query(obligation, core.lemmas), core.way, 0, limit)

    def _effort(self, query: Query, way: int, seconds: float, effort: int) -> int | None:
        lowering = Lowering()
        solver = _solver(lowering, WAYS[way], seconds, effort)
        solver.add([lowering.clause(item) for item in query.clauses(WAYS[way].more_hints)])
        before = _steps(solver)
        return _steps(solver) - before if solver.check() == z3.unsat else None

    def core(self, obligation: Obligation, lemmas: Sequence[str], effort: int) -> tuple[str, ...] | None:
        """Of these lemmas those that z3's proof uses; None if it finds none."""
        query = self.query(obligation, lemmas)
        for way in WAYS:
            lowering = Lowering()
            labels: dict[str, Any] = {}
            solver = _solver(lowering, way, 0, effort)
            solver.add([lowering.clause(item) for item in query.hints])
            for part in query.parts:
                for clause in part.clauses:
                    formula = lowering.clause(clause)
                    if part.label:
                        label = labels.setdefault(part.label, z3.Bool(f"use {part.label}", lowering.context))
                        formula = z3.Implies(label, formula)
                    solver.add(formula)
            solver.add([lowering.clause(item) for item in query.more_hints] if way.more_hints else [])
            if solver.check(*labels.values()) == z3.unsat:
                used = {label.get_id() for label in solver.unsat_core()}
                return tuple(name for name, label in labels.items() if label.get_id() in used)
        return None

    def smt2(self, obligation: Obligation, core: Core) -> str:
        """The obligation as a standalone SMT-LIB text: unsatisfiable exactly if it holds."""
        lowering = Lowering()
        solver = _solver(lowering, WAYS[core.way])
        query = self.query(obligation, core.lemmas)
        solver.add([lowering.clause(item) for item in query.clauses(WAYS[core.way].more_hints)])
        return self._text(obligation, core, "UFLIA", solver)

    def _text(self, obligation: Obligation, core: Core, logic: str, solver: Any) -> str:
        used = ", ".join(core.lemmas) or "none"
        head = (
            f"; {self.protocol.name}, for all constants: {obligation.subject} and {obligation.clause}\n"
            f"; clauses assumed: {used}\n(set-info :status unsat)\n(set-logic {logic})\n"
        )
        text = "\n".join(line for line in solver.to_smt2().splitlines() if not line.startswith((";", "(set-info")))
        return f"{head}{text}\n"

    def grounded(self, obligation: Obligation, core: Core, effort: int = PROOF_EFFORT) -> str | None:
        """The obligation without quantifiers, as a standalone SMT-LIB text; None if z3 does not prove it with this effort.

        Clauses are replaced by those of their instances that z3's proof needed. That an instance follows from its clause
        is plain substitution, done here and not by the solver; so whoever refutes the text has checked the obligation.
        """
        way, lowering = WAYS[core.way], Lowering()
        formulas = [lowering.clause(item) for item in self.query(obligation, core.lemmas).clauses(way.more_hints)]
        instances: dict[int, Any] = {}

        def note(hint: Any, _: Any, __: Any) -> None:
            if hint.decl().name() == "inst":
                values = next(arg.children() for arg in hint.children() if z3.is_app(arg) and arg.decl().name() == "bind")
                made = lowering.instance(hint.arg(0), values)
                if made is not None:
                    instances[made.get_id()] = made

        solver = _solver(lowering, way, 0, effort)
        solver.add(formulas)
        listener = z3.OnClause(solver, note)
        if solver.check() != z3.unsat:
            return None
        del listener
        ground = [item for item in formulas if not z3.is_quantifier(item)]
        used = _used(lowering, ground, list(instances.values()), effort)
        if used is None:
            return None
        final = z3.SimpleSolver(ctx=lowering.context)
        final.add([*ground, *used])
        return self._text(obligation, core, "QF_UFLIA", final)

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

    def step(self, name: str) -> Step:
        """The reading of an action."""
        return next(item for item in self.reading.steps if item.name == name)


def _solver(lowering: Lowering, way: Way, seconds: float = 0.0, effort: int = 0) -> Any:
    """A solver in a context of its own, so that nothing asked before has a say in what it finds."""
    solver = z3.SimpleSolver(ctx=lowering.context)
    solver.set("mbqi", False)
    solver.set("auto_config", False)
    solver.set("random_seed", way.seed)
    solver.set("relevancy", way.relevancy)
    if effort:
        solver.set("rlimit", effort)
    if seconds:
        solver.set("timeout", min(max(1, int(seconds * 1000)), (1 << 31) - 1))  # More is no timeout at all.
    return solver


def _used(lowering: Lowering, ground: list[Any], instances: list[Any], effort: int) -> list[Any] | None:
    """Of these instances those that z3 needs beside the ground formulas."""
    solver = _solver(lowering, WAYS[0], 0, effort)
    solver.add(ground)
    labels = {f"use {number}": item for number, item in enumerate(instances)}
    for label, item in labels.items():
        solver.add(z3.Implies(z3.Bool(label, lowering.context), item))
    if solver.check(*(z3.Bool(label, lowering.context) for label in labels)) != z3.unsat:
        return None
    return [labels[item.decl().name()] for item in solver.unsat_core()]


def _steps(solver: Any) -> int:
    """z3's own count of steps so far."""
    return int(solver.statistics().get_key_value("rlimit count"))


class CoreSearch:
    """Looks for lemma sets: small instances name candidates, z3's proof of the obligation itself says which it used."""

    def __init__(self, induction: Induction, effort: int = SEARCH_EFFORT) -> None:
        self._induction = induction
        self._effort = effort
        self._small: dict[tuple[int, ...], SmallInstance] = {}
        self._ranges = tuple(name for name in induction.clauses if name.startswith("Domain("))

    def find(self, obligation: Obligation) -> Core | StepCounterexample | None:
        """Lemmas with which z3 proves the obligation, a counterexample on a small instance, or None."""
        if not obligation.may_use:
            return self._verified(obligation, (), self._effort)
        own = (obligation.clause,) if obligation.clause not in self._ranges else ()
        gathered = dict.fromkeys((*own, *self._ranges))
        for names in ((), own, tuple(gathered)):
            if (core := self._attempt(obligation, names, min(self._effort, FIRST_EFFORT))) is not None:
                return core
        for constants in SMALL:
            found = self._instance(constants).lemmas_of_step(obligation.subject, obligation.clause)
            if isinstance(found, StepCounterexample):
                return found
            for lemmas in found or []:
                near = dict.fromkeys((*own, *lemmas))
                gathered.update(near)
                for extra in (self._ranges, ()):
                    if (core := self._attempt(obligation, tuple(dict.fromkeys((*near, *extra))), self._effort)) is not None:
                        return core
            if (core := self._attempt(obligation, tuple(gathered), self._effort)) is not None:
                return core
        return self._attempt(obligation, tuple(self._induction.clauses), self._effort)

    def can_fire(self, action: str) -> bool:
        """Whether the action is enabled in some state of a small instance in which every clause holds."""
        return any(self._instance(constants).can_fire(action) for constants in SMALL[:2])

    def _instance(self, constants: tuple[int, int, int, int]) -> SmallInstance:
        if constants not in self._small:
            names = [item.name for item in self._induction.protocol.constants]
            given = dict(zip(names, constants, strict=True))
            induction = self._induction
            self._small[constants] = SmallInstance(induction.protocol, given, induction.properties, induction.drop)
        return self._small[constants]

    def _attempt(self, obligation: Obligation, names: Sequence[str], effort: int) -> Core | None:
        """What is left of `names` after dropping one lemma at a time; None if they do not suffice."""
        induction = self._induction
        if not names:
            return self._verified(obligation, (), effort)
        used = induction.core(obligation, names, effort)
        if used is None:
            return None
        core = self._verified(obligation, used, effort)
        for name in used if core is None else ():
            # Whatever else is in the way, fewer lemmas may do.
            if (core := self._verified(obligation, tuple(item for item in used if item != name), effort)) is not None:
                break
        return None if core is None else self._least(obligation, core, effort)

    def _least(self, obligation: Obligation, core: Core, effort: int) -> Core:
        steps = self._induction.effort(obligation, core, effort)
        for name in core.lemmas:
            fewer = Core(tuple(item for item in core.lemmas if item != name), core.way)
            # A proof that needs a lemma less seldom takes longer.
            found = None if steps is None else self._induction.effort(obligation, fewer, 2 * steps + 10_000)
            if found is not None:
                core, steps = fewer, found
        return core

    def _verified(self, obligation: Obligation, lemmas: tuple[str, ...], effort: int) -> Core | None:
        way, _ = self._induction.solve(obligation, lemmas, 0, effort=effort)
        return None if way is None else Core(lemmas, way)


def find_cores(
    protocol: Protocol,
    *,
    effort: int = SEARCH_EFFORT,
    on_obligation: Callable[[Obligation, int, int], None] | None = None,
) -> CoreFile:
    """Lemma sets of all obligations of a protocol, from scratch; obligations that stay open have none.

    `effort` bounds each attempt; `on_obligation` is called before each obligation with its number from 0 and their count.
    """
    induction = Induction(protocol)
    search = CoreSearch(induction, effort)
    found: dict[str, Core] = {}
    for number, obligation in enumerate(induction.obligations):
        if on_obligation is not None:
            on_obligation(obligation, number, len(induction.obligations))
        if obligation.may_use:
            core = search.find(obligation)
            if isinstance(core, Core):
                found[obligation.key] = core
    return CoreFile(induction.fingerprint, found)


Progress = Callable[[ObligationResult, int, int], None]
"""Called after each obligation with its result, its number from 1, and how many there are."""


def prove_all_constants(
    protocol: Protocol,
    *,
    clauses: Sequence[Property] = CLAUSES,
    drop: Iterable[tuple[str, str]] = (),
    cores: CoreFile | None = None,
    effort: int = PROOF_EFFORT,
    seconds: float = 0.0,
    search: bool = True,
    on_result: Progress | None = None,
) -> AllConstantsProof:
    """Every obligation of a protocol with its verdict.

    `cores` are lemma sets to begin with, those shipped if not given. With `search`, an obligation that its set does not prove
    is tried on small instances, for another set or for a counterexample. `effort` bounds each query in z3's own count of
    steps, so that the answer does not depend on how busy the machine is; `seconds` bounds it in time, 0 for no such limit.
    """
    started = time.perf_counter()
    induction = Induction(protocol, clauses, drop)
    known = CoreFile.load(CORE_FILE) if cores is None else cores
    finder = CoreSearch(induction)
    results: list[ObligationResult] = []
    for obligation in induction.obligations:
        result = _prove(induction, obligation, known, finder if search else None, (effort, seconds))
        results.append(result)
        if on_result is not None:
            on_result(result, len(results), len(induction.obligations))
    vacuous = tuple(step.name for step in induction.reading.steps if not finder.can_fire(step.name))
    return AllConstantsProof(
        protocol.name,
        induction.fingerprint,
        tuple(results),
        vacuous,
        f"z3 {z3.get_version_string()}",
        time.perf_counter() - started,
    )


def _prove(
    induction: Induction,
    obligation: Obligation,
    known: CoreFile,
    finder: CoreSearch | None,
    limits: tuple[int, float],
) -> ObligationResult:
    effort, seconds = limits
    core = known.cores.get(obligation.key) if obligation.may_use else Core()
    way, took, counterexample = None, 0.0, None
    if core is not None or finder is None:
        core = core or Core()
        way, took = induction.solve(obligation, core.lemmas, seconds, core.way, effort)
    if way is None and finder is not None:
        found = finder.find(obligation)
        if isinstance(found, StepCounterexample):
            counterexample = found
        elif found is not None:
            core = found
            way, took = induction.solve(obligation, core.lemmas, seconds, core.way, effort)
    core = core or Core()
    verdict = Verdict.UNSAT if way is not None else Verdict.REFUTED if counterexample is not None else Verdict.UNKNOWN
    return ObligationResult(obligation.subject, obligation.clause, verdict, took, core.lemmas, counterexample)


def write_smt2(
    protocol: Protocol, folder: Path, cores: CoreFile | None = None, grounded: bool = False
) -> tuple[Path, ...]:
    """Writes every obligation as a file of its own, unsatisfiable if the obligation holds.

    With `grounded`, without quantifiers, so that any solver decides it; what z3 does not prove has no such file.
    """
    induction = Induction(protocol)
    known = CoreFile.load(CORE_FILE) if cores is None else cores
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemFailure(f"cannot make the folder {folder}: {error.strerror}; choose another place") from None
    made = []
    for number, obligation in enumerate(induction.obligations, 1):
        name = re.sub(r"[^A-Za-z0-9]+", "-", f"{obligation.subject} {obligation.clause}").strip("-")
        core = known.cores.get(obligation.key, Core())
        text = induction.grounded(obligation, core) if grounded else induction.smt2(obligation, core)
        if text is not None:
            path = folder / f"{number:03}-{name}.smt2"
            write_text(path, text, "SMT-LIB text")
            made.append(path)
    return tuple(made)
