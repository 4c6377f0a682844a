"""The protocol of transactions, held against an enumeration that shares nothing with it, and what its constants turn off."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import Any

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, protocol_in
from acked.checker.spec.variants import specs_under
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.model.language.quantify import every, implies
from acked.model.language.values import Bool
from acked.model.releases import TRANSACTIONAL
from acked.model.transactions.protocol import transactions
from acked.model.transactions.settings import APPLICATION, CIRCUMSTANCES, RULES
from acked.model.transactions.state import Offset, Partition, State
from acked.model.transactions.versions import HISTORY, profile
from tests.model.transactions.enumeration import Rules, compared, explore, ordered, reach
from tests.model.twins import assert_is_asked
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly
from tests.places import SPECS

PROMISES = properties_of(transactions)
LATE = {"late_init": True, "late_add": True, "late_produce": True, "late_end": True, "late_marker": True}
ALONE: dict[str, Any] = {"partitions": 1, "producers": 1, "transactions": 1}
OLD: dict[str, Any] = {"transaction_version": 1, "verification": False, "unknown_producers_accepted": False,
                       "client_bumps_epoch": "never"}  # fmt: skip


def instance(constants: dict[str, Any]) -> Instance:
    """With everything that is not said as in the newest release, and nothing late."""
    return transactions.instantiate(transactions.bind({**dict.fromkeys(LATE, False), **constants}))


def of_rules(rules: Rules) -> Instance:
    return instance(asdict(rules))


def answer(made: Instance) -> tuple[int, dict[str, int]]:
    """How many states are reachable, and by promise that is broken the length of a shortest trace."""
    result = search(Question(made, tuple(PROMISES.values())), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    return result.distinct_states, {item.property.name: item.trace_length - 1 for item in result.violations}


QUICK = [
    Rules(**ALONE, **LATE),
    Rules(producers=1, transactions=1, late_marker=True),
    Rules(producers=1, late_marker=True, marker_epoch_above=False),
    Rules(partitions=1, producers=1, late_produce=True, late_end=True),
    Rules(producers=1, **OLD, timeout_bumps_epoch=False),
    Rules(partitions=1, producers=1, **OLD, marker_time_kept=False, late_produce=True),
    Rules(partitions=1, late_add=True, transaction_version=1),
    *(
        Rules(partitions=1, late_produce=True, transaction_version=1, client_bumps_epoch=value)
        for value in ("never", "known", "always")
    ),
    Rules(transactions=1, offsets=True, init_first=False, completion_noticed=False),
    Rules(partitions=1, transactions=1, late_init=True, late_end=True, fence_takes_one_epoch=False),
    Rules(partitions=1, transactions=1, restarts=True),
    Rules(partitions=1, producers=1, last_epoch=1, late_end=True, fence_rotates=False),
    Rules(partitions=1, producers=1, last_epoch=1, late_init=True, late_end=True),
    Rules(producers=1, transactions=1, coordinator_fails=True, acts_on_committed=False),
    Rules(partitions=1, producers=1, coordinator_fails=True, transaction_version=1),
    Rules(
        producers=1, transactions=1, offsets=True, offsets_verified=False, late_produce=True, transaction_version=1,
        adds_first=False,
    ),
]
LARGER = [
    Rules(),
    Rules(producers=1, transactions=1, coordinator_fails=True, late_marker=True),
    Rules(partitions=1, producers=1, coordinator_fails=True, acts_on_committed=False, last_epoch=1, fence_rotates=False),
    Rules(
        partitions=1, producers=1, coordinator_fails=True, acts_on_committed=False, transaction_version=1, late_add=True,
        late_produce=True,
    ),
    Rules(transactions=1, coordinator_fails=True, acts_on_committed=False, offsets=True, late_end=True),
    Rules(offsets=True, init_first=False),
    Rules(partitions=1, producers=1, restarts=True, late_end=True, late_marker=True),
    Rules(partitions=1, producers=1, restarts=True, late_end=True, fence_takes_one_epoch=False),
    Rules(partitions=1, restarts=True, late_produce=True, transaction_version=1, verification=False),
    Rules(partitions=1, producers=1, restarts=True, late_init=True, late_add=True, transaction_version=1),
    Rules(partitions=1, transactions=1, restarts=True, max_producer_epoch=2),
    Rules(partitions=1, producers=1, transactions=3, last_epoch=1, late_init=True, late_end=True, fence_rotates=False),
    Rules(
        partitions=1, transactions=1, last_epoch=1, late_init=True, late_produce=True, late_marker=True, fence_rotates=False
    ),
    Rules(producers=1, completion_noticed=False, pending_by_epoch=False, late_marker=True),
    Rules(producers=1, late_marker=True, marker_retry_taken=False),
    Rules(**ALONE, **LATE, transaction_version=1),
    Rules(transaction_version=1),
    Rules(partitions=1, late_produce=True, transaction_version=1, verification=False),
    Rules(producers=1, late_end=True, transaction_version=1),
    Rules(partitions=1, late_init=True, late_produce=True, transaction_version=1),
    Rules(transactions=1, late_init=True, late_produce=True, late_end=True),
    Rules(producers=1, offsets=True, late_end=True, transaction_version=1),
    Rules(producers=1, offsets=True, late_produce=True, transaction_version=1),
    Rules(producers=1, **OLD, offsets=True, late_produce=True),
    Rules(producers=1, offsets=True, late_produce=True, late_end=True),
    Rules(producers=1, offsets=True, offsets_verified=False, late_produce=True, transaction_version=1),
]


def told(rules: Rules) -> str:
    """What a case has other than the defaults."""
    return ", ".join(f"{name}={value}" for name, value in asdict(rules).items() if value != getattr(Rules(), name))


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in LARGER)], ids=lambda item: told(item)
)
def test_states_verdicts_and_lengths_are_those_of_an_enumeration_that_knows_nothing_of_the_protocol(rules: Rules) -> None:
    assert answer(of_rules(rules)) == explore(rules)


def test_the_enumeration_is_asked_about_every_rule_and_every_kind_of_late_request() -> None:
    alike = {"coordinator_moves", "aborts", "timeouts", "guard_unique"}
    assert_is_asked((*CIRCUMSTANCES, *APPLICATION, *RULES), map(asdict, QUICK + LARGER), alike)


@pytest.mark.slow
def test_moves_without_a_bound_reach_what_some_number_of_moves_reaches_and_no_more() -> None:
    rules = Rules(producers=1, transactions=1, late_marker=True, transaction_version=1)
    unbounded, _ = reach(rules)
    found = [{compared(w) for w in reach(replace(rules, max_coordinator_epoch=bound))[0]} for bound in (1, 2, 3)]
    assert found[0] <= found[1] == found[2] == unbounded
    assert explore(replace(rules, max_coordinator_epoch=2)) == answer(of_rules(replace(rules, max_coordinator_epoch=2)))


@pytest.mark.parametrize("version", [1, 2])
def test_restarts_without_a_bound_reach_what_some_number_of_restarts_reaches_and_no_more(version: int) -> None:
    rules = Rules(**ALONE, restarts=True, late_end=True, transaction_version=version)
    unbounded, _ = reach(rules)
    found = [{ordered(rules, w) for w in reach(replace(rules, max_producer_epoch=bound))[0]} for bound in (1, 2, 4)]
    assert found[0] <= found[1] == found[2] == unbounded


@pytest.mark.parametrize("constants", [{**ALONE, **LATE}, {"producers": 1, "transactions": 1, "late_marker": True}], ids=str)
def test_the_native_search_says_what_the_plain_evaluator_says(constants: dict[str, Any]) -> None:
    question = Question(instance(constants), tuple(PROMISES.values()))
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    result = search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(result, expected)
    assert result.distinct_states > 50


@pytest.mark.slow
@pytest.mark.parametrize("constants", [{"late_produce": True}, {"late_marker": True, "marker_epoch_above": False}], ids=str)
def test_partitions_and_producers_are_interchangeable(constants: dict[str, Any]) -> None:
    made = instance({**constants, "transactions": 1})
    plain, folded = (
        search(Question(made, tuple(PROMISES.values()), is_symmetric=it), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
        for it in (False, True)
    )
    assert plain.verdict is folded.verdict
    assert plain.distinct_states / 4 <= folded.distinct_states < plain.distinct_states / 2


# -- the promises ------------------------------------------------------------------------------------------------------


@cache
def violated() -> dict[str, set[str]]:
    """By promise the specs that expect it to be violated."""
    found: dict[str, set[str]] = {}
    for spec in of_transactions("gallery", "answers", "claims"):
        assert spec.expect is not None
        for name in spec.expect.violates:
            found.setdefault(name, set()).add(spec.name)
    return found


def of_transactions(*folders: str) -> list[Spec]:
    paths = (path for folder in folders for path in specs_under(SPECS / folder))
    return [load_spec(path) for path in paths if protocol_in(path) == "transactions"]


@pytest.mark.slow
def test_every_promise_is_violated_by_a_spec() -> None:
    assert set(violated()) >= set(PROMISES)


@pytest.mark.slow
def test_every_rule_is_what_mends_a_bug_but_for_the_one_that_only_lets_producers_go_on() -> None:
    rows: dict[int, dict[str, Any]] = {}
    for spec in of_transactions("gallery", "recoverable"):
        if spec.gallery:
            rows.setdefault(spec.gallery.row, {})[spec.gallery.role] = spec.constants
    mended = {name for row in rows.values() for name in row["bug"] if row["bug"][name] != row["fix"][name]}
    assert len(rows) >= 10
    assert {item.name for item in RULES} - mended == {"unknown_producers_accepted", *PAIRS}


PAIRS = {
    "client_bumps_epoch": ("claims/txn-client-bump-keeps-apart", "answers/transactions-client-always-bumps"),
    "fence_takes_one_epoch": ("recoverable/kafka-19367", "recoverable/kafka-19367-one-epoch"),
    "fence_rotates": ("recoverable/kafka-20090", "recoverable/kafka-20090-new-id"),
}
"""By rule two specs that differ in it alone: without it something is violated, with it nothing is."""


@pytest.mark.parametrize("rule", PAIRS)
def test_a_rule_that_no_bug_of_the_gallery_shows_has_two_specs_that_do(rule: str) -> None:
    without, within = (load_spec(name) for name in PAIRS[rule])
    differing = {name for name in without.constants if without.constants[name] != within.constants[name]}
    assert differing == {rule}
    assert without.expect is not None
    assert within.expect is not None
    assert (without.expect.verdict, within.expect.verdict) == (Verdict.VIOLATED, Verdict.HOLDS)


@pytest.mark.slow
@pytest.mark.parametrize(("value", "joins"), [("never", True), ("known", True), ("always", False)])
def test_a_late_record_joins_the_next_transaction_unless_clients_always_ask_for_another_epoch(
    value: str, joins: bool
) -> None:
    rules = Rules(partitions=1, producers=1, late_produce=True, transaction_version=1, client_bumps_epoch=value)
    found = answer(of_rules(rules))[1]
    assert ("NoRecordOfAnother" in found) is ("NoAbortedRead" in found) is joins


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["", ".sequence", ".phase"])
def test_the_enumeration_notices_what_an_abort_before_the_failure_forgets(left_out: str) -> None:
    """Mutations: the number of the record that has no answer is used again; the client never leaves its transaction."""
    rules = Rules(partitions=1, producers=1, late_produce=True, transaction_version=1)
    made = of_rules(rules)
    leaves = made.schema.leaves
    aborts = [item for item in made.actions if item.action.name == "AbortBeforeFailure"]
    kept = [tuple(it for it in item.updates if not left_out or left_out not in leaves[it[0]].name) for item in aborts]
    assert (len(kept[0]) < len(aborts[0].updates)) is bool(left_out)
    others = [item for item in made.actions if item not in aborts]
    made.actions = (*others, *(replace(item, updates=updates) for item, updates in zip(aborts, kept, strict=True)))
    assert (answer(made) == explore(rules)) is (not left_out)


def gallery(names: tuple[str, ...], *marks: pytest.MarkDecorator) -> list[object]:
    return [pytest.param(f"{name}-bug", marks=marks) for name in names]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *gallery(("kafka6119", "kafka14402", "kafka14884", "kip890-no-add")),
        *gallery(("kafka9144", "kafka19446", "kip890-late-end", "kip890-late-produce"), pytest.mark.long),
    ],
)
def test_z3_finds_a_bug_of_the_gallery_at_the_length_that_the_search_finds(name: str) -> None:
    spec = load_spec(name)
    assert spec.expect is not None
    length = spec.expect.trace_length
    assert length is not None
    found = check_bounded(spec.question(), Bound(length - 1), Limits(jobs=1, timeout=600.0)).violations
    assert [(item.property.name, item.trace_length) for item in found] == [(*spec.expect.violates, length)]


def lso_is_stable(s: State) -> Bool:
    """The last stable offset comes after the last marker; from there on to the log end there are records alone."""

    def stable(p: Partition) -> Bool:
        log, lso = s.log[p], s.partition[p].lso
        above = every(Offset, lambda o: implies((lso <= o) & log.has(o), log.at(o).txn.is_some))
        below = every(Offset, lambda o: implies(log.has(o) & (lso == o + 1), log.at(o).txn.is_none))
        return (lso <= log.end) & above & below

    return every(Partition, stable)


@pytest.mark.parametrize("constants", [{"late_marker": True}, {**OLD, "transaction_version": 1, "late_produce": True}])
def test_the_last_stable_offset_is_where_the_open_transaction_begins(constants: dict[str, Any]) -> None:
    stable = Property("LsoIsStable", Kind.STATE, lso_is_stable, "", "", "")
    result = search(Question(instance(constants), (stable,)), Bounds(workers=1))
    assert result.verdict is Verdict.HOLDS


# -- constants ---------------------------------------------------------------------------------------------------------


def names(made: Instance) -> set[str]:
    return {item.action.name for item in made.actions}


def leaves(made: Instance) -> set[str]:
    return {leaf.name for leaf in made.schema.leaves if leaf.bits}


@pytest.mark.slow
def test_a_part_that_is_turned_off_adds_neither_fields_nor_actions() -> None:
    quiet = instance({"timeouts": False, "aborts": False, "coordinator_moves": False})
    assert "FetchOffset" in names(instance({"offsets": True}))
    assert names(quiet) == {"InitProducerId", "AbortOpenTransaction", "Begin", "Produce", "Commit", "WriteMarker"}
    assert not {name for name in leaves(quiet) if name.startswith("late.") or "coordinator_epoch" in name or "added" in name}
    first = instance({"transaction_version": 1, **LATE})
    second = instance(LATE)
    assert names(first) - names(second) == {
        *("AddPartitionToTxn", "DelayAdd", "LateAddArrives", "LateAddIsLost", "BumpEpoch", "AbortBeforeBump"),
        "AbortBeforeFailure",
    }
    assert {"AbortBeforeFailure", "BumpEpoch"}.isdisjoint(names(instance({**OLD, "late_produce": True})))
    always = names(instance({**OLD, "late_produce": True, "client_bumps_epoch": "always"}))
    assert "BumpEpoch" in always
    assert "AbortBeforeFailure" not in always
    assert names(second) <= names(first)
    assert names(instance({"transaction_version": 1, "late_produce": True, "guard_unique": False})) >= {
        *("VerifyLateProduce", "VerifyAnotherCopy")
    }
    assert "ForgetProducer" in names(instance({"marker_time_kept": False}))
    fails = names(instance({"coordinator_fails": True})) - names(instance({}))
    assert fails == {"CommitThenMove", "AbortThenMove", "AddThenMove", "TimeOutThenMove", "Replicate", "MoveToOther"}


@pytest.mark.slow
def test_producer_epochs_never_run_out() -> None:
    """They are bounded by what is begun; a search that takes one too many is an error, and so no verdict."""
    for constants in ({**ALONE, **LATE}, {**LATE, "transactions": 1, "transaction_version": 1, "late_marker": False}):
        assert search(Question(instance(constants), tuple(PROMISES.values())), Bounds(workers=2)).verdict is Verdict.HOLDS


def test_a_release_has_the_rules_that_came_with_it_or_before() -> None:
    rules = {version: {name: item.value for name, item in profile(version, None).items()} for version in TRANSACTIONAL}
    assert set(rules["0.11"]) == {item.name for item in RULES}
    assert [version for version in TRANSACTIONAL if not rules[version]["timeout_bumps_epoch"]] == ["0.11"]
    for name, since in (("verification", "3.6"), ("transaction_version", "4.0"), ("marker_epoch_above", "4.2")):
        newest = [version for version in TRANSACTIONAL if rules[version][name] == rules["latest"][name]]
        assert newest == list(TRANSACTIONAL[TRANSACTIONAL.index(since) :])
    defaults = {item.name: item.default for item in RULES}
    assert rules["latest"] == {**rules["4.4"], "acts_on_committed": 1} == {**rules["4.3"], "acts_on_committed": 1} == defaults
    assert [version for version in TRANSACTIONAL if rules[version]["acts_on_committed"]] == ["latest"]
    assert {version for version in TRANSACTIONAL if not rules[version]["fence_takes_one_epoch"]} == {"4.0"}
    stays = [version for version in TRANSACTIONAL if not rules[version]["fence_rotates"]]
    assert (stays[0], stays[-1]) == ("4.0", TRANSACTIONAL[TRANSACTIONAL.index("4.3") - 1])
    bumps = [rules[version]["client_bumps_epoch"] for version in TRANSACTIONAL]
    assert bumps == [int(TRANSACTIONAL.index(version) >= TRANSACTIONAL.index("2.5")) for version in TRANSACTIONAL]
    assert all(change.source for change in HISTORY.changes)


def test_releases_and_control_planes_that_there_are_not_are_refused_in_a_sentence() -> None:
    with pytest.raises(ModelError, match=r"there is no version '4.22' \(did you mean 4.2\?\)"):
        profile("4.22", None)
    with pytest.raises(ModelError, match="the same with ZooKeeper and KRaft; remove the control plane"):
        profile("4.2", "kraft")


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [
        LATE, {**LATE, "transaction_version": 1, "marker_time_kept": False}, {**LATE, "offsets": True, "restarts": True},
        {"coordinator_fails": True, "late_end": True},
    ],
    ids=("2", "1", "offsets", "fails"),
)
def test_every_action_says_in_a_sentence_what_it_does(constants: dict[str, Any]) -> None:
    told: dict[str, str] = {}
    for kind, text in sentences(instance(constants), 600):
        assert text[0].islower()
        assert "None" not in text
        assert "-1" not in text
        told.setdefault(kind, text)
    assert len(told) > 15



@pytest.mark.parametrize("constants", [{"restarts": True}, {"coordinator_moves": False}])
def test_what_a_coordinator_loses_is_not_asked_where_epochs_are_ranks_or_it_never_moves(constants: dict[str, bool]) -> None:
    with pytest.raises(ModelError, match="set coordinator_moves and leave restarts off"):
        instance({"coordinator_fails": True, **constants})
