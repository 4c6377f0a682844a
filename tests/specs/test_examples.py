"""The examples that teach: their counts are those of enumerations in plain Python, written from the papers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from acked import check, load_spec
from acked.checker.question.result import Result
from acked.commands.new import protocol

EXAMPLES = Path(__file__).resolve().parents[2] / "specs" / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def result(name: str, variant: str, **constants: Any) -> Result:


    found = load_spec(str(EXAMPLES / f"{name}.toml#{variant}"))
    asked = replace(found.asked, constants=tuple({**found.constants, **constants}.items()), symmetry=False)
    return check(replace(found, asked=asked).question())


def reachable(first: Iterable[Any], steps: Callable[[Any], Iterable[Any]]) -> set[Any]:
    seen = set(first)
    front = [*seen]
    while front:
        for after in steps(front.pop()):
            if after not in seen:
                seen.add(after)
                front.append(after)
    return seen


def put(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


# -- two-phase commit ------------------------------------------------------------------------------------------------


def two_phase_commit(state: Any) -> Iterator[Any]:
    phase, sent, heard, decision = state
    everybody = frozenset(range(len(phase)))
    for who in range(len(phase)):
        if phase[who] == "working":
            yield put(phase, who, "prepared"), sent | {who}, heard, decision
            yield put(phase, who, "aborted"), sent, heard, decision
        if decision is None and who in sent:
            yield phase, sent, heard | {who}, decision
        if decision is not None:
            yield put(phase, who, decision), sent, heard, decision
    if decision is None:
        yield phase, sent, heard, "aborted"
        if heard == everybody:
            yield phase, sent, heard, "committed"


# -- chain replication -----------------------------------------------------------------------------------------------


def chain_replication(state: Any) -> Iterator[Any]:
    chain, held, acked = state  # The chain in order, and what each server has.
    if held[chain[0]] < 2:
        yield chain, put(held, chain[0], held[chain[0]] + 1), acked
    for one, other in pairwise(chain):
        if held[other] < held[one]:
            yield chain, put(held, other, held[other] + 1), acked
    if acked < held[chain[-1]]:
        yield chain, held, acked + 1
    if len(chain) > 1:
        for gone in chain:
            yield tuple(n for n in chain if n != gone), put(held, gone, 0), acked


# -- a lease -----------------------------------------------------------------------------------------------------------


def lease(state: Any) -> Iterator[Any]:
    holder, given, mine, writing, written, broken = state
    if holder is None and given < 3:
        for node in range(2):
            yield node, given + 1, put(mine, node, given + 1), writing, written, broken
    if holder is not None:
        yield None, given, mine, writing, written, broken
        yield holder, given, mine, writing | {holder}, written, broken
    for node in writing:
        if mine[node] >= written:
            yield holder, given, mine, writing - {node}, mine[node], broken


# -- a bounded queue -----------------------------------------------------------------------------------------------------


def bounded_queue(places: int, producers: int, consumers: int, wakes_all: bool) -> Callable[[Any], Iterator[Any]]:
    def woken(full: Any, empty: Any) -> Iterator[Any]:
        if wakes_all:
            yield frozenset(), frozenset()
        elif not full and not empty:
            yield full, empty
        else:
            yield from ((full - {who}, empty) for who in full)
            yield from ((full, empty - {who}) for who in empty)

    def steps(state: Any) -> Iterator[Any]:
        queue, full, empty = state
        for who in set(range(producers)) - full:
            if len(queue) < places:
                yield from (((*queue, who), *awake) for awake in woken(full, empty))
            else:
                yield queue, full | {who}, empty
        for who in set(range(consumers)) - empty:
            if queue:
                yield from ((queue[1:], *awake) for awake in woken(full, empty))
            else:
                yield queue, full, empty | {who}

    return steps


# -- Raft --------------------------------------------------------------------------------------------------------------


def raft(terms: int, entries: int) -> Callable[[Any], Iterator[Any]]:
    """States are (servers, committed, broken); a server is (term, role, voted, votes, log)."""

    def hears(server: Any, term: int) -> Any:
        return server if server[0] >= term else (term, "follower", None, *server[3:])

    def steps(state: Any) -> Iterator[Any]:
        servers, committed, broken = state
        for me, (term, role, _, votes, log) in enumerate(servers):
            if term < terms:
                yield put(servers, me, (term + 1, "candidate", me, frozenset({me}), log)), committed, broken
            if role == "candidate" and 2 * len(votes) > len(servers):
                yield put(servers, me, (term, "leader", *servers[me][2:])), committed, broken
            if role == "leader" and len(log) < entries:
                yield put(servers, me, (*servers[me][:4], (*log, term))), committed, broken
            for other, its in enumerate(servers):
                heard = hears(its, term)
                is_newer = (log[-1:] or (0,), len(log)) >= (its[4][-1:] or (0,), len(its[4]))
                if role == "candidate" and term >= its[0] and heard[2] is None and is_newer:
                    after = put(servers, other, (*heard[:2], me, *heard[3:]))
                    mine = after[me]
                    yield put(after, me, (*mine[:3], mine[3] | {other}, mine[4])), committed, broken
                if role == "leader" and term >= its[0] and other != me:
                    same = next((k for k in range(len(log)) if its[4][k : k + 1] != log[k : k + 1]), len(log))
                    if same < len(log):
                        yield put(servers, other, (heard[0], "follower", *heard[2:4], log[: same + 1])), committed, broken
            for until in range(len(committed) + 1, len(log) + 1):
                copies = sum(its[0] == term and its[4][:until] == log[:until] for its in servers)
                if role == "leader" and 2 * copies > len(servers) and log[until - 1] == term:
                    yield servers, log[:until], broken or committed != log[: len(committed)]

    return steps


# -- Paxos -------------------------------------------------------------------------------------------------------------


def paxos(state: Any) -> Iterator[Any]:
    """Three acceptors, two ballots and two values; an acceptor is (promised, accepted, value), and messages are tuples."""
    acceptors, sent = state
    for ballot in range(2):
        yield acceptors, sent | {("ask", ballot)}
        for at, (promised, accepted, value) in enumerate(acceptors):
            if ("ask", ballot) in sent and ballot > promised:
                after = put(acceptors, at, (ballot, accepted, value))
                yield after, sent | {("promise", at, ballot, accepted, value)}
            for proposed in range(2):
                if ("propose", ballot, proposed) in sent and ballot >= promised:
                    after = put(acceptors, at, (ballot, ballot, proposed))
                    yield after, sent | {("vote", at, ballot, proposed)}
        for value, size in product(range(2), (2, 3)):
            if any(("propose", ballot, v) in sent for v in range(2)):
                continue
            for quorum in combinations(range(3), size):
                said = [m for m in sent if m[0] == "promise" and m[2] == ballot and m[1] in quorum]
                newest = max((m[3] for m in said), default=-1)
                if {m[1] for m in said} == {*quorum} and (newest < 0 or any(m[3:] == (newest, value) for m in said)):
                    yield acceptors, sent | {("propose", ballot, value)}


NOBODY = frozenset[Any]()
ENUMERATED = {
    "two_phase_commit": ((("working",) * 3, NOBODY, NOBODY, None), two_phase_commit),
    "chain_replication": (((0, 1, 2), (0, 0, 0), 0), chain_replication),
    "lease": ((None, 0, (0, 0), NOBODY, 0, False), lease),
    "bounded_queue": (((), NOBODY, NOBODY), bounded_queue(1, 2, 1, wakes_all=True)),
    "raft": ((((0, "follower", None, NOBODY, ()),) * 3, (), False), raft(2, 1)),
    "paxos": ((((-1, -1, None),) * 3, NOBODY), paxos),
}


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_the_states_of_an_enumeration_in_plain_python(name: str) -> None:
    first, steps = ENUMERATED[name]
    assert result(name, "holds", **({"terms": 2} if name == "raft" else {})).distinct_states == len(reachable([first], steps))


def test_two_phase_commit_has_the_published_counts() -> None:
    found = result("two_phase_commit", "holds")
    assert (found.distinct_states, found.generated_states, len(found.level_sizes)) == (288, 1146, 11)


@pytest.mark.parametrize(("producers", "consumers", "places"), [(2, 1, 1), (1, 1, 1), (2, 2, 2), (3, 2, 2), (1, 2, 1)])
def test_one_notify_is_enough_up_to_twice_as_many_threads_as_places(producers: int, consumers: int, places: int) -> None:
    """The rule of tlaplus/Examples' BlockingQueue."""
    steps = bounded_queue(places, producers, consumers, wakes_all=False)
    states = reachable([((), NOBODY, NOBODY)], steps)
    sleeps = any(not [*steps(state)] for state in states)
    assert sleeps is (producers + consumers > 2 * places)
    found = result("bounded_queue", "bug", producers=producers, consumers=consumers, places=places)
    assert bool(found.violations) is sleeps
    if not sleeps:
        assert found.distinct_states == len(states)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_fits_a_page(name: str) -> None:
    lines = (EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 90


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_one_begins_with_an_example(name: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(protocol, ["mine", "--from", name, "--out", str(tmp_path)], catch_exceptions=False)
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, f"next: acked gate {tmp_path / 'mine.toml'}")
    for variant in ("holds", "bug"):
        mine = check(load_spec(f"{tmp_path / 'mine.toml'}#{variant}").question())
        theirs = check(load_spec(f"{EXAMPLES / name}.toml#{variant}").question())
        assert (mine.verdict, mine.distinct_states) == (theirs.verdict, theirs.distinct_states)
