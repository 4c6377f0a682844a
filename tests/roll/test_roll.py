"""Each verdict was worked out by hand; its test's name says how."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.audit.clusters.live import (
    NOT_RUNNING,
    LiveBroker,
    LiveCluster,
    LivePartition,
    LiveTopic,
    LiveValue,
    Quorum,
)
from acked.audit.commands.options import ClusterFacts
from acked.cli import main
from acked.roll.decision.judge import named
from acked.roll.partitions.described import partitions_in
from acked.roll.questions.ask import Answer, Asker, Stop
from acked.roll.questions.start import Role, Shape
from tests.roll.asking import answer, rules, shape

DATA = Path(__file__).resolve().parents[1] / "data" / "roll"


@pytest.fixture(scope="module")
def asker() -> Asker:
    """What is asked once need not be asked again by another test."""
    return Asker()


def kinds(found: Answer) -> list[str]:
    assert not found.open_
    return [failing.value for failing in found.by]


# -- what one partition loses ------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("stop", Stop)
@pytest.mark.parametrize("version", ["3.9", "4.1"])
def test_of_three_in_sync_any_may_go_because_two_hold_all_and_one_more_failure_leaves_one(
    asker: Asker, version: str, stop: Stop
) -> None:
    for place in (0, 1):
        assert kinds(answer(asker, rules(version, 2), shape("LII", place), stop)) == []


@pytest.mark.slow
def test_of_two_in_sync_the_other_alone_remains_and_its_machine_takes_what_it_had_not_flushed(asker: Asker) -> None:
    found = answer(asker, rules("3.9", 2), shape("LIU", 0))
    assert kinds(found) == ["machine", "disk"], "its process keeps its log"
    assert found.worst is not None
    assert [step for step in found.worst.steps if "machine" in step] == [
        "broker 1 loses its machine; record 0 had not been flushed and is gone"
    ]


@pytest.mark.slow
def test_with_eligible_leaders_a_clean_stop_is_better_than_a_crash_because_the_controller_waits_for_who_left_cleanly(
    asker: Asker,
) -> None:
    """Stopped cleanly it stays eligible, and the machine that dies is not; only its own disk is then needed (KIP-966)."""
    assert kinds(answer(asker, rules("4.1", 2), shape("LIU", 0), Stop.CLEANLY)) == ["disk"]
    assert kinds(answer(asker, rules("4.1", 2), shape("LIU", 0), Stop.BY_KILL)) == ["machine", "disk"]


@pytest.mark.slow
def test_the_last_in_sync_replica_with_unclean_elections_loses_at_once_because_one_that_lacks_records_is_elected(
    asker: Asker,
) -> None:
    found = answer(asker, rules("3.9", 2, unclean=True), shape("LUU", 0))
    assert kinds(found) == ["nothing"]
    assert found.worst is not None
    assert "uncleanly" in found.worst.steps[1]
    assert kinds(answer(asker, rules("3.9", 2), shape("LUU", 0))) == ["machine", "disk"], "without them it is waited for"


@pytest.mark.slow
def test_with_unclean_elections_two_in_sync_are_too_few_even_for_a_process_because_the_third_is_elected(asker: Asker) -> None:
    assert kinds(answer(asker, rules("3.9", 1, unclean=True), shape("LIU", 1))) == ["process", "machine", "disk"]


@pytest.mark.slow
def test_a_broker_that_is_out_of_the_isr_may_go_where_two_others_hold_all(asker: Asker) -> None:
    assert kinds(answer(asker, rules("3.9", 2), shape("LIU", 2))) == []


@pytest.mark.slow
def test_nobody_has_a_single_replica_after_its_disk(asker: Asker) -> None:
    assert kinds(answer(asker, rules("4.1", 1), shape("L", 0))) == ["machine", "disk"]
    flushing = rules("4.1", 1, crashes=1)
    assert kinds(answer(asker, flushing, shape("L", 0))) == ["disk"], "flush.messages=1: a machine takes nothing"


@pytest.mark.slow
def test_a_move_under_way_counts_the_new_replica_only_once_it_is_in_sync(asker: Asker) -> None:
    """Replicas 0, 1, 2 become 1, 2, 3: of the four who have a part 3 holds nothing, and 0 is to be removed."""
    three = [Role(leads=True, in_sync=True, removing=True), Role(in_sync=True, is_asked=True), Role(in_sync=True)]
    moving = Shape((*three, Role(adding=True)))
    assert kinds(answer(asker, rules("4.1", 2), moving)) == []
    short = Shape((*three[:2], replace(three[2], in_sync=False), Role(adding=True)))
    assert "disk" in kinds(answer(asker, rules("4.1", 2), short))


# -- what was described -----------------------------------------------------------------------------------------------------

Roll = Callable[..., tuple[int, str]]


@pytest.fixture
def roll(capsys: pytest.CaptureFixture[str]) -> Roll:
    def run(*words: str) -> tuple[int, str]:
        code = main(["roll", "-q", *words])
        return code, capsys.readouterr().out

    return run


def described(release: str, name: str) -> tuple[str, ...]:
    """What kafka-topics of the release described, and kafka-metadata-quorum of 4.3."""
    return str(DATA / release / f"{name}.txt"), "--kafka-version", release, "--quorum", str(DATA / "4.3" / "quorum.txt")


def refusing(told: dict[str, Any]) -> dict[int, set[str]]:
    """The topics that would refuse writes, by broker."""
    return {
        one["broker"]: {place["topic"] for case in one["cases"] if case["refuses_writes"] for place in case["partitions"]}
        for one in told["brokers"]
    }


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.9", "4.3"])
def test_with_all_in_sync_the_single_replica_the_pair_and_min_isr_3_are_red_by_settings_alone(
    roll: Roll, release: str
) -> None:
    """`single` is on 1, `pair` (min.insync.replicas 2) on 0 and 2, `strict` (3 of 3) on all; `orders` bears one less."""
    code, text = roll(*described(release, "full"), "--format", "json")
    told = json.loads(text)
    assert (code, told["verdict"], told["order"]) == (12, "may-not", [])
    assert refusing(told) == {0: {"pair", "strict"}, 1: {"single", "strict"}, 2: {"pair", "strict"}}
    cases = [case for one in told["brokers"] for case in one["cases"]]
    assert all(case["refuses_by_settings"] for case in cases if case["verdict"] == "may-not")
    _, text = roll(*described(release, "full"))
    assert "--accept-settings leaves it out" in " ".join(text.split())
    code, text = roll(*described(release, "full"), "--accept-settings")
    assert code == 0
    assert "--accept-settings" not in text
    assert text.splitlines()[-1] == "Go down now? may: 0, 1, 2."
    assert "Order: 1, then 2, then 0" in text, "0 leads three partitions, the others two"


def without_2(text: str) -> str:
    """The description once broker 2 has left every ISR, and 0 leads in its place."""
    return re.sub(r"Isr: ([\d,]+)", lambda isr: "Isr: " + ",".join(sorted({*isr[1].split(",")} - {"2"})), text).replace(
        "Leader: 2", "Leader: 0"
    )


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.9", "4.3"])
def test_with_broker_2_down_neither_of_the_others_may_go_because_orders_would_have_one_in_sync(
    roll: Roll, release: str, tmp_path: Path
) -> None:
    """Of 4.3.1 as it was described; of 3.9.1 what was described with all in sync, without broker 2."""
    file, *others = described(release, "one-down")
    if release == "3.9":
        file = str(tmp_path / "topics.txt")
        (tmp_path / "topics.txt").write_text(without_2((DATA / release / "full.txt").read_text("utf-8")), "utf-8")
    code, text = roll(file, *others, "--format", "json", "--accept-settings")
    told = json.loads(text)
    assert code == 12
    assert [one["broker"] for one in told["brokers"]] == [0, 1], "2 is in no ISR"
    assert "orders" in refusing(told)[0] & refusing(told)[1]
    assert [[wait["broker"] for wait in one["waits_for"]] for one in told["brokers"]] == [[2], [2]]
    [loose] = [case for case in told["brokers"][0]["cases"] if case["partitions"] == [{"topic": "loose", "partition": 0}]]
    assert loose["loss"]["clean"]["takes"] == "process", "unclean elections: 2 comes back and leads without the records"
    assert not loose["refuses_writes"]
    _, text = roll(file, *others, "--accept-settings")
    told_apart = "acknowledged records would be lost of 1 partition (loose-0) if one more process dies, of "
    assert told_apart in " ".join(text.split())


@pytest.mark.slow
def test_with_two_down_the_last_in_sync_replica_loses_the_topic_with_unclean_elections_at_once(roll: Roll) -> None:
    code, text = roll(*described("4.3", "two-down"))
    assert code == 12
    assert "(loose-0) with nothing more failing" in " ".join(text.split())
    assert text.splitlines()[-1] == "Go down now? may not: 0."
    _, whole = roll(*described("4.3", "two-down"), "--full")
    assert "the controller elects another, uncleanly: broker" in " ".join(whole.split())


@pytest.mark.slow
def test_an_answer_has_25_lines_at_most_and_everything_in_full(roll: Roll, tmp_path: Path) -> None:
    topics = []
    for at in range(40):
        topics += [f"Topic: t{at}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2",
                   f"\tTopic: t{at}\tPartition: 0\tLeader: {at % 8 + 1}\tReplicas: {at % 8 + 1},{(at + 1) % 8 + 1},9\tIsr: "
                   f"{at % 8 + 1},{(at + 1) % 8 + 1}\tElr: \tLastKnownElr: "]  # fmt: skip
    (tmp_path / "topics.txt").write_text("\n".join(topics), "utf-8")
    words = (str(tmp_path / "topics.txt"), "--kafka-version", "4.3", "--quorum", "none")
    code, text = roll(*words)
    assert code == 12
    assert len(text.splitlines()) <= 25
    assert text.splitlines()[-1] == "Go down now? may not: 1, 2, 3, 4, 5, 6, 7, 8."
    _, whole = roll(*words, "--full")
    assert all(f"t{at}-0" in whole for at in range(40))


# -- never green because something was not read -----------------------------------------------------------------------------

GOOD = (
    "Topic: orders\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: \n"
)

MUTATIONS = {
    "no ISR": ("\tIsr: 1,2,3", "", 152),
    "an ISR that is not known": ("Isr: 1,2,3", "Isr: N/A", 152),
    "a typo in the column of the ISR": ("Isr:", "Irs:", 150),
    "no min.insync.replicas": ("Configs: min.insync.replicas=2", "Configs: ", 152),
    "another setting in its place": ("min.insync.replicas=2", "segment.bytes=1024", 152),
    "no heading": (GOOD.splitlines()[0] + "\n", "", 150),
    "a partition that is counted and not described": ("PartitionCount: 1", "PartitionCount: 2", 150),
    "no partition": (GOOD.splitlines()[1], "", 150),
    "no leader in the line": ("\tLeader: 1", "", 150),
    "a leader that is not in sync": ("Leader: 1", "Leader: 4", 152),
    "a member of the ISR that is no replica": ("Isr: 1,2,3", "Isr: 1,2,4", 152),
    "a broker twice": ("Replicas: 1,2,3", "Replicas: 1,2,2", 152),
    "a line that was cut off": ("1,2,3\tElr: \tLastKnownElr: \n", "1,2,", 150),
    "too many replicas": ("Replicas: 1,2,3", "Replicas: 1,2,3,4,5,6", 152),
    "eligible leaders that were not read while the ISR is short": (
        "Isr: 1,2,3\tElr: \tLastKnownElr: ", "Isr: 1\tElr: N/A\tLastKnownElr: N/A", 12
    ),
}  # fmt: skip


@pytest.mark.slow
def test_what_is_good_is_good_and_every_mutation_of_it_is_not(roll: Roll, tmp_path: Path) -> None:
    file = tmp_path / "topics.txt"
    for old, new, expected in (("", "", 0), *MUTATIONS.values()):
        assert old in GOOD
        file.write_text(GOOD.replace(old, new) if old else GOOD, "utf-8")
        code, _ = roll(str(file), "--kafka-version", "4.3", "--quorum", "none")
        assert code == expected, (old, new)


@pytest.mark.slow
def test_controllers_that_nobody_counted_leave_it_undecided_and_a_majority_has_to_stay(roll: Roll, tmp_path: Path) -> None:
    file, quorum = tmp_path / "topics.txt", tmp_path / "quorum.txt"
    file.write_text(GOOD, "utf-8")
    assert roll(str(file), "--kafka-version", "4.3")[0] == 152
    assert roll(str(file), "--kafka-version", "3.9", "--control-plane", "zookeeper")[0] == 0
    for voters, expected in (("[1,2,3]", 0), ("[1,2]", 12), ("[7]", 0), ("[1]", 12)):
        quorum.write_text(f"LeaderId:  1\nCurrentVoters:  {voters}\n", "utf-8")
        code, text = roll(str(file), "--kafka-version", "4.3", "--quorum", str(quorum), "--broker", "1")
        assert code == expected, voters
    assert "the controllers lose their majority" in " ".join(text.split())


def test_usage_is_refused_with_151_in_one_sentence(roll: Roll, tmp_path: Path) -> None:
    file = tmp_path / "topics.txt"
    file.write_text(GOOD, "utf-8")
    assert roll()[0] == 151
    assert roll(str(file), "--quorum", "none")[0] == 151, "no release"
    assert roll(str(file), "--kafka-version", "4.3", "--quorum", "none", "--broker", "9")[0] == 151
    assert roll(str(file), str(file), "--kafka-version", "4.3")[0] == 150, "a partition that is described twice"


@pytest.mark.slow
def test_a_plan_is_asked_about_as_if_it_had_begun_and_says_what_acks_1_loses_by_it(roll: Roll, tmp_path: Path) -> None:
    file, plan = tmp_path / "topics.txt", tmp_path / "plan.json"
    file.write_text(GOOD, "utf-8")
    wanted = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3, 4]}]}
    plan.write_text(json.dumps(wanted), "utf-8")
    words = (str(file), "--kafka-version", "4.3", "--quorum", "none", "--plan", str(plan), "--broker", "2", "--stop", "clean")
    code, text = roll(*words)
    assert code == 0
    assert "Producers with acks=1 lose acknowledged records by the planned move of orders-0" in " ".join(text.split())
    assert "KAFKA-20554" in text
    wanted["partitions"][0]["topic"] = "order"  # type: ignore[index]
    plan.write_text(json.dumps(wanted), "utf-8")
    assert roll(*words)[0] == 151


def live(**changes: Any) -> LiveCluster:
    """Three brokers of 4.3 with KRaft, and a topic whose replicas are all in sync."""
    values = (LiveValue("min.insync.replicas", "2", "static"), LiveValue("process.roles", "broker,controller", "static"))
    brokers = tuple(LiveBroker(number, None, values, newest_level=30) for number in (1, 2, 3))
    partition = LivePartition(0, (1, 2, 3), (1, 2, 3), leader=1)
    topics = (LiveTopic("orders", (partition,), ()),)
    features = {"metadata.version": 30, "eligible.leader.replicas.version": 1}
    known = LiveCluster("kafka:9092", brokers, topics, features, Quorum(1, (1, 2, 3), (1, 2, 3)), are_moves_known=True)
    return replace(known, **changes)


@pytest.mark.slow
def test_a_running_cluster_is_green_only_if_moves_partitions_and_controllers_were_answered(
    roll: Roll, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = live()
    [topic], [_, *others] = good.topics, good.brokers
    (partition,) = topic.partitions
    down = LiveBroker(1, failure=NOT_RUNNING)
    without_1 = replace(topic, partitions=(replace(partition, isr=(2, 3), leader=2),))
    cases = {
        "good": (good, 0),
        "moves that were not told": (live(are_moves_known=False), 152),
        "no quorum told": (live(quorum=None), 152),
        "one controller that lags": (live(quorum=Quorum(1, (1, 2, 3), (1, 2))), 12),
        "a topic without partitions": (live(topics=(topic, LiveTopic("hidden", (), None, "not allowed"))), 152),
        "a topic whose settings are hidden": (live(topics=(replace(topic, values=None, failure="not allowed"),)), 152),
        "a broker that is down": (live(brokers=(down, *others), topics=(without_1,)), 12),
        "eligible leaders that were not told": (
            live(topics=(replace(topic, partitions=(replace(partition, isr=(1,)),)),)), 12
        ),
    }  # fmt: skip
    for what, (cluster, expected) in cases.items():
        monkeypatch.setattr(ClusterFacts, "ask", lambda *_, found=cluster, **__: found)
        assert roll("--bootstrap-server", "kafka:9092")[0] == expected, what


@pytest.mark.slow
def test_a_topic_of_which_one_partition_is_moved_is_decided_though_its_partitions_have_other_numbers_of_replicas(
    roll: Roll, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = live()
    [topic], own = good.topics, good.brokers[0]
    moved = replace(topic.partitions[0], number=1, replicas=(1, 2, 3, 4), adding=(4,), removing=(1,))
    both = replace(topic, partitions=(*topic.partitions, moved))
    cluster = live(topics=(both,), brokers=(*good.brokers, replace(own, number=4)))
    monkeypatch.setattr(ClusterFacts, "ask", lambda *_, **__: cluster)
    assert roll("--bootstrap-server", "kafka:9092", "--broker", "2", "--stop", "clean")[0] == 0


def test_columns_are_found_whatever_their_order(tmp_path: Path) -> None:
    moving = GOOD.replace("\tElr: \tLastKnownElr: ", "\tAdding Replicas: 3\tRemoving Replicas: 1\tElr: \tLastKnownElr: 2")
    [one] = partitions_in("topics.txt", moving)
    assert (one.adding, one.removing, one.eligible, one.led_last, one.leader) == ((3,), (1,), (), (2,), 1)
    [one] = partitions_in("topics.txt", GOOD.replace("Leader: 1", "Leader: none").replace("\tElr: \tLastKnownElr: ", ""))
    assert (one.leader, one.eligible) == (None, None)


def test_a_story_has_the_brokers_own_numbers() -> None:
    told = "the controller elects broker 1 as leader in epoch 1, ISR {0, 1}; record 0 and brokers 0 and 1 stay at offset 1"
    assert named(told, (7, 101)) == (
        "the controller elects broker 101 as leader in epoch 1, ISR {7, 101}; record 0 and brokers 7 and 101 stay at offset 1"
    )
