"""The protocol's InitProducerId and AddPartitionsToTxn, held against a model that somebody else wrote and published.

Both are compared at rest: no message under way, and nothing that waits for the transaction log but the end of an abort, which
is the marker in ours. Of a state is kept what both have: the coordinator's state, producer epoch and partitions, and of each
client its epoch and the partitions that it has added. (Theirs forgets what a client has added once it is refused, and keeps
the coordinator's partitions after the end; ours does neither, so both are left out where that shows.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import pytest

from acked.checker.question.question import Question
from acked.model.language.protocol import Protocol
from acked.model.transactions import initialising, marking, moving, producing
from acked.model.transactions.settings import CONSTANTS
from acked.model.transactions.state import Phase, State, initial
from tests.model.transactions.public_model import Sizes, World, broken, reach, without_fencing
from tests.oracle import Space

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
WITH_PARTITIONS = ("Ongoing", "PrepareAbort")

S = TypeVar("S", bound=Hashable)
Rest = tuple[tuple[str, int, frozenset[int]], tuple[tuple[int, frozenset[int]], ...]]
"""A state at rest: of the coordinator state, epoch and partitions; of each client its epoch (−1: none) and partitions."""


def rest(coordinator: tuple[str, int, Iterable[int]], clients: Iterable[tuple[int, Iterable[int]]]) -> Rest:
    state, epoch, members = coordinator
    kept = frozenset(members) if state in WITH_PARTITIONS else frozenset[int]()
    mine = tuple((of, frozenset(added) if of == epoch else frozenset[int]()) for of, added in clients)
    return (state, epoch, kept), mine


def theirs_at_rest(w: World) -> Rest | None:
    """What is compared of a state of theirs; None where something is under way."""
    waiting = [entry.becomes.state for x in w.brokers for entry in x.log[x.committed :]]
    if w.mail or any(state != "CompleteAbort" for state in waiting):
        return None
    known = w.brokers[w.leader].known
    coordinator = ("Empty", -1, frozenset[int]()) if known is None else (known.state, known.epoch, known.members)
    return rest(coordinator, [(c.epoch, c.members) for c in w.clients])


def restricted(partitions: int) -> Space:
    """Ours with the two requests alone, nothing late and nothing that times out; every state and every step."""
    actions = (
        *(initialising.init_producer_id, initialising.abort_open_transaction),
        *(producing.begin, producing.add_partition_to_txn, marking.write_marker, moving.move_coordinator),
    )
    two_requests = Protocol("two-requests", State, title="", source="", constants=CONSTANTS, initial=initial, actions=actions)
    late = dict.fromkeys(("late_init", "late_add", "late_produce", "late_end", "late_marker"), False)
    constants = {**late, "transaction_version": 1, "aborts": False, "timeouts": False, "partitions": partitions}
    return Space(Question(two_requests.instantiate(constants), ()))


def ours_at_rest(space: Space, words: tuple[int, ...]) -> Rest:
    schema = space.instance.schema
    s: Any = schema.decode(schema.unpack(words))
    c = s["coordinator"]
    clients = [(-1, ()) if p["phase"] == Phase.NEW else (p["epoch"], p["added"]) for p in s["producer"]]
    return rest((STATES[c["state"]], c["epoch"], c["partitions"]), clients)


def leads_to(graph: Mapping[S, Iterable[S]], seen_as: Callable[[S], Rest | None]) -> set[tuple[Rest, Rest]]:
    """Every two states at rest of which the first leads to the second."""
    of: dict[Rest, list[S]] = {}
    for state in graph:
        if (shown := seen_as(state)) is not None:
            of.setdefault(shown, []).append(state)
    return {(source, target) for source, begin in of.items() for target in _reached(graph, begin, seen_as)}


def _reached(
    graph: Mapping[S, Iterable[S]], begin: list[S], seen_as: Callable[[S], Rest | None]
) -> Iterator[Rest]:
    seen, todo = set(begin), list(begin)
    while todo:
        state = todo.pop()
        if (shown := seen_as(state)) is not None:
            yield shown
        fresh = [after for after in graph[state] if after not in seen]
        seen.update(fresh)
        todo += fresh


def relation_of_ours(partitions: int) -> set[tuple[Rest, Rest]]:
    space = restricted(partitions)
    graph: dict[tuple[int, ...], list[tuple[int, ...]]] = {words: [] for words in space.level_of}
    for step in (step for steps in space.steps for step in steps):
        graph[step.source].append(step.target)
    shown = {words: ours_at_rest(space, words) for words in graph}
    return leads_to(graph, shown.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "states"),
    [
        (Sizes(), 3_517),
        pytest.param(Sizes(partitions=2), 27_303, marks=pytest.mark.long),
        pytest.param(Sizes(elections=2), 17_001, marks=pytest.mark.long),
    ],
    ids=("as published", "two partitions", "two elections"),
)
def test_the_two_requests_lead_from_rest_to_rest_as_in_the_public_model(sizes: Sizes, states: int) -> None:
    graph = reach(sizes)
    assert len(graph) == states
    assert {name for w in graph for name in broken(w)} == set()
    theirs, ours = leads_to(graph, theirs_at_rest), relation_of_ours(sizes.partitions)
    assert theirs == ours
    assert len(theirs) > 60


@pytest.mark.slow
def test_whoever_never_gives_up_gets_an_epoch_in_both() -> None:
    """What the public model asks for under fairness, as far as states alone decide it: it stays possible from everywhere."""
    for relation in (leads_to(reach(Sizes()), theirs_at_rest), relation_of_ours(1)):
        ends = {source for source, target in relation if all(epoch != -1 for epoch, _ in target[1])}
        assert ends == {source for source, _ in relation}
        given = [[epoch for epoch, _ in clients] for _, (_, clients) in relation]
        assert all(-1 in epochs or len(set(epochs)) == 2 for epochs in given), "two clients never have one epoch"


@pytest.mark.slow
def test_a_rule_that_is_left_out_of_the_public_model_shows() -> None:
    graph = reach(without_fencing(Sizes()))
    assert leads_to(graph, theirs_at_rest) != relation_of_ours(1)
