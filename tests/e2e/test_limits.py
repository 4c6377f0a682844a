"""Caches and limits of the machine: they cost time or memory, and change no answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.driver import COMMAND, acked, assert_one_sentence, environment


def ask(**variables: str) -> int:
    """The distinct states of a small spec, by the real command."""
    done = acked("check", "kip320-2221", "--format", "json", **variables)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return int(json.loads(done.stdout)["distinct_states"])


@pytest.mark.slow
def test_a_cache_that_is_a_file_costs_time_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    assert ask(ACKED_CACHE_DIR=str(tmp_path / "cache")) == 957


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else() -> None:
    assert ask(ACKED_CACHE_DIR="/proc/acked") == 957


@pytest.mark.slow
def test_without_a_home_the_answer_is_the_same(tmp_path: Path) -> None:
    variables = {name: value for name, value in environment().items() if name not in ("HOME", "XDG_CACHE_HOME")}
    variables.pop("ACKED_CACHE_DIR", None)
    done = subprocess.run(
        [COMMAND, "check", "kip320-2221", "--format", "json"],
        env=variables | {"HOME": str(tmp_path / "nowhere" / "\u00e9")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["distinct_states"] == 957


def damage(path: Path, kind: str) -> None:
    data = path.read_bytes()
    damaged = {
        "empty": b"",
        "truncated": data[: len(data) // 2],
        "one-bit": data[:200] + bytes([data[200] ^ 1]) + data[201:],
        "garbage": os.urandom(len(data)),
        "text": b"not an object\n",
    }[kind]
    path.write_bytes(damaged)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["empty", "truncated", "one-bit", "garbage", "text"])
def test_a_damaged_cache_gives_the_right_answer_and_is_mended(kind: str, tmp_path: Path) -> None:
    assert ask(ACKED_CACHE_DIR=str(tmp_path)) == 957
    sound = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sound
    for path in tmp_path.iterdir():
        damage(path, kind)
    assert ask(ACKED_CACHE_DIR=str(tmp_path)) == 957
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == sound


@pytest.mark.slow
def test_a_folder_in_place_of_a_cached_object_costs_time_and_nothing_else(tmp_path: Path) -> None:
    assert ask(ACKED_CACHE_DIR=str(tmp_path)) == 957
    for path in list(tmp_path.iterdir()):
        path.unlink()
        path.mkdir()
    assert ask(ACKED_CACHE_DIR=str(tmp_path)) == 957


@pytest.mark.slow
def test_a_cache_that_cannot_take_an_object_is_left_without_temporary_files(tmp_path: Path) -> None:
    assert ask(ACKED_CACHE_DIR=str(tmp_path)) == 957
    for path in list(tmp_path.iterdir()):
        path.unlink()
        path.mkdir()
    assert ask(ACKED_CACHE_DIR=str(tmp_path)) == 957
    assert all(path.is_dir() for path in tmp_path.iterdir())


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
@pytest.mark.parametrize(
    ("kilobytes", "options", "codes"),
    [(4_000_000, "--memory 500MB", {0}), (4_000_000, "", {0, 153}), (1_000_000, "", {0, 153}), (400_000, "", {0, 153})],
)
def test_limited_address_space_gives_the_answer_or_one_sentence(kilobytes: int, options: str, codes: set[int]) -> None:
    done = subprocess.run(
        ["sh", "-c", f'ulimit -v {kilobytes} && exec "{COMMAND}" check kip320-2221 --format json {options}'],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in codes, done.stderr
    if done.returncode == 0:
        assert json.loads(done.stdout)["distinct_states"] == 957
    else:
        assert_one_sentence(done, 153, "memory")
