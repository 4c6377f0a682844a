"""Says at the end how many stories were played on real brokers."""

from __future__ import annotations

import pytest

STORY = "test_a_counterexample_is_played_on_real_brokers"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = {
        outcome: sum(STORY in report.nodeid for report in terminalreporter.stats.get(outcome, ()))
        for outcome in ("passed", "failed", "error", "skipped")
    }
    if any(found.values()):
        terminalreporter.write_line(f"{found['passed']} counterexamples were played on real brokers.")
