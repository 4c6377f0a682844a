"""Coordinators on real brokers, as far as it goes without brokers: scripts, what is late, comparisons, and the answer."""

from __future__ import annotations

from functools import cache

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.cluster.commands.playable import playable_run
from acked.cluster.coordinating.driver import STEPS
from acked.cluster.coordinating.protocol import COORDINATORS, NOT_PLAYED
from acked.cluster.coordinating.script import differences, is_late, offset_of, values_of
from acked.cluster.observe.disk import Replica
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.setting import Brokers, Changed
from acked.cluster.reports.reproductions.words import presentation_of
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record
from acked.model.coordinator.protocol import coordinator
from acked.reports.shell.bundled import bundled_of

BROKERS = Brokers("4.3.0")


@cache
def prepared() -> PreparedRun:
    found, _ = playable_run("kafka20634-bug", {}, BROKERS, True)
    return COORDINATORS.prepare(found.question, found.run, BROKERS)


def test_every_action_has_a_step_or_a_reason_why_there_is_none() -> None:
    assert STEPS.keys() | NOT_PLAYED.keys() == {item.name for item in coordinator.actions}
    assert not STEPS.keys() & NOT_PLAYED.keys()


def test_a_bug_has_a_script_whose_rules_are_those_of_its_release() -> None:
    assert prepared().others == ()
    assert [rule.constant for rule in prepared().control(Changed.parse("4.3.1")).others] == ["listens_as_leader"]
    assert prepared().script.order[0] == prepared().script.steps[0].arguments["broker"]


def test_what_is_late_is_the_unloading_of_a_coordinator_that_answers_all_the_same() -> None:
    steps = prepared().script.steps
    late = [step for at, step in enumerate(steps) if is_late(steps, at)]
    [answer] = [step for step in steps if step.action == "Answer" and step.after["acked"] == 2]
    assert [(step.action, step.arguments["broker"]) for step in late] == [("Learn", answer.arguments["broker"])]
    assert late[0].index < answer.index


def test_an_unloading_that_is_late_before_4_and_a_load_that_does_not_end_are_refused_with_the_reason() -> None:
    run = prepared()
    with pytest.raises(ConfigurationError, match=r"to 3\.9 an unloading is a task of the thread that loads"):
        COORDINATORS.prepare(run.question, run.run, Brokers("3.9.1"))
    path = bundled_of("foreign-load-bug")
    assert path is not None
    question = load_spec(path).question()
    with pytest.raises(ConfigurationError, match="no step of the driver keeps a load from ending"):
        COORDINATORS.prepare(question, search(question).violations[0].run, Brokers("4.4.0"))
    with pytest.raises(ConfigurationError, match="played again on another release"):
        run.control(Changed.parse("acks=all"))


def test_a_state_is_beside_what_is_seen_in_commits_alone() -> None:
    state = prepared().script.steps[-1].after
    brokers = range(len(state["log"]))
    seen = TopicView(
        PartitionView(0, state["leader"][state["epoch"]], tuple(brokers), tuple(state["isr"])),
        tuple(
            Replica(broker, tuple(Record(at, 0, value.encode()) for at, value in enumerate(values_of(state, broker))), None,
                    len(values_of(state, broker, state["broker"][broker]["hw"])))
            for broker in brokers
        ),
        tuple(brokers),
    )  # fmt: skip
    assert differences(state, seen) == ()
    one = seen.replicas[0]
    other = TopicView(seen.partition, (Replica(0, (), None, one.high_watermark), *seen.replicas[1:]), seen.running)
    assert [found.what for found in differences(state, other)] == ["broker 0's log"]


def test_what_a_coordinator_says_is_what_it_knows_to_be_committed_and_to_3_9_all_that_it_has_read() -> None:
    records = [{"kind": "offset", "commit": 1}, {"kind": "generation", "commit": 0}, {"kind": "offset", "commit": 2}]
    for committed, offset in enumerate((0, 1, 1, 2)):
        state = {"view": [{"end": 3, "records": records}], "broker": [{"committed": committed}]}
        assert (offset_of(state, 0, True), offset_of(state, 0, False)) == (offset, 2)
    skips = {"view": state["view"], "broker": [{"committed": 3, "skipped_from": 1, "skipped_to": 3}]}
    assert offset_of(skips, 0, False) == 1
    gone = {"view": [{"end": 3, "records": [*records[:2], {"kind": "tombstone", "commit": 0}]}], "broker": [{"committed": 3}]}
    assert offset_of(gone, 0, True) == 0
    logs = {"log": [{"end": 3, "records": records}]}
    assert (values_of(logs, 0), values_of(logs, 0, 2)) == (("r1", "r2"), ("r1",))


@pytest.mark.slow
def test_each_row_has_the_settings_that_its_steps_ask_for() -> None:
    """A buffer that holds one commit, the format of an upgrade, and the shortest retention where it passes."""
    wanted = {
        "kafka5600-bug": ("0.11.0.0", {"offsets.load.buffer.size": "180"}),
        "kafka8069-bug": ("2.1.1", {"inter.broker.protocol.version": "2.0"}),
        "kafka13636-bug": ("3.1.0", {"offsets.retention.minutes": "1"}),
    }
    for spec, (version, own) in wanted.items():
        found, _ = playable_run(spec, {}, Brokers(version), True)
        settings = COORDINATORS.prepare(found.question, found.run, Brokers(version)).setting.brokers
        known = {key: value for _, of_row in wanted.values() for key, value in of_row.items() if settings.get(key) == value}
        assert known == own


def test_a_run_is_shown_with_commits_in_logs_and_what_consumers_were_told() -> None:
    run = prepared()
    shown = presentation_of(run.question)
    assert shown.played is COORDINATORS
    last = run.script.steps[-1].after
    assert shown.model_cells(last)[-1] == "1, ISR {0, 1}"
    assert shown.heads(last) == ["broker 0", "broker 1", "leader"]
