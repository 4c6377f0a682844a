"""The parts of pages that are made from the project itself: the site has them whole, and git the short table of some.

    python tools/made.py             writes the short tables, labels of guards, and what runs are told, anew
    python tools/made.py docs/audit.md   writes the short tables of this page alone, in seconds

In a page, `<!-- made: NAME -->` begins a part and `<!-- end -->` ends it. What git keeps in between is for readers without
the site: nothing, or a short table. `make docs` puts the whole part there, from specs, docstrings and measurements.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.audit.decision.fault_words import BESIDES  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.invariants.partition.lemmas.catalogue import (  # noqa: E402
    CONTROLLER_LEMMAS,
    MACHINE_LEMMAS,
    MOVE_LEMMAS,
    PARTITION_LEMMAS,
    RETURN_LEMMAS,
)
from acked.model.catalogue import PROTOCOLS  # noqa: E402
from acked.reports.table import numbers, table, table_markdown  # noqa: E402
from acked.reports.tables.findings import read_findings  # noqa: E402
from acked.reports.tables.listing import LABELS, traced_labels  # noqa: E402
from benchmarks import tlc  # noqa: E402
from tests.mutants import kafka_mutants  # noqa: E402
from tools import false_claims, guards, house, proof_mutations, proofs, real  # noqa: E402
from tools.parts import api, commands, gallery, hunts  # noqa: E402
from tools.parts.spec_pages import markdown_table  # noqa: E402

GATE = ROOT / "docs" / "gate_mutations.json"
"""Rows of the table that `tools/gate_mutations.py` measures."""

PART = re.compile(r"(?P<begin><!-- made: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """What makes a part whole, and what git keeps of it."""

    whole: Callable[[], Iterable[str]]
    kept: Callable[[], Iterable[str]] = tuple


def gate_mutations() -> Iterator[str]:
    """What the gate says of every fault."""
    columns = (numbers(""), "fault", "in", "reason", "the gate's words")
    yield from table_markdown(table(columns, json.loads(GATE.read_text("utf-8"))))


def rows_of(name: str) -> Iterator[str]:
    """The table of a file of docs/ with comma-separated values."""
    with (ROOT / "docs" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file)
    yield from markdown_table(heads, (map(_shown, heads, row) for row in rows))


def _shown(head: str, text: str) -> str:
    """Specs are code, and numbers have commas."""
    return f"`{text}`" if head == "spec" else f"{int(text):,}" if text.isdigit() else text


def found() -> Iterator[str]:
    """What was found in Kafka."""
    rows = (
        (f"[{one.title}]({one.page.removeprefix('docs/')})", one.status.value, one.promise, one.releases, f"`{one.command}`")
        for one in read_findings((ROOT / "specs" / "found.json").read_text("utf-8"))
    )
    yield from markdown_table(("finding", "what it is", "the promise", "releases", "shown by"), rows)


def faults() -> Iterator[str]:
    """What the audit may assume besides crashes."""
    yield from markdown_table(("added", "what is assumed as well"), ((f"`{one.name}`", one.words) for one in BESIDES))


PARTS = {
    "answers-before": Part(partial(rows_of, "answers_before")),
    "api": Part(api.reference),
    "bugs-of-replication": Part(partial(rows_of, "bugs_of_replication")),
    "bugs-of-transactions": Part(partial(rows_of, "bugs_of_transactions")),
    "claims": Part(gallery.part_of_claims),
    "commands": Part(commands.reference),
    "counts-that-changed": Part(partial(rows_of, "counts_that_changed")),
    "exercised": Part(partial(rows_of, "exercised")),
    "false-claims": Part(false_claims.part),
    "false-lemmas": Part(partial(rows_of, "false_lemmas")),
    "faults": Part(faults, faults),
    "found": Part(found),
    "gallery": Part(gallery.part_of_bugs),
    "gate-mutations": Part(gate_mutations),
    "guards": Part(guards.part),
    "kraft-models": Part(partial(rows_of, "kraft_models")),
    "language": Part(partial(rows_of, "language")),
    "lemmas": Part(partial(proofs.lemmas, PARTITION_LEMMAS)),
    "lemmas-machine": Part(partial(proofs.lemmas, MACHINE_LEMMAS)),
    "lemmas-moves": Part(partial(proofs.lemmas, (*MOVE_LEMMAS, *RETURN_LEMMAS))),
    "lemmas-controllers": Part(partial(proofs.lemmas, CONTROLLER_LEMMAS)),
    "promises": Part(proofs.verdicts),
    "breaches": Part(proofs.breaches),
    "remarks": Part(partial(rows_of, "remarks")),
    "releases": Part(proofs.releases, proofs.kept_of_releases),
    "house": Part(house.tables),
    "hunts": Part(hunts.part),
    "assumptions": Part(hunts.assumptions_part),
    "kafka-mutants": Part(kafka_mutants.part),
    "kills": Part(real.lost_by_kills),
    "matrix": Part(partial(rows_of, "matrix")),
    "proof-mutations": Part(proof_mutations.part),
    "quorums": Part(gallery.part_of_quorums),
    "real-again": Part(real.again),
    "real-not-played": Part(real.left_out),
    "real-played": Part(real.played),
    "real-random": Part(real.random_traces),
    "real-releases": Part(real.whole_releases),
    "statements": Part(partial(rows_of, "statements")),
    "tlc": Part(tlc.part),
    "transaction-rules": Part(partial(rows_of, "transaction_rules")),
    "values": Part(partial(rows_of, "values")),
}
"""By the name in the mark."""


def pages() -> list[Path]:
    """The pages that have such parts."""
    places = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in places if PART.search(page.read_text("utf-8"))]


def whole(text: str) -> str:
    """A page as the site shows it."""
    return _replaced(text, lambda part: part.whole())


def kept(text: str) -> str:
    """A page as git keeps it."""
    return _replaced(text, lambda part: part.kept())


def _replaced(text: str, lines: Callable[[Part], Iterable[str]]) -> str:
    def part(found: re.Match[str]) -> str:
        made = "".join(f"{line}\n" for line in lines(PARTS[found["name"]]))
        return f"{found['begin']}\n{made}\n{found['end']}" if made else f"{found['begin']}{found['end']}"

    return PART.sub(part, text)


if __name__ == "__main__":
    named = [Path(name).resolve() for name in sys.argv[1:]]
    if strange := [str(place) for place in named if place not in pages()]:
        sys.exit(f"no part of {', '.join(strange)} is made; name pages with <!-- made: NAME -->, or none for all")
    for place in named or pages():
        print(place.relative_to(ROOT), flush=True)
        write_text(place, kept(place.read_text("utf-8")), "page")
    if named:
        sys.exit()
    labels = {name: traced_labels(protocol) for name, protocol in PROTOCOLS.items()}
    write_text(LABELS, json.dumps(labels, indent=1, ensure_ascii=False) + "\n", "labels of guards")
    print(f"{gallery.RUNS.relative_to(ROOT)}, for minutes", flush=True)
    write_text(gallery.RUNS, json.dumps(gallery.runs(gallery.with_runs()), indent=1) + "\n", "what runs are told")
