"""What became of a certificate that was checked, in the terminal."""

from __future__ import annotations

from acked.checker.allconstants.verification import Verification
from acked.model.catalogue import PROTOCOLS
from acked.reports import units
from acked.reports.console import Console, Glyphs, glyphs_of, put, put_paragraph
from acked.reports.proofs.all_constants import print_subject, steps_table
from acked.reports.table import print_table


def print_verification(console: Console, found: Verification, total_seconds: float) -> None:
    """What the proof is about, the verdict, obligations by step, and by name what is not verified."""
    glyphs = glyphs_of(console)
    told = found.certificate
    print_subject(console, PROTOCOLS[told.protocol], told.promises, told.constants, told.drop)
    _print_verdict(console, found, glyphs)
    for fault in found.faults:
        put_paragraph(console, fault, "bold red", f"  {glyphs.bad} ", "    ")
    if found.faults:
        return
    put(console, [])
    print_table(console, steps_table(found.obligations, "verified"))
    put(console, [])
    for item in found.refuted:
        put_paragraph(console, f"{item.subject}: {item.clause}: refuted", "bold red", f"  {glyphs.bad} ", "    ")
    for item in found.open:
        text = f"{item.subject}: {item.clause}: not decided, because {item.reason}"
        put_paragraph(console, text, "bold yellow", f"  {glyphs.open} ", "    ")
    words = f"the manifest names {told.spec}, acked {told.acked} and {told.solver}"
    put_paragraph(console, f"{words}; the files are the obligations that this acked makes of the above", "dim")
    put_paragraph(console, f"{found.solver}, {units.duration(total_seconds)} in all", "dim")


def _print_verdict(console: Console, found: Verification, glyphs: Glyphs) -> None:
    number = len(found.certificate.obligations)
    if found.faults:
        words = "refused: this is not the proof that it says; no solver was asked"
        put_paragraph(console, words, "bold red", f"{glyphs.bad} ", "  ")
    elif found.refuted:
        words = (
            f"refuted: {found.solver} finds a model for {units.plural(len(found.refuted), 'obligation')} that "
            f"{found.certificate.solver} proved, so one of the two solvers is wrong"
        )
        put_paragraph(console, words, "bold red", f"{glyphs.bad} ", "  ")
    elif found.holds:
        words = f"verified: {found.solver} confirms each of the {units.plural(number, 'obligation')}"
        put_paragraph(console, words, "bold green", f"{glyphs.good} ", "  ")
    else:
        stopped = "interrupted; " if found.interrupted else ""
        words = f"incomplete: {stopped}{found.solver} confirms {len(found.verified)} of {units.plural(number, 'obligation')}"
        rest = f", and leaves {len(found.open)} open" if found.open else ""
        put_paragraph(console, words + rest, "bold yellow", f"{glyphs.open} ", "  ")
