"""Random traces that can be played: real brokers do what the model says at every step."""

from __future__ import annotations

import pytest

from acked.checker.question.question import Question
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.playable import refusal
from tests.cluster.conftest import real_plan
from tests.cluster.playing.runs import ON_KRAFT, question
from tests.cluster.replicating.walks import play_walks, walk
from tools.real_random import question as default_question


def asked_of(version: str, plane: str | None) -> Question:
    return question(
        version, plane, log_size=2, records=2, leadership_moves=True, crashes="lossy", min_insync_replicas=2
    )  # fmt: skip


@pytest.mark.slow
def test_a_random_trace_of_playable_steps_is_refused_by_no_clause() -> None:
    asked = asked_of("4.1", None)
    assert [refusal(asked, walk(asked, Mode.KRAFT, seed), ON_KRAFT) for seed in range(3)] == [None] * 3


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("version", ["4.1.0", "3.9.1", "4.3.1"])
def test_a_leader_asks_for_a_follower_that_was_restarted_twice(version: str, users_cache: None) -> None:
    """Step 18 of seed 102 parted where the leader had not heard of the second registration."""
    real_plan(version, {})
    [one] = play_walks(default_question(version), Brokers(version, Mode.KRAFT), [102])
    assert one.labels[-1] == "AskToExpand(leader=2, follower=0)"
    assert one.played is not None
    assert one.played.parted is None, one.reason


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(("version", "rules", "plane"), [("4.1.0", "4.1", None), ("3.9.1", "3.9", "kraft")])
def test_random_traces_are_played_without_parting(version: str, rules: str, plane: str | None, users_cache: None) -> None:
    real_plan(version, {})
    for one in play_walks(asked_of(rules, plane), Brokers(version, Mode.KRAFT), range(3)):
        assert one.played is None or one.played.parted is None, (one.reason, one.labels)
