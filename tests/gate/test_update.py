"""What was measured is written into the [expect] of the spec that was measured, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.batch.outcome import Outcome
from acked.checker.gate.update import updated_text
from acked.checker.search.local import search
from acked.checker.spec.variants import file_and_variant
from tests.places import CHECKOUT
from tools.pin_specs import PINS


def updated(name: str, *changes: tuple[str, str], adds: tuple[str, ...] = ()) -> tuple[str, str]:
    """The text of a spec's file, and what a measurement makes of it after it was changed."""
    spec = load_spec(name)
    assert spec.path is not None
    text = changed = file_and_variant(spec.path)[0].read_text("utf-8")
    for old, new in changes:
        assert changed.count(old) == 1, old
        changed = changed.replace(old, new)
    outcome = Outcome.of(search(spec.question(), Bounds(1, 1 << 28), spec.policy))
    return text, updated_text(changed, spec, outcome, accept_violations=False, adds=adds)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("kip841-bug", [("distinct_states = 322", "distinct_states = 1")]),
        ("kip841-fix", [("distinct_states = 5216", "distinct_states = 1")]),
        ("kip841-latest", [("distinct_states = 5336", "distinct_states = 1")]),
        ("leader-again-bounded", [("distinct_states = 4089", "distinct_states = 1")]),
    ],
)
def test_a_pin_is_corrected_where_it_stands(name: str, changes: list[tuple[str, str]]) -> None:
    before, after = updated(name, *changes)
    assert after == before


def test_missing_pins_are_added_to_the_variant_that_was_measured() -> None:
    before, after = updated("kip841-bug", ("trace_length = 6\ndistinct_states = 322\n", ""), adds=PINS)
    assert after == before


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "name", "message"), [
    ("pin_specs.py", "none.toml", "none.toml"),
    ("made.py", "docs/none.md", "none.md is made; name pages with"),
])  # fmt: skip
def test_a_tool_that_is_given_another_file_says_so_in_a_sentence(tool: str, name: str, message: str) -> None:
    command = [sys.executable, f"tools/{tool}", name]
    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
