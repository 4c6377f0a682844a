"""A topic on a cluster, without brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from acked.base.errors import ConfigurationError, SystemFailure
from acked.cluster.topics.topic import Topic


@dataclass
class Refusing:
    """A cluster of no nodes whose controller answers every CreateTopics request with an error."""

    error: int
    nodes: Mapping[int, object] = field(default_factory=dict)
    plan: Any = field(default_factory=lambda: SimpleNamespace(release=SimpleNamespace(version="3.9.1")))

    @contextmanager
    def admin(self) -> Iterator[Refusing]:
        yield self

    def create_topic(self, name: str, replicas: Sequence[int], settings: Mapping[str, str]) -> int:
        return self.error


def test_settings_that_a_release_does_not_have_are_the_users_and_not_a_failure() -> None:
    topic = Topic(cast(Any, Refusing(40)), "t")
    with pytest.raises(ConfigurationError, match=r"Kafka 3\.9\.1 does not have all .*: remote\.copy\.lag\.ms=1"):
        topic.create([0], {"remote.copy.lag.ms": "1"})
    with pytest.raises(SystemFailure, match="the topic t was not created: NOT_CONTROLLER"):
        Topic(cast(Any, Refusing(41)), "t").create([0])
