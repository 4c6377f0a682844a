"""A record that fails while its transaction is aborted (gallery row 43), in Kafka's own producer without a cluster.

`EpochAfterAbort.java` is compiled against the clients' jar and the network that Kafka's own tests have. No class is mended:
the client would have to ask for another epoch when it has sent EndTxn already. With brokers:
`tests/cluster/transacting/test_java_client.py`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster.conftest import users_cache
from tests.found.playing.java import client_jars, compiled, ran
from tests.places import DATA

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize(("first", "epochs_and_sequence"), [("failure", (0, 1, 0)), ("abort", (0, 0, 1))])
def test_the_client_keeps_its_producer_epoch_if_a_record_fails_only_after_the_abort(
    first: str, epochs_and_sequence: tuple[int, int, int], users_cache: None, tmp_path: Path
) -> None:
    artifact = "org.apache.kafka:kafka-clients:3.9.1:jar:test"
    copy = ["mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={tmp_path}"]
    subprocess.run(copy, cwd=tmp_path, check=True)
    class_path = (*tmp_path.glob("*.jar"), client_jars("3.9.1").class_path, tmp_path)
    compiled(os.pathsep.join(map(str, class_path)), [DATA / "java" / "EpochAfterAbort.java"], tmp_path)
    done = ran(class_path, "org.apache.kafka.clients.producer.internals.EpochAfterAbort", first)
    assert done.returncode == 0, done.stderr
    assert tuple(map(int, done.stdout.split())) == epochs_and_sequence
