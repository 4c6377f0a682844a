"""The partition protocol: what its settings add and take away, its releases, and its actions' words."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from acked.base.release import LATEST
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance
from acked.model.partition.protocol import partition
from acked.model.partition.rules.facts import most_epochs
from acked.model.partition.rules.settings import CONSTANTS
from acked.model.partition.rules.versions import HISTORY, VERSIONS, changes_of, plane_of, planes_of
from acked.model.partition.state import ACKED, FAILED, SENT
from acked.model.ranks import MAX_RANKS
from tests.model.walking import reachable
from tests.playing import TINY, can, play, release

EVERYTHING: dict[str, Any] = {
    **TINY,
    "log_size": 2,
    "records": 2,
    "acks": "all",
    "retries": True,
    "in_flight": 2,
    "consumer": "followers",
    "offset_queries": True,
    "crashes": "lossy",
    "lossy_crashes": 1,
    "unclean_election": True,
    "unnoticed_restarts": True,
    "zombies": True,
    "leadership_moves": True,
    "epoch_cache": True,
    "producer_restarts": 1,
    "delivery_timeout": True,
    "alter_partition_settled": False,
}


def names(instance: Instance) -> set[str]:
    return {item.action.name for item in instance.actions}


def leaves(instance: Instance) -> set[str]:
    return {leaf.name for leaf in instance.schema.leaves if leaf.bits}


def walk(instance: Instance, steps: int, seed: int) -> Iterator[tuple[ActionInstance, list[int], list[int]]]:
    """The steps of a random run that starts again where it ends, and often besides: records are soon used up."""
    chance = random.Random(seed)
    start = codes = instance.schema.unpack(instance.initial[0])
    guards = Evaluator([item.guard for item in instance.actions])
    for step_number in range(steps):
        enabled = [item for item, holds in zip(instance.actions, guards(codes), strict=True) if holds]
        if not enabled or step_number % 50 == 0:
            codes = start
            continue
        # By kind first: there are many ways to crash and few to answer.
        kind = chance.choice(sorted({item.action.name for item in enabled}))
        step = chance.choice([item for item in enabled if item.action.name == kind])
        after = instance.fire(step, codes)
        yield step, codes, after
        codes = after


@pytest.mark.slow
def test_a_part_that_is_turned_off_adds_neither_fields_nor_actions() -> None:
    plain = partition.instantiate({**TINY, "crashes": "none", "acks": "1", "asynchronous_isr": False})
    assert not {"Read", "QueryLatestOffset", "Crash", "Restart", "LoseSession", "Retry", "AskToShrink"} & names(plain)
    assert not {name for name in leaves(plain) if "consumer" in name or "pending" in name or "down" in name}
    for parts, fields in (
        ({"epoch_cache": True}, "empty_epoch"),  # The latest release cuts the cache as it cuts the log.
        ({"offset_queries": True}, "consumer.epoch"),  # Nobody who was deposed goes on leading.
        ({"asynchronous_isr": False, "alter_partition_settled": False}, "unanswered"),
    ):
        assert not [name for name in leaves(partition.instantiate({**TINY, **parts})) if fields in name]
    full = partition.instantiate(EVERYTHING)
    assert {"Read", "QueryLatestOffset", "Crash", "Restart", "LoseSession", "Retry", "AskToShrink"} <= names(full)
    assert {"consumer.offset", "consumer.latest", "broker[0].pending", "broker[1].down", "lossy_left"} <= leaves(full)


@pytest.mark.slow
def test_a_decoded_state_shows_only_the_fields_that_are_there_and_is_encoded_again() -> None:
    for constants in (TINY, EVERYTHING):
        instance = partition.instantiate(constants)
        codes = instance.schema.unpack(instance.initial[0])
        state = instance.schema.decode(codes)
        assert ("consumer" in state) is (constants is EVERYTHING)
        assert instance.schema.encode(state) == codes


@pytest.mark.parametrize("version", VERSIONS)
def test_every_release_runs_on_each_of_its_control_planes(version: str) -> None:
    for plane in planes_of(version):
        instance = release(version, plane, **TINY)
        assert {"Produce", "BecomeLeader", "BecomeFollower", "FetchRecord", "ElectLeader"} <= names(instance)
        decided = changes_of(version, plane)
        assert {change.constant.name for change in HISTORY.changes if change.plane is None} <= set(decided)
        assert plane_of(instance.constants) == plane


@pytest.mark.parametrize(
    ("version", "plane", "message"),
    [
        ("9.9", None, "there is no version '9.9'"),
        ("2.1.0", None, r"did you mean 2\.0\.1\?|did you mean 2\.1\?"),
        ("4.0", "zookeeper", "does not run on control plane 'zookeeper'; it runs on kraft"),
        ("2.1", "kraft", "it runs on zookeeper"),
    ],
)
def test_a_release_that_does_not_exist_is_refused(version: str, plane: str | None, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        partition.profile(version, plane)


def test_4_4_changed_no_rule_of_4_3_and_the_fixes_that_no_release_has_are_two() -> None:
    """4.4.0 was read as bytecode beside 4.3.1; docs/abstractions.md, "Releases, one by one"."""
    profiles = (partition.profile(version, None).items() for version in ("4.3", "4.4", LATEST))
    of_4_3, of_4_4, latest = ({name: setting.value for name, setting in items} for items in profiles)
    assert of_4_4 == of_4_3
    assert {name for name in latest if latest[name] != of_4_4[name]} == {"reelection_forgets_ends", "first_sequence_checked"}


def test_rules_come_with_the_releases_that_the_facts_name() -> None:
    def rule(version: str, name: str, plane: str | None = None) -> Any:
        constant = next(item for item in CONSTANTS if item.name == name)
        return constant.show(partition.profile(version, plane)[name].value)

    assert [rule(v, "truncation") for v in ("0.10", "0.11", "2.0", "2.8")] == [
        "high watermark", "leader epoch", "floor epoch", "diverging fetch",
    ]  # fmt: skip
    assert [rule(v, "fetch_fencing") for v in ("2.0.1", "2.1", "2.4", "2.5")] == [
        "none", "new session", "new session", "leader epoch",
    ]  # fmt: skip
    assert [rule(v, "truncation_fencing") for v in ("2.0.1", "2.1", "2.5")] == [False, True, True]
    assert [rule(v, "hw_waits_for_caught_up") for v in ("0.10", "0.10.2")] == [False, True]
    assert [rule(v, "truncation_before_hw") for v in ("2.8", "3.4", "3.4.1", "3.5")] == [False, False, True, True]
    assert [rule(v, "fetched_epoch_kept") for v in ("2.8", "3.5", "3.5.1", "3.6", "3.7")] == [True, True, False, False, True]
    assert [rule(v, "first_sequence_checked") for v in ("2.4", "2.5", "4.4", LATEST)] == [False, False, False, True]
    assert [rule(v, "alter_partition_settled") for v in ("2.6", "2.7", "3.0", "3.1")] == [True, False, False, True]
    assert [rule(v, "reelection_forgets_ends") for v in ("0.8", "0.9", "4.4", LATEST)] == [True, False, False, True]
    assert [rule(v, "assignment_keeps_elr") for v in ("4.0", "4.2", "4.3", "4.4")] == [False, False, True, True]
    assert [rule(v, "reregistration_noticed", "zookeeper") for v in ("2.1", "2.2", "3.9")] == [False, True, True]
    assert [rule(v, "reregistration_noticed", "kraft") for v in ("3.3", "3.9", "4.0")] == [False, False, True]
    assert [rule(v, "isr_checks_broker_epoch", "kraft") for v in ("3.4", "3.5")] == [False, True]
    assert rule("3.9", "isr_checks_broker_epoch", "zookeeper") is False
    assert [rule(v, "strict_min_isr") for v in ("3.6", "3.7")] == [False, True]
    assert [rule(v, "eligible_leader_replicas") for v in ("4.0", "4.1")] == [False, True]
    assert [rule(v, "acks") for v in ("2.8", "3.0")] == ["1", "all"]
    assert [rule(v, "unclean_election") for v in ("0.10", "0.11")] == [True, False]
    assert [rule(v, "in_flight") for v in ("0.8", LATEST)] == [5, 5]
    assert [rule(v, "unknown_producers_accepted") for v in ("2.4", "2.5")] == [False, True]
    assert [rule(v, "answer_names_epoch") for v in ("3.9", "3.9.1", "4.0", "4.0.1")] == [False, True, False, True]
    assert [rule("3.5", "alter_bumps_epoch", plane) for plane in ("kraft", "zookeeper")] == [True, False]
    assert [rule(v, "alter_bumps_epoch") for v in ("3.2", "3.3", "3.6")] == [False, True, False]
    assert [rule(v, "fenced_stay_out", "zookeeper") for v in ("3.2", "3.3")] == [False, True]
    assert [rule(v, "epoch_cache_truncated") for v in ("2.0", "2.0.1", "2.6", "2.7")] == [True, False, False, True]
    assert [rule(v, "longer_follower_halts") for v in ("0.8", "2.0", "2.0.1", "2.1")] == [True, True, False, False]
    assert [rule(v, "client_epoch") for v in ("2.0.1", "2.1")] == [False, True]
    assert [rule(v, "five_in_flight") for v in ("0.11", "1.0")] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.10", "2.1", LATEST])
def test_every_action_says_in_a_sentence_what_it_does(version: str) -> None:
    instance = release(version, **EVERYTHING)
    told: dict[str, str] = {}
    for step, before, after in walk(instance, 1500, seed=5):
        text = instance.tell(step, before, after)
        assert text[0].islower()
        assert "None" not in text
        told.setdefault(step.action.name, text)
    assert len(told) >= 0.75 * len(names(instance)), sorted(names(instance) - set(told))


@pytest.mark.slow
@pytest.mark.parametrize(
    "version", [pytest.param("0.10", marks=pytest.mark.long), pytest.param("2.1", marks=pytest.mark.long), LATEST]
)
def test_a_clause_can_be_left_out(version: str) -> None:
    profile = {name: setting.value for name, setting in partition.profile(version, None).items()}
    constants = {**profile, **EVERYTHING}
    whole = partition.instantiate(constants)
    clauses = {(item.action.name, guard.label) for item in whole.actions for guard in item.guards}
    for clause in sorted(clauses)[:: len(clauses) // 6]:
        weaker = partition.instantiate(constants, drop=[clause])
        labels = {guard.label for item in weaker.actions if item.action.name == clause[0] for guard in item.guards}
        assert clause[1] not in labels


# -- what a step does ---------------------------------------------------------------------------------------------------


def stops(broker: int, how: str, end: int = 0) -> str:
    return f"ShutDown(broker={broker})" if how == "in order" else f"Crash(broker={broker}, log_end={end}, checkpoint=0)"


def test_a_label_that_no_step_has_is_told_with_those_of_its_action() -> None:
    instance = release("4.1", **TINY)
    with pytest.raises(AssertionError, match=r"there is no Read\(leader=0\) under .*, but none of that name"):
        play(instance, "Read(leader=0)")
    with pytest.raises(AssertionError, match=r"no Produce\(leader=0\) under .*, but Produce\(leader=0, record=0, answered="):
        can(instance, "ElectLeader(broker=1)", "Produce(leader=0)")


BOTH_DOWN = ("Crash(broker=1, log_end=0, checkpoint=0)", "Crash(broker=0, log_end=0, checkpoint=0)")


def test_a_broker_that_was_killed_is_no_eligible_leader_once_it_registers_and_one_shut_down_in_order_is() -> None:
    instance = release("4.1", **TINY, min_insync_replicas=2, acks="all", retries=False)
    assert play(instance, *BOTH_DOWN)["controller"]["elr"] == [0, 1]
    assert play(instance, *BOTH_DOWN)["controller"]["isr"] == []
    unclean, clean = (f"Restart(broker=1, is_clean={flag})" for flag in (False, True))
    assert play(instance, *BOTH_DOWN, unclean)["controller"]["elr"] == [0]
    assert play(instance, *BOTH_DOWN, clean)["controller"]["elr"] == [0, 1]
    elected = "ElectLeader(broker=1)"
    assert can(instance, elected, *BOTH_DOWN, clean)
    assert not can(instance, elected, *BOTH_DOWN, unclean)


def test_a_machine_that_died_was_not_shut_down_even_if_it_lost_nothing_where_processes_are_not_killed() -> None:
    instance = release("4.1", **TINY, min_insync_replicas=2, crashes="lossy", lossy_crashes=2, kills=False, retries=False)
    assert "Crash" in names(instance)
    for how, clean in (("in order", True), ("dies", False)):
        down = (stops(1, how), stops(0, "in order"))
        assert [can(instance, f"Restart(broker=1, is_clean={flag})", *down) for flag in (False, True)] == [not clean, clean]
    assert play(instance, stops(1, "dies"))["lossy_left"] == 1


def test_the_last_leader_is_who_led_when_the_isr_became_empty() -> None:
    instance = release("4.1", **TINY, min_insync_replicas=2, acks="all", retries=False)
    state = play(instance, *reversed(BOTH_DOWN))
    assert (state["controller"]["isr"], state["controller"]["last_leader"]) == ([], 1)
    both_unclean = ("Restart(broker=0, is_clean=False)", "Restart(broker=1, is_clean=False)")
    assert [can(instance, f"ElectLeader(broker={r})", *reversed(BOTH_DOWN), *both_unclean) for r in (0, 1)] == [False, True]


@pytest.mark.slow
def test_an_unclean_election_clears_the_eligible_leaders() -> None:
    instance = release("4.1", **{**TINY, "replicas": 3}, min_insync_replicas=3, unclean_election=True, retries=False)
    down = tuple(f"Crash(broker={r}, log_end=0, checkpoint=0)" for r in (2, 1, 0))
    state = play(instance, *down, "Restart(broker=2, is_clean=False)", "ElectUncleanly(broker=2)")
    assert (state["controller"]["isr"], state["controller"]["elr"]) == ([2], [])


@pytest.mark.parametrize("acks", ["1", "all"])
def test_an_answer_that_is_due_with_the_append_may_be_lost(acks: str) -> None:
    instance = release("4.1", **TINY, acks=acks, retries=False, caught_up_stay=False)
    leave: tuple[str, ...] = ("AskToShrink(leader=0, followers=[1])", "CommitAlterPartition(leader=0)", "LearnIsr(leader=0)")
    if acks == "1":
        leave = ()
    state = play(instance, *leave, "Produce(leader=0, record=0, answered=False)")
    assert [record["id"] for record in state["log"][0]["records"]] == [0]
    assert state["producer"]["status"] == [FAILED]
    assert play(instance, *leave, "Produce(leader=0, record=0, answered=True)")["producer"]["status"] == [ACKED]


@pytest.mark.slow
def test_a_refused_record_is_given_up_without_retries_and_the_next_one_is_sent() -> None:
    instance = release("4.1", **{**TINY, "records": 2}, acks="all", retries=False, in_flight=1)
    assert not can(instance, "Produce(leader=0, record=1, answered=True)")
    state = play(instance, "GiveUp(record=0)", "Produce(leader=0, record=1, answered=True)")
    assert state["producer"]["status"] == [FAILED, SENT]
    patient = release("4.1", **{**TINY, "records": 2}, acks="all", retries=True)
    assert "GiveUp" not in names(patient)


def says(instance: Instance, label: str, *before: str) -> str:
    """The sentence about a step after others."""
    codes = instance.schema.encode(play(instance, *before))
    step = next(item for item in instance.actions if item.label == label)
    return instance.tell(step, codes, instance.fire(step, codes))


@pytest.mark.slow
def test_a_step_in_which_producers_are_answered_says_how_and_one_that_leaves_them_alone_says_so_too() -> None:
    sent = ("Produce(leader=0, record=0, answered=True)", "FetchRecord(follower=1, leader=0)")
    instance = release("4.1", **TINY, acks="all", retries=False, min_insync_replicas=2, strict_min_isr=False)
    taken = says(instance, "FetchNothingNew(follower=1, leader=0)", *sent)
    assert "raises its high watermark to 1 and acknowledges record 0 to the producer; it gets no record" in taken
    shrunk = (sent[0], "Crash(broker=1, log_end=0, checkpoint=0)")
    assert says(instance, "LearnIsr(leader=0)", *shrunk).endswith(
        "; it answers the producer of record 0 with NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    )
    assert says(instance, "Crash(broker=0, log_end=1, checkpoint=0)", sent[0]).endswith(
        "; the producer of record 0 gets no answer and reports to the application that it failed"
    )
    patient = release("4.1", **{**TINY, "records": 2, "log_size": 2}, acks="all", retries=True, in_flight=2)
    assert says(patient, sent[0], "Produce(leader=0, record=1, answered=True)").startswith(
        "the producer sends record 0 again, whose first request failed, to broker 0"
    )
    assert says(patient, "Produce(leader=0, record=1, answered=True)").startswith(
        "the request with record 0 fails; the one behind it brings record 1 to broker 0"
    )
    assert says(patient, "Retry(leader=0, record=0, answered=True)", sent[0]).startswith(
        "the producer has no answer for record 0 in time, and sends it again"
    )


def test_a_leader_asks_only_for_followers_that_can_fetch_in_its_epoch() -> None:
    instance = release("3.4", **TINY, acks="1", retries=False)
    back = ("Crash(broker=1, log_end=0, checkpoint=0)", "BecomeLeader(leader=0)", "Restart(broker=1, is_clean=True)")
    assert not can(instance, "AskToExpand(leader=0, follower=1)", *back)
    back = (*back, "BecomeFollower(follower=1, leader=0)")
    assert not can(instance, "AskToExpand(leader=0, follower=1)", *back)
    assert can(instance, "AskToExpand(leader=0, follower=1)", *back, "FetchNothingNew(follower=1, leader=0)")


WITHOUT_WRITES = (
    "MoveLeadership(broker=1)", "BecomeLeader(leader=1)", "MoveLeadership(broker=0)",
    "Produce(leader=1, record=0, answered=True)", "Produce(leader=0, record=1, answered=True)",
    "BecomeLeader(leader=0)", "MoveLeadership(broker=1)", "BecomeLeader(leader=1)", "BecomeFollower(follower=0, leader=1)",
)  # fmt: skip
"""Broker 0 led in its last epoch and wrote nothing; the leader has a record of an epoch that broker 0 has none of."""


@pytest.mark.slow
def test_a_truncation_that_leaves_the_epoch_cache_as_it_is_never_ends() -> None:
    settings = {"replicas": 2, "log_size": 2, "records": 2, "acks": "all", "retries": False, "leadership_moves": True}
    asks = "TruncateByEpoch(follower=0, leader=1)"
    kept = release("2.6", **settings, epoch_cache=True)
    assert play(kept, *WITHOUT_WRITES)["broker"][0]["empty_epoch"] == 2
    assert not can(kept, asks, *WITHOUT_WRITES)
    # Who leads again begins its epoch where the empty one began, which is gone then.
    again = ("MoveLeadership(broker=0)", "BecomeLeader(leader=0)")
    assert play(kept, *WITHOUT_WRITES, *again)["broker"][0]["empty_epoch"] is None
    for mended in (
        release("2.6", **settings, epoch_cache=True, epoch_cache_truncated=True),
        release("2.6", **settings),
        release("2.0", **settings, epoch_cache=True),
    ):
        assert can(mended, asks, *WITHOUT_WRITES)
        assert play(mended, *WITHOUT_WRITES, asks)["log"][0]["end"] == 0


@pytest.mark.slow
def test_a_follower_beyond_its_leaders_log_end_halts_to_2_0_where_unclean_elections_are_off() -> None:
    lost = (
        "Produce(leader=0, record=0, answered=True)", "ShrinkIsr(leader=0, followers=[1])",
        "FetchRecord(follower=1, leader=0)", "Crash(broker=0, log_end=0, checkpoint=0)",
        "Restart(broker=0, is_clean=True)", "ElectLeader(broker=0)", "BecomeLeader(leader=0)",
        "BecomeFollower(follower=1, leader=0)",
    )  # fmt: skip
    settings = {**TINY, "acks": "all", "retries": False, "crashes": "lossy", "truncation": "high watermark"}
    careful = release("2.0", **settings, unclean_election=False)
    after = play(careful, *lost, "Halt(follower=1, leader=0)")
    assert (after["broker"][1]["down"], after["log"][1]["end"], after["controller"]["isr"]) == (True, 1, [0])
    assert "FetchDiverging" not in names(careful)
    for other in (release("2.0", **settings, unclean_election=True), release("2.0.1", **settings, unclean_election=False)):
        assert "Halt" not in names(other)
    bold = release("2.0", **settings, unclean_election=True)
    assert play(bold, *lost, "FetchDiverging(follower=1, leader=0)")["log"][1]["end"] == 0


def test_a_leader_whose_answer_is_lost_asks_for_no_other_isr_until_it_leads_anew() -> None:
    instance = release("2.7", **TINY, acks="1", retries=False, caught_up_stay=False, alter_partition_settled=False)
    asked = ("AskToShrink(leader=0, followers=[1])", "CommitAlterPartition(leader=0)")
    assert can(instance, "LearnIsr(leader=0)", *asked)
    lost = (*asked, "LoseAnswer(leader=0)")
    assert not can(instance, "LearnIsr(leader=0)", *lost)
    assert not can(instance, "AskToExpand(leader=0, follower=1)", *lost, "FetchNothingNew(follower=1, leader=0)")
    down = (*lost, "Crash(broker=0, log_end=0, checkpoint=0)")
    assert play(instance, *down)["broker"][0]["unanswered"] is False


@pytest.mark.parametrize(("version", "asks"), [("2.0.1", True), ("2.1", False)])
def test_a_client_that_has_seen_a_newer_leader_epoch_is_not_answered_in_an_older_one_from_2_1_on(
    version: str, asks: bool
) -> None:
    instance = release(version, **TINY, acks="1", retries=False, offset_queries=True, leadership_moves=True)
    before = ("MoveLeadership(broker=1)", "BecomeLeader(leader=1)", "QueryLatestOffset(leader=1)")
    assert can(instance, "QueryLatestOffset(leader=0)", *before[:2])
    assert can(instance, "QueryLatestOffset(leader=0)", *before) is asks


@pytest.mark.slow
@pytest.mark.parametrize(("version", "taken"), [("2.4", False), ("2.5", True)])
def test_a_leader_without_producer_state_takes_any_sequence_number_from_2_5_on(version: str, taken: bool) -> None:
    instance = release(version, **{**TINY, "records": 2, "log_size": 2}, acks="all", retries=True, idempotence=True)
    assert can(instance, "Produce(leader=0, record=1, answered=True)") is taken
    assert can(instance, "Produce(leader=0, record=0, answered=True)")


@pytest.mark.slow
@pytest.mark.parametrize(("version", "taken"), [("4.4", True), (LATEST, False)])
def test_after_4_4_a_log_that_never_held_a_record_takes_sequence_number_0_first(version: str, taken: bool) -> None:
    sizes: dict[str, Any] = {"replicas": 2, "records": 3, "log_size": 3, "in_flight": 5, "producer_restarts": 1}
    instance = release(version, **sizes, acks="all", retries=True, idempotence=True)
    first, second, third = (f"Produce(leader=0, record={record}, answered=True)" for record in range(3))
    assert can(instance, second) is taken
    assert can(instance, second, first)
    # A log with records of a former producer id is not a new one.
    assert can(instance, third, first, "RestartProducer()")


@pytest.mark.slow
def test_after_4_4_a_producer_whose_records_were_lost_goes_on_under_a_new_producer_epoch() -> None:
    instance = release(
        LATEST, replicas=2, records=3, log_size=2, acks="1", retries=True, idempotence=True, crashes="lossy",
    )  # fmt: skip
    first, second, third = (f"Produce(leader=%d, record={record}, answered=True)" for record in range(3))
    lost = (first % 0, "Crash(broker=0, log_end=0, checkpoint=0)", "ElectLeader(broker=1)", "BecomeLeader(leader=1)")
    # It has an answer for the first record, so the refusal tells it that the log has lost that one.
    assert can(instance, second % 1, *lost)
    assert not can(instance, third % 1, *lost)


def test_a_producer_that_restarts_numbers_from_what_it_sends_again() -> None:
    two = {"replicas": 2, "log_size": 2, "records": 2}
    instance = release("2.4", **two, acks="all", retries=True, idempotence=True, producer_restarts=1)
    fetched = ("FetchRecord(follower=1, leader=0)", "FetchNothingNew(follower=1, leader=0)")
    sent = ("Produce(leader=0, record=0, answered=True)", *fetched)
    state = play(instance, *sent, "RestartProducer()")
    assert (state["producer"]["status"][0], state["producer"]["first"]) == (ACKED, 1)
    assert can(instance, "Produce(leader=0, record=1, answered=True)", *sent, "RestartProducer()")


@pytest.mark.slow
def test_a_smaller_isr_takes_a_new_leader_epoch_from_3_3_to_3_5_with_kraft() -> None:
    asked = ("AskToShrink(leader=0, followers=[1])", "CommitAlterPartition(leader=0)")
    for version, plane, epoch in (("3.2", None, 0), ("3.5", "kraft", 1), ("3.5", "zookeeper", 0), ("3.6", "kraft", 0)):
        instance = release(version, plane, **TINY, caught_up_stay=False, max_leader_epoch=3)
        assert play(instance, *asked)["controller"] == {
            **play(instance, *asked)["controller"], "leader_epoch": epoch, "isr": [0],
        }  # fmt: skip


def test_epochs_that_can_be_in_use_at_once_fit_the_ranks_at_every_shipped_size() -> None:
    sizes = [(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (5, 1)]
    defaults = partition.bind({})
    client = {"offset_queries": 1, "leadership_moves": 1}
    for parts in ({}, client):
        assert all(most_epochs({**defaults, **parts, "replicas": n, "log_size": size}) <= MAX_RANKS for n, size in sizes)


@pytest.mark.slow
def test_more_epochs_than_there_are_ranks_are_refused_unless_elections_are_bounded() -> None:
    with pytest.raises(ModelError, match="max_leader_epoch"):
        partition.instantiate({"replicas": 5, "log_size": 3})
    assert partition.instantiate({"replicas": 5, "log_size": 3, "max_leader_epoch": 2}).actions


def plain_epochs(instance: Instance, codes: list[int]) -> tuple[Any, ...]:
    """A state with its leader epochs by rank, whatever they are."""
    state = instance.schema.decode(codes)
    used = {state["controller"]["leader_epoch"]}
    used |= {broker["leader_epoch"] for broker in state["broker"]} - {None}
    used |= {record["epoch"] for log in state["log"] for record in log["records"]}
    rank = {epoch: at for at, epoch in enumerate(sorted(used))}
    state["controller"]["leader_epoch"] = rank[state["controller"]["leader_epoch"]]
    for broker in state["broker"]:
        if broker["leader_epoch"] is not None:
            broker["leader_epoch"] = rank[broker["leader_epoch"]]
    for record in itertools.chain.from_iterable(log["records"] for log in state["log"]):
        record["epoch"] = rank[record["epoch"]]
    return (repr(state),)


def with_ranks(instance: Instance) -> set[tuple[Any, ...]]:
    """Every reachable state, with epochs by rank."""
    return {plain_epochs(instance, instance.schema.unpack(words)) for words in reachable(instance)}


@pytest.mark.slow
def test_ranks_reach_what_any_number_of_elections_reaches_and_no_more() -> None:
    """With few elections some states are missing; from some bound on, the renumbered states are those of the ranks."""
    constants = {**TINY, "acks": "1"}
    ranked = with_ranks(partition.instantiate({**constants, "max_leader_epoch": 0}))
    found = [with_ranks(partition.instantiate({**constants, "max_leader_epoch": bound})) for bound in (1, 3)]
    assert all(smaller <= larger for smaller, larger in itertools.pairwise(found))
    assert found[0] < ranked
    assert found[-1] == ranked
