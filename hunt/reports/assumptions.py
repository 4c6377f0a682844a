"""Assumptions by weight: what breaks without each, and whether Kafka's source forbids it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acked.hunt.assumptions.drop import Assumption
from acked.hunt.assumptions.evidence import Basis
from acked.reports.console import Console, put, put_paragraph
from acked.reports.table import TableCell, numbers, print_table, table
from acked.reports.units import plural

_STYLES = {Basis.READ: "green", Basis.SEEN: "", Basis.UNVERIFIED: "yellow"}


def heaviest(found: Sequence[Assumption]) -> list[Assumption]:
    """Those that something rests on, the heaviest first; and sentences that nothing can drop."""
    return sorted((one for one in found if one.broken), key=lambda one: (one.weight, one.name))


def print_assumptions(console: Console, release: str, found: Sequence[Assumption], reason: str) -> None:
    """A row for each assumption that something rests on, what is known of it below, and how many were asked."""
    heavy = heaviest(found)
    rows = [
        (one.name, plural(len(one.broken), "promise"), str(min(steps for _, steps in one.broken)),
         TableCell(one.evidence.basis.value, _STYLES[one.evidence.basis]))
        for one in heavy
    ]  # fmt: skip
    print_table(console, table(("without", "break", numbers("in steps"), "known by"), rows))
    put(console, [])
    for one in (one for one in found if one.evidence.sentence and one.evidence.drop is None):
        put_paragraph(console, f"not dropped, because the model has no switch for it: {one.name}", "yellow", "  ", "    ")
        put_paragraph(console, f"{one.evidence.place}: {one.evidence.said}", "dim", "    ", "    ")
    for place, said in dict.fromkeys((one.evidence.place, one.evidence.said) for one in heavy if one.evidence.said):
        put_paragraph(console, f"{place}: {said}" if place else said, "dim", "  ", "    ")
    put(console, [])
    bounds = sum(one.is_bound for one in found)
    unverified = sum(one.evidence.basis is Basis.UNVERIFIED for one in heavy)
    text = (
        f"Kafka {release}: {plural(len(found), 'assumption')} dropped; something breaks without {len(heavy)}, of which "
        f"{unverified} are unverified; {bounds} bound the model; without the others nothing broke in what was searched"
    )
    put_paragraph(console, text + (f"; {reason}" if reason else ""), "bold")


def assumptions_document(release: str, found: Sequence[Assumption], reason: str) -> dict[str, Any]:
    """As JSON, the heaviest first."""
    return {
        "format": "acked-assumptions/1",
        "kafka": release,
        "ended": reason or None,
        "assumptions": [
            {
                "name": one.name,
                "broken": dict(one.broken),
                "basis": one.evidence.basis.value,
                "place": one.evidence.place or None,
                "said": one.evidence.said or None,
                "bounds_the_model": one.is_bound,
                "decided": one.is_decided,
            }
            for one in sorted(found, key=lambda one: (one.weight, one.name))
        ],
    }
