"""What is remarked on settings by which offsets, transactions, share groups and compacted topics lose: as models say."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.api import load_spec
from acked.audit.decision.gather import RefusedByKafka
from acked.audit.decision.remarks import coordinator_remarks
from acked.audit.decision.settings import configure
from acked.audit.formats.reading import read_all
from acked.base.bounds import Bounds
from acked.base.errors import AckedError
from acked.base.release import release
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.model.catalogue import PROTOCOLS
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


# -- share groups and compaction -----------------------------------------------------------------------------------------

MODELLED = [
    (keys.SHARE_RESET, "latest", "4.4", "share", {"latest": 1}, "NoRecordIsSkipped", "begins-anew"),
    (keys.SHARE_RESET, "earliest", "4.4", "share", {}, "NoRecordIsSkipped", "begins-anew"),
    (keys.REBALANCE_PROTOCOLS, "classic,consumer,share", "4.1", "share", {"failed_writes": 1}, "LocksEnd", "preview"),
    (keys.REBALANCE_PROTOCOLS, "classic,consumer,share", "4.2", "share", {"failed_writes": 1}, "LocksEnd", "preview"),
    (keys.CLEANER_MAP, "1048576", "4.4", "compaction", {"map_keys": 1, "reader": 1}, "ReadersSeeDeletions", "small-map"),
    (keys.CLEANER_MAP, "134217728", "4.4", "compaction", {"reader": 1}, "ReadersSeeDeletions", "small-map"),
    (keys.CLEANER_MAP, "1048576", "3.0", "compaction", {"map_keys": 1, "producers": 1, "segment": 4},
     "AbortedRecordsStayHidden", "small-map"),
]  # fmt: skip
"""A setting and a release, the question that it is of a model, and the remark that is due if the promise breaks."""


def rules(key: str, value: str, version: str) -> list[str]:
    entry = SettingEntry(key, value, "f", 1)
    return [one.rule for one in coordinator_remarks([entry], release(version), release(version))]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(("key", "value", "version", "protocol", "more", "promise", "rule"), MODELLED)
def test_a_remark_is_made_where_the_model_of_the_release_breaks_the_promise_and_nowhere_else(
    key: str, value: str, version: str, protocol: str, more: dict[str, int], promise: str, rule: str
) -> None:
    asked = PROTOCOLS[protocol]
    small = {"writes": 1} if protocol == "share" else {"tombstones": promise == "ReadersSeeDeletions", "producers": 0}
    constants = {name: item.value for name, item in asked.profile(version, None).items()} | small | more
    result = search(QuestionText(protocol, tuple(constants.items()), (promise,)).question(), Bounds(1))
    assert (rule in rules(key, value, version)) == bool(result.violations)


@pytest.mark.parametrize(
    ("spec", "key", "value", "rule"),
    [("claims/compaction-delete-compacts", keys.CLEANUP, "compact,delete", "last-value-deleted"),
     ("claims/compaction-away-longer", keys.DELETES_KEPT, "1000", "short-deletes"),
     ("claims/share-latest", keys.SHARE_RESET, "LATEST", "begins-anew")],
)  # fmt: skip
def test_what_a_remark_says_is_a_claim_that_the_gate_decides(spec: str, key: str, value: str, rule: str) -> None:
    found = load_spec(spec)
    assert found.expect is not None
    assert found.expect.violates
    assert rules(key, value, "4.4") == [rule]


def test_values_that_lose_nothing_are_passed_over_and_what_kafka_refuses_is_refused() -> None:
    for key, value in {
        keys.CLEANUP: "compact", keys.BROKER_CLEANUP: "delete", keys.DELETES_KEPT: "31536000000", keys.SHARE_FACTOR: "3",
        keys.SHARE_MIN_ISR: "2", keys.REBALANCE_PROTOCOLS: "classic,consumer",
    }.items():  # fmt: skip
        assert rules(key, value, "4.1") == []
    assert rules(keys.SHARE_FACTOR, "1", "4.2") == ["one-copy"]
    assert rules(keys.SHARE_MIN_ISR, "1", "4.2") == ["one-in-sync"]
    assert rules(keys.SHARE_RESET, "by_duration:PT1H", "4.3") == ["begins-anew"]  # As the sources say.
    assert rules(keys.SHARE_FACTOR, "1", "3.8") == rules(keys.SHARE_RESET, "latest", "3.8") == []
    wrong = ((keys.CLEANUP, "compakt"), (keys.CLEANUP, ""), (keys.SHARE_RESET, "latets"), (keys.CLEANER_MAP, "a lot"))
    for key, value in wrong:
        with pytest.raises(RefusedByKafka, match=r"^f:1: Kafka refuses"):
            rules(key, value, "4.4")


@pytest.mark.parametrize("key", sorted(keys.OF_COORDINATORS))
def test_no_slip_in_a_name_goes_unsaid(key: str, tmp_path: Path) -> None:
    """Kafka passes over the name, so that what it was to say is gone: that is remarked, or the file is refused."""
    file = tmp_path / "server.properties"
    for at in range(len(key)):
        for other in ("", "x"):
            slip = key[:at] + other + key[at + 1 :]
            file.write_text(f"min.insync.replicas=2\nreplication.factor=3\n{slip}=1\n", "utf-8")
            try:
                found = {one.rule for one in configure(gather(read_all([file])), release("4.2")).findings}
            except AckedError:
                continue
            assert "misspelt" in found, slip


def test_what_kafka_configs_says_of_a_share_group_is_read_and_remarked(tmp_path: Path) -> None:
    file = tmp_path / "groups.txt"
    file.write_text(
        "Dynamic configs for group orders are:\n"
        "  share.auto.offset.reset=latest sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:share.auto.offset.reset=latest}\n"
        "Dynamic configs for topic t are:\n"
        "  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2}\n",
        "utf-8",
    )
    found = gather(read_all([file])).coordinators
    assert [(one.key, one.value, one.line) for one in found] == [(keys.SHARE_RESET, "latest", 2)]
