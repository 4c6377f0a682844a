"""What bounds a model is named as such: a clause that holds exactly where the step keeps a field in its domain."""

from __future__ import annotations

import pytest

from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.evaluate import Evaluator, leaves_of
from acked.model.language.protocol import Instance
from tests.reports.pictures.test_messages import WAYS, configured

ON_THEIR_WAY = {"share": {"a write is on its way", "two are on their way"}}
"""Counts of what is there, which a step uses up: without it there is nothing that could happen."""


def bounds_of(instance: Instance) -> dict[str, str]:
    """By label the action that has such a clause, as far as clause and update are about one field alone."""
    leaves, found = instance.schema.leaves, dict[str, str]()
    codes = [0] * len(leaves)
    for step in {item.action.name: item for item in instance.actions}.values():
        updates = dict(step.updates)
        for guard in step.guards:
            (leaf, *others) = leaves_of(guard.condition) or {-1}
            if others or leaf not in updates or leaves_of(updates[leaf]) != {leaf}:
                continue
            both, told = Evaluator([guard.condition, updates[leaf]]), []
            for code in range(leaves[leaf].cardinality):
                codes[leaf] = code
                holds, after = both(codes)
                told.append((bool(holds), 0 <= after < leaves[leaf].cardinality))
            if (False, False) in told and all(holds == is_kept for holds, is_kept in told):
                found[guard.label] = step.action.name
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_clause_that_only_keeps_a_field_in_its_domain_is_one_of_the_protocols_budgets(name: str) -> None:
    found: dict[str, str] = {}
    for version, given in WAYS[name]:
        found |= bounds_of(configured(name, version, given))
    protocol = PROTOCOLS[name]
    missing = {label: action for label, action in found.items() if label not in protocol.budgets}
    assert missing.keys() == ON_THEIR_WAY.get(name, set()), (
        f"name them in `budgets` of {name}, or what is fair and what can be recovered from stops there: {missing}"
    )


def test_a_bound_that_is_no_budget_is_found() -> None:
    assert bounds_of(configured("kraft", None, {"servers": 2, "formats": 1}))["a disk may be lost"] == "FormatDisk"
    assert "another server" not in bounds_of(configured("kraft", None, {"servers": 2}))
