"""Which rule would have prevented a violation: rules are changed one at a time, and the run and the promise tried again.

The rules that could be changed, how each blocks the run, and whether the promise holds with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum, unique
from functools import partial
from itertools import pairwise
from typing import Any

from acked.base.bounds import Bounds
from acked.base.errors import AckedError
from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason, Verdict
from acked.checker.replay.explain import Explainer
from acked.checker.replay.retrace import BlockedStep, retell, under
from acked.checker.search.local import search
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS, alternatives_of
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.context import Switch
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

MAX_STATES = 2_000_000
"""States that one search for a rule may see; a page must not take longer to open."""

@unique
class RemedyKind(Enum):
    """What is changed."""

    CLAUSE = "clause"
    PROTOCOL = "protocol"
    RULE = "rule"
    SETTING = "setting"
    RELEASE = "release"


@frozen
class Remedy:
    """A change of rules under which a violating run cannot happen, or ends well.

    `name` is how specs name it (a clause, a protocol, `constant=value`), `source` where it comes from. `blocked` is the
    step that the rule blocks; None if all its steps can be taken and break nothing any more. `verdict` is whether the promise
    holds with this change alone, INCOMPLETE if that was not decided, and `states` how many states that took; if
    `is_symmetric`, those that differ in the names of brokers only are counted once.
    """

    sort: RemedyKind
    name: str
    source: str
    blocked: BlockedStep | None
    verdict: Verdict = Verdict.INCOMPLETE
    states: int = 0
    is_symmetric: bool = False


@frozen
class _Candidate:
    sort: RemedyKind
    name: str
    source: str
    instantiate: Callable[[], Instance]


def remedy_of(question: Question, run: Run, violates: Property, decides: bool = False) -> Remedy | None:
    """The first change of rules that prevents the run; if it `decides`, the first with which the promise holds at all.

    Of a weakened protocol the change is to put its clauses back, of a protocol with alternatives (`alternatives_of`) one of
    them, of an author's own the default of a switch, of another a later set of rules over the same state. Alternatives are
    tried only if it `decides`: it takes seconds.
    """
    instance = question.instance
    candidates = _candidates(instance, decides)
    first: Remedy | None = None
    for candidate in candidates:
        try:
            other = candidate.instantiate()
            tried = _try(candidate, other, question, run, violates)
        except ModelError:  # Other rules may need other constants, or have no room for the run.
            continue
        if tried is None:
            continue
        if not decides:
            return tried
        tried = _decide(tried, Question(other, (violates,), is_symmetric=question.is_symmetric))
        if tried.verdict is Verdict.HOLDS:
            return tried
        first = first or tried
    return first


def _decide(tried: Remedy, question: Question) -> Remedy:
    """With the answer to whether the promise holds; undecided where there is no memory for the search."""
    try:
        question.refuse_asymmetry()
        result = search(question, Bounds(workers=1, max_states=MAX_STATES))
    except AckedError:
        return tried
    if result.stopped is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return replace(
        tried, verdict=result.verdict, states=result.distinct_states, is_symmetric=question.is_symmetric
    )


# -- what could be changed ----------------------------------------------------------------------------------------------


def _candidates(instance: Instance, decides: bool) -> Iterator[_Candidate]:
    protocol, constants = instance.protocol, instance.constants
    if instance.dropped:
        clauses = "; ".join(f"{action}: {label}" for action, label in sorted(instance.dropped))
        yield _Candidate(RemedyKind.CLAUSE, clauses, protocol.source, lambda: protocol.instantiate(constants))
    elif (alternatives := alternatives_of(protocol)) is not None:
        for item in alternatives(constants) if decides else ():
            made = partial(protocol.instantiate, {**constants, **item.changes})
            yield _Candidate(RemedyKind(item.kind.value), item.name, item.source, made)
    elif protocol.name not in PROTOCOLS:
        for rule in protocol.constants:
            if isinstance(rule, Switch) and rule.default is not None and rule.default != constants[rule.name]:
                made = partial(protocol.instantiate, {**constants, rule.name: rule.default})
                yield _Candidate(RemedyKind.RULE, f"{rule.name}={str(rule.show(rule.default)).lower()}", rule.doc, made)
    else:
        names = list(PROTOCOLS)
        later = names[names.index(protocol.name) + 1 :]
        for other in (PROTOCOLS[name] for name in later):
            if other.state is protocol.state:
                yield _Candidate(RemedyKind.PROTOCOL, other.name, other.source, partial(other.instantiate, constants))


# -- how the change blocks the run --------------------------------------------------------------------------------------


def _try(
    candidate: _Candidate, other: Instance, question: Question, run: Run, violates: Property
) -> Remedy | None:
    """None if the run happens as before, or breaks the promise all the same."""
    if candidate.sort in (RemedyKind.CLAUSE, RemedyKind.PROTOCOL):
        blocked = under(other, question.instance, run).blocked
        is_other = blocked is not None and blocked.index > 0
    else:
        states, blocked = _follow(other, run)
        if blocked is not None:
            blocked = retell(other, [step for step, _ in states if step is not None], blocked)
        is_other = blocked is not None or not _breaks(Question(other, (violates,)), states)
    return Remedy(candidate.sort, candidate.name, candidate.source, blocked) if is_other else None


_Taken = list[tuple[ActionInstance | None, list[int]]]
"""The states of a run as codes, each with the step that led there."""


def _follow(instance: Instance, run: Run) -> tuple[_Taken, BlockedStep | None]:
    """The states of a run's actions in another instance, with the action that led there; what bars the first that is barred.

    Switches change what is kept of the past, so that states differ where nothing that matters does: actions are followed
    here, not states.
    """
    known = {step.label: step for step in instance.actions}
    explainer = Explainer(instance)
    begins = run.states[0] if run.states[0] in instance.initial else instance.initial[0]
    states: _Taken = [(None, instance.schema.unpack(begins))]
    for index, action in enumerate(run.actions, 1):
        step, codes = known.get(action.label), states[-1][1]
        if step is None:
            return states, BlockedStep(index, None, (), ())
        clauses = explainer.refusal(step, codes).clauses
        taken = _twin(instance, step, codes) if clauses else step
        if taken is None:
            return states, BlockedStep(index, step, clauses, ())
        states.append((taken, instance.fire(taken, codes)))
    return states, None


def _twin(instance: Instance, step: ActionInstance, codes: Sequence[int]) -> ActionInstance | None:
    """A step's event where rules tell two kinds of it apart by a yes or no, such as whether a restart is a clean one."""

    def without_answers(item: ActionInstance) -> dict[str, Any]:
        return {name: value for name, value in item.arguments.items() if not isinstance(value, bool)}

    like = (item for item in instance.enabled_actions(codes) if item.action.name == step.action.name)
    return next((item for item in like if without_answers(item) == without_answers(step)), None)


def _breaks(question: Question, states: _Taken) -> bool:
    """Whether the question's one property is violated anywhere along a run."""
    if question.properties[0].kind is Kind.STEP:
        return any(
            not Evaluator([question.holds_in_step(0, step)])(before)[0]
            for (_, before), (step, _) in pairwise(states)
            if step is not None
        )
    holds = Evaluator([question.holds_in_state(0)])
    return any(not holds(codes)[0] for _, codes in states)
