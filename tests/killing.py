"""Processes of pools that tests kill."""

from __future__ import annotations

import pytest

from acked.base.processes import ProcessPool


def opened_pools(monkeypatch: pytest.MonkeyPatch) -> list[ProcessPool]:
    """The pools that are opened from now on, in a list that grows."""
    pools: list[ProcessPool] = []
    enter = ProcessPool.__enter__

    def remembered(pool: ProcessPool) -> ProcessPool:
        pools.append(pool)
        return enter(pool)

    monkeypatch.setattr(ProcessPool, "__enter__", remembered)
    return pools
