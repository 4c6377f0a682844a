"""The five variants as definitions: initial state, words, documentation, and that the evaluator can fire every action."""

from __future__ import annotations

import functools

import pytest

from acked.checker.question.question import Question
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.language.protocol import Instance
from acked.model.language.state import Struct
from tests.oracle import Space

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
LARGER = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}


@functools.cache
def small_space(name: str) -> Space:
    """All states and steps of a small instance."""
    return Space(Question(PROTOCOLS[name].instantiate(SMALL), ()))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_initially_all_logs_are_empty_and_everyone_is_in_sync(name: str) -> None:
    instance = PROTOCOLS[name].instantiate(LARGER)
    (words,) = instance.initial
    replica: dict[str, object] = {"hw": 0, "leader_epoch": None, "leader": None, "isr": []}
    assert instance.schema.decode(instance.schema.unpack(words)) == {
        "log": [{"end": 0, "records": []}] * 3,
        "replica": [replica] * 3,
        "quorum": {"leader_epoch": None, "leader": None, "isr": [0, 1, 2]},
        "next_record_id": 0,
        "next_leader_epoch": 0,
        "requests": [{"leader": None, "isr": []}] * 3,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_reachable_state_has_one_encoding(name: str) -> None:
    space = small_space(name)
    schema = space.instance.schema
    for words in space.level_of:
        codes = schema.unpack(words)
        assert schema.encode(schema.decode(codes)) == codes


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_action_fires_and_says_what_it_does_on_every_edge(name: str) -> None:
    space = small_space(name)
    instance = space.instance
    told = set()
    for steps in space.steps:
        for step in steps:
            fired = instance.actions[step.action]
            words = instance.tell(fired, instance.schema.unpack(step.source), instance.schema.unpack(step.target))
            assert words
            assert "\n" not in words
            assert "None" not in words
            assert "<" not in words
            told.add(fired.action.name)
    assert told == {item.name for item in instance.protocol.actions}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_evaluator_fires_what_the_oracle_fires(name: str) -> None:
    space = small_space(name)
    instance = space.instance
    for steps in space.steps[:6]:
        for step in steps:
            codes = instance.schema.unpack(step.source)
            fired = instance.actions[step.action]
            assert fired in instance.enabled_actions(codes)
            assert instance.schema.pack(instance.fire(fired, codes)) == step.target


# -- documentation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocol_actions_constants_and_properties_are_documented(name: str) -> None:
    protocol = PROTOCOLS[name]
    assert protocol.name == name
    assert protocol.title
    assert protocol.source
    for constant in protocol.constants:
        assert constant.doc, constant.name
        assert constant.lo <= constant.hi
    for action in protocol.actions:
        assert action.doc, action.name
        assert action.says is not None, action.name
    for key, item in properties_of(protocol).items():
        assert key == item.name
        assert item.promise, key
        assert item.source, key
        assert item.since, key
        assert item.predicate.__doc__, key


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_field_of_the_state_is_documented(name: str) -> None:
    def undocumented(struct: type[Struct]) -> list[str]:
        return [f"{struct.__name__}.{key}" for key, item in struct.fields().items() if not item.doc]

    from acked.model.replication import state

    structs = [item for item in vars(state).values() if isinstance(item, type) and issubclass(item, Struct)]
    assert PROTOCOLS[name].state in structs
    assert [field for struct in structs for field in undocumented(struct)] == []


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_guard_clause_names_the_line_that_states_it(name: str) -> None:
    for step in PROTOCOLS[name].instantiate(SMALL).actions:
        labels = [guard.label for guard in step.guards]
        assert len(labels) == len(set(labels))
        for guard in step.guards:
            with open(guard.file, encoding="utf-8") as source:
                lines = source.read().splitlines()
            # The label may stand on a line of its own below `require(`.
            assert any(f'"{guard.label}"' in line for line in lines[guard.line - 1 : guard.line + 2]), guard


# -- identity and ablation -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_fingerprints_tell_protocols_constants_and_ablations_apart() -> None:
    instances: list[Instance] = [protocol.instantiate(SMALL) for protocol in PROTOCOLS.values()]
    instances += [protocol.instantiate(LARGER) for protocol in PROTOCOLS.values()]
    instances.append(PROTOCOLS["kip320"].instantiate(SMALL, drop=[("LeaderWrite", "room in the log")]))
    assert len({item.fingerprint() for item in instances}) == len(instances)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_fingerprint_does_not_depend_on_when_it_was_made(name: str) -> None:
    first, second = (PROTOCOLS[name].instantiate(LARGER) for _ in range(2))
    assert first.fingerprint() == second.fingerprint()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_fingerprint_does_not_depend_on_what_was_made_before(name: str) -> None:
    protocol = PROTOCOLS[name]
    first, second = (Question(protocol.instantiate(SMALL), tuple(properties_of(protocol).values())) for _ in range(2))
    for position in reversed(second.state_properties):
        second.holds_in_state(position)
    for step in reversed(second.instance.actions):
        second.instance.pool.not_(second.instance.pool.and_(step.guard, second.instance.actions[0].guard))
    assert first.fingerprint == second.fingerprint


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_clause_of_every_action_can_be_dropped(name: str) -> None:
    protocol = PROTOCOLS[name]
    whole = protocol.instantiate(SMALL)
    clauses = {(step.action.name, guard.label) for step in whole.actions for guard in step.guards}
    for action, label in sorted(clauses):
        weaker = protocol.instantiate(SMALL, drop=[(action, label)])
        kept = {(step.action.name, guard.label) for step in weaker.actions for guard in step.guards}
        assert kept == clauses - {(action, label)}


def test_only_updates_that_intervals_do_not_prove_are_checked_in_the_search() -> None:
    instance = PROTOCOLS["kip320"].instantiate(LARGER)
    for step in instance.actions:
        doubtful = {leaf for leaf, _ in step.overflows}
        for leaf, code in step.updates:
            fits = code.lo >= 0 and code.hi < instance.schema.leaves[leaf].cardinality
            assert (leaf in doubtful) != fits
