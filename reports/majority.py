"""The picture of `majority`: replicas with their logs, the producer, and who tells whom.

What lives here: everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a
part that the configuration turns off has no field. What does not: what is the same for every protocol (`view.py`,
`picture.py`), and drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from model.majority.protocol import majority
from model.protocol import ActionInstance, Instance
from reports.picture import Box, Fact, Message, Moment, Picture, Role, Row, State, row
from reports.records import Lost, cells, ids, remember
from reports.replication import PRODUCER

_TOLD = ("log", "replica", "match", "next_record", "acked", "lossy_left")

_ACTS = {
    "Elect": "candidate", "Stand": "candidate", "TakeOffice": "candidate", "Vote": "voter", "HearOfTerm": "replica",
    "Replicate": "leader", "Heartbeat": "leader", "Commit": "leader", "Crash": "replica", "Restart": "replica",
}  # fmt: skip
"""The actions that a replica takes, and the parameter that says which."""


class MajorityPictures:
    """The provider of `majority`."""

    def recognises(self, instance: Instance) -> bool:
        """Whether this is the protocol."""
        return instance.protocol.state is majority.state

    def tells(self, field: str) -> bool:
        """Whether the picture tells of a change of this leaf field."""
        return field.partition("[")[0].partition(".")[0] in _TOLD

    def says_initial(self, state: State) -> str:
        """One sentence about the state that a run starts from."""
        return "initially every log is empty, every replica is in term 0, and nobody leads"

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, Lost]:
        """The picture of a moment; what is lost goes by the run so far."""
        state = moment.after
        replicas = range(len(state["log"]))
        memory = remember(moment)
        picture = Picture(
            rows=tuple(_row(state, r, instance.constants["log_size"], memory[r]) for r in replicas),
            boxes=(_producer(state),),
            actors=(PRODUCER, *map(_name, replicas)),
            actor=_actor(moment),
            messages=tuple(_messages(moment)),
        )
        return picture, memory

    def actor(self, step: ActionInstance) -> str | None:
        """Who takes a step."""
        return _actor(Moment(1, None, step, {}, None))

    def disagreements(self, name: str, before: State | None, after: State) -> list[str]:
        """What exactly breaks the property of that name; the properties are decided elsewhere, this only points."""
        return list(_POINTS[name](after)) if name in _POINTS else []


MAJORITY = MajorityPictures()


def _name(replica: int) -> str:
    return f"replica {replica}"


def _acked(state: State) -> list[int]:
    return [record for record, told in enumerate(state["acked"]) if told]


# -- rows and boxes ------------------------------------------------------------------------------------------------


def _row(state: State, replica: int, offsets: int, lost: frozenset[int]) -> Row:
    log, mine = state["log"][replica], state["replica"][replica]
    shown = cells(log, mine["hw"], "term", offsets, lost, _acked(state))
    return row(replica, _name(replica), mine["term"], shown, mine["hw"], log["end"], _badges(state, replica))


def _badges(state: State, replica: int) -> Iterator[tuple[Role, str]]:
    mine = state["replica"][replica]
    if mine.get("lost"):
        yield Role.OUT_OF_ISR, "votes no more"
    else:
        yield Role.IN_ISR, "votes"
    if mine.get("down"):
        yield Role.DOWN, "down"
    elif mine["leads"]:
        newest = max(other["term"] for other in state["replica"])
        yield (Role.LEADER, "leader") if mine["term"] == newest else (Role.STALE_LEADER, "stale leader")
    elif mine.get("granted"):
        yield Role.ELECTED, f"candidate with {len(mine['granted'])} of {len(state['log'])} votes"


def _producer(state: State) -> Box:
    facts = []
    for record, told in enumerate(state["acked"]):
        word = "acknowledged" if told else "sent, not answered" if record < state["next_record"] else "not sent"
        facts.append(Fact(f"r{record}", f"r{record}: {word}"))
    return Box(PRODUCER, PRODUCER, None, tuple(facts))


# -- who tells whom ------------------------------------------------------------------------------------------------


def _actor(moment: Moment) -> str | None:
    if moment.action is None:
        return None
    name, arguments = moment.action.action.name, moment.action.arguments
    return _name(arguments[_ACTS[name]]) if name in _ACTS else PRODUCER


def _messages(moment: Moment) -> Iterator[Message]:
    if moment.action is None or moment.before is None:
        return
    index, before, after = moment.index, moment.before, moment.after
    name, arguments = moment.action.action.name, moment.action.arguments

    def told(key: str, sender: str, receiver: str, text: str) -> Message:
        return Message(f"{key} {index}", sender, receiver, text, index, index)

    if name == "Elect":
        candidate = arguments["candidate"]
        for voter in arguments["voters"]:
            if voter != candidate:
                yield told(f"vote {voter}", _name(voter), _name(candidate), f"vote in t{after['replica'][candidate]['term']}")
    elif name == "Vote":
        candidate, voter = arguments["candidate"], arguments["voter"]
        yield told("vote", _name(voter), _name(candidate), f"vote in t{after['replica'][candidate]['term']}")
    elif name == "HearOfTerm":
        replica, other = arguments["replica"], arguments["other"]
        yield told("term", _name(other), _name(replica), f"t{after['replica'][replica]['term']}")
    elif name == "Write":
        yield told("write", PRODUCER, _name(arguments["leader"]), f"r{before['next_record']}")
    elif name in ("Replicate", "Heartbeat"):
        yield from _append_entries(index, name, arguments, after)
    elif name == "Commit":
        for record in sorted(set(_acked(after)) - set(_acked(before))):
            yield told(f"ack r{record}", _name(arguments["leader"]), PRODUCER, f"r{record} was taken")


def _append_entries(index: int, name: str, arguments: dict[str, Any], after: State) -> Iterator[Message]:
    leader, follower = arguments["leader"], arguments["follower"]
    match = after["match"][leader][follower]
    sent = f"r{after['log'][follower]['records'][match - 1]['id']}, " if name == "Replicate" else ""
    text = f"{sent}HW {after['replica'][leader]['hw']}"
    yield Message(f"append {index}", _name(leader), _name(follower), text, index, index)
    yield Message(f"answer {index}", _name(follower), _name(leader), f"the same up to {match}", index, index)


# -- what breaks a promise, in words -------------------------------------------------------------------------------


def _newest_leaders(state: State) -> Iterator[int]:
    newest = max(mine["term"] for mine in state["replica"])
    yield from (r for r, mine in enumerate(state["replica"]) if mine["leads"] and mine["term"] == newest)


def _lost_by_leader(state: State) -> Iterator[str]:
    for leader in _newest_leaders(state):
        for record in _acked(state):
            if record not in ids(state["log"][leader]):
                yield f"record {record} was acknowledged, and replica {leader}, the leader, does not have it"


def _lost_everywhere(state: State) -> Iterator[str]:
    for record in _acked(state):
        if not any(record in ids(log) for log in state["log"]):
            yield f"record {record} was acknowledged, and no replica has it"


def _last(log: State) -> tuple[int, int]:
    return (log["records"][-1]["term"] if log["records"] else -1, log["end"])


def _electable(state: State) -> Iterator[tuple[int, list[int]]]:
    voters = [r for r, mine in enumerate(state["replica"]) if not mine.get("lost")]
    for candidate in voters:
        for_it = [v for v in voters if _last(state["log"][v]) <= _last(state["log"][candidate])]
        if 2 * len(for_it) > len(state["log"]):
            yield candidate, for_it


def _lost_by_next(state: State) -> Iterator[str]:
    for candidate, voters in _electable(state):
        for record in _acked(state):
            if record not in ids(state["log"][candidate]):
                who = ", ".join(map(str, voters))
                yield (
                    f"record {record} was acknowledged, and replica {candidate}, which does not have it, could be elected by "
                    f"replicas {who}"
                )


def _nobody_electable(state: State) -> Iterator[str]:
    down = [r for r, mine in enumerate(state["replica"]) if mine.get("down") or mine.get("lost")]
    left, size = len(state["log"]) - len(down), len(state["log"])
    who = f"replica {down[0]} is" if len(down) == 1 else f"replicas {', '.join(map(str, down))} are"
    if 2 * left <= size:
        yield f"{who} down or barred from voting, and the {left} of {size} that are left are no majority"
    else:
        yield f"{who} down or barred from voting, and nobody is left whom a majority would elect"


def _two_leaders(state: State) -> Iterator[str]:
    leaders = [(mine["term"], r) for r, mine in enumerate(state["replica"]) if mine["leads"]]
    for term in sorted({term for term, _ in leaders}):
        who = [str(r) for t, r in leaders if t == term]
        if len(who) > 1:
            yield f"replicas {' and '.join(who)} both lead in term {term}"


_POINTS: dict[str, Callable[[State], Iterator[str]]] = {
    "AckedRecordsSurvive": _lost_by_leader,
    "AckedRecordsElectable": _lost_by_next,
    "AckedRecordsExist": _lost_everywhere,
    "OneLeaderPerTerm": _two_leaders,
    "WritesWithSomeDown": _nobody_electable,
}
