"""`acked check --disk`: a search that goes on when memory is full, and after it was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.driver import acked
from tests.e2e.test_spark_command import LARGE, check, killed_at, same

SMALL_MEMORY = ("--memory", "2MB")


@pytest.mark.slow
def test_a_search_beyond_memory_is_killed_and_the_same_command_goes_on(tmp_path: Path) -> None:
    arguments = (*LARGE, *SMALL_MEMORY, "-w", "2", "--disk", tmp_path / "run")
    killed_at(18, tmp_path / "run", *arguments)
    on = check(*arguments)
    assert on["stored_levels"] >= 18
    assert same(on) == same(check("kip320"))
    assert any("the visited states were on disk" in note for note in on["notes"])


@pytest.mark.slow
def test_it_says_from_where_on_states_were_on_disk_and_what_meets_the_expectation(tmp_path: Path) -> None:
    done = acked("check", "kip320", *SMALL_MEMORY, "--disk", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "from level 11 on the visited states were on disk, 7 MB in all" in told
    assert told.endswith("✓ holds, as the spec expects")
    again = acked("check", "kip320", *SMALL_MEMORY, "--disk", "run", cwd=tmp_path)
    assert again.returncode == 0
    assert "26 levels, 26 of them read from the run directory" in again.stdout


@pytest.mark.slow
def test_a_small_question_needs_no_disk_beyond_its_levels(tmp_path: Path) -> None:
    done = acked("check", "truncate-to-hw", "-q", "--disk", "run", cwd=tmp_path)
    assert done.returncode == 12
    assert "on disk" not in done.stdout


@pytest.mark.slow
def test_options_that_contradict_it_are_refused(tmp_path: Path) -> None:
    for arguments, reason in (
        (["--run-dir", "a"], "leave --run-dir and --resume out"),
        (["--resume", "a"], "leave --run-dir and --resume out"),
        (["--master", "spark://HOST:7077"], "--disk is for one machine"),
        (["--engine", "spark"], "--disk is for one machine"),
    ):
        done = acked("check", "kip320", "-q", "--disk", "run", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (151, "", 1), arguments
        assert reason in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_run_of_another_question_is_refused(tmp_path: Path) -> None:
    assert acked("check", "truncate-to-hw", "-q", "--disk", "run", cwd=tmp_path).returncode == 12
    done = acked("check", "kip101", "-q", "--disk", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (151, 1)
    assert "run.json is about" in done.stderr
    buckets = acked("check", "truncate-to-hw", "-q", "--disk", "run", "--buckets", "3", cwd=tmp_path)
    assert (buckets.returncode, buckets.stderr.count("\n")) == (151, 1)
    assert "were fixed when it began" in buckets.stderr


@pytest.mark.slow
def test_a_search_whose_memory_is_full_names_the_option(tmp_path: Path) -> None:
    done = acked("check", "kip320", "-q", *SMALL_MEMORY, cwd=tmp_path)
    assert done.returncode == 152
    assert "acked check kip320 --disk DIR" in " ".join(done.stdout.split())
    stored = acked("check", "kip320", "-q", *SMALL_MEMORY, "--run-dir", "run", cwd=tmp_path)
    assert "acked check kip320 --disk run" in " ".join(stored.stdout.split())
    assert same(check("kip320", *SMALL_MEMORY, "--disk", tmp_path / "run")) == same(check("kip320"))
