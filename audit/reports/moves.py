"""The answers about a plan of reassignment: its document, its verdict in words, the run that shows the worst, and its forms.

The table has a row for each group of moves and class of faults, a column for each stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acked.audit.decision.faults import AuditVerdict
from acked.audit.moves.ask import LOSS, STAGE_WORDS, AskedMove, MoveAnswer, MoveStage, PlanAudit, bounds_of
from acked.audit.moves.shapes import MoveShape
from acked.audit.reports.pages import grid
from acked.audit.reports.telling import HEADS, MARKS, STYLES, print_story, signs, story_markdown, story_of
from acked.audit.reports.view import document_of
from acked.base.names import first_of
from acked.checker.question.result import Counterexample
from acked.checker.spec.resolve import property_named
from acked.model.language.telling import says_list
from acked.model.partition.protocol import partition
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.pages.page import render_report
from acked.reports.table import Table, TableCell, print_table, table, table_markdown
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
    faults = ", ".join(faults.heading for faults in audit.faults)
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


# -- the table, and every form of it ------------------------------------------------------------------------------------


_MOST_NAMED = 5


def plan_table(audit: PlanAudit) -> Table:
    """A row for each group and class of faults."""
    stages = stages_of(audit)
    rows: list[tuple[TableCell, ...]] = []
    for number, one in enumerate(audit.asked, 1):
        name = TableCell(_short(number, one.group.shape))
        if one.group.refusal:
            rows.append((name, TableCell("-"), *(TableCell("not asked", "dim") for _ in stages)))
        for faults in audit.faults if one.answers else ():
            rows.append((name, TableCell(faults.heading), *(_cell(one.answer_at(stage, faults)) for stage in stages)))
    return table(("move", "fault", *(STAGE_HEADINGS[stage] for stage in stages)), rows)


def _cell(answer: MoveAnswer | None) -> TableCell:
    if answer is None:
        return TableCell("-")
    text = answer.reply.value
    if answer.follows_from is not None:
        text = "yes, too"
    elif answer.story is not None:
        text = f"yes ({answer.story.trace_length - 1})"
    return TableCell(text, STYLES[answer.reply], MARKS[answer.reply])


def _short(number: int, shape: MoveShape) -> str:
    """`2. 3 +1 -1`."""
    changes = [f"+{shape.added}"] * bool(shape.added) + [f"-{shape.removed}"] * bool(shape.removed)
    return f"{number}. {shape.replicas} {' '.join(changes)}"


def _legend(audit: PlanAudit) -> list[str]:
    if not audit.asked:
        return []
    lines = ["2. 3 +1 -1: the second move, of 3 replicas, with 1 added and 1 removed"]
    lines += [f"{STAGE_HEADINGS[stage]}: {STAGE_WORDS[stage]}" for stage in stages_of(audit)]
    lines += [f"{faults.heading} ({faults.name}): {faults.words}" for faults in audit.faults]
    answers = [answer for one in audit.asked for answer in one.answers]
    if any(answer.story is not None for answer in answers):
        lines.append("yes (4): it can happen, in 4 steps at least; the steps are below")
    if any(answer.follows_from is not None for answer in answers):
        lines.append("yes, too: what can be lost without a move, or without a cancellation, can be lost with one")
    if any(answer.story is not None and answer.stage is MoveStage.NOW for answer in answers):
        lines.append("what is lost without the move is told, with what helps, by the audit without --plan")
    return lines


def _partitions(one: AskedMove) -> str:
    named = [
        f"{move.then.name} ({','.join(map(str, move.now.replicas))} → {','.join(map(str, move.then.replicas))})"
        for move in one.group.moves
    ]
    return first_of(named, _MOST_NAMED)


def _notes(one: AskedMove) -> list[str]:
    return [text for text in (one.group.refusal, one.group.topics.producer) if text]


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""


def _answers_to_tell(audit: PlanAudit) -> Iterator[tuple[int, AskedMove, Sequence[MoveAnswer]]]:
    """Groups with the answers that are told of: each yes that comes of the plan, and what is undecided."""
    for number, one in enumerate(audit.asked, 1):
        now = (answer for answer in one.answers if answer.stage is MoveStage.NOW)
        without = {answer.faults for answer in now if answer.reply is AuditVerdict.YES}
        told = [answer for answer in one.answers if answer.story is not None and answer.faults not in without]
        yield number, one, [*told, *(answer for answer in one.answers if answer.reply is AuditVerdict.UNDECIDED)]


def _about(answer: MoveAnswer) -> str:
    words = answer_in_words(answer)
    return f"{STAGE_HEADINGS[answer.stage]}, {answer.faults.name}, {answer.context.words}: {words}"


def _head(audit: PlanAudit) -> list[str]:
    return [f"release: {found.source}: {found.first.words}" for found in audit.contexts]


def _unchanged_line(audit: PlanAudit) -> str:
    names = audit.moves.unchanged
    shown = says_list(list(names[:_MOST_NAMED]))
    return f"on the same brokers as before, so nothing is asked: {shown}{_more(names)}" if names else ""


# -- forms ----------------------------------------------------------------------------------------------------------------


def print_plan(console: Console, audit: PlanAudit) -> None:
    """The answers, fitting the console's width."""
    sign = signs(console)
    put_paragraph(console, f"The plan {audit.file}. {LOSS.text}", "bold", "", "  ")
    for line in _head(audit):
        put_paragraph(console, line, "dim", "", "  ")
    if audit.asked:
        put(console, [])
        print_table(console, plan_table(audit))
        put(console, [])
    for line in [*_legend(audit), OUTSIDE]:
        put_paragraph(console, line, "dim", "  ", "    ")
    for number, one, answers in _answers_to_tell(audit):
        put(console, [])
        put_paragraph(console, f"{one.group.shape.words}: {_partitions(one)}", "bold", f"{number}. ", "   ")
        for text in _notes(one):
            put_paragraph(console, text, "", "   ", "   ")
        for answer in answers:
            put_paragraph(console, _about(answer), STYLES[answer.reply], f"   {sign[answer.reply]} ", "     ")
            print_story(console, story_of(answer.task, answer.story))
    put(console, [])
    if unchanged := _unchanged_line(audit):
        put_paragraph(console, unchanged, "dim", "  ", "    ")
    put_paragraph(console, verdict_in_words(audit), STYLES[audit.worst], f"{sign[audit.worst]} ", "  ")


def plan_markdown(audit: PlanAudit) -> str:
    """The answers as a Markdown page."""
    lines = [f"# The plan {md_text(audit.file)}", "", LOSS.text, "", f"**{md_text(verdict_in_words(audit))}**"]
    lines += [part for line in _head(audit) for part in ("", f"{md_text(line)}.")]
    lines += ["", *table_markdown(plan_table(audit)), ""] if audit.asked else []
    lines += [f"- {md_text(line)}" for line in _legend(audit)]
    for number, one, answers in _answers_to_tell(audit):
        lines += ["", f"## {md_text(f'{number}. {one.group.shape.words}')}", "", f"{md_text(_partitions(one))}."]
        lines += [part for text in _notes(one) for part in ("", f"{md_text(text)}.")]
        for answer in answers:
            story = story_markdown(story_of(answer.task, answer.story))
            lines += ["", f"### {md_text(_about(answer))}", *(story or [""])]
    if unchanged := _unchanged_line(audit):
        lines += ["", f"Partitions {md_text(unchanged)}."]
    return "\n".join([*lines, "", md_text(OUTSIDE)]) + "\n"


def plan_page(audit: PlanAudit) -> str:
    """The answers as one HTML page, without scripts and network."""
    groups = [
        {"title": f"{number}. {one.group.shape.words}", "partitions": _partitions(one), "notes": _notes(one),
         "answers": [(answer.reply.value, _about(answer), story_of(answer.task, answer.story)) for answer in answers]}
        for number, one, answers in _answers_to_tell(audit)
    ]  # fmt: skip
    data = {
        "plan": audit.file,
        "question": LOSS.text,
        "verdict": audit.worst.value,
        "verdict_in_words": verdict_in_words(audit),
        "not_asked": OUTSIDE,
        "head": _head(audit),
        **grid(plan_table(audit)),
        "legend": _legend(audit),
        "groups": groups,
        "unchanged": _unchanged_line(audit),
    }
    return render_report("plan.html.j2", data)
