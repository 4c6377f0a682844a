"""Which runs can be played on real brokers, and why others cannot."""

from __future__ import annotations

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.cluster.playing.protocol import restore_actions, without_steps
from acked.cluster.playing.script import NotPlayable
from acked.cluster.playing.setting import Brokers
from acked.cluster.replicating.driver import ACTIONS
from acked.cluster.replicating.playable import NOT_PLAYED, playable, refusal
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.replicating.script import is_timed, script_of
from acked.model.partition.protocol import partition
from acked.reports.shell.specs import find_spec
from tests.cluster.playing.runs import ON_KRAFT, ON_ZOOKEEPER, question, run

SENT = "Produce(leader=0, record=0, answered=True)"


def test_every_action_has_a_driver_step_or_a_reason_why_it_has_none() -> None:
    names = {action.name for action in partition.actions}
    strange = (ACTIONS | NOT_PLAYED.keys()) - names
    assert strange == set(), "take it out of driver.py or playable.py, or rename it as its action"
    assert names == ACTIONS | NOT_PLAYED.keys()
    both = ACTIONS & NOT_PLAYED.keys()
    assert both == set(), "it has a step in driver.py, so take its reason out of playable.py"


def test_an_action_of_which_the_driver_knows_nothing_is_not_played_and_says_so() -> None:
    names = [action.name for action in partition.actions]
    reasons = without_steps(partition, names[2:], {names[0]: "it is a race"})
    assert reasons == {names[0]: "it is a race", names[1]: "the driver has no step for it"}


@pytest.mark.slow
def test_the_shortest_playable_run_is_a_run_of_the_question_itself() -> None:
    asked = question("2.1", replicas=2, acks="1")
    found = search(playable(asked, ON_ZOOKEEPER)).violations[0].run
    again = run(asked, [step.label for step in restore_actions(asked, found).actions])
    assert again.states == found.states
    assert refusal(asked, again, ON_ZOOKEEPER) is None


@pytest.mark.slow
def test_what_is_left_out_of_the_search_is_named_with_its_reason() -> None:
    assert "replica.lag.time.max.ms" in REPLICATION.left_out(question("3.9", "kraft"))["AskToShrink"]
    assert "AskToShrink" not in REPLICATION.left_out(question("2.1"))


@pytest.mark.parametrize(
    ("labels", "index", "reason"),
    [
        (["AskToShrink(leader=0, followers=[1])"], 1, "all at once that are too slow"),
        (["Crash(broker=0, log_end=0, checkpoint=0)", "Restart(broker=0, is_clean=True)"], 2, "elects one at once"),
        (
            ["Crash(broker=1, log_end=0, checkpoint=0)", "LearnIsr(leader=0)", "Restart(broker=1, is_clean=True)", SENT],
            4,
            "hears at once who leads",
        ),
        ([SENT, "FetchAtOnce(follower=1, leader=0, end=1)", "FetchAtOnce(follower=1, leader=0, end=1)"], 3, "brings one"),
    ],
)
def test_a_run_that_cannot_be_played_is_refused_with_the_step_and_the_reason(
    labels: list[str], index: int, reason: str
) -> None:
    asked = question("3.9", "kraft")
    refused = refusal(asked, run(asked, labels), ON_KRAFT)
    assert refused is not None
    assert (refused.index, refused.label) == (index, labels[index - 1])
    assert reason in refused.reason
    with pytest.raises(NotPlayable, match=f"step {index} of {len(labels)}"):
        script_of(asked, run(asked, labels), ON_KRAFT)


@pytest.mark.slow
def test_who_lags_is_removed_by_the_clock_and_only_if_nothing_else_breaks_the_promise() -> None:
    asked = question("3.9", "kraft")
    labels = [SENT, "FetchAtOnce(follower=1, leader=0, end=1)", "FetchNothingNew(follower=1, leader=0)",
              "AskToShrink(leader=0, followers=[2])"]  # fmt: skip
    assert refusal(asked, run(asked, labels), ON_KRAFT) is None
    assert is_timed(script_of(asked, run(asked, labels), ON_KRAFT))
    assert not is_timed(script_of(asked, run(asked, labels[:3]), ON_KRAFT))
    names = {step.action.name for step in playable(asked, ON_KRAFT).instance.actions}
    timed = {step.action.name for step in playable(asked, ON_KRAFT, is_timed=True).instance.actions}
    assert timed - names == {"AskToShrink"}


@pytest.mark.slow
def test_with_zookeeper_a_broker_may_be_back_and_hear_nothing() -> None:
    asked = question("2.1")
    labels = ["Crash(broker=1, log_end=0, checkpoint=0)", "Restart(broker=1, is_clean=True)", "BecomeLeader(leader=0)", SENT]
    assert refusal(asked, run(asked, labels), ON_ZOOKEEPER) is None


def test_a_record_that_is_there_before_the_fetch_brings_the_high_watermark_from_before() -> None:
    asked = question("3.9", "kraft")
    assert refusal(asked, run(asked, [SENT, "FetchRecord(follower=1, leader=0)"]), ON_KRAFT) is None
    asked = question("3.9", "kraft", replicas=2, log_size=2, records=2)
    labels = [SENT, "FetchAtOnce(follower=1, leader=0, end=1)", SENT.replace("record=0", "record=1")]
    refused = refusal(asked, run(asked, [*labels, "FetchRecord(follower=1, leader=0)"]), ON_KRAFT)
    assert refused is not None
    assert (refused.index, "high watermark from before" in refused.reason) == (4, True)


def test_traces_of_other_protocols_are_refused() -> None:
    asked = find_spec("kip320").question()
    with pytest.raises(ConfigurationError, match="real brokers play traces of partition"):
        playable(asked, ON_KRAFT)


@pytest.mark.slow
def test_a_partition_that_does_not_begin_on_all_brokers_is_refused() -> None:
    asked = question("2.0", reassignment=True, assigned=2)
    with pytest.raises(ConfigurationError, match="with 2 replicas on 3 brokers, and the driver gives every broker one"):
        playable(asked, ON_ZOOKEEPER)


def test_consumers_read_from_followers_since_2_4() -> None:
    asked = question("3.9", "kraft", consumer="followers", acks="1", replicas=2)
    labels = [SENT, "FetchAtOnce(follower=1, leader=0, end=1)", "FetchNothingNew(follower=1, leader=0)"]
    assert refusal(asked, run(asked, [*labels, "Read(broker=0, offset=0)"]), ON_KRAFT) is None
    found = run(asked, [*labels, "Read(broker=1, offset=0)"])
    assert refusal(asked, found, Brokers("2.4.1")) is None
    refused = refusal(asked, found, Brokers("2.1.1"))
    assert refused is not None
    assert (refused.index, refused.reason) == (4, "followers answer consumers since 2.4 (KIP-392)")


@pytest.mark.slow
def test_a_high_watermark_that_may_wait_for_a_follower_outside_the_isr_is_not_played() -> None:
    asked = question("3.9", "kraft", log_size=2, records=2)
    labels = ["FetchNothingNew(follower=1, leader=0)", "Crash(broker=1, log_end=0, checkpoint=0)", "LearnIsr(leader=0)", SENT,
              "FetchAtOnce(follower=2, leader=0, end=1)", "FetchNothingNew(follower=2, leader=0)",
              SENT.replace("record=0", "record=1"), "FetchAtOnce(follower=2, leader=0, end=2)",
              "Restart(broker=1, is_clean=True)", "BecomeFollower(follower=1, leader=0)",
              "FetchAtOnce(follower=1, leader=0, end=1)", "FetchUnanswered(follower=2, leader=0)"]  # fmt: skip
    assert refusal(asked, run(asked, labels[:-1]), ON_KRAFT) is None
    refused = refusal(asked, run(asked, labels), ON_KRAFT)
    assert refused is not None
    assert (refused.index, "the high watermark waits for a follower outside the ISR" in refused.reason) == (12, True)


@pytest.mark.slow
def test_a_leader_that_learns_its_isr_asks_for_a_follower_only_when_that_one_fetches() -> None:
    asked = question("3.9", "kraft", log_size=2, records=2)
    gone = "Crash(broker=1, log_end=0, checkpoint=0)"
    labels = [SENT, gone, "Restart(broker=1, is_clean=True)",
              "BecomeFollower(follower=1, leader=0)",
              "FetchAtOnce(follower=1, leader=0, end=1)", "LearnIsr(leader=0)",
              "AskToExpand(leader=0, follower=1)"]  # fmt: skip
    refused = refusal(asked, run(asked, labels), ON_KRAFT)
    assert refused is not None
    assert (refused.index, "asks when it is fetched from" in refused.reason) == (7, True)
    fetched = [*labels[:5], "FetchUnanswered(follower=1, leader=0)", *labels[5:]]
    assert refusal(asked, run(asked, fetched), ON_KRAFT) is None


EXPIRES, CREATES, TAKES = (
    "Expire(controller=0)", "CreateControllerNode(controller=1)", "TakeControllerEpoch(controller=1, shrinks=False)",
)  # fmt: skip
MOVES, RESIGNS = "MoveLeadershipAsController(controller=0, broker=1)", "ResignAsController(controller=0)"


@pytest.mark.slow
def test_a_move_of_leadership_by_an_old_controller_is_played() -> None:
    asked = find_spec("kafka6082-bug").question()
    found = search(playable(asked, ON_ZOOKEEPER)).violations[0].run
    labels = [step.label for step in restore_actions(asked, found).actions]
    assert labels[:5] == [EXPIRES, CREATES, TAKES, MOVES, RESIGNS]
    assert refusal(asked, run(asked, labels), ON_ZOOKEEPER) is None


@pytest.fixture(scope="module")
def contended() -> Question:
    return question("2.0", controllers="many", leadership_moves=True, crashes="clean", replicas=2, acks="1")


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([EXPIRES, SENT], "another broker becomes it at once"),
        ([EXPIRES, CREATES, RESIGNS], "another broker becomes it at once"),
        ([EXPIRES, CREATES, TAKES, MOVES, SENT], "hears at once that it is the controller no longer"),
        ([EXPIRES, CREATES, TAKES, MOVES, "BecomeLeaderAsTold(controller=0, leader=1)"], "hears at once"),
        ([EXPIRES, CREATES, TAKES, MOVES.replace("controller=0", "controller=1")], "what the first controller had begun"),
        ([MOVES], "what the first controller had begun"),
        (["Crash(broker=1, log_end=0, checkpoint=0)"], "ends no broker where there may be several controllers"),
    ],
)
def test_what_the_driver_has_not_of_several_controllers_is_refused_with_the_step(
    labels: list[str], reason: str, contended: Question
) -> None:
    refused = refusal(contended, run(contended, labels), ON_ZOOKEEPER)
    assert refused is not None
    assert (refused.index, refused.label) == (len(labels), labels[-1])
    assert reason in refused.reason


def test_several_controllers_are_refused_with_kraft(contended: Question) -> None:
    with pytest.raises(ConfigurationError, match="several controllers are there with ZooKeeper alone"):
        refusal(contended, run(contended, [EXPIRES]), ON_KRAFT)
