"""What a question's constants are to Kafka."""

from __future__ import annotations

import pytest

from acked.api import load_spec
from acked.base.errors import ConfigurationError
from acked.cluster.releases.release import Mode, release
from acked.cluster.replicating.protocol import mode_for, rules_unlike, setting_of
from tests.cluster.playing.runs import question


@pytest.mark.slow
def test_constants_become_settings_of_the_topic_and_of_producers() -> None:
    made = setting_of(question("3.9", "kraft", min_insync_replicas=2, unclean_election=True))
    assert (made.replicas, made.acks) == (3, -1)
    assert made.topic == {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
    assert [setting_of(question("3.9", "kraft", acks=acks)).acks for acks in ("0", "1", "all")] == [0, 1, -1]


def test_a_control_changes_one_setting() -> None:
    made = setting_of(question("3.9", "kraft", acks="1"))
    assert made.change("acks", "all").acks == -1
    assert made.change("min.insync.replicas", "2").topic["min.insync.replicas"] == "2"
    with pytest.raises(ConfigurationError, match="acks=2 is not a setting of producers"):
        made.change("acks", "2")


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["min.isr=2", "MIN.INSYNC.REPLICAS=2", "log.flush.interval.messages=1", "linger.ms=5"])
def test_a_control_with_a_setting_that_topics_do_not_have_is_refused(setting: str) -> None:
    key, _, value = setting.partition("=")
    with pytest.raises(ConfigurationError, match=f"{key} is no setting of Kafka's topics"):
        setting_of(question("3.9", "kraft")).change(key, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["min.insync.replicas=many", "min.insync.replicas=0", "unclean.leader.election.enable=perhaps"]
)
def test_a_control_with_a_value_that_topics_cannot_have_is_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{setting} is not a setting of topics; it is "):
        setting_of(question("3.9", "kraft")).change(*setting.split("="))


@pytest.mark.parametrize(
    ("rules", "kafka", "mode"),
    [
        (("3.9", "kraft"), "3.9.1", Mode.KRAFT),
        (("3.9", "zookeeper"), "3.9.1", Mode.ZOOKEEPER),
        (("2.8",), "3.4.1", Mode.ZOOKEEPER),
        (("4.1",), "3.4.1", Mode.KRAFT),
        (("4.1",), "2.8.2", Mode.ZOOKEEPER),  # The only one that it has.
        (("2.8",), "4.1.0", Mode.KRAFT),
        ((), "3.5.1", Mode.ZOOKEEPER),  # Transactions: both alike.
    ],
)
def test_the_control_plane_is_that_of_the_rules_where_the_release_has_it(
    rules: tuple[str, ...], kafka: str, mode: Mode
) -> None:
    asked = question(*rules) if rules else load_spec("kafka14402-bug").question()
    assert mode_for(asked, release(kafka), None) is mode
    assert mode_for(asked, release(kafka), mode) is mode


@pytest.mark.parametrize(("rules", "other"), [("kraft", Mode.ZOOKEEPER), ("zookeeper", Mode.KRAFT)])
def test_another_control_plane_than_that_of_the_rules_is_refused(rules: str, other: Mode) -> None:
    with pytest.raises(ConfigurationError, match=f"the rules are those of {rules}, and --control-plane is {other}; leave it"):
        mode_for(question("3.9", rules), release("3.9.1"), other)


@pytest.mark.slow
def test_rules_that_a_release_does_not_have_are_named() -> None:
    asked = question("2.8", truncation="leader epoch")
    [other] = rules_unlike(asked.instance.constants, release("2.8.0"), Mode.ZOOKEEPER)
    assert (other.constant, other.trace, other.release) == ("truncation", "leader epoch", "diverging fetch")
    assert rules_unlike(question("2.8").instance.constants, release("2.8.0"), Mode.ZOOKEEPER) == ()


@pytest.mark.slow
def test_idempotence_is_the_traces_or_that_of_the_control() -> None:
    assert setting_of(question("3.9", "kraft", idempotence=True, retries=True)).is_idempotent
    made = setting_of(question("3.9", "kraft"))
    assert not made.is_idempotent
    assert made.change("enable.idempotence", "true").is_idempotent
    with pytest.raises(ConfigurationError, match=r"enable\.idempotence=on is not"):
        made.change("enable.idempotence", "on")
