"""Orderly shutdowns while brokers are kept from hearing of metadata."""

from __future__ import annotations

import threading

from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.releases.release import Mode
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import BrokerGone, Client

_PAUSE = 0.1
_FAR = 1 << 40


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
            with Client(("127.0.0.1", cluster.addresses.internal[CONTROLLER]), cluster.dialect, 5.0) as ask:
                for broker in others:
                    heartbeat = {"broker_id": broker, "broker_epoch": cluster.registrations[broker],
                                 "current_metadata_offset": _FAR, "want_fence": False, "want_shut_down": False}  # fmt: skip
                    ask.ask(Api.BROKER_HEARTBEAT, heartbeat, 0)
        except BrokerGone:
            continue
