"""Hidden refusal (gallery row 110) on the share coordinator's own service, whose runtime is stood in for.

Controls are one write alone, and two of which the second is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.cluster.releases.jars import fetch_jars
from acked.cluster.releases.release import Artifact
from tests.cluster.conftest import users_cache
from tests.found.java import SOURCES, compiled, kafka, ran

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
