"""Running clusters as tests of `acked watch` write them, and one that answers what a test says instead of brokers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from acked.audit.clusters.live import NOT_RUNNING, LiveBroker, LiveCluster, LivePartition, LiveTopic, LiveValue, Quorum
from acked.audit.clusters.policy import Cluster, Policy
from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.roll.decision.judge import Wish
from acked.watch.answers import Watched
from acked.watch.watch import Watching

BROKERS = (1, 2, 3)
VALUES = (LiveValue("min.insync.replicas", "2", "static"), LiveValue("process.roles", "broker,controller", "static"))


def live(topics: Sequence[str] = ("orders",), down: Sequence[int] = (), replicas: Sequence[int] = BROKERS) -> LiveCluster:
    """Three brokers of 4.3 with KRaft, and topics of one partition whose replicas are in sync but for those that are down."""
    isr = tuple(one for one in replicas if one not in down)
    partition = LivePartition(0, tuple(replicas), isr, (), isr[0] if isr else None)
    up = LiveBroker(0, None, VALUES, newest_level=30)
    gone = LiveBroker(0, failure=NOT_RUNNING)
    brokers = (replace(gone if number in down else up, number=number) for number in BROKERS)
    here = tuple(one for one in BROKERS if one not in down)
    return LiveCluster(
        "kafka:9092", tuple(brokers), tuple(LiveTopic(name, (partition,), ()) for name in topics),
        {"metadata.version": 30, "eligible.leader.replicas.version": 1}, Quorum(here[0], BROKERS, here), are_moves_known=True,
    )  # fmt: skip


def unreadable(cluster: LiveCluster) -> LiveCluster:
    """The same, of which nothing says the release."""
    brokers = tuple(replace(one, newest_level=None) for one in cluster.brokers)
    return replace(cluster, brokers=brokers, features=None)


GONE = SystemFailure("the cluster at kafka:9092 does not answer: refused; look at --bootstrap-server")
ODD = 'the "first"\\\none'
"""A name of every kind of letter that metrics write in another way."""

FACTS = Watching(None, None, None, None, (), (), None, 30.0, "", False, False, None).facts


@frozen
class Scripted(Watched):
    """Says one thing after the other when it is read, an error too."""

    says: Iterator[LiveCluster | Exception] = field(default_factory=lambda: iter(()))

    def read(self) -> LiveCluster:
        """The next."""
        found = next(self.says)
        if isinstance(found, Exception):
            raise found
        return found


def scripted(*says: LiveCluster | Exception, name: str = "prod", policy: Policy | None = None) -> Scripted:
    """A cluster that is read so."""
    required = policy or Policy("", (), (), ())
    return Scripted(Cluster(name, "kafka:9092", None), FACTS, required, Wish(), says=iter(says))


def samples(text: str) -> dict[tuple[str, ...], float]:
    """By the metric's name and the values of its labels besides the cluster, in the order of their names."""
    return {
        (sample.name, *(value for label, value in sorted(sample.labels.items()) if label != "cluster")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
