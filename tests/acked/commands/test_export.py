"""The search of a spec as a script, from the command line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.driver import acked, assert_one_sentence
from tests.places import SPECS


@pytest.fixture
def node() -> str:
    """Node, which runs a script without a page."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node is installed: `apt-get install nodejs`")
    return found


@pytest.mark.slow
def test_node_prints_the_answer_of_an_exported_script_with_its_shortest_trace(node: str, tmp_path: Path) -> None:
    script = tmp_path / "lost.js"
    assert acked("export", "truncate-to-hw", "--to", "wasm", "-o", script).returncode == 0
    done = subprocess.run([node, script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0] == "violated: WeakIsr in 8 steps"
    assert done.stdout.splitlines()[1].startswith("9 levels, 1,133 generated, ")
    steps = [line.split(". ")[1] for line in done.stdout.splitlines()[3:]]
    view = acked("export", "truncate-to-hw", "--to", "csv", "--quiet").stdout.splitlines()[2:]
    assert len(steps) == len(view) == 8
    assert [step in line for step, line in zip(steps, view, strict=True)] == [True] * 8


@pytest.mark.slow
def test_the_constants_of_a_script_are_those_that_were_asked(node: str, tmp_path: Path) -> None:
    script = tmp_path / "small.js"
    few = ("-c", "replicas=2", "-c", "log_size=1", "-c", "max_records=1", "-c", "max_leader_epoch=1")
    assert acked("export", "kip320", "--to", "wasm", *few, "-o", script).returncode == 0
    done = subprocess.run([node, script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0] == "holds: every reachable state was seen (277 distinct states)"


def test_the_search_of_a_trace_is_refused() -> None:
    assert_one_sentence(acked("export", "lost.json", "--to", "wasm"), 151, "lost.json is a trace", "name the spec")


@pytest.mark.slow
def test_what_needs_the_graph_of_all_states_is_refused() -> None:
    spec = SPECS / "liveness" / "isr-full-again.toml"
    done = acked("export", spec, "--to", "wasm")
    assert_one_sentence(done, 151, "needs the graph of all states and steps", "leave it out, or ask `acked check`")
