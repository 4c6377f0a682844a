"""The protocol of coordinators, held against an enumeration that shares nothing with it, and what every rule is for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.coordinator.protocol import coordinator
from acked.model.coordinator.settings import CIRCUMSTANCES, CLIENTS, RULES
from acked.model.coordinator.versions import HISTORY, profile
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from tests.model.coordinator.enumeration import Rules
from tests.model.coordinator.promised import PROMISES as RULED
from tests.model.coordinator.promised import explore
from tests.model.twins import assert_is_asked
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly
from tests.shipped import shipped_of

PROMISES = properties_of(coordinator)
ALWAYS = (PROMISES["AcknowledgedCommitsSurvive"], PROMISES["LoadingEnds"])
EVERYTHING: dict[str, Any] = {
    "records": 4, "commits": 3, "max_epoch": 3, "transactions": True, "rebalances": 1, "expiry": True,
    "shrinks": True, "unclean": True, "lost_disks": 1, "listens_as_leader": False, "own_load_only": False,
    "duties_in_order": False, "queues_requests": False, "loads_whole_log": False, "keeps_default_timestamps": False,
    "applies_markers_first": False,
}  # fmt: skip
OUT_OF_STEP: dict[str, Any] = {
    "records": 4, "commits": 4, "max_epoch": 4, "own_load_only": False, "queues_requests": False,
}  # fmt: skip
BATCHED: dict[str, Any] = {"records": 4, "commits": 3, "max_epoch": 3, "batches": True, "asks": True}


def of_rules(rules: Rules) -> Instance:
    return coordinator.instantiate(coordinator.bind(asdict(rules)))


def asked_of(rules: Rules) -> list[str]:
    """Promises that say something under the rules."""
    silent = {
        "AbortedOffsetsAreUnused": not rules.transactions,
        "ReplacedOwnersAreFenced": not rules.rebalances,
        "GroupActsAsOne": not rules.asks or rules.expiry,
        "PlainFetchesAreCurrent": not rules.queues_requests,
    }
    return [name for name in RULED if not silent.get(name)]


QUICK = [
    Rules(),
    Rules(listens_as_leader=False),
    Rules(loads_whole_log=False),
    Rules(batches=True),
    Rules(brokers=1, lost_disks=1, commits=1),
    Rules(min_isr=2, lost_disks=1),
    Rules(min_isr=2, shrinks=True, commits=1, strict_min_isr=False),
    Rules(unclean=True, shrinks=True, commits=1),
    Rules(max_epoch=3, own_load_only=False, commits=1),
    Rules(rebalances=1, commits=1, asks=True),
    Rules(asks=True, listens_as_leader=False),
    Rules(expiry=True, keeps_default_timestamps=False, commits=1),
    Rules(transactions=True, commits=1),
]
LARGER = [
    Rules(max_epoch=3, duties_in_order=False, queues_requests=False, commits=1),
    Rules(expiry=True, spares_rebalancing=False, commits=1),
    Rules(expiry=True),
    Rules(transactions=True, asks=True),
    Rules(transactions=True, shrinks=True),
    Rules(transactions=True, records=4, applies_markers_first=False),
    Rules(transactions=True, rebalances=1, records=4, commits=1, listens_as_leader=False),
    Rules(max_epoch=3, own_load_only=False),
    Rules(max_epoch=3, batches=True),
    Rules(max_epoch=3, batches=True, commits=3, records=2, appends_in_own_epoch=False),
    Rules(brokers=3, shrinks=True, min_isr=2, lost_disks=1, commits=1),
    Rules(transactions=True, min_isr=2, shrinks=True, commits=1, strict_min_isr=False),
]


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in LARGER)], ids=lambda item: str(item)[6:-1]
)
def test_levels_and_verdicts_are_those_of_an_enumeration_that_knows_nothing_of_the_protocol(rules: Rules) -> None:
    names = asked_of(rules)
    question = Question(of_rules(rules), tuple(PROMISES[name] for name in names))
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    broken = {item.property.name: item.trace_length for item in result.violations}
    levels, expected = explore(rules)
    assert (list(result.level_sizes), broken) == (levels, {name: at for name, at in expected.items() if name in names})


def test_the_enumeration_is_asked_about_every_rule_every_client_and_every_failure() -> None:
    assert_is_asked((*CLIENTS, *CIRCUMSTANCES, *RULES), map(asdict, QUICK + LARGER))


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", [QUICK[0], QUICK[1], QUICK[3], QUICK[5]], ids=lambda item: str(item)[6:-1])
def test_the_native_search_says_what_the_plain_evaluator_says(rules: Rules) -> None:
    question = Question(of_rules(rules), ALWAYS)
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY), expected)


@pytest.mark.slow
def test_brokers_are_interchangeable() -> None:
    def asked(constants: dict[str, Any], is_symmetric: bool) -> Result:
        return search(Question(coordinator.instantiate(constants), ALWAYS, is_symmetric=is_symmetric))

    for constants, names in (({}, 2), ({"brokers": 3}, 6), ({"transactions": True}, 2)):
        once, all_names = asked(constants, True), asked(constants, False)
        assert once.verdict is all_names.verdict is Verdict.HOLDS
        assert (names - 1) * once.distinct_states < all_names.distinct_states <= names * once.distinct_states


@pytest.mark.slow
def test_every_action_says_in_a_sentence_what_it_does() -> None:
    told: dict[str, str] = {}
    for constants in (EVERYTHING, BATCHED, OUT_OF_STEP, {"records": 4, "transactions": True}):
        for kind, text in sentences(coordinator.instantiate(constants), 2000, 60):
            assert text[0].islower()
            assert "None" not in text
            told.setdefault(kind, text)
    assert set(told) == {item.name for item in coordinator.actions}


@pytest.mark.slow
def test_a_part_that_is_turned_off_adds_neither_fields_nor_actions() -> None:
    def names(constants: dict[str, Any]) -> set[str]:
        return {item.action.name for item in coordinator.instantiate(constants).actions}

    plain = {"Elect", "Learn", "Fetch", "Advance", "DoDuty", "EndLoad", "Answer", "Commit", "CommitOutOfStep"}
    assert names({}) == plain
    assert names(EVERYTHING) | names(BATCHED) == {item.name for item in coordinator.actions}
    leaves = {leaf.name for leaf in coordinator.instantiate({}).schema.leaves if leaf.bits}
    assert not {"txn", "group", "generation", "disks_left", "broker[0].late", "broker[0].loaded", "aborted"} & leaves


def test_a_batch_is_not_asked_about_where_a_foreign_load_may_end() -> None:
    with pytest.raises(ModelError, match="what becomes of a batch where a foreign load ends is not modelled"):
        coordinator.instantiate({"batches": True, "own_load_only": False})


def test_a_lost_disk_leaves_an_epoch_to_lead_in() -> None:
    with pytest.raises(ModelError, match="set max_epoch to 2 at least"):
        coordinator.instantiate({"lost_disks": 1, "max_epoch": 1})


def test_releases_have_the_rules_that_their_sources_have() -> None:
    versions = ("0.11", "2.1", "2.8", "2.8.2", "3.1", "3.9", "3.9.1", "4.0", "4.2.2", "4.3", "4.4")
    shown = {
        "listens_as_leader": "11111110101",
        "own_load_only": "11111110000",
        "duties_in_order": "00011111111",
        "queues_requests": "00000001111",
        "loads_whole_log": "01111111111",
        "keeps_default_timestamps": "10111111111",
        "spares_rebalancing": "11010111111",
        "applies_markers_first": "10000011111",
        "strict_min_isr": "00000111111",
        "appends_in_own_epoch": "11111110000",
    }
    found = [profile(version, None) for version in versions]
    assert {item.name: "".join(str(int(has[item.name].value)) for has in found) for item in RULES} == shown
    with pytest.raises(ModelError, match="the same with both control planes"):
        profile("4.0", "kraft")


# -- what rules and promises are for ----------------------------------------------------------------------------------


def test_every_promise_is_violated_by_a_spec_and_kept_by_another() -> None:
    violated = {name for spec in shipped_of(coordinator) if spec.expect for name in spec.expect.violates}
    kept = [spec for spec in shipped_of(coordinator) if spec.expect and not spec.expect.violates]
    held = {item.name for spec in kept for item in spec.properties}
    assert violated == set(PROMISES)
    assert held == set(PROMISES) - {"PlainFetchesAreCurrent"}


def test_every_rule_is_what_mends_a_row_or_a_claim() -> None:
    rows: dict[int, dict[str, Any]] = {}
    for spec in shipped_of(coordinator):
        if spec.gallery:
            rows.setdefault(spec.gallery.row, {})[spec.gallery.role] = spec.constants
    mended = [{name for name in row["bug"] if row["bug"][name] != row["fix"][name]} for row in rows.values()]
    assert all(len(names) == 1 for names in mended)
    assert set.union(*mended) == {item.name for item in RULES} - {"queues_requests", "strict_min_isr"}
    assert {change.constant for change in HISTORY.changes} == set(RULES)


@pytest.mark.slow
def test_a_request_that_does_not_wait_for_the_unload_before_it_gets_an_old_offset() -> None:
    def asked(queues: bool) -> Result:
        constants = {"max_epoch": 3, "queues_requests": queues}
        return search(Question(coordinator.instantiate(constants), ALWAYS[:1], is_symmetric=True))

    assert (asked(False).verdict, asked(True).verdict) == (Verdict.VIOLATED, Verdict.HOLDS)


@pytest.mark.slow
def test_where_the_high_watermark_goes_on_with_too_few_in_sync_nothing_more_is_acknowledged() -> None:
    """Else two disks that are lost one after the other would take an acknowledged commit along."""

    def asked(strict: bool) -> Result:
        constants = {"min_isr": 2, "shrinks": True, "strict_min_isr": strict}
        return search(Question(coordinator.instantiate(constants), ALWAYS, is_symmetric=True))

    strict, before = asked(True), asked(False)
    assert strict.verdict is before.verdict is Verdict.HOLDS
    assert before.distinct_states > strict.distinct_states


@pytest.mark.slow
def test_what_a_follower_acknowledges_lets_a_replaced_member_commit() -> None:
    constants = {"records": 4, "rebalances": 1, "listens_as_leader": False}
    question = Question(coordinator.instantiate(constants), (PROMISES["ReplacedOwnersAreFenced"],), is_symmetric=True)
    assert search(question).verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_all_that_clients_do_together_is_kept_by_the_newest_rules() -> None:
    constants = {"records": 4, "commits": 2, "transactions": True, "rebalances": 1, "expiry": True}
    promises = tuple(item for name, item in PROMISES.items() if name != "PlainFetchesAreCurrent")
    result = search(Question(coordinator.instantiate(constants), promises, is_symmetric=True))
    assert result.verdict is Verdict.HOLDS
