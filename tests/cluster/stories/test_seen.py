"""What is seen of a topic, for a comparison with the model."""

from __future__ import annotations

from acked.cluster.observe.disk import EpochStart, Replica
from acked.cluster.stories.seen import Seen
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record


def test_leader_epochs_are_compared_by_rank() -> None:
    log = (Record(0, 2, b"r0"), Record(1, 7, b"r1"))
    replica = Replica(0, log, (EpochStart(2, 0), EpochStart(7, 1)), 1)
    seen = Seen(PartitionView(0, 0, (0, 1), (0,), 9), (replica, Replica(1, (), None, None)), (0,))
    assert seen.ranks() == {2: 0, 7: 1, 9: 2}


def test_without_epochs_there_are_no_ranks() -> None:
    assert Seen(None, (Replica(0, (Record(0, None, b"r0"),), None, 1),), (0,)).ranks() == {}
