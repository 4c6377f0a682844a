"""An audit as one HTML page."""

from __future__ import annotations

from acked.reports.audit.document import Document
from acked.reports.audit.terminal import by_question, head_of, not_asked_of
from acked.reports.pages.static_page import render_report


def audit_page(document: Document) -> str:
    """The page; it needs no script and no network."""
    title, head = head_of(document)
    questions = [
        {"id": answers[0]["question"], "text": text, "answers": answers} for text, answers in by_question(document)
    ]
    data = {
        "title": title,
        "head": head,
        "not_asked": not_asked_of(document),
        "verdict": document["verdict_in_words"],
        "questions": questions,
        "audit": document,
    }
    return render_report("audit.html.j2", data)
