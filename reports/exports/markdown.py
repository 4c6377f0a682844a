"""A run as Markdown, for a comment on a pull request, and as CSV."""

from __future__ import annotations

import io

from acked.reports.console import open_console
from acked.reports.escaping import csv_text, md_block, md_code, md_text
from acked.reports.exports.subject import Exported
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import value_in_words
from acked.reports.table import Column, ColumnKind, numbers, table, table_markdown

WIDTH = 100


def markdown(exported: Exported) -> str:
    """The story, a table of the steps, and the whole drawing folded away."""
    view = exported.view
    lines = [f"### {md_text(view.title)}", "", md_code(view.subject), ""]
    if view.story is not None:
        sentences = [view.story.promised, view.story.happened, view.story.prevented, view.story.source]
        lines += [f"- {md_text(sentence)}" for sentence in sentences if sentence]
        lines.append("")
    rows = []
    for step in view.steps:
        broken = "".join(f" **✗ {md_text(name)}**" for name in step.violated)
        label = md_code(step.label, in_table=True) if step.label else ""
        remark = f" **{md_text(step.remark)}**" if step.remark else ""
        rows.append((str(step.index), f"{md_text(step.sentence)}{broken}{remark}", label))
    columns = (numbers("step"), Column("what happens", ColumnKind.MARKDOWN), Column("action", ColumnKind.MARKDOWN))
    lines += table_markdown(table(columns, rows))
    lines += ["", "<details><summary>The log grid, step by step</summary>", ""]
    lines += [*md_block(_drawing(exported).split("\n")), "", "</details>"]
    return "\n".join(lines) + "\n"


def _drawing(exported: Exported) -> str:
    target = io.BytesIO()
    stream = io.TextIOWrapper(target, encoding="utf-8", newline="\n")
    print_trace(open_console(stream, WIDTH), exported.view)
    stream.flush()
    return target.getvalue().decode("utf-8").rstrip("\n")


def csv_table(exported: Exported) -> str:
    """A line per step: number, action, sentence, violated properties, and the value of every field."""
    schema = exported.found.question.instance.schema
    leaves = schema.leaves
    rows = [
        [
            step.index,
            step.label or "",
            " ".join(filter(None, (step.sentence, step.remark))),
            " ".join(step.violated),
            *(value_in_words(schema, step.state, leaf.path) for leaf in leaves),
        ]
        for step in exported.view.steps
    ]
    return csv_text(["step", "action", "sentence", "violated", *(leaf.name for leaf in leaves)], rows)
