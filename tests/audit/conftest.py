"""What the tests of the audit share ends with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.audit.decision.kept import KEPT


@pytest.fixture(scope="session", autouse=True)
def kept_processes() -> Iterator[None]:
    """Ends the processes that were kept from one test to the next."""
    with KEPT:
        yield
