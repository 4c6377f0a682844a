"""What coordinators' own lines say of a topic such as `__consumer_offsets`: loads, unloads, generations; and is it allowed?

Lines are those that Kafka writes at INFO, in any layout: `CoordinatorRuntime` (4.0), `GroupMetadataManager` and
`GroupCoordinator` (to 3.9) of loads and unloads, and of classic groups in both. What they say is held against promises of
`coordinator`. That a generation was committed is told where a member joins again `during Stable`, for a group is stable once
its metadata are committed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique

from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.lines.facts import files_of
from acked.cluster.lines.reading import open_lines
from acked.cluster.validating.quorum import Breach

_NODE = re.compile(r"\[(?:GroupCoordinator (?:id=)?|GroupMetadataManager brokerId=)(\d{1,10})(?!\d)")
_CONTEXT = re.compile(r"topic=([\w.-]{1,249}) partition=(\d{1,10})\]")
_STARTED = "Registered signal handlers for TERM"


@unique
class Said(StrEnum):
    """What a line tells."""

    SCHEDULED = "a load is scheduled"
    LOADED = "a load is finished"
    FAILED = "a load has failed"
    IGNORED = "the end of a load is ignored"
    UNLOADED = "an unload is finished"
    STARTED = "the broker starts"
    HAS = "a generation is loaded"
    COMMITTED = "a generation was committed"
    KNOWN = "a generation is known"
    NEW = "a new generation"
    DELETED = "a group is deleted"


_PARTITION, _EPOCH = r"(?P<topic>[\w.-]{1,249})-(?P<partition>\d{1,10})(?!\d)", r"(?P<epoch>\d{1,10})(?!\d)"
_GROUP, _GENERATION = r"(?P<group>.{1,249}?)", r"(?P<generation>\d{1,10})(?!\d)"
_REBALANCES = rf"Preparing to rebalance group {_GROUP} in state \w{{1,30}} with old generation {_GENERATION}"
_WORDS: tuple[tuple[Said, re.Pattern[str]], ...] = tuple(
    (said, re.compile(text))
    for said, text in (
        (Said.SCHEDULED, rf"Scheduling loading of .{{0,30}}metadata from {_PARTITION} (?:with|for) epoch {_EPOCH}"),
        (Said.LOADED, rf"Finished loading of metadata from {_PARTITION} with epoch {_EPOCH}"),
        (Said.LOADED, rf"Finished loading offsets and group metadata from {_PARTITION} .{{1,60}} for epoch {_EPOCH}"),
        (Said.FAILED, rf"Failed to load metadata from {_PARTITION} with epoch {_EPOCH}"),
        (Said.IGNORED, rf"Ignored load completion from {_PARTITION}"),
        (Said.UNLOADED, rf"Finished unloading metadata for {_PARTITION} with epoch (?:OptionalInt\[)?{_EPOCH}"),
        (Said.UNLOADED, rf"Finished unloading {_PARTITION} for coordinator epoch (?:Some\(|OptionalInt\[)?{_EPOCH}"),
        (Said.HAS, rf"Loading group metadata for {_GROUP} with generation {_GENERATION}"),
        (Said.COMMITTED, rf"{_REBALANCES} .{{0,300}}\(reason: [^;]{{1,300}} during Stable"),
        (Said.KNOWN, _REBALANCES),
        (Said.NEW, rf"Stabilized group {_GROUP} generation {_GENERATION}"),
        (Said.DELETED, rf"Group {_GROUP} transitioned to Dead in generation {_GENERATION}"),
        (Said.DELETED, r"The following groups were deleted: (?P<group>.*)\. A total of "),
    )
)
_OF_GROUPS = frozenset({Said.HAS, Said.COMMITTED, Said.KNOWN, Said.NEW, Said.DELETED})
_OF_GROUP = re.compile(rf"\({_PARTITION}\)")


@frozen
class Told:
    """What one line tells, by whom and where; `epoch` of a group's line is that in which its coordinator was loaded."""

    said: Said
    node: int
    place: str
    partition: int | None = None
    epoch: int = -1
    group: str = ""
    generation: int = -1


@dataclass
class CoordinatorsJudged:
    """What was read, and what is not allowed of it."""

    lines: int = 0
    told: list[Told] = field(default_factory=list)
    breaches: list[Breach] = field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        """Nothing is contradicted."""
        return not self.breaches

    def count(self, *said: Said) -> int:
        """How many lines tell one of these."""
        return sum(one.said in said for one in self.told)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Brokers that tell something."""
        return tuple(sorted({one.node for one in self.told}))

    @property
    def partitions(self) -> tuple[int, ...]:
        """Partitions that are told of."""
        return tuple(sorted({one.partition for one in self.told if one.partition is not None}))

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups of whose generations something is told."""
        return tuple(sorted({one.group for one in self.told if one.said in _OF_GROUPS}))


def judge_coordinators(logs: Sequence[str], topic: str) -> CoordinatorsJudged:
    """Reads the files of all brokers, one node a file, and judges what they tell of a topic's coordinators.

    `SpecUnreadable` if no line tells of a load.
    """
    found = CoordinatorsJudged()
    for file in files_of(logs):
        found.told += _read(found, file, topic)
    if not found.count(Said.SCHEDULED, Said.LOADED):
        raise SpecUnreadable(
            f"no line of {', '.join(logs)} tells of a load of {topic}; give brokers' own logs, with INFO for the coordinators"
        )
    found.told = _placed(found.told)
    found.breaches += [*_two_owners(found.told), *_loads(found.told), *_generations(found.told)]
    return found


def _read(found: CoordinatorsJudged, file: str, topic: str) -> Iterator[Told]:
    node: int | None = None
    waiting = False
    with open_lines(file) as lines:
        for number, line in enumerate(lines, 1):
            found.lines += 1
            waiting = waiting or _STARTED in line
            if (named := _NODE.search(line)) is not None:
                node = int(named[1])
            if node is None:
                continue
            place = f"{file}:{number}"
            if waiting:  # A broker says that it starts before it says who it is.
                waiting = False
                yield Told(Said.STARTED, node, place)
            yield from _told(line, node, place, topic)


def _told(line: str, node: int, place: str, topic: str) -> Iterator[Told]:
    said, match = next(((said, match) for said, words in _WORDS if (match := words.search(line))), (None, None))
    if said is None or match is None:
        return
    where, known = _CONTEXT.search(line) or _OF_GROUP.search(line), match.groupdict()
    if "partition" in known:
        if known["topic"] == topic:
            yield Told(said, node, place, int(known["partition"]), int(known.get("epoch") or -1))
    elif where is None or where[1] == topic:
        generation = int(known.get("generation") or -1)
        several = known["group"].split(", ") if "generation" not in known else [known["group"]]
        for group in several:
            yield Told(said, node, place, None if where is None else int(where[2]), -1, group, generation)


def _placed(told: Sequence[Told]) -> list[Told]:
    """The lines of groups, each with its partition, if any line tells it, and the epoch of its coordinator's last load."""
    homes = {one.group: one.partition for one in told if one.said in _OF_GROUPS and one.partition is not None}
    epochs: dict[tuple[int, int | None], int] = {}
    placed = []
    for one in told:
        if one.said is Said.SCHEDULED:
            epochs[one.node, one.partition] = one.epoch
        if one.said in _OF_GROUPS:
            partition = homes.get(one.group)
            epoch = epochs.get((one.node, partition), -1)
            one = Told(one.said, one.node, one.place, partition, epoch, one.group, one.generation)
        placed.append(one)
    return placed


def _two_owners(told: Sequence[Told]) -> Iterator[Breach]:
    """Two brokers that have loaded a partition in one epoch."""
    first: dict[tuple[int | None, int], Told] = {}
    for one in told:
        if one.said is Said.LOADED:
            known = first.setdefault((one.partition, one.epoch), one)
            if known.node != one.node:
                text = f"brokers {known.node} and {one.node} both loaded partition {one.partition} in epoch {one.epoch}"
                yield Breach("one owner in an epoch", f"{text} ({known.place}, {one.place})")


def _loads(told: Sequence[Told]) -> Iterator[Breach]:
    """A load that ends for a coordinator that is gone, and an unload that is older than what it unloads."""
    unloaded: dict[tuple[int, int | None], Told] = {}
    loaded: dict[tuple[int, int | None], Told] = {}
    for one in told:
        key = (one.node, one.partition)
        if one.said is Said.STARTED:
            for known in (loaded, unloaded):
                for of in [item for item in known if item[0] == one.node]:
                    del known[of]
        elif one.said is Said.UNLOADED:
            if key in loaded and loaded[key].epoch > one.epoch >= 0:
                text = f"broker {one.node} unloaded partition {one.partition} for epoch {one.epoch}, and had loaded it for"
                places = f"({loaded[key].place}, {one.place})"
                yield Breach("LoadingEnds, KAFKA-10614", f"{text} epoch {loaded[key].epoch} {places}")
            unloaded[key] = one
            loaded.pop(key, None)
        elif one.said is Said.LOADED:
            if key in unloaded and unloaded[key].epoch > one.epoch:
                text = f"broker {one.node} is active for partition {one.partition} with a load of epoch {one.epoch}, which it"
                places = f"({unloaded[key].place}, {one.place})"
                text = f"{text} had unloaded for epoch {unloaded[key].epoch} {places}"
                yield Breach("AcknowledgedCommitsSurvive, foreign load", text)
            loaded[key] = one


def _generations(told: Sequence[Told]) -> Iterator[Breach]:
    """A coordinator that knows an older generation than was committed, or gives one that was."""
    committed: dict[str, Told] = {}
    of_groups = [one for one in told if one.said in _OF_GROUPS and one.epoch >= 0]
    for one in sorted(of_groups, key=lambda one: one.epoch):  # One owner in an epoch, whose lines are in order.
        known = committed.get(one.group)
        if one.said is Said.DELETED:
            committed.pop(one.group, None)
            continue
        if known is not None and one.generation < known.generation + (one.said is Said.NEW):
            what = "gives" if one.said is Said.NEW else "has"
            text = f"broker {one.node} {what} group {one.group} generation {one.generation} in epoch {one.epoch}, and"
            text = f"{text} {known.generation} was committed in epoch {known.epoch} ({known.place}, {one.place})"
            yield Breach("ReplacedOwnersAreFenced", text)
        if one.said is Said.COMMITTED and (known is None or one.generation > known.generation):
            committed[one.group] = one
