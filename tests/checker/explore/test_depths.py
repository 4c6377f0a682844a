"""How deep a state lies: as the obvious search counts it, and with a proved least where the space is too large."""

from __future__ import annotations

from acked.checker.explore.depths import Depth, Depths
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Instance

SMALL = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}


def levels(instance: Instance, most: int) -> list[list[tuple[int, ...]]]:
    """The states level by level, by the plain evaluator."""
    found, known = [list(instance.initial)], set(instance.initial)
    while found[-1] and len(found) <= most:
        reached = dict.fromkeys(
            instance.schema.pack(instance.fire(step, codes))
            for codes in map(instance.schema.unpack, found[-1])
            for step in instance.enabled_actions(codes)
        )
        found.append([state for state in reached if state not in known])
        known.update(reached)
    return [level for level in found if level]


def test_every_state_lies_where_a_plain_search_finds_it_first() -> None:
    instance = PROTOCOLS["kip320"].instantiate(SMALL)
    depths = Depths(instance)
    assert depths.states == 0
    plain = levels(instance, 100)
    assert sum(map(len, plain)) == 277
    for steps, level in enumerate(plain):
        assert {depths.depth_of(state) for state in level} == {Depth(steps, True)}
    assert depths.states == 277


def test_beyond_the_states_that_were_looked_at_only_the_least_is_known() -> None:
    instance = PROTOCOLS["kip320"].instantiate(SMALL)
    depths = Depths(instance, most_states=100)
    plain = levels(instance, 100)
    answers = [{depths.depth_of(state) for state in level} for level in plain]
    assert depths.states < 277
    for steps, found in enumerate(answers):
        for depth in found:
            assert depth.least == steps if depth.is_exact else depth.least <= steps
    assert answers[0] == {Depth(0, True)}
    (last,) = answers[-1]
    assert not last.is_exact
    assert last.least > 1
