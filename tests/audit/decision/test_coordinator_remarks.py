"""What is remarked on settings by which committed offsets and transactions are lost."""

from __future__ import annotations

import pytest

from acked.audit.decision.gather import RefusedByKafka
from acked.audit.decision.remarks import coordinator_remarks
from acked.base.release import release
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from tests.audit.reading import gather


def remarks(settings: dict[str, str], version: str = "4.3", clients: str | None = None) -> list[str]:
    """The rules of the remarks on a broker's properties, in order."""
    entries = [SettingEntry(key, value, "server.properties", at) for at, (key, value) in enumerate(settings.items(), 1)]
    given = gather([SettingEntry("min.insync.replicas", "2", "server.properties", 9), *entries])
    found = coordinator_remarks(given.coordinators, release(version), release(clients or version))
    return [one.rule for one in found]


@pytest.mark.parametrize(
    ("key", "bad", "good", "rule"),
    [("offsets.topic.replication.factor", "1", "3", "one-copy"),
     ("transaction.state.log.replication.factor", "1", "2", "one-copy"),
     ("transaction.state.log.min.isr", "1", "2", "one-in-sync"),
     ("offsets.retention.minutes", "1440", "10080", "short-retention"),
     ("offsets.commit.required.acks", "1", "-1", "not-any-more")],
)  # fmt: skip
def test_a_setting_by_which_offsets_are_lost_is_remarked_and_its_default_is_not(
    key: str, bad: str, good: str, rule: str
) -> None:
    assert (remarks({key: bad}), remarks({key: good}), remarks({key: "${FILLED_IN}"})) == ([rule], [], [])


def test_what_a_value_costs_depends_on_the_release() -> None:
    assert remarks({"offsets.commit.required.acks": "1"}, "3.9") == ["commits-alone"]
    assert remarks({"offsets.retention.minutes": "1440"}, "1.1") == []
    assert remarks({"offsets.retention.minutes": "60"}, "1.1") == ["short-retention"]


@pytest.mark.parametrize(
    ("brokers", "clients", "words"),
    [("3.7", "3.7", ["KAFKA-16147", "KAFKA-18641"]), ("3.8", "3.8", ["KAFKA-18641"]), ("4.0", "3.9", ["KAFKA-18641"]),
     ("3.7", "4.0", ["KAFKA-16147"]), ("4.0", "4.0", [])],
)  # fmt: skip
def test_the_preview_of_the_new_group_protocol_is_remarked_of_the_brokers_or_clients_that_have_its_defects(
    brokers: str, clients: str, words: list[str]
) -> None:
    entry = SettingEntry("group.protocol", "CONSUMER", "consumer.properties", 3, Scope.CONSUMER)
    found = list(coordinator_remarks([entry], release(brokers), release(clients)))
    text = " ".join(one.text for one in found)
    assert [word for word in ("KAFKA-16147", "KAFKA-18641") if word in text] == words
    assert [one.entry for one in found] == ([entry] if words else [])


def test_several_brokers_with_the_same_value_are_one_remark_and_kafka_refuses_what_is_no_number() -> None:
    entries = [SettingEntry("offsets.topic.replication.factor", "1", f"{at}.properties", 1) for at in range(3)]
    [found] = coordinator_remarks(entries, release("4.3"), release("4.3"))
    assert found.entry == entries[0]
    with pytest.raises(RefusedByKafka, match=r"^0\.properties:1: .*'one' is not a number"):
        list(coordinator_remarks([SettingEntry("offsets.topic.replication.factor", "one", "0.properties", 1)],
                                 release("4.3"), release("4.3")))  # fmt: skip
