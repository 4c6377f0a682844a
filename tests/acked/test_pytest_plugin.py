"""The pytest plugin: every spec is an item, and so is every variant of a file that has several."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.driver import TINY

pytestmark = pytest.mark.slow

ROW = TINY.partition("[expect]")[0].replace("[constants]", 'variants = ["good", "bad"]\n[constants]') + """
[good.expect]
verdict = "holds"
[bad.expect]
verdict = "holds"
distinct_states = 1
"""


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False).stdout


def test_every_variant_is_an_item_of_its_own_with_its_own_answer(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nacked_specs = *.toml\n")
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "row.toml").write_text(ROW)
    (tmp_path / "broken.toml").write_text('title = "x"\nvariants = ["a-b"]\n')
    items = run(tmp_path, "--collect-only").split("\n\n")[0].splitlines()
    assert sorted(items) == ["broken.toml::broken", "row.toml::row-bad", "row.toml::row-good", "tiny.toml::tiny"]
    done = run(tmp_path)
    assert "2 failed, 2 passed" in done
    assert "count: distinct_states is 277, expected 1" in done
    assert "variants must be a list of different names" in done
    assert "1 passed" in run(tmp_path, "-k", "row-good")
