"""Whether recorded logs have what a validation needs: how often each kind of line was met at each node, and what is missing.

`check` reads all files once. A layout without threads is an error as in a validation; this says what is missing, and names
every wording that is not known, of which a validation tells the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acked.cluster.lines.facts import Lines, Node, files_of
from acked.cluster.lines.recorded import nodes_of
from acked.cluster.lines.wordings import CONTROLLER, FETCHER, LOGS, PARTITION, STATE_CHANGE, Tells

_SHOWN = 300
"""Characters of a line that are shown."""
_LEADING = (Tells.RECORDED, Tells.RAISED)
_NEEDED: tuple[tuple[Tells, tuple[Tells, ...], str], ...] = (
    (Tells.LEADER, (Tells.RECORDED,), f"{STATE_CHANGE} at INFO"),
    (Tells.TOOK, (Tells.GOT,), f"{FETCHER} at TRACE"),
    (Tells.GOT, (Tells.FOLLOWER,), f"{FETCHER} at TRACE"),
    (Tells.APPENDED, _LEADING, f"{' or '.join(LOGS)} at TRACE"),
)
"""Of one node: what must be met where something else is, and the logger that prints it."""


@dataclass(frozen=True)
class Counted:
    """What was met at one node."""

    node: Node
    met: dict[Tells, int]


@dataclass(frozen=True)
class Checked:
    """What was met at every node, and what is missing, each in a sentence."""

    nodes: tuple[Counted, ...]
    missing: tuple[str, ...]


def check(paths: Sequence[str], topic: str, partition: int) -> Checked:
    """Reads the files of all nodes, and says what is missing."""
    lines = Lines(topic, partition, keeps_unknown=True)
    counted = []
    for node in nodes_of(files_of(paths)):
        for _ in lines.facts(node):
            pass
        counted.append(Counted(node, dict(node.met)))
    unknown = [
        f"{one.file}:{one.line}: a line about {lines.name}, the first of {one.lines}, is worded in a way that acked does not "
        f"know: {one.text[:_SHOWN]}"
        for one in lines.unknown.values()
    ]
    return Checked(tuple(counted), (*unknown, *_missing(counted, lines.name)))


def _missing(counted: Sequence[Counted], name: str) -> list[str]:
    found = []
    together = {tells for item in counted for tells in item.met}
    if Tells.CREATED not in together:
        found.append(
            f"no controller tells that {name} was made: give the controllers' files, from the creation of the topic on, with "
            f"{CONTROLLER} at DEBUG"
        )
    if not together & {Tells.LEADER, Tells.FOLLOWER}:
        found.append(f"no broker tells that it leads or follows: give the brokers' files, with {STATE_CHANGE} at INFO")
    if Tells.GOT in together and Tells.RECORDED not in together:
        found.append(f"followers have answers to fetches, and no leader tells that it noted one; log {PARTITION} at DEBUG")
    for item in counted:
        for needed, given, logger in _NEEDED:
            # A leader that has no record yet appends nothing, and nobody fetches from one that leads for a moment.
            if needed not in item.met and all(item.met.get(other, 0) > 1 for other in given):
                others = " and ".join(other.value for other in given)
                found.append(f"{_name(item.node)}: lines tell that {others}, and none that {needed.value}; log {logger}")
    return found


def _name(node: Node) -> str:
    return f"node {node.number}" if node.number is not None else node.files[0]
