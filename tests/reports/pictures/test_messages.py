"""Every action of every shipped protocol says who takes it and who tells whom, and what is late is drawn late."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.model.catalogue import FAMILY, PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.action import Action
from acked.model.language.protocol import Instance
from acked.model.language.telling import Course, Role, Tells
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id
from acked.model.partition.state import ACKED
from acked.reports.pictures.messages import actor_of, ids_of, sorts_of
from acked.reports.pictures.picture import Message
from acked.reports.pictures.providers import provider_of
from acked.reports.runs.lanes import lanes_of
from acked.reports.runs.view import StepView, steps_of

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
PARTITION = {"replicas": 2, "log_size": 2, "records": 2}
ONE = {"log_size": 1, "records": 1, "retries": 0, "idempotence": 0, "unclean_election": 0}
MOVES = {"leadership_moves": 1, "late_answers": 1}
LATE = ("FetchLate", "FetchLateWhileHwWaits", "FetchDivergingLate")
DISK = {**ONE, "crashes": "clean", "acks": "1", "empty_disks": 1}
WAYS: dict[str, list[tuple[str | None, dict[str, Any]]]] = {
    **{name: [(None, SMALL)] for name in FAMILY},
    "partition": [
        ("4.0", {**ONE, **MOVES, "crashes": "none"}),
        ("4.0", {**MOVES, "crashes": "clean", "consumer": "followers", "alter_partition_settled": 0, "zombies": 1}),
        ("2.8", {**MOVES, "crashes": "clean", "kills": 1, "consumer": "followers", "acks": "1", "unclean_election": 1}),
        ("1.0", {"crashes": "clean", "acks": "0", "unclean_election": 0, "offset_queries": 1}),
        ("2.5", {"crashes": "clean", "retries": 1, "idempotence": 1, "delivery_timeout": 1, "producer_restarts": 1,
                 "acks": "all", "min_insync_replicas": 2, "leadership_moves": 1}),
        ("2.0", {"crashes": "clean", "kills": 1, "unnoticed_restarts": 1, "acks": "all"}),
        ("4.1", {"crashes": "clean", "kills": 0, "acks": "all", "retries": 0, "idempotence": 0}),
        ("4.1", {"crashes": "clean", "acks": "all", "retries": 0, "idempotence": 0, "min_insync_replicas": 2, "zombies": 1,
                 "config_changes": 1, "directories_move": 1}),
        ("2.4", {**ONE, "replicas": 3, "acks": "all", "crashes": "none", "unclean_election": 1, "leadership_moves": 1,
                 "reassignment": 1, "assigned": 1, "moved_to": 2}),
        ("4.1", {**ONE, "acks": "all", "crashes": "clean", "unclean_election": 1, "leadership_moves": 1,
                 "reassignment": 1, "assigned": 1, "moved_to": 1}),
        ("1.0", {**ONE, "acks": "0", "crashes": "clean", "kills": 0, "unclean_election": 1, "leadership_moves": 1,
                 "controllers": 1, "late_requests": 1}),
        ("3.2", {**ONE, "acks": "0", "crashes": "clean", "leadership_moves": 1, "controllers": 1}),
    ],
    "majority": [
        (None, {"replicas": 3, "log_size": 2, "records": 2, "crashes": "lossy"}),
        (None, {"replicas": 3, "log_size": 2, "records": 2, "votes": "one by one", "max_term": 3}),
    ],
    "kraft": [
        (None, {"servers": 3, "voters": "dynamic", "changes": 2, "max_epoch": 3, "formats": 1, "auto_join": 1}),
        (None, {"servers": 3, "voters": "dynamic", "initial_voters": 2, "changes": 2, "max_epoch": 3, "auto_join": 1}),
        (None, {"servers": 3, "unflushed": 1, "quorum_state_lost": 1, "stands": 1}),
        (None, {"servers": 3, "snapshots": 1, "records": 2}),
        (None, {"servers": 2, "upgrades": 1, "changes": 2, "max_epoch": 1}),
    ],
    "transactions": [
        ("latest", {}),
        ("2.4", {"client_bumps_epoch": 1}),
        ("4.4", {"coordinator_fails": 1}),
    ],
    "coordinator": [
        (None, {"max_epoch": 3, "own_load_only": 0, "commits": 4, "records": 4}),
        (None, {"transactions": 1, "rebalances": 1, "expiry": 1, "applies_markers_first": 0, "records": 4, "commits": 4}),
        (None, {"transactions": 1, "records": 4, "asks": 1}),
        (None, {"batches": 1, "shrinks": 1, "unclean": 1, "lost_disks": 1, "max_epoch": 3}),
    ],
    "compaction": [
        (None, {"records": 5, "map_keys": 1, "deletes": 1, "expires": 1, "lags": 1, "reader": 1}),
        (None, {"records": 5, "deletes": 1, "follower": 1, "one_reading": 0, "segment": 1}),
    ],
    "share": [
        ("4.1", {"latest": 1, "sessions": 1, "failed_writes": 1, "lost_answers": 1, "retries": 1, "zombies": 1, "writes": 3}),
    ],
    "delivery": [
        ("latest", {}),
        ("latest", {"commits": "after"}),
        ("latest", {"commits": "auto"}),
        ("latest", {"commits": "after", "one_owner": 0, "keeps_offsets": 0}),
    ],
}  # fmt: skip
"""By protocol the releases and constants under which, together, all of its actions happen."""

RARE: dict[str, dict[str, tuple[str | None, dict[str, Any]]]] = {
    "partition": {
        "BecomeFollowerAsToldBeforeRemoval": (
            "3.2", {**ONE, **MOVES, "acks": "0", "crashes": "none", "controllers": 1, "replicas": 2},
        ),
        "Halt": ("2.0", {**ONE, "crashes": "lossy", "acks": "1"}),
        "ReplaceDisk": ("4.3", {**DISK, "kills": 0}),
        "ReportDirectory": ("4.1", {**DISK, "kills": 0}),
        "ReturnWithEmptyDisk": ("2.0", {**DISK, "unnoticed_restarts": 1}),
        "RefuseAlterPartition": ("3.9", {**ONE, "crashes": "none", "zombies": 1, "acks": "1"}),
        "FetchLateWhileHwWaits": ("4.0", {**ONE, **MOVES, "crashes": "none"}),
        "LateRecordsAreMixed": ("4.0", {**ONE, **MOVES, "late_reads": 1, "crashes": "none"}),
        "RemoveFromIsr": ("2.4", {**ONE, "replicas": 3, "acks": "all", "crashes": "none", "reassignment": 1, "assigned": 1,
                                  "moved_to": 2}),
        "AnswerFromBehind": ("3.2", {**ONE, "crashes": "none", "leadership_moves": 1, "controllers": 1, "acks": "0",
                                     "behind_controller_resent": 0}),
    },
    "coordinator": {
        "CommitOutOfStep": ("latest", {"max_epoch": 3, "own_load_only": 0}),
        "AnswerMarker": ("latest", {"transactions": 1, "records": 3}),
    },
    "transactions": {
        "VerifyAnotherCopy": ("3.6", {"guard_unique": 0, "partitions": 1, "producers": 1, "transactions": 1, "timeouts": 0}),
        "LateMarkerIsRefused": ("3.7", {"producers": 1, "late_init": 0, "late_add": 0, "late_produce": 0, "late_end": 0}),
        "Restart": ("latest", {"restarts": 1, "producers": 1, "transactions": 1, "timeouts": 0}),
        "FetchOffset": ("latest", {"offsets": 1, "producers": 1, "transactions": 1}),
        "AbortBeforeBump": ("3.9", {"partitions": 1, "producers": 1, "transactions": 1, "timeouts": 0, "late_end": 0}),
    },
    "kraft": {
        "LoseFetched": (None, {"servers": 2, "voters": "dynamic", "initial_voters": 1, "unflushed": 1, "observers_flush": 0}),
        "ResignRemoved": (None, {"servers": 2, "voters": "dynamic", "changes": 1}),
    },
}
"""What random runs do not come to."""

STEPS, RUNS, TOLD = 40, 40, 2
OF_EACH = pytest.mark.parametrize("name", PROTOCOLS, scope="module")  # One after the other, so that runs are found once.

UNTOLD = {
    *("Reassign", "CancelMove", "CancelMoveUncleanly", "ReassignInZookeeper", "CancelInZookeeper", "CompleteInZookeeper"),
    "RemoveFromIsr",
}
"""Two parties without a message: what the controller writes down of a reassignment, of which brokers hear later."""


@dataclass(frozen=True)
class Walked:
    """A run with what it shows."""

    instance: Instance
    run: Run
    steps: tuple[StepView, ...]

    def happened(self) -> Iterator[tuple[ActionInstance, StepView, StepView]]:
        """Every action instance of the run with the step before and its own."""
        yield from zip(self.run.actions, self.steps[:-1], self.steps[1:], strict=True)


def configured(name: str, version: str | None, given: dict[str, Any]) -> Instance:
    protocol = PROTOCOLS[name]
    rules = {} if version is None else {key: item.value for key, item in protocol.profile(version, None).items()}
    size = PARTITION if name == "partition" else {}
    return protocol.instantiate({**rules, **size, **given})


def walk(instance: Instance, draw: random.Random, seen: set[str]) -> Run:
    """A random run in which what has not been seen so far is taken wherever it is possible."""
    guards = Evaluator([item.guard for item in instance.actions])
    codes = list(instance.schema.unpack(instance.initial[0]))
    states, actions = [instance.schema.pack(codes)], []
    while len(actions) < STEPS:
        enabled = [item for item, holds in zip(instance.actions, guards(codes), strict=True) if holds]
        if not enabled:
            break
        fresh = [item for item in enabled if item.action.name not in seen]
        step = draw.choice(fresh or enabled)
        seen.add(step.action.name)
        codes = instance.fire(step, codes)
        states.append(instance.schema.pack(codes))
        actions.append(step)
    return Run(tuple(states), tuple(actions))


def shortest_to(instance: Instance, name: str) -> Run:
    """The shortest run whose last step is of that action."""
    guards = Evaluator([item.guard for item in instance.actions])
    runs: dict[tuple[int, ...], tuple[ActionInstance, ...]] = {tuple(instance.schema.unpack(instance.initial[0])): ()}
    waiting = deque(runs)
    while waiting:
        codes = waiting.popleft()
        for step in (item for item, holds in zip(instance.actions, guards(codes), strict=True) if holds):
            after = tuple(instance.fire(step, codes))
            if step.action.name == name:
                return replayed(instance, (*runs[codes], step))
            if after not in runs:
                runs[after] = (*runs[codes], step)
                waiting.append(after)
    raise AssertionError(f"{name} never happens")


def replayed(instance: Instance, actions: tuple[ActionInstance, ...]) -> Run:
    states = [instance.initial[0]]
    for step in actions:
        states.append(instance.schema.pack(instance.fire(step, instance.schema.unpack(states[-1]))))
    return Run(tuple(states), actions)


@cache
def walked(name: str) -> tuple[Walked, ...]:
    """Runs of a protocol in which every one of its actions happens."""
    draw, seen, found = random.Random(5), set[str](), []
    assert name in WAYS, f"{name}: say in WAYS under which constants its actions happen"
    for version, given in WAYS[name]:
        instance = configured(name, version, given)
        possible = {item.action.name for item in instance.actions}
        for number in range(RUNS):
            if number >= TOLD and possible <= seen:
                break
            known = len(seen)
            run = walk(instance, draw, seen)
            # Telling a run takes longer than finding it: some are told, and those that show something new.
            if number < TOLD or len(seen) > known:
                found.append((instance, run))
    for rare, way in RARE.get(name, {}).items():
        instance = configured(name, *way)
        found.append((instance, shortest_to(instance, rare)))
    happened = {step.action.name for _, run in found for step in run.actions}
    missing = ", ".join(sorted({item.name for item in PROTOCOLS[name].actions} - happened))
    assert not missing, f"{missing}: say in WAYS, or in RARE if random runs do not come to it, under which constants"
    return tuple(Walked(instance, run, steps_of(Question(instance, ()), run)) for instance, run in found)


def between_two(action: Action) -> bool:
    """Whether its parameters, and the role that acts, name two parties or more."""
    ids = [sort for sort in sorts_of(action).values() if issubclass(sort, Id)]
    return len(ids) + isinstance(action.actor, Role) > 1


def messages_of(step: StepView) -> tuple[Message, ...]:
    assert step.picture is not None
    return step.picture.messages


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_action_of_a_shipped_protocol_declares_its_actor(name: str) -> None:
    assert [item.name for item in PROTOCOLS[name].actions if item.actor is None] == []


@pytest.mark.slow
@OF_EACH
def test_every_step_is_drawn_as_taken_by_whom_its_action_declares(name: str) -> None:
    for one in walked(name):
        provider = provider_of(one.instance)
        for action, _, step in one.happened():
            declared, picture = action.action.actor, step.picture
            assert picture is not None
            if isinstance(declared, str):
                expected = provider.name(sorts_of(action.action)[declared], action.arguments[declared])
            else:
                assert isinstance(declared, Role), action.label
                expected = declared.name
            assert picture.actor == expected, action.label
            assert expected in picture.actors, action.label


@pytest.mark.slow
@OF_EACH
def test_every_step_of_two_parties_has_a_message_that_one_of_them_sends_or_gets(name: str) -> None:
    """Parties are those whom the parameters name, and who acts."""
    checked = set()
    for one in walked(name):
        provider = provider_of(one.instance)
        for action, _, step in one.happened():
            parties = {provider.name(sort, number) for sort, number in ids_of(action)} | {actor_of(action, provider)}
            if len(parties) > 1 and action.action.name not in UNTOLD:
                checked.add(action.action.name)
                told = any({item.sender, item.receiver} & parties for item in messages_of(step))
                assert told, f"{action.label} has two parties and no message: declare messages=, or say in UNTOLD why not"
    expected = {item.name for item in PROTOCOLS[name].actions if between_two(item)} - UNTOLD
    assert checked >= expected, f"{expected - checked}: whoever acts is never another than whom the parameters name"
    assert expected or name == "share"  # Leaders are epochs there, which are numbers, and consumers are whoever has a record.


@pytest.mark.slow
@OF_EACH
def test_what_arrives_or_is_dropped_in_a_later_step_was_drawn_where_it_departed(name: str) -> None:
    late = 0
    for one in walked(name):
        for step in one.steps:
            for message in messages_of(step):
                assert step.index in (message.sent, message.received, message.dropped)
                assert message.received is None or message.dropped is None
                if message.sent == step.index:
                    continue
                late += 1
                departed = [item for item in messages_of(one.steps[message.sent]) if item.key == message.key]
                (sent,) = departed
                assert (sent.received, sent.dropped) == (None, None), step.sentence
                assert (sent.sender, sent.receiver, sent.text) == (message.sender, message.receiver, message.text)
        joined = lanes_of(one.steps).messages
        assert len({message.key for message in joined}) == len(joined)
    tells = [message for action in PROTOCOLS[name].actions for message in action.messages if isinstance(message, Tells)]
    departs = any(message.course is Course.DEPARTS for message in tells)
    assert (late > 0) == departs, "what DEPARTS in one step ARRIVES in another, or is dropped"


@pytest.mark.slow
def test_a_late_answer_departs_from_the_leader_and_arrives_or_is_dropped_late() -> None:
    seen = set()
    for one in walked("partition"):
        for action, before, step in one.happened():
            if action.action.name in LATE:
                leader, follower = (f"broker {action.arguments[name]}" for name in ("leader", "follower"))
                (answer,) = (item for item in messages_of(step) if (item.sender, item.receiver) == (leader, follower))
                assert (answer.received, answer.dropped, answer.is_late) == (None, None, True)
                late = step.told["late"][action.arguments["follower"]]
                brings = f"HW {late['hw']}"
                if late["truncate_to"] is not None:
                    brings = f"diverging: truncate to {late['truncate_to']}"
                elif late["log"]["end"]:
                    brings = ", ".join([f"r{item['id']}" for item in late["log"]["records"][late["fetched_at"] :]] + [brings])
                assert answer.text == brings
                seen.add(action.action.name)
            awaited = zip(*(state.told.get("late", []) for state in (before, step)), strict=True)
            for broker, (awaits, waits) in enumerate(awaited):
                if awaits["leader"] is None or waits["leader"] is not None:
                    continue
                (answer,) = (item for item in messages_of(step) if item.is_late and item.receiver == f"broker {broker}")
                assert answer.sender == f"broker {awaits['leader']}"
                assert answer.sent < step.index
                counts = action.action.name in ("LateAnswerCounts", "LateRecordsCount", "LateRecordsAreMixed")
                assert (answer.received, answer.dropped) == ((step.index, None) if counts else (None, step.index))
                seen.add(action.action.name)
    assert seen >= {"FetchLate", "FetchDivergingLate", "LateAnswerCounts", "LateRecordsCount", "LateAnswerIsDropped"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "endings"),
    [
        ("4.0", [["Crash(broker=0"], ["Crash(broker=1"]]),
        (
            "4.1",
            [
                ["MoveLeadership(broker=0", "BecomeLeader(leader=0"],
                ["MoveLeadership(broker=0", "MoveLeadership(broker=1", "BecomeFollower(follower=0"],
            ],
        ),
    ],
)
def test_a_late_answer_ends_with_either_connection_and_where_answers_name_epochs_with_the_epoch(
    version: str, endings: list[list[str]]
) -> None:
    instance = configured("partition", version, {**ONE, **MOVES, "acks": "all", "crashes": "clean", "kills": 1})
    late = shortest_to(instance, "FetchDivergingLate")
    assert late.actions[-1].arguments == {"follower": 0, "leader": 1}
    for ending in endings:
        run = late
        for label in ending:
            codes = instance.schema.unpack(run.states[-1])
            step = next(item for item in instance.enabled_actions(codes) if item.label.startswith(label))
            run = replayed(instance, (*run.actions, step))
        (answer,) = (item for item in messages_of(steps_of(Question(instance, ()), run)[-1]) if item.is_late)
        assert (answer.sender, answer.receiver) == ("broker 1", "broker 0")
        assert (answer.sent, answer.received, answer.dropped) == (len(late.actions), None, len(run.actions))


@pytest.mark.slow
def test_a_producer_learns_of_its_record_by_a_message_unless_it_wants_no_answer() -> None:
    answered = silent = 0
    for one in walked("partition"):
        for action, before, step in one.happened():
            pairs = enumerate(zip(before.told["producer"]["status"], step.told["producer"]["status"], strict=True))
            for record, (was, now) in pairs:
                if was != now == ACKED:
                    told = [item.text for item in messages_of(step) if item.receiver == "producer" and item.received]
                    wants = one.instance.constants["acks"] != 0
                    assert (f"ack r{record}" in told) == wants, action.label
                    answered, silent = answered + wants, silent + (not wants)
    assert answered > 10
    assert silent > 5


def test_a_request_that_a_newer_one_overtook_is_dropped_and_one_that_it_overtakes_is_late() -> None:
    instance = PROTOCOLS["truncate-to-hw"].instantiate({**SMALL, "replicas": 3})
    by_label = {item.label: item for item in instance.actions}
    labels = [
        "ControllerElectLeader(replica=0)", "ControllerElectLeader(replica=1)", "ControllerElectLeader(replica=0)",
        "BecomeFollowerTruncateToHighWatermark(leader=1, replica=2, epoch=1)", "BecomeLeader(leader=0, epoch=2)",
    ]  # fmt: skip
    steps = steps_of(Question(instance, ()), replayed(instance, tuple(by_label[label] for label in labels)))
    told = {(item.text[:15], item.received, item.dropped, item.is_late) for item in messages_of(steps[4])}
    assert told == {("LeaderAndIsr e0", None, 4, False), ("LeaderAndIsr e1", 4, None, True)}
    told = {(item.text[:15], item.received, item.dropped, item.is_late) for item in messages_of(steps[5])}
    assert told == {("LeaderAndIsr e0", None, 5, False), ("LeaderAndIsr e1", None, 5, False),
                    ("LeaderAndIsr e2", 5, None, False)}  # fmt: skip


def test_a_run_that_begins_in_the_middle_takes_what_arrives_for_sent_before_it() -> None:
    instance = PROTOCOLS["truncate-to-hw"].instantiate(SMALL)
    by_label = {item.label: item for item in instance.actions}
    whole = replayed(
        instance, (by_label["ControllerElectLeader(replica=0)"], by_label["BecomeLeader(leader=0, epoch=0)"])
    )
    (message,) = messages_of(steps_of(Question(instance, ()), Run(whole.states[1:], whole.actions[1:]))[-1])
    assert (message.text, message.sent, message.received) == ("LeaderAndIsr e0: leader 0, ISR {0, 1}", 0, 1)
