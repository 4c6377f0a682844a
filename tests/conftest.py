"""What all tests share: compiled kernels, answers and the cache's key go to folders of the test session, not to the user's;
and no example of Hypothesis's is too slow, because other work may run on the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("without deadlines", deadline=None)
hypothesis.settings.load_profile("without deadlines")


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of compiled kernels and answers, shared by the processes of one session."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACKED_CACHE_DIR", str(place))
        patch.setenv("XDG_STATE_HOME", str(place.with_name("state")))
        patch.delenv("ACKED_CACHE_KEY", raising=False)
        yield place
