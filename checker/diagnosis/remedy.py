"""Which rule would have prevented a violation: rules are changed one at a time, and the run and the promise tried again.

The rules that could be changed, how each blocks the run, and whether the promise holds with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, unique
from functools import partial
from itertools import pairwise
from typing import Any

from acked.base.bounds import Bounds
from acked.base.errors import AckedError
from acked.base.release import LATEST
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason, Verdict
from acked.checker.replay.explain import Explainer
from acked.checker.replay.retrace import BlockedStep, as_told, under
from acked.checker.search.local import search
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.context import Constant, Switch
from acked.model.language.protocol import ActionInstance, Instance
from acked.model.partition import settings
from acked.model.partition.protocol import partition
from acked.model.partition.versions import CHANGES, VERSIONS, changes_of, planes_of

MAX_STATES = 2_000_000
"""States that one search for a rule may see; a page must not take longer to open."""

_CHOSEN = [
    constant
    for constant in settings.CONFIGURED
    if sum(change.constant is constant for change in CHANGES) > 1
]  # fmt: skip
"""Constants whose defaults releases changed, but that users set: they come after the rules."""


@unique
class RemedyKind(Enum):
    """What is changed."""

    CLAUSE = "clause"
    PROTOCOL = "protocol"
    RULE = "rule"
    SETTING = "setting"
    RELEASE = "release"


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class _Candidate:
    sort: RemedyKind
    name: str
    source: str
    instantiate: Callable[[], Instance]


def remedy_of(question: Question, run: Run, violates: Property, decides: bool = False) -> Remedy | None:
    """The first change of rules that prevents the run; if it `decides`, the first with which the promise holds at all.

    Of a weakened protocol the change is to put its clauses back, of the replication family a later set of rules, of
    `partition` one rule as a later release has it, then one setting, then all rules of the latest release. Only the last
    three are searched for if it `decides`: trying them takes seconds.
    """
    instance = question.instance
    candidates = _candidates(instance, decides)
    first: Remedy | None = None
    for candidate in candidates:
        try:
            other = candidate.instantiate()
            tried = _tried(candidate, other, question, run, violates)
        except ModelError:  # Other rules may need other constants, or have no room for the run.
            continue
        if tried is None:
            continue
        if not decides:
            return tried
        tried = _decided(tried, Question(other, (violates,), is_symmetric=question.is_symmetric))
        if tried.verdict is Verdict.HOLDS:
            return tried
        first = first or tried
    return first


def _decided(tried: Remedy, question: Question) -> Remedy:
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
    elif protocol is partition:
        if decides:
            yield from _partition(constants)
    else:
        names = list(PROTOCOLS)
        later = names[names.index(protocol.name) + 1 :] if protocol.name in names else []
        for other in (PROTOCOLS[name] for name in later):
            if other.state is protocol.state:
                yield _Candidate(RemedyKind.PROTOCOL, other.name, other.source, partial(other.instantiate, constants))


def _partition(constants: Mapping[str, int]) -> Iterator[_Candidate]:
    def changed(sort: RemedyKind, constant: Constant, value: int, source: str) -> _Candidate:
        name = f"{constant.name}={_shown(constant, value)}"
        return _Candidate(sort, name, source, lambda: partition.instantiate({**constants, constant.name: value}))

    for constant, value, source in _rules(constants):
        yield changed(RemedyKind.RULE, constant, value, source)
    for constant, value in _settings(constants):
        if constants[constant.name] != value:
            yield changed(RemedyKind.SETTING, constant, value, constant.doc)
    latest = {
        name: change.constant.read(change.value)
        for name, change in changes_of(LATEST, planes_of(LATEST)[0]).items()
        if change.constant not in _CHOSEN
    }
    if any(constants[name] != value for name, value in latest.items()):
        source = "every known fix, of which some are not in a release yet"
        yield _Candidate(
            RemedyKind.RELEASE, f"version={LATEST}", source, lambda: partition.instantiate({**constants, **latest})
        )


def _rules(constants: Mapping[str, int]) -> list[tuple[Constant, int, str]]:
    """Rules that a release after the present value has otherwise, the oldest change first."""
    by_constant: dict[str, list[tuple[int, int, str]]] = {}
    for change in CHANGES:
        if change.constant not in _CHOSEN:
            since, value = VERSIONS.index(change.since), change.constant.read(change.value)
            by_constant.setdefault(change.constant.name, []).append((since, value, change.source))
    found = []
    for constant in settings.CONSTANTS:
        history = by_constant.get(constant.name, [])
        now = constants[constant.name]
        reached = max((at for at, (_, value, _) in enumerate(history) if value == now), default=-1)
        for since, value, source in history[reached + 1 :]:
            told = constant.doc if isinstance(constant, Switch) and value else source
            found.append((since, constant, value, told))
    return [(constant, value, source) for _, constant, value, source in sorted(found, key=lambda item: item[0])]


def _settings(constants: Mapping[str, int]) -> Iterator[tuple[Constant, int]]:
    """Settings that are known to be safer, the one that asks least of an operator first."""
    yield settings.unclean_election, 0
    yield settings.acks, settings.ACKS_ALL
    if constants["min_insync_replicas"] < constants["replicas"]:
        yield settings.min_insync_replicas, constants["min_insync_replicas"] + 1
    if constants["acks"] == settings.ACKS_ALL and constants["retries"]:
        yield settings.idempotence, 1
    yield settings.in_flight, 1
    yield settings.retries, 0


def _shown(constant: Constant, value: int) -> str:
    shown = constant.show(value)
    return str(shown).lower() if isinstance(shown, bool) else str(shown)


# -- how the change blocks the run --------------------------------------------------------------------------------------


def _tried(
    candidate: _Candidate, other: Instance, question: Question, run: Run, violates: Property
) -> Remedy | None:
    """None if the run happens as before, or breaks the promise all the same."""
    if candidate.sort in (RemedyKind.CLAUSE, RemedyKind.PROTOCOL):
        blocked = under(other, question.instance, run).blocked
        is_other = blocked is not None and blocked.index > 0
    else:
        states, blocked = _taken(other, run.actions)
        if blocked is not None:
            blocked = as_told(other, [step for step, _ in states if step is not None], blocked)
        is_other = blocked is not None or not _breaks(Question(other, (violates,)), states)
    return Remedy(candidate.sort, candidate.name, candidate.source, blocked) if is_other else None


_Taken = list[tuple[ActionInstance | None, list[int]]]
"""The states of a run as codes, each with the step that led there."""


def _taken(instance: Instance, actions: Sequence[ActionInstance]) -> tuple[_Taken, BlockedStep | None]:
    """The same actions one after the other, as codes with the action that led there; what forbids the first that cannot be.

    Switches change what is kept of the past, so that states differ where nothing that matters does: actions are followed
    here, not states.
    """
    known = {step.label: step for step in instance.actions}
    explainer = Explainer(instance)
    states: _Taken = [(None, instance.schema.unpack(instance.initial[0]))]
    for index, action in enumerate(actions, 1):
        step, codes = known.get(action.label), states[-1][1]
        if step is None:
            return states, BlockedStep(index, None, (), ())
        clauses = explainer.refusal(step, codes).clauses
        taken = _otherwise_told(instance, step, codes) if clauses else step
        if taken is None:
            return states, BlockedStep(index, step, clauses, ())
        states.append((taken, instance.fire(taken, codes)))
    return states, None


def _otherwise_told(instance: Instance, step: ActionInstance, codes: Sequence[int]) -> ActionInstance | None:
    """The same event where rules tell two kinds of it apart by a yes or no, such as whether a restart is a clean one."""

    def without_answers(item: ActionInstance) -> dict[str, Any]:
        return {name: value for name, value in item.arguments.items() if not isinstance(value, bool)}

    like = (item for item in instance.enabled(codes) if item.action.name == step.action.name)
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
