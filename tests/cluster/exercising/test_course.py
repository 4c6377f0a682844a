"""The course of disturbances that a seed decides, what the command refuses, and one exercise of real brokers."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from acked.cluster.exercising.course import MEANING, Kind, course
from tests.e2e.driver import acked


def test_a_seed_decides_the_course_and_another_one_decides_otherwise() -> None:
    drawn = [list(islice(course(seed, (0, 1, 2), tuple(Kind)), 200)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    counts = Counter(one.kind for one in drawn[0])
    assert set(counts) == set(Kind) == set(MEANING)
    assert {one.broker for one in drawn[0]} == {0, 1, 2}
    assert all(one.lasts >= 0 and one.pause > 0 and 0 <= one.share < 1 for one in drawn[0])


def test_only_what_is_asked_for_is_drawn_in_whatever_order_it_is_named() -> None:
    kinds = (Kind.MOVE, Kind.KILL)
    drawn = list(islice(course(5, (0, 1), kinds), 50))
    assert {one.kind for one in drawn} == set(kinds)
    assert drawn == list(islice(course(5, (1, 0), kinds[::-1]), 50))


def refused(*arguments: str | Path) -> str:
    done = acked("exercise", *arguments)
    assert done.returncode == 151
    return " ".join(done.stderr.split())


@pytest.mark.slow
def test_what_cannot_be_exercised_is_one_sentence(tmp_path: Path) -> None:
    assert "the lines of Kafka 3.2.3 with ZooKeeper are not read; choose 2.8" in refused("--kafka", "3.2.3")
    assert "is not a release that acked can start" in refused("--kafka", "9.9.9")
    assert "there is no fault 'kil' (did you mean kill?)" in refused("--kafka", "4.1.0", "--faults", "move,kil")
    (tmp_path / "old.log").write_text("x")
    assert "is not empty" in refused("--kafka", "4.1.0", "--out", tmp_path)


@pytest.mark.real
@pytest.mark.timeout(600)
def test_what_real_brokers_do_under_disturbances_is_a_behaviour_of_the_model(tmp_path: Path) -> None:
    done = acked("exercise", "--kafka", "4.1.0", "--minutes", "0.5", "--seed", "1", "--faults", "move,answer,slow,elect",
                 "--out", tmp_path / "logs", "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    again = acked("validate", tmp_path / "logs", "--topic", "exercise", "--quiet")
    assert again.returncode == 0, again.stdout + again.stderr
