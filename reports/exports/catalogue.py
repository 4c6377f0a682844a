"""The formats of `acked export`, by name."""

from __future__ import annotations

from collections.abc import Callable

from acked.reports.exports import diagrams, markdown, tla
from acked.reports.exports.subject import Exported
from acked.reports.runs.still import still

FORMATS: dict[str, Callable[[Exported], str]] = {
    "itf": tla.itf,
    "tlc": tla.tlc,
    "shiviz": diagrams.shiviz,
    "mermaid": diagrams.mermaid,
    "svg": lambda exported: still(exported.view, exported.step),
    "dot": diagrams.dot,
    "markdown": markdown.markdown,
    "csv": markdown.csv_table,
}
"""What `--to` takes; each makes the whole text of a file."""
