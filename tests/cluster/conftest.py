"""Where the real brokers of the tests come from: the user's own cache of jars, not that of the test session."""

from __future__ import annotations

import os
import shutil

import pytest

from acked.base.errors import AckedError
from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.jvm import broker_java
from acked.cluster.nodes.plan import ClusterPlan, make_plan
from acked.cluster.releases.release import Mode

_CACHE = os.environ.get("ACKED_CACHE_DIR")


@pytest.fixture
def users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jars and class archives are fetched and made once, not for every test session."""
    if _CACHE is None:
        monkeypatch.delenv("ACKED_CACHE_DIR")
    else:
        monkeypatch.setenv("ACKED_CACHE_DIR", _CACHE)


def real_plan(version: str, settings: dict[str, str], mode: Mode | None = None) -> ClusterPlan:
    """A plan of a release; skipped in one sentence where there is no Java or Maven, an error where there are both."""
    has_maven = shutil.which("mvn") is not None
    try:
        broker_java()
        return add_archive(make_plan(version, mode, settings=settings))
    except AckedError as error:
        if has_maven and shutil.which("java"):
            raise
        pytest.skip(str(error))
