"""How tests of `acked watch` have questions answered."""

from __future__ import annotations

import pytest

from acked.audit.decision.faults import AuditVerdict
from acked.watch import clusters
from acked.watch.answers import SettingsAnswer, StateAnswer, unknown_state


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are asked in this process."""
    monkeypatch.setattr(clusters, "ask_apart", lambda ask, memory: ask())


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, here: None) -> list[str]:
    """Questions get an answer that needs no search, and which were asked."""
    asked: list[str] = []

    def state(watched: object, found: object) -> StateAnswer:
        asked.append("state")
        return unknown_state(found, "not asked")  # type: ignore[arg-type]

    def settings(watched: object, found: object, today: object) -> SettingsAnswer:
        asked.append("settings")
        return SettingsAnswer(AuditVerdict.NO, (), {})

    monkeypatch.setattr(clusters, "ask_state", state)
    monkeypatch.setattr(clusters, "ask_settings", settings)
    return asked
