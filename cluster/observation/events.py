"""What lines of a cluster's logs say about one partition, as events: one per step of a broker or of the controller.

The vocabulary between those who read lines (`acked.cluster.lines`) and those who explain them (`explaining.py`). An event is
one line, or several of one thread that tell of one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any, Final

CONTROLLER: Final = -1
"""Who the controller is, among brokers by their ids."""


@unique
class Says(Enum):
    """What an event says."""

    CREATES = "creates partition"
    APPENDS = "appends"
    NOTES_FETCH = "notes fetch"
    TAKES_ANSWER = "takes answer"
    LEADS = "leads"
    FOLLOWS = "follows"
    REMOVES_FETCHER = "removes fetcher"
    LEARNS_ISR = "learns ISR"
    ASKS_TO_SHRINK = "asks to shrink"
    ASKS_TO_EXPAND = "asks to expand"
    GIVES_UP_ISR = "gives up ISR"
    RAISES_HW = "raises HW"
    TRUNCATES = "truncates"
    DELETES = "deletes"
    RESTARTS = "restarts"
    CHANGES = "changes partition"
    COMMITS_ISR = "commits ISR"
    CONTRADICTS = "contradicts"
    FENCES = "fences"
    UNFENCES = "unfences"

    # There is one object of each kind; Enum's own hash is that of the name, in Python.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """What one line says; `at` in ms since some moment, the same for all, `by` a broker or `CONTROLLER`.

    `file`, `line` (from 1) and `text` are where it says so; empty of events that no line stands behind.

    Of `fields`, which differ with what is said, offsets and epochs are numbers, sets of brokers frozensets, a leader that
    is none -1. `hw` is the high watermark after the step where it moved (of LEADS, FOLLOWS, LEARNS_ISR and RESTARTS what it
    is before, of TRUNCATES what was taken before the cut, as it is to 3.4.0), `raised` the one after where both are told;
    `offset` a log end before, `next` and `end` one after; `from` the offset at which a log then begins; `leader_hw` what
    the leader's answer carried; `most` the end of an epoch that it tells; `cut` that the process ended before it said the
    rest, such as of which fetch this came; `again` that the leader has asked for the same ISR before, and has replayed a
    record of the partition since; `appending` that the fetcher was taking up an answer meanwhile; `version` the partition
    epoch, which numbers the controller's changes; `leader` of COMMITS_ISR who asked, `elects` who leads from then on;
    `wrong` is what a line, or lines of one step, say against one another, in a sentence, which nothing explains; `replicas`
    of a change those from then on; `recorded` that the change is read from the metadata log, which does not say who asked
    for it. What CHANGES does not tell did not change. Lines of ZooKeeper's time name neither the leader that a
    broker follows nor who asks for an ISR.
    """

    at: int
    by: int
    says: Says
    fields: Mapping[str, Any]
    file: str = ""
    line: int = 0
    text: str = ""

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A field that is told only sometimes."""
        return self.fields.get(name, default)

    def __str__(self) -> str:
        who = "the controller" if self.by == CONTROLLER else f"broker {self.by}"
        told = ", ".join(f"{name} {value_in_words(value)}" for name, value in self.fields.items() if value is not None)
        return f"{who} {self.says.value}: {told}" if told else f"{who} {self.says.value}"


def value_in_words(value: object) -> str:
    """A field's value as people write it."""
    return "{" + ", ".join(map(str, sorted(value))) + "}" if isinstance(value, frozenset) else str(value)
