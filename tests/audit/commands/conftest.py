"""What the tests of audits in this process share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import sharing


@pytest.fixture(scope="module")
def lasting_searches() -> Iterator[None]:
    """What an audit has started, the next one of a module goes on with."""
    with sharing.lasting_searches():
        yield
