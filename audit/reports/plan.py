"""The document of a plan's audit, its verdict in words, and the run that shows the worst of it."""

from __future__ import annotations

from acked.audit.decision.questions import AuditVerdict
from acked.audit.moves.ask import LOSS, STAGE_WORDS, AskedMove, MoveAnswer, MoveStage, PlanAudit, bounds_of
from acked.audit.reports.telling import HEADS, story_of
from acked.audit.reports.view import document_of
from acked.checker.question.result import Counterexample
from acked.checker.spec.resolve import property_named
from acked.model.partition.protocol import partition
from acked.reports.units import plural

FORMAT = "acked-audit-plan/1"

STAGE_HEADINGS = {
    MoveStage.NOW: "without it", MoveStage.MOVING: "running", MoveStage.CANCELLED: "cancelled",
    MoveStage.AFTER: "afterwards",
}  # fmt: skip
OUTSIDE = (
    "Replicas may fall out of sync before the move and during it. Not asked: the order of replicas, log directories, "
    "throttles, a move in place of another, and a second move of a partition."
)


def plan_document(audit: PlanAudit) -> dict[str, object]:
    """The audit of a plan as JSON; `verdict` is that of the moves that are let run."""
    return {
        "format": FORMAT,
        "plan": audit.file,
        "question": LOSS.text,
        "releases": [{"in_words": found.first.words, "source": found.source} for found in audit.contexts],
        "faults": [{"name": faults.name, "words": faults.words, "heading": faults.heading} for faults in audit.faults],
        "stages": [
            {"name": stage.value, "heading": STAGE_HEADINGS[stage], "words": STAGE_WORDS[stage]} for stage in stages_of(audit)
        ],
        "groups": [_group(number, one) for number, one in enumerate(audit.asked, 1)],
        "unchanged": list(audit.moves.unchanged),
        "not_asked": OUTSIDE,
        "verdict": audit.worst.value,
        "verdict_in_words": verdict_in_words(audit),
    }


def stages_of(audit: PlanAudit) -> list[MoveStage]:
    """The stages that something was asked of."""
    asked = {answer.stage for one in audit.asked for answer in one.answers}
    return [stage for stage in MoveStage if stage in asked]


def _group(number: int, one: AskedMove) -> dict[str, object]:
    group, shape = one.group, one.group.shape
    return {
        "number": number,
        "move": shape.words,
        "replicas": shape.replicas,
        "target": shape.target,
        "added": shape.added,
        "removed": shape.removed,
        "partitions": [
            {"topic": move.then.topic, "partition": move.then.partition, "replicas": list(move.now.replicas),
             "target": list(move.then.replicas)}
            for move in group.moves
        ],
        "producer": group.topics.producer or None,
        "decides": group.topics.decides,
        "refusal": group.refusal or None,
        "answers": [_answer(answer) for answer in one.answers],
    }  # fmt: skip


def _answer(answer: MoveAnswer) -> dict[str, object]:
    return {
        "stage": answer.stage.value,
        "faults": answer.faults.name,
        "answer": answer.reply.value,
        "in": answer.context.words,
        "follows_from": None if answer.follows_from is None else answer.follows_from.value,
        "explored": None if answer.task is None else bounds_of(answer.task),
        "distinct_states": None if answer.outcome is None else answer.outcome.distinct_states,
        "failure": answer.failure or None,
        "story": document_of(story_of(answer.task, answer.story)),
        "in_words": answer_in_words(answer),
    }


def answer_in_words(answer: MoveAnswer) -> str:
    """Yes, no or undecided, with what that stands on."""
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


def verdict_in_words(audit: PlanAudit) -> str:
    """The last line: what the exit code says, and what may be lost besides."""
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
