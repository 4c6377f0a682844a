"""Bounded model checking: the shortest run that violates a property, one more action at a time.

The question put to a solver process, and its answer judged again by the plain evaluator. That no run of up to K actions
violates anything is not a proof: the verdict is then incomplete.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.base.processes import Limits, Lost, Note, ProcessPool
from acked.checker.proof.result import Bounded, Method, ProofResult
from acked.checker.question.marks import marks_at_end
from acked.checker.question.observer import Observer, ProofProgress
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Violation
from acked.checker.solver.problem import conditions, make_problem
from acked.checker.solver.tasks import SOLVER, BoundedAnswer, BoundedTask, DepthNote
from acked.checker.symmetry.check import Symmetry, check_symmetry
from acked.invariants.property import Kind, Property
from acked.model.formulas.evaluate import Evaluator

NO_SYMMETRY = "not asked for"


@frozen
class Bound:
    """How far to look: actions, whether ids may be renamed where that is checked, and a folder for the queries."""

    depth: int
    use_symmetry: bool = True
    smt2: Path | None = None


def check_bounded(
    question: Question, bound: Bound, limits: Limits, observer: Observer | None = None
) -> ProofResult:
    """The shortest violation of up to `bound.depth` actions, or the depth up to which there is none."""
    told = observer or Observer()
    begin = time.perf_counter()
    instance = question.instance
    answer: BoundedAnswer | None = None
    depths: list[float] = []
    symmetry = Symmetry((), NO_SYMMETRY)
    reason, interrupted = "", False
    try:
        with ProcessPool(Limits(1, limits.timeout, limits.memory), SOLVER) as pool:
            told.phase("writing the claims down")
            roots = conditions(instance, question.properties)
            if bound.use_symmetry:
                named = [(item.name, root) for item, root in zip(question.properties, roots, strict=True)]
                symmetry = check_symmetry(instance, named)
            pool.load(make_problem(instance, question.properties, roots, symmetry.is_symmetric))
            told.phase("searching for the shortest violation")
            answer, reason = ask(pool, range(len(roots)), bound, depths, told)
    except KeyboardInterrupt:
        interrupted = True
    violations: tuple[Violation, ...] = ()
    if answer is not None and answer.states is not None:
        violations = (confirm(question, answer),)
    depth = answer.depth if answer is not None else len(depths) - 1
    return ProofResult(
        question=question,
        method=Method.BMC,
        workers=1,
        seconds=time.perf_counter() - begin,
        bounded=Bounded(bound.depth, depth, tuple(depths), symmetry.obstacle, reason),
        violations=violations,
        interrupted=interrupted,
    )


def ask(
    pool: ProcessPool, claims: Sequence[int], bound: Bound, depths: list[float], observer: Observer
) -> tuple[BoundedAnswer | None, str]:
    """What the solver says, and why it gave up if it did; `depths` takes the seconds of every depth."""
    smt2 = None if bound.smt2 is None else str(bound.smt2)
    for reply in pool.run([BoundedTask(tuple(claims), bound.depth, smt2)]):
        if isinstance(reply, Note):
            if isinstance(reply.value, DepthNote):
                note = reply.value
                depths.append(note.seconds)
                subject = f"runs of {note.depth} action{'' if note.depth == 1 else 's'}"
                observer.decided(ProofProgress(subject, "no violation", note.seconds, note.depth, bound.depth))
        elif isinstance(reply, Lost):
            return None, reply.reason
        else:
            return reply.value, reply.value.reason
    return None, "the solver did not answer"


def confirm(question: Question, answer: BoundedAnswer) -> Violation:
    """The violation that a solver found, fired step by step by the plain evaluator; `SystemFailure` if it is none."""
    assert answer.states is not None
    assert answer.steps is not None
    instance = question.instance
    states = [instance.schema.pack(codes) for codes in answer.states]
    steps = [instance.actions[number] for number in answer.steps]
    wrong = f"{instance.protocol.name}: z3's trace is not one by the plain evaluator; please report this as a defect of acked"
    if states[0] not in instance.initial:
        raise SystemFailure(wrong)
    codes = list(answer.states[0])
    for step, expected in zip(steps, answer.states[1:], strict=True):
        if not Evaluator([step.guard])(codes)[0]:
            raise SystemFailure(wrong)
        codes = instance.fire(step, codes)  # A value outside its domain is the protocol author's error.
        if tuple(codes) != expected:
            raise SystemFailure(wrong)
    run = Run(tuple(states), tuple(steps))
    broken = broken_properties(question, run)
    if not broken:
        raise SystemFailure(wrong)
    return Violation(broken[0], run)


def broken_properties(question: Question, run: Run) -> list[Property]:
    """The question's properties that the run's last state or last step violates, in the question's order.

    Of what is looked for those that the last state is.
    """
    marks = marks_at_end(question, run.states, run.actions)
    is_broken = {Kind.REACH: True}
    return [
        item
        for item, mark in zip(question.properties, marks, strict=True)
        if mark.holds is is_broken.get(item.kind, False)
    ]
