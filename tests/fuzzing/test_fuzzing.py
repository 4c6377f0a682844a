"""Readers of what others wrote are given what is nearly right: no error that is not foreseen, and an answer in time.

Here a few dozen inputs each, of messages more; `long`, a hundred thousand each, in processes whose memory is bounded, with
a seed of the day.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzzing.mutating import Mutator
from tests.fuzzing.readers import READERS
from tests.fuzzing.trying import try_reader
from tests.places import CHECKOUT

MANY = 100_000
ENOUGH = {"logs": 60, "disks": 100, "settings": 150, "messages": 1_000, "traces": 80, "certificates": 20}
"""Inputs that take a second or less."""


def test_every_reader_has_inputs_of_its_own() -> None:
    assert list(ENOUGH) == list(READERS)


def test_a_nonce_that_reads_like_the_rounds_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda size: "4096" * 8)
    corpus = {"challenge": b"r={},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "final": b"v=x"}
    mutator = Mutator(list(corpus.values()), seed=1)
    made = {READERS["messages"].make(corpus, mutator, tmp_path).shown[:2] for _ in range(20)}
    assert {b"r=", b"v="} <= made


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_changed_inputs_are_read_or_refused(name: str) -> None:
    tried = try_reader(READERS[name], READERS[name].corpus(), ENOUGH[name], seed=1)
    assert tried.fell == {}, tried.ended
    assert tried.inputs == ENOUGH[name]
    assert 0 < tried.ended["read"] < tried.inputs, "some are read and some refused, or the changes are none"


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_a_hundred_thousand_changed_inputs_are_read_or_refused(name: str) -> None:
    seed = str(int(time.time()) // 86_400)
    command = [sys.executable, "-m", "tests.fuzzing", name, "--inputs", str(MANY), "--seed", seed]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-3000:]}"
    assert json.loads(done.stdout)["inputs"] == MANY
