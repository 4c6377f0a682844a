"""Which lemmas the proof of a property needs.

Names, and the claim that with these lemmas a property is inductive, whatever the constants.

Floor 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from acked.base.frozen import frozen
from acked.invariants import compaction, coordinator, share
from acked.invariants.kraft import leader_completeness, metadata_survives, one_leader_per_epoch
from acked.invariants.kraft_lemmas import AFTERWARDS, COMPLETENESS_LEMMAS, DERIVED, ELECTION_LEMMAS
from acked.invariants.partition.domains import EPOCHS_ARE_DENSE
from acked.invariants.partition.lemmas.catalogue import (
    CONTROLLER_EPOCHS_ARE_DENSE,
    CONTROLLER_LEMMAS,
    MACHINE_LEMMAS,
    MOVE_LEMMAS,
    PARTITION_LEMMAS,
    READ_IN_PLACE,
    RECORDS_ASCEND,
    RETURN_LEMMAS,
)
from acked.invariants.partition.lemmas.controllers import one_leader_at_a_time
from acked.invariants.partition.lemmas.words import one_machine_dies
from acked.invariants.partition.properties import PROPERTIES as PARTITION_PROPERTIES
from acked.invariants.property import Kind, Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.invariants.transactions.lemmas import TRANSACTIONS_LEMMAS
from acked.invariants.transactions.properties import PROPERTIES as TRANSACTIONS_PROPERTIES
from acked.model.catalogue import PROTOCOLS
from acked.model.compaction.state import State as CompactionState
from acked.model.coordinator.state import State as CoordinatorState
from acked.model.kraft.state import State as KraftState
from acked.model.language.protocol import Protocol
from acked.model.language.state import Struct
from acked.model.partition.rules import settings
from acked.model.partition.rules.controllers import controllers, max_controller_epoch
from acked.model.partition.rules.facts import forgets_fetched_epoch, moves_again, truncates_by_request
from acked.model.partition.state import State as PartitionState
from acked.model.replication.state import State as ReplicationState
from acked.model.share.state import State as ShareState
from acked.model.transactions.settings import TV2
from acked.model.transactions.state import State as TransactionsState

_DOMAIN = ("LeaderHasEpoch",)
"""Without it, what a leader writes could leave a record's domain."""

_LEADERSHIP = (*_DOMAIN, "EpochSent", "KnowsLeader")
_LOGS = (*_LEADERSHIP, "IdFresh", "RecordEpoch", "LeaderFirst", "LogMatching", "FollowerPrefix")
_COMMITS = tuple(item.name for item in KIP320_LEMMAS)

_ISRS = (*_DOMAIN, "QuorumIsrHasLeader", "RequestIsrHasLeader", "IsrHasLeader")

_IN_EVERY_VARIANT: Mapping[str, tuple[str, ...]] = {
    "LeaderInIsr": _ISRS,
    "HwWithinLog": _ISRS,
    "OneLeaderPerEpoch": _LEADERSHIP,
    "KnownEpochs": _DOMAIN,
    "LeaderEpochsOnlyGrow": (*_DOMAIN, "EpochsWereUsed"),
}

_IN_KIP320: Mapping[str, tuple[str, ...]] = {
    **_IN_EVERY_VARIANT,
    "LogEpochsAscend": _LOGS,
    "WeakIsr": _COMMITS,
    "StrongIsr": ("WeakIsr", *_COMMITS),
    "HwWithinOwnIsr": ("WeakIsr", *_COMMITS),
    "HwWithinQuorumIsr": ("WeakIsr", "StrongIsr", *_COMMITS),
    "CommittedRecordsStay": ("WeakIsr", "StrongIsr", *_COMMITS),
    **{item.name: ("WeakIsr", *_COMMITS) for item in KIP320_LEMMAS},
}

_BY_PROTOCOL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    # Whoever cuts its log at its own high watermark keeps what lies below, whatever that is worth to anyone else.
    "truncate-to-hw": {**_IN_EVERY_VARIANT, "CommittedRecordsStay": _ISRS},
    "kip320": _IN_KIP320,
}

_TRANSACTIONS_RULES = (
    *("timeout_bumps_epoch", "marker_time_kept", "marker_epoch_above", "completion_noticed", "pending_by_epoch"),
)
_OF_INPUTS = ("NoInputTwice", "NoInputLost")


@frozen
class Argument:
    """What is proved of a protocol for all constants at once, and by which induction.

    `clauses` are kept by every action, those at the bottom first; `promises` follow from them in one state, and `of_steps`
    at every step. `goals` are what it is all for, by name. `further` are properties that may be asked besides (`asking`),
    those in `inductive` as clauses. `afterwards` names clauses that the proofs of later ones may use as they are after a
    step; those in `derived` follow from the others in one and the same state, and no action is asked about them. On the
    `small` instances (sizes by name) lemma sets and counterexamples are looked for. `cores` is the file of the lemma sets,
    below `invariants/`. It says nothing of the switches in `uncovered`, which say why, nor of sizes not at least `least`.
    Those of `older_cores` come first, where a step does other things than where `cores` were found: under older rules it does
    more, where a partition is moved an ISR may end a move, and what a crash or an election does to whose machine died is
    another argument.
    With `is_exact` the reading is (`Reading`), as it must be of a protocol whose author nobody asks.
    Actions in `never` cannot happen, and it says why: that none of their steps is seen leaves nothing out.
    A clause or promise in `like` says of something else what the named one says: what proves the one may prove the other.
    """

    clauses: tuple[Property, ...]
    promises: tuple[Property, ...]
    goals: tuple[str, ...]
    small: tuple[Mapping[str, int], ...]
    cores: str
    afterwards: tuple[str, ...] = ()
    uncovered: Mapping[str, str] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    never: Mapping[str, str] = field(default_factory=dict)
    older_cores: str = ""
    further: tuple[Property, ...] = ()
    inductive: tuple[str, ...] = ()
    of_steps: tuple[Property, ...] = ()
    derived: tuple[str, ...] = ()
    is_exact: bool = False
    like: Mapping[str, str] = field(default_factory=dict)

    @property
    def provable(self) -> tuple[Property, ...]:
        """The named properties that it can be asked to prove, its goals first."""
        known = {item.name: item for item in (*self.clauses, *self.promises)}
        return (*(known[name] for name in self.goals if name in known), *self.further)

    def asking(self, names: Iterable[str]) -> Argument:
        """The argument for those of these properties that are `provable`, besides its own goals."""
        known = {item.name: item for item in self.provable}
        asked = frozenset(names)
        more = [item for name, item in known.items() if name in asked and name not in self.goals]
        of_states = [item for item in more if item.kind is Kind.STATE]
        return replace(
            self,
            clauses=(*self.clauses, *(item for item in of_states if item.name in self.inductive)),
            promises=(*self.promises, *(item for item in of_states if item.name not in self.inductive)),
            of_steps=tuple(item for item in more if item.kind is Kind.STEP),
            goals=(*self.goals, *(item.name for item in more)),
        )


_ISR_GOALS = ("WeakIsr", "StrongIsr")

_FAMILY_SIZES = ("replicas", "log_size", "max_records", "max_leader_epoch")
_PARTITION_SIZES = ("replicas", "log_size", "records", "max_leader_epoch", "min_insync_replicas", "in_flight")
_PARTITION_SMALL = ((2, 1, 1, 2, 1, 5), (2, 2, 2, 3, 2, 5), (3, 1, 1, 3, 1, 5), (3, 1, 1, 3, 2, 5))

_PARTITION_GOALS = ("AckedRecordsSurvive", "AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr")
_IDEMPOTENCE_GOALS = ("NoDuplicates", "NoReordering")
"""What an idempotent producer is promised besides, as long as it does not restart."""
_CONSUMER_GOALS = ("ReadsStay",)
"""What a consumer is promised besides."""
_LIKE_ACKED = {READ_IN_PLACE.name: "AckedInPlace", "ReadsStay": "AckedRecordsSurvive"}
"""What was read, in the place of what was acknowledged."""
_PARTITION_FURTHER = ("LogMatching", "OneLeaderPerEpoch", "IsrHasLeader", "LeaderHwStays")
"""What follows from its lemmas as well."""


_UNCOVERED_CONTROLLERS = (
    "where several fail over its lemmas cover clean elections, leaders that stop with their broker (neither zombies nor "
    "leadership_moves), the rules of 2.2 and later (old_controllers_refused, elected_at_once, requests_name_incarnation), "
    "and one request on its way (requests_queued)"
)


_UNCOVERED_FETCHES = (
    "under the rules of 3.5.1 to 3.6.2 (fetched_epoch_kept) a follower whose fetches name no epoch may part from its leader "
    "unnoticed, and its lemmas say nothing of one"
)


_COMPLETENESS = (leader_completeness, metadata_survives)
"""What is asked of logs as well; an argument about elections alone does without most lemmas."""

_UNCOVERED_ELECTIONS = {
    "voters": "its lemma is about static voters, whose majorities have one in common",
    "initial_voters": "its lemma is about servers all of which are voters",
    "upgrades": "its lemma is about voters that stay what they are",
    "formats": "a disk that is lost takes the vote with it",
    "quorum_state_lost": "a vote that is lost may be given again",
    "unflushed": "it was not tried there",
    "snapshots": "it was not tried there",
    "stands": "it was not tried there",
}


def _instances(names: tuple[str, ...], *sizes: tuple[int, ...]) -> tuple[Mapping[str, int], ...]:
    return tuple(dict(zip(names, values, strict=True)) for values in sizes)


def _other_cores(given: Mapping[str, int]) -> str:
    """The file of the lemma sets of `partition` that come first, if there is one."""
    if one_leader_at_a_time.make(given):
        return "partition/partition_controllers_cores.json"
    if not given[settings.asynchronous_isr.name]:
        # Before KIP-497 whoever fetches what the leader has is in the ISR by the same step.
        return "partition/partition_older_cores.json"
    if given[settings.reassignment.name]:
        return "partition/partition_move_cores.json"
    return "partition/partition_machine_cores.json" if one_machine_dies.make(given) else ""


def _more_lemmas(given: Mapping[str, int]) -> tuple[Property, ...]:
    """What the lemmas of `partition` need besides under these constants."""
    asked = (
        (one_leader_at_a_time.make(given), CONTROLLER_LEMMAS),
        (one_machine_dies.make(given), MACHINE_LEMMAS),
        (given[settings.reassignment.name], MOVE_LEMMAS),
        (moves_again.make(given), RETURN_LEMMAS),
    )
    return tuple(item for is_asked, lemmas in asked if is_asked for item in lemmas)


def _uncovered_switches(given: Mapping[str, int]) -> Mapping[str, str]:
    """The switches of `partition` that its argument for all constants says nothing of, and why."""
    found = {
        settings.empty_disks.name: "its lemmas take for granted that whoever may be elected keeps its log",
        settings.late_answers.name: (
            "its lemmas say nothing of what an answer that is on its way brings, nor of a fetcher that goes on with a former "
            "leader"
        ),
        **({} if one_leader_at_a_time.make(given) else {controllers.name: _UNCOVERED_CONTROLLERS}),
    }
    if forgets_fetched_epoch.make(given):
        found |= dict.fromkeys((settings.late_answers.name, settings.unnoticed_restarts.name), _UNCOVERED_FETCHES)
    if not given[settings.reassignment.name]:
        return found
    size = "how many brokers an assignment has is open; with 0 it is shown for any number"
    found |= {settings.moved_to.name: size, settings.moved_in.name: size}
    if not given[settings.moves_in_one_record.name]:
        found[settings.reassignment.name] = "its lemmas take each change of assignment, leader and ISR for one record"
    elif one_machine_dies.make(given):
        found[settings.reassignment.name] = "its lemmas let no machine of an in-sync replica die while the partition is moved"
    elif moves_again.make(given) and given[settings.eligible_leader_replicas.name]:
        found[settings.reassignment.name] = (
            "with eligible leader replicas and moves other than 1 a broker that was removed may be elected when it is back, "
            "whatever it lacks"
        )
    return found


def argument_of(
    protocol: Protocol, switches: Mapping[str, object] | None = None, asked: Iterable[str] = ()
) -> Argument | None:
    """The argument for all constants under some switches, `asked` for more than its goals; None if none is known.

    Without switches it is the argument of what every setting has in common.
    """
    names = frozenset(asked)
    argument = _argument_of(protocol, switches, names)
    return None if argument is None else argument.asking(names)


def _given(protocol: Protocol, switches: Mapping[str, object] | None) -> dict[str, int]:
    """The code of every constant, of those that are not asked for the default."""
    asked = switches or {}
    return {
        item.name: item.read(asked[item.name]) if item.name in asked else item.default or 0 for item in protocol.constants
    }


def _argument_of(protocol: Protocol, switches: Mapping[str, object] | None, asked: frozenset[str]) -> Argument | None:
    if protocol.state is PartitionState:
        return _argument_of_partition(_given(protocol, switches))
    if protocol.state is KraftState:
        return _argument_of_kraft(_given(protocol, switches), asked)
    if protocol.state is ReplicationState:
        return Argument(
            (*KIP320_LEMMAS, *(item for item in PROPERTIES if item.name in _ISR_GOALS)),
            (),
            _ISR_GOALS,
            _instances(_FAMILY_SIZES, (2, 2, 2, 2), (3, 2, 2, 2), (3, 2, 2, 3)),
            f"replication/{protocol.name.replace('-', '_')}_cores.json",
            further=tuple(item for item in PROPERTIES if item.name not in _ISR_GOALS),
            inductive=("LogEpochsAscend",),
        )
    return None


def _argument_of_partition(given: Mapping[str, int]) -> Argument:
    is_idempotent = bool(given[settings.idempotence.name] and given[settings.sequence_check.name])
    is_one_producer = is_idempotent and not given[settings.producer_restarts.name]
    reads = given[settings.consumer.name] != settings.NO_CONSUMER
    more = (*(_IDEMPOTENCE_GOALS if is_one_producer else ()), *(_CONSUMER_GOALS if reads else ()))
    goals = (*_PARTITION_GOALS, *more)
    # Epochs by rank have no place where elections are bounded by an unknown number.
    ranks = (EPOCHS_ARE_DENSE, CONTROLLER_EPOCHS_ARE_DENSE)
    lemmas = tuple(item for item in (*PARTITION_LEMMAS, *_more_lemmas(given)) if item not in ranks)
    dies, several = bool(one_machine_dies.make(given)), bool(one_leader_at_a_time.make(given))
    small = ((2, 1, 1, 2, 2, 5), (3, 1, 1, 3, 2, 5)) if dies else _PARTITION_SMALL
    least = {"replicas": 2, "min_insync_replicas": 2} if dies else {}
    besides = {settings.assigned.name: 1} if given[settings.reassignment.name] else {}
    if several:  # Controller epochs are another number of which nothing is said.
        besides[max_controller_epoch.name] = 2
        least[max_controller_epoch.name] = 1
    return Argument(
        (*lemmas, *((RECORDS_ASCEND,) if is_idempotent else ()), *((READ_IN_PLACE,) if reads else ())),
        tuple(item for item in PARTITION_PROPERTIES if item.name in goals),
        goals,
        tuple({**sizes, **besides} for sizes in _instances(_PARTITION_SIZES, *small)),
        "partition/partition_cores.json",
        ("HwInEpoch", "CommitQuorum"),
        {name: why for name, why in _uncovered_switches(given).items() if given[name]},
        least,
        {"FetchDiverging": "who has truncated has nothing that diverges"} if truncates_by_request.make(given) else {},
        _other_cores(given),
        tuple(item for item in PARTITION_PROPERTIES if item.name in _PARTITION_FURTHER and not item.lacks(given)),
        like=_LIKE_ACKED if reads else {},
    )


def _argument_of_kraft(given: Mapping[str, int], asked: frozenset[str]) -> Argument:
    is_of_logs = not asked.isdisjoint(item.name for item in _COMPLETENESS)
    uncovered = {name: why for name, why in _UNCOVERED_ELECTIONS.items() if given[name]}
    if is_of_logs and not given["leader_change_committed"]:
        uncovered["leader_change_committed"] = "without it later logs lack what was committed (KAFKA-12619)"
    return Argument(
        COMPLETENESS_LEMMAS if is_of_logs else ELECTION_LEMMAS,
        _COMPLETENESS if is_of_logs else (),
        (one_leader_per_epoch.name, *(item.name for item in _COMPLETENESS if is_of_logs)),
        _instances(("servers", "records", "max_epoch"), (2, 1, 2), (3, 1, 2)),
        "kraft_completeness_cores.json" if is_of_logs else "kraft_cores.json",
        AFTERWARDS if is_of_logs else (),
        derived=DERIVED if is_of_logs else (),
        uncovered=uncovered,
        is_exact=True,
        further=() if is_of_logs else _COMPLETENESS,
    )



COUNTERPARTS: Mapping[str, str] = {
    "LeaderIncHighWatermark": "FencedLeaderIncHighWatermark",
    "LeaderShrinkIsr": "FencedLeaderShrinkIsr",
    "LeaderExpandIsr": "FencedLeaderExpandIsr",
    "FollowerReplicate": "FencedFollowerFetch",
    "FollowerFetch": "FencedFollowerFetch",
    "BecomeFollower": "FencedBecomeFollowerAndTruncate",
    "BecomeFollowerTruncateToHighWatermark": "FencedBecomeFollowerAndTruncate",
    "BecomeFollowerTruncateKip101": "FencedBecomeFollowerAndTruncate",
    "BecomeFollowerTruncateKip279": "FencedBecomeFollowerAndTruncate",
}
"""The rule of the fenced protocol that took the place of a rule of an older variant, with the same parameters."""

FENCED = "kip320"
"""The protocol that older variants are compared with."""


def needs_of(protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
    """The names of the lemmas by property, for every property that is known to be provable of the protocol."""
    if protocol.state is not ReplicationState:
        return {}
    return _BY_PROTOCOL.get(protocol.name, _IN_EVERY_VARIANT)


Known = Callable[[Iterable[Property], Mapping[str, int]], "tuple[Property, ...] | None"]
"""The lemmas that the proof of some properties needs under some constants; None if no proof of one is known."""


def _transaction_lemmas(properties: Iterable[Property], constants: Mapping[str, int]) -> tuple[Property, ...] | None:
    """Every transaction needs an epoch of its own, and instances that start a bounded number of times."""
    has_rules = constants["transaction_version"] == TV2 and all(constants[name] for name in _TRANSACTIONS_RULES)
    if not has_rules or constants["restarts"] or constants["offsets"]:
        return None
    provable = {item.name: item for item in TRANSACTIONS_PROPERTIES if item.name not in _OF_INPUTS}
    asked = {item.name for item in properties}
    if not provable.keys() >= asked:
        return None
    # Where it is asked alone, what it rests on is a lemma.
    rests_on_another = "NoAbortedRead" in asked and "NoRecordOfAnother" not in asked
    return (*TRANSACTIONS_LEMMAS, *((provable["NoRecordOfAnother"],) if rests_on_another else ()))


_BY_CONSTANTS: Mapping[type[Struct], tuple[Known, tuple[Property, ...]]] = {
    TransactionsState: (_transaction_lemmas, TRANSACTIONS_LEMMAS),
    ShareState: (share.lemmas_of, share.LEMMAS),
    CompactionState: (compaction.lemmas_of, compaction.LEMMAS),
    CoordinatorState: (coordinator.lemmas_of, coordinator.LEMMAS),
}
"""By a protocol's state, where it depends on the constants: which lemmas are known, and all that there are."""


def lemmas_for(
    protocol: Protocol, properties: Iterable[Property], constants: Mapping[str, int] | None = None
) -> tuple[Property, ...] | None:
    """The lemmas that the proof of the properties needs, those at the bottom first; None if no proof of one is known.

    Where it depends on the constants none is known without them.
    """
    if protocol.state in _BY_CONSTANTS:
        return None if constants is None else _BY_CONSTANTS[protocol.state][0](properties, constants)
    needs = needs_of(protocol)
    names: set[str] = set()
    asked = [item.name for item in properties]
    for name in asked:
        if name not in needs:
            return None
        names.update(needs[name])
    known = (*KIP320_LEMMAS, *PROPERTIES)
    return tuple(item for item in known if item.name in names and item.name not in asked)


def has_induction(
    protocol: Protocol, properties: Iterable[Property], constants: Mapping[str, int] | None = None
) -> bool:
    """Whether induction is what to try first: lemmas are known, or the protocol is one's own.

    Of a protocol of one's own the properties that are asked about are each other's lemmas.
    """
    return lemmas_for(protocol, properties, constants) is not None or PROTOCOLS.get(protocol.name) is not protocol


def all_lemmas(protocol: Protocol, constants: Mapping[str, int] | None = None) -> tuple[Property, ...]:
    """Every lemma that can be read in a protocol's state; whether they hold of it is for a proof to say.

    Those of `partition` where one machine may die, where it is moved, or where several controllers fail over, are among them
    if the constants say so.
    """
    if protocol.state is PartitionState:
        return (*PARTITION_LEMMAS, *(() if constants is None else _more_lemmas(constants)))
    if protocol.state in _BY_CONSTANTS:
        return _BY_CONSTANTS[protocol.state][1]
    return KIP320_LEMMAS if protocol.state is ReplicationState else ()
