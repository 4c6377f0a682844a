"""A running cluster of 200 topics in ten groups, as it describes itself: told on a screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from acked.audit.commands import options
from acked.audit.commands.audit import audit
from acked.audit.commands.summary import MOST_LINES
from acked.audit.reports import build
from tests.audit.commands.clusters import cluster


@pytest.mark.slow
def test_200_topics_are_told_in_25_lines_cold_and_again_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(options, "ask_apart", lambda *_, **__: cluster(200))
    monkeypatch.setattr(build, "told", lambda *_: pytest.fail("a summary of several groups tells no steps"))
    wanted = ["--bootstrap-server", "kafka:9092", "--ask", "loss", "--faults", "none", "-q", "-j", "1"]
    cold, warm = (CliRunner().invoke(audit, wanted, standalone_mode=False) for _ in range(2))
    assert (cold.exception, warm.exception) == (None, None)
    lines = cold.output.splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].endswith("200 topics in 20 groups")
    assert any(line.startswith("  and ") and "groups more" in line for line in lines)
    assert lines[-1] == warm.output.splitlines()[-1]
    assert warm.output == cold.output
