"""The formats of `acked export`, by name. What does not live here: any format."""

from __future__ import annotations

from collections.abc import Callable

from reports.exports import diagrams, markdown, tables, tla
from reports.exports.exported import Exported
from reports.svg import still

FORMATS: dict[str, Callable[[Exported], str]] = {
    "itf": tla.itf,
    "tlc": tla.tlc,
    "shiviz": diagrams.shiviz,
    "mermaid": diagrams.mermaid,
    "svg": lambda exported: still(exported.view, exported.step),
    "dot": diagrams.dot,
    "markdown": markdown.markdown,
    "csv": tables.csv_table,
}
"""What `--to` takes; each makes the whole text of a file."""
