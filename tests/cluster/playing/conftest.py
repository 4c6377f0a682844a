"""Says at the very end how many counterexamples were played on real brokers."""

from __future__ import annotations

import pytest

PLAYED = "test_a_counterexample_is_played_on_real_brokers"
_COUNTS = pytest.StashKey[dict[str, int]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = {
        outcome: sum(PLAYED in report.nodeid for report in terminalreporter.stats.get(outcome, ()))
        for outcome in ("passed", "failed", "error", "skipped")
    }
    terminalreporter.config.stash[_COUNTS] = found


def pytest_unconfigure(config: pytest.Config) -> None:
    found = config.stash.get(_COUNTS, {})
    if any(found.values()):
        print(f"{found['passed']} counterexamples were played on real brokers, {found['skipped']} were skipped")
