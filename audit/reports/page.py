"""An audit as one HTML page."""

from __future__ import annotations

from typing import Any

from acked.audit.reports.document import Document
from acked.audit.reports.overview import legend, overview
from acked.audit.reports.terminal import by_question, head_of, not_asked_of
from acked.audit.reports.topics import Heads, groups_table, table_legend, title_of, told_once
from acked.audit.reports.transactional import SCOPE, by_transaction_question
from acked.reports.pages.static_page import render_report
from acked.reports.table import Table


def audit_page(document: Document) -> str:
    """The page; it needs no script and no network."""
    heads = Heads(*head_of(document), document["model"], is_common=True)
    return _page(heads, document, document, [_part("", "", document)])


def topics_page(document: Document) -> str:
    """The page of several groups of topics: their table first."""
    first = next((group["audit"] for group in document["groups"] if group["audit"]), None)
    heads = Heads.of(document)
    parts = [
        {"title": title_of(group), "id": f"group-{group['number']}-", "refusal": group["refusal"]}
        if audit is None
        else {**_part(title_of(group), f"group-{group['number']}-", audit), "head": heads.of_group(audit)}
        for group, audit in told_once(document)
    ]
    shown = {**_grid(groups_table(document)), "legend": table_legend(document)}
    return _page(heads, document, first, parts, shown)


def _page(
    heads: Heads,
    document: Document,
    audit: Document | None,
    parts: list[dict[str, Any]],
    groups: dict[str, Any] | None = None,
) -> str:
    data = {
        "title": heads.title,
        "head": heads.lines,
        "verdict_of": document["verdict"],
        "verdict": document["verdict_in_words"],
        "not_asked": "" if audit is None else not_asked_of(audit),
        "model": "" if audit is None else heads.model,
        "groups": groups,
        "about_transactions": SCOPE,
        "parts": parts,
    }
    return render_report("audit.html.j2", data)


def _part(title: str, name: str, audit: Document) -> dict[str, Any]:
    questions = [{"id": answers[0]["question"], "text": text, "answers": answers} for text, answers in by_question(audit)]
    return {
        "title": title,
        "id": name,
        "head": [],
        "refusal": None,
        **_grid(overview(audit)),
        "legend": legend(audit) if not title else [],
        "questions": questions,
        "transactions": list(by_transaction_question(audit)),
        "recommended": audit["recommended"],
        "settings": audit["settings"],
        "findings": audit["findings"],
    }


def _grid(shown: Table) -> dict[str, Any]:
    heads = [column.title for column in shown.columns]
    return {"heads": heads, "rows": [[(cell.marked, cell.mark.value) for cell in row] for row in shown.rows]}
