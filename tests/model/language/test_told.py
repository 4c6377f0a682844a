"""The instance in which traces are shown has the actions of the one that was searched, traced as they are asked for."""

from __future__ import annotations

import pytest

from acked.api import load_spec
from acked.model.language.tracings import KnownInstance
from tests.places import SPECS

NAMES = ("kafka13141-bug", "kafka14402-bug", "elr-configuration")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_counterpart_is_what_tracing_everything_would_have_made(name: str) -> None:
    instance = load_spec(name).question().instance
    lazy = instance.shown_instance
    assert lazy.constants != instance.constants, "this protocol is shown as it is searched; choose another"
    whole = lazy.protocol.instantiate(lazy.constants, lazy.dropped)
    made = {item.label: item for item in whole.actions}
    for step in instance.actions:
        found, wanted = lazy.counterpart(step), made[step.label]
        assert found is not None
        assert found.label == wanted.label
        assert [guard.label for guard in found.guards] == [guard.label for guard in wanted.guards]
        roots = [found.guard, *(code for _, code in found.updates)]
        expected = [wanted.guard, *(code for _, code in wanted.updates)]
        assert [leaf for leaf, _ in found.updates] == [leaf for leaf, _ in wanted.updates]
        assert lazy.pool.digests(roots) == whole.pool.digests(expected)
    assert "actions" not in vars(lazy), "nothing asked for all of them"


def test_an_action_or_argument_that_an_instance_does_not_have_has_no_counterpart() -> None:
    instance = load_spec(SPECS / "kip320.toml").question().instance
    smaller = load_spec(SPECS / "claims" / "acks-0-loses.toml").question().instance
    step = instance.actions[0]
    assert instance.counterpart(step) is not None
    assert smaller.counterpart(step) is None
    beyond = KnownInstance(step.action, dict.fromkeys(step.arguments, 99), lambda: step)
    assert instance.counterpart(beyond) is None
