"""The combinations of one release, protocol by protocol, from what the protocols and the audit's tables already name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from types import MappingProxyType

from acked.audit.decision.faults import BEFORE_KIP_380, AuditQuestion, CrashKind, Faults
from acked.audit.decision.questions import QUESTIONS
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.base.release import Release
from acked.invariants.catalogue import properties_of
from acked.invariants.property import ONE_TRACE
from acked.model.catalogue import PROTOCOLS
from acked.model.compaction import settings as compaction
from acked.model.coordinator import settings as coordinator
from acked.model.delivery import settings as delivery
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol
from acked.model.language.storage.composites import StructDomain
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import planes_of, rules_of
from acked.model.share import settings as share
from acked.model.transactions import settings as transactions

MOST_FAULTS = 2
"""Of what may go wrong beside crashes so much at once."""

NEVER = "never"
"""What a property says of when it is promised, if it is a common sentence and no promise."""

_BOUNDS = ("lossy_crashes", "moves", "moved_to", "moved_in")
"""Circumstances that only bound another one; as they are by default they bound least."""

_VIEWED = ("consumer", "offset_queries")
"""Circumstances that are no faults: who looks."""


@frozen
class HuntedRelease:
    """A release with its control plane, as the protocols know it."""

    release: Release
    plane: str

    @classmethod
    def of(cls, release: Release, plane: str | None = None) -> HuntedRelease:
        """With its own control plane, unless another is named; `ConfigurationError` where it does not run on that."""
        planes = planes_of(rules_of(release))
        if plane is not None and plane not in planes:
            raise ConfigurationError(f"Kafka {release.name} runs on {choices(planes)}, not on {plane}")
        return cls(release, plane or planes[0])

    def profile(self, protocol: Protocol) -> dict[str, int]:
        """Its rules and defaults, as constants of a protocol."""
        plane = self.plane if protocol is PROTOCOLS["partition"] else None
        rules = self.release.newest_of(protocol.releases)
        return {name: setting.value for name, setting in protocol.profile(rules, plane).items()}


@frozen
class HuntQuestion:
    """Promises under one combination: what users set, what goes wrong, and all constants of the protocol.

    `possible_faults` are the constants that say what goes wrong. `cost` grows with what is asked at once, and with settings
    for which nobody is promised anything. `unusual` counts the settings that are not those of most topics.
    """

    protocol: str
    settings: tuple[tuple[str, int | str], ...]
    faults: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]
    promises: tuple[str, ...]
    possible_faults: tuple[str, ...]
    cost: int
    unusual: int = 0


def questions_of(hunted: HuntedRelease, protocols: Sequence[str], faults: Sequence[str] = ()) -> list[HuntQuestion]:
    """Every question about a release, once; if `faults` are named, those where nothing else goes wrong.

    `ConfigurationError` for a protocol that is not hunted, and for a fault that none of them has.
    """
    for name in protocols:
        if name not in SPACES:
            hint = f"{near(name, SPACES)}; choose from {choices(SPACES)}"
            raise ConfigurationError(f"--protocols: {name!r} is not hunted{hint}")
    wanted = _Wanted(frozenset(faults))
    found: dict[object, HuntQuestion] = {}
    for question in (question for name in protocols for question in SPACES[name](hunted, wanted)):
        found.setdefault((question.constants, question.promises), question)
    for name in faults:
        if name not in wanted.seen:
            hint = f"{near(name, wanted.seen)}; choose from {choices(sorted(wanted.seen))}"
            raise ConfigurationError(f"--faults: there is no fault {name!r}{hint}")
    return list(found.values())


@dataclass
class _Wanted:
    """Which combinations of faults are asked about, all of them if none is named; `seen` are those that there are."""

    faults: frozenset[str]
    seen: set[str] = field(default_factory=set)

    def __contains__(self, names: tuple[str, ...]) -> bool:
        self.seen.update(names)
        return not self.faults or self.faults.issuperset(names)


def _promises(protocol: Protocol, constants: Mapping[str, int]) -> tuple[str, ...]:
    """What is promised of a protocol, of the parts that the constants have, and can be seen in one trace."""
    return tuple(
        item.name
        for item in properties_of(protocol).values()
        if item.kind in ONE_TRACE and not item.since.startswith(NEVER) and not item.lacks(constants)
    )


def _sets(faults: Sequence[str], most: int = MOST_FAULTS) -> Iterator[tuple[str, ...]]:
    for count in range(most + 1):
        yield from combinations(faults, count)


# -- partition ----------------------------------------------------------------------------------------------------------

_PARTITION_FAULTS = tuple(item.name for item in settings.CIRCUMSTANCES if item.name not in (*_VIEWED, "moves"))
_LEAST_SIZES = {"log_size": 1, "records": 1}
_REPLICAS = 3
"""Those of most topics, which take records with a broker down (min.insync.replicas 1, by default, or 2)."""


def partition_questions(hunted: HuntedRelease, wanted: _Wanted) -> Iterator[HuntQuestion]:
    """acks, replicas, min.insync.replicas and unclean elections × kinds of crashes × what else may go wrong × who looks."""
    protocol = PROTOCOLS["partition"]
    profile = protocol.bind({**_LEAST_SIZES, **hunted.profile(protocol)})
    for chosen, (kind, more, faults) in product(_partition_settings(), partition_faults(hunted)):
        names = (*(() if kind is CrashKind.NONE and more else (kind.value,)), *more)
        if names not in wanted:
            continue
        unpromised = (chosen[settings.acks.name] == settings.ACKS_0) + chosen[settings.unclean_election.name]
        unusual = unpromised + (chosen["replicas"] != _REPLICAS) + (chosen[settings.min_insync_replicas.name] == _REPLICAS)
        for view, constants in _views(profile, {**chosen, **_moving(chosen, faults)}):
            bound = {**profile, **constants, **faults}
            asked = _looked_at(view, _promises(protocol, bound))
            if asked:
                shown = tuple((name, _shown(protocol, name, value)) for name, value in chosen.items())
                cost = len(more) + unpromised + bound["log_size"] * bound["records"] - 1
                whole = tuple(bound.items())
                yield HuntQuestion(protocol.name, shown, names, whole, asked, _PARTITION_FAULTS, cost, unusual)


def partition_faults(hunted: HuntedRelease) -> list[tuple[CrashKind, tuple[str, ...], dict[str, int]]]:
    """Kinds of crashes with some of what else may go wrong, each of which has an effect in the release."""
    is_old = not hunted.release.since(BEFORE_KIP_380)
    none = (settings.crashes.name, *_BOUNDS, *_VIEWED)
    besides = [item.name for item in settings.CIRCUMSTANCES if item.default == 0 and item.name not in none]
    found = []
    for kind in CrashKind:
        crashes = Faults(kind).constants(is_old)
        shape = _shapes(hunted, crashes)
        for more in _sets(besides):
            if any(crashes.get(name) for name in more):
                continue  # The kind of crashes has it already.
            whole, *shapes = shape(frozenset(more)), *(shape(frozenset(more) - {name}) for name in more)
            if None not in (whole, *shapes) and whole not in shapes:
                found.append((kind, more, {**crashes, **dict.fromkeys(more, 1)}))
    return found


def _shapes(hunted: HuntedRelease, crashes: Mapping[str, int]) -> Callable[[frozenset[str]], object]:
    """`_shape` of some faults beside crashes, each once: most are asked for by every larger set of faults, too."""
    return cache(lambda more: _shape(hunted, {**crashes, **dict.fromkeys(more, 1)}))


def _shape(hunted: HuntedRelease, faults: Mapping[str, int]) -> object:
    """What tells whether a fault has an effect: fields of the state, and actions; None where faults refuse each other."""
    protocol = PROTOCOLS["partition"]
    try:
        bound = protocol.bind({**_LEAST_SIZES, **hunted.profile(protocol), **faults})
        protocol.settle({name: value for name, value in faults.items() if value}, bound, hunted.plane)
        # What a layout says besides takes three times as long, of hundreds of sets of faults.
        fields = tuple(domain.cardinality(bound) for _, domain in StructDomain(protocol.state).leaves((), bound))
        return fields, tuple(item.name for item in protocol.actions_under(bound))
    except ModelError:
        return None


def _partition_settings() -> Iterator[dict[str, int]]:
    """What people set of a topic and of its producers; min.insync.replicas counts for acks=all alone."""
    for acks, replicas, unclean in product(range(settings.ACKS_ALL, -1, -1), (3, 2), (0, 1)):
        for least in range(replicas if acks == settings.ACKS_ALL else 1, 0, -1):
            yield {
                settings.acks.name: acks, settings.replicas.name: replicas, settings.min_insync_replicas.name: least,
                settings.unclean_election.name: unclean,
            }  # fmt: skip


def _moving(chosen: Mapping[str, int], faults: Mapping[str, int]) -> dict[str, int]:
    """Where the partition moves, a broker more than it has replicas, if three will do."""
    if not faults.get(settings.reassignment.name) or chosen["replicas"] > 2:
        return {}
    return {settings.assigned.name: chosen["replicas"], "replicas": chosen["replicas"] + 1}


def _views(
    profile: Mapping[str, int], chosen: Mapping[str, int]
) -> Iterator[tuple[Collection[str] | None, dict[str, int]]]:
    """Who looks, and at which promises (None: at all the others).

    A consumer and a producer that sends once; a client that asks for offsets; a producer with the release's defaults. Sizes
    are those of the audit's questions; where one record may do, that first.
    """
    sizes = {item.asked: {"log_size": item.log_size, "records": item.records} for item in QUESTIONS}
    once = {**chosen, "retries": 0, "idempotence": 0}
    # What is lost beside a consumer is lost without: nobody but its own reads asks what it has read.
    yield None, {**once, **_LEAST_SIZES, "consumer": settings.FROM_LEADER}
    yield None, {**once, **sizes[AuditQuestion.VANISHING], "consumer": settings.FROM_LEADER}
    yield _OF_CLIENTS, {**once, **sizes[AuditQuestion.REORDERING], "offset_queries": 1}
    by_default = {name: profile[name] for name in ("retries", "idempotence")}
    if chosen["acks"] != settings.ACKS_ALL:
        by_default["idempotence"] = 0  # Kafka refuses it there.
    for asked in (AuditQuestion.DUPLICATES, AuditQuestion.REORDERING):
        in_flight = min(profile["in_flight"], sizes[asked]["records"])
        yield _OF_PRODUCERS, {**chosen, **by_default, **sizes[asked], "in_flight": in_flight}


_OF_CLIENTS = ("LatestOffsetStays",)
_OF_PRODUCERS = ("NoDuplicates", "NoReordering", "NoGaps")


def _looked_at(view: Collection[str] | None, promises: Sequence[str]) -> tuple[str, ...]:
    others = (*_OF_CLIENTS, *_OF_PRODUCERS)
    return tuple(name for name in promises if (name in view if view is not None else name not in others))


def _shown(protocol: Protocol, name: str, value: int) -> int | str:
    return next(item.show(value) for item in protocol.constants if item.name == name)


# -- transactions and groups ----------------------------------------------------------------------------------------------

_NOTHING = (CrashKind.NONE.value,)
_LATE = tuple(item.name for item in transactions.CIRCUMSTANCES if item.name.startswith("late_"))


def transactions_questions(hunted: HuntedRelease, wanted: _Wanted) -> Iterator[HuntQuestion]:
    """An application with or without offsets in its transactions × requests that are late, and instances that restart."""
    protocol = PROTOCOLS["transactions"]
    faults = (*_LATE, transactions.restarts.name)
    calm = dict.fromkeys(faults, 0)
    for offsets, names in product((0, 1), _sets(faults)):
        chosen = {transactions.offsets.name: offsets}
        if (named := names or _NOTHING) in wanted:
            faults_on = {**calm, **dict.fromkeys(names, 1)}
            yield from _question(protocol, hunted, chosen, named, faults_on, len(names) + offsets)


def delivery_questions(hunted: HuntedRelease, wanted: _Wanted) -> Iterator[HuntQuestion]:
    """How an application commits its offsets × members that die, rebalances, answers that are lost."""
    protocol = PROTOCOLS["delivery"]
    faults = [item.name for item in (delivery.crashes, delivery.rebalances, delivery.lost_answers)]
    calm = dict.fromkeys(faults, 0)
    for commits, ids, names in product(range(delivery.IN_TRANSACTION + 1), (0, 1), _sets(faults, len(faults))):
        if ids and commits != delivery.IN_TRANSACTION:
            continue  # Without transactions there are no transactional ids.
        chosen = {delivery.commits.name: commits, delivery.ids.name: ids}
        if (named := names or _NOTHING) in wanted:
            yield from _question(protocol, hunted, chosen, named, {**calm, **dict.fromkeys(names, 1)}, len(names))


# -- what stands on the log -----------------------------------------------------------------------------------------------

_GROUPS = tuple(item.name for item in coordinator.CLIENTS)
_ONCE, _BACK_AND_FORTH = 2, 3
"""Leader epochs: leadership moves once, or goes away and comes back."""


def coordinator_questions(hunted: HuntedRelease, wanted: _Wanted) -> Iterator[HuntQuestion]:
    """Replicas of __consumer_offsets, min.insync.replicas, unclean elections × what a group does beside commits × replicas
    that lag, and lost disks, with leadership that moves once or comes back.
    """
    protocol = PROTOCOLS["coordinator"]
    faults = (coordinator.shrinks.name, coordinator.lost_disks.name)
    calm = dict.fromkeys(faults, 0)
    replicas = [(n, least, unclean) for n in (3, 2, 1) for least in range(n, 0, -1) for unclean in range(min(n, 2))]
    elections = (_ONCE, _BACK_AND_FORTH)
    for (n, least, unclean), does, names, epochs in product(replicas, _sets(_GROUPS, 1), _sets(faults), elections):
        if (named := names or _NOTHING) not in wanted or (n == 1 and coordinator.shrinks.name in names):
            continue
        chosen = {
            coordinator.brokers.name: n, coordinator.min_isr.name: least, coordinator.unclean.name: unclean,
            **dict.fromkeys(_GROUPS, 0), **dict.fromkeys(does, 1),
        }  # fmt: skip
        more = {coordinator.records.name: 3 + len(does), coordinator.max_epoch.name: epochs}
        if coordinator.batches.name in does:  # What becomes of one where a foreign load ends is not modelled.
            more |= {coordinator.own_load_only.name: 1, coordinator.commits.name: 3}
        cost = len(names) + unclean + len(does) + epochs - _ONCE + (n > 2)  # Three replicas have many more states.
        faults_on = {**calm, **dict.fromkeys(names, 1)}
        yield from _question(protocol, hunted, chosen, named, faults_on, cost, (n != _REPLICAS) + unclean, more)


_WRITES = (compaction.producers.name, compaction.deletes.name, compaction.reader.name)


def compaction_questions(hunted: HuntedRelease, wanted: _Wanted) -> Iterator[HuntQuestion]:
    """cleanup.policy, transactions, DeleteRecords and a reader × replicas that lag or copy, and keys: many, or integers."""
    protocol = PROTOCOLS["compaction"]
    faults = (compaction.lags.name, compaction.follower.name, compaction.map_keys.name, compaction.integer_keys.name)
    calm = dict.fromkeys(faults, 0)
    for expires, does, names in product((0, 1), _sets(_WRITES, len(_WRITES)), _sets(faults)):
        if (named := names or _NOTHING) not in wanted or {compaction.lags.name, compaction.follower.name} <= set(names):
            continue
        chosen = {compaction.expires.name: expires, **dict.fromkeys(_WRITES, 0), **dict.fromkeys(does, 1)}
        more = {compaction.keys.name: 1 + (compaction.integer_keys.name in names)}
        faults_on = {**calm, **dict.fromkeys(names, 1)}
        yield from _question(protocol, hunted, chosen, named, faults_on, len(names) + len(does) + expires, expires, more)


def share_questions(hunted: HuntedRelease, wanted: _Wanted) -> Iterator[HuntQuestion]:
    """share.auto.offset.reset and the limit of deliveries × sessions that end, writes that fail, come late or twice, and
    leaders that go on, with leadership that moves once or twice.
    """
    protocol = PROTOCOLS["share"]
    faults = tuple(item.name for item in share.CIRCUMSTANCES if item not in (share.latest, share.deliveries))
    calm = dict.fromkeys(faults, 0)
    limits, elections = (share.delivery_limit.default or 1, 1), (_ONCE, _BACK_AND_FORTH)
    for latest, limit, names, epochs in product((1, 0), limits, _sets(faults), elections):
        chosen = {share.latest.name: latest, share.delivery_limit.name: limit}
        if (named := names or _NOTHING) in wanted:
            more = {share.max_epoch.name: epochs, share.deliveries.name: 1}
            cost, unusual = len(names) + epochs - _ONCE, int(limit == 1)
            faults_on = {**calm, **dict.fromkeys(names, 1)}
            yield from _question(protocol, hunted, chosen, named, faults_on, cost, unusual, more)


def _question(
    protocol: Protocol, hunted: HuntedRelease, chosen: Mapping[str, int], names: tuple[str, ...],
    faults: Mapping[str, int], cost: int, unusual: int = 0, more: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[HuntQuestion]:  # fmt: skip
    """The question of such settings and faults; `more` are constants that are neither."""
    bound = protocol.bind({**hunted.profile(protocol), **more, **chosen, **faults})
    asked = _promises(protocol, bound)
    if asked:
        shown = tuple((name, _shown(protocol, name, value)) for name, value in chosen.items())
        yield HuntQuestion(protocol.name, shown, names, tuple(bound.items()), asked, tuple(faults), cost, unusual)


SPACES: Mapping[str, Callable[[HuntedRelease, _Wanted], Iterator[HuntQuestion]]] = {
    "partition": partition_questions, "transactions": transactions_questions, "delivery": delivery_questions,
    "coordinator": coordinator_questions, "compaction": compaction_questions, "share": share_questions,
}  # fmt: skip
"""By protocol what is asked of a release."""
