"""The proof for all constants as a table: one line a step of the protocol.

What lives here: its layout in the terminal. What does not: the proof (`checker/allconstants.py`) and its JSON document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import units
from reports.console import Span, clean, glyphs_of, put, put_paragraph, put_table

if TYPE_CHECKING:
    from rich.console import Console

    from checker.allconstants import AllConstantsProof

_MOST_OPEN = 20


def print_all_constants(console: Console, proof: AllConstantsProof, total_seconds: float) -> None:
    """Verdict, obligations by step, and what is open, if anything is."""
    glyphs = glyphs_of(console)
    proved = len(proof.obligations) - len(proof.open)
    title = f"{proof.protocol}, for any number of brokers, offsets, records and leader epochs"
    put_paragraph(console, title, "bold underline")
    if proof.holds:
        words = "holds: every obligation is proved, for all constants at once"
        put_paragraph(console, words, "bold green", f"{glyphs.good} ", "  ")
    else:
        words = f"incomplete: {proved} of {len(proof.obligations)} obligations are proved"
        put_paragraph(console, words, "bold yellow", f"{glyphs.open} ", "  ")
    put(console, [])
    subjects = dict.fromkeys(item.subject for item in proof.obligations)
    rows: list[list[Span]] = []
    for subject in subjects:
        mine = [item for item in proof.obligations if item.subject == subject]
        left = sum(item in proof.open for item in mine)
        verdict: Span = (f"{glyphs.open} {left} open", "bold yellow") if left else (f"{glyphs.good} proved", "green")
        seconds = sum(item.seconds for item in mine)
        rows.append([(clean(subject, console), ""), verdict, (units.count(len(mine)), ""), (units.duration(seconds), "")])
    put_table(console, [("step", False), ("verdict", False), ("obligations", True), ("solver time", True)], rows)
    put(console, [])
    put_paragraph(console, f"{proof.solver}, {units.duration(total_seconds)} in all", "dim")
    for item in proof.open[:_MOST_OPEN]:
        found = item.counterexample
        why = f"broken by {found.step} at {dict(found.constants)}" if found else "not decided"
        put_paragraph(console, f"{item.subject} and {item.clause}: {why}", "", "  - ", "    ")
    if len(proof.open) > _MOST_OPEN:
        put_paragraph(console, f"and {len(proof.open) - _MOST_OPEN} more", "", "  - ")
    for name in proof.vacuous:
        put_paragraph(console, f"{name} can never happen under its assumptions", "bold yellow", "  - ", "    ")
