"""What is asked of a solver process and what it answers, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from acked.base.frozen import frozen
from acked.base.processes import Service
from acked.checker.solver.lemma_sets import Core, StepCounterexample

SOLVER = Service("acked.checker.solver.engine:SolverProcess", "solver", ("z3",))
"""Processes in which z3 answers these tasks about one `Problem`."""


@frozen
class LemmaHint:
    """How a goal may be proved with little: the claims that are assumed (numbers), and the pieces of it that are asked.

    `pieces` counts among the pieces of the goal's claim; each of the others is the image of one of these.
    """

    assumed: tuple[int, ...]
    pieces: tuple[int, ...] = ()


@frozen
class StepTask:
    """One obligation of an induction: after `step` from any state where the `assumed` claims hold, the `goals` hold.

    Claims and steps are numbers of the `Problem`. With `k` > 1 the assumed claims hold in k states that follow one another,
    the last of which the step leaves. `witness` asks whether the assumptions are satisfiable at all, `every_claim` for all
    goals that break and not just for one counterexample, `minimize` for the lemmas that each goal needs. `hints` go by goal:
    a number of `goals`, or the name of a field that must stay in its domain.
    """

    step: int
    assumed: tuple[int, ...]
    goals: tuple[int, ...]
    k: int = 1
    witness: bool = False
    every_claim: bool = False
    minimize: bool = False
    smt2: str | None = None
    hints: Mapping[int | str, LemmaHint] = field(default_factory=dict)


@frozen
class InitialTask:
    """To write down that the goals hold in every initial state, which needs no solver to be decided."""

    goals: tuple[int, ...]
    smt2: str


@frozen
class BrokenGoals:
    """A counterexample to induction: the goals that it breaks, its states before the last (leaf codes), and its steps."""

    claims: tuple[str, ...]
    states: tuple[tuple[int, ...], ...]
    steps: tuple[int, ...]


@frozen
class StepAnswer:
    """`goals` counts what was put to the solver; `undecided` names the goals that it left open, `reason` says why.

    `used` names the assumed claims that the proof of each goal needs, if that was asked.
    """

    goals: int
    broken: tuple[BrokenGoals, ...]
    undecided: tuple[str, ...]
    reason: str
    seconds: float
    can_fire: bool | None
    used: dict[str, tuple[str, ...]]


@frozen
class BoundedTask:
    """The shortest run of at most `depth` actions that violates one of the claims (numbers of the `Problem`)."""

    claims: tuple[int, ...]
    depth: int
    smt2: str | None = None


@frozen
class DepthNote:
    """No run of exactly `depth` actions violates a claim."""

    depth: int
    seconds: float
    total_seconds: float


@frozen
class BoundedAnswer:
    """A run (leaf codes and numbers of steps), or None: then no run of up to `depth` actions violates a claim.

    `reason` says why the solver gave up before the bound; it is empty if it did not.
    """

    depth: int
    states: tuple[tuple[int, ...], ...] | None
    steps: tuple[int, ...] | None
    reason: str
    seconds: float


@frozen
class OwnClauses:
    """What is to be proved of a protocol of one's own, as its spec writes it.

    Lemmas and invariants are a name, a text and what it means, each.
    `sizes` are the spec's own; on them, and on smaller ones, lemma sets and counterexamples are looked for.
    """

    lemmas: tuple[tuple[str, str, str], ...]
    invariants: tuple[tuple[str, str, str], ...]
    sizes: tuple[tuple[str, int], ...]


@frozen
class FirstOrderProblem:
    """A protocol, read as first-order logic; `drop` names (action, label) guard clauses to leave out.

    `constants` are its switches, by name; `asked` names what is to be proved besides the goals of its argument. Of a protocol
    of one's own `protocol` is the reference, and `own` what is asked of it.
    """

    protocol: str
    drop: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, int], ...] = ()
    asked: tuple[str, ...] = ()
    own: OwnClauses | None = None


@frozen
class ObligationTask:
    """One obligation for all constants, by its number; `lemmas` are a set to try first, None if none is known.

    `effort` bounds each query in z3's own count of steps. With `search`, other sets and counterexamples are looked for.
    A suspect obligation is one that may well be false. `smt2` names the file to write. `near` are sets that may do as well.
    """

    number: int
    lemmas: tuple[str, ...] | None
    way: int
    effort: int
    search: bool
    suspect: bool = False
    smt2: str | None = None
    near: tuple[Core, ...] = ()


@frozen
class ObligationAnswer:
    """Whether an obligation is proved, with which lemmas and in which way; or a step of a small instance that refutes it.

    `reason` says what kept the solver from going on, if anything did.
    """

    is_proved: bool
    lemmas: tuple[str, ...]
    way: int
    counterexample: StepCounterexample | None
    seconds: float
    reason: str = ""


@frozen
class FiringTask:
    """Whether an action can happen where every clause holds, on a small instance."""

    action: str


@frozen
class TextTask:
    """An SMT-LIB text for a second solver."""

    text: str


@frozen
class TextAnswer:
    """`unsat`, `sat` or `unknown`, the way that led to it, the seconds of all ways; `reason` says why it is unknown."""

    answer: str
    way: int
    seconds: float
    reason: str = ""
