"""`partition` for all constants: obligations proved, weakened rules refused, and what such a proof may assume."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from acked.audit.releases.table import EFFORT, FaultClass, attempts, switches_of
from acked.base.files import PACKAGE
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.allconstants.counterparts import broken_rules
from acked.checker.allconstants.lemma_search import SEARCH_EFFORT, CoreSearch
from acked.checker.allconstants.obligations import AFTERWARDS, PROMISES, Obligations
from acked.checker.allconstants.proof import (
    MOST_NEAR,
    PROOF_EFFORT,
    AllConstantsOptions,
    ObligationResult,
    SolverVerdict,
    covering_argument,
    near_sets,
    prove_all_constants,
)
from acked.checker.allconstants.prover import Prover
from acked.checker.solver.lemma_sets import (
    Core,
    CoreFile,
    StepCounterexample,
    add_older_sets,
    add_sets_alike,
    shipped_file,
    shipped_sets,
)
from acked.checker.spec.spec import load_spec
from acked.invariants.partition.lemmas.catalogue import MACHINE_LEMMAS
from acked.invariants.proofs import Argument, argument_of
from acked.model.firstorder.reading import Reading
from acked.model.partition.protocol import partition
from acked.model.partition.rules.settings import LOSSY_OUTSIDE_ISR
from acked.model.partition.rules.versions import KRAFT, ZOOKEEPER
from acked.reports.proofs.all_constants import print_all_constants
from tests.places import SPECS
from tests.proofs.few import prover_of

pytestmark = pytest.mark.slow

CLAIM = SPECS / "claims" / "acks-all-min-2-clean.toml"
SHIPPED = shipped_sets(partition)
STALE = {"zombies": 1, "leadership_moves": 1, "reelection_forgets_ends": 1}

HARDEST = {
    **STALE, "retries": 1, "idempotence": 1, "delivery_timeout": 1, "producer_restarts": 1, "crashes": LOSSY_OUTSIDE_ISR,
}  # fmt: skip
"""Everything at once for which the lemmas are meant."""


def argument(**changed: int) -> Argument:
    found = argument_of(partition, switches(**changed))
    assert found is not None
    return found


def switches(**changed: int) -> dict[str, int]:
    return {**load_spec(CLAIM).switches, **changed}


def obligations(drop: tuple[tuple[str, str], ...] = (), **changed: int) -> Obligations:
    return Obligations(partition, argument(**changed), drop, switches(**changed))


@cache
def of_stale() -> Obligations:
    return obligations(**STALE)


def test_the_shipped_lemma_sets_are_of_the_shipped_protocol_and_small() -> None:
    path = shipped_file(argument())
    again = f"found for other rules; run: acked prove all-constants acks-all-min-2-clean --lemma-sets {path}"
    assert SHIPPED.fingerprint == obligations().fingerprint, again
    hardest = argument(**HARDEST)
    fields = dict(Reading(partition, (), switches(**HARDEST), hardest.least, hardest.is_exact).domains())
    named = (*fields, *(item.name for item in (*hardest.clauses, *MACHINE_LEMMAS)), "Domain(lossy_left)")
    known = {name + end for name in named for end in ("", AFTERWARDS)}
    assert {name for core in SHIPPED.cores.values() for name in core.lemmas} <= known


@pytest.mark.long
@pytest.mark.parametrize("changed", [{}, STALE, HARDEST], ids=["claim", "stale leaders", "hardest"])
def test_every_obligation_is_proved_for_all_constants(changed: dict[str, int]) -> None:
    made = prove_all_constants(partition, Limits(1, 600.0), constants=switches(**changed))
    assert [(item.subject, item.clause) for item in made.open] == []
    assert made.vacuous == ()
    assert made.holds


class KeptAlready:
    """Obligations that were all proved, and actions none of whose steps was seen."""

    def __init__(self, *vacuous: str) -> None:
        self.kept = (ObligationResult("Initial", "AnyClause", SolverVerdict.UNSAT, 0.0, ()),), vacuous

    def get(self, fingerprint: str) -> tuple[tuple[ObligationResult, ...], tuple[str, ...]]:
        return self.kept

    def put(self, fingerprint: str, results: Sequence[ObligationResult], vacuous: Sequence[str]) -> None:
        raise AssertionError("nothing new is found")


@pytest.mark.parametrize(
    ("version", "drop", "unseen", "vacuous"),
    [
        ("2.5", (), ("FetchDiverging",), ()),
        ("2.5", (("Produce", "presumes leadership"),), ("FetchDiverging",), ("FetchDiverging",)),
        pytest.param("2.8", (), ("FetchDiverging",), ("FetchDiverging",), marks=pytest.mark.long),
    ],
)
def test_an_action_that_cannot_happen_under_these_rules_leaves_nothing_out(
    version: str, drop: tuple[tuple[str, str], ...], unseen: tuple[str, ...], vacuous: tuple[str, ...]
) -> None:
    """Until 2.6 a follower truncates before it fetches (KIP-595); of rules without a clause that is not said."""
    asked = switches_of((version, ZOOKEEPER), FaultClass.CLEAN)
    made = prove_all_constants(
        partition, Limits(1, 600.0), AllConstantsOptions(keeper=KeptAlready(*unseen)), drop, constants=asked
    )
    assert made.vacuous == vacuous
    assert made.holds is (not vacuous)
    assert set(made.document()["never"]) == set(unseen) - set(vacuous)
    screen = StringIO()
    print_all_constants(Console(file=screen, width=200), partition, made, (), 0.0, covering_argument(partition, asked))
    assert ("FetchDiverging cannot happen: who has truncated" in screen.getvalue()) is ("FetchDiverging" not in vacuous)


def test_what_was_read_is_proved_with_the_sets_of_what_was_acknowledged() -> None:
    """`ReadInPlace` says of a read what `AckedInPlace` says of an acknowledged record, and so needs the same lemmas."""
    argued = argument(consumer=1)
    assert {item.name for item in argued.clauses} - {item.name for item in argument().clauses} == {"ReadInPlace"}
    known = add_sets_alike(SHIPPED, argued).cores
    alike = {key: core for key, core in SHIPPED.cores.items() if key.endswith("|AckedInPlace")}
    assert len(alike) > 15
    for key, core in alike.items():
        lemmas = tuple(name.replace("AckedInPlace", "ReadInPlace") for name in core.lemmas)
        assert known[key.replace("AckedInPlace", "ReadInPlace")] == Core(lemmas, core.way)
    assert known["promises|ReadsStay"].lemmas == ("QuorumIsrHasLeader", "ReadInPlace")
    assert known.items() >= SHIPPED.cores.items()


@pytest.mark.parametrize("every", [207, pytest.param(69, marks=pytest.mark.long)])
def test_a_sample_of_them_is_proved_with_the_shipped_sets(every: int) -> None:
    shipped = [item for item in of_stale().all if item.key in SHIPPED.cores or not item.may_use]
    assert len(shipped) > 600, "for what the claim does not allow, lemmas are looked for"
    keys = [item.key for item in shipped[::every]]
    # Users have all of them prepared, by which some proofs take other steps.
    for asked in (prover_of(of_stale(), keys), Prover(obligations(**STALE))):
        for item in (item for item in asked.obligations.all if item.key in keys):
            core = SHIPPED.cores.get(item.key, Core()) if item.may_use else Core()
            assert asked.solve(item, core.lemmas, PROOF_EFFORT, core.way) is not None, item.key


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_a_sample_of_them_is_proved_where_the_partition_is_moved(every: int) -> None:
    """As docs/partition_proof.md shows it: one move, by the rules of the latest release; its own steps, and some others."""
    moved = {**switches_of((LATEST, KRAFT), FaultClass.CLEAN), "reassignment": 1}
    argued = argument_of(partition, moved)
    assert argued is not None
    every_one = Obligations(partition, argued, (), moved)
    known = add_older_sets(CoreFile.load(shipped_file(argued)), argued).cores
    still = {item.subject for item in of_stale().all}
    shipped = [item for item in every_one.all if item.key in known]
    of_moves = [item for item in shipped if item.subject not in still]
    assert {item.subject for item in of_moves} >= {"Reassign", "CancelMove", "DeleteReplica"}
    asked = prover_of(every_one, [item.key for item in (*of_moves[:: 4 * every], *shipped[:: 97 * every])])
    for item in asked.obligations.all:
        assert asked.solve(item, known[item.key].lemmas, PROOF_EFFORT, known[item.key].way) is not None, item.key


def test_the_promises_follow_from_the_lemmas_and_are_no_lemmas() -> None:
    asked = of_stale()
    assert [item.clause for item in asked.all if item.subject == PROMISES] == list(argument().goals)
    assert not set(asked.clauses) & set(argument().goals)


def test_an_obligation_uses_afterwards_only_clauses_before_its_own() -> None:
    order = list(of_stale().clauses)
    seen = 0
    for item in of_stale().all:
        for name in item.afterwards:
            assert order.index(name.removesuffix(AFTERWARDS)) < order.index(item.clause)
            seen += 1
    assert seen > 0
    unused = [item for item in of_stale().all if not item.may_use]
    assert not any(item.afterwards for item in unused)


WEAKENED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("FetchRecord", "same leader epoch", "RecordEpoch", STALE),
    ("AskToExpand", "caught up to HW and epoch", "PendingHasCaughtUp", {}),
    ("CommitAlterPartition", "partition epoch is current", "KnownEndIsHeld", STALE),
    ("ElectLeader", "candidate", "CommitQuorum", {}),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("action", "label", "broken", "changed"),
    # Two for all: the third says what the first says, and takes ten times as long.
    [
        pytest.param(*item, id=item[2], marks=[pytest.mark.long] * (item[2] in ("KnownEndIsHeld", "CommitQuorum")))
        for item in WEAKENED
    ],
)
def test_a_rule_without_a_clause_is_refused_with_a_step_of_a_small_instance(
    action: str, label: str, broken: str, changed: dict[str, int]
) -> None:
    weakened = prover_of(obligations(((action, label),), **changed), [f"{action}|{broken}"])
    (obligation,) = weakened.obligations.all
    found = CoreSearch(weakened).find(obligation, suspect=True)
    assert isinstance(found, StepCounterexample)
    assert found.breaks == broken
    assert found.step.startswith(action)


@pytest.mark.long
def test_a_step_of_older_rules_is_proved_with_the_lemmas_of_a_step_that_is_like_it_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With ZooKeeper a crash that shrinks the ISR takes a new leader epoch, as an election does with the newest rules."""
    rules = switches_of(("3.9", ZOOKEEPER), FaultClass.CLEAN)
    argued = argument_of(partition, rules)
    assert argued is not None
    asked = Prover(Obligations(partition, argued, (), rules))
    (obligation,) = [item for item in asked.obligations.all if item.key == "Crash|StaleLeader"]
    search = CoreSearch(asked)
    monkeypatch.setattr(search, "_sizes", ())  # No instance names candidates.
    found = search.find(obligation, near=near_sets(SHIPPED, obligation.key))
    assert isinstance(found, Core)
    assert not set(found.lemmas) <= set(SHIPPED.cores[obligation.key].lemmas)
    assert asked.effort(obligation, found, SEARCH_EFFORT) is not None


@cache
def argued_of_2_5() -> tuple[Argument, dict[str, int]]:
    faults, *_ = attempts([item for item in FaultClass if item not in (FaultClass.MACHINE, FaultClass.MOVES)])
    asked = switches_of(("2.5", ZOOKEEPER), *faults)
    found = argument_of(partition, asked)
    assert found is not None
    return found, asked


@cache
def prover_of_2_5() -> Prover:
    found, asked = argued_of_2_5()
    return Prover(Obligations(partition, found, (), asked))


def older() -> CoreFile:
    return CoreFile.load(PACKAGE / "invariants" / "partition" / "partition_older_cores.json")


@pytest.mark.parametrize("every", [9, pytest.param(3, marks=pytest.mark.long)])
def test_where_a_machine_dies_crashes_and_elections_are_proved_with_sets_of_their_own(every: int) -> None:
    """Three lemmas at most do, which the table of releases would otherwise look for, for minutes, in every release."""
    rules = switches_of((LATEST, KRAFT), FaultClass.MACHINE)
    argued = argument_of(partition, rules)
    assert argued is not None
    own = CoreFile.load(PACKAGE / "invariants" / "partition" / "partition_machine_cores.json").cores
    known = add_older_sets(SHIPPED, argued).cores
    every_one = Obligations(partition, argued, (), rules)
    asked = prover_of(every_one, [*list(own)[::every], "Crash|CommitQuorum"])
    named = {item.key: item for item in every_one.all}
    assert {"Crash|AckedInPlace", "Restart|AckedInPlace", "ElectLeader|AckedInPlace"} <= set(own) <= set(named)
    for at, (key, core) in enumerate(own.items()):
        assert known[key] == core
        assert len(core.lemmas) <= 3
        assert at % every or asked.effort(named[key], core, EFFORT // 10) is not None
    assert asked.effort(named["Crash|CommitQuorum"], SHIPPED.cores["Crash|CommitQuorum"], EFFORT // 10) is None


QUICK = "FetchNothingNew|AckedInPlace"


@pytest.mark.long
@pytest.mark.parametrize("key", older().cores)
def test_a_step_that_does_more_under_older_rules_is_proved_with_their_sets(key: str) -> None:
    """Until 2.6 a leader writes the ISR itself, when a follower fetches that has caught up (KIP-497)."""
    asked = prover_of_2_5().obligations
    known = add_older_sets(SHIPPED, asked.argument).cores[key]
    (item,) = (item for item in asked.all if item.key == key)
    assert known == older().cores[key]
    assert prover_of_2_5().effort(item, known, EFFORT) is not None
    if key == QUICK:
        assert prover_of_2_5().effort(item, SHIPPED.cores[key], EFFORT) is None


def test_sets_of_older_rules_are_used_under_these_and_only_where_sets_are_known() -> None:
    asked, _ = argued_of_2_5()
    assert QUICK in older().cores
    assert add_older_sets(SHIPPED, argument()) == SHIPPED
    assert add_older_sets(CoreFile(), asked) == CoreFile()
    assert add_older_sets(SHIPPED, asked).cores == {**SHIPPED.cores, **older().cores}


def test_sets_that_may_do_have_the_known_one_and_more_the_largest_first() -> None:
    for key in ("Crash|StaleLeader", "ElectLeader|StaleLeader", "Unknown|StaleLeader"):
        near = near_sets(SHIPPED, key)
        own = set(SHIPPED.cores.get(key, Core()).lemmas)
        assert 0 < len(near) <= MOST_NEAR
        assert all(own < set(core.lemmas) for core in near)
        assert len({frozenset(core.lemmas) for core in near}) == len(near)
    assert near_sets(SHIPPED, "Crash|NoSuchLemma") == ()


@pytest.mark.long
def test_where_reelected_leaders_keep_log_ends_and_leadership_moves_the_argument_is_refused() -> None:
    """As `acked check stale-ends-bug` finds a record lost, 4.1's rules are not proved there."""
    asked = Prover(obligations(**{**STALE, "reelection_forgets_ends": 0}))
    (obligation,) = [item for item in asked.obligations.all if item.key == "BecomeLeader|KnownEndIsHeld"]
    found = CoreSearch(asked).find(obligation, suspect=True)
    assert isinstance(found, StepCounterexample)
    # No rule of kip320 took the place of one of partition.
    (rule,) = broken_rules(partition, (), [found])
    assert (rule.action, rule.breaks, rule.rule) == ("BecomeLeader", ("KnownEndIsHeld",), "")
