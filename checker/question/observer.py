"""The one interface through which engines report while they work; `reports` renders it.

`Observer`, which does nothing by itself, and what engines pass to it.
"""

from __future__ import annotations

from acked.base.frozen import frozen


@frozen
class Progress:
    """Where a search stands. `depth` is the level being expanded, `frontier` its states still to come."""

    depth: int
    distinct_states: int
    generated_states: int
    frontier: int
    seconds: float
    memory_bytes: int


@frozen
class ProofProgress:
    """What a solver has just decided: `subject` in words, its verdict, and how many of how many queries are done."""

    subject: str
    verdict: str
    seconds: float
    done: int
    total: int


class Observer:
    """Notified of what an engine does; every method may be overridden, none needs to be.

    >>> class Phases(Observer):
    ...     def phase(self, name: str) -> None:
    ...         print(name)
    >>> result = check(ask(toylog, nothing_lost, brokers=2, records=1), observer=Phases())
    compiling
    searching
    """

    def phase(self, name: str) -> None:
        """A named part of the work begins: "compiling", "searching", "rebuilding the trace"."""

    def progress(self, now: Progress) -> None:
        """The search has moved on; called several times a second."""

    def decided(self, now: ProofProgress) -> None:
        """A solver has answered a query of a proof."""
