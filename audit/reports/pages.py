"""An audit as one HTML page, the traces of its answers as pages of the viewer, one for each that is told, and as traces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from acked.audit.clusters.several import Audited
from acked.audit.decision.audit import Answer, Audit
from acked.audit.decision.faults import AuditVerdict
from acked.audit.reports.terminal import group_answers, head_of, legend, not_asked_of, overview, place_of, policy_markdown
from acked.audit.reports.topics import Heads, groups_table, table_legend, tell_once, title_of
from acked.audit.reports.transactional import SCOPE, group_transactions, page_name, transaction_run
from acked.audit.reports.view import AuditView, TopicsView, View, audits_of, verdict_view
from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.base.names import first_of
from acked.checker.diagnosis.easiest import TooMany, easiest_of
from acked.checker.question.result import Counterexample, Violation
from acked.checker.spec.resolve import property_named
from acked.model.partition.protocol import partition
from acked.reports.escaping import md_text
from acked.reports.pages.page import AUDIT, render, render_report, report_style, trace_data
from acked.reports.runs.effort import effort_of
from acked.reports.table import Table, table_markdown


@frozen
class StoryPage:
    """A page of one counterexample, and the answer that it shows: its group from 1, question and faults, or clients."""

    name: str
    text: str
    group: int
    question: str
    faults: str


def story_pages(audited: Sequence[Audited], view: View) -> Iterator[StoryPage]:
    """A page for every yes whose steps have not been told before in its group; `view` is what is told of the groups."""
    parts = [view] if isinstance(view, AuditView) else [group.audit for group in view.groups]
    for number, (one, part) in enumerate(zip(audited, parts, strict=True), 1):
        if one.audit is None or part is None:
            continue
        of = "" if isinstance(view, AuditView) else f"group-{number}-"
        for answer, told in zip(one.audit.answers, part.answers, strict=True):
            if answer.story is not None and told.same_as is None:
                asked, faults = answer.question.asked.value, answer.faults.name
                text = render(trace_data(easiest_counterexample(answer)), packed=True)
                yield StoryPage(f"{of}{asked}-{faults.replace(',', '-')}.html", text, number, asked, faults)
        yield from _transaction_pages(one.audit, number, of)


def _transaction_pages(audit: Audit, number: int, of: str) -> Iterator[StoryPage]:
    for answer in audit.transactions:
        found = transaction_run(answer, audit.context.words)
        if found is not None:
            text = render(trace_data(found), packed=True)
            yield StoryPage(f"{of}{page_name(answer)}", text, number, answer.asked.question.value, answer.clients.value)


def counterexample(answer: Answer) -> Counterexample:
    """The shortest run that shows a yes."""
    assert answer.story is not None
    question = answer.task.question()
    title = f"{answer.question.text} {answer.context.words}, {answer.faults.name}"
    return Counterexample(title, question, answer.story.run(question), property_named(partition, answer.story.property))


MAX_STATES = 2_000_000
"""States among which an easiest run is looked for; brokers are told apart there, so they are some times as many."""


def easiest_counterexample(answer: Answer) -> Counterexample:
    """Of all shortest runs that show a yes the one that is easiest to follow, or the first where there are too many."""
    found = counterexample(answer)
    assert found.property is not None
    violation, effort = Violation(found.property, found.run), effort_of(found.question.instance)
    try:
        easiest = easiest_of(found.question, violation, effort, Bounds(1, _MEMORY), max_states=MAX_STATES)
    except TooMany:
        return found
    return replace(found, run=easiest.violation.run)


_MEMORY = 1 << 30
"""Bytes of states for that."""


def worst_counterexample(audited: Sequence[Audited]) -> Counterexample | None:
    """The first required yes, of the worst group; where that is so only in another release, its run there."""
    for one in audited:
        for asked in one.required if one.audit is not None and one.group.decides else ():
            assert one.audit is not None
            for answer in one.audit.all_of(asked):
                for found in (answer, *answer.elsewhere):
                    if found.reply is AuditVerdict.YES and found.story is not None:
                        return counterexample(found)
    return None


def link_pages(view: View, pages: Sequence[StoryPage]) -> View:
    """The view in which answers name the pages of their stories."""
    named = {(page.group, page.question, page.faults): page.name for page in pages}

    def link(audit: AuditView, number: int) -> AuditView:
        answers = tuple(
            replace(answer, page=named.get((number, answer.question.value, answer.same_as or answer.faults.name)))
            for answer in audit.answers
        )
        about_transactions = tuple(
            replace(item, page=named.get((number, item.question, item.clients))) for item in audit.transactions
        )
        return replace(audit, answers=answers, transactions=about_transactions)

    if isinstance(view, AuditView):
        return link(view, 1)
    groups = tuple(
        group if group.audit is None else replace(group, audit=link(group.audit, number))
        for number, group in enumerate(view.groups, 1)
    )
    return replace(view, groups=groups)


# -- the audit itself ---------------------------------------------------------------------------------------------------


def audit_page(view: View, day: date | None = None) -> str:
    """The page, for several groups of topics with their table first; it needs no network, and can be read without a script.

    It says of which files it is, and on which `day` it was made.
    """
    if isinstance(view, AuditView):
        parts = [{**_part("", "", view), "topics": view.topics}]
        return _page(Heads(*head_of(view), view.model, is_common=True), view, view, parts, day)
    heads = Heads.from_view(view)
    parts = []
    for group, audit in tell_once(view):
        name, title = f"group-{group.number}-", title_of(group)
        told: dict[str, Any] = {"title": title, "id": name, "refusal": group.refusal}
        if audit is not None:
            told = {**_part(title, name, audit), "head": heads.group_lines(audit)}
        parts.append({**told, "answer": group.verdict.value, "topics": group.topics})
    places = [f"{part['id']}{question['id']}" for part in parts for question in part.get("questions", ())]
    table = grid(groups_table(view), [*(str(part["id"]) for part in parts), *places])
    return _page(heads, view, view.first, parts, day, {**table, "legend": table_legend(view)})


def _page(
    heads: Heads,
    view: AuditView | TopicsView,
    audit: AuditView | None,
    parts: list[dict[str, Any]],
    day: date | None,
    groups: dict[str, Any] | None = None,
) -> str:
    data = {
        "title": heads.title,
        "head": heads.lines,
        "advised": _advised(view),
        "markdown": "\n".join(_brief(heads, view, day)) + "\n",
        "about": _about(view, day),
        "verdict_of": verdict_view(view).verdict.value,
        "verdict": verdict_view(view).verdict_in_words,
        "judged": view.policy,
        "not_asked": "" if audit is None else not_asked_of(audit),
        "model": "" if audit is None else heads.model,
        "groups": groups,
        "about_transactions": SCOPE,
        "parts": parts,
    }
    return render_report("audit.html.j2", data, report_style("filter.css"), AUDIT)


def _advised(view: View) -> list[tuple[str, list[tuple[int, str]]]]:
    """What is recommended for several groups of topics, each change once with its groups."""
    found: dict[str, list[tuple[int, str]]] = {}
    for group in view.groups if isinstance(view, TopicsView) else ():
        if group.audit is not None and group.audit.recommended is not None:
            found.setdefault(group.audit.recommended.in_words, []).append((group.number, f"group-{group.number}-"))
    return list(found.items())


def _brief(heads: Heads, view: View, day: date | None) -> list[str]:
    """The top of the page as Markdown, for a comment or a message."""
    lines = [f"### Audit: {md_text(heads.title)}", "", f"**{md_text(verdict_view(view).verdict_in_words)}**", ""]
    lines += [md_text(_about(view, day)), ""]
    lines += table_markdown(overview(view) if isinstance(view, AuditView) else groups_table(view))
    alone = view.recommended if isinstance(view, AuditView) else None
    advised = [(text, [number for number, _ in places]) for text, places in _advised(view)]
    advised += [] if alone is None else [(alone.in_words, [])]
    for text, numbers in advised:
        of = f" (group {', '.join(map(str, numbers))})" if numbers else ""
        lines += ["", f"Recommended{of}: {md_text(text)}."]
    return [*lines, *policy_markdown(view.policy)]


_NAMED = 8
"""Files that the head of a page names."""


def _about(view: View, day: date | None) -> str:
    """Of which clusters and files a page is, and of which day."""
    units = [group.unit for group in view.groups if group.unit] if isinstance(view, TopicsView) else []
    files = [item.file for _, audit in audits_of(view) for item in audit.settings
             if item.file and not item.file.startswith("--")]  # fmt: skip
    named = (("of", units), ("read from", files))
    parts = [f"{title}: {first_of(list(dict.fromkeys(found)), _NAMED)}" for title, found in named if found]
    return "; ".join([*parts, *([] if day is None else [day.isoformat()])])


def _part(title: str, name: str, audit: AuditView) -> dict[str, Any]:
    grouped = group_answers(audit)
    told = [[(place_of(answer), answer) for answer in answers] for _, answers in grouped]
    questions = [
        {"id": answers[0][1].question.value, "text": text, "answers": answers}
        for (text, _), answers in zip(grouped, told, strict=True)
    ]
    places = {place for answers in told for place, _ in answers}
    return {
        "title": title,
        "id": name,
        "head": [],
        "refusal": None,
        **grid(overview(audit), places, name),
        "legend": legend(audit) if not title else [],
        "questions": questions,
        "transactions": list(group_transactions(audit)),
        "recommended": audit.recommended,
        "settings": audit.settings,
        "findings": audit.findings,
    }


def grid(shown: Table, places: Collection[str] = (), prefix: str = "") -> dict[str, Any]:
    """A table for the templates: heads, and of each cell the text with its mark and the id that it leads to.

    A cell leads to one of `places` alone, whose ids begin with `prefix` on the page.
    """
    rows = [
        [(cell.marked, cell.mark.value, f"{prefix}{cell.link}" if cell.link in places else "") for cell in row]
        for row in shown.rows
    ]
    return {"heads": [column.title for column in shown.columns], "rows": rows}
