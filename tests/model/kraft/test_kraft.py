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
from tests.model.kraft.enumeration import Rules, explore
from tests.model.walking import sentences
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly

PROMISES = properties_of(kraft)
ALL = tuple(item for name, item in PROMISES.items() if name not in {"FollowedLeadersStay", "RemovedVotersStayOut"})
DYNAMIC: dict[str, Any] = {"voters": "dynamic", "changes": 1}


def of_rules(rules: Rules) -> Instance:
    has = asdict(rules)
    has["voters"] = "dynamic" if has.pop("dynamic") else "static"
    has["formatted"] = "standalone" if has.pop("standalone") else "joining"
    has["initial_voters"] = has.pop("first")
    return kraft.instantiate(has)


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
]
LARGER = [
    Rules(records=2, max_epoch=3),
    Rules(max_epoch=2, formats=1, quorum_state_lost=True),
    Rules(max_epoch=3, stands=True),
    Rules(max_epoch=4, leader_change_committed=False, restarts=False),
    Rules(records=2, restarted_leader="unattached", unflushed=True),
    Rules(dynamic=True, changes=1, first=2),
    Rules(dynamic=True, changes=1, formats=1),
    Rules(dynamic=True, changes=1, leader_may_be_outside=False),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [*QUICK, *(pytest.param(item, marks=pytest.mark.long) for item in LARGER)], ids=lambda item: str(item)[6:-1]
)
def test_levels_and_verdicts_are_those_of_an_enumeration_that_knows_nothing_of_the_protocol(rules: Rules) -> None:
    question = Question(of_rules(rules), tuple(PROMISES[name] for name in RULED))
    result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
    broken = {item.property.name: item.trace_length for item in result.violations}
    assert (list(result.level_sizes), broken) == explore(rules)
