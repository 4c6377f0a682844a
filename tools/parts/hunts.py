"""Keeps what `acked hunt --format json` found, for the page: docs/hunts.json, by release, and docs/assumptions.json.

    nice acked hunt --kafka 4.4.0 --minutes 60 --format json > hunted.json
    nice acked hunt --kafka 4.4.0 --assumptions --minutes 60 --format json > assumptions.json
    python tools/parts/hunts.py hunted.json assumptions.json compaction,share=hunted-2.json …

A hunt of some protocols alone is kept beside that of all, under their names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.base.files import write_text  # noqa: E402
from acked.hunt.assumptions.evidence import evidence_of, read_evidence  # noqa: E402
from acked.reports.table import numbers, table, table_markdown  # noqa: E402

KEPT = ROOT / "docs" / "hunts.json"
ASSUMPTIONS = ROOT / "docs" / "assumptions.json"
_TALLY = ("asked", "planned", "decided", "states", "walks", "steps", "seconds")
_LOSS = ("state", "known_as", "promises", "faults", "steps", "is_shortest", "played")


def kept_of(document: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of a hunt."""
    tally = {name: document["tally"][name] for name in _TALLY}
    losses = [{name: loss[name] for name in _LOSS} for loss in document["losses"]]
    return {"seed": document["seed"], "ended": document["ended"], "tally": tally, "losses": losses}


def part() -> Iterator[str]:
    """For each release how far it got, and a row for each loss that is new or open; documented costs are counted."""
    for release, hunt in json.loads(KEPT.read_text("utf-8")).items():
        tally = hunt["tally"]
        costs = len({loss["known_as"] for loss in hunt["losses"] if loss["state"] == "known, documented"})
        yield from (
            f"**{release}**: {tally['asked']:,} of {tally['planned']:,} questions asked, {tally['decided']:,} decided in",
            f"every state; {tally['states']:,} states, {tally['walks']:,} walks of {tally['steps']:,} steps,",
            f"{tally['seconds']:,.0f} seconds of a processor, seed {hunt['seed']}. Besides these, {costs} losses are what a",
            "setting or a fault is documented to cost.",
            "",
        )
        rows = [
            (loss["known_as"] or "**new**", _promises(loss), ", ".join(loss["faults"]) or "nothing",
             f"{loss['steps']}{'' if loss['is_shortest'] else ' or fewer'}", loss["played"])
            for loss in hunt["losses"] if loss["state"] != "known, documented"
        ]  # fmt: skip
        heads = ("known as", "promise", "what goes wrong", numbers("steps"), "on real brokers")
        yield from table_markdown(table(heads, rows))
        yield ""


def assumptions_part() -> Iterator[str]:
    """A row for each assumption that something rests on, the heaviest first, with what `evidence.toml` has of it."""
    kept, known = json.loads(ASSUMPTIONS.read_text("utf-8")), read_evidence()
    rows: list[tuple[str, ...]] = []
    first: dict[str, str] = {}
    for name, broken in kept["broken"].items():
        found = evidence_of(name, known)
        promises = ", ".join(f"{promise} {steps}" for promise, steps in sorted(broken.items(), key=lambda pair: pair[1]))
        told = ": ".join(text for text in (found.basis.value, found.said) if text)
        before = first.setdefault(told, name)
        rows.append((name, promises, *((told, found.place) if before == name else (f"as {before}", ""))))
    yield (
        f"**{kept['kafka']}**: of {kept['dropped']} assumptions each was dropped that has a switch, one after the other; "
        f"something breaks without {len(rows)}."
    )
    yield ""
    yield from table_markdown(table(("without", "these break, in so many steps", "is it forbidden?", "where"), rows))


def _promises(loss: dict[str, Any]) -> str:
    more = len(loss["promises"]) - 1
    return loss["promises"][0] + (f" and {more} more" if more else "")


def main() -> None:
    """Keeps every document that is named."""
    known: dict[str, Any] = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    for given in sys.argv[1:]:
        only, _, name = given.rpartition("=")
        document = json.loads(Path(name).read_text("utf-8"))
        if document["format"] == "acked-assumptions/1":
            broken = {one["name"]: one["broken"] for one in document["assumptions"] if one["broken"]}
            kept = {"kafka": document["kafka"], "dropped": len(document["assumptions"]), "broken": broken}
            write_text(ASSUMPTIONS, json.dumps(kept, indent=1) + "\n", "assumptions")
            continue
        known[f"{document['kafka']} {only}".strip()] = kept_of(document)
    newest = sorted(known.items(), key=lambda item: (item[0].split()[0], -len(item[0])), reverse=True)
    write_text(KEPT, json.dumps(dict(newest), indent=1) + "\n", "hunts")


if __name__ == "__main__":
    main()
