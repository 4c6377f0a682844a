"""A protocol with a trap in it is refused, in a sentence with the line; it is never taken for one that holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acked.cli import main
from acked.model.catalogue import PROTOCOLS
from acked.model.language import protocol
from tests.language import traps
from tests.language.traps import Trap


def answer(
    trap: Trap, folder: Path, capsys: pytest.CaptureFixture[str], *options: str, command: str = "check"
) -> tuple[int, str]:
    """The exit code, and everything that is said."""
    (folder / "trap.py").write_text(trap.source)
    (folder / "trap.toml").write_text(trap.spec)
    code = main([command, str(folder / "trap.toml"), "--quiet", *options])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


TRAPS = {**traps.NOT_RUN, **traps.SWALLOWED, **traps.HELD, **traps.UNSTEADY}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_refused_with_its_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trap = TRAPS[name]
    code, shown = answer(trap, tmp_path, capsys)
    assert trap.said in shown
    assert code == trap.code


@pytest.mark.parametrize("name", traps.FINE)
def test_what_only_looks_like_a_trap_is_answered(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = answer(Trap(traps.FINE[name], ""), tmp_path, capsys)
    assert code == 12, shown


@pytest.mark.parametrize("name", ["a generator", "a state that is returned", "an initial state that is returned"])
def test_nothing_is_proved_of_a_body_that_does_not_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = answer(traps.NOT_RUN[name], tmp_path, capsys, command="prove")
    assert traps.NOT_RUN[name].said in shown
    assert code == 151


def test_the_order_of_a_set_in_a_file_beside_the_protocols_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "beside.py").write_text('def first():\n    return [*{"a", "b"}][0]\n')
    source = traps.action("s.x = ord(first()) - 96  # here")
    source = source.replace("from acked import *", "from acked import *; from .beside import first")
    trap = Trap(source, "action Go (HERE): a set has no certain order")
    code, shown = answer(trap, tmp_path, capsys)
    assert trap.said in shown
    assert code == 151


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_order_of_a_set_is_refused_whatever_the_seed_of_hashes(seed: str, tmp_path: Path) -> None:
    trap = traps.UNSTEADY["the order of a set of texts"]
    (tmp_path / "trap.py").write_text(trap.source)
    (tmp_path / "trap.toml").write_text(trap.spec)
    command = [sys.executable, "-m", "acked", "check", str(tmp_path / "trap.toml"), "-q"]
    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=120)
    assert trap.said in done.stderr
    assert done.returncode == 151


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_shipped_protocol_is_the_same_when_it_is_traced_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(protocol, "is_shipped", lambda function: looked.append(function))
    asked = PROTOCOLS[name]
    small = {item.name: item.default if item.default is not None else max(item.lo, 2) for item in asked.constants}
    instance = asked.instantiate(small)
    assert {item.function for item in instance.action_rules} < {*looked}
