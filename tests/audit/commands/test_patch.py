"""What is recommended is written into copies of the user's own files, in which nothing else is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.audit.commands.patch import make_patches, write_patches
from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict
from acked.audit.formats.reading import read_all
from acked.base.errors import ConfigurationError
from acked.base.release import release
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather, read_settings

FORMS = {
    "p.properties": (
        "# mine: acks=1\nlinger.ms=1\nacks = 1  \nretries=1\n",
        "# mine: acks=1\nlinger.ms=1\nacks = all  \nretries=1\n",
    ),
    "application.yml": (
        "spring:\n  kafka:\n    producer:\n      acks: '1'  # fast\n",
        "spring:\n  kafka:\n    producer:\n      acks: 'all'  # fast\n",
    ),
    "compose.yml": (
        "services:\n  shop:\n    image: shop:1\n    environment:\n      - SPRING_KAFKA_PRODUCER_ACKS=1 # 1\n",
        "services:\n  shop:\n    image: shop:1\n    environment:\n      - SPRING_KAFKA_PRODUCER_ACKS=all # 1\n",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_one_value_is_another_and_comments_and_form_stay(name: str, tmp_path: Path) -> None:
    before, after = FORMS[name]
    path = tmp_path / name
    path.write_text(before)
    given = gather(read_all([path]))
    change = (("acks", "all"), ("enable.idempotence", "true"), ("replication.factor", "3"))
    patches = make_patches(given, change)
    assert write_patches(patches, tmp_path / "out") == [tmp_path / "out" / name]
    assert (tmp_path / "out" / name).read_text() == after
    assert path.read_text() == before
    assert [text.partition(",")[0] for text in patches.by_hand] == ["enable.idempotence=true", "replication.factor=3"]
    with pytest.raises(ConfigurationError, match="is there already"):
        write_patches(patches, tmp_path / "out")
    with pytest.raises(ConfigurationError, match="the file itself"):
        write_patches(patches, tmp_path)
    assert path.read_text() == before


def test_a_value_that_an_anchor_gives_to_others_too_is_left_to_the_user(tmp_path: Path) -> None:
    path = tmp_path / "compose.yml"
    path.write_text(
        "x-all: &all {KAFKA_MIN_INSYNC_REPLICAS: 1}\nservices:\n"
        "  a: {image: 'apache/kafka:3.9.0', environment: *all}\n  b: {image: 'apache/kafka:3.9.0', environment: *all}\n"
    )
    patches = make_patches(gather(read_all([path])), (("min.insync.replicas", "2"),))
    assert (len(patches.texts), len(patches.by_hand)) in ((0, 1), (1, 0))
    for text in patches.texts.values():
        path.write_text(text)
        values = {entry.value for entry in read_settings(path) if entry.key == "min.insync.replicas"}
        assert values == {"2"}


def test_what_counts_for_topics_that_are_made_is_not_taken_for_a_topics_own(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("default.replication.factor=2\n")
    (said,) = make_patches(gather(read_all([path])), [("replication.factor", "3")]).by_hand
    assert said.startswith("replication.factor=3, which no file sets for a topic: default.replication.factor=2 (")
    assert "server.properties:1) counts when one is made, and kafka-reassign-partitions" in said
    assert path.read_text() == "default.replication.factor=2\n"


@pytest.mark.slow
def test_one_change_serves_every_required_answer_and_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "p.properties"
    path.write_text("acks=1\nenable.idempotence=false\nreplication.factor=2\nmin.insync.replicas=2\n")
    given = gather(read_all([path]))
    required = (AuditQuestion.LOSS, AuditQuestion.DUPLICATES)
    audit = Auditor(given, release("4.1"), assumed=Assumptions(), runner=KEPT).run(required)
    assert audit.recommended is not None
    assert dict(audit.recommended.settings) == {"acks": "all", "enable.idempotence": "true"}
    assert any("latency" in cost for cost in audit.recommended.price)
    write_patches(make_patches(given, audit.recommended.settings), tmp_path / "out")
    mended = gather(read_all([tmp_path / "out" / "p.properties"]))
    again = Auditor(mended, release("4.1"), assumed=Assumptions(), runner=KEPT).run(required, advise=False)
    assert again.worst(required) is AuditVerdict.NO
    assert audit.worst(required) is AuditVerdict.YES


def test_an_upgrade_and_a_feature_of_the_cluster_are_told_as_what_an_operator_does(tmp_path: Path) -> None:
    """Neither is a line of a file; and the protocol in the file, which was taken for raised, has to be raised."""
    path = tmp_path / "server.properties"
    path.write_text("process.roles=broker\ninter.broker.protocol.version=3.9\n")
    change = (("kafka version", "4.1"), ("eligible.leader.replicas.version", "1"))
    assert make_patches(gather(read_all([path])), change).by_hand == (
        f"upgrade to Kafka 4.1, and afterwards raise inter.broker.protocol.version ({path}:2)",
        "eligible.leader.replicas.version=1, a feature of the cluster: kafka-features upgrade "
        "--feature eligible.leader.replicas.version=1",
    )
