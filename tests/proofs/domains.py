"""Domain proofs: no action can put a value into a field that the field cannot hold, whatever states are reachable.

The obligations, one set per action instance, and their proof by z3.

For every action: where its guard holds, every field is in its domain and every lemma holds, the updates are in their domains
and every lemma holds afterwards. With the initial state, which must satisfy the lemmas, this is an induction: in every
reachable state every field is in its domain, without a search and without a bound on its depth. A counterexample is a
state from which the step goes wrong; it need not be reachable, for a missing lemma looks just like a missing guard.
Importing this module imports z3, which is slow: do so only where a proof is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

import z3

from acked.base.errors import SystemFailure
from acked.checker.solver.smt import Frame, Lowering
from acked.invariants.property import Property
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Bool

INITIAL = "initial state"
"""The subject of the proof that the lemmas hold initially."""


@unique
class DomainVerdict(Enum):
    """`UNDECIDED` is what z3's "unknown" becomes; it is never a pass."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class DomainObligation:
    """A claim about one step: `violated` must be false in every state of the domain where guard and lemmas hold.

    `claim` names the field that an update must keep in its domain, or the lemma that must hold after the step.
    """

    step: ActionInstance
    claim: str
    violated: Expr


@dataclass(frozen=True)
class DomainCounterexample:
    """A state (leaf codes) in which the guard and every lemma hold and from which the step breaks the named claims."""

    step: ActionInstance
    codes: tuple[int, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True)
class DomainProof:
    """The verdict on one action, or on the initial state (`subject` is then `INITIAL`).

    `obligations` counts the claims that were put to the solver; those that the intervals of the expressions decide alone
    are none. `can_fire` says that the assumptions are satisfiable for some instance of the action, so that the proof is
    about something. `counterexample` is given if the verdict is REFUTED and the subject is an action; `claims` names what
    was broken, or what was left open.
    """

    subject: str
    verdict: DomainVerdict
    obligations: int
    can_fire: bool
    counterexample: DomainCounterexample | None = None
    claims: tuple[str, ...] = ()


def step_obligations(instance: Instance, step: ActionInstance, lemmas: Sequence[Property]) -> Iterator[DomainObligation]:
    """What must be proved about one action instance: its doubtful updates, then every lemma afterwards."""
    pool = instance.pool
    for leaf, outside in step.overflows:
        yield DomainObligation(step, instance.schema.leaves[leaf].name, outside)
    for lemma in lemmas:
        after = instance.step_predicate(lemma.name, _afterwards(lemma), step)
        if after is not pool.true:
            yield DomainObligation(step, lemma.name, pool.not_(after))


def _afterwards(lemma: Property) -> Callable[[Any, Any], Bool]:
    return lambda _, after: lemma(after)


def prove_domains(instance: Instance, lemmas: Sequence[Property], timeout_seconds: float = 60.0) -> tuple[DomainProof, ...]:
    """One verdict for the initial state and one for every action, in the protocol's order.

    `lemmas` are assumed before every step and proved after it. `timeout_seconds` bounds each query to the solver.
    """
    assumed = [instance.state_predicate(lemma.name, lemma.predicate) for lemma in lemmas]
    proofs = [_prove_initial(instance, lemmas, assumed)]
    for action in instance.action_rules:
        steps = [step for step in instance.actions if step.action.name == action.name]
        proofs.append(_prove_action(instance, action.name, steps, lemmas, assumed, timeout_seconds))
    return tuple(proofs)


def _prove_initial(instance: Instance, lemmas: Sequence[Property], assumed: Sequence[Expr]) -> DomainProof:
    broken: list[str] = []
    for words in instance.initial:
        codes = instance.schema.unpack(words)
        broken += [lemma.name for lemma, holds in zip(lemmas, Evaluator(assumed)(codes), strict=True) if not holds]
    verdict = DomainVerdict.REFUTED if broken else DomainVerdict.PROVED
    return DomainProof(INITIAL, verdict, len(lemmas) * len(instance.initial), True, claims=tuple(broken))


def _prove_action(
    instance: Instance,
    name: str,
    steps: Sequence[ActionInstance],
    lemmas: Sequence[Property],
    assumed: Sequence[Expr],
    timeout_seconds: float,
) -> DomainProof:
    count, can_fire, undecided = 0, False, False
    open_claims: list[str] = []
    for step in steps:
        obligations = list(step_obligations(instance, step, lemmas))
        count += len(obligations)
        lowering = Lowering(instance, [step.guard, *assumed, *(item.violated for item in obligations)])
        frame = lowering.frame()
        solver = z3.SolverFor("QF_BV")
        solver.set("timeout", max(1, int(timeout_seconds * 1000)))
        solver.add(*frame.domain_terms(), frame.term(step.guard), *map(frame.term, assumed))
        can_fire = can_fire or solver.check() == z3.sat
        solver.add(z3.Or([frame.term(item.violated) for item in obligations]))
        answer = solver.check()
        if answer == z3.sat:
            found = _counterexample(instance, step, obligations, assumed, frame, solver)
            return DomainProof(name, DomainVerdict.REFUTED, count, can_fire, found, found.claims)
        if answer != z3.unsat:
            undecided = True
            open_claims += [item.claim for item in obligations]
    verdict = DomainVerdict.UNDECIDED if undecided else DomainVerdict.PROVED
    return DomainProof(name, verdict, count, can_fire, claims=tuple(dict.fromkeys(open_claims)))


def _counterexample(
    instance: Instance,
    step: ActionInstance,
    obligations: Sequence[DomainObligation],
    assumed: Sequence[Expr],
    frame: Frame,
    solver: z3.Solver,
) -> DomainCounterexample:
    """What the solver found, judged again by the plain evaluator."""
    codes = frame.codes(solver.model())
    values = Evaluator([step.guard, *assumed, *(item.violated for item in obligations)])(codes)
    assumptions, violated = values[: 1 + len(assumed)], values[1 + len(assumed) :]
    claims = tuple(item.claim for item, broken in zip(obligations, violated, strict=True) if broken)
    if not all(assumptions) or not claims:
        raise SystemFailure(
            f"{instance.protocol.name}: z3's counterexample to {step.label} is none by the plain evaluator; please report "
            "this as a defect of acked"
        )
    return DomainCounterexample(step, tuple(codes), claims)
