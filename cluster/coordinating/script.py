"""A run of `coordinator` as a script, its states beside what is seen, and which unloading is late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.playing.script import Script, ScriptStep, State, first_refusal
from acked.cluster.playing.script import script_of as bare_script
from acked.cluster.releases.release import Release
from acked.cluster.replicating.compare import replica_of, value_of
from acked.cluster.topics.topic import Difference, TopicView, differing

_QUEUED = (4, 0)
_FOREIGN = "no step of the driver keeps a load from ending, which is a task of a thread of the broker"
_OLD = "to 3.9 an unloading is a task of the thread that loads, which no step of the driver keeps busy"
_IS_COMMIT, _IS_NONE = "offset", "tombstone"


def is_queued(chosen: Release) -> bool:
    """Whether a release's coordinator has one queue for a partition's requests, loads and unloads."""
    return chosen.number >= _QUEUED


def values_of(state: State, broker: int, until: int | None = None) -> tuple[str, ...]:
    """The commits in a broker's log, or before an offset of it."""
    log = state["log"][broker]
    records = log["records"][: log["end"] if until is None else until]
    return tuple(value_of(record["commit"]) for record in records if record["kind"] == _IS_COMMIT)


def offset_of(state: State, broker: int, is_queued: bool) -> int:
    """What a broker's coordinator says that the group has committed, 0 for nothing: to 3.9 all that it has replayed."""
    view, mine = state["view"][broker], state["broker"][broker]
    left_out, found = range(mine.get("skipped_from", 0), mine.get("skipped_to", 0)), 0
    for at, record in enumerate(view["records"][: mine["committed"] if is_queued else view["end"]]):
        if at not in left_out and record["kind"] in (_IS_COMMIT, _IS_NONE):
            found = record["commit"]
    return found


def differences(state: State, seen: TopicView) -> tuple[Difference, ...]:
    """In what brokers are not as the model says."""
    found = seen.partition
    leader = None if found is None or found.leader < 0 else found.leader
    elected = state["leader"][state["epoch"]] if state["epoch"] else leader
    pairs: list[tuple[str, object, object]] = [
        ("the leader", elected, leader), ("the ISR", sorted(state["isr"]), [] if found is None else sorted(found.isr)),
    ]  # fmt: skip
    for broker in range(len(state["log"])):
        real = replica_of(seen, broker)
        pairs += [
            (f"broker {broker}'s log", values_of(state, broker), real.values),
            (f"broker {broker}'s high watermark", _mark(state, broker), real.high_watermark or 0),
        ]
    return differing(pairs)


def _mark(state: State, broker: int) -> int:
    """How many commits are below a broker's high watermark."""
    return len(values_of(state, broker, state["broker"][broker]["hw"]))


def is_late(steps: Sequence[ScriptStep], at: int) -> bool:
    """Whether a coordinator answers somebody after its broker has heard who leads and before it does what that asks for."""
    learning = steps[at]
    broker = learning.arguments.get("broker")
    for step in steps[at + 1 :] if learning.action == "Learn" else ():
        if step.arguments.get("broker") == broker:
            if step.action == "DoDuty" and step.arguments["epoch"] == learning.before["epoch"]:
                return False
            if step.action == "Answer":
                return True
    return False


def script_of(question: Question, run: Run, not_played: Mapping[str, str], chosen: Release) -> Script:
    """The script of a run; `NotPlayable` with the step and the reason if there is none."""
    bare = bare_script(question, run, None)

    def reason(at: int) -> str | None:
        step = bare.steps[at]
        if step.action == "EndLoad" and step.before["broker"][step.arguments["broker"]]["own"] != step.arguments["epoch"]:
            return _FOREIGN
        return _OLD if not is_queued(chosen) and is_late(bare.steps, at) else not_played.get(step.action)

    script = bare_script(question, run, first_refusal(run, reason))
    first = next((step.arguments["broker"] for step in script.steps if step.action == "Elect"), 0)
    return replace(script, order=(first, *(broker for broker in range(len(script.initial["log"])) if broker != first)))
