"""What becomes of the id's record in `transactions` becomes of a record in the log of `coordinator`, and conversely.

`__transaction_state` is a partition as `__consumer_offsets` is, so the rules of `coordinator`'s log are its own, and those of
`partition` (`tests/model/coordinator/test_log_of_partition.py`). What `transactions` has of that log is `Seen`: the last
record of who leads, and the one that some replica in sync has in its place. Over whole spaces: every step of `transactions`
is one of `following`; every step of the log is one or two of them, as long as nothing is written while replicas in sync
differ, which in `transactions` is committed at once; and what may follow in `transactions`, one after the other, does so in
the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from acked.model.coordinator.protocol import coordinator
from acked.model.language.protocol import Instance
from acked.model.transactions.protocol import transactions
from tests.oracle import plain_steps

Plain = Mapping[str, Any]


class Seen(NamedTuple):
    """The last record of the newest leader, and what else is the last one of replicas in sync."""

    record: Any
    others: frozenset[Any] = frozenset()


def following(seen: Seen, new: Any) -> set[Seen]:
    """What may come next, `new` being what is written."""
    record, others = seen
    committed = {Seen(new), Seen(record)}  # Something is written and committed, and with it what is loaded; or that alone is.
    if not others:
        return {*committed, Seen(new, frozenset({record}))}  # It is written, and a replica in sync lacks it.
    return {*committed, *(Seen(other, (others - {other}) | {record}) for other in others)}  # That one leads.


class Change(NamedTuple):
    """What is seen before and after a step, and which record it writes; None: it writes none."""

    before: Seen
    after: Seen
    written: Any = None

    @property
    def new(self) -> Any:
        """The last record of who leads, if what is written is its own."""
        return self.before.record if self.written is None else self.written


@dataclass(frozen=True)
class Space:
    """What is seen of every reachable state, the first one's first; and the steps from each: where to, what it writes."""

    seen: list[Seen]
    steps: list[list[tuple[int, Any]]]

    def changes(self, *, writes_in_split: bool = True) -> set[Change]:
        """Steps after which something else is seen; perhaps of runs that do not write while replicas differ."""
        found, known, front = set[Change](), {0}, [0]
        while front:
            place = front.pop()
            for after, written in self.steps[place]:
                if written is not None and self.seen[place].others and not writes_in_split:
                    continue
                found.add(Change(self.seen[place], self.seen[after], written))
                if after not in known:
                    known.add(after)
                    front.append(after)
        return {change for change in found if change.before != change.after}

    def sees(self, run: Iterable[Seen]) -> bool:
        """Whether all of that is seen, one after the other, in some run."""
        among = {0}
        for wanted in run:
            front = list(among)
            while front:
                new = {after for after, _ in self.steps[front.pop()]} - among
                among |= new
                front += new
            among = {place for place in among if self.seen[place] == wanted}
        return bool(among)


def space(made: Instance, seen_of: Callable[[Plain], Seen], written: Callable[[str, Plain], Any]) -> Space:
    """`written`: what a step writes, of the name of its action and what is after it."""
    schema = made.schema
    first = tuple(schema.unpack(made.initial[0]))
    places, plain, steps = {first: 0}, [schema.decode(first)], list[list[tuple[int, Any]]]([[]])
    for codes, step, after in plain_steps(made):
        if after not in places:
            places[after] = len(plain)
            plain.append(schema.decode(after))
            steps.append([])
        steps[places[codes]].append((places[after], written(step.action.name, plain[places[after]])))
    return Space([seen_of(state) for state in plain], steps)


# -- the two protocols -------------------------------------------------------------------------------------------------

FAILS: dict[str, Any] = {
    "partitions": 1, "producers": 1, "transactions": 1, "coordinator_fails": True, "acts_on_committed": False,
}  # fmt: skip
LOG: dict[str, Any] = {"brokers": 2, "records": 2, "commits": 2}
UNWRITTEN = ("MoveCoordinator", "MoveToOther", "Replicate")
"""Actions of `transactions` that write nothing."""


def of_transactions(constants: Mapping[str, Any], drop: tuple[tuple[str, str], ...] = ()) -> Space:
    """A record is what `Register` has of it."""

    def seen_of(s: Plain) -> Seen:
        mine = s["coordinator"]
        loaded, other = (tuple(str(register[name]) for name in mine["other"]) for register in (mine, mine["other"]))
        return Seen(loaded, frozenset({other} if mine["differs"] else ()))

    made = transactions.instantiate(transactions.bind({**FAILS, **constants}), drop)
    return space(made, seen_of, lambda name, after: None if name in UNWRITTEN else seen_of(after).record)


def of_log(**constants: Any) -> Space:
    """Commits are numbered as they are sent; 0 is an empty log."""

    def seen_of(s: Plain) -> Seen:
        last = [log["records"][log["end"] - 1]["commit"] if log["end"] else 0 for log in s["log"]]
        leader = s["leader"][s["epoch"]]
        return Seen(0) if leader is None else Seen(last[leader], frozenset(last[b] for b in s["isr"]) - {last[leader]})

    made = coordinator.instantiate(coordinator.bind({**LOG, **constants}))
    return space(made, seen_of, lambda name, after: after["sent"] if name.startswith("Commit") else None)


def may_follow(change: Change) -> bool:
    """It is one of `following`."""
    return change.after in following(change.before, change.new)


def may_follow_in_two(change: Change) -> bool:
    """It is two of them, of which one at most writes: a deposed leader does so unseen, a new one still fetches."""
    once = {change.before, *following(change.before, change.new)}
    return change.after in once.union(*(following(seen, seen.record) for seen in once))


def runs(most_moves: int) -> Iterator[list[Seen]]:
    """What `following` has one after the other, with as many records as the log may have, and so many moves."""

    def go_on(run: list[Seen], sent: int, moves: int) -> Iterator[list[Seen]]:
        yield run
        for seen in following(run[-1], sent + 1):
            is_new, is_move = sent + 1 in {seen.record, *seen.others}, seen.record in run[-1].others
            if seen != run[-1] and sent + is_new <= LOG["records"] and moves + is_move <= most_moves:
                yield from go_on([*run, seen], sent + is_new, moves + is_move)

    yield from go_on([Seen(0)], 0, 0)


# -- held against each other -------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("constants", [{}, {"transaction_version": 1}, {"last_epoch": 1, "late_end": True}], ids=str)
def test_every_step_of_transactions_is_one_that_may_follow(constants: dict[str, Any]) -> None:
    changes = of_transactions(constants).changes()
    assert all(may_follow(change) for change in changes)
    kinds = {(bool(change.before.others), bool(change.after.others)) for change in changes}
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "clause"),
    [("MoveToOther", "some have another record"), ("CommitThenMove", "the log is the same in sync")],
)
def test_transactions_whose_log_forgets_is_refused(action: str, clause: str) -> None:
    """Elected is who lacks what is committed; or something is written, and uncommitted, behind what is not committed."""
    changes = of_transactions({}, ((action, clause),)).changes()
    assert not all(may_follow(change) for change in changes)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("constants", [{"shrinks": True}, {"brokers": 3}, {"max_epoch": 3}], ids=str)
def test_every_step_of_the_log_is_one_or_two_that_may_follow(constants: dict[str, Any]) -> None:
    changes = of_log(**constants).changes(writes_in_split=False)
    assert all(may_follow_in_two(change) for change in changes)
    assert len(changes) > 10


@pytest.mark.slow
def test_a_log_that_loses_what_is_committed_is_refused() -> None:
    changes = of_log(shrinks=True, unclean=True).changes(writes_in_split=False)
    assert Change(Seen(1), Seen(0)) in {change for change in changes if not may_follow_in_two(change)}


@pytest.mark.slow
@pytest.mark.parametrize(("moves", "least"), [(1, 20), pytest.param(2, 30, marks=pytest.mark.long)])
def test_what_may_follow_in_transactions_does_so_in_the_log(moves: int, least: int) -> None:
    log, asked = of_log(max_epoch=moves + 1), list(runs(moves))
    assert all(log.sees(run) for run in asked)
    assert len(asked) > least
    assert not log.sees([Seen(1), Seen(0)])
