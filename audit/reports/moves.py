"""The answers about a plan of reassignment: a row for each group of moves and class of faults, a column for each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acked.audit.decision.questions import AuditVerdict
from acked.audit.moves.ask import LOSS, STAGE_WORDS, AskedMove, MoveAnswer, MoveStage, PlanAudit, bounds_of
from acked.audit.reports.overview import MARKS, STYLES
from acked.checker.question.result import Counterexample
from acked.checker.spec.resolve import property_named
from acked.model.language.words import says_list
from acked.model.partition.protocol import partition
from acked.reports.console import glyphs_of, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.pages.static_page import render_report
from acked.reports.runs.sentences import sentences_of
from acked.reports.table import Table, TableCell, print_table, table, table_markdown
from acked.reports.units import plural

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

FORMAT = "acked-audit-plan/1"

_HEADS = {
    MoveStage.NOW: "without it", MoveStage.MOVING: "running", MoveStage.CANCELLED: "cancelled",
    MoveStage.AFTER: "afterwards",
}  # fmt: skip
_VERDICTS = {AuditVerdict.NO: "PASS", AuditVerdict.YES: "FAIL", AuditVerdict.UNDECIDED: "UNDECIDED"}
_MOST_NAMED = 5
_OUTSIDE = (
    "Replicas may fall out of sync before the move and during it. Not asked: the order of replicas, log directories, "
    "throttles, a move in place of another, and a second move of a partition."
)


def plan_document(audit: PlanAudit) -> dict[str, Any]:
    """The audit of a plan as JSON; `verdict` is that of the moves that are let run."""
    groups = [_group(number, one) for number, one in enumerate(audit.asked, 1)]
    return {
        "format": FORMAT,
        "plan": audit.file,
        "question": LOSS.text,
        "releases": [{"in_words": found.first.words, "source": found.source} for found in audit.contexts],
        "faults": [{"name": faults.name, "words": faults.words, "heading": faults.heading} for faults in audit.faults],
        "stages": [
            {"name": stage.value, "heading": _HEADS[stage], "words": STAGE_WORDS[stage]}
            for stage in MoveStage
            if any(answer.stage is stage for one in audit.asked for answer in one.answers)
        ],
        "groups": groups,
        "unchanged": list(audit.moves.unchanged),
        "not_asked": _OUTSIDE,
        "verdict": audit.worst.value,
        "verdict_in_words": _verdict(audit),
    }


def _group(number: int, one: AskedMove) -> dict[str, Any]:
    group = one.group
    return {
        "number": number,
        "move": group.shape.words,
        "replicas": group.shape.replicas,
        "target": group.shape.target,
        "added": group.shape.added,
        "removed": group.shape.removed,
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


def _answer(answer: MoveAnswer) -> dict[str, Any]:
    story = None
    if answer.story is not None and answer.task is not None:
        run = sentences_of(answer.task, answer.story)
        story = {"property": run.property, "happened": run.happened, "steps": list(run.steps), "actions": list(run.actions)}
    outcome = answer.outcome
    return {
        "stage": answer.stage.value,
        "faults": answer.faults.name,
        "answer": answer.reply.value,
        "in": answer.context.words,
        "follows_from": None if answer.follows_from is None else answer.follows_from.value,
        "explored": None if answer.task is None else bounds_of(answer.task),
        "distinct_states": None if outcome is None else outcome.distinct_states,
        "failure": answer.failure or None,
        "story": story,
        "in_words": _in_words(answer),
    }


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
    head = _VERDICTS[audit.worst]
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


# -- the table ------------------------------------------------------------------------------------------------------------


def plan_table(document: Document) -> Table:
    """A row for each group and class of faults."""
    stages = document["stages"]
    rows: list[tuple[TableCell, ...]] = []
    for group in document["groups"]:
        if group["refusal"]:
            rows.append((TableCell(_short(group)), TableCell("-"), *(TableCell("not asked", "dim") for _ in stages)))
        for faults in document["faults"] if group["answers"] else ():
            found = {item["stage"]: item for item in group["answers"] if item["faults"] == faults["name"]}
            cells = (_cell(found.get(stage["name"])) for stage in stages)
            rows.append((TableCell(_short(group)), TableCell(faults["heading"]), *cells))
    return table(("move", "fault", *(stage["heading"] for stage in stages)), rows)


def _cell(answer: Document | None) -> TableCell:
    if answer is None:
        return TableCell("-")
    text = answer["answer"]
    if answer["follows_from"] is not None:
        text = "yes, too"
    elif answer["story"] is not None:
        text = f"yes ({len(answer['story']['steps'])})"
    return TableCell(text, STYLES[answer["answer"]], MARKS[answer["answer"]])


def _title(group: Document) -> str:
    return f"{group['number']}. {group['move']}"


def _short(group: Document) -> str:
    """`2. 3 +1 -1`."""
    changes = [f"+{group['added']}"] * bool(group["added"]) + [f"-{group['removed']}"] * bool(group["removed"])
    return f"{group['number']}. {group['replicas']} {' '.join(changes)}"


def _legend(document: Document) -> list[str]:
    lines = ["2. 3 +1 -1: the second move, of 3 replicas, with 1 added and 1 removed"]
    lines += [f"{stage['heading']}: {stage['words']}" for stage in document["stages"]]
    lines += [f"{faults['heading']} ({faults['name']}): {faults['words']}" for faults in document["faults"]]
    answers = [answer for group in document["groups"] for answer in group["answers"]]
    if any(answer["story"] is not None for answer in answers):
        lines.append("yes (4): it can happen, in 4 steps at least; the steps are below")
    if any(answer["follows_from"] is not None for answer in answers):
        lines.append("yes, too: what can be lost without a move, or without a cancellation, can be lost with one")
    if any(answer["story"] is not None and answer["stage"] == "now" for answer in answers):
        lines.append("what is lost without the move is told, with what helps, by `acked audit`")
    return lines


def _partitions(group: Document) -> str:
    named = [
        f"{item['topic']}-{item['partition']} ({','.join(map(str, item['replicas']))} → {','.join(map(str, item['target']))})"
        for item in group["partitions"]
    ]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"{', '.join(named[:_MOST_NAMED])}{more}"


def _told(document: Document) -> Iterable[tuple[Document, Sequence[Document]]]:
    """Groups with the answers that are told of: each yes that comes of the plan, and what is undecided."""
    for group in document["groups"]:
        without = {item["faults"] for item in group["answers"] if item["stage"] == "now" and item["answer"] == "yes"}
        told = [item for item in group["answers"] if item["story"] is not None and item["faults"] not in without]
        yield group, [*told, *(item for item in group["answers"] if item["answer"] == "undecided")]


def _about(document: Document, answer: Document) -> str:
    heads = {stage["name"]: stage["heading"] for stage in document["stages"]}
    return f"{heads[answer['stage']]}, {answer['faults']}, {answer['in']}: {answer['in_words']}"


def _head(document: Document) -> list[str]:
    return [f"release: {item['source']}: {item['in_words']}" for item in document["releases"]]


def _unchanged(document: Document) -> str:
    names = document["unchanged"]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"on the same brokers as before, so nothing is asked: {says_list(names[:_MOST_NAMED])}{more}" if names else ""


# -- forms ----------------------------------------------------------------------------------------------------------------


def print_plan(console: Console, document: Document) -> None:
    """The answers, fitting the console's width."""
    glyphs = glyphs_of(console)
    signs = {"yes": glyphs.bad, "no": glyphs.good, "undecided": glyphs.open}
    put_paragraph(console, f"The plan {document['plan']}. {document['question']}", "bold", "", "  ")
    for line in _head(document):
        put_paragraph(console, line, "dim", "", "  ")
    if document["groups"]:
        put(console, [])
        print_table(console, plan_table(document))
        put(console, [])
    for line in [*(_legend(document) if document["groups"] else []), document["not_asked"]]:
        put_paragraph(console, line, "dim", "  ", "    ")
    for group, answers in _told(document):
        put(console, [])
        put_paragraph(console, f"{group['move']}: {_partitions(group)}", "bold", f"{group['number']}. ", "   ")
        for text in (group["refusal"], group["producer"]):
            if text:
                put_paragraph(console, text, "", "   ", "   ")
        for answer in answers:
            said = _about(document, answer)
            put_paragraph(console, said, STYLES[answer["answer"]], f"   {signs[answer['answer']]} ", "     ")
            story = answer["story"] or {"steps": [], "happened": ""}
            for step, text in enumerate(story["steps"], 1):
                put_paragraph(console, text, "", f"     {step:>2}  ", " " * 9)
            if story["happened"]:
                put_paragraph(console, story["happened"], "", "     ", "     ")
    put(console, [])
    if unchanged := _unchanged(document):
        put_paragraph(console, unchanged, "dim", "  ", "    ")
    verdict = document["verdict"]
    put_paragraph(console, document["verdict_in_words"], STYLES[verdict], f"{signs[verdict]} ", "  ")


def plan_markdown(document: Document) -> str:
    """The same as a Markdown page."""
    lines = [f"# The plan {md_text(document['plan'])}", "", document["question"]]
    lines += ["", f"**{md_text(document['verdict_in_words'])}**"]
    lines += [part for line in _head(document) for part in ("", f"{md_text(line)}.")]
    if document["groups"]:
        lines += ["", *table_markdown(plan_table(document)), ""]
        lines += [f"- {md_text(line)}" for line in _legend(document)]
    for group, answers in _told(document):
        lines += ["", f"## {md_text(_title(group))}", "", f"{md_text(_partitions(group))}."]
        lines += [part for text in (group["refusal"], group["producer"]) if text for part in ("", f"{md_text(text)}.")]
        for answer in answers:
            lines += ["", f"### {md_text(_about(document, answer))}", ""]
            story = answer["story"] or {"steps": [], "happened": ""}
            lines += [f"{at}. {md_text(step)}" for at, step in enumerate(story["steps"], 1)]
            lines += ["", md_text(story["happened"])] if story["happened"] else []
    if unchanged := _unchanged(document):
        lines += ["", f"Partitions {md_text(unchanged)}."]
    return "\n".join([*lines, "", md_text(document["not_asked"])]) + "\n"


def plan_page(document: Document) -> str:
    """The same as one HTML page, without scripts and network."""
    shown = plan_table(document)
    return render_report("plan.html.j2", {
        "document": document,
        "head": _head(document),
        "heads": [column.title for column in shown.columns],
        "rows": [[(cell.marked, cell.mark.value) for cell in row] for row in shown.rows],
        "legend": _legend(document),
        "groups": [
            {"title": _title(group), "partitions": _partitions(group), "notes": [group["refusal"], group["producer"]],
             "answers": [{"words": _about(document, answer), **answer} for answer in answers]}
            for group, answers in _told(document)
        ],
        "unchanged": _unchanged(document),
    })  # fmt: skip
