"""Proof by induction, action by action: what holds initially and is preserved by every action holds in every reachable state.

The obligations, how they are dealt to solver processes, and what their answers amount to.

For every action instance: where every field is in its domain and the guard, every property and every lemma hold, every
property and every lemma hold after the step and no field leaves its domain; step properties hold of the step. With the
initial state that is an induction over runs of any length. A counterexample is a state from which one step breaks something;
it need not be reachable, because a missing lemma looks just like a missing guard. With k > 1 the claims are assumed in k
states in a row, and must hold in the first k states of every run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.base.processes import Limits, Lost, Note, ProcessPool
from acked.checker.proof.bmc import NO_SYMMETRY, Bound, ask, confirm
from acked.checker.proof.result import (
    INITIAL,
    ActionProof,
    Induction,
    InductionCounterexample,
    Method,
    Obligation,
    ObligationVerdict,
    ProofResult,
    Reachability,
)
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, ProofProgress
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason, Violation, Words
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import Shard
from acked.checker.solver.conjuncts import Pieces, hints
from acked.checker.solver.lemma_sets import shipped_sets
from acked.checker.solver.problem import conditions, make_problem
from acked.checker.solver.tasks import SOLVER, InitialTask, StepAnswer, StepTask
from acked.checker.symmetry.check import Symmetry, check_symmetry
from acked.invariants.partition.domains import EPOCHS_ARE_DENSE
from acked.invariants.property import Kind, Property
from acked.model.formulas.errors import DomainOverflow
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.tracings import ActionInstance


@frozen
class InductionOptions:
    """How to prove: `k` states in a row, which lemmas are needed, every broken claim or one counterexample per instance.

    `use_symmetry` lets one instance stand for its renamings where that is checked; `smt2` is a folder for the queries.
    `explore` is the number of states up to which an explicit search says whether a counterexample is reachable; 0 for none.
    """

    k: int = 1
    minimize: bool = False
    every_claim: bool = False
    use_symmetry: bool = True
    smt2: Path | None = None
    explore: int = 0


def prove_by_induction(
    question: Question,
    lemmas: Sequence[Property],
    limits: Limits,
    options: InductionOptions | None = None,
    observer: Observer | None = None,
) -> ProofResult:
    """Tries to prove the question's properties with the lemmas, which are proved along with them."""
    return _Attempt(question, lemmas, limits, options or InductionOptions(), observer or Observer()).run()


class _Attempt:
    def __init__(
        self, question: Question, lemmas: Sequence[Property], limits: Limits, options: InductionOptions, observer: Observer
    ) -> None:
        self.question = question
        self.limits = limits
        self.options = options
        self.observer = observer
        self.instance = question.instance
        asked = {item.name for item in question.properties}
        self.lemmas = tuple(item for item in lemmas if item.name not in asked)
        self.claims: tuple[Property, ...] = (*question.properties, *self.lemmas)
        self.roots: list[Expr] = []
        # Which lemmas a goal needs is not what --minimize and k-induction ask. And the sets were found for epochs as numbers:
        # where a step gives all epochs new ranks, goals asked one by one take three times as long as all of them together.
        plain = options.k == 1 and not options.minimize and lemmas and EPOCHS_ARE_DENSE not in self.lemmas
        self._sets = shipped_sets(question.instance.protocol).cores if plain else {}

    def run(self) -> ProofResult:
        begin = time.perf_counter()
        induction: Induction | None = None
        violations: tuple[Violation, ...] = ()
        interrupted = False
        try:
            with ProcessPool(self.limits, SOLVER) as pool:
                induction, violations = self._prove(pool)
        except KeyboardInterrupt:
            interrupted = True
        result = ProofResult(
            question=self.question,
            method=Method.INDUCTION,
            workers=self.limits.jobs,
            seconds=time.perf_counter() - begin,
            induction=induction,
            violations=violations,
            interrupted=interrupted,
            lemmas=self.lemmas,
        )
        if induction is None or induction.is_proof or violations or not self.options.explore:
            return result
        return add_reachability(result, self.options.explore, self.observer)

    def _prove(self, pool: ProcessPool) -> tuple[Induction, tuple[Violation, ...]]:
        self.observer.phase("writing the claims down")
        self.roots = conditions(self.instance, self.claims)
        symmetry = Symmetry(tuple(range(len(self.instance.actions))), NO_SYMMETRY)
        if self.options.use_symmetry:
            named = [(item.name, root) for item, root in zip(self.claims, self.roots, strict=True)]
            symmetry = check_symmetry(self.instance, named)
        # Pieces are worth their while only where few stand for all.
        pieces = Pieces(self.instance, self.roots) if self._sets and symmetry.is_symmetric else None
        parts = () if pieces is None else pieces.of
        pool.load(make_problem(self.instance, self.claims, self.roots, symmetry.is_symmetric, parts))
        self.observer.phase("proving")
        base, violations = self._base(pool)
        steps = list(self._steps(pool, symmetry, pieces))
        actions = [ActionProof(INITIAL, (base,))]
        for action in self.instance.action_rules:
            mine = tuple(item for item in steps if item.subject == action.name)
            if mine:
                actions.append(ActionProof(action.name, mine))
        induction = Induction(
            k=self.options.k,
            candidates=tuple(item.name for item in self.question.properties),
            lemmas=tuple(item.name for item in self.lemmas),
            actions=tuple(actions),
            symmetry=symmetry.obstacle,
            instances=len(self.instance.actions),
            needed=self._needed_lemmas(steps) if self.options.minimize else None,
        )
        return induction, violations

    # -- the first states -------------------------------------------------------------------------------------------------

    def _base(self, pool: ProcessPool) -> tuple[Obligation, tuple[Violation, ...]]:
        """That every claim holds in the first k states of every run."""
        begin = time.perf_counter()
        schema = self.instance.schema
        state = [(item, root) for item, root in zip(self.claims, self.roots, strict=True) if item.kind is not Kind.STEP]
        if self.options.smt2 is not None:
            goals = tuple(number for number, item in enumerate(self.claims) if item.kind is not Kind.STEP)
            list(pool.run([InitialTask(goals, str(self.options.smt2 / "initial-state.smt2"))]))
        for words in self.instance.initial:
            values = Evaluator([root for _, root in state])(schema.unpack(words))
            broken = [item for (item, _), value in zip(state, values, strict=True) if not value]
            if broken:
                run = Run((words,), ())
                found = InductionCounterexample(tuple(item.name for item in broken), run, Reachability.REACHABLE)
                seconds = time.perf_counter() - begin
                refuted = Obligation(INITIAL, INITIAL, 1, ObligationVerdict.REFUTED, seconds, len(state), (found,))
                asked = [item for item in broken if item in self.question.properties]
                return refuted, tuple(Violation(item, run) for item in asked[:1])
        reason = ""
        violations: tuple[Violation, ...] = ()
        if self.options.k > 1:
            reason, violations = self._longer_base(pool)
        verdict = ObligationVerdict.PROVED
        counterexamples: tuple[InductionCounterexample, ...] = ()
        if violations:
            verdict = ObligationVerdict.REFUTED
            named = tuple(item.property.name for item in violations)
            counterexamples = (InductionCounterexample(named, violations[0].run, Reachability.REACHABLE),)
        elif reason:
            verdict = ObligationVerdict.UNDECIDED
        done = Obligation(
            INITIAL,
            INITIAL if self.options.k == 1 else f"the first {self.options.k} states of every run",
            1,
            verdict,
            time.perf_counter() - begin,
            len(state),
            counterexamples,
            tuple(item.name for item in self.claims) if reason and not violations else (),
            reason,
        )
        asked_violations = tuple(found for found in violations if found.property in self.question.properties)
        return done, asked_violations

    def _longer_base(self, pool: ProcessPool) -> tuple[str, tuple[Violation, ...]]:
        smt2 = self.options.smt2
        bound = Bound(self.options.k - 1, smt2=smt2)
        answer, reason = ask(pool, range(len(self.claims)), bound, [], Observer())
        if answer is None or answer.states is None:
            return reason, ()
        everything = Question(self.question.instance, self.claims)
        return "", (confirm(everything, answer),)

    # -- the steps ----------------------------------------------------------------------------------------------------------

    def _steps(self, pool: ProcessPool, symmetry: Symmetry, pieces: Pieces | None) -> Iterator[Obligation]:
        options = self.options
        sizes: dict[int, int] = {}
        for stands in symmetry.representative:
            sizes[stands] = sizes.get(stands, 0) + 1
        state_claims = tuple(n for n, item in enumerate(self.claims) if item.kind is not Kind.STEP)
        everything = tuple(range(len(self.claims)))
        # Who changes more takes longer; begun first, it does not keep everybody waiting at the end.
        first = sorted(sizes, key=lambda number: -len(self.instance.actions[number].updates))
        tasks = [
            StepTask(
                step=number,
                assumed=state_claims,
                goals=everything,
                k=options.k,
                witness=True,
                every_claim=options.every_claim,
                minimize=options.minimize,
                smt2=None if options.smt2 is None else str(options.smt2 / _file_name(number, self.instance.actions[number])),
                hints=hints(self.instance, number, self.claims, self._sets, pieces),
            )
            for number in first
        ]
        made: dict[int, Obligation] = {}
        for reply in pool.run(tasks):
            if isinstance(reply, Note):
                continue
            task = tasks[reply.task]
            action = self.instance.actions[task.step]
            if isinstance(reply, Lost):
                names = tuple(item.name for item in self.claims)
                verdict = ObligationVerdict.UNDECIDED
                made[reply.task] = Obligation(
                    action.action.name, action.label, sizes[task.step], verdict, 0.0, 0, (), names, reply.reason
                )
            else:
                made[reply.task] = self._obligation(task, reply.value, sizes[task.step])
            done = made[reply.task]
            self.observer.decided(
                ProofProgress(done.label, done.verdict.value, done.seconds, len(made), len(tasks))
            )
        yield from (made[number] for number in sorted(made, key=lambda number: tasks[number].step))

    def _obligation(self, task: StepTask, answer: StepAnswer, instances: int) -> Obligation:
        action = self.instance.actions[task.step]
        verdict = ObligationVerdict.PROVED
        if answer.undecided:
            verdict = ObligationVerdict.UNDECIDED
        if answer.broken:
            verdict = ObligationVerdict.REFUTED
        return Obligation(
            action.action.name,
            action.label,
            instances,
            verdict,
            answer.seconds,
            answer.goals,
            tuple(self._judge(item.states, item.steps, item.claims) for item in answer.broken),
            answer.undecided,
            answer.reason,
            answer.can_fire,
            answer.used,
        )

    def _judge(
        self, states: Sequence[tuple[int, ...]], steps: Sequence[int], claims: tuple[str, ...]
    ) -> InductionCounterexample:
        """A solver's counterexample, judged again by the plain evaluator."""
        instance = self.instance
        assumed = [root for item, root in zip(self.claims, self.roots, strict=True) if item.kind is not Kind.STEP]
        actions = [instance.actions[number] for number in steps]
        is_one = all(all(Evaluator(assumed)(codes)) for codes in states)
        is_one = is_one and all(
            Evaluator([action.guard])(codes)[0] for action, codes in zip(actions, states, strict=True)
        )
        words = [instance.schema.pack(codes) for codes in states]
        is_one = is_one and all(
            tuple(instance.fire(action, before)) == after
            for action, before, after in zip(actions, states, states[1:], strict=False)
        )
        try:
            last = instance.fire(actions[-1], states[-1])
        except DomainOverflow:
            is_one = is_one and any(name.endswith("domain") for name in claims)
            run = Run(tuple(words), tuple(actions[:-1]))
        else:
            for item, root in zip(self.claims, self.roots, strict=True):
                codes = [*states[-1], *last] if item.kind is Kind.STEP else last
                if item.name in claims and Evaluator([root])(codes)[0]:
                    is_one = False
            run = Run((*words, instance.schema.pack(last)), tuple(actions))
        if not is_one or not claims:
            raise SystemFailure(
                f"{instance.protocol.name}: z3's counterexample to {actions[-1].label} is not one by the plain evaluator; "
                "please report this as a defect of acked"
            )
        return InductionCounterexample(claims, run)

    def _needed_lemmas(self, steps: Sequence[Obligation]) -> tuple[str, ...] | None:
        """The lemmas that the proofs of the properties, and of those lemmas in turn, use; in the lemmas' order."""
        uses: dict[str, set[str]] = {}
        for item in steps:
            if item.verdict is not ObligationVerdict.PROVED:
                return None
            for goal, names in item.used.items():
                uses.setdefault(goal, set()).update(names)
        pending = [item.name for item in self.question.properties]
        pending += [goal for goal in uses if goal.endswith("domain")]
        needed: set[str] = set()
        while pending:
            for name in uses.get(pending.pop(), set()) - needed:
                needed.add(name)
                pending.append(name)
        return tuple(item.name for item in self.lemmas if item.name in needed)


def _file_name(number: int, action: ActionInstance) -> str:
    return f"{number:04}-{re.sub('[^A-Za-z0-9]+', '-', action.label).strip('-')}.smt2"


# -- may the counterexample happen? ---------------------------------------------------------------------------------------


def add_reachability(result: ProofResult, max_states: int, observer: Observer) -> ProofResult:
    """The result with the reachability of its counterexamples, and the violation there is, as explicit search finds them.

    Beyond `max_states` distinct states the search gives up, and what it did not find stays unknown.
    """
    assert result.induction is not None
    observer.phase("looking for the counterexamples among the reachable states")
    explorer = LocalSearch(
        result.question, Bounds(max_states=max_states), StopPolicy.EVERY_PROPERTY, observer, keeps_states=True
    )
    try:
        answer = explorer.run()
    except (DomainOverflow, SystemFailure):
        return result
    is_complete = answer.stopped is StopReason.COMPLETE
    seen: dict[Words, Reachability] = {}

    def reachability(words: Words) -> Reachability:
        if words not in seen:
            if any(_holds(shard, words) for shard in explorer.shards):
                seen[words] = Reachability.REACHABLE
            else:
                seen[words] = Reachability.UNREACHABLE if is_complete else Reachability.UNKNOWN
        return seen[words]

    def mark(item: Obligation) -> Obligation:
        found = tuple(replace(one, reachability=reachability(one.run.states[0])) for one in item.counterexamples)
        return replace(item, counterexamples=found)

    actions = tuple(
        replace(action, obligations=tuple(map(mark, action.obligations))) for action in result.induction.actions
    )
    covered = f"explicit search saw {'all' if is_complete else 'only'} {answer.distinct_states:,} reachable states"
    broken = sorted(answer.violations, key=lambda item: item.trace_length)
    if not broken:
        covered += " and found no violation" + ("; only the induction fails" if is_complete else " in them")
    return replace(
        result,
        induction=replace(result.induction, actions=actions),
        violations=tuple(broken[:1]),
        notes=(*result.notes, covered),
    )


def _holds(shard: Shard, words: Words) -> bool:
    """Whether a state is among those that a shard has seen."""
    import numpy

    from acked.checker.shards.arrays import states_of

    return bool((states_of(shard) == numpy.array(words, numpy.uint64)).all(axis=1).any())
