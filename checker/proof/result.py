"""What a symbolic engine answers."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import field
from enum import Enum, unique
from functools import cached_property

from acked.base.errors import ExitCode
from acked.base.frozen import frozen
from acked.checker.question.engine import Capabilities, Unsupported
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Verdict, Violation, exit_code_of, shown_by
from acked.invariants.property import Property

DEFAULT_DEPTH = 8
"""Steps of the longest trace that bounded model checking looks at, unless the user says otherwise."""

INITIAL = "initial state"
"""The subject of the obligation that every claim holds initially."""

PROOF = Capabilities("proof", no_graph_properties=Unsupported("by a proof", "ask `acked check`"))
"""What bounded model checking and induction support."""


@unique
class Method(Enum):
    """How an answer is sought."""

    BMC = "bmc"
    INDUCTION = "induction"


@unique
class ObligationVerdict(Enum):
    """`UNDECIDED` is a solver's "unknown", a timeout or a solver that died; it is never a pass."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@unique
class Reachability(Enum):
    """Whether a counterexample to induction can occur."""

    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


@frozen
class InductionCounterexample:
    """A run from a state that need not be reachable: everything assumed holds before its last step, `claims` break by it."""

    claims: tuple[str, ...]
    run: Run
    reachability: Reachability = Reachability.UNKNOWN


@frozen
class Obligation:
    """One query: that an action instance preserves the claims, or that they hold initially.

    `subject` is the action's name or INITIAL, `label` the instance that stands for `instances` of them (more than one if they
    differ only in the names of ids). `goals` counts the claims that were put to the solver, `open_claims` names those that
    were not decided, for `reason`. `can_fire` says that the assumptions are satisfiable, None where that was not asked.
    """

    subject: str
    label: str
    instances: int
    verdict: ObligationVerdict
    seconds: float
    goals: int
    counterexamples: tuple[InductionCounterexample, ...] = ()
    open_claims: tuple[str, ...] = ()
    reason: str = ""
    can_fire: bool | None = None
    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @builtins.property
    def broken(self) -> tuple[str, ...]:
        """The claims that some counterexample breaks."""
        return tuple(dict.fromkeys(name for item in self.counterexamples for name in item.claims))


@frozen
class ActionProof:
    """What was decided of one action, or of the initial state: the sum of its obligations."""

    name: str
    obligations: tuple[Obligation, ...]

    @builtins.property
    def verdict(self) -> ObligationVerdict:
        """Refuted if some obligation is, else undecided if some obligation is."""
        verdicts = {item.verdict for item in self.obligations}
        for verdict in (ObligationVerdict.REFUTED, ObligationVerdict.UNDECIDED):
            if verdict in verdicts:
                return verdict
        return ObligationVerdict.PROVED

    @builtins.property
    def seconds(self) -> float:
        """Solver seconds, over all processes."""
        return sum(item.seconds for item in self.obligations)

    @builtins.property
    def broken(self) -> tuple[str, ...]:
        """The claims that the action breaks."""
        return tuple(dict.fromkeys(name for item in self.obligations for name in item.broken))

    @builtins.property
    def open_claims(self) -> tuple[str, ...]:
        """The claims that were left open."""
        return tuple(dict.fromkeys(name for item in self.obligations for name in item.open_claims))

    @builtins.property
    def never_fires(self) -> bool:
        """Whether no instance can fire under the assumptions, so that the proof says nothing about the action."""
        return bool(self.obligations) and all(item.can_fire is False for item in self.obligations)


@frozen
class Induction:
    """A proof by induction, or what is left of one.

    `candidates` are the properties asked and `lemmas` what was assumed and proved along with them. `symmetry` is empty if one
    instance stands for all that differ in the names of ids, which was checked; else it says why not. `needed` names, if that
    was asked, lemmas that suffice: the proofs of the properties use no others, nor do the proofs of these.
    """

    k: int
    candidates: tuple[str, ...]
    lemmas: tuple[str, ...]
    actions: tuple[ActionProof, ...]
    symmetry: str
    instances: int
    needed: tuple[str, ...] | None = None

    @builtins.property
    def is_proof(self) -> bool:
        """Whether every obligation is proved."""
        return all(item.verdict is ObligationVerdict.PROVED for item in self.actions)

    @builtins.property
    def obligations(self) -> tuple[Obligation, ...]:
        """All of them, in the protocol's order of actions."""
        return tuple(item for action in self.actions for item in action.obligations)


@frozen
class Bounded:
    """Bounded model checking: no run of up to `depth` actions violates anything, unless a violation is given.

    `depths` holds the seconds that each number of actions took; `reason` says why it ended before the bound asked for.
    """

    bound: int
    depth: int
    depths: tuple[float, ...]
    symmetry: str
    reason: str = ""


@frozen
class ProofResult:
    """The answer of a proof, or of bounded model checking.

    >>> result = prove(ask(toylog, nothing_lost, everybody_holds, brokers=2, records=2))
    >>> result.verdict.value, result.method.value, result.induction.is_proof
    ('holds', 'induction', True)
    """

    question: Question
    """What was asked."""
    method: Method
    """Induction, or bounded model checking."""
    workers: int
    """Solver processes."""
    seconds: float
    """Wall time without the start of the processes."""
    induction: Induction | None = None
    """What induction found, action by action; None if it was not asked."""
    bounded: Bounded | None = None
    """What bounded model checking covered; None if it was not asked."""
    violations: tuple[Violation, ...] = ()
    """Shortest violations that bounded model checking found."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""
    lemmas: tuple[Property, ...] = ()
    """What induction proved along with the properties."""
    notes: tuple[str, ...] = ()
    """Sentences for people."""
    engine: str = "z3"
    """The solver."""

    def __repr__(self) -> str:
        found = "".join(f", {item!r}" for item in self.violations)
        lemmas = f" with {len(self.lemmas)} lemmas" if self.lemmas else ""
        return f"<ProofResult: {self.verdict.value}{found} by {self.method.value}{lemmas}; of {self.question!r}>"

    @builtins.property
    def verdict(self) -> Verdict:
        """What was decided; finding no violation up to a bound decides nothing."""
        if self.violations:
            return Verdict.VIOLATED
        if self.induction is not None and self.induction.is_proof and not self.interrupted:
            return Verdict.HOLDS
        return Verdict.INCOMPLETE

    @cached_property
    def shown(self) -> tuple[Violation, ...]:
        """The violations, then what else their traces violate."""
        return shown_by(self.question, self.violations)

    @builtins.property
    def exit_code(self) -> ExitCode:
        """The exit code of `acked prove` for this answer; of several violations the shortest one decides."""
        if self.violations:
            return exit_code_of(self.violations)
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.HOLDS if self.verdict is Verdict.HOLDS else ExitCode.TOO_LARGE
