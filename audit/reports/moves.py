"""The answers about a plan of reassignment: a row for each group of moves and class of faults, a column for each stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acked.audit.decision.questions import AuditVerdict
from acked.audit.moves.ask import MoveStage
from acked.audit.reports.overview import MARKS, STYLES
from acked.audit.reports.page import grid
from acked.audit.reports.plan_view import MoveAnswerView, MoveGroupView, PlanView
from acked.audit.reports.telling import print_story, signs, story_markdown
from acked.model.language.words import says_list
from acked.reports.console import put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.pages.static_page import render_report
from acked.reports.table import Table, TableCell, print_table, table, table_markdown

if TYPE_CHECKING:
    from rich.console import Console

_MOST_NAMED = 5


def plan_table(view: PlanView) -> Table:
    """A row for each group and class of faults."""
    rows: list[tuple[TableCell, ...]] = []
    for group in view.groups:
        if group.refusal:
            rows.append((TableCell(_short(group)), TableCell("-"), *(TableCell("not asked", "dim") for _ in view.stages)))
        for faults in view.faults if group.answers else ():
            found = {item.stage.value: item for item in group.answers if item.faults == faults.name}
            cells = (_cell(found.get(stage.name)) for stage in view.stages)
            rows.append((TableCell(_short(group)), TableCell(faults.heading), *cells))
    return table(("move", "fault", *(stage.heading for stage in view.stages)), rows)


def _cell(answer: MoveAnswerView | None) -> TableCell:
    if answer is None:
        return TableCell("-")
    text = answer.answer.value
    if answer.follows_from is not None:
        text = "yes, too"
    elif answer.story is not None:
        text = f"yes ({len(answer.story.steps)})"
    return TableCell(text, STYLES[answer.answer], MARKS[answer.answer])


def _title(group: MoveGroupView) -> str:
    return f"{group.number}. {group.move}"


def _short(group: MoveGroupView) -> str:
    """`2. 3 +1 -1`."""
    changes = [f"+{group.added}"] * bool(group.added) + [f"-{group.removed}"] * bool(group.removed)
    return f"{group.number}. {group.replicas} {' '.join(changes)}"


def _legend(view: PlanView) -> list[str]:
    if not view.groups:
        return []
    lines = ["2. 3 +1 -1: the second move, of 3 replicas, with 1 added and 1 removed"]
    lines += [f"{stage.heading}: {stage.words}" for stage in view.stages]
    lines += [f"{faults.heading} ({faults.name}): {faults.words}" for faults in view.faults]
    answers = [answer for group in view.groups for answer in group.answers]
    if any(answer.story is not None for answer in answers):
        lines.append("yes (4): it can happen, in 4 steps at least; the steps are below")
    if any(answer.follows_from is not None for answer in answers):
        lines.append("yes, too: what can be lost without a move, or without a cancellation, can be lost with one")
    if any(answer.story is not None and answer.stage is MoveStage.NOW for answer in answers):
        lines.append("what is lost without the move is told, with what helps, by the audit without --plan")
    return lines


def _partitions(group: MoveGroupView) -> str:
    named = [
        f"{item.topic}-{item.partition} ({','.join(map(str, item.replicas))} → {','.join(map(str, item.target))})"
        for item in group.partitions
    ]
    return f"{', '.join(named[:_MOST_NAMED])}{_more(named)}"


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""


def _told(view: PlanView) -> Iterator[tuple[MoveGroupView, Sequence[MoveAnswerView]]]:
    """Groups with the answers that are told of: each yes that comes of the plan, and what is undecided."""
    for group in view.groups:
        now = (item for item in group.answers if item.stage is MoveStage.NOW)
        without = {item.faults for item in now if item.answer is AuditVerdict.YES}
        told = [item for item in group.answers if item.story is not None and item.faults not in without]
        yield group, [*told, *(item for item in group.answers if item.answer is AuditVerdict.UNDECIDED)]


def _about(view: PlanView, answer: MoveAnswerView) -> str:
    heads = {stage.name: stage.heading for stage in view.stages}
    return f"{heads[answer.stage.value]}, {answer.faults}, {answer.context}: {answer.in_words}"


def _head(view: PlanView) -> list[str]:
    return [f"release: {item.source}: {item.in_words}" for item in view.releases]


def _unchanged(view: PlanView) -> str:
    names = view.unchanged
    shown = says_list(list(names[:_MOST_NAMED]))
    return f"on the same brokers as before, so nothing is asked: {shown}{_more(names)}" if names else ""


# -- forms ----------------------------------------------------------------------------------------------------------------


def print_plan(console: Console, view: PlanView) -> None:
    """The answers, fitting the console's width."""
    sign = signs(console)
    put_paragraph(console, f"The plan {view.plan}. {view.question}", "bold", "", "  ")
    for line in _head(view):
        put_paragraph(console, line, "dim", "", "  ")
    if view.groups:
        put(console, [])
        print_table(console, plan_table(view))
        put(console, [])
    for line in [*_legend(view), view.not_asked]:
        put_paragraph(console, line, "dim", "  ", "    ")
    for group, answers in _told(view):
        put(console, [])
        put_paragraph(console, f"{group.move}: {_partitions(group)}", "bold", f"{group.number}. ", "   ")
        for text in (group.refusal, group.producer):
            if text:
                put_paragraph(console, text, "", "   ", "   ")
        for answer in answers:
            put_paragraph(console, _about(view, answer), STYLES[answer.answer], f"   {sign[answer.answer]} ", "     ")
            print_story(console, answer.story)
    put(console, [])
    if unchanged := _unchanged(view):
        put_paragraph(console, unchanged, "dim", "  ", "    ")
    put_paragraph(console, view.verdict_in_words, STYLES[view.verdict], f"{sign[view.verdict]} ", "  ")


def plan_markdown(view: PlanView) -> str:
    """The answers as a Markdown page."""
    lines = [f"# The plan {md_text(view.plan)}", "", view.question]
    lines += ["", f"**{md_text(view.verdict_in_words)}**"]
    lines += [part for line in _head(view) for part in ("", f"{md_text(line)}.")]
    lines += ["", *table_markdown(plan_table(view)), ""] if view.groups else []
    lines += [f"- {md_text(line)}" for line in _legend(view)]
    for group, answers in _told(view):
        lines += ["", f"## {md_text(_title(group))}", "", f"{md_text(_partitions(group))}."]
        lines += [part for text in (group.refusal, group.producer) if text for part in ("", f"{md_text(text)}.")]
        for answer in answers:
            lines += ["", f"### {md_text(_about(view, answer))}", *(story_markdown(answer.story) or [""])]
    if unchanged := _unchanged(view):
        lines += ["", f"Partitions {md_text(unchanged)}."]
    return "\n".join([*lines, "", md_text(view.not_asked)]) + "\n"


def plan_page(view: PlanView) -> str:
    """The answers as one HTML page, without scripts and network."""
    data = {
        "view": view,
        "head": _head(view),
        **grid(plan_table(view)),
        "legend": _legend(view),
        "groups": [
            {"title": _title(group), "partitions": _partitions(group), "notes": [group.refusal, group.producer],
             "answers": [(answer, _about(view, answer)) for answer in answers]}
            for group, answers in _told(view)
        ],
        "unchanged": _unchanged(view),
    }  # fmt: skip
    return render_report("plan.html.j2", data)
