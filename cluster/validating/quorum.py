"""What controllers' own lines say of their quorum: who led in which epoch, what was committed, who voted, and is it allowed?

The topic of the quorum is `__cluster_metadata`. Its lines are those that Kafka writes at INFO, in any layout:
`QuorumState` at each transition, `LeaderState` and `FollowerState` when they first know a high watermark in an epoch, and
`KRaftControlRecordStateMachine` at each voter set that a log has (3.9). What they say is held against promises of `kraft`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.lines.facts import files_of
from acked.cluster.lines.reading import open_lines

_NODE = re.compile(r"\[(?:RaftManager|ControllerServer|kafka-\d+-raft\S*) (?:id|nodeId)=(\d{1,10})(?!\d)")
_TRANSITION = re.compile(r"Completed transition to ([A-Za-z]{1,30})\((?:.*?[(, ])?epoch=(\d{1,10})(?!\d)")
_EPOCH_START = re.compile(r"epochStartOffset=(\d{1,18})(?!\d)")
_MARK = re.compile(
    r"High watermark set to (?:Optional\[)?[A-Za-z]{1,30}\(offset=(\d{1,18})(?!\d)"
    r".*? for the first time for epoch (\d{1,10})(?!\d)"
)
_VOTERS = re.compile(r"Latest set of voters is (.*) at offset (-?\d{1,18})(?!\d)")
_VOTER = re.compile(r"ReplicaKey\(id=(\d{1,10})(?!\d)")
_STARTED = "Registered signal handlers for TERM"


@frozen
class Led:
    """A controller that became leader of an epoch, whose first record of its own is at `start`."""

    epoch: int
    node: int
    start: int
    place: str


@frozen
class Marked:
    """The first high watermark that a controller knew in an epoch."""

    epoch: int
    node: int
    offset: int
    place: str


@frozen
class Voted:
    """The voters, by id, that a controller found at an offset of its log; -1 is the bootstrap checkpoint."""

    node: int
    offset: int
    voters: frozenset[int]
    place: str


@frozen
class Breach:
    """A promise that lines contradict, with the sentence and the places of these lines."""

    promise: str
    text: str


@dataclass
class QuorumJudged:
    """What was read, and what is not allowed of it."""

    lines: int = 0
    nodes: set[int] = field(default_factory=set)
    led: list[Led] = field(default_factory=list)
    marks: list[Marked] = field(default_factory=list)
    voted: list[Voted] = field(default_factory=list)
    new_disks: int = 0
    breaches: list[Breach] = field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        """Nothing is contradicted."""
        return not self.breaches

    @property
    def epochs(self) -> int:
        """Epochs that had a leader."""
        return len({one.epoch for one in self.led})


def judge_quorum(logs: Sequence[str]) -> QuorumJudged:
    """Reads the files of all controllers, one node a file, and judges them; `SpecUnreadable` if no line is of a quorum."""
    found = QuorumJudged()
    for file in files_of(logs):
        _read(found, file)
    if not found.nodes:
        raise SpecUnreadable(f"no line of {', '.join(logs)} tells of a quorum of controllers; give the controllers' own logs")
    found.breaches += [*_led_twice(found.led), *_lost(found)]
    return found


def _read(found: QuorumJudged, file: str) -> None:
    node, epoch, has_started = None, -1, False
    leads: frozenset[int] | None = None
    """The voters of who leads."""
    with open_lines(file) as lines:
        for number, line in enumerate(lines, 1):
            found.lines += 1
            has_started = has_started or _STARTED in line
            if (named := _NODE.search(line)) is not None:
                node = int(named[1])
            if node is None:
                continue
            place = f"{file}:{number}"
            if (moved := _TRANSITION.search(line)) is not None:
                found.nodes.add(node)
                state, now = moved[1], int(moved[2])
                if now < epoch:
                    # Who starts with an empty disk knows no epoch; nothing else takes one back.
                    if has_started and now == 0:
                        found.new_disks += 1
                    else:
                        text = f"controller {node} was in epoch {epoch}, and is in epoch {now} ({place})"
                        found.breaches.append(Breach("epochs only grow", text))
                epoch, has_started, leads = now, False, None
                start = _EPOCH_START.search(line)
                if state.startswith("Leader") and start is not None:
                    found.led.append(Led(now, node, int(start[1]), place))
                    leads = frozenset(map(int, _VOTER.findall(line[line.find("voterStates=") :])))
            elif (mark := _MARK.search(line)) is not None:
                found.marks.append(Marked(int(mark[2]), node, int(mark[1]), place))
            elif (voters := _VOTERS.search(line)) is not None:
                members = frozenset(map(int, _VOTER.findall(voters[1])))
                found.voted.append(Voted(node, int(voters[2]), members, place))
                # Who leads truncates nothing, so that one set follows the other in its log.
                if leads is not None and len(leads ^ members) > 1:
                    text = f"leader {node} had voters {sorted(leads)}, and then {sorted(members)} ({place})"
                    found.breaches.append(Breach("one voter changes at a time", text))
                leads = None if leads is None else members


def _led_twice(led: Iterable[Led]) -> Iterator[Breach]:
    """Two leaders of one epoch."""
    first: dict[int, Led] = {}
    for one in led:
        known = first.setdefault(one.epoch, one)
        if (known.node, known.start) != (one.node, one.start):
            text = f"controllers {known.node} and {one.node} both led in epoch {one.epoch} ({known.place}, {one.place})"
            yield Breach("OneLeaderPerEpoch", text)


def _lost(found: QuorumJudged) -> Iterator[Breach]:
    """A leader whose log began its epoch below what was committed before, and who committed without a record of its own."""
    marks = sorted(found.marks, key=lambda mark: (mark.epoch, mark.offset))
    for one in found.led:
        before = [mark for mark in marks if mark.epoch < one.epoch and mark.offset > one.start]
        if before:
            text = (
                f"controller {one.node} led in epoch {one.epoch} from offset {one.start} on, and {before[-1].offset} was "
                f"committed in epoch {before[-1].epoch} ({one.place}, {before[-1].place})"
            )
            yield Breach("LeaderCompleteness", text)
        own = [mark for mark in marks if (mark.epoch, mark.node) == (one.epoch, one.node)]
        early = [mark for mark in own if mark.offset <= one.start]
        if early:
            text = f"controller {one.node} committed up to {early[0].offset} in epoch {one.epoch}, with no record of its own"
            yield Breach("KAFKA-12619", f"{text} ({early[0].place})")


