"""A run as a table."""

from __future__ import annotations

import csv
import io
import re

from acked.reports.console import harmless
from acked.reports.exports.exported import Exported
from acked.reports.runs.view import value_in_words


def csv_table(exported: Exported) -> str:
    """A line per step: number, action, sentence, violated properties, and the value of every field."""
    leaves = exported.found.question.instance.schema.leaves
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["step", "action", "sentence", "violated", *(leaf.name for leaf in leaves)])
    for step in exported.view.steps:
        values = [value_in_words(step.state, leaf.path) for leaf in leaves]
        sentence = " ".join(filter(None, (step.sentence, step.remark)))
        row = [str(step.index), step.label or "", sentence, " ".join(step.violated), *values]
        writer.writerow([_cell(text) for text in row])
    return target.getvalue()


def _cell(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    line = harmless(text)
    return f"'{line}" if re.match(r"[=+@\t]|-(?!\d+$)", line) else line
