"""What is said of a plan of reassignment, as frozen data: the document, and what every other form is made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from acked.audit.decision.questions import AuditVerdict
from acked.audit.moves.ask import LOSS, STAGE_WORDS, AskedMove, MoveAnswer, MoveStage, PlanAudit, bounds_of
from acked.audit.reports.overview import HEADS
from acked.audit.reports.view import KEY, ColumnView, StageView, story_of
from acked.checker.question.result import Counterexample
from acked.checker.spec.resolve import property_named
from acked.model.partition.protocol import partition
from acked.reports.runs.sentences import TraceSentences
from acked.reports.units import plural

FORMAT = "acked-audit-plan/1"

_HEADINGS = {
    MoveStage.NOW: "without it", MoveStage.MOVING: "running", MoveStage.CANCELLED: "cancelled",
    MoveStage.AFTER: "afterwards",
}  # fmt: skip
_OUTSIDE = (
    "Replicas may fall out of sync before the move and during it. Not asked: the order of replicas, log directories, "
    "throttles, a move in place of another, and a second move of a partition."
)


@dataclass(frozen=True)
class KnownReleaseView:
    """A release that is asked about, and how it is known."""

    in_words: str
    source: str


@dataclass(frozen=True)
class PartitionView:
    """A partition that is moved, with its replicas now and then."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class MoveAnswerView:
    """Whether a record can be lost at a stage, under faults, in the context where that is worst."""

    stage: MoveStage
    faults: str
    answer: AuditVerdict
    context: str = field(metadata={KEY: "in"})
    follows_from: MoveStage | None
    explored: str | None
    distinct_states: int | None
    failure: str | None
    story: TraceSentences | None
    in_words: str


@dataclass(frozen=True)
class MoveGroupView:
    """Partitions that are moved alike; `refusal` says why nothing was asked."""

    number: int
    move: str
    replicas: int
    target: int
    added: int
    removed: int
    partitions: tuple[PartitionView, ...]
    producer: str | None
    decides: bool
    refusal: str | None
    answers: tuple[MoveAnswerView, ...]


@dataclass(frozen=True)
class PlanView:
    """The audit of a plan; `verdict` is that of the moves that are let run."""

    format: str
    plan: str
    question: str
    releases: tuple[KnownReleaseView, ...]
    faults: tuple[ColumnView, ...]
    stages: tuple[StageView, ...]
    groups: tuple[MoveGroupView, ...]
    unchanged: tuple[str, ...]
    not_asked: str
    verdict: AuditVerdict
    verdict_in_words: str


def plan_view(audit: PlanAudit) -> PlanView:
    """What is said of it."""
    asked = {answer.stage for one in audit.asked for answer in one.answers}
    return PlanView(
        format=FORMAT,
        plan=audit.file,
        question=LOSS.text,
        releases=tuple(KnownReleaseView(found.first.words, found.source) for found in audit.contexts),
        faults=tuple(ColumnView(faults.name, faults.words, faults.heading) for faults in audit.faults),
        stages=tuple(
            StageView(stage.value, _HEADINGS[stage], STAGE_WORDS[stage]) for stage in MoveStage if stage in asked
        ),
        groups=tuple(_group(number, one) for number, one in enumerate(audit.asked, 1)),
        unchanged=audit.moves.unchanged,
        not_asked=_OUTSIDE,
        verdict=audit.worst,
        verdict_in_words=_verdict(audit),
    )


def _group(number: int, one: AskedMove) -> MoveGroupView:
    group = one.group
    return MoveGroupView(
        number=number,
        move=group.shape.words,
        replicas=group.shape.replicas,
        target=group.shape.target,
        added=group.shape.added,
        removed=group.shape.removed,
        partitions=tuple(
            PartitionView(move.then.topic, move.then.partition, move.now.replicas, move.then.replicas) for move in group.moves
        ),
        producer=group.topics.producer or None,
        decides=group.topics.decides,
        refusal=group.refusal or None,
        answers=tuple(map(_answer, one.answers)),
    )


def _answer(answer: MoveAnswer) -> MoveAnswerView:
    return MoveAnswerView(
        stage=answer.stage,
        faults=answer.faults.name,
        answer=answer.reply,
        context=answer.context.words,
        follows_from=answer.follows_from,
        explored=None if answer.task is None else bounds_of(answer.task),
        distinct_states=None if answer.outcome is None else answer.outcome.distinct_states,
        failure=answer.failure or None,
        story=story_of(answer.task, answer.story),
        in_words=_in_words(answer),
    )


def _in_words(answer: MoveAnswer) -> str:
    if answer.follows_from is MoveStage.NOW:
        return "yes, as without the move"
    if answer.follows_from is not None:
        return "yes, as without a cancellation"
    explored = "" if answer.task is None else f" ({bounds_of(answer.task)})"
    if answer.reply is AuditVerdict.UNDECIDED:
        why = answer.failure or "the search met its bound; --max-states and --memory raise it"
        return f"undecided{explored}: {why}"
    if answer.story is not None:
        return f"yes, in {plural(len(answer.story.steps), 'step')}{explored}"
    return f"{answer.reply.value}{explored}"


def _verdict(audit: PlanAudit) -> str:
    head = HEADS[audit.worst]
    if not audit.asked:
        return f"{head}: the plan leaves every partition on the brokers that it is on"
    deciding = [(number, one) for number, one in enumerate(audit.asked, 1) if one.group.topics.decides]
    told = [number for number, one in deciding if one.worst is audit.worst]
    which = f"move{'s' if len(told) > 1 else ''} {', '.join(map(str, told))}"
    faults = ", ".join(faults.name for faults in audit.faults)
    if audit.worst is AuditVerdict.YES:
        already = [
            number for number, one in deciding for answer in one.answers
            if answer.stage is MoveStage.MOVING and answer.reply is AuditVerdict.YES and answer.follows_from is None
        ]  # fmt: skip
        because = "" if already else ", as they can be without it"
        text = f"acknowledged records can be lost while {which} run{'s' if len(told) == 1 else ''}{because}"
    elif audit.worst is AuditVerdict.UNDECIDED:
        text = f"{which} {'is' if len(told) == 1 else 'are'} undecided"
    else:
        text = "no acknowledged record is lost while the plan runs"
    if audit.worst is not AuditVerdict.YES and any(_is_lost(one, MoveStage.CANCELLED) for _, one in deciding):
        text += "; a move that is cancelled can lose some"
    if audit.worst is not AuditVerdict.YES and any(_is_lost(one, MoveStage.AFTER) for _, one in deciding):
        text += "; with the replicas of the plan some can be lost afterwards"
    return f"{head}: {text} (faults: {faults})"


def _is_lost(one: AskedMove, stage: MoveStage) -> bool:
    return any(answer.stage is stage and answer.reply is AuditVerdict.YES for answer in one.answers)


def worst_move(audit: PlanAudit) -> Counterexample | None:
    """The run of the first yes that no other answer explains: of a move that runs, else that is cancelled, else without."""
    for stage in (MoveStage.MOVING, MoveStage.CANCELLED, MoveStage.NOW, MoveStage.AFTER):
        for one in audit.asked:
            for answer in one.answers:
                if answer.stage is stage and answer.story is not None and answer.task is not None:
                    question = answer.task.question()
                    title = f"{LOSS.text} {answer.context.words}, {one.group.shape.words}, {answer.faults.name}"
                    broken = property_named(partition, answer.story.property)
                    return Counterexample(title, question, answer.story.run(question), broken)
    return None
