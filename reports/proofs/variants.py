"""The table of variants and named promises: in the terminal and as JSON."""

from __future__ import annotations

from acked.checker.proof.variants import Matrix, VariantAnswer
from acked.checker.question.result import Verdict
from acked.reports import units
from acked.reports.console import Console, put, put_paragraph
from acked.reports.table import Mark, TableCell, numbers, print_table, table

_STYLE = {Verdict.HOLDS: "green", Verdict.VIOLATED: "bold red", Verdict.INCOMPLETE: "bold yellow"}
_MARK = {Verdict.HOLDS: Mark.GOOD, Verdict.VIOLATED: Mark.BAD, Verdict.INCOMPLETE: Mark.OPEN}
HOW = {"induction": "induction", "bmc": "bmc, shortest trace", "search": "explicit search", "-": "-"}


def print_matrix(console: Console, matrix: Matrix, total_seconds: float) -> None:
    """Both tables."""
    put_paragraph(console, "Which variant keeps which promise", "bold underline")
    put_paragraph(console, _constants(matrix), "dim")
    rows = []
    for item in matrix.entries:
        style = _STYLE[item.verdict]
        verdict = TableCell(verdict_in_words(item), style, _MARK[item.verdict])
        rest = [TableCell(text, style) for text in (HOW[item.how.value], units.duration(item.seconds))]
        rows.append([TableCell(item.protocol), TableCell(item.property, style), verdict, *rest])
    print_table(console, table(("variant", "property", "verdict", "method", numbers("time")), rows))
    put(console, [])
    put_paragraph(console, "Which action does not preserve which lemma of KIP-320's proof", "bold underline")
    for breach in matrix.breaches:
        put_paragraph(console, f"{breach.protocol}, {breach.action}: {', '.join(breach.lemmas)}", "", "  ", "      ")
        if breach.asks:
            put_paragraph(console, f"kip320 asks in addition: {'; '.join(breach.asks)}", "dim", " " * 6, " " * 6)
    put(console, [])
    put_paragraph(console, f"{units.duration(total_seconds)} in all", "dim")


def matrix_document(matrix: Matrix, total_seconds: float) -> dict[str, object]:
    """The document of `prove variants`; `trace_length` counts the states of the shortest violating run."""
    return {
        "engine": "z3",
        "constants": dict(matrix.constants),
        "matrix": [
            {
                "protocol": item.protocol,
                "promise": item.promise,
                "property": item.property,
                "verdict": item.verdict.value,
                "method": item.how.value,
                "trace_length": None if item.actions is None else item.actions + 1,
                "seconds": item.seconds,
            }
            for item in matrix.entries
        ],
        "breaks": [
            {"protocol": item.protocol, "action": item.action, "lemmas": list(item.lemmas), "asks": list(item.asks)}
            for item in matrix.breaches
        ],
        "seconds": matrix.seconds,
        "total_seconds": total_seconds,
    }


def verdict_in_words(item: VariantAnswer) -> str:
    """`holds`, `violated in 10 steps`."""
    if item.actions is None:
        return item.verdict.value
    return f"{item.verdict.value} in {units.plural(item.actions, 'step')}"


def _constants(matrix: Matrix) -> str:
    return ", ".join(f"{name}={value}" for name, value in matrix.constants.items())
