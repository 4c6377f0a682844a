"""Promises that are checked in every state of a run, and between them.

They are properties of `partition` (`acked.invariants.partition`), read with concrete values. Those about acknowledged records
need the producer's side and are not among them: what is below a high watermark stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from acked.base.frozen import frozen
from acked.cluster.observation.events import Event
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.walking import Taken
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind
from acked.model.concrete.program import State
from acked.model.concrete.reading import Check
from acked.model.partition.protocol import partition

PROMISES = ("LogsAgreeBelowHw", "HwWithinIsr", "LeaderHwStays", "CommittedInIsr", "OneLeaderPerEpoch")


Read = Callable[[State], object]
"""What a promise reads of a state."""


@frozen
class Broken:
    """A promise that does not hold after some events, what it says, and the states before and after them."""

    promise: str
    meaning: str
    events: tuple[Event, ...]
    before: State
    after: State


class Promises:
    """Checks the promises of one subject; a promise is asked again only where something changed that it reads."""

    def __init__(self, subject: Subject) -> None:
        known = properties_of(partition)
        self._meanings = {name: known[name].promise for name in PROMISES}
        self._states: list[tuple[Check, Read]] = []
        self._steps: list[tuple[Check, Read]] = []
        for name in PROMISES:
            item = known[name]
            if item.kind is Kind.STEP:
                self._steps.append(_add_reader(subject.concrete.step_property(name, item.predicate)))
            else:
                self._states.append(_add_reader(subject.concrete.property(name, item.predicate)))
        self.checked = dict.fromkeys(PROMISES, 0)
        """In how many states, or of how many steps, each was checked."""

    def first_broken(self, before: State, taken: Taken) -> Broken | None:
        """The first promise that the step breaks, if any."""
        after = taken.after
        if after is before:
            return None
        for check, read in self._states:
            if read(before) != read(after):
                self.checked[check.name] += 1
                if not check.holds(after):
                    return Broken(check.name, self._meanings[check.name], taken.events, before, after)
        for check, read in self._steps:
            if read(before) != read(after):
                self.checked[check.name] += 1
                if not check.holds(before, after):
                    return Broken(check.name, self._meanings[check.name], taken.events, before, after)
        return None


def _add_reader(check: Check) -> tuple[Check, Read]:
    return check, itemgetter(*sorted(check.reads))
