"""Recorded lines of real clusters as runs: where they are, and their events, for the tests that read and change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from acked.cluster.lines.recording import Recording
from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import Verdict, validate

LINES = Path(__file__).resolve().parent / "data" / "lines"
OBSERVED = LINES.parent / "observed"
"""What runs of `acked kafka exercise` left: a metadata log, and all files of a short one."""
RUNS = ("k39-s1", "k39-s3", "k39-s5", "k4-s1", "k4-s3", "k4-s5")


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run, read."""

    release: str
    subject: Subject
    created: Event
    events: tuple[Event, ...]

    def validated(self, events: Sequence[Event] | None = None, without: frozenset[str] = frozenset()) -> Verdict:
        """The verdict on its events, or on others, in the order of their times."""
        chosen = self.events if events is None else events
        return validate(self.subject, self.created, sorted(chosen, key=lambda event: event.at), without=without)

    def changed(self, event: Event, *instead: Event) -> list[Event]:
        """Its events with others, or none, in the place of one."""
        at = self.events.index(event)
        return [*self.events[:at], *instead, *self.events[at + 1 :]]

    def the(self, says: Says, **fields: Any) -> Event:
        """The first event that says so."""
        return next(e for e in self.events if e.says is says and fields.items() <= {"by": e.by, **e.fields}.items())


@cache
def run(name: str) -> Run:
    """A recorded run by its name."""
    recording = Recording([str(LINES / name)], "t", 0)
    begun = recording.begin()
    subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), begun.settings)
    return Run(begun.releases[0], subject, begun.created, tuple(recording.events()))


def edited(event: Event, **fields: Any) -> Event:
    """The event, saying something else."""
    return replace(event, fields={**event.fields, **fields})
