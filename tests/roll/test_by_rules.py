"""The model's answers, beside an evaluator that was written from Kafka's rules alone (`byrules.py`)."""

from __future__ import annotations

import random
from itertools import chain, combinations

import pytest

from acked.roll.decision.judge import Case, Judge, Wish
from acked.roll.decision.rules import TopicRules
from acked.roll.partitions.now import ClusterNow, PartitionNow
from acked.roll.questions.ask import Asker, Failing, Stop
from tests.roll import byrules
from tests.roll.asking import rules
from tests.roll.byrules import Cluster, Part, refuses

CASES, MORE, MANY = 6, 20, 240


def _some(members: list[int], among: random.Random, share: float = 0.5) -> frozenset[int]:
    return frozenset(member for member in members if among.random() < share)


def _partition(among: random.Random, cluster: Cluster) -> tuple[Part, int | None, int]:
    """A partition that may be, its leader, and the broker that is asked about, which is up."""
    brokers = [*range(cluster.replicas)]
    while True:
        down = _some(brokers, among, 0.2)
        up = [broker for broker in brokers if broker not in down]
        if not up:
            continue
        asked = among.choice(up)
        isr = _some(up, among, 0.8)
        if isr:
            is_short = cluster.elr and len(isr) < cluster.enough
            elr = _some(sorted(down), among) if is_short else frozenset()
            return Part(isr, elr, down, frozenset()), among.choice(sorted(isr)), asked
        if cluster.unclean:
            continue  # Somebody who is up leads.
        if cluster.elr and (elr := _some(sorted(down), among)) and cluster.enough > 1:
            return Part(frozenset(), elr, down, frozenset()), None, asked
        if not cluster.elr and down:
            return Part(frozenset({min(down)}), frozenset(), down, frozenset()), None, asked


def _by_rules(cluster: Cluster, part: Part, broker: int, clean: bool) -> set[str]:
    """The worst over all that is not known: who else holds what, who went down without a clean shutdown, who led last."""
    sure = part.isr | part.elr
    dirty = [frozenset(some) for some in chain.from_iterable(combinations(sorted(part.elr), k) for k in range(4))]
    lasts = [None] if part.isr else [*sorted(part.elr)]
    found: set[str] = set()
    for holders in (sure, frozenset(range(cluster.replicas))):
        for killed in dirty:
            for last in lasts:
                begun = Part(part.isr, part.elr, part.down, holders, killed, last)
                found |= byrules.losing(cluster, begun, broker, clean)
    return {"nothing"} if "nothing" in found else found


def _judged(asker: Asker, cluster: Cluster, part: Part, leader: int | None, broker: int, stop: Stop) -> Case:
    """What the product makes of it."""
    brokers = range(cluster.replicas)
    one = PartitionNow("t", 0, (*brokers,), leader, tuple(part.isr), tuple(part.elr))
    now = ClusterNow((one,), frozenset(brokers) - part.down)
    known = rules("4.3" if cluster.elr else "3.9", cluster.min_isr, cluster.unclean, replicas=cluster.replicas)
    counts = {"t": [TopicRules(tuple(sorted(known.items())))]}
    [found] = Judge(now, counts, asker, Wish(stops=(stop,)), has_controllers=False).answers([broker])
    [case] = found.cases
    return case


@pytest.mark.parametrize("cases", [
    pytest.param(CASES, marks=pytest.mark.slow), pytest.param(MORE, marks=(pytest.mark.slow, pytest.mark.landing)),
    pytest.param(MANY, marks=pytest.mark.long),
])  # fmt: skip
def test_the_model_and_the_rules_in_plain_python_agree_on_random_partitions(cases: int) -> None:
    among, asker = random.Random(0), Asker()
    lost = 0
    for _ in range(cases):
        replicas = among.choice((1, 2, 3, 3, 3))
        cluster = Cluster(among.randint(1, replicas), among.random() < 0.3, among.random() < 0.5, replicas)
        part, leader, broker = _partition(among, cluster)
        stop = among.choice([*Stop])
        case = _judged(asker, cluster, part, leader, broker, stop)
        told = {failing.value for _, found in case.losses for failing in found.by}
        assert not case.open_
        expected = _by_rules(cluster, part, broker, stop is Stop.CLEANLY)
        assert told == expected, (cluster, part, leader, broker, stop, case.story)
        assert case.refuses == refuses(cluster, part, broker), (cluster, part, leader, broker)
        lost += bool(told)
    assert cases / 10 < lost < 9 * cases / 10, "both answers are met"
    assert {Failing.NOTHING.value, *byrules.FAILURES} == {failing.value for failing in Failing}
