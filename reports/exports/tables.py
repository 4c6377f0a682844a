"""A run as a table."""

from __future__ import annotations

from acked.reports.escaping import csv_text
from acked.reports.exports.exported import Exported
from acked.reports.runs.view import value_in_words


def csv_table(exported: Exported) -> str:
    """A line per step: number, action, sentence, violated properties, and the value of every field."""
    leaves = exported.found.question.instance.schema.leaves
    rows = [
        [
            step.index,
            step.label or "",
            " ".join(filter(None, (step.sentence, step.remark))),
            " ".join(step.violated),
            *(value_in_words(step.state, leaf.path) for leaf in leaves),
        ]
        for step in exported.view.steps
    ]
    return csv_text(["step", "action", "sentence", "violated", *(leaf.name for leaf in leaves)], rows)
