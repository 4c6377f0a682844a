"""The durability table as one HTML page, whose cells open their stories. What does not live here: words (`durability.py`)."""

from __future__ import annotations

from checker.durability import Filled
from invariants.property import Property
from reports.durability import Stories, cell_in_words, detail, rows_of, summary
from reports.report_page import render_report


def durability_page(filled: Filled, promise: Property) -> str:
    """The page; it needs no script and no network."""
    stories = Stories()
    rows = [
        {
            "place": row[0].place,
            "cells": [
                {"state": cell.state.value, "words": cell_in_words(cell), "detail": detail(cell), "story": stories.of(cell)}
                for cell in row
            ],
        }
        for row in rows_of(filled)
    ]
    data = {
        "property": promise.name,
        "promise": promise.promise,
        "kinds": filled.table.axes.crashes,
        "rows": rows,
        "summary": summary(filled),
    }
    return render_report("durability.html.j2", data)
