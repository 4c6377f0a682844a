"""Brokers' sessions with the controller: that they end, for dead brokers and for live ones, begin again, and end in order."""

from __future__ import annotations

import threading

from acked.cluster.nodes.addresses import CONTROLLER, ZOOKEEPER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.settings import SESSION_MS
from acked.cluster.proxies.gate import Gate
from acked.cluster.releases.release import Mode
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import BrokerGone, PartitionView

_EXPIRY = 2 * SESSION_MS / 1000
_PAUSE = 0.1


class Sessions:
    """Which live brokers have lost theirs, and are kept from getting another one: what they would ask for it with is held.

    `expire`: nobody tells the controller, which finds out by itself (KRaft).
    """

    def __init__(self, cluster: Cluster, topic: Topic, expire: bool, seconds: float) -> None:
        self._cluster, self._topic, self._expire, self._seconds = cluster, topic, expire, seconds
        self._held: dict[int, Gate] = {}

    @property
    def lost(self) -> frozenset[int]:
        """The live brokers without a session."""
        return frozenset(self._held)

    def end(self, broker: int) -> None:
        """The controller finds that a broker has gone."""
        if self._expire:
            what = f"the end of broker {broker}'s session"
            wait_for(lambda: self._is_out(broker), what, _EXPIRY + self._seconds, self._cluster.check)
        else:
            self._cluster.notice(broker)

    def lose(self, broker: int) -> None:
        """A live broker loses its session, and does not hear of it."""
        is_kraft = self._cluster.plan.mode is Mode.KRAFT
        network = self._cluster.network
        self._held[broker] = (
            network.hold(broker, CONTROLLER, Api.BROKER_HEARTBEAT) if is_kraft else network.hold(broker, ZOOKEEPER)
        )
        self.end(broker)

    def regain(self, broker: int) -> None:
        """A live broker gets another session; returns when the controller counts on it again."""
        self.begin(broker)
        self._cluster.await_broker(broker)
        self._cluster.await_known()

    def begin(self, broker: int) -> None:
        """Nothing keeps a broker from a session any more."""
        gate = self._held.pop(broker, None)
        if gate is not None:
            gate.lift()

    def _is_out(self, broker: int) -> bool:
        """Whether the controller counts on a broker no more; the last member of an ISR may stay in it."""
        view: PartitionView | None = self._topic.observe().partition
        assert view is not None
        return view.leader != broker and (broker not in view.isr or view.isr == (broker,))


def shut_down_unhindered(cluster: Cluster, broker: int) -> None:
    """Shuts a broker down in order.

    KRaft's controller lets a broker go only when all others have followed the metadata. Those that are kept from it are
    reported as having done so, in their names.
    """
    if cluster.plan.mode is Mode.ZOOKEEPER:
        cluster.shut_down(broker)
        return
    done = threading.Event()
    thread = threading.Thread(target=_report, args=(cluster, broker, done), daemon=True)
    thread.start()
    try:
        cluster.shut_down(broker)
    finally:
        done.set()
        thread.join()


def _report(cluster: Cluster, but: int, done: threading.Event) -> None:
    others = [one for one in cluster.plan.brokers if one != but and cluster.nodes[one].is_running]
    while not done.wait(_PAUSE):
        try:
            for broker in others:
                cluster.send_heartbeat(broker)
        except BrokerGone:
            continue
