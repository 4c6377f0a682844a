"""The protocol of controllers, held against an enumeration that shares nothing with it, and what every rule is for."""

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
from acked.model.formulas.errors import ModelError
from acked.model.kraft.protocol import kraft
from acked.model.kraft.settings import CIRCUMSTANCES, QUORUM, RULES
from acked.model.kraft.versions import HISTORY, profile
from acked.model.language.protocol import Instance
from tests.model.kraft.enumeration import PROMISES as RULED
from tests.model.kraft.enumeration import Rules, explore, promises_of_steps
from tests.model.twins import assert_is_asked
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly
from tests.shipped import shipped_of

PROMISES = properties_of(kraft)
SOMETIMES = {
    "FollowedLeadersStay", "RemovedVotersStayOut", "RemovedVotersDecideNothing", "NobodyJoinsTwice", "SnapshotsAreTakenUp",
}  # fmt: skip
ALWAYS = tuple(item for name, item in PROMISES.items() if name not in SOMETIMES)
FAILING: dict[str, Any] = {
    "servers": 2, "records": 2, "max_epoch": 4, "formats": 1, "stands": True, "unflushed": True, "quorum_state_lost": True,
    "snapshots": True,
}  # fmt: skip
CHANGING: dict[str, Any] = {
    "servers": 2, "max_epoch": 4, "voters": "dynamic", "initial_voters": 1, "changes": 4, "formats": 1, "auto_join": True,
}  # fmt: skip
REPLACING: dict[str, Any] = {
    "max_epoch": 3, "voters": "dynamic", "changes": 2, "formats": 1, "auto_join": True, "by_operator": False,
    "restarts": False, "check_quorum": False,
}  # fmt: skip

REMOVING: dict[str, Any] = {
    "servers": 2, "max_epoch": 1, "voters": "dynamic", "changes": 1, "restarts": False, "check_quorum": False,
}  # fmt: skip

ADDING: dict[str, Any] = {
    "servers": 2, "max_epoch": 1, "voters": "dynamic", "changes": 1, "initial_voters": 1, "unflushed": True,
    "observers_flush": False,
}  # fmt: skip
UPGRADING: dict[str, Any] = {
    "servers": 2, "max_epoch": 1, "upgrades": True, "changes": 1, "restarts": False, "check_quorum": False,
}  # fmt: skip
LAGGING: dict[str, Any] = {"snapshots": True, "max_epoch": 1, "restarts": False, "check_quorum": False}


def constants_of(rules: Rules) -> dict[str, int]:
    has = asdict(rules)
    has["voters"] = "dynamic" if has.pop("dynamic") else "static"
    has["formatted"] = "standalone" if has.pop("standalone") else "joining"
    has["initial_voters"] = has.pop("first")
    return kraft.bind(has)


def of_rules(rules: Rules) -> Instance:
    return kraft.instantiate(constants_of(rules))


QUICK = [
    Rules(max_epoch=2),
    Rules(servers=2, records=2, max_epoch=3),
    Rules(servers=2, formats=2),
    Rules(servers=2, records=2, unflushed=True, quorum_state_lost=True),
    Rules(servers=2, stands=True),
    Rules(servers=2, stands=True, pre_vote=False, max_epoch=3),
    Rules(servers=2, dynamic=True, changes=2),
    Rules(servers=2, dynamic=True, changes=2, first=1, formats=1, auto_join=True, check_quorum=False),
    Rules(servers=2, dynamic=True, formats=1, standalone=True, restarts=False),
    Rules(servers=2, dynamic=True, changes=1, formats=1, standalone=True),
    Rules(servers=2, records=2, restarted_leader="leading", unflushed=True),
    Rules(servers=2, records=2, restarted_leader="unattached", unflushed=True, leader_change_committed=False),
    Rules(servers=2, dynamic=True, changes=2, leader_may_be_outside=False),
    Rules(servers=2, dynamic=True, changes=2, formats=1, max_epoch=1),
    Rules(servers=2, dynamic=True, changes=1, first=1, formats=1, unflushed=True, observers_flush=False, max_epoch=1),
    Rules(servers=2, dynamic=True, changes=1, first=1, snapshots=True, unflushed=True, observers_flush=False),
    Rules(servers=2, formats=1, quorum_state_lost=True, unflushed=True, snapshots=True),
    Rules(servers=2, dynamic=True, changes=2, first=1, snapshots=True),
    Rules(servers=2, upgrades=True, changes=2),
    Rules(servers=2, upgrades=True, changes=2, formats=1, max_epoch=1),
    Rules(servers=2, upgrades=True, changes=2, first=1, auto_join=True, formats=1, max_epoch=1),
    Rules(servers=2, formats=2, pre_vote=False),
    Rules(servers=2, formats=1, pre_vote=False, stands=True, restarted_leader="unattached"),
    Rules(servers=2, dynamic=True, changes=2, least_voters=2),
]
LARGER = [
    Rules(records=2, max_epoch=3),
    Rules(stands=True),
    Rules(records=2, restarted_leader="unattached", unflushed=True),
    Rules(snapshots=True),
    Rules(dynamic=True, changes=1, first=2, leader_may_be_outside=False),
    Rules(upgrades=True, changes=1),
    Rules(formats=1, pre_vote=False),
    Rules(quorum_state_lost=True, restarts=False, check_quorum=False),
    Rules(formats=1, quorum_state_lost=True),
    Rules(records=2, max_epoch=4, restarts=False, check_quorum=False),
    Rules(dynamic=True, changes=2, formats=1, auto_join=True, by_operator=False),
]


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in LARGER)], ids=lambda item: str(item)[6:-1]
)
def test_levels_and_verdicts_are_those_of_an_enumeration_that_knows_nothing_of_the_protocol(rules: Rules) -> None:
    question = Question(of_rules(rules), tuple(PROMISES[name] for name in (*RULED, *promises_of_steps(rules))))
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    broken = {item.property.name: item.trace_length for item in result.violations}
    assert (list(result.level_sizes), broken) == explore(rules)


def test_the_enumeration_is_asked_about_every_rule_and_every_failure() -> None:
    assert_is_asked((*QUORUM, *CIRCUMSTANCES, *RULES), map(constants_of, QUICK + LARGER))


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", [QUICK[0], QUICK[2], QUICK[6], QUICK[8]], ids=lambda item: str(item)[6:-1])
def test_the_native_search_says_what_the_plain_evaluator_says(rules: Rules) -> None:
    question = Question(of_rules(rules), ALWAYS)
    expected = explore_plainly(Space(question), StopPolicy.EVERY_PROPERTY)
    assert_same_answer(search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY), expected)


@pytest.mark.slow
def test_servers_are_interchangeable() -> None:
    def asked(constants: dict[str, Any], is_symmetric: bool) -> Result:
        return search(Question(kraft.instantiate(constants), ALWAYS, is_symmetric=is_symmetric))

    for constants in ({}, {"voters": "dynamic", "changes": 1}):
        once, all_names = asked(constants, True), asked(constants, False)
        assert once.verdict is all_names.verdict is Verdict.HOLDS
        assert 5 * once.distinct_states < all_names.distinct_states <= 6 * once.distinct_states


@pytest.mark.slow
def test_every_action_says_in_a_sentence_what_it_does() -> None:
    told: dict[str, str] = {}
    some = ((FAILING, 40), (CHANGING, 40), (REPLACING, 60), (REMOVING, 20), (LAGGING, 20), (ADDING, 20), (UPGRADING, 20))
    for constants, length in some:
        for kind, text in sentences(kraft.instantiate(constants), 1200, length):
            assert text[0].islower()
            assert "None" not in text
            told.setdefault(kind, text)
    assert set(told) == {item.name for item in kraft.actions}


@pytest.mark.slow
def test_a_part_that_is_turned_off_adds_neither_fields_nor_actions() -> None:
    def names(constants: dict[str, Any]) -> set[str]:
        return {item.action.name for item in kraft.instantiate(constants).actions}

    plain = {"Elect", "Write", "Fetch", "FetchDiverging"}
    assert names({"restarts": False, "check_quorum": False}) == plain
    assert names(FAILING) | names(CHANGING) | names(ADDING) | names(UPGRADING) == {item.name for item in kraft.actions}
    leaves = {leaf.name for leaf in kraft.instantiate({}).schema.leaves if leaf.bits}
    assert not {"next_change", "server[0].disk", "formats_left", "change[0].members", "dismissed", "first"} & leaves


def test_static_voters_do_not_change() -> None:
    with pytest.raises(ModelError, match=r"static voters do not change; remove changes, or set voters"):
        kraft.instantiate({"changes": 1})
    for constants in ({"upgrades": True}, {"upgrades": True, "changes": 1, "voters": "dynamic"}):
        with pytest.raises(ModelError, match="an upgrade makes static voters dynamic"):
            kraft.instantiate(constants)


def test_no_more_servers_are_voters_than_there_are() -> None:
    with pytest.raises(ModelError, match="more initial_voters than servers"):
        kraft.instantiate({"servers": 2, "initial_voters": 3})


def test_releases_have_the_rules_that_their_sources_have() -> None:
    versions = ("2.7", "2.8", "3.7", "3.8", "3.9", "4.0")
    shown = {
        "restarted_leader": "122222",
        "leader_change_committed": "011111",
        "check_quorum": "001111",
        "leader_may_be_outside": "000111",
        "observers_flush": "000011",
        "pre_vote": "000001",
    }
    found = {item.name: "".join(str(profile(version, None)[item.name].value) for version in versions) for item in RULES}
    assert found == shown, "a rule has a row: what each of these releases has"
    assert {change.constant for change in HISTORY.changes} == set(RULES)
    with pytest.raises(ModelError, match="the control plane itself"):
        profile("4.0", "kraft")


# -- what rules and promises are for -------------------------------------------------------------------------------------


def test_every_promise_is_violated_by_a_spec_and_kept_by_another() -> None:
    violated = {name for spec in shipped_of(kraft) if spec.expect for name in spec.expect.violates}
    held = {item.name for spec in shipped_of(kraft) if spec.expect and not spec.expect.violates for item in spec.properties}
    assert violated >= set(PROMISES) - {"LeaderCompleteness", "StateMachineSafety"}
    assert held >= set(PROMISES) - {"RemovedVotersStayOut", "SnapshotsAreTakenUp"}


@pytest.mark.slow
def test_what_two_voters_lose_with_a_disk_breaks_completeness_and_safety_too() -> None:
    question = Question(kraft.instantiate({"servers": 2, "formats": 2}), ALWAYS)
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    assert {item.property.name for item in result.violations} >= {"LeaderCompleteness", "StateMachineSafety"}


def test_every_rule_is_what_mends_a_row() -> None:
    rows: dict[int, dict[str, Any]] = {}
    for spec in shipped_of(kraft):
        if spec.gallery:
            rows.setdefault(spec.gallery.row, {})[spec.gallery.role] = spec.constants
    mended = [{name for name in row["bug"] if row["bug"][name] != row["fix"][name]} for row in rows.values() if "fix" in row]
    assert all(len(names) == 1 for names in mended)
    assert set.union(*mended) == {item.name for item in RULES}


LOST_DISKS = {
    ("static", 1): ("", "split lost", ""),
    ("static", 2): ("lost", "split lost", "split lost"),
    ("dynamic", 1): ("stuck", "", ""),
    ("dynamic", 2): ("stuck", "lost stuck", "stuck"),
}
"""What `docs/controllers.md` says of two, three and four voters that lose so many disks."""


@pytest.mark.sampled(2, "landing")
@pytest.mark.slow
@pytest.mark.parametrize(("voters", "formats"), LOST_DISKS)
def test_the_page_says_what_lost_disks_do_to_two_three_and_four_voters(voters: str, formats: int) -> None:
    words = {"OneLeaderPerEpoch": "split", "MetadataSurvives": "lost", "QuorumCanElect": "stuck"}
    found = []
    for servers in (2, 3, 4):
        constants = {"voters": voters, "servers": servers, "formats": formats, "check_quorum": False}
        question = Question(kraft.instantiate(constants), tuple(PROMISES[name] for name in words), is_symmetric=True)
        result = search(question, Bounds(workers=2), StopPolicy.EVERY_PROPERTY)
        broken = {item.property.name for item in result.violations}
        found.append(" ".join(word for name, word in words.items() if name in broken))
    assert tuple(found) == LOST_DISKS[voters, formats]


@pytest.mark.slow
def test_before_pre_vote_four_static_voters_do_not_bear_one_lost_disk_either() -> None:
    """A voter votes again for the id that it voted for, whatever became of that one's disk."""
    for pre_vote, broken in ((True, set()), (False, {"MetadataSurvives", "LogMatching"})):
        constants = {"servers": 4, "formats": 1, "check_quorum": False, "pre_vote": pre_vote}
        asked = tuple(PROMISES[name] for name in ("OneLeaderPerEpoch", "MetadataSurvives", "LogMatching"))
        result = search(Question(kraft.instantiate(constants), asked, is_symmetric=True), Bounds(), StopPolicy.EVERY_PROPERTY)
        assert {item.property.name for item in result.violations} == broken


@pytest.mark.slow
def test_one_change_in_flight_among_three_is_complete() -> None:
    """Two epochs beyond the first, two records."""
    constants = {"records": 2, "max_epoch": 3, "voters": "dynamic", "changes": 1}
    result = search(Question(kraft.instantiate(constants), ALWAYS, is_symmetric=True))
    assert result.verdict is Verdict.HOLDS
    assert result.distinct_states == 675_837
