"""What is seen of a group's offsets: its commits in replicas of `__consumer_offsets`, and what a coordinator says of them.

A commit of the model, counted from 1, is an offset of the input; its record is told by the metadata that go with it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from acked.cluster.nodes.cluster import Cluster
from acked.cluster.observe.disk import Replica
from acked.cluster.replicating.compare import value_of
from acked.cluster.replicating.producers import Producers
from acked.cluster.topics.topic import Topic
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import ALL_REPLICAS, Acknowledgement, Client
from acked.cluster.wire.groups import Membership

OFFSETS, INPUT, GROUP = "__consumer_offsets", "input", "played"
_NOTE = "acked-"
COMMIT, _FETCH, _FETCH_STABLE = 2, 2, 7
"""The versions in which offsets are committed, asked for, and asked for as consumers do since 2.5 (KIP-447)."""
_STABLE_SINCE = (2, 5)
NOBODY = Membership(0)
NO_OFFSET = 0
"""What a group that has committed nothing is said to have."""


class OffsetsTopic(Topic):
    """The partition, as far as it is about the group that is played: others write there, too."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, OFFSETS)

    def replica(self, broker: int) -> Replica:
        real = super().replica(broker)
        found = [(record, re.search(rb"acked-(r\d+)", record.value or b"")) for record in real.log]
        mine = [replace(record, value=noted.group(1)) for record, noted in found if noted is not None]
        mark = None if real.high_watermark is None else sum(record.offset < real.high_watermark for record in mine)
        return Replica(broker, tuple(replace(record, offset=at) for at, record in enumerate(mine)), real.epochs, mark)


class Committers(Producers):
    """Consumers that commit, each commit on a connection of its own, which waits for the answer."""

    def __init__(self, topic: Topic, seconds: float) -> None:
        super().__init__(topic, ALL_REPLICAS, seconds)
        self.mine = NOBODY
        """Who commits: a member, or somebody who is in no generation."""

    def _send(self, record: int, broker: int, statuses: object) -> Client:
        client = self._topic.cluster.client(broker, self.seconds)
        self._waiting[record] = client
        values = commit_values(GROUP, record, f"{_NOTE}{value_of(record)}", mine=self.mine)
        client.send(Api.OFFSET_COMMIT, values, COMMIT)
        return client

    def _acknowledgement(self, client: Client, record: int) -> Acknowledgement:
        return Acknowledgement(commit_error(client), record)


def commit_values(
    group: str, offset: int, note: str = "", times: int = 1, mine: Membership = NOBODY
) -> dict[str, object]:
    """OffsetCommit, by default of somebody who is in no generation; the same partition may be named more than once."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": note}
    return {"group_id": group, "generation_id_or_member_epoch": mine.generation, "member_id": mine.member,
            "topics": [{"name": INPUT, "partitions": [partition] * times}]}  # fmt: skip


def commit_error(client: Client) -> int:
    """The error with which a commit is answered, 0 for none."""
    [topic] = client.receive(Api.OFFSET_COMMIT, COMMIT).topics
    return int(topic.partitions[0].error_code)


def committed(cluster: Cluster, broker: int, is_stable: bool) -> tuple[int, int]:
    """Error, and the offset that a broker says the group has committed; `is_stable`: asked as consumers ask since 2.5."""
    asked = {"group_id": GROUP, "topics": [{"name": INPUT, "partition_indexes": (0,)}]}
    with cluster.client(broker) as ask:
        if cluster.plan.release.number < _STABLE_SINCE:
            body = ask.ask(Api.OFFSET_FETCH, asked, _FETCH)
        else:
            body = ask.ask(Api.OFFSET_FETCH, {**asked, "require_stable": is_stable}, _FETCH_STABLE)
    if body.error_code:
        return int(body.error_code), NO_OFFSET
    [found] = body.topics[0].partitions
    return int(found.error_code), max(found.committed_offset, NO_OFFSET)
