"""The protocol of majorities by every engine, and every promise broken where the clause that it rests on is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Verdict
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.language.quantify import every, implies, some
from acked.model.language.values import Bool
from acked.model.majority.protocol import majority
from acked.model.majority.state import Offset, Replica, State, Term
from tests.oracle import Space, assert_same_answer, explore
from tests.proofs.domains import DomainVerdict, prove_domains

Clause = tuple[str, str]
PROMISES = properties_of(majority)
SMALL: dict[str, Any] = {"replicas": 3, "log_size": 1}
VOTES: dict[str, Any] = {"votes": "one by one", "max_term": 4}
"""Single votes; the last row of the paper's figure 8 has four terms."""


def answer(constants: dict[str, Any], *asked: str | Property, drop: tuple[Clause, ...] = ()) -> Result:
    properties = tuple(PROMISES[item] if isinstance(item, str) else item for item in asked)
    return search(Question(majority.instantiate(constants, drop), properties), Bounds(workers=2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [
        {"replicas": 2, "log_size": 2},
        {"replicas": 3, "log_size": 1, "records": 1, "crashes": "lossy", "lossy_crashes": 1, "max_term": 1},
        {"replicas": 2, "log_size": 1, "records": 1, "votes": "one by one", "max_term": 3},
    ],
    ids=str,
)
def test_the_native_search_says_what_the_plain_oracle_says(constants: dict[str, Any]) -> None:
    question = Question(majority.instantiate(constants), tuple(PROMISES.values()))
    expected = explore(Space(question), StopPolicy.EVERY_PROPERTY)
    for workers in (1, 2):
        question = Question(majority.instantiate(constants), tuple(PROMISES.values()))
        result = search(question, Bounds(workers=workers), StopPolicy.EVERY_PROPERTY)
        assert_same_answer(result, expected)
        assert result.distinct_states > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants",
    [
        {"replicas": 3},
        {"replicas": 3, "log_size": 1, "crashes": "lossy", "lossy_crashes": 1},
        {"replicas": 3, "log_size": 1, "votes": "one by one", "max_term": 3},
    ],
    ids=str,
)
def test_every_promise_holds_of_three_replicas(constants: dict[str, Any]) -> None:
    result = answer(constants, *PROMISES)
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states > 50_000
    assert not result.never_fired


# -- domains and ranks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constants",
    [
        {"replicas": 2, "log_size": 2},
        {"replicas": 3, "log_size": 2, "crashes": "lossy", "lossy_crashes": 1},
        {"replicas": 3, "log_size": 3, "records": 3, "crashes": "lossy", "lost_logs_vote": True},
        {"replicas": 3, "log_size": 2, "votes": "one by one", "max_term": 3, "crashes": "none"},
    ],
    ids=str,
)
def test_no_action_can_leave_a_domain(constants: dict[str, Any]) -> None:
    proofs = prove_domains(majority.instantiate(constants), ())
    assert [proof.subject for proof in proofs if proof.verdict is not DomainVerdict.PROVED] == []
    assert [proof.subject for proof in proofs if not proof.can_fire] == []


@pytest.mark.parametrize(
    ("clause", "other"),
    [
        (("Write", "room in the log"), {}),
        (("Write", "a record is left"), {}),
        (("Crash", "a lossy crash is left"), {"crashes": "lossy", "lossy_crashes": 1}),
        (("Elect", "a term is left"), {"max_term": 2}),
        (("Stand", "a term is left"), {"votes": "one by one", "max_term": 2}),
    ],
)
def test_without_a_guard_the_domain_proof_fails(clause: Clause, other: dict[str, Any]) -> None:
    proofs = prove_domains(majority.instantiate({**SMALL, **other}, [clause]), ())
    assert [proof.subject for proof in proofs if proof.verdict is DomainVerdict.REFUTED] == [clause[0]]


def terms_are_dense(s: State) -> Bool:
    def in_use(t: Term) -> Bool:
        written = some(Replica, lambda r: some(Offset, lambda o: s.log[r].has(o) & (s.log[r].at(o).term == t)))
        return some(Replica, lambda r: s.replica[r].term == t) | written

    return every(Term, lambda high: every(Term, lambda low: implies((low < high) & in_use(high), in_use(low))))


@pytest.mark.slow
def test_ranks_of_terms_never_have_gaps() -> None:
    dense = Property("TermsAreDense", Kind.STATE, terms_are_dense, "ranks are dense", "docs/abstractions.md", "always")
    assert answer({"replicas": 3, "log_size": 1, "crashes": "lossy"}, dense).verdict is Verdict.HOLDS
    assert answer({"replicas": 2, "log_size": 2}, dense).verdict is Verdict.HOLDS


# -- what every clause and constant is for --------------------------------------------------------------------------

BROKEN: list[tuple[str, str, Clause, dict[str, Any]]] = [
    # what goes wrong, the promise that breaks, the clause that is left out, other constants
    ("figure-8", "AckedRecordsSurvive", ("Commit", "of the leader's own term"), {}),
    ("figure-8-votes", "AckedRecordsSurvive", ("Commit", "of the leader's own term"), VOTES),
    ("figure-8-complete", "LeaderCompleteness", ("Commit", "of the leader's own term"), {}),
    ("figure-8-electable", "AckedRecordsElectable", ("Commit", "of the leader's own term"), {}),
    ("figure-8-stays", "CommittedRecordsStay", ("Commit", "of the leader's own term"), {}),
    ("figure-8-exists", "AckedRecordsExist", ("Commit", "of the leader's own term"), {}),
    ("no-log-check", "AckedRecordsSurvive", ("Elect", "voters' logs are no newer"), {}),
    ("no-log-check-vote", "AckedRecordsSurvive", ("Vote", "voter's log is no newer"), VOTES),
    ("few-voters", "AckedRecordsSurvive", ("Elect", "votes of a majority"), {}),
    ("few-votes", "OneLeaderPerTerm", ("TakeOffice", "votes of a majority"), VOTES),
    ("two-votes", "OneLeaderPerTerm", ("Vote", "has not voted in this term"), VOTES),
    ("two-votes-append", "LeaderAppendOnly", ("Vote", "has not voted in this term"), VOTES),
    ("two-votes-match", "LogMatching", ("Vote", "has not voted in this term"), VOTES),
    ("few-copies", "AckedRecordsSurvive", ("Commit", "a majority holds it"), {}),
    ("few-copies-agree", "LogsAgreeBelowHw", ("Commit", "a majority holds it"), {}),
    ("old-leader", "AckedRecordsSurvive", ("Replicate", "not in a newer term"), {}),
    ("lost-votes", "AckedRecordsSurvive", ("Elect", "voters have lost nothing"), {"crashes": "lossy", "lossy_crashes": 1}),
]


def dealt() -> Iterator[Any]:
    """Every row; of those without the same clause the first stands for the next, of which other promises break."""
    seen = set[Clause]()
    for name, promise, clause, other in BROKEN:
        yield pytest.param(promise, clause, other, id=name, marks=pytest.mark.long if clause in seen else pytest.mark.slow)
        seen.add(clause)


@pytest.mark.parametrize(("promise", "clause", "other"), [*dealt()])
def test_a_promise_breaks_without_the_clause_that_it_rests_on(promise: str, clause: Clause, other: dict[str, Any]) -> None:
    result = answer({**SMALL, **other}, promise, drop=(clause,))
    assert result.verdict is Verdict.VIOLATED
    assert [item.property.name for item in result.violations] == [promise]


@pytest.mark.long
def test_the_figure_of_the_paper_is_found_in_as_few_steps_by_search_and_by_the_solver() -> None:
    instance = majority.instantiate({**SMALL, "crashes": "none"}, [("Commit", "of the leader's own term")])
    found = search(Question(instance, (PROMISES["AckedRecordsSurvive"],)))
    assert found.violations[0].trace_length == 9
    bounded = check_bounded(Question(instance, (PROMISES["AckedRecordsSurvive"],)), Bound(9), Limits(1, 600, 1 << 31))
    assert [item.trace_length for item in bounded.violations] == [9]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(("replicas", "failures", "verdict"), [
    (1, 0, Verdict.HOLDS), (2, 0, Verdict.HOLDS), (1, 1, Verdict.VIOLATED), (2, 1, Verdict.VIOLATED),
    (3, 1, Verdict.HOLDS), (3, 2, Verdict.VIOLATED), (4, 2, Verdict.VIOLATED),
])  # fmt: skip
def test_writes_go_on_with_n_failures_from_2n_plus_1_replicas_on(replicas: int, failures: int, verdict: Verdict) -> None:
    constants = {"replicas": replicas, "log_size": 1, "records": 1, "failures": failures}
    assert answer(constants, "WritesWithSomeDown").verdict is verdict


@pytest.mark.slow
def test_a_majority_that_loses_its_logs_loses_records_and_who_forgot_may_not_vote() -> None:
    lossy = {**SMALL, "crashes": "lossy"}
    assert answer({**lossy, "lossy_crashes": 1}, "AckedRecordsSurvive", "AckedRecordsExist").verdict is Verdict.HOLDS
    assert answer({**lossy, "lossy_crashes": 2}, "AckedRecordsExist").verdict is Verdict.VIOLATED
    forgetful = {**lossy, "lossy_crashes": 1, "lost_logs_vote": True}
    assert answer(forgetful, "AckedRecordsSurvive").verdict is Verdict.VIOLATED


def test_every_promise_is_broken_by_some_row() -> None:
    assert {row[1] for row in BROKEN} | {"WritesWithSomeDown"} == set(PROMISES)


@pytest.mark.slow
def test_replicas_are_interchangeable() -> None:
    def asked(constants: dict[str, Any], is_symmetric: bool) -> Result:
        return search(Question(majority.instantiate(constants), tuple(PROMISES.values()), is_symmetric=is_symmetric))

    for constants in (SMALL, {**SMALL, "crashes": "lossy", "lossy_crashes": 1}, {**SMALL, **VOTES, "max_term": 2}):
        once, all_names = asked(constants, True), asked(constants, False)
        assert once.verdict is all_names.verdict is Verdict.HOLDS
        assert 5 * once.distinct_states < all_names.distinct_states <= 6 * once.distinct_states
