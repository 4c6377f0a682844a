"""An audit as one HTML page."""

from __future__ import annotations

from typing import Any

from acked.audit.reports.overview import legend, overview
from acked.audit.reports.terminal import by_question, head_of, not_asked_of
from acked.audit.reports.topics import Heads, groups_table, table_legend, tell_once, title_of
from acked.audit.reports.transactional import SCOPE, by_transaction_question
from acked.audit.reports.view import AuditView, TopicsView, View
from acked.reports.pages.static_page import render_report
from acked.reports.table import Table


def audit_page(view: View) -> str:
    """The page, for several groups of topics with their table first; it needs no script and no network."""
    if isinstance(view, AuditView):
        return _page(Heads(*head_of(view), view.model, is_common=True), view, view, [_part("", "", view)])
    heads = Heads.of(view)
    parts = [
        {"title": title_of(group), "id": f"group-{group.number}-", "refusal": group.refusal}
        if audit is None
        else {**_part(title_of(group), f"group-{group.number}-", audit), "head": heads.of_group(audit)}
        for group, audit in tell_once(view)
    ]
    return _page(heads, view, view.first, parts, {**grid(groups_table(view)), "legend": table_legend(view)})


def _page(
    heads: Heads,
    view: AuditView | TopicsView,
    audit: AuditView | None,
    parts: list[dict[str, Any]],
    groups: dict[str, Any] | None = None,
) -> str:
    data = {
        "title": heads.title,
        "head": heads.lines,
        "verdict_of": view.verdict.value,
        "verdict": view.verdict_in_words,
        "not_asked": "" if audit is None else not_asked_of(audit),
        "model": "" if audit is None else heads.model,
        "groups": groups,
        "about_transactions": SCOPE,
        "parts": parts,
    }
    return render_report("audit.html.j2", data)


def _part(title: str, name: str, audit: AuditView) -> dict[str, Any]:
    questions = [{"id": answers[0].question.value, "text": text, "answers": answers} for text, answers in by_question(audit)]
    return {
        "title": title,
        "id": name,
        "head": [],
        "refusal": None,
        **grid(overview(audit)),
        "legend": legend(audit) if not title else [],
        "questions": questions,
        "transactions": list(by_transaction_question(audit)),
        "recommended": audit.recommended,
        "settings": audit.settings,
        "findings": audit.findings,
    }


def grid(shown: Table) -> dict[str, Any]:
    """A table for the templates: heads, and of each cell the text with its mark."""
    heads = [column.title for column in shown.columns]
    return {"heads": heads, "rows": [[(cell.marked, cell.mark.value) for cell in row] for row in shown.rows]}
