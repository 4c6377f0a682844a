"""Coordinators on real brokers, as far as it goes without brokers: scripts, what is late, comparisons, and the answer."""

from __future__ import annotations

from functools import cache

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.cluster.commands.playable import playable_run
from acked.cluster.coordinating.driver import STEPS
from acked.cluster.coordinating.members import RETENTION_SECONDS, SETTINGS
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
from acked.reports.shell.specs import bundled_of

PLAYED = {"kafka20634-bug": "4.3.0", "kafka5600-bug": "0.11.0.0", "kafka8069-bug": "2.1.1", "kafka13636-bug": "3.1.0"}


@cache
def prepared(spec: str) -> PreparedRun:
    brokers = Brokers(PLAYED[spec])
    found, _ = playable_run(spec, {}, brokers, True)
    return COORDINATORS.prepare(found.question, found.run, brokers)


def test_every_action_has_a_step_or_a_reason_why_there_is_none() -> None:
    assert STEPS.keys() | NOT_PLAYED.keys() == {item.name for item in coordinator.actions}
    assert not STEPS.keys() & NOT_PLAYED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("spec", PLAYED)
def test_a_bug_has_a_script_whose_rules_are_those_of_its_release(spec: str) -> None:
    assert prepared(spec).others == ()
    assert prepared(spec).script.order[0] == prepared(spec).script.steps[0].arguments["broker"]


def test_what_is_late_is_the_unloading_of_a_coordinator_that_answers_all_the_same() -> None:
    steps = prepared("kafka20634-bug").script.steps
    late = [step for at, step in enumerate(steps) if is_late(steps, at)]
    [answer] = [step for step in steps if step.action == "Answer" and step.after["acked"] == 2]
    assert [(step.action, step.arguments["broker"]) for step in late] == [("Learn", answer.arguments["broker"])]
    assert late[0].index < answer.index


def test_a_release_before_the_queue_and_a_load_that_does_not_end_are_refused_with_the_reason() -> None:
    run = prepared("kafka20634-bug")
    with pytest.raises(ConfigurationError, match="no step of the driver keeps busy"):
        COORDINATORS.prepare(run.question, run.run, Brokers("3.9.1"))
    path = bundled_of("foreign-load-bug")
    assert path is not None
    question = load_spec(path).question()
    with pytest.raises(ConfigurationError, match="no step of the driver keeps a load from ending"):
        COORDINATORS.prepare(question, search(question).violations[0].run, Brokers("4.4.0"))
    with pytest.raises(ConfigurationError, match="played again on another release"):
        run.control(Changed.parse("acks=all"))


def test_brokers_are_set_as_the_trace_needs_them() -> None:
    assert "inter.broker.protocol.version" not in prepared("kafka20634-bug").setting.brokers
    assert prepared("kafka8069-bug").setting.brokers["inter.broker.protocol.version"] == "2.0"
    assert int(prepared("kafka5600-bug").setting.brokers["offsets.load.buffer.size"]) < 2 * 120
    assert prepared("kafka13636-bug").setting.brokers.items() >= SETTINGS.items()
    assert 60 * int(SETTINGS["offsets.retention.minutes"]) < RETENTION_SECONDS


def test_a_state_is_beside_what_is_seen_in_commits_alone() -> None:
    script = prepared("kafka8069-bug").script
    state = script.steps[-1].after
    kinds = {record["kind"] for log in state["log"] for record in log["records"][: log["end"]]}
    assert "tombstone" in kinds
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


def test_what_a_coordinator_says_is_what_it_has_loaded_or_to_4_0_what_it_knows_to_be_committed() -> None:
    steps = prepared("kafka5600-bug").script.steps
    [load] = [step for step in steps if step.action == "EndLoad" and step.arguments["buffer"]]
    broker = load.arguments["broker"]
    assert (offset_of(load.after, broker, True), len(values_of(load.after, broker))) == (1, 2)
    view = {"view": [{"end": 1, "records": [{"kind": "offset", "commit": 2}]}], "broker": [{"committed": 0}]}
    assert (offset_of(view, 0, True), offset_of(view, 0, False)) == (2, 0)


def test_a_run_is_shown_with_commits_in_logs_and_what_consumers_were_told() -> None:
    run = prepared("kafka20634-bug")
    shown = presentation_of(run.question)
    assert shown.played is COORDINATORS
    last = run.script.steps[-1].after
    assert shown.model_cells(last)[-1] == "1, ISR {0, 1}"
    assert shown.heads(last) == ["broker 0", "broker 1", "leader"]
