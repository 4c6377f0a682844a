"""What a plan changes: the replicas of each partition now and then, and groups of partitions that are moved alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from acked.audit.clusters.live import assume_producers
from acked.audit.clusters.topics import TopicGroup, groups_of
from acked.audit.decision.gather import Given, Recognised, facts_in
from acked.audit.decision.settings import MAX_REPLICAS
from acked.audit.moves.plan import ReassignmentPlan
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, SettingEntry
from acked.cluster.vocabulary.note import Assigned, Note

SOURCES = "what kafka-topics --describe prints, or the current assignment that kafka-reassign-partitions --generate prints"


@frozen(order=True)
class MoveShape:
    """What counts of a move: how many replicas there are, how many there shall be, and how many of those are new."""

    replicas: int
    target: int
    added: int

    @property
    def removed(self) -> int:
        """Replicas that shall be none any more."""
        return self.replicas - self.target + self.added

    @property
    def brokers(self) -> int:
        """Brokers that have a part in it."""
        return self.replicas + self.added

    @property
    def words(self) -> str:
        """`3 replicas, 1 added and 1 removed`."""
        parts = [f"{count} {what}" for count, what in ((self.added, "added"), (self.removed, "removed")) if count]
        return f"{self.replicas} replica{'s' if self.replicas > 1 else ''}, {' and '.join(parts)}"

    @classmethod
    def from_assignments(cls, now: Assigned, then: Assigned) -> MoveShape:
        """Of a partition."""
        return cls(len(now.replicas), len(then.replicas), len(set(then.replicas) - set(now.replicas)))


@frozen
class Move:
    """A partition that is to be moved; `note` is what says where it is now."""

    now: Assigned
    then: Assigned
    note: Note

    @property
    def shape(self) -> MoveShape:
        """What counts of it."""
        return MoveShape.from_assignments(self.now, self.then)


@frozen
class MoveGroup:
    """Partitions of one group of topics that are moved alike; `refusal` says why nothing can be asked."""

    topics: TopicGroup
    shape: MoveShape
    moves: tuple[Move, ...]
    refusal: str = ""

    def settings_with(self, replicas: int) -> Given:
        """The settings that count, with so many replicas."""
        note = self.moves[0].note
        said = SettingEntry(
            REPLICATION_FACTOR, str(replicas), note.file, note.line, note.scope, note.entity, said_by=note.said_by
        )
        entries = self.topics.given.entries
        return replace(self.topics.given, entries={**entries, REPLICATION_FACTOR: said})

    def assume_producers(self) -> list[MoveGroup]:
        """The group for each of the producers that are assumed where a cluster is read, which has none."""
        return [replace(self, topics=topics) for topics in assume_producers([self.topics])]


@frozen
class Moves:
    """What a plan changes, in groups, and the partitions whose replicas it leaves as they are."""

    groups: tuple[MoveGroup, ...]
    unchanged: tuple[str, ...]


def add_assignment(found: Recognised, plan: ReassignmentPlan) -> Recognised:
    """With what the plan's own file says of the assignment as it is."""
    sizes = plan.sizes
    return replace(found, read=(*found.read, *sizes, *plan.notes), known=(*sizes, *found.known))


def moves_of(found: Recognised, plan: ReassignmentPlan, entities: Iterable[str] = ()) -> Moves:
    """What the plan changes; `ConfigurationError` for a partition of which is not known where it is, or is moved already."""
    moves, unchanged = [], []
    current = _current(found)
    for then in plan.wanted:
        if (known := current.get((then.topic, then.partition))) is None:
            raise ConfigurationError(
                f"{plan.file}: {then.name} is to be moved, and no file says which replicas it has now; name one with "
                f"{SOURCES}"
            )
        now, note = known
        if now.is_moving:
            raise ConfigurationError(
                f"{note.where}: {then.name} is being moved already; let that end, or cancel it, and describe the topic again"
            )
        if set(now.replicas) == set(then.replicas):
            unchanged.append(then.name)
        else:
            moves.append(Move(now, then, note))
    return Moves(tuple(_groups(found, moves, entities)), tuple(unchanged))


def _current(found: Recognised) -> dict[tuple[str, int], tuple[Assigned, Note]]:
    current: dict[tuple[str, int], tuple[Assigned, Note]] = {}
    for fact, note in facts_in(found.read):
        if not isinstance(fact, Assigned):
            continue
        known = current.setdefault((fact.topic, fact.partition), (fact, note))
        if set(known[0].replicas) != set(fact.replicas):
            raise ConfigurationError(
                f"{known[1].where} and {note.where} say different replicas of {fact.name}; leave out the older one"
            )
    return current


def _groups(found: Recognised, moves: Sequence[Move], entities: Iterable[str]) -> list[MoveGroup]:
    names = {move.then.topic for move in moves}
    groups: list[MoveGroup] = []
    for topics in groups_of(found.only(names), None, tuple(entities), with_internal=True) if moves else []:
        by_shape: dict[MoveShape, list[Move]] = {}
        for move in moves:
            if move.then.topic in topics.topics:
                by_shape.setdefault(move.shape, []).append(move)
        groups += [MoveGroup(topics, shape, tuple(own), _refusal(topics, shape)) for shape, own in sorted(by_shape.items())]
    return groups


def _refusal(topics: TopicGroup, shape: MoveShape) -> str:
    if topics.refusal:
        return topics.refusal
    if shape.brokers > MAX_REPLICAS:
        return (
            f"{shape.brokers} brokers have a part in the move, and at most {MAX_REPLICAS} can be asked about; move fewer "
            "replicas at a time"
        )
    return ""
