"""The log below `coordinator` is `partition`'s in few rules: what a coordinator sees of partition's, it sees of this one.

A coordinator sees who leads in the newest epoch, what that one has once it knows, and up to where it is committed. Followers
are not seen: in `partition` one takes a record after the other, in `coordinator` all at once, maybe earlier. So what is
compared are runs: with every step of `partition` goes the set of states in which `coordinator` can be after the same has been
seen, whatever it did in between, with a high watermark that is as high or higher: it acknowledges no later. None is ever
empty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from acked.model.coordinator.protocol import coordinator
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from tests.oracle import plain_steps

Plain = Mapping[str, Any]
SIZES: dict[str, Any] = {
    "replicas": 2, "records": 2, "log_size": 2, "max_leader_epoch": 1, "crashes": "none", "leadership_moves": True,
}  # fmt: skip
HERE: dict[str, Any] = {"brokers": 2, "records": 2, "commits": 4, "max_epoch": 2, "shrinks": True}
"""In each of two epochs two records may be appended; the first epoch is 0 there and 1 here."""


class Log(NamedTuple):
    """A log with its replicas: who leads in the newest epoch, what each broker has, and whatever else tells states apart."""

    epoch: int
    leader: int | None
    records: tuple[tuple[Any, ...], ...]
    high_watermarks: tuple[int, ...]
    known: tuple[int, ...]
    rest: str | int

    def knows(self) -> bool:
        """The leader knows that it leads."""
        return self.leader is not None and self.known[self.leader] == self.epoch

    def seen(self, names: Mapping[Any, int] | None = None) -> tuple[Any, ...]:
        """What a coordinator sees, with records by their numbers."""
        if self.leader is None or not self.knows():
            return self.epoch, self.leader
        return self.epoch, self.leader, *(record if names is None else names[record] for record in self.records[self.leader])

    def committed(self) -> int:
        """The leader's high watermark."""
        return self.high_watermarks[self.leader] if self.leader is not None and self.knows() else 0


def of_partition(s: Plain) -> Log:
    logs = tuple(tuple((record["id"], record["epoch"]) for record in log["records"][: log["end"]]) for log in s["log"])
    control, brokers = s["controller"], s["broker"]
    marks, known = (tuple(broker[name] for broker in brokers) for name in ("hw", "leader_epoch"))
    return Log(control["leader_epoch"], control["leader"], logs, marks, known, str(s))


def of_coordinator(s: Plain) -> Log:
    logs = tuple(tuple(record["commit"] for record in log["records"][: log["end"]]) for log in s["log"])
    marks, known = tuple(broker["hw"] for broker in s["broker"]), tuple(broker["epoch"] - 1 for broker in s["broker"])
    leader = s["leader"][s["epoch"]] if s["epoch"] else None
    return Log(s["epoch"] - 1, leader, logs, marks, known, f"{s['isr']} {s['sent']}")


@dataclass(frozen=True)
class Graph:
    """Reachable logs, and the steps between those that differ."""

    start: Log
    steps: Mapping[Log, set[Log]]


def reached(made: Instance, log_of: Callable[[Plain], Log]) -> Graph:
    schema = made.schema
    first = tuple(schema.unpack(made.initial[0]))
    found = {first: log_of(schema.decode(first))}
    steps: dict[Log, set[Log]] = {found[first]: set()}
    for codes, _, after in plain_steps(made):
        if after not in found:
            found[after] = log_of(schema.decode(after))
            steps.setdefault(found[after], set())
        steps[found[codes]].add(found[after])
    return Graph(found[first], steps)


def unseen(graph: Graph, logs: Iterable[Log]) -> frozenset[Log]:
    """These, and what they become while the same is seen."""
    found = set(logs)
    front = [*found]
    while front:
        log = front.pop()
        new = {after for after in graph.steps[log] if after.seen() == log.seen()} - found
        found |= new
        front += new
    return frozenset(found)


def runs(whole: Graph, few: Graph) -> Iterator[tuple[Log, frozenset[Log]]]:
    """Every log of `whole`, with those that `few` can be in after the same was seen, by each way that matters."""
    closed: dict[tuple[frozenset[Log], tuple[Any, ...]], frozenset[Log]] = {}

    def after_seeing(among: frozenset[Log], wanted: tuple[Any, ...]) -> frozenset[Log]:
        if (among, wanted) not in closed:
            next_ones = {after for log in among for after in few.steps[log] if after.seen() == wanted}
            closed[among, wanted] = unseen(few, next_ones)
        return closed[among, wanted]

    nobody = dict[Any, int]()
    first = unseen(few, (log for log in few.steps if log.seen() == whole.start.seen() and not any(log.records)))
    known = {(whole.start, ()): [first]}
    todo = deque([(whole.start, nobody, first)])
    while todo:
        log, names, among = todo.popleft()
        yield log, among
        for after in whole.steps[log]:
            new = [record for records in after.records for record in records if record not in names]
            named = {**names, **{record: len(names) + number for number, record in enumerate(dict.fromkeys(new), 1)}}
            same = after.seen(named) == log.seen(names)
            left = among if same else after_seeing(among, after.seen(named))
            left = frozenset(one for one in left if one.committed() >= after.committed())
            earlier = known.setdefault((after, tuple(named.items())), [])
            if not any(one <= left for one in earlier):
                earlier.append(left)
                todo.append((after, named, left))


@pytest.fixture(scope="module")
def few() -> Graph:
    return reached(coordinator.instantiate(coordinator.bind(HERE)), of_coordinator)


@pytest.mark.slow
def test_whatever_a_coordinator_sees_of_partition_it_sees_of_the_log_in_few_rules(few: Graph) -> None:
    whole = reached(partition.instantiate(partition.bind(SIZES)), of_partition)
    seen = [(log, bool(among)) for log, among in runs(whole, few)]
    assert all(has for _, has in seen)
    assert {log for log, _ in seen} == set(whole.steps)
    assert len(whole.steps) > 1000
    assert max(log.committed() for log in whole.steps) == 2


@pytest.mark.slow
def test_a_leader_that_was_not_in_sync_shows_what_the_log_in_few_rules_never_shows(few: Graph) -> None:
    made = partition.instantiate(partition.bind(SIZES), frozenset({("MoveLeadership", "in the ISR")}))
    assert not all(among for _, among in runs(reached(made, of_partition), few))
