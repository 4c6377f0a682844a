"""The table of docs/scale.md is what its simulation prints."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import CHECKOUT


@pytest.mark.slow
def test_the_simulation_reproduces_the_table_of_the_page() -> None:
    script = CHECKOUT / "benchmarks" / "scale.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() in (CHECKOUT / "docs" / "scale.md").read_text("utf-8")


@pytest.mark.slow
def test_the_simulation_depends_on_its_inputs() -> None:
    script = CHECKOUT / "benchmarks" / "scale.py"
    command = [sys.executable, str(script), "--storage", "50"]
    faster = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert faster.strip() not in (CHECKOUT / "docs" / "scale.md").read_text("utf-8")
