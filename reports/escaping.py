"""Text in Markdown and in CSV: one escaper for each, so that a name, a title or a predicate stays text whatever it holds."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Sequence

from acked.reports.console import harmless

_MARKUP = r"([\\`*_{}\[\]()|~#!])"
_BLOCK = r"^(?:[-+=]|\d+(?=[.)]))"
"""What would begin a list or a heading at the start of a line."""

_FORMULA = r"\s*(?:[=+@＝＋＠－]|-(?!\d+(?:\.\d+)?$))"
"""What a spreadsheet would calculate; not so a negative number."""


def md_text(text: object) -> str:
    """One line of text that Markdown shows as it is, also in a table: no markup, HTML, link or mention comes of it."""
    line = " ".join(harmless(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(_MARKUP, r"\\\1", line)
    if found := re.match(_BLOCK, line):
        line = f"{found[0]}\\{line[found.end() :]}" if found[0].isdigit() else f"\\{line}"
    # GitHub looks for mentions after it has taken escapes away, so a blank of no width stands behind the sign.
    line = line.replace("@", "@&#8203;")
    return line.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")


def md_code(text: object, in_table: bool = False) -> str:
    """One line of text as code, backticks included; a pipe needs an escape in a table only."""
    line = harmless(text)
    if not line.strip():
        return ""
    if in_table:
        line = line.replace("|", "\\|")
    fence = "`" * (1 + _longest_run(line))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def md_block(lines: Iterable[str]) -> list[str]:
    """Lines of text as a block of code, whose fence is longer than any in them."""
    body = list(lines)
    fence = "`" * max(3, 1 + max(map(_longest_run, body), default=0))
    return [f"{fence}text", *body, fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""CSV with a line of names; every line ends with `\n`.

    Numbers stay numbers, None is an empty cell, lists and mappings are JSON. A text that a spreadsheet would take for a
    formula begins with an apostrophe.
    """
    import csv

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in names])
    writer.writerows([_csv_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _csv_cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, (bool, list, tuple, dict)):
        value = json.dumps(value, default=str, ensure_ascii=False)
    text = "\n".join(harmless(line) for line in str(value).split("\n"))
    return f"'{text}" if re.match(_FORMULA, text) else text
