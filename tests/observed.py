"""Recorded runs of real clusters, and the search for a behaviour of `partition` that explains every line of one.

The format of `tests/data/observed/` (its README has it in words), what a line may be in the model, in which orders lines may
be taken, and the search. Somebody read them once and wrote down what they say.

A run is explained if there is a behaviour of the model in which every line is a step, or several, after which the model's
state has what the line says; in an order in which the brokers may have done it. Steps that print nothing are part of the
line that they show in: the producer's, and a crash, which the controller tells.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from acked.model.partition.protocol import partition
from acked.model.partition.state import UNSENT
from acked.model.partition.versions import LATEST, VERSIONS

FOLDER = Path(__file__).resolve().parent / "data" / "observed"

FIELDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    says: (frozenset(required.split()), frozenset(optional.split()))
    for says, required, optional in (
        ("appends", "offset next", "hw"),
        ("notes fetch", "follower offset", "hw asks_to_add"),
        ("takes answer", "leader offset records leader_hw", "hw"),
        ("leads", "epoch offset hw isr", ""),
        ("follows", "leader epoch offset hw", ""),
        ("learns ISR", "epoch hw isr", ""),
        ("truncates", "to", ""),
        ("starts", "", ""),
        ("loads log", "hw", ""),
        ("changes partition", "was isr leader epoch", ""),
        ("commits ISR", "leader was isr", ""),
    )
}
"""What each kind of line tells, always and only sometimes, besides `at`, `by` and `says`."""

BETWEEN_BROKERS = 20_000
"""By how many ms a line may be taken before one of another process: an answer is made at the leader, maybe long before."""
WITHIN_A_BROKER = 300
"""The same for two threads of one process: a leader prints that it noted a fetch after it did, and outside its lock."""
MOST_NODES = 200_000
"""A search that needs more is given up, loudly."""

CONTROLLER = "controller"
Codes = tuple[int, ...]
Lane = tuple[int | str, int | None]
Plan = list[tuple[str, dict[str, Any]]]
"""Steps in a row: the actions' names, each with the parameters that the line tells."""


@dataclass(frozen=True, eq=False)
class Event:
    """What one line says, or several lines that one thread printed about one step; `at` in ms from the first."""

    at: int
    by: int | str
    says: str
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    @property
    def lane(self) -> Lane:
        """Lines of one lane are in order: those of one process, but a leader's about each follower's fetches apart."""
        return self.by, self.fields.get("follower")

    def edited(self, **fields: Any) -> Event:
        return replace(self, fields={**self.fields, **fields})


@dataclass(frozen=True)
class RecordedRun:
    """One run of a real cluster, from the creation of the topic on, every line about its one partition."""

    name: str
    kafka: str
    events: tuple[Event, ...]


def recorded(name: str) -> RecordedRun:
    """A recorded run by its name."""
    document = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    return RecordedRun(name, document["kafka"], tuple(parse_event(line) for line in document["events"]))


def parse_event(line: Mapping[str, Any]) -> Event:
    """A line of the file; ValueError if it tells more or less than lines of its kind."""
    fields = dict(line)
    at, by, says = (fields.pop(key) for key in ("at", "by", "says"))
    required, optional = FIELDS[says]
    if not required <= fields.keys() <= required | optional:
        raise ValueError(f"a line that says {says!r} tells {sorted(required)}, not {sorted(fields)}")
    return Event(round(at * 1000), by, says, {k: frozenset(v) if isinstance(v, list) else v for k, v in fields.items()})


def rules_of(kafka: str) -> str:
    """The version of the model that has a release's rules: the newest that is not newer."""

    def number(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    return max((v for v in VERSIONS if v != LATEST and number(v) <= number(kafka)), key=number)


def instance_for(run: RecordedRun) -> Instance:
    """`partition` with the rules of the run's release, and just as large as the run needs."""
    appends = [event for event in run.events if event.says == "appends"]
    profile = {name: setting.value for name, setting in partition.profile(rules_of(run.kafka), "kraft").items()}
    sizes = {
        "replicas": 3,
        "log_size": max(event["next"] for event in appends),
        "records": sum(event["next"] - event["offset"] for event in appends),
        # Bounded, so that epochs keep their numbers.
        "max_leader_epoch": max(event.fields.get("epoch", 0) for event in run.events) + 1,
    }
    settings = {"acks": "all", "min_insync_replicas": 2, "retries": False, "idempotence": False, "crashes": "clean"}
    return partition.instantiate({**profile, **sizes, **settings})


# -- what a line may be -----------------------------------------------------------------------------------------------


def plans(event: Event, state: Any) -> Iterator[Plan]:
    """The steps that a line may stand for in a state; a line may also only show what is so already."""
    me = {"leader": event.by}
    match event.says:
        case "appends":
            unsent = [record for record, status in enumerate(state["producer"]["status"]) if status == UNSENT]
            sent = unsent[: event["next"] - event["offset"]]
            yield [("Produce", {**me, "record": record}) for record in sent]
        case "notes fetch":
            asks = event.fields.get("asks_to_add")
            expands: Plan = [] if asks is None else [("AskToExpand", {**me, "follower": asks})]
            yield [("FetchUnanswered", {**me, "follower": event["follower"]}), *expands]
        case "takes answer":
            of = {"leader": event["leader"], "follower": event.by}
            yield [("FetchRecord", of)] * event["records"] or [("FetchNothingNew", of)]
            if not event["records"]:
                yield []
        case "leads":
            yield [("BecomeLeader", me)]
        case "follows":
            yield [("BecomeFollower", {"follower": event.by, "leader": event["leader"]})]
        case "learns ISR":
            yield [("LearnIsr", me)] if state["broker"][event.by]["outdated"] else []
        case "truncates":
            yield [("FetchDiverging", {"follower": event.by})] if event["to"] < _end(state, event.by) else []
        case "starts":
            yield [("Restart", {"broker": event.by})]
        case "loads log":
            yield []
        case "changes partition":
            crashes: Plan = [("Crash", {"broker": broker}) for broker in sorted(event["was"] - event["isr"])]
            yield [*crashes, ("ElectLeader", {"broker": event["leader"]})]
        case "commits ISR":
            yield [("CommitAlterPartition", {"leader": event["leader"]})]


def plans_of_both(noted: Event, answer: Event) -> Iterator[Plan]:
    """The steps that are both lines, the leader's and that of the follower that takes the answer: a fetch from end to end."""
    of = {"leader": noted.by, "follower": answer.by}
    yield [("FetchAtOnce", {**of, "end": answer["offset"] + answer["records"]})]
    if answer["records"] <= 1:
        yield [("FetchRecord", of) if answer["records"] else ("FetchNothingNew", of)]


def is_answered_by(noted: Event, answer: Event) -> bool:
    """The lines may be of one fetch."""
    if (noted.says, answer.says) != ("notes fetch", "takes answer"):
        return False
    return (noted.by, noted["follower"], noted["offset"]) == (answer["leader"], answer.by, answer["offset"])


def told_and_so(event: Event, before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of what a line tells, or its silence, and what is so in the model before and after."""
    if event.by == CONTROLLER:
        yield from _told_by_controller(event, before["controller"], after["controller"])
        return
    by = event.by
    mine, was = after["broker"][by], before["broker"][by]
    # A broker prints every move of its high watermark but a truncation's: without a word of it there was none.
    yield event.fields.get("hw", min(was["hw"], event.fields.get("to", was["hw"]))), mine["hw"]
    if "epoch" in event.fields:
        yield event["epoch"], mine["leader_epoch"]
    if "isr" in event.fields:
        yield event["isr"], frozenset(mine["isr"])
    if event.says in ("appends", "takes answer", "leads"):
        yield event["offset"], _end(before, by)
    match event.says:
        case "appends":
            yield event["next"], _end(after, by)
        case "notes fetch":
            asks = event.fields.get("asks_to_add")
            yield event["offset"], after["known_end"][by][event["follower"]]
            yield frozenset(was["pending"] if asks is None else {*was["isr"], asks}), frozenset(mine["pending"])
        case "takes answer":
            leader = event["leader"]
            yield leader, was["leader"]
            yield event["offset"] + event["records"], _end(after, by)
            yield min(event["leader_hw"], _end(after, by)), mine["hw"]
            # An answer comes after its fetch was noted, and with a high watermark that the leader had.
            yield event["offset"], after["known_end"][leader][by]
            yield event["leader_hw"] <= after["broker"][leader]["hw"], True
        case "leads":
            yield event["hw"], was["hw"]
            yield by, mine["leader"]
        case "follows":
            yield event["offset"], _end(after, by)
            yield event["leader"], mine["leader"]
        case "truncates":
            yield event["to"], _end(after, by)


def _told_by_controller(event: Event, before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    yield event["was"], frozenset(before["isr"])
    yield event["isr"], frozenset(after["isr"])
    yield event["leader"], after["leader"]
    yield event.fields.get("epoch", before["leader_epoch"]), after["leader_epoch"]


def _leader_stays(leader: int, before: Any, after: Any) -> bool:
    """The leader learns nothing when its answer arrives: its half of the fetch had a line of its own."""
    return all(before[part][leader] == after[part][leader] for part in ("broker", "known_end"))


def _end(state: Any, broker: int | str) -> int:
    return len(state["log"][broker]["records"])


# -- the search -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """The behaviour found, as (lines, labels of their steps), or None; of the deepest attempt, the lines that come next."""

    behaviour: tuple[tuple[tuple[Event, ...], tuple[str, ...]], ...] | None
    open: tuple[Event, ...]


class Explainer:
    """Searches for behaviours of one instance, by the plain evaluator; `without` names actions that it may not use."""

    def __init__(self, instance: Instance, without: frozenset[str] = frozenset()) -> None:
        self.instance = instance
        self._steps = [step for step in instance.actions if step.action.name not in without]
        self._guards = Evaluator([step.guard for step in self._steps])
        self._enabled: dict[Codes, list[int]] = {}
        self._fired: dict[tuple[int, Codes], Codes] = {}
        self._decoded: dict[Codes, Any] = {}

    def explain(self, events: Sequence[Event]) -> Explanation:
        """Takes lines depth first, the earliest first, until all are taken or every order and every choice was tried."""
        lanes: dict[Any, list[Event]] = {}
        for event in events:
            lanes.setdefault(event.lane, []).append(event)
        start = (dict.fromkeys(lanes, 0), tuple(self.instance.schema.unpack(self.instance.initial[0])))
        came: dict[Any, Any] = {_key(start): None}
        stack, deepest = [start], start
        while stack:
            node = stack.pop()
            taken, codes = node
            if sum(taken.values()) > sum(deepest[0].values()):
                deepest = node
            if sum(taken.values()) == len(events):
                return Explanation(tuple(reversed([*_way(came, _key(node))])), ())
            assert len(came) < MOST_NODES, "the search for a behaviour grows without end"
            found = []
            for lines in _may_be_next(lanes, taken):
                moved = {lane: at + (lane in [line.lane for line in lines]) for lane, at in taken.items()}
                for labels, after in self._explain(lines, codes):
                    found.append(((moved, after), (_key(node), lines, labels)))
            for child, how in reversed(found):
                if _key(child) not in came:
                    came[_key(child)] = how
                    stack.append(child)
        return Explanation(None, tuple(lines[0] for lines in _may_be_next(lanes, deepest[0]) if len(lines) == 1))

    def _explain(self, lines: tuple[Event, ...], codes: Codes) -> Iterator[tuple[tuple[str, ...], Codes]]:
        """What one line, or two that tell of the same step, may be: the steps' labels, and the state after them."""
        before = self._decode(codes)
        for plan in plans(lines[0], before) if len(lines) == 1 else plans_of_both(*lines):
            for labels, reached in self._follow(plan, codes):
                after = self._decode(reached)
                if all(told == so for line in lines for told, so in told_and_so(line, before, after)) and (
                    [line.says for line in lines] != ["takes answer"] or _leader_stays(lines[0]["leader"], before, after)
                ):
                    yield labels, reached

    def _follow(self, plan: Plan, codes: Codes) -> Iterator[tuple[tuple[str, ...], Codes]]:
        if not plan:
            yield (), codes
            return
        (name, given), *rest = plan
        for number in self._enabled_in(codes):
            step = self._steps[number]
            if step.action.name == name and given.items() <= step.arguments.items():
                for labels, after in self._follow(rest, self._fire(number, codes)):
                    yield (step.label, *labels), after

    def _enabled_in(self, codes: Codes) -> list[int]:
        if codes not in self._enabled:
            self._enabled[codes] = [number for number, holds in enumerate(self._guards(codes)) if holds]
        return self._enabled[codes]

    def _fire(self, number: int, codes: Codes) -> Codes:
        if (number, codes) not in self._fired:
            self._fired[number, codes] = tuple(self.instance.fire(self._steps[number], codes))
        return self._fired[number, codes]

    def _decode(self, codes: Codes) -> Any:
        if codes not in self._decoded:
            self._decoded[codes] = self.instance.schema.decode(codes)
        return self._decoded[codes]


def _may_be_next(lanes: Mapping[Lane, Sequence[Event]], taken: Mapping[Lane, int]) -> list[tuple[Event, ...]]:
    """The lines that may be taken now, earliest first; after a leader's that notes a fetch, that with the answer at once."""
    heads = sorted((lanes[lane][at] for lane, at in taken.items() if at < len(lanes[lane])), key=lambda event: event.at)
    first: dict[int | str, int] = {}
    for event in heads:
        first.setdefault(event.by, event.at)
    horizon = heads[0].at + BETWEEN_BROKERS if heads else 0
    free = [event for event in heads if event.at <= min(horizon, first[event.by] + WITHIN_A_BROKER)]
    both = {event: [other for other in free if is_answered_by(event, other)] for event in free}
    return [lines for event in free for lines in ((event,), *((event, other) for other in both[event]))]


def _key(node: tuple[Mapping[Lane, int], Codes]) -> tuple[tuple[int, ...], Codes]:
    return tuple(node[0].values()), node[1]


def _way(came: Mapping[Any, Any], key: Any) -> Iterator[tuple[tuple[Event, ...], tuple[str, ...]]]:
    while came[key] is not None:
        key, lines, labels = came[key]
        yield lines, labels
