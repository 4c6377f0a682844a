"""What recorded logs have and lack, in the terminal and as a document."""

from __future__ import annotations

from typing import Any

from acked.cluster.lines.checking import Checked
from acked.cluster.lines.wordings import Kind
from acked.reports.console import Console, clean, glyphs_of, put_paragraph
from acked.reports.units import count, plural

FORMAT = "acked-observed/1"


def print_checked(console: Console, checked: Checked) -> None:
    """The counts of every node, and what is missing."""
    glyphs = glyphs_of(console)
    for node in checked.nodes:
        name = f"node {node.number}" if node.number is not None else "a node that no line names"
        files = plural(len(node.files), "file")
        put_paragraph(console, f"{name}: {count(node.lines)} lines in {files}", "bold")
        met = [(kind, number) for kind, number in node.met.items() if kind is not Kind.NOTHING]
        for kind, number in sorted(met, key=lambda pair: -pair[1]):
            put_paragraph(console, f"{count(number)} × {kind.value}", first="  ", rest="    ")
    console.print()
    if not checked.missing:
        put_paragraph(console, f"{glyphs.good} the logs have what a validation needs", "bold green")
    for text in checked.missing:
        put_paragraph(console, f"{glyphs.bad} {clean(text, console)}", "bold red", rest="  ")


def checked_document(checked: Checked) -> dict[str, Any]:
    """The same for other programs."""
    nodes = [
        {
            "node": node.number, "files": list(node.files), "lines": node.lines,
            "met": {kind.name.lower(): number for kind, number in node.met.items()},
        }
        for node in checked.nodes
    ]  # fmt: skip
    return {"format": FORMAT, "nodes": nodes, "missing": list(checked.missing)}
