"""What is proved of a compacted log by induction, at constants of every kind that there are lemmas for."""

from __future__ import annotations

from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.checker.proof.result import ProofResult
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.invariants.compaction import LEMMAS
from acked.invariants.proofs import lemmas_for
from acked.model.compaction.protocol import compaction
from acked.model.formulas.evaluate import Evaluator
from tests.proofs.inductive import broken, claimed, proved

CUT: dict[str, Any] = {"deletes": True, "expires": True}
READS: dict[str, Any] = {"reader": True, "ticks": 2}
LAGS: dict[str, Any] = {"lags": True, "map_keys": 1, **CUT}
LARGE: dict[str, Any] = {"records": 7, "keys": 2, "segment": 4, "ticks": 3, "retention": 2, **LAGS}
LAST, KEPT_UP = ("LastValuesStay", "CopiesCatchUp"), ("FollowersGoOn", "CopiesCatchUp")
WHOLE = ("AbortedRecordsStayHidden", "CommittedRecordsStayReadable", "TransactionsEnd")
SEEN = ("ReadersSeeDeletions", "LastValuesStay")
READERS = tuple(item for item in LEMMAS if item.name in ("HorizonsAreCleaned", "ReadersMeetDeletions"))
OF_TRANSACTIONS = ("MarkersEndTransactions", "MarkersOutliveRecords", "IndexHasMarkers")


def asked(names: tuple[str, ...], constants: dict[str, Any], without: str = "") -> ProofResult:
    """What comes of the lemmas that ship, or of all where none do."""
    instance = compaction.instantiate(constants)
    lemmas = lemmas_for(compaction, claimed(compaction, names), instance.constants) or LEMMAS
    return proved(instance, names, lemmas, without)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "constants"),
    [
        ((*LAST, *WHOLE), {"records": 3}),
        ((*SEEN, *WHOLE), {"records": 3, **LAGS, **READS}),
        (SEEN, {"records": 3, "producers": 0, "marks_mapped_only": False, **READS}),
        (WHOLE, {"records": 3, "lags": True, "stops_at_hw": False}),
        (LAST, {"records": 3, "producers": 0, **LAGS}),
        (KEPT_UP, {"records": 3, "producers": 0, "follower": True, "ticks": 0, **CUT}),
        (("FollowersGoOn",), {"records": 3, "producers": 0, "follower": True, "last_batch": "removed", **CUT}),
        (("CopiesCatchUp",), {"records": 3, "ticks": 0, "last_batch": "of a pass", **LAGS}),
        (("LastValuesStay",), {"records": 3, "delete_horizons": False, "last_batch": "removed"}),
        pytest.param((*LAST, *WHOLE), {**LARGE, "producers": 2}, marks=pytest.mark.long),
        pytest.param(SEEN, {**LARGE, **READS, "records": 5}, marks=pytest.mark.long),
    ],
    ids=lambda item: ", ".join(item),
)  # fmt: skip
def test_promises_are_proved_by_induction_with_every_field_in_its_domain(
    names: tuple[str, ...], constants: dict[str, Any]
) -> None:
    assert lemmas_for(compaction, claimed(compaction, names), compaction.bind(constants)) is not None
    result = asked(names, constants)
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert not any(item.never_fires for item in result.induction.actions)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "names", "constants"),
    [
        *((name, WHOLE, {}) for name in ("SegmentsAreInTheLog", *OF_TRANSACTIONS)),
        *((name, ("LastValuesStay",), {}) for name in ("CleanedIsStable", "CleanedKeysAreThereOnce", *OF_TRANSACTIONS)),
        *((name, ("LastValuesStay",), {"producers": 0, **LAGS}) for name in ("SegmentsAreInTheLog", "CleanedIsStable")),
        ("CleanedKeysAreThereOnce", ("LastValuesStay",), {"keys": 2, "producers": 0}),
        *((item.name, SEEN, READS) for item in READERS),
        ("LastValuesStay", ("ReadersSeeDeletions",), READS),
        ("NothingIsMissingAtTheEnd", ("CopiesCatchUp",), {"lags": True}),
        ("AnswersHaveOneReading", ("FollowersGoOn",), {"follower": True, **CUT}),
    ],
)
def test_without_any_of_the_lemmas_the_proof_fails(without: str, names: tuple[str, ...], constants: dict[str, Any]) -> None:
    result = asked(names, {"records": 3, **constants}, without)
    assert result.verdict is Verdict.INCOMPLETE
    assert broken(result)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "value", "names", "constants", "claim"),
    [
        ("carries_transactions", False, WHOLE, {}, "MarkersOutliveRecords"),
        ("indexes_whole_segments", False, WHOLE, {"records": 4, "map_keys": 1, "segment": 4}, "MarkersOutliveRecords"),
        ("spares_markers", False, WHOLE, {"integer_keys": True}, "IndexHasMarkers"),
        ("stops_at_hw", False, ("LastValuesStay",), {"lags": True}, "CleanedIsStable"),
        ("delete_horizons", False, SEEN, READS, "ReadersSeeDeletions"),
        ("marks_mapped_only", False, SEEN, {"map_keys": 1, **READS}, "HorizonsAreCleaned"),
        ("last_batch", "removed", ("CopiesCatchUp",), {"ticks": 0}, "CopiesCatchUp"),
        ("one_reading", False, ("FollowersGoOn",), {"follower": True, **CUT}, "FollowersGoOn"),
    ],
)  # fmt: skip
def test_without_a_rule_that_mends_a_bug_a_step_breaks_a_lemma_or_a_promise(
    rule: str, value: object, names: tuple[str, ...], constants: dict[str, Any], claim: str
) -> None:
    given = {"records": 3, **constants, rule: value}
    assert lemmas_for(compaction, claimed(compaction, names), compaction.bind(given)) is None
    result = asked(names, given)
    assert result.verdict is Verdict.INCOMPLETE
    assert claim in broken(result)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [
        {"records": 3, "reader": True},
        {"records": 3, "producers": 0, "follower": True, **CUT},
        pytest.param({"keys": 2, **LAGS}, marks=pytest.mark.long),
        pytest.param({"records": 3, "producers": 2, "lags": True, **READS, **CUT}, marks=pytest.mark.long),
    ],
    ids=lambda item: ", ".join(item),
)  # fmt: skip
def test_lemmas_hold_in_every_reachable_state(constants: dict[str, Any]) -> None:
    question = Question(compaction.instantiate(constants), LEMMAS, is_symmetric=True)
    assert search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY).verdict is Verdict.HOLDS


@pytest.mark.parametrize("constants", [{}, {"producers": 0}, {**LAGS, **READS}, {"follower": True, "delete_horizons": False}])
def test_every_lemma_can_be_read(constants: dict[str, Any]) -> None:
    instance = compaction.instantiate(constants)
    roots = [instance.state_predicate(item.name, item.predicate) for item in LEMMAS]
    [words] = instance.initial
    assert all(Evaluator(roots)(instance.schema.unpack(words)))


def test_lemmas_are_offered_only_for_the_rules_that_they_need() -> None:
    def known(name: str, **constants: Any) -> bool:
        return lemmas_for(compaction, claimed(compaction, (name,)), compaction.bind(constants)) is not None

    assert known("CopiesCatchUp", last_batch="of a pass")
    assert not known("CopiesCatchUp", last_batch="removed")
    assert known("LastValuesStay", marks_mapped_only=False)
    assert known("LastValuesStay", producers=0, spares_markers=False)
    assert not known("LastValuesStay", spares_markers=False)
    assert known("ReadersSeeDeletions", reader=True, map_keys=1)
    assert not known("ReadersSeeDeletions", reader=True, map_keys=1, marks_mapped_only=False)
    assert known("FollowersGoOn", follower=True)
    assert lemmas_for(compaction, claimed(compaction, LAST)) is None
