"""Whether recorded logs have what a validation needs: how often each kind of line was met at each node, and what is missing.

`check` reads all files once. A layout without threads is an error as in a validation; this says what is missing, and names
every line that is not understood, of which a validation tells the first. Gaps are seen by the numbers of the controller's
changes and by the offsets at which a broker appends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.lines.facts import Fact, Lines, Node, Ununderstood, files_of
from acked.cluster.lines.joining import Joiner
from acked.cluster.lines.recording import nodes_of
from acked.cluster.lines.wordings import CONTROLLER, FETCHER, LOGS, PARTITION, STATE_CHANGE, Kind
from acked.cluster.observation.events import CONTROLLER as BY_CONTROLLER

_SHOWN = 300
"""Characters of a line that are shown."""
_LEADING = (Kind.RECORDED, Kind.RAISED)
_NEEDED: tuple[tuple[Kind, tuple[Kind, ...], str], ...] = (
    (Kind.LEADER, (Kind.RECORDED,), f"{STATE_CHANGE} at INFO"),
    (Kind.TOOK, (Kind.GOT,), f"{FETCHER} at TRACE"),
    (Kind.GOT, (Kind.FOLLOWER,), f"{FETCHER} at TRACE"),
    (Kind.APPENDED, _LEADING, f"{' or '.join(LOGS)} at TRACE"),
)
"""Of one node: what must be met where something else is, and the logger that prints it."""


@frozen
class Checked:
    """What was met at every node, and what is missing, each in a sentence."""

    nodes: tuple[Node, ...]
    missing: tuple[str, ...]


@dataclass
class _Gaps:
    """What is missing between the lines of one node, by the offsets at which its log ends."""

    found: list[str] = field(default_factory=list)
    _end: int | None = None
    """None where no line says so yet."""

    def watch(self, facts: Iterable[Fact | None]) -> Iterator[Fact | None]:
        """The same facts, looked at."""
        for fact in facts:
            if fact is not None:
                self._look(fact)
            yield fact

    def _look(self, fact: Fact) -> None:
        match fact.kind:
            case None:
                self._end = None
            case Kind.OPENED:
                self._end = fact.fields["end"]
            case Kind.LOADED:
                self._end = self._end or 0  # A log that is made, of which nothing else is told.
            case Kind.CUT:
                self._end = fact.fields["to"]
            case Kind.APPENDED:
                offset = fact.fields["offset"]
                if offset != self._end:
                    before = "none before tells where the log ended" if self._end is None else f"the log ended at {self._end}"
                    text = f"lines are missing: this one tells that records are appended at offset {offset}, and {before}"
                    self.found.append(f"{fact.file}:{fact.line}: {text}")
                self._end = fact.fields["next"]


def check(paths: Sequence[str], topic: str, partition: int) -> Checked:
    """Reads the files of all nodes, and says what is missing."""
    lines = Lines(topic, partition, Ununderstood.NAMED)
    nodes, missing = nodes_of(files_of(paths)), []
    versions: set[int] = set()
    for node in nodes:
        gaps = _Gaps()
        try:
            for event in Joiner(node).events(gaps.watch(lines.facts(node))):
                if event is not None and event.by == BY_CONTROLLER and "version" in event.fields:
                    versions.add(event["version"])
        except SpecUnreadable as error:
            if node.number is not None:
                raise
            missing.append(str(error))
        missing += [*_firsts(gaps.found), *_firsts(_unfinished_shutdowns(node))]
    unknown = [
        f"{one.file}:{one.line}: a line about {lines.name}, the first of {one.lines}, {one.why}: {one.text[:_SHOWN]}"
        for one in lines.unknown.values()
    ]
    return Checked(tuple(nodes), (*unknown, *_missing(nodes, lines.name), *_gone_changes(versions, lines.name), *missing))


def _firsts(found: Sequence[str]) -> list[str]:
    return [] if not found else [found[0] if len(found) == 1 else f"{found[0]} (the first of {len(found)} such places)"]


def _gone_changes(versions: set[int], name: str) -> list[str]:
    """The controller's changes that no line tells, by their numbers."""
    first = next((one + 1 for one, following in pairwise(sorted(versions)) if following > one + 1), None)
    if first is None:
        return []
    gone = max(versions) - min(versions) + 1 - len(versions)
    named = f"change {first}" if gone == 1 else f"{gone} changes, the first of which is {first},"
    return [f"lines are missing: {named} of {name} by the controller (by its partition epoch) is in no line"]


def _unfinished_shutdowns(node: Node) -> list[str]:
    """Controlled shutdowns of a broker whose last lines are missing."""
    if not node.met.keys() & {Kind.LEADER, Kind.FOLLOWER}:
        return []
    return [
        f"{place}: the broker is told to end, and no line tells that it has shut down: it was killed meanwhile, or its last "
        "lines are lost, as they may be from 4.0 on without shutdownHook=disable in log4j2's file"
        for place in (*node.unended, *([] if node.ending is None else [node.ending]))
    ]


def _missing(nodes: Sequence[Node], name: str) -> list[str]:
    found = []
    together = {kind for node in nodes for kind in node.met}
    if Kind.CREATED not in together:
        found.append(
            f"no controller tells that {name} was made: give the controllers' files, from the creation of the topic on, with "
            f"{CONTROLLER} at DEBUG"
        )
    if not together & {Kind.LEADER, Kind.FOLLOWER}:
        found.append(f"no broker tells that it leads or follows: give the brokers' files, with {STATE_CHANGE} at INFO")
    if {Kind.LEADER, Kind.FOLLOWER} <= together and Kind.RECORDED not in together:
        found.append(f"brokers lead and follow, and no leader tells that it noted a fetch; log {PARTITION} at DEBUG")
    for node in nodes:
        for needed, given, logger in _NEEDED:
            # A leader that has no record yet appends nothing, and nobody fetches from one that leads for a moment.
            if needed not in node.met and all(node.met.get(other, 0) > 1 for other in given):
                others = " and ".join(other.value for other in given)
                who = f"node {node.number}" if node.number is not None else node.files[0]
                found.append(f"{who}: lines tell that {others}, and none that {needed.value}; log {logger}")
    return found
