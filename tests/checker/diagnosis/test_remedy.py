"""Which rule would have prevented a violation: found by changing one rule at a time, and decided by a search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.checker.diagnosis.remedy import Remedy, RemedyKind, remedy_of
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason, Verdict
from acked.checker.search.local import search
from acked.checker.spec.spec import parse_spec
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.runs.refusals import prevented_in_words
from acked.reports.runs.view import steps_of
from tests.places import SPECS

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def violated(question: Question) -> Result:
    return search(question, Bounds(workers=1))


def remedy(result: Result, decides: bool = True) -> Remedy:
    found = result.violations[0]
    got = remedy_of(result.question, found.run, found.property, decides)
    assert got is not None
    return got


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "name", "source"),
    [
        ("kip101-1-bug", "truncation=leader epoch", "KIP-101"),
        pytest.param("kip966-bug", "eligible_leader_replicas=true", "KIP-966", marks=pytest.mark.long),
    ],
)
def test_the_rule_that_mends_a_known_bug_is_the_one_that_its_fix_has(bug: str, name: str, source: str) -> None:
    spec, fix = load_spec(bug), load_spec(bug.replace("bug", "fix"))
    found = remedy(violated(spec.question()))
    assert (found.sort, found.name, found.verdict) == (RemedyKind.RULE, name, Verdict.HOLDS)
    assert source in found.source
    assert fix.expect is not None
    assert found.states == fix.expect.distinct_states
    constant, _, value = name.partition("=")
    changed = {item: new for item, new in fix.constants.items() if spec.constants[item] != new}
    assert {constant: fix.protocol.instantiate(fix.constants).shown_constants[constant]} == {
        item: fix.protocol.instantiate(fix.constants).shown_constants[item] for item in changed
    }
    assert value == str(fix.protocol.instantiate(fix.constants).shown_constants[constant]).lower()
    if bug == "kip966-bug":
        names_the_clause(found)


def names_the_clause(found: Remedy) -> None:
    """A rule that ends the run names the clause that does, with its values."""
    assert found.blocked is not None
    assert found.blocked.index == 9
    assert [clause.label for clause in found.blocked.clauses] == ["candidate"]
    told = prevented_in_words(found, "AckedRecordsSurvive")
    assert "rules out step 9: ElectLeader(broker=0) is not enabled, “candidate” does not hold" in told
    assert f"AckedRecordsSurvive holds in all {found.states:,} reachable states" in told


@pytest.mark.slow
def test_the_remedy_has_the_epochs_of_the_story_and_counts_states_as_the_question_does() -> None:
    """By rank broker 0 would be in epoch 2; it was elected third, and its story says epoch 3."""
    spec = load_spec("kip320-try-bug")
    result = violated(spec.question())
    found = remedy(result)
    text = (SPECS / "gallery/kip320-try.toml").read_text("utf-8")
    mended = parse_spec(text.replace("truncation_fencing = false", "truncation_fencing = true"), Path("mended.toml#bug"))
    again = search(mended.question(), Bounds(workers=1))
    assert (found.name, found.verdict) == ("truncation_fencing=true", Verdict.HOLDS)
    assert (again.verdict, again.distinct_states) == (Verdict.HOLDS, found.states)
    assert found.blocked is not None
    before = steps_of(result.question, result.violations[0].run)[found.blocked.index - 1]
    assert [before.told["broker"][r]["leader_epoch"] for r in (0, 2)] == [3, 1]
    assert [before.state["broker"][r]["leader_epoch"] for r in (0, 2)] == [2, 1]
    told = prevented_in_words(found, "AckedRecordsSurvive")
    assert "(broker[0].leader_epoch is 3 and broker[2].leader_epoch is 1)" in told
    assert f"{found.states:,} reachable states (modulo broker symmetry)" in told


@pytest.mark.slow
def test_where_no_rule_mends_it_a_setting_may() -> None:
    spec = load_spec(SPECS / "claims/acks-1-loses.toml")
    found = remedy(violated(spec.question()))
    assert (found.sort, found.name, found.verdict) == (RemedyKind.SETTING, "acks=all", Verdict.HOLDS)


def test_later_rules_that_only_end_this_run_do_not_count_as_the_remedy() -> None:
    """kip101 rules the run out and loses StrongIsr otherwise; at these constants kip279 is the first that keeps it."""
    protocol = PROTOCOLS["truncate-to-hw"]
    constants = SMALL | {"max_leader_epoch": 2}
    result = violated(Question(protocol.instantiate(constants), (properties_of(protocol)["StrongIsr"],)))
    assert remedy(result, decides=False).name == "kip101"
    first = remedy(result, decides=False)
    assert (first.verdict, first.states) == (Verdict.INCOMPLETE, 0)
    decided = remedy(result)
    assert (decided.name, decided.verdict) == ("kip279", Verdict.HOLDS)


def test_of_a_weakened_protocol_the_remedy_is_the_clause_that_was_left_out() -> None:
    spec = load_spec(SPECS / "controls/expand-unfenced.toml")
    found = remedy(violated(spec.question()))
    assert (found.sort, found.verdict) == (RemedyKind.CLAUSE, Verdict.HOLDS)
    assert found.name == "FencedLeaderExpandIsr: follows in this epoch"
    assert "the clause that was dropped here" in prevented_in_words(found, "WeakIsr")


def test_ctrl_c_ends_the_looking_and_a_search_without_memory_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = violated(load_spec(SPECS / "controls/expand-unfenced.toml").question())

    def fails(*_: object) -> Result:
        raise SystemFailure("no memory")

    monkeypatch.setattr("acked.checker.diagnosis.remedy.search", fails)
    assert (remedy(result).verdict, remedy(result).states) == (Verdict.INCOMPLETE, 0)
    monkeypatch.setattr("acked.checker.diagnosis.remedy.search", lambda *_: replace(result, stopped=StopReason.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        remedy(result)


def test_a_clause_alone_may_not_be_enough_and_that_is_said() -> None:
    found = Remedy(RemedyKind.PROTOCOL, "kip101", "KIP-101", None, Verdict.VIOLATED, 7)
    assert prevented_in_words(found, "WeakIsr").endswith("That prevents this trace; WeakIsr is still violated in another.")
    open_ = Remedy(RemedyKind.RULE, "truncation=leader epoch", "KIP-101", None, Verdict.INCOMPLETE, 2_000_000)
    assert prevented_in_words(open_, "ReadsStay").endswith("ReadsStay holds with it was not decided within 2,000,000 states.")


@pytest.mark.parametrize(
    ("spec", "name", "blocked"),
    [("lease#bug", "fencing=true", True), ("two_phase_commit#bug", "asks_everybody=true", True)],
)
def test_the_default_of_a_switch_of_one_s_own_is_named_as_what_prevents_a_bug(spec: str, name: str, blocked: bool) -> None:
    file, _, variant = spec.partition("#")
    asked = load_spec(f"{SPECS / 'examples' / file}.toml#{variant}")
    found = remedy(violated(asked.question()))
    assert (found.sort, found.name, found.verdict) == (RemedyKind.RULE, name, Verdict.HOLDS)
    assert (found.blocked is not None) is blocked
