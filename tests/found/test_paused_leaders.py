"""Stale log ends without a driver: `tools/paused_leaders.py` holds nothing back, and brokers stand still."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.conftest import real_plan, users_cache
from tests.places import CHECKOUT
from tools.paused_leaders import DEFAULTS, Course, Pauses, course

__all__ = ["users_cache"]

SESSION_SECONDS = int(DEFAULTS["broker.session.timeout.ms"]) / 1000
MANY = range(1, 200)


def stalled(asked: Course, broker: int) -> tuple[float, float]:
    """From when to when a broker stands still."""
    [found] = [(stall.begins, stall.ends) for stall in asked.stalls if stall.broker == broker]
    return found


def test_a_course_is_the_same_for_the_same_seed_and_another_in_the_next_attempt() -> None:
    assert course(1, 2, Pauses.ROLLING) == course(1, 2, Pauses.ROLLING)
    assert len({course(1, attempt, pauses) for attempt in MANY for pauses in Pauses}) == len(MANY) * len(Pauses)


def test_the_page_has_the_counts_that_were_measured_and_no_mended_broker_lost_a_record() -> None:
    rows = json.loads((CHECKOUT / "docs" / "found" / "paused_leaders.json").read_text("utf-8"))
    page = (CHECKOUT / "docs" / "found" / "stale-log-ends.md").read_text("utf-8").replace("**", "")
    measured = {
        f"{row['lossy_attempts']} of {row['attempts']} | {row['lossy_partitions']} of {row['partitions']:,} |"
        f" {row['lost']:,} of {row['acknowledged']:,} |"
        for row in rows
    }
    shown = set(re.findall(r"\| (\d+ of \d+ \| \d+ of [\d,]+ \| [\d,]+ of [\d,]+ \|)$", page, re.MULTILINE))
    assert len(shown) == 5
    assert shown <= measured
    mended = [row["lost"] for row in rows if row["mended"]]
    assert mended
    assert not any(mended)


@pytest.mark.parametrize("pauses", list(Pauses))
def test_no_broker_stands_still_for_as_long_as_its_session(pauses: Pauses) -> None:
    stalls = [stall for attempt in MANY for stall in course(1, attempt, pauses).stalls]
    assert all(0 < stall.ends - stall.begins < SESSION_SECONDS for stall in stalls)


def test_the_leader_stands_still_while_leadership_moves_away_and_back_and_the_next_one_until_it_is_elected() -> None:
    for attempt in MANY:
        asked = course(1, attempt, Pauses.ROLLING)
        (away, last), (back, first), (onward, following) = asked.moves
        assert (first, {first, last, following}) == (asked.leader, {0, 1, 2})
        begins, ends = stalled(asked, first)
        assert begins < away < back < ends <= onward < stalled(asked, following)[1]
        assert stalled(asked, last)[0] < begins < stalled(asked, last)[1] < away


@pytest.mark.real
@pytest.mark.slow
def test_brokers_that_stand_still_one_after_the_other_lose_an_acknowledged_record(users_cache: None, tmp_path: Path) -> None:
    version = "4.4.0"
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    command = [sys.executable, "tools/paused_leaders.py", "--kafka", version, "--minutes", "8", "--keep", tmp_path]
    done = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    row = json.loads(done.stdout.splitlines()[-1])
    print(row)
    assert row["lost"] > 0
    assert (tmp_path / "acknowledged.csv").is_file()
