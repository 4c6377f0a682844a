"""Hidden refusal (gallery row 110) on unmodified brokers, and on the share coordinator's own service.

On brokers two writes come into one request while the one before them waits for a replica that stands still (SIGSTOP), and the
first of them is larger than the coordinator's topic takes. Controls are no second write, and a topic that takes both. The
service has a runtime that is stood in for; its controls are one write alone, and two of which the second is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
from acked.cluster.releases.jars import fetch_jars
from acked.cluster.releases.release import Artifact
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.java import SOURCES, compiled, kafka, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

MOCKITO = Artifact("org.mockito", "mockito-core", "5.14.2")
LOADS = "COORDINATOR_LOAD_IN_PROGRESS"


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.2.1", "4.1.2", "4.0.0"])
def test_of_two_writes_about_a_partition_the_answer_has_what_became_of_the_second_alone(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars, mockito = kafka(version), fetch_jars("mockito-5.14.2", (MOCKITO,), "Mockito", None)
    class_path = (tmp_path, jars.class_path, mockito.class_path)
    compiled(":".join(map(str, class_path)), [SOURCES / "HiddenRefusal.java"], tmp_path)

    def answered(*outcomes: str) -> str:
        done = ran(class_path, "HiddenRefusal", *outcomes)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert answered("refused") == LOADS
    assert answered("taken", "refused") == LOADS
    assert answered("refused", "taken") == "NONE"


ONE_PARTITION = {
    "offsets.topic.replication.factor": "1", "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "2", "share.coordinator.state.topic.min.isr": "1",
}  # fmt: skip
SMALL, LARGE = "600", "1048588"
"""Bytes that a write of forty records in turn accepted and rejected is larger than, and the default."""


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.2.1"])
@pytest.mark.parametrize(("most_bytes", "third"), [(SMALL, "accept"), (SMALL, "nothing"), (LARGE, "accept")])
def test_brokers_say_that_an_acknowledgement_is_taken_which_was_refused_and_deliver_its_records_again(
    version: str, most_bytes: str, third: str, users_cache: None, tmp_path: Path
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    jars = kafka(version)
    compiled(jars.class_path, [SOURCES / "RefusedBeforeTaken.java"], tmp_path)
    with Cluster(add_archive(make_plan(version, brokers=(0, 1, 2), settings=ONE_PARTITION))) as cluster:
        still = cluster.nodes[2].jvm
        assert still is not None
        arguments = (cluster.bootstrap(), str(still.pid), most_bytes, third)
        done = ran((tmp_path, jars.class_path), "RefusedBeforeTaken", *arguments)
    print(version, most_bytes, third, done.stdout, done.stderr[-2000:])
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    since = said["given since"].strip("[]").split(", ")
    assert said["given"] == "1, 40, 1"
    assert said["first"] == said.get("third", "[taken]") == "[taken]"
    assert since[-1] == "last"
    assert (said["second"] == "[taken]") is (third == "accept")
    assert ("second" in since) is (most_bytes == SMALL)
