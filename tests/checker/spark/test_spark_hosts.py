"""Hosts that share no folder, in namespaces of this machine, and what fails in a cluster."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.checker.spark.hosts import missing
from tests.places import CHECKOUT

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = [sys.executable, str(CHECKOUT / "tests" / "checker" / "spark" / "play_hosts.py")]


@pytest.fixture(autouse=True, scope="module")
def _namespaces() -> None:
    if reason := missing():
        pytest.skip(reason)


def ran(*arguments: str) -> str:
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.landing(
    "tests/checker/spark/test_shipping.py::test_tasks_that_do_not_see_the_run_directory_have_the_local_answer"
)
@pytest.mark.timeout(900)
def test_hosts_that_share_no_folder_have_the_local_answer() -> None:
    assert ran("answers", "truncate-to-hw-3221-strong", "--hosts", "2").count("  as locally\n") == 1


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_whatever_fails_the_answer_is_the_local_one_and_the_failure_is_told() -> None:
    """A round of everything that fails there."""
    assert ran("failures", "--rounds", "8", "--seed", "1").count("as locally") == 8
