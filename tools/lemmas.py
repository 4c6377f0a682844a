"""What the tables of lemmas in docs/partition_proof.md are made of: what each lemma's own text says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.invariants.property import Property  # noqa: E402
from acked.reports.table import Table, table, table_markdown  # noqa: E402

NEED = re.compile(r"Without it (\w+) breaks ([\w, ]+) \((\d), (\d), (\d)(?:, Kafka ([\d.]+)( with zombies)?)?\)")


def lemmas_table(lemmas: Sequence[Property]) -> Table:
    """Each lemma with what it says, what a step breaks where it is left out, and in how small an instance."""
    return table(("lemma", "what it says", "left out, a step breaks", "at"), map(_row, lemmas))


def part(lemmas: Sequence[Property]) -> Iterator[str]:
    """The table in Markdown."""
    yield from table_markdown(lemmas_table(lemmas))


def _row(lemma: Property) -> tuple[str, ...]:
    text = " ".join(str(lemma.predicate.__doc__).split())
    found = NEED.search(text)
    assert found is not None, lemma.name
    action, claims, *size, version, zombies = found.groups()
    release = f", Kafka {version}{zombies or ''}" if version else ""
    broken = f"{action}: {', '.join(sorted(claims.split(', ')))}"
    return lemma.name, text[: found.start()].strip(), broken, ", ".join(size) + release
