"""Foreign load (gallery row 96) on Kafka's own `CoordinatorRuntime`, as its releases are, with a loader that the test holds.

The control is that the second load ends: the one that the coordinator began itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import users_cache
from tests.found.java import SOURCES, compiled, kafka, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.2.2", "4.1.2", "4.0.0"])
def test_a_coordinator_becomes_active_with_the_load_of_a_former_one_and_has_no_offsets(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars = kafka(version)
    compiled(jars.class_path, [SOURCES / "ForeignLoad.java"], tmp_path)
    answers = {}
    for ended in ("first", "second"):
        done = ran((tmp_path, jars.class_path), "ForeignLoad", ended)
        assert done.returncode == 0, done.stderr
        answers[ended] = done.stdout.strip()
    assert answers == {"first": "2 loads; null", "second": "2 loads; offset 42"}
