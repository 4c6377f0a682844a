"""The lemmas of `partition`: they hold in all reachable states, and are inductive where docs/partition_proof.md says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import ProofResult
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.partition.lemmas import commits, words
from acked.invariants.partition.lemmas.catalogue import PARTITION_LEMMAS, READ_IN_PLACE, RECORDS_ASCEND
from acked.invariants.partition.lemmas.words import every_electable, is_electable, leads_in_newest_epoch, may_commit
from acked.invariants.property import Property
from acked.model.language.protocol import Instance
from acked.model.language.quantify import every, implies
from acked.model.language.values import Bool
from acked.model.partition.common import counted_isr, presumes_leadership, share_epoch
from acked.model.partition.protocol import partition
from acked.model.partition.state import Offset, Replica, State
from tests.places import CHECKOUT
from tools.proofs import NEED

LIMITS = Limits(1, 300.0)
PROMISES = tuple(properties_of(partition)[name] for name in ("AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr"))
CLEAN: dict[str, Any] = {"acks": "all", "crashes": "clean", "retries": False, "idempotence": False}
STALE: dict[str, Any] = {"zombies": True, "leadership_moves": True}
HARDER: dict[str, Any] = {"retries": True, "idempotence": True, "crashes": "lossy outside the ISR"}
SMALL: dict[str, Any] = {"replicas": 2, "log_size": 1, "records": 1}
TWO: dict[str, Any] = {"replicas": 2, "log_size": 2, "records": 2}
THREE: dict[str, Any] = {"replicas": 3, "log_size": 1, "records": 1, "min_insync_replicas": 2}
PAGE = CHECKOUT / "docs" / "partition_proof.md"


def latest(*parts: Mapping[str, Any]) -> Instance:
    return of_release(LATEST, *parts)


def of_release(version: str, *parts: Mapping[str, Any]) -> Instance:
    constants = {name: setting.value for name, setting in partition.profile(version, None).items()}
    for part in (CLEAN, {"unclean_election": False}, *parts):
        constants |= part
    return partition.instantiate(constants)


def attempt(lemmas: Sequence[Property], *parts: dict[str, Any]) -> ProofResult:
    return prove(latest(*parts), lemmas)


def prove(instance: Instance, lemmas: Sequence[Property]) -> ProofResult:
    return prove_by_induction(Question(instance, PROMISES), lemmas, LIMITS, InductionOptions(every_claim=True))


def broken(result: ProofResult) -> dict[str, set[str]]:
    """What each action breaks; all fields that leave their domain are one."""
    assert result.induction is not None
    return {
        action.name: {"domains" if name.endswith("domain") else name for name in action.broken}
        for action in result.induction.actions
    }


@dataclass(frozen=True)
class Need:
    """What a lemma's text says of its absence: a step of this action breaks these claims, in an instance that small."""

    lemma: str
    action: str
    claims: frozenset[str]
    size: tuple[int, int, int]
    version: str
    zombies: bool

    def instance(self) -> Instance:
        """The instance, with this one action."""
        replicas, log_size, records = self.size
        sizes = {"replicas": replicas, "log_size": log_size, "records": records, "min_insync_replicas": replicas - 1}
        faults = STALE if self.version == LATEST else {"zombies": self.zombies}
        return only(self.action, of_release(self.version, sizes, faults))


def only(action: str, instance: Instance) -> Instance:
    """The instance without its other actions."""
    instance.actions = tuple(item for item in instance.actions if item.action.name == action)
    instance.action_rules = tuple(item for item in instance.action_rules if item.name == action)
    return instance




def need_of(lemma: Property) -> Need:
    found = NEED.search(" ".join(str(lemma.predicate.__doc__).split()))
    assert found, lemma.name
    action, claims, *size, version, zombies = found.groups()
    replicas, log_size, records = map(int, size)
    broken_claims = frozenset(claims.split(", "))
    return Need(lemma.name, action, broken_claims, (replicas, log_size, records), version or LATEST, zombies is not None)


NEEDS = [need_of(item) for item in PARTITION_LEMMAS]
QUICK = ("LeaderHasEpoch", "StaleLeader", "LateFollower", "HwInEpoch", "DeposedIsOut", "TruncatedFollower")


ALL = {"AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr"}
BREAKS = {
    "Produce": {*ALL, "domains"},
    "ProduceWhileHwWaits": {"domains"},
    **dict.fromkeys(("BecomeLeader", "LearnIsr", "CommitAlterPartition", "FetchUnanswered", "ElectLeader"), ALL),
    "FetchDiverging": {"AckedRecordsInIsr"},
    "MoveLeadership": {"CommittedInIsr", "HwWithinIsr"},
}
"""What a step of each action breaks if nothing but the promises is assumed."""

HARMLESS = (
    "initial state", "GiveUp", "LearnIsrWhileHwWaits", "AskToShrink", "AskToExpand", "RefuseAlterPartition", "BecomeFollower",
    "FetchRecord", "FetchNothingNew", "FetchAtOnce", "FetchWhileHwWaits", "Crash", "Restart", "LoseSession", "RegainSession",
)  # fmt: skip
"""Actions of which no step breaks a promise then."""


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((SMALL, STALE, HARDER), id="smallest"),
        pytest.param((TWO, STALE), id="stale leaders"),
        pytest.param((THREE,), id="three brokers"),
        pytest.param((TWO, STALE, HARDER), id="stale leaders, retries, lossy outside the ISR", marks=pytest.mark.long),
        pytest.param((THREE, {"leadership_moves": True}), id="three brokers, moves", marks=pytest.mark.long),
    ],
)
def test_every_lemma_holds_in_every_reachable_state(parts: tuple[dict[str, Any], ...]) -> None:
    question = Question(latest(*parts), (*PROMISES, *PARTITION_LEMMAS))
    result = search(question, Bounds(memory=4 << 30), StopPolicy.EVERY_PROPERTY)
    assert [item.property.name for item in result.violations] == []
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states > 10_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((SMALL,), id="crashes", marks=pytest.mark.long),  # What happens there happens in the last one, too.
        pytest.param((SMALL, STALE), id="stale", marks=pytest.mark.long),
        pytest.param((SMALL, STALE, HARDER), id="harder"),
    ],
)
def test_the_latest_release_keeps_its_promises_in_runs_of_any_length(parts: tuple[dict[str, Any], ...]) -> None:
    result = attempt(PARTITION_LEMMAS, *parts)
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert not any(action.never_fires for action in result.induction.actions)


@pytest.mark.slow
def test_the_page_lists_what_each_action_breaks_without_lemmas() -> None:
    assert broken(attempt((), SMALL, STALE)) == {**BREAKS, **{name: set() for name in HARMLESS}}


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "need", [pytest.param(item, id=item.lemma, marks=() if item.lemma in QUICK else pytest.mark.long) for item in NEEDS]
)
def test_without_the_lemma_the_step_that_its_text_names_breaks_what_it_says(need: Need) -> None:
    result = prove(need.instance(), [item for item in PARTITION_LEMMAS if item.name != need.lemma])
    assert broken(result)[need.action] >= need.claims


@pytest.mark.slow
@pytest.mark.parametrize("action", ["BecomeLeader", pytest.param("", id="every action", marks=pytest.mark.long)])
def test_records_are_there_once_and_in_order_by_a_lemma_more(action: str) -> None:
    """Without RecordsAscend a step by which a log is first read breaks what consumers see; with it no step does."""
    promises = tuple(properties_of(partition)[name] for name in ("NoDuplicates", "NoReordering"))
    for lemmas, expected in (((), {item.name for item in promises}), ((RECORDS_ASCEND,), set())):
        instance = latest(TWO, STALE, {"retries": True, "idempotence": True})
        question = Question(only(action, instance) if action else instance, promises)
        result = prove_by_induction(question, (*PARTITION_LEMMAS, *lemmas), LIMITS, InductionOptions(every_claim=True))
        assert set().union(*broken(result).values()) == expected


@pytest.mark.slow
@pytest.mark.parametrize("action", ["BecomeLeader", pytest.param("", id="every action", marks=pytest.mark.long)])
def test_what_a_consumer_read_stays_by_a_lemma_more(action: str) -> None:
    """Without ReadInPlace a step of a new leader breaks ReadsStay; with it no step does, whoever is read from."""
    promise = properties_of(partition)["ReadsStay"]
    for consumer, lemmas, expected in (("leader", (), {"ReadsStay"}), ("followers", (READ_IN_PLACE,), set())):
        instance = latest(SMALL, STALE, {"consumer": consumer})
        question = Question(only(action, instance) if action else instance, (promise,))
        result = prove_by_induction(question, (*PARTITION_LEMMAS, *lemmas), LIMITS, InductionOptions(every_claim=True))
        assert set().union(*broken(result).values()) == expected


def known_to_the_newest_leader_only(s: State) -> Bool:
    """KnownEndIsHeld, but of a stale leader nothing."""

    def held(leader: Replica, f: Replica) -> Bool:
        known, mine, theirs = s.known_end[leader][f], s.log[leader], s.log[f]
        agree = every(Offset, lambda o: implies((known > o) & theirs.has(o), theirs.same_record_at(mine, o)))
        keeps = is_electable(s, f) | words.may_yet_join(s, leader, f)
        return implies(leads_in_newest_epoch(s, leader) & (leader != f), agree & implies(keeps, known <= theirs.end))

    return every(Replica, lambda a: every(Replica, lambda f: held(a, f)))


def counted_but_for_the_last_leader(s: State) -> Bool:
    """IsrIsCounted, but the last leader of an empty ISR need not be counted."""

    def counts(leader: Replica) -> Bool:
        members = counted_isr(s, leader)
        in_sync = every(s.controller.isr, lambda r: members.contains(r))
        return in_sync & implies(may_commit(s, leader), every(s.controller.elr, lambda r: members.contains(r)))

    return every(Replica, lambda a: implies(leads_in_newest_epoch(s, a), counts(a)))


def stale_leader(s: State, within: bool, electable: bool) -> Bool:
    """StaleLeader, but of offsets within its log only, or of electable brokers rather than of heeded ones."""
    over = every_electable if electable else words.every_heeded

    def held(leader: Replica) -> Bool:
        mine, members = s.log[leader], counted_isr(s, leader)

        def may_yet(o: Offset) -> Bool:
            counted = every(members, lambda m: share_epoch(s, leader, m) | (s.known_end[leader][m] > o))
            return counted & mine.has(o) if within else counted

        def has(r: Replica, o: Offset) -> Bool:
            return mine.same_record_at(s.log[r], o) | (members.contains(r) & share_epoch(s, leader, r))

        return over(s, lambda r: every(Offset, lambda o: implies(may_yet(o), has(r, o))))

    def is_stale(leader: Replica) -> Bool:
        return presumes_leadership(s, leader) & ~leads_in_newest_epoch(s, leader) & may_commit(s, leader)

    return every(Replica, lambda a: implies(is_stale(a), held(a)))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "weaker", "action", "sizes", "expected"),
    [
        ("KnownEndIsHeld", known_to_the_newest_leader_only, "Produce", SMALL, {"AckedRecordsInIsr", "CommitQuorum"}),
        ("IsrIsCounted", counted_but_for_the_last_leader, "ElectLeader", SMALL, {"StaleLeader"}),
        ("StaleLeader", lambda s: stale_leader(s, True, False), "Produce", SMALL, {"AckedRecordsInIsr", "StaleLeader"}),
        ("StaleLeader", lambda s: stale_leader(s, False, True), "FetchDiverging", THREE, {"StaleLeader"}),
    ],
    ids=["known to the newest leader", "but for the last leader", "within its log", "of electable brokers"],
)
def test_a_weaker_lemma_is_too_weak(
    name: str, weaker: Callable[[State], Bool], action: str, sizes: dict[str, Any], expected: set[str]
) -> None:
    lemmas = [replace(item, predicate=weaker) if item.name == name else item for item in PARTITION_LEMMAS]
    assert broken(prove(only(action, latest(sizes, STALE)), lemmas))[action] >= expected


@pytest.mark.slow
def test_not_only_electable_brokers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (words, commits):
        monkeypatch.setattr(module, "is_heeded", is_electable)
    found = broken(prove(only("FetchDiverging", latest(SMALL, STALE)), PARTITION_LEMMAS))
    assert found["FetchDiverging"] == {"AckedRecordsInIsr", "AckedInPlace"}
