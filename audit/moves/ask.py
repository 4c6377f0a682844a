"""Whether a move can lose an acknowledged record: as things are, while it runs, if it is cancelled, and afterwards.

A move is one reassignment of `partition`, from the replicas there are to as many as the plan says, of which as many are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, unique

from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, Faults
from acked.audit.decision.joint import Searches
from acked.audit.decision.questions import FEW_BROKERS, QUESTIONS, reply_of, task_of, worst_of
from acked.audit.decision.release import Contexts, Deployment, contexts
from acked.audit.decision.settings import Configuration, configure
from acked.audit.moves.shapes import MoveGroup, Moves, MoveShape
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.cluster.vocabulary import keys
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import profile, rules_of

MOST_STATES = 40_000_000
"""Distinct states of one search, unless the user says otherwise: {0, 1, 2} to {1, 2, 3}, a machine dying, has 37 million."""

_PAIR = 2

LOSS = next(question for question in QUESTIONS if question.asked is AuditQuestion.LOSS)


@unique
class MoveStage(Enum):
    """When a record may be lost."""

    NOW = "now"
    MOVING = "moving"
    CANCELLED = "cancelled"
    AFTER = "after"


STAGE_WORDS: Mapping[MoveStage, str] = {
    MoveStage.NOW: "with the replicas there are, and no move",
    MoveStage.MOVING: "from before the move until after it, if it is let run",
    MoveStage.CANCELLED: "the same, if the move may be cancelled while it runs (kafka-reassign-partitions --cancel)",
    MoveStage.AFTER: "with the replicas of the plan, once the move is over",
}


@frozen
class MoveAnswer:
    """Whether an acknowledged record can be lost at a stage, under faults, in the context where that is worst.

    Without a `task` the answer follows: what can be lost without a move can be lost with one, and what a move that runs can
    lose one that may be cancelled can lose too.
    """

    stage: MoveStage
    faults: Faults
    reply: AuditVerdict
    context: Deployment
    follows_from: MoveStage | None = None
    task: Task | None = None
    outcome: Outcome | None = None
    failure: str = ""

    @property
    def story(self) -> FoundViolation | None:
        """The shortest run that shows a yes."""
        return self.outcome.violations[0] if self.outcome is not None and self.outcome.violations else None


@frozen
class AskedMove:
    """A group with its answers; there is none of a stage that the release does not have."""

    group: MoveGroup
    answers: tuple[MoveAnswer, ...]

    def answer_at(self, stage: MoveStage, faults: Faults) -> MoveAnswer | None:
        """The answer at a stage under faults."""
        return next((item for item in self.answers if item.stage is stage and item.faults == faults), None)

    @property
    def worst(self) -> AuditVerdict:
        """Of the move while it runs and is not cancelled: what the exit code goes by; undecided where nothing was asked."""
        found = [item.reply for item in self.answers if item.stage is MoveStage.MOVING]
        return worst_of(found) if found else AuditVerdict.UNDECIDED


@frozen
class PlanAudit:
    """What was asked of a plan."""

    file: str
    moves: Moves
    asked: tuple[AskedMove, ...]
    faults: tuple[Faults, ...]
    contexts: tuple[Contexts, ...]

    @property
    def worst(self) -> AuditVerdict:
        """Yes if a move that is let run can lose a record, else undecided if one is, else no."""
        return worst_of(one.worst for one in self.asked if one.group.topics.decides)


@frozen
class _Case:
    """A group in one context under faults."""

    shape: MoveShape
    context: Deployment
    now: Configuration
    then: Configuration
    faults: Faults


@dataclass
class MoveAuditor:
    """Asks about the moves of a plan, no search twice."""

    assumed: Assumptions
    searches: Searches
    version: str | None = None
    plane: str | None = None

    def run(self, file: str, moves: Moves) -> PlanAudit:
        """The answers; `ConfigurationError` where nothing names the release, or Kafka would refuse the settings."""
        faults = self.assumed.under(AuditQuestion.LOSS)
        known: list[Contexts] = []
        cases: list[tuple[MoveGroup, list[_Case]]] = []
        for group in moves.groups:
            own: list[_Case] = []
            if not group.refusal:
                found = contexts(group.settings_with(group.shape.replicas), self.version, self.plane)
                if not found.is_named:
                    raise ConfigurationError(
                        "what a move does differs by release, and nothing names yours; name it with --kafka-version"
                    )
                known.append(found)
                own = [self._case(group, context, item) for context in (found.first, *found.others) for item in faults]
            cases.append((group, own))
        every = [case for _, own in cases for case in own]
        self.searches.decide(task for case in every for task in (self._still(case, case.now), self._still(case, case.then)))
        self.searches.decide(self._cancellation(case) for case in every if self._asks_cancelled(case))
        self.searches.decide(self._moving(case) for case in every if self._asks_moving(case))
        asked = tuple(AskedMove(group, tuple(self._answers(own, faults))) for group, own in cases)
        ordered = sorted(asked, key=lambda one: (not one.group.topics.decides, _ORDER.index(one.worst)))
        return PlanAudit(file, moves, tuple(ordered), faults, tuple(dict.fromkeys(known)))

    def _case(self, group: MoveGroup, context: Deployment, faults: Faults) -> _Case:
        shape = group.shape
        now, then = (
            configure(group.settings_with(size), context.release, context.plane) for size in (shape.replicas, shape.target)
        )
        return _Case(shape, context, now, then, faults)

    # -- what is searched -------------------------------------------------------------------------------------------------

    def _still(self, case: _Case, configuration: Configuration) -> Task:
        return _ask_existence(task_of(LOSS, configuration, self.assumed, case.faults))

    def _moving(self, case: _Case) -> Task:
        return self._move(case, {settings.moves_replaceable.name: 0})

    def _cancellation(self, case: _Case) -> Task:
        return self._move(case, {})

    def _move(self, case: _Case, rules: Mapping[str, int]) -> Task:
        """One move of the shape; where many brokers have a part, of one record that is sent once."""
        shape, question = case.shape, LOSS
        own = {
            settings.replicas.name: shape.brokers,
            settings.min_insync_replicas.name: min(case.now[keys.MIN_ISR].number, shape.brokers + 1),
            settings.reassignment.name: 1,
            settings.moves.name: 1,
            settings.assigned.name: shape.replicas,
            settings.moved_to.name: shape.target,
            settings.moved_in.name: shape.added,
        }
        if self._is_small(shape):
            question = replace(LOSS, records=1)
            own |= {settings.retries.name: 0, settings.idempotence.name: 0, settings.in_flight.name: 1}
        task = _ask_existence(task_of(question, case.now, self.assumed, case.faults, {**own, **rules}))
        # Of two brokers of which one has a copy at first, the ids of actions are not found to be interchangeable.
        return replace(task, asked=replace(task.asked, symmetry=shape.brokers > _PAIR))

    def _is_small(self, shape: MoveShape) -> bool:
        return shape.brokers > FEW_BROKERS and not self.assumed.is_thorough

    # -- what was found ---------------------------------------------------------------------------------------------------

    def _reply(self, task: Task) -> AuditVerdict:
        return reply_of(self.searches[task].outcome)

    def _is_lost_now(self, case: _Case) -> bool:
        return self._reply(self._still(case, case.now)) is AuditVerdict.YES

    def _asks_cancelled(self, case: _Case) -> bool:
        """Whether it has to be asked about a move that may be cancelled: the release has it, and no yes follows."""
        return _may_cancel(case.context) and not self._is_lost_now(case)

    def _asks_moving(self, case: _Case) -> bool:
        """Whether it has to be asked about a move that is let run: one that may be cancelled does all that it does, too."""
        if self._is_lost_now(case):
            return False
        return not (_may_cancel(case.context) and self._reply(self._cancellation(case)) is AuditVerdict.NO)

    def _is_lost_as_soon(self, case: _Case) -> bool:
        """Whether a cancellation makes no difference: a shortest run without one is no longer than one with it."""
        if not self._asks_moving(case):
            return False
        running, cancelled = self.searches[self._moving(case)].outcome, self.searches[self._cancellation(case)].outcome
        if running is None or not running.violations:
            return False
        found = [] if cancelled is None else cancelled.violations
        return not found or len(running.violations[0].steps) <= len(found[0].steps)

    def _answers(self, cases: Sequence[_Case], faults: Iterable[Faults]) -> Iterable[MoveAnswer]:
        for item in faults:
            own = [case for case in cases if case.faults == item]
            for stage in MoveStage:
                found = [answer for case in own if (answer := self._answer(stage, case)) is not None]
                if found:
                    yield min(found, key=lambda answer: _ORDER.index(answer.reply))

    def _answer(self, stage: MoveStage, case: _Case) -> MoveAnswer | None:
        if stage is MoveStage.CANCELLED and not _may_cancel(case.context):
            return None
        if stage in (MoveStage.MOVING, MoveStage.CANCELLED) and self._is_lost_now(case):
            return MoveAnswer(stage, case.faults, AuditVerdict.YES, case.context, MoveStage.NOW)
        if stage is MoveStage.CANCELLED and self._is_lost_as_soon(case):
            return MoveAnswer(stage, case.faults, AuditVerdict.YES, case.context, MoveStage.MOVING)
        task = {
            MoveStage.NOW: lambda: self._still(case, case.now),
            MoveStage.MOVING: lambda: self._moving(case) if self._asks_moving(case) else self._cancellation(case),
            MoveStage.CANCELLED: lambda: self._cancellation(case),
            MoveStage.AFTER: lambda: self._still(case, case.then),
        }[stage]()
        found = self.searches[task]
        reply = reply_of(found.outcome)
        return MoveAnswer(stage, case.faults, reply, case.context, None, task, found.outcome, found.failure)


_ORDER = (AuditVerdict.YES, AuditVerdict.UNDECIDED, AuditVerdict.NO)


def _may_cancel(context: Deployment) -> bool:
    """Whether a move that is under way can be cancelled (KIP-455)."""
    return bool(profile(rules_of(context.release), context.plane)[settings.moves_replaceable.name].value)


def _ask_existence(task: Task) -> Task:
    """Asks also whether an acknowledged record is on no disk any more, though no leader lacks it because there is none."""
    return replace(task, asked=replace(task.asked, properties=(LOSS.property, "AckedRecordsExist")))


def bounds_of(task: Task) -> str:
    """What was explored, in words."""
    constants = dict(task.asked.constants)
    once = "" if constants[settings.retries.name] or constants[settings.idempotence.name] else ", each sent once"

    def some(number: int, noun: str) -> str:
        return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

    return (
        f"{some(constants['replicas'], 'broker')}, {some(constants['log_size'], 'offset')}, "
        f"{some(constants['records'], 'record')}{once}, unbounded leader epochs"
    )
