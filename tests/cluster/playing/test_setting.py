"""What a question's constants are to Kafka."""

from __future__ import annotations

import pytest

from acked.checker.errors import ConfigurationError
from acked.cluster.playing.setting import other_rules, setting_of
from acked.cluster.releases.release import Mode, release
from tests.cluster.playing.runs import question


def test_constants_become_settings_of_the_topic_and_of_producers() -> None:
    made = setting_of(question("3.9", "kraft", min_insync_replicas=2, unclean_election=True))
    assert (made.replicas, made.acks) == (3, -1)
    assert made.topic == {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
    assert [setting_of(question("3.9", "kraft", acks=acks)).acks for acks in ("0", "1", "all")] == [0, 1, -1]


def test_a_control_changes_one_setting() -> None:
    made = setting_of(question("3.9", "kraft", acks="1"))
    assert made.changed("acks", "all").acks == -1
    assert made.changed("min.insync.replicas", "2").topic["min.insync.replicas"] == "2"
    with pytest.raises(ConfigurationError, match="acks=2 is not a setting of producers"):
        made.changed("acks", "2")


def test_rules_that_a_release_does_not_have_are_named() -> None:
    asked = question("2.8", truncation="leader epoch")
    [other] = other_rules(asked, release("2.8.0"), Mode.ZOOKEEPER)
    assert (other.constant, other.spec, other.release) == ("truncation", "leader epoch", "diverging fetch")
    assert other_rules(question("2.8"), release("2.8.0"), Mode.ZOOKEEPER) == ()


def test_idempotence_is_the_traces_or_that_of_the_control() -> None:
    assert setting_of(question("3.9", "kraft", idempotence=True, retries=True)).is_idempotent
    made = setting_of(question("3.9", "kraft"))
    assert not made.is_idempotent
    assert made.changed("enable.idempotence", "true").is_idempotent
    with pytest.raises(ConfigurationError, match=r"enable\.idempotence=on is not"):
        made.changed("enable.idempotence", "on")
