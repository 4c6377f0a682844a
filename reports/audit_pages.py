"""An audit as one HTML page. What does not live here: its words (`audit_document.py`), such pages (`report_page.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.audit import head_of, verdict_of
from reports.report_page import render_report


def audit_page(document: Mapping[str, Any]) -> str:
    """The page; it needs no script and no network."""
    title, assumed = head_of(document)
    data = {"title": title, "assumed": assumed, "verdict": verdict_of(document), "audit": document}
    return render_report("audit.html.j2", data)
