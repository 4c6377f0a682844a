"""The protocol of compaction, held against an enumeration that shares nothing with it, and what every rule is for."""

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
from acked.model.compaction.protocol import compaction
from acked.model.compaction.settings import CIRCUMSTANCES, CLIENTS, RULES, SIZES
from acked.model.compaction.versions import HISTORY, profile
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from tests.model.compaction.enumeration import Rules
from tests.model.compaction.promised import PROMISES as RULED
from tests.model.compaction.promised import explore
from tests.model.twins import assert_is_asked
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly
from tests.shipped import shipped_of

PROMISES = properties_of(compaction)
TRANSACTIONAL = {"AbortedRecordsStayHidden", "CommittedRecordsStayReadable", "TransactionsEnd"}


def of_rules(rules: Rules) -> Instance:
    return compaction.instantiate(compaction.bind(asdict(rules)))


def asked_of(rules: Rules) -> list[str]:
    """Promises that say something under the rules."""
    silent = {
        **dict.fromkeys(TRANSACTIONAL, not rules.producers),
        "ReadersSeeDeletions": not (rules.reader and rules.tombstones),
        "FollowersGoOn": not rules.follower,
    }
    return [name for name in RULED if not silent.get(name)]


PLAIN = {"producers": 0}
SMALL = {"tombstones": False, "ticks": 0}
QUICK = [
    Rules(records=3),
    Rules(records=4, segment=1, **SMALL),
    Rules(records=3, keys=2, retention=2, ticks=2, **PLAIN),
    Rules(records=3, lags=True, **SMALL),
    Rules(records=3, lags=True, stops_at_hw=False, **PLAIN),
    Rules(records=3, map_keys=1, marks_mapped_only=False, reader=True, **PLAIN),
    Rules(records=3, integer_keys=True, spares_markers=False, **SMALL),
    Rules(records=3, deletes=True, expires=True, **SMALL),
    Rules(records=3, deletes=True, follower=True, one_reading=False, tombstones=False, **PLAIN),
    Rules(records=3, delete_horizons=False, last_batch="removed"),
]
LARGER = [
    Rules(),
    Rules(producers=2, **SMALL),
    Rules(map_keys=1, segment=4, indexes_whole_segments=False, last_batch="of a pass", **SMALL),
    Rules(keys=2, segment=1, carries_transactions=False, delete_horizons=False, last_batch="removed", tombstones=False),
    Rules(records=3, keys=2, reader=True, delete_horizons=False, last_batch="removed", **PLAIN),
    Rules(records=5, segment=4, map_keys=1, last_batch="removed", tombstones=False),
    Rules(keys=2, integer_keys=True, spares_markers=False, **SMALL),
    Rules(records=4, expires=True, follower=True, tombstones=False, **PLAIN),
    Rules(records=4, lags=True, reader=True, **PLAIN),
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


def test_the_enumeration_is_asked_about_every_size_every_rule_every_client_and_every_circumstance() -> None:
    assert_is_asked((*SIZES, *CLIENTS, *CIRCUMSTANCES, *RULES), map(asdict, QUICK + LARGER))


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", [QUICK[0], QUICK[3], QUICK[6], QUICK[7]], ids=lambda item: str(item)[6:-1])
def test_the_native_search_says_what_the_plain_evaluator_says(rules: Rules) -> None:
    question = Question(of_rules(rules), tuple(PROMISES[name] for name in asked_of(rules)))
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY), expected)


def asked(names: tuple[str, ...], constants: dict[str, Any], is_symmetric: bool = False) -> Result:
    question = Question(compaction.instantiate(constants), tuple(PROMISES[name] for name in names), is_symmetric=is_symmetric)
    return search(question)


@pytest.mark.slow
def test_producers_are_interchangeable() -> None:
    constants = {"producers": 2, "tombstones": False, "ticks": 0}
    once, all_names = (asked(("TransactionsEnd",), constants, is_symmetric) for is_symmetric in (True, False))
    assert once.verdict is all_names.verdict is Verdict.HOLDS
    assert once.distinct_states < all_names.distinct_states <= 2 * once.distinct_states


EVERYTHING: list[dict[str, Any]] = [
    {"records": 5, "map_keys": 1, "deletes": True, "expires": True, "lags": True, "reader": True},
    {"records": 5, "deletes": True, "follower": True, "one_reading": False, "segment": 1},
]


@pytest.mark.slow
def test_every_action_says_in_a_sentence_what_it_does() -> None:
    told: dict[str, str] = {}
    for constants in EVERYTHING:
        for kind, text in sentences(compaction.instantiate(constants), 1200, 60):
            assert text[0].islower()
            assert "None" not in text
            told.setdefault(kind, text)
    assert set(told) == {item.name for item in compaction.actions}


@pytest.mark.slow
def test_a_part_that_is_turned_off_adds_neither_fields_nor_actions() -> None:
    def names(constants: dict[str, Any]) -> set[str]:
        return {item.action.name for item in compaction.instantiate(constants).actions}

    plain = {"Append", "AppendInTxn", "EndTxn", "Forget", "Roll", "Clean", "PassTime"}
    assert names({}) == plain
    assert names({"producers": 0, "ticks": 0}) == {"Append", "Roll", "Clean"}
    assert names(EVERYTHING[0]) | names(EVERYTHING[1]) == {item.name for item in compaction.actions}
    leaves = {leaf.name for leaf in compaction.instantiate({}).schema.leaves if leaf.bits}
    assert not {"hw", "start", "scan.position", "copy.end", "believed[0]", "log.records[0].written"} & leaves


def test_a_follower_is_not_asked_about_with_another_leader() -> None:
    with pytest.raises(ModelError, match="what a follower does with another leader is the question of partition"):
        compaction.instantiate({"follower": True, "lags": True})


def test_releases_have_the_rules_that_their_sources_have() -> None:
    versions = ("1.0", "1.0.2", "1.1", "2.2", "2.8", "2.8.2", "3.0.2", "3.1", "3.2", "3.9", "4.3", "4.4")
    shown = {
        "carries_transactions": "000011111111",
        "stops_at_hw": "000000011111",
        "indexes_whole_segments": "000001101111",
        "spares_markers": "000000100111",
        "delete_horizons": "000000011111",
        "marks_mapped_only": "000000000000",
        "last_batch": "000000000012",
        "one_reading": "010111111111",
    }
    found = {item.name: "".join(str(profile(version, None)[item.name].value) for version in versions) for item in RULES}
    assert found == shown, "a rule has a row: what each of these releases has"
    with pytest.raises(ModelError, match="alike with both control planes"):
        profile("4.0", "kraft")


# -- what rules and promises are for ----------------------------------------------------------------------------------


def test_every_promise_is_violated_by_a_spec_and_kept_by_another() -> None:
    violated = {name for spec in shipped_of(compaction) if spec.expect for name in spec.expect.violates}
    kept = [spec for spec in shipped_of(compaction) if spec.expect and not spec.expect.violates]
    held = {item.name for spec in kept for item in spec.properties}
    assert violated >= set(PROMISES)
    assert held >= set(PROMISES)


def test_every_rule_is_what_mends_a_row() -> None:
    rows: dict[int, dict[str, Any]] = {}
    for spec in shipped_of(compaction):
        if spec.gallery:
            rows.setdefault(spec.gallery.row, {})[spec.gallery.role] = spec.constants
    mended = [{name for name in row["bug"] if row["bug"][name] != row["fix"][name]} for row in rows.values()]
    assert all(len(names) == 1 for names in mended)
    assert set.union(*mended) == {item.name for item in RULES} == {change.constant.name for change in HISTORY.changes}
