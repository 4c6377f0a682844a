"""The group: who has the partition, where it goes on, and which offset is committed.

Sources: `GroupMetadataManager` and `ConsumerCoordinator` of 3.9; KIP-447. Where the partition has two owners: `ConsumerGroup`
of 3.7, whose table of partition epochs forgets a partition that a member is to keep after all (KAFKA-16147), and
`AbstractStickyAssignor` to 2.8.0 and 3.4.0, which believes old claims or overlooks them (KAFKA-12984, KAFKA-14639). A group
that is asked to take an offset looks at member and generation alone, never at who has the partition.
"""

from __future__ import annotations

from acked.model.delivery import settings
from acked.model.delivery.state import COMMITTED, DONE, GOT, IDLE, Input, Member, State
from acked.model.language.action import action, require
from acked.model.language.quantify import ite, some
from acked.model.language.telling import Fault, Role, Telling, Tells
from acked.model.language.values import Bool

GROUP = Role("group coordinator")


def is_owner(s: State, m: Member) -> Bool:
    """The member is an owner of the partition in the group's newest generation; there is one, or two if they share it."""
    return (s.owner == m) | (s.also == m) if settings.shares.on else s.owner == m


def forget_record(s: State, m: Member) -> None:
    """The member has no record in hand."""
    mine = s.member[m]
    mine.record = None
    mine.stage = IDLE
    mine.sent = False


def stop(s: State, m: Member) -> None:
    """The member reads on nowhere."""
    forget_record(s, m)
    s.member[m].assigned = False
    s.member[m].position = None


def _says_given(t: Telling) -> str:
    before = [f"member {m}" for m in (t.before.owner, getattr(t.before, "also", None)) if m is not None]
    others = f"; {' and '.join(before)} {'have' if len(before) > 1 else 'has'} not heard of it so far" if before else ""
    return f"the group gives the partition to member {t.member}{others}"


@action(
    says=_says_given, actor=GROUP, messages=(Tells(GROUP, "member", "has the partition"),),
)
def rebalance(s: State, member: Member) -> None:
    """The group gives the partition to a member: to begin with, when its owner is gone, or from one that has not heard."""
    require("is not its owner", ~is_owner(s, member))
    require("does not believe to have it", ~s.member[member].assigned)
    if not settings.rebalances.on:
        require("nobody has it", s.owner.is_none)
    s.owner = member
    if settings.shares.on:
        s.also = None
    _begin(s, member)


def _begin(s: State, member: Member) -> None:
    s.member[member].assigned = True
    if settings.transacts.on and settings.ids.value == settings.PER_PARTITION:
        s.member[member].initialised = False


@action(
    says=lambda t: f"the group gives the partition to member {t.member} too; member {t.before.owner} of the same generation "
    "keeps it",
    when=lambda: settings.shares.on, actor=GROUP, messages=(Tells(GROUP, "member", "has the partition"),),
)
def give_twice(s: State, member: Member) -> None:
    """The group gives the partition to a second member of the generation (KAFKA-16147, KAFKA-12984, KAFKA-14639)."""
    require("one member has it", s.owner.is_some & s.also.is_none)
    require("is not its owner", ~is_owner(s, member))
    require("does not believe to have it", ~s.member[member].assigned)
    s.also = member
    _begin(s, member)


@action(
    says=lambda t: f"the group leaves the partition to member {t.member} alone; the other has not heard of it so far",
    when=lambda: settings.shares.on, actor=GROUP, messages=(Tells(GROUP, "member", "has the partition"),),
)
def leave_to_one(s: State, member: Member) -> None:
    """The next generation gives the partition to one of its two owners alone."""
    require("two have it", s.also.is_some)
    require("is an owner", is_owner(s, member))
    s.owner = member
    s.also = None


@action(
    says=lambda t: f"member {t.member} hears that it does not have the partition any more, and stops where it is",
    actor="member", messages=(Tells(GROUP, "member", "ILLEGAL_GENERATION"),),
)
def hear_of_loss(s: State, member: Member) -> None:
    """A member hears that the group has given its partition to another."""
    require("believes to have it", s.member[member].assigned)
    require("is not its owner", ~is_owner(s, member))
    stop(s, member)


@action(
    says=lambda t: f"member {t.member} dies, and comes back as a new member",
    when=lambda: settings.crashes.on,
    actor="member", fault=Fault.STOPS,
)
def crash(s: State, member: Member) -> None:
    """A member dies with what it had in hand; the group takes the partition from it."""
    require("has the partition", s.member[member].assigned)
    _take_back(s, member)
    stop(s, member)
    if settings.transacts.on:
        s.member[member].initialised = False


def _take_back(s: State, member: Member) -> None:
    had_it = is_owner(s, member)
    s.owner = ite(s.owner == member, s.also if settings.shares.on else None, s.owner)
    if settings.shares.on:
        s.also = ite(had_it, None, s.also)


def is_pending(s: State) -> Bool:
    """An offset of the partition is in a transaction that is not over."""
    return some(Member, lambda m: s.txn[m].offset.is_some)


@action(
    says=lambda t: f"member {t.member} asks where to go on, and is told offset {t.after.member[t.member].position}",
    actor="member", messages=(
        Tells("member", GROUP, "OffsetFetch"),
        Tells(GROUP, "member", lambda t: f"offset {t.after.member[t.member].position}"),
    ),
)
def fetch_offset(s: State, member: Member) -> None:
    """A member asks for the group's committed offset, once its producer is initialised."""
    mine = s.member[member]
    require("believes to have it", mine.assigned)
    require("does not know where to go on", mine.position.is_none)
    if settings.transacts.on:
        require("is initialised", mine.initialised)
        if settings.stable_offsets.on:
            require("no offset is in a transaction", ~is_pending(s))
    mine.position = s.committed


@action(says=lambda t: f"member {t.member} gets input {t.after.member[t.member].record}", actor="member")
def poll(s: State, member: Member) -> None:
    """A member gets the next record."""
    mine = s.member[member]
    require("knows where to go on", mine.position.is_some)
    require("has no record in hand", mine.stage == IDLE)
    require("a record is left", mine.position.value < settings.inputs)
    mine.record = mine.position.value
    mine.position = mine.position.value + 1
    mine.stage = GOT


@action(
    says=lambda t: f"member {t.member} commits offset {t.after.committed}",
    when=lambda: settings.commits.value in (settings.BEFORE, settings.AFTER),
    actor="member", messages=(Tells("member", GROUP, lambda t: f"OffsetCommit: {t.after.committed}"),),
)
def commit_offset(s: State, member: Member) -> None:
    """A member commits the offset after its record, before or after it has processed it."""
    mine = s.member[member]
    require("it is time to", mine.stage == (GOT if settings.commits.value == settings.BEFORE else DONE))
    require("is the partition's owner", is_owner(s, member))
    s.committed = mine.position.value
    if settings.commits.value == settings.BEFORE:
        mine.stage = COMMITTED
    else:
        forget_record(s, member)


@action(
    says=lambda t: f"poll commits offset {t.after.committed} for member {t.member} by itself",
    when=lambda: settings.commits.value == settings.AUTO,
    actor="member", messages=(Tells("member", GROUP, lambda t: f"OffsetCommit: {t.after.committed}"),),
)
def commit_by_poll(s: State, member: Member) -> None:
    """The interval is over: poll commits the offset after all records that it has returned so far.

    The position moves when a record is collected for the application. The background thread of the new consumer of 3.7 to
    3.9 (`CommitRequestManager.poll`) commits that position whenever the interval is over; from 4.0 on it does so before
    `AsyncKafkaConsumer.poll` collects anything, and poll waits for it (KAFKA-18641).
    """
    mine = s.member[member]
    require("knows where to go on", mine.position.is_some)
    require("is the partition's owner", is_owner(s, member))
    require("it is news", mine.position.value != s.committed)
    if not settings.threads.on and settings.commits_returned.on:
        require("has no record in hand", mine.stage == IDLE)
    s.committed = mine.position.value


@action(
    says=lambda t: f"the group's next coordinator does not have offset {t.before.committed}, but {t.after.committed}",
    when=lambda: not settings.keeps_offsets.on,
    actor=GROUP, fault=Fault.RESTARTS,
)
def forget_commit(s: State, offset: Input) -> None:
    """The next coordinator has an older offset than was committed (`coordinator`, `GroupActsAsOne`)."""
    require("an older one", offset < s.committed)
    s.committed = offset
