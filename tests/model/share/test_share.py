"""The protocol of share groups, held against an enumeration that shares nothing with it, and what every rule is for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from acked.model.share.protocol import share
from acked.model.share.settings import CIRCUMSTANCES, RULES, SIZES
from acked.model.share.versions import HISTORY, profile
from tests.model.share.enumeration import PROMISES as RULED
from tests.model.share.enumeration import Rules, explore
from tests.model.twins import assert_is_asked
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly
from tests.shipped import shipped_of

PROMISES = properties_of(share)
ALWAYS = tuple(PROMISES[name] for name in ("AcknowledgedRecordsStay", "NoRecordIsSkipped", "LocksEnd"))
EVERYTHING: dict[str, Any] = {
    "records": 3, "writes": 3, "sessions": True, "failed_writes": True, "lost_answers": True, "retries": True,
    "zombies": True, "latest": True, "answers_every_write": False, "counts_ended_sessions": False,
}  # fmt: skip


def of_rules(rules: Rules) -> Instance:
    return share.instantiate(share.bind(asdict(rules)))


QUICK = [
    Rules(),
    Rules(acquires_settled=False, failed_writes=True, records=1),
    Rules(fetches_gaps=False, writes=1),
    Rules(start_waits=False, failed_writes=True, max_epoch=1),
    Rules(ends_expired_locks=False, failed_writes=True, records=1),
    Rules(counts_ended_sessions=False, sessions=True, failed_writes=True, deliveries=True, records=1),
    Rules(start_goes_forward=False, retries=True),
    Rules(answers_every_write=False, failed_writes=True, max_epoch=1),
    Rules(keeps_first_start=False, latest=True, writes=1),
    Rules(zombies=True, records=1),
    Rules(lost_answers=True, retries=True, records=1, delivery_limit=1),
]
LARGER = [
    Rules(records=3, writes=1),
    Rules(failed_writes=True, retries=True),
    Rules(answers_every_write=False, failed_writes=True),
    Rules(zombies=True, writes=1, retries=True),
    Rules(max_epoch=3, records=1, deliveries=True, delivery_limit=3),
    Rules(lost_answers=True, retries=True, failed_writes=True, writes=3, max_epoch=1),
    Rules(
        acquires_settled=False, fetches_gaps=False, start_waits=False, ends_expired_locks=False, start_goes_forward=False,
        answers_every_write=False, keeps_first_start=False, failed_writes=True,
    ),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in LARGER)], ids=lambda item: str(item)[6:-1]
)
def test_levels_and_verdicts_are_those_of_an_enumeration_that_knows_nothing_of_the_protocol(rules: Rules) -> None:
    names = [name for name in RULED if rules.deliveries or not name.startswith("Deliver")]
    question = Question(of_rules(rules), tuple(PROMISES[name] for name in names))
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    broken = {item.property.name: item.trace_length for item in result.violations}
    assert (list(result.level_sizes), broken) == explore(rules)


def test_the_enumeration_is_asked_about_every_size_every_circumstance_and_every_rule() -> None:
    assert_is_asked((*SIZES, *CIRCUMSTANCES, *RULES), map(asdict, QUICK + LARGER))


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", QUICK[1:6], ids=lambda item: str(item)[6:-1])
def test_the_native_search_says_what_the_plain_evaluator_says(rules: Rules) -> None:
    question = Question(of_rules(rules), ALWAYS)
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY), expected)


@pytest.mark.slow
def test_every_action_says_in_a_sentence_what_it_does() -> None:
    told: dict[str, str] = {}
    for kind, text in sentences(share.instantiate(EVERYTHING), 1200, 60):
        assert text[0].islower()
        assert "None" not in text
        told.setdefault(kind, text)
    assert set(told) == {item.name for item in share.actions}


def test_a_former_leader_takes_an_epoch_before_the_last() -> None:
    with pytest.raises(ModelError, match="set max_epoch to 2 at least"):
        share.instantiate({"zombies": True, "max_epoch": 1})


def test_no_release_both_takes_deliveries_back_and_acquires_what_is_being_released() -> None:
    with pytest.raises(ModelError, match="no release takes deliveries back"):
        share.instantiate({"sessions": True, "counts_ended_sessions": False, "acquires_settled": False})


def test_releases_have_the_rules_that_their_sources_have() -> None:
    versions = ("3.9", "4.0", "4.1", "4.1.1", "4.2", "4.3.1", "4.4")
    shown = {
        "acquires_settled": "0111111",
        "fetches_gaps": "0011111",
        "start_waits": "0001111",
        "ends_expired_locks": "0000111",
        "counts_ended_sessions": "1100111",
        "start_goes_forward": "0000001",
        "answers_every_write": "0000000",
        "keeps_first_start": "0000000",
    }
    found = {item.name: "".join(str(profile(version, None)[item.name].value) for version in versions) for item in RULES}
    assert found == shown, "a rule has a row: what each of these releases has"
    with pytest.raises(ModelError, match="the same with both control planes"):
        profile("4.0", "kraft")


def test_every_promise_is_violated_by_a_spec_and_kept_by_another() -> None:
    violated = {name for spec in shipped_of(share) if spec.expect for name in spec.expect.violates}
    held = {item.name for spec in shipped_of(share) if spec.expect and not spec.expect.violates for item in spec.properties}
    assert violated == held == set(PROMISES)


def test_every_rule_is_what_mends_a_row() -> None:
    rows: dict[int, dict[str, Any]] = {}
    for spec in shipped_of(share):
        if spec.gallery:
            rows.setdefault(spec.gallery.row, {})[spec.gallery.role] = spec.constants
    mended = [{name for name in row["bug"] if row["bug"][name] != row["fix"][name]} for row in rows.values()]
    assert all(len(names) == 1 for names in mended)
    assert set.union(*mended) == {item.name for item in RULES} == {item.constant.name for item in HISTORY.changes}
