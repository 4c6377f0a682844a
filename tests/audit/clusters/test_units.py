"""A topic is answered with its own cluster's brokers, and files that differ are answered each for itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from acked.audit.clusters.topics import TopicGroup
from acked.audit.clusters.units import MOST_UNITS, groups_of_units, units_of
from acked.audit.decision.gather import recognise
from acked.audit.formats.reading import read_all
from acked.base.errors import AckedError, ConfigurationError
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import PRODUCER_OPTION, Scope, SettingEntry
from tests.audit.formats.corpus import CORPUS

CLUSTERS = CORPUS / "clusters"


def groups(*paths: Path, entities: tuple[str, ...] = (), topic: str | None = None) -> list[TopicGroup]:
    return groups_of_units(units_of(recognise(read_all(paths))), topic, entities)


def told(found: list[TopicGroup], key: str = keys.MIN_ISR) -> list[tuple[str, tuple[str, ...], str]]:
    """Of each group its unit and topics, with the value of a setting or why it is not asked about."""
    return [(one.unit, one.topics, one.refusal or (one.given.entries[key].value if key in one.given.entries else "-"))
            for one in found]  # fmt: skip


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("name", ["topic-of-another-cluster", "confluent-topic-of-another", "another-namespace"])
def test_a_topic_whose_cluster_is_not_there_is_named_and_takes_nothing_from_another(name: str) -> None:
    there, missing = groups(CLUSTERS / f"{name}.yaml")
    assert there.topics == ()
    assert there.given.entries[keys.MIN_ISR].value == "2"
    assert len(missing.topics) == 1
    assert missing.refusal.startswith("no file describes their cluster ")
    assert missing.given.entries == {}


def test_every_cluster_of_a_file_is_answered_with_its_own_topics_and_brokers() -> None:
    path = CLUSTERS / "two-clusters.yaml"
    assert told(groups(path)) == [("eu", ("pay",), "2"), ("us", ("orders",), "1")]
    assert told(groups(path, entities=("us",))) == [("us", ("orders",), "1")]
    with pytest.raises(ConfigurationError, match="no file describes 'su'"):
        groups(path, entities=("su",))
    with pytest.raises(ConfigurationError, match="no file describes a topic 'orders' of eu; they describe pay"):
        groups(path, entities=("eu",), topic="orders")


def test_topics_and_clusters_in_files_of_their_own_are_joined_by_their_names(tmp_path: Path) -> None:
    parts = (CLUSTERS / "two-clusters.yaml").read_text("utf-8").split("---\n")
    for at, part in enumerate(parts):
        (tmp_path / f"part-{at}.yaml").write_text(part, "utf-8")
    assert told(groups(tmp_path)) == [("eu", ("pay",), "2"), ("us", ("orders",), "1")]
    (tmp_path / "part-1.yaml").unlink()
    left, gone = groups(tmp_path)
    assert (left.unit, left.topics) == ("eu", ("pay",))
    assert (gone.unit, gone.topics) == ("us", ("orders",))
    assert gone.refusal


def test_a_topic_that_names_no_cluster_is_asked_about_in_each() -> None:
    found = told(groups(CLUSTERS / "topic-without-cluster.yaml"))
    assert found == [("eu", ("orders",), "2"), ("us", ("orders",), "1")]


def test_a_namespace_that_one_side_leaves_out_is_no_other_cluster() -> None:
    for name in ("topic-without-namespace.yaml", "watched-namespace.yaml"):
        assert told(groups(CLUSTERS / name)) == [("", ("orders",), "2")]


def test_clusters_that_no_file_describes_are_told_apart_and_their_defaults_are_remarked() -> None:
    found = groups(CLUSTERS / "one-name-in-two-namespaces.yaml")
    assert told(found) == [("a/main", ("orders",), "1"), ("b/main", ("orders",), "2")]
    assert ["no-cluster" in [one.rule for one in group.given.findings] for group in found] == [True, True]


DEV = "default.replication.factor=3\nmin.insync.replicas=1\n"
PROD = "default.replication.factor=3\nmin.insync.replicas=2\n"


def test_environments_in_folders_are_separate_and_share_what_is_in_none_of_them(tmp_path: Path) -> None:
    files(tmp_path, envs__dev__server_properties=DEV, envs__prod__server_properties=PROD, producer_properties="acks=1\n")
    found = groups(tmp_path)
    dev, prod = (str(tmp_path / "envs" / name) for name in ("dev", "prod"))
    assert told(found) == [(dev, (), "1"), (prod, (), "2")]
    assert told(found, keys.ACKS) == [(dev, (), "1"), (prod, (), "1")]


def test_what_one_environment_sets_and_another_leaves_out_is_not_lent_to_it(tmp_path: Path) -> None:
    files(tmp_path, dev__server_properties="default.replication.factor=3\nunclean.leader.election.enable=true\n",
          prod__server_properties=PROD)  # fmt: skip
    assert told(groups(tmp_path)) == [(str(tmp_path / "dev"), (), "-"), (str(tmp_path / "prod"), (), "2")]


def test_an_environment_below_another_has_the_others_clients_and_not_its_brokers(tmp_path: Path) -> None:
    files(tmp_path, server_properties=DEV, producer_properties="acks=1\n", prod__server_properties=PROD)
    found = groups(tmp_path)
    assert told(found) == [(str(tmp_path), (), "1"), (str(tmp_path / "prod"), (), "2")]
    assert [group.given.entries[keys.ACKS].value for group in found] == ["1", "1"]


def test_files_of_one_folder_that_differ_are_told_apart_by_their_names(tmp_path: Path) -> None:
    files(tmp_path, a_properties=DEV, b_properties=PROD)
    assert told(groups(tmp_path)) == [(str(tmp_path / "a.properties"), (), "1"), (str(tmp_path / "b.properties"), (), "2")]


def test_applications_that_differ_are_each_asked_about_in_each_environment(tmp_path: Path) -> None:
    files(tmp_path, dev__server_properties=DEV, prod__server_properties=PROD, shop__producer_properties="acks=1\n",
          billing__producer_properties="acks=all\n")  # fmt: skip
    found = groups(tmp_path)
    values = [(one.given.entries[keys.MIN_ISR].value, one.given.entries[keys.ACKS].value) for one in found]
    assert sorted(values) == [("1", "1"), ("1", "all"), ("2", "1"), ("2", "all")]
    assert len({group.unit for group in found}) == 4


def test_a_producer_of_the_command_line_is_in_every_environment_and_is_none_of_its_own(tmp_path: Path) -> None:
    files(tmp_path, dev__server_properties=DEV, prod__server_properties=PROD)
    option = SettingEntry(keys.ACKS, "1", PRODUCER_OPTION, 0, Scope.PRODUCER)
    found = groups_of_units(units_of(recognise([*read_all([tmp_path]), option])))
    assert told(found, keys.ACKS) == [(str(tmp_path / "dev"), (), "1"), (str(tmp_path / "prod"), (), "1")]
    files(tmp_path / "dev", application_properties="spring.kafka.producer.acks=all\n")
    with pytest.raises(ConfigurationError, match="sets acks to all and --producer to 1"):
        groups_of_units(units_of(recognise([*read_all([tmp_path / "dev"]), option])))


def test_files_that_agree_and_those_of_different_things_are_one_unit(tmp_path: Path) -> None:
    files(tmp_path, a__server_properties=PROD, b__server_properties=PROD, producer_properties="acks=all\n")
    assert told(groups(tmp_path)) == [("", (), "2")]


def test_two_environments_that_have_a_cluster_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    text = (CLUSTERS / "topic-without-namespace.yaml").read_text("utf-8")
    files(tmp_path, dev__kafka_yaml=text.replace("min.insync.replicas: 2", "min.insync.replicas: 1"), prod__kafka_yaml=text)
    found = told(groups(tmp_path))
    assert found == [(str(tmp_path / "dev"), ("orders",), "1"), (str(tmp_path / "prod"), ("orders",), "2")]


def test_too_many_that_differ_are_refused_in_a_sentence(tmp_path: Path) -> None:
    files(tmp_path, **{f"env{at}__server_properties": f"min.insync.replicas={at}\n" for at in range(1, MOST_UNITS + 2)})
    with pytest.raises(ConfigurationError, match="name fewer of them"):
        groups(tmp_path)


# -- mutations, beside a reading of their own -----------------------------------------------------------------------------


def said_of_topics(text: str) -> dict[str, set[str]]:
    """The min.insync.replicas that each topic may have, from its own cluster or, where it names none, from any."""
    documents = [one for one in yaml.safe_load_all(text) if one]
    clusters = {}
    for one in documents:
        if one["kind"] == "Kafka":
            space = "" if "entityOperator" in one["spec"] else one.get("metadata", {}).get("namespace", "")
            settings = one["spec"].get("kafka", {}).get("config", {})
            clusters[space, one.get("metadata", {}).get("name")] = str(settings.get(keys.MIN_ISR, "-"))
    found: dict[str, set[str]] = {}
    for one in documents:
        if one["kind"] == "KafkaTopic":
            meta = one.get("metadata", {})
            named, space = meta.get("labels", {}).get("strimzi.io/cluster"), meta.get("namespace", "")
            own = [value for (of, name), value in clusters.items()
                   if named is None or (name == named and (not space or not of or space == of))]  # fmt: skip
            other = one["spec"].get("config", {}).get(keys.MIN_ISR)
            every = own if clusters else ["-"]
            found.setdefault(meta.get("name", ""), set()).update(every if other is None else [str(other)])
    return found


@pytest.mark.parametrize("path", sorted(CLUSTERS.glob("*.yaml")), ids=lambda path: str(path.name))
def test_no_line_that_is_lost_and_no_other_name_lends_a_topic_another_clusters_brokers(path: Path, tmp_path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    changed = [[*lines[:at], *lines[at + 1 :]] for at in range(len(lines))]
    changed += [[*lines[:at], line.replace(old, new), *lines[at + 1 :]] for at, line in enumerate(lines)
                for old, new in (("us", "uss"), ("us", "eu"), ("eu", "us"), ("main", "mian"), ("/cluster", "/clutser"))
                if old in line]  # fmt: skip
    place = tmp_path / path.name
    count = 0
    for mutant in changed:
        text = "\n".join(mutant) + "\n"
        place.write_text(text, "utf-8")
        try:
            found = groups(place)
        except AckedError:
            continue
        for group in found:
            for topic in () if group.refusal or "confluent" in path.name else group.topics:
                entry = group.given.entries.get(keys.MIN_ISR)
                assert ("-" if entry is None else entry.value) in said_of_topics(text)[topic], text
                count += 1
    assert count or "confluent" in path.name or path.name == "one-without-a-setting.yaml"
