"""What a solver process does with its tasks: steps of an induction, and bounded model checking, in z3.

Importing this module imports z3: only solver processes do so.

Post-states are substitutions: a claim after a step is the claim with every changed field replaced by its new value, rebuilt
and folded where it changes and shared where it does not. So one set of variables, lowered once, serves all steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import z3

from acked.checker.solver.problem import Problem, Step, rebuild
from acked.checker.solver.queries import bound
from acked.checker.solver.tasks import (
    BoundedAnswer,
    BoundedTask,
    Broken,
    DepthNote,
    InitialTask,
    StepAnswer,
    StepTask,
)
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr, Op, Pool, builders
from acked.model.language.smt import Frame, Lowering

Emit = Callable[[Any], None]
Term = Any

_PART_EFFORT = 10_000_000
"""How long z3 may think about many pieces of a goal at once, in its own count of steps: some ten seconds."""

_SIMPLIFY_EFFORT = 400_000
"""How long z3 may think about making one field of a counterexample plainer, in its own count of steps."""

_SIMPLIFY_VAIN = 4
"""After so many fields for which that was not enough the counterexample is plain enough."""


class Engine:
    """Answers tasks about one problem; what it has lowered for one task it keeps for the next."""

    def __init__(self, problem: Problem, timeout: float) -> None:
        self.problem = problem
        self.timeout = timeout
        self.pool = Pool()
        self.rows = rebuild(problem, self.pool)
        self.count = len(problem.fields)
        self._order = evaluation_order(self.rows)
        self._reads = self._fields_read()
        self._lowering: Lowering | None = None
        self._roots: list[Expr] = []
        self._frames: dict[str, Frame] = {}

    def answer(self, task: StepTask | BoundedTask | InitialTask, emit: Emit) -> StepAnswer | BoundedAnswer | None:
        """The answer to a task; `emit` is told what can be told before that."""
        if isinstance(task, InitialTask):
            self._write_initial(task)
            return None
        if isinstance(task, StepTask):
            return _StepProof(self, task, emit).answer()
        return _Unrolling(self, task, emit).answer()

    def _write_initial(self, task: InitialTask) -> None:
        goals = [self.claim(number) for number in task.goals]
        frame = self.frame("", goals)
        solver = z3.SolverFor("QF_BV")
        solver.add(_some(_all(frame.is_state(codes)) for codes in self.problem.initial))
        solver.add(_some(z3.Not(frame.term(goal)) for goal in goals))
        names = ", ".join(self.problem.claims[number].name for number in task.goals)
        write_smt2(Path(task.smt2), solver, f"initial state: {names}", "unsat: every claim holds initially")

    # -- expressions ----------------------------------------------------------------------------------------------------

    def _fields_read(self) -> dict[int, int]:
        reads: dict[int, int] = {}
        for node in self._order:
            mask = 1 << node.value if node.op is Op.FIELD else 0
            for arg in node.args:
                mask |= reads[arg.id]
            reads[node.id] = mask
        return reads

    def claim(self, number: int) -> Expr:
        """The condition of a claim, before a step."""
        return self.rows[self.problem.claims[number].root]

    def after(self, action: Step, claims: Sequence[int]) -> list[Expr]:
        """The conditions of claims after a step, over the state before it."""
        new = {leaf: self.rows[row] for leaf, row in action.updates}
        same = {
            leaf: self.pool.field(leaf, field.cardinality) for leaf, field in enumerate(self.problem.fields)
        }
        afterwards = {self.count + leaf: code for leaf, code in {**same, **new}.items()}
        state = self._replaced([self.claim(n) for n in claims if not self.problem.claims[n].is_step], new)
        step = self._replaced([self.claim(n) for n in claims if self.problem.claims[n].is_step], afterwards)
        return [(step if self.problem.claims[n].is_step else state)[self.claim(n).id] for n in claims]

    def pieces_after(self, action: Step, claim: int, pieces: Sequence[int]) -> list[Expr]:
        """Pieces of an assumed claim after a step, over the state before it; what the step leaves as it is needs no proof."""
        wanted = [self.rows[self.problem.claims[claim].pieces[number]] for number in pieces]
        made = self._replaced(wanted, {leaf: self.rows[row] for leaf, row in action.updates})
        changed = [made[piece.id] for piece in wanted if made[piece.id] is not piece]
        return [piece for piece in changed if piece is not self.pool.true]

    def _replaced(self, roots: Sequence[Expr], new: dict[int, Expr]) -> dict[int, Expr]:
        """Expressions and all they are made of with fields replaced, by the number of what they were."""
        touched = sum(1 << field for field in new)
        make = builders(self.pool)
        memo: dict[int, Expr] = {}
        for node in evaluation_order(roots):
            if not self._reads[node.id] & touched:
                memo[node.id] = node
            elif node.op is Op.FIELD:
                memo[node.id] = new[node.value]
            else:
                memo[node.id] = make[node.op](*(memo[arg.id] for arg in node.args))
        return memo

    # -- terms ----------------------------------------------------------------------------------------------------------

    def frame(self, suffix: str, roots: Iterable[Expr]) -> Frame:
        """A frame in which the roots have terms; wider expressions than any before begin all frames anew."""
        self.prepare(roots)
        if suffix not in self._frames:
            assert self._lowering is not None
            self._frames[suffix] = self._lowering.frame(suffix)
        return self._frames[suffix]

    def prepare(self, roots: Iterable[Expr]) -> None:
        """Makes room for the roots in the width of the bit-vectors."""
        wanted = list(roots)
        lowering = self._lowering
        if lowering is not None:
            nodes = [node for node in evaluation_order(wanted) if not node.is_bool]
            if all(lowering.lo <= node.lo and node.hi <= lowering.hi for node in nodes):
                return
        self._roots += wanted
        state_rows = [row for row in self.rows if self._reads[row.id] < 1 << self.count]
        self._lowering = Lowering(_Carrier(self.problem), [*state_rows, *self._roots])  # type: ignore[arg-type]
        self._frames = {}


class _Carrier:
    """What a `Lowering` needs of an instance: the fields' names and sizes."""

    def __init__(self, problem: Problem) -> None:
        self.schema = self
        self.leaves = problem.fields


def _some(terms: Iterable[Term]) -> Term:
    """That one of them holds; in SMT-LIB, which some solvers take at its word, "or" has at least two operands."""
    several = list(terms)
    if len(several) > 1:
        return z3.Or(several)
    return several[0] if several else z3.BoolVal(False)


def _all(terms: Iterable[Term]) -> Term:
    """That each of them holds."""
    several = list(terms)
    if len(several) > 1:
        return z3.And(several)
    return several[0] if several else z3.BoolVal(True)


def _solver(timeout: float) -> z3.Solver:
    return bound(z3.SolverFor("QF_BV"), timeout)


def _check(solver: z3.Solver, *assumptions: Term) -> tuple[str, str]:
    """`sat`, `unsat` or `unknown`, and in the last case why."""
    answer = solver.check(*assumptions)
    if answer == z3.sat:
        return "sat", ""
    if answer == z3.unsat:
        return "unsat", ""
    return "unknown", solver.reason_unknown()


class _Transitions:
    """Consecutive frames and, for each step between them, one selector per action instance."""

    def __init__(self, engine: Engine) -> None:
        problem = engine.problem
        self.engine = engine
        self.guards = [engine.rows[step.guard] for step in problem.steps]
        self.updates = [[(leaf, engine.rows[row]) for leaf, row in step.updates] for step in problem.steps]
        self.overflows = [[engine.rows[row] for _, row in step.overflows] for step in problem.steps]
        self.roots = [*self.guards, *(code for updates in self.updates for _, code in updates)]
        self.roots += [bad for overflows in self.overflows for bad in overflows]
        engine.prepare(self.roots)
        self._writers: dict[int, list[tuple[int, Expr]]] = {}
        for number, updates in enumerate(self.updates):
            for leaf, code in updates:
                self._writers.setdefault(leaf, []).append((number, code))

    def frame(self, at: int) -> Frame:
        return self.engine.frame(f"@{at}", ())

    def selectors(self, at: int) -> list[Term]:
        return [z3.Bool(f"fires@{at}!{number}") for number in range(len(self.guards))]

    def between(self, at: int) -> list[Term]:
        """That exactly one action instance fires between frame `at` and the next, and makes it."""
        before, after = self.frame(at), self.frame(at + 1)
        fires = self.selectors(at)
        terms = [_some(fires), *_at_most_one(fires, f"fired@{at}")]
        terms += [z3.Implies(fire, before.term(guard)) for fire, guard in zip(fires, self.guards, strict=True)]
        for leaf, item in enumerate(self.engine.problem.fields):
            if item.bits:
                code = before.field(leaf)
                for number, update in self._writers.get(leaf, []):
                    code = z3.If(fires[number], before.term(update), code)
                terms.append(after.variable(leaf) == z3.Extract(item.bits - 1, 0, code))
        return terms


def _at_most_one(fires: Sequence[Term], name: str) -> list[Term]:
    """In standard SMT-LIB and linear in size: what has fired so far forbids what comes after it."""
    terms, so_far = [], fires[0]
    for number, fire in enumerate(fires[1:], start=1):
        terms.append(z3.Or(z3.Not(so_far), z3.Not(fire)))
        if number < len(fires) - 1:
            fired = z3.Bool(f"{name}!{number}")
            terms += [z3.Implies(so_far, fired), z3.Implies(fire, fired)]
            so_far = fired
    return terms


# -- one step of an induction ---------------------------------------------------------------------------------------------


class _StepProof:
    """One obligation: where everything assumed holds and the step is enabled, the goals hold after it."""

    def __init__(self, engine: Engine, task: StepTask, emit: Emit) -> None:
        self.engine = engine
        self.task = task
        self._alive: Callable[[], None] = lambda: emit(None)  # Each query may take its whole time.
        self.begin = time.perf_counter()
        problem = engine.problem
        self.step = problem.steps[task.step]
        self.guard = engine.rows[self.step.guard]
        self.assumed = [engine.claim(number) for number in task.assumed]
        names = [problem.claims[number].name for number in task.goals]
        after = engine.after(self.step, task.goals)
        # What the step leaves as it was holds because it was assumed; what folds to true needs no solver.
        unchanged = set(map(id, self.assumed))
        kept = [(name, expr) for name, expr in zip(names, after, strict=True) if id(expr) not in unchanged]
        self.goals = [(name, expr) for name, expr in kept if expr is not engine.pool.true]
        for leaf, row in self.step.overflows:
            inside = engine.pool.not_(engine.rows[row])
            self.goals.append((_in_domain(problem.fields[leaf].name), inside))
        self.transitions = _Transitions(engine) if task.k > 1 else None
        roots = [self.guard, *self.assumed, *(expr for _, expr in self.goals)]
        engine.prepare(roots)
        self.frames = [engine.frame(f"@{at}" if task.k > 1 else "", ()) for at in range(task.k)]

    def answer(self) -> StepAnswer:
        task = self.task
        if task.smt2 is not None:
            self._write_smt2(Path(task.smt2))
        can_fire: bool | None = None
        if task.witness:
            solver = self._assuming()
            found, _ = _check(solver)
            self._alive()
            can_fire = {"sat": True, "unsat": False}.get(found)
        if not self.goals:
            return self._result([], (), "", can_fire, {})
        if task.minimize:
            return self._minimised(can_fire)
        broken: list[Broken] = []
        rest = self._left()
        while rest:
            solver = self._assuming()
            solver.add(_some(z3.Not(self.frames[-1].term(expr)) for expr in rest.values()))
            found, reason = _check(solver)
            self._alive()
            if found == "unsat":
                break
            if found == "unknown":
                return self._result(broken, tuple(rest), reason, can_fire, {})
            item = self._broken(solver, rest)
            broken.append(item)
            if not task.every_claim:
                break
            rest = {name: expr for name, expr in rest.items() if name not in item.claims}
        return self._result(broken, (), "", can_fire, {})

    def _left(self) -> dict[str, Expr]:
        """The goals that their hints do not prove."""
        left = dict(self.goals)
        number_of = {self.engine.problem.claims[number].name: number for number in self.task.goals}
        for name in [name for name, _ in self.goals if number_of.get(name) in self.task.hints]:
            number = number_of[name]
            hint = self.task.hints[number]
            pieces = self.engine.pieces_after(self.step, number, hint.pieces) if hint.pieces else [left[name]]
            if number in self.task.assumed and self._follow(pieces, hint.assumed):
                del left[name]
        inside: dict[tuple[int, ...], list[str]] = {}
        for leaf, _ in self.step.overflows:
            field = self.engine.problem.fields[leaf].name
            if field in self.task.hints:
                inside.setdefault(self.task.hints[field].assumed, []).append(_in_domain(field))
        for assumed, names in inside.items():
            if self._follow([left[name] for name in names], assumed):
                left = {name: expr for name, expr in left.items() if name not in names}
        return left

    def _follow(self, goals: Sequence[Expr], assumed: Sequence[int]) -> bool:
        """Whether z3 proves goals from a few claims: all of them at once, or, where that is too much, in parts."""
        claims = [self.engine.claim(number) for number in assumed]
        pending = [goals] if goals else []
        while pending:
            now = pending.pop()
            found = self._refuted(now, claims, _PART_EFFORT if len(now) > 1 else 0)
            if found == "unknown" and len(now) > 1:
                size = -(-len(now) // 4)
                pending += [now[at : at + size] for at in range(0, len(now), size)]
            elif found != "unsat":
                return False
        return True

    def _refuted(self, goals: Sequence[Expr], assumed: Sequence[Expr], effort: int) -> str:
        """z3's answer to: may one of the goals fail where these claims, the domains and the guard hold?"""
        frame = self.engine.frame("", goals)
        solver = bound(z3.SolverFor("QF_BV"), self.engine.timeout, effort)
        solver.add(*frame.in_domain(), *(frame.term(expr) for expr in (self.guard, *assumed)))
        solver.add(_some(z3.Not(frame.term(goal)) for goal in goals))
        found, _ = _check(solver)
        self._alive()
        return found

    def _result(
        self,
        broken: list[Broken],
        open_claims: tuple[str, ...],
        reason: str,
        can_fire: bool | None,
        used: dict[str, tuple[str, ...]],
    ) -> StepAnswer:
        seconds = time.perf_counter() - self.begin
        return StepAnswer(len(self.goals), tuple(broken), open_claims, reason, seconds, can_fire, used)

    def _assumptions(self) -> list[Term]:
        """What is assumed apart from the claims: domains, the way to the last state, and the guard there."""
        terms = [term for frame in self.frames for term in frame.in_domain()]
        if self.transitions is not None:
            for at in range(self.task.k - 1):
                terms += self.transitions.between(at)
        return [*terms, self.frames[-1].term(self.guard)]

    def _assuming(self) -> z3.Solver:
        solver = _solver(self.engine.timeout)
        solver.add(*self._assumptions())
        for frame in self.frames:
            solver.add(*(frame.term(expr) for expr in self.assumed))
        return solver

    def _write_smt2(self, path: Path) -> None:
        solver = self._assuming()
        solver.add(_some(z3.Not(self.frames[-1].term(expr)) for _, expr in self.goals))
        subject = f"{self.step.label}: {', '.join(name for name, _ in self.goals)}"
        write_smt2(path, solver, subject, "unsat: every claim holds after the step")

    def _broken(self, solver: z3.Solver, goals: dict[str, Expr]) -> Broken:
        model = self._plainest(solver, goals)
        codes = [tuple(frame.codes(model)) for frame in self.frames]
        steps = [self._fired(model, at) for at in range(self.task.k - 1)]
        values = Evaluator(list(goals.values()))(codes[-1])
        claims = tuple(name for name, value in zip(goals, values, strict=True) if not value)
        return Broken(claims, tuple(codes), (*steps, self.task.step))

    def _fired(self, model: z3.ModelRef, at: int) -> int:
        assert self.transitions is not None
        fires = self.transitions.selectors(at)
        return next(number for number, fire in enumerate(fires) if z3.is_true(model.eval(fire)))

    def _plainest(self, solver: z3.Solver, goals: dict[str, Expr]) -> z3.ModelRef:
        """A counterexample in which as many fields as can be are as they are initially."""
        model = solver.model()
        if not self.task.plain:
            return model
        # Bounded by effort and not by time: which counterexample is shown must not depend on how busy the machine is.
        solver.set("rlimit", _SIMPLIFY_EFFORT)
        vain = 0
        initial = self.engine.problem.initial[0]
        for frame in self.frames:
            for leaf, item in enumerate(self.engine.problem.fields):
                if not item.bits:
                    continue
                if vain == _SIMPLIFY_VAIN:
                    return model
                same = frame.variable(leaf) == initial[leaf]
                if z3.is_true(model.eval(same, model_completion=True)):
                    solver.add(same)
                    continue
                found, _ = _check(solver, same)
                vain += found == "unknown"
                if found == "sat":
                    model = solver.model()
                    solver.add(same)
        return model

    def _minimised(self, can_fire: bool | None) -> StepAnswer:
        """Goal by goal, with the assumed claims that its proof needs: an unsatisfiable core, then one by one fewer."""
        names = [self.engine.problem.claims[number].name for number in self.task.assumed]
        used: dict[str, tuple[str, ...]] = {}
        broken: list[Broken] = []
        undecided: list[str] = []
        why = ""
        labels = [z3.Bool(f"assume!{number}") for number in range(len(names))]
        solver = _solver(self.engine.timeout)
        solver.add(*self._assumptions())
        for frame in self.frames:
            solver.add(*(z3.Implies(label, frame.term(expr)) for label, expr in zip(labels, self.assumed, strict=True)))
        for name, expr in self.goals:
            solver.push()
            solver.add(z3.Not(self.frames[-1].term(expr)))
            found, reason = _check(solver, *labels)
            self._alive()
            if found == "unsat":
                used[name] = tuple(names[number] for number in self._core(solver, labels))
            elif found == "unknown":
                undecided.append(name)
                why = reason
            else:
                solver.add(*labels)
                broken.append(self._broken(solver, {name: expr}))
            solver.pop()
        return self._result(broken, tuple(undecided), why, can_fire, used)

    def _core(self, solver: z3.Solver, labels: list[Term]) -> list[int]:
        """The numbers of few labels that suffice; those of lemmas that come first are given up last."""

        def numbers() -> list[int]:
            core = {str(item) for item in solver.unsat_core()}
            return [number for number, label in enumerate(labels) if str(label) in core]

        core = numbers()
        for number in sorted(core, reverse=True):
            if number in core:
                fewer = [other for other in core if other != number]
                self._alive()
                if _check(solver, *(labels[other] for other in fewer))[0] == "unsat":
                    left = set(numbers())
                    core = [other for other in fewer if other in left]
        return core


def _in_domain(field: str) -> str:
    """The name of the goal that a field keeps its domain."""
    return f"{field} stays in its domain"


# -- bounded model checking --------------------------------------------------------------------------------------------


class _Unrolling:
    """The shortest run that violates a claim, one more action at a time.

    If ids may be renamed, only runs are looked at whose actions name the ids in ascending order of first use, after those
    that the initial states name: every run can be renamed into one of those (`symmetry.named_initially`).
    """

    def __init__(self, engine: Engine, task: BoundedTask, emit: Emit) -> None:
        self.engine = engine
        self.task = task
        self.emit = emit
        self.begin = time.perf_counter()
        self.transitions = _Transitions(engine)
        claims = engine.problem.claims
        self.state_claims = [number for number in task.claims if not claims[number].is_step]
        self.step_claims = [number for number in task.claims if claims[number].is_step]
        self.bad_state = [engine.pool.not_(engine.claim(number)) for number in self.state_claims]
        self.bad_steps = self._bad_steps()
        self.overflow = [engine.pool.any(bad) for bad in self.transitions.overflows]
        engine.prepare([*self.bad_state, *self.overflow, *(bad for _, _, bad in self.bad_steps), *self.transitions.roots])
        self.solver = _solver(engine.timeout)
        problem = engine.problem
        self.named: list[Term] = [z3.BoolVal(number < problem.named) for number in range(problem.sort_size)]

    def _bad_steps(self) -> list[tuple[int, int, Expr]]:
        """(step, claim, condition) of what a step could break at once."""
        found = []
        for number, step in enumerate(self.engine.problem.steps):
            for claim, holds in zip(self.step_claims, self.engine.after(step, self.step_claims), strict=True):
                if holds is not self.engine.pool.true:
                    found.append((number, claim, self.engine.pool.not_(holds)))
        return found

    def answer(self) -> BoundedAnswer:
        first = self.transitions.frame(0)
        initial = [_all(first.is_state(codes)) for codes in self.engine.problem.initial]
        self.solver.add(_some(initial))
        for depth in range(self.task.depth + 1):
            begin = time.perf_counter()
            if depth:
                self.solver.add(*self.transitions.between(depth - 1), *self._in_order(depth - 1))
            violations = self._violations(depth)
            wrong = z3.Bool(f"wrong@{depth}")
            self.solver.add(z3.Implies(wrong, _some(violations.values())))
            if self.task.smt2 is not None:
                self._write_smt2(Path(self.task.smt2), depth, wrong)
            found, reason = _check(self.solver, wrong)
            now = time.perf_counter()
            if found == "sat":
                return self._found(self._of_first_claim(violations, depth), depth)
            if found == "unknown":
                return BoundedAnswer(depth - 1, None, None, reason, now - self.begin)
            self.emit(DepthNote(depth, now - begin, now - self.begin))
            self.solver.add(z3.Not(wrong), *(z3.Not(term) for term in violations.values()))
        return BoundedAnswer(self.task.depth, None, None, "", time.perf_counter() - self.begin)

    def _of_first_claim(self, violations: dict[int, Term], depth: int) -> z3.ModelRef:
        """Of claims that runs of equal length violate, the one that is asked first counts."""
        model = self.solver.model()
        for number in self.task.claims:
            if number not in violations or z3.is_true(model.eval(violations[number], model_completion=True)):
                break
            self.emit(None)
            only = z3.Bool(f"wrong@{depth}!{number}")
            self.solver.add(z3.Implies(only, violations[number]))
            if _check(self.solver, only)[0] == "sat":
                return self.solver.model()
        return model

    def _violations(self, depth: int) -> dict[int, Term]:
        """What would violate each claim after so many actions; a value that leaves its domain counts as claim -1."""
        frame = self.transitions.frame(depth)
        found = {number: frame.term(bad) for number, bad in zip(self.state_claims, self.bad_state, strict=True)}
        if depth:
            before, fires = self.transitions.frame(depth - 1), self.transitions.selectors(depth - 1)
            for number in self.step_claims:
                terms = [z3.And(fires[step], before.term(bad)) for step, claim, bad in self.bad_steps if claim == number]
                found[number] = _some(terms)
            leaving = [
                z3.And(fire, before.term(bad))
                for fire, bad in zip(fires, self.overflow, strict=True)
                if bad is not self.engine.pool.false
            ]
            found[-1] = _some(leaving)
        return found

    def _in_order(self, at: int) -> list[Term]:
        if not self.named:
            return []
        fires, steps = self.transitions.selectors(at), self.engine.problem.steps
        terms, named = [], []
        for number, was in enumerate(self.named):
            using = [fire for fire, step in zip(fires, steps, strict=True) if number in step.ids]
            if number:
                for fire, step in zip(fires, steps, strict=True):
                    if number in step.ids and number - 1 not in step.ids[: step.ids.index(number)]:
                        terms.append(z3.Implies(fire, self.named[number - 1]))
            now = z3.Bool(f"named@{at}!{number}")
            terms.append(now == _some([was, *using]))
            named.append(now)
        self.named = named
        return terms

    def _found(self, model: z3.ModelRef, depth: int) -> BoundedAnswer:
        states = tuple(tuple(self.transitions.frame(at).codes(model)) for at in range(depth + 1))
        steps = tuple(
            next(n for n, fire in enumerate(self.transitions.selectors(at)) if z3.is_true(model.eval(fire)))
            for at in range(depth)
        )
        return BoundedAnswer(depth, states, steps, "", time.perf_counter() - self.begin)

    def _write_smt2(self, folder: Path, depth: int, wrong: Term) -> None:
        copy = z3.SolverFor("QF_BV")
        copy.add(*self.solver.assertions(), wrong)
        write_smt2(
            folder / f"depth-{depth:03}.smt2",
            copy,
            f"a claim is violated after {depth} actions and not earlier",
            "unsat: none is",
        )


def write_smt2(path: Path, solver: z3.Solver, subject: str, meaning: str) -> None:
    """One query as a file that any SMT-LIB solver reads."""
    body = solver.to_smt2().split("\n", 2)  # z3 begins with a comment and an empty status line.
    text = "\n".join(line for line in body if not line.startswith(("; benchmark", "(set-info")))
    safe = subject.replace("\n", " ")
    path.write_text(f"; {safe}\n; {meaning}\n(set-logic QF_BV)\n{text}", encoding="utf-8")
