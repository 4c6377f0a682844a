"""An audit beside an earlier one: what got worse, and what got better."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acked.audit.reports.document import FORMAT, Document
from acked.audit.reports.overview import SHORT
from acked.audit.reports.topics import FORMAT as TOPICS_FORMAT
from acked.base.errors import SpecUnreadable
from acked.base.files import read_text

_RANK = {"no": 0, "undecided": 1, "yes": 2}

Cell = tuple[str, str, str]
"""A topic (empty where none is described), a question, and the name of the faults."""


@dataclass(frozen=True)
class Difference:
    """A required answer that is another than before; `before` is None where it was not asked."""

    cell: Cell
    before: str | None
    now: str

    @property
    def is_worse(self) -> bool:
        """Whether that is bad news: what was not asked before counts as a no."""
        return _RANK[self.now] > _RANK[self.before or "no"]

    @property
    def words(self) -> str:
        """`worse: orders, lost (one-machine): no before, yes now`."""
        topic, asked, faults = self.cell
        of = f"{topic}, " if topic else ""
        before = f"{self.before} before" if self.before is not None else "not asked before"
        return f"{'worse' if self.is_worse else 'better'}: {of}{SHORT.get(asked, asked)} ({faults}): {before}, {self.now} now"


def read_baseline(path: Path) -> Document:
    """An earlier audit as `--format json` wrote it; `SpecUnreadable` if it is something else."""
    try:
        document = json.loads(read_text(path, "baseline"))
        if document["format"] not in (FORMAT, TOPICS_FORMAT):
            raise KeyError("format")
        required_cells(document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SpecUnreadable(f"{path} is not an earlier audit; write one with --format json --out {path.name}") from None
    found: Document = document
    return found


def required_cells(document: Document) -> dict[Cell, str]:
    """The worst answer of each cell that the exit code goes by; a group that was not asked about is undecided."""
    found: dict[Cell, str] = {}
    for topics, audit in _audits(document):
        for topic in topics or [""]:
            if audit is None:
                for asked in document["required"]:
                    _worsen(found, (topic, asked, "-"), "undecided")
                continue
            for answer in audit["answers"]:
                if answer["decides"] and answer["question"] in audit["required"]:
                    _worsen(found, (topic, answer["question"], answer["faults"]["name"]), answer["worst"])
    return found


def differences(before: Document, now: Document) -> list[Difference]:
    """Required answers that changed, worse ones first; what is not asked any more is none."""
    old, new = required_cells(before), required_cells(now)
    found = [Difference(cell, old.get(cell), reply) for cell, reply in new.items() if old.get(cell, "no") != reply]
    return sorted(found, key=lambda one: (not one.is_worse, -_RANK[one.now]))


def _audits(document: Document) -> Iterator[tuple[list[str], Any]]:
    if "groups" not in document:
        yield document["topics"], document
        return
    for group in document["groups"]:
        if group["decides"]:
            yield group["topics"], group["audit"]


def _worsen(found: dict[Cell, str], cell: Cell, reply: str) -> None:
    found[cell] = max(found.get(cell, "no"), reply, key=_RANK.__getitem__)
