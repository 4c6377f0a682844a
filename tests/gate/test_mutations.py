"""The gate itself is tried: every fault of the list turns it red, for the reason that is named.

The assertions, and that the rows in `docs/` are those measured.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gate.mutations import CHECKOUT, MUTATIONS, Mutation, attempt, copy_of_the_checkout, run_gate
from tests.sharing import made_once

TABLE = json.loads((CHECKOUT / "docs" / "gate_mutations.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that knows the sound answers, so that a mutated copy could believe it."""

    def warm_up(cache: Path) -> None:
        seen = run_gate(copy_of_the_checkout(tmp_path_factory.mktemp("sound")), cache)
        assert (seen.code, seen.document["green"]) == (0, True)
        assert [entry["departures"] for entry in seen.document["specs"]] == [[], [], [], []]

    # Each process has a copy of its own, into which its gates write, too.
    own = tmp_path_factory.mktemp("own") / "warm"
    shutil.copytree(made_once(tmp_path_factory, "warm", warm_up), own)
    return own


@pytest.mark.slow
def test_a_sound_copy_is_green_from_the_cache(warm: Path, tmp_path: Path) -> None:
    seen = run_gate(copy_of_the_checkout(tmp_path), warm)
    assert (seen.code, [entry["cached"] for entry in seen.document["specs"]]) == (0, [True] * 4)


def dealt() -> Iterator[Any]:
    """Every fault with its number; those in code that are like another are left to the long run."""
    seen = Counter[str]()
    for number, mutation in enumerate(MUTATIONS, 1):
        seen[mutation.reason] += "/" in mutation.file
        mark = pytest.mark.long if "/" in mutation.file and seen[mutation.reason] > 1 else pytest.mark.slow
        yield pytest.param(number, mutation, id=mutation.what.replace(" ", "-"), marks=mark)


@pytest.mark.parametrize(("number", "mutation"), [*dealt()])
def test_a_fault_turns_the_gate_red_for_its_reason(number: int, mutation: Mutation, warm: Path, tmp_path: Path) -> None:
    seen = attempt(mutation, tmp_path, warm)
    assert not seen.document["green"]
    assert seen.code == (150 if mutation.reason == "unreadable" else 1)
    assert mutation.reason in seen.departures(mutation.spec)
    if mutation.also is not None and mutation.also.__name__ not in ("_without_specs", "_slow"):
        assert any("it is not used" in warning for warning in seen.document["warnings"])
    assert seen.row(number, mutation) == TABLE[number - 1], "run tools/gate_mutations.py"


def test_there_are_at_least_thirty_faults_of_every_kind() -> None:
    assert len(MUTATIONS) >= 30
    assert len({mutation.what for mutation in MUTATIONS}) == len(MUTATIONS) == len(TABLE)
    reasons = {mutation.reason for mutation in MUTATIONS}
    from acked.checker.spec.expectation import Reason

    assert reasons == {reason.value for reason in Reason}
