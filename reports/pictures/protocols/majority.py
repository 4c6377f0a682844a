"""The picture of `majority`: replicas with their logs, the producer.

Everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a part that the
configuration turns off has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acked.model.language.telling import PRODUCER
from acked.model.majority.protocol import majority
from acked.reports.pictures.picture import Badge, Box, Fact, Look, State, Tone
from acked.reports.pictures.protocols.kafka import LEADER, STALE_LEADER, legend_of_logs
from acked.reports.pictures.protocols.logs import NumberedLogPictures, ids

VOTES = Badge("votes", "votes")


def _acked_records(state: State) -> list[int]:
    return [record for record, is_acked in enumerate(state["acked"]) if is_acked]


# -- rows and boxes ------------------------------------------------------------------------------------------------


def _producer(state: State) -> Box:
    facts = []
    for record, is_acked in enumerate(state["acked"]):
        word = "acknowledged" if is_acked else "sent, not answered" if record < state["next_record"] else "not sent"
        facts.append(Fact(f"r{record}", f"r{record}: {word}"))
    return Box(PRODUCER.name, PRODUCER.name, None, tuple(facts))


# -- what exactly violates a property -------------------------------------------------------------------------------


def _newest_leaders(state: State) -> Iterator[int]:
    newest = max(mine["term"] for mine in state["replica"])
    yield from (r for r, mine in enumerate(state["replica"]) if mine["leads"] and mine["term"] == newest)


def _lost_by_leader(state: State) -> Iterator[str]:
    for leader in _newest_leaders(state):
        for record in _acked_records(state):
            if record not in ids(state["log"][leader]):
                yield f"record {record} was acknowledged, and replica {leader}, the leader, does not have it"


def _lost_everywhere(state: State) -> Iterator[str]:
    for record in _acked_records(state):
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
        for record in _acked_records(state):
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
        yield f"{who} down or barred from voting, and the {left} of {size} that are left are not a majority"
    else:
        yield f"{who} down or barred from voting, and no replica is left that a majority would elect"


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


class MajorityPictures(NumberedLogPictures):
    """The provider of `majority`."""

    protocol = majority
    beginning = "initially every log is empty, every replica is in term 0, and there is no leader"
    look = Look(row="replica", epoch="t", legend=legend_of_logs("record 0 of term 1"), first_badge=len("barred from voting"))
    views, epoch = "replica", "term"
    coloured_by = "term"
    shown = ("log", "replica", "match", "next_record", "acked", "lossy_left")
    first_lanes = (PRODUCER.name,)
    in_state = _POINTS

    def acked_records(self, state: State) -> list[int]:
        """Those that the producer knows of."""
        return _acked_records(state)

    def badges(self, state: State, replica: int) -> Iterator[Badge]:
        """Whether a replica votes, is up, a leader or a candidate."""
        mine = state["replica"][replica]
        yield Badge("votes", "barred from voting", Tone.ABSENT) if mine.get("lost") else VOTES
        if mine.get("down"):
            yield Badge("down", "down", Tone.WRONG)
        elif mine["leads"]:
            newest = max(other["term"] for other in state["replica"])
            yield LEADER if mine["term"] == newest else STALE_LEADER
        elif mine.get("granted"):
            yield Badge("elected", f"candidate with {len(mine['granted'])} of {len(state['log'])} votes", Tone.PENDING)

    def boxes(self, state: State) -> Iterator[Box]:
        """The producer."""
        yield _producer(state)


MAJORITY = MajorityPictures()
