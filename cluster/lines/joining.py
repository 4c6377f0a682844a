"""Facts of one node as events: lines of one thread that tell of one step are joined.

A leader's request handler prints the rise of the high watermark, and that it asks for a larger ISR, before it prints which
fetch that was; an append, and what a broker hears of leadership, before the rise that comes of it; a follower's fetcher an
answer, what was appended of it, and what became of the high watermark. Lines of one thread are in order, and what stands
between them is of others.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from acked.base.errors import SpecUnreadable
from acked.cluster.lines.facts import RELEASE, Fact, Node
from acked.cluster.lines.wordings import Kind
from acked.cluster.observation.events import CONTROLLER, Event, Says, value_in_words

PATIENCE = 400
"""ms after which no line of a thread belongs to what it printed before; those in which the whole node was silent, which may
have stood still, do not count."""
LOOKS = 5
"""How often a file that is followed is looked at in vain before what its threads printed is taken for whole."""
LATE = 1_000
"""ms for which an event is kept, so that the joined ones come out in the order of their first lines."""

_SAYS = {
    Kind.APPENDED: Says.APPENDS, Kind.LEADER: Says.LEADS, Kind.ISR: Says.LEARNS_ISR, Kind.STAYED: Says.LEARNS_ISR,
    Kind.FOLLOWER: Says.FOLLOWS, Kind.SHRINKING: Says.ASKS_TO_SHRINK, Kind.CREATED: Says.CREATES,
    Kind.FENCED: Says.FENCES, Kind.UNFENCED: Says.UNFENCES, Kind.REMOVED: Says.REMOVES_FETCHER,
    Kind.REFUSED: Says.GIVES_UP_ISR, Kind.BEGINS: Says.DELETES,
}  # fmt: skip
_MAY_RAISE = frozenset({Kind.APPENDED, Kind.LEADER, Kind.ISR, Kind.STAYED})
_ALONE = frozenset({None, Kind.OPENED, Kind.LOADED, Kind.BEGINS, Kind.PLACED})
_AGAIN = frozenset({Kind.RECORDED, Kind.REMOVED, Kind.FENCED, Kind.UNFENCED})
"""What a thread may do twice in a millisecond: all else has changed what it would say the second time."""
_CHANGES = frozenset({Kind.ALTERED, Kind.CHANGED, Kind.REPLAYED})
_BY_CONTROLLER = frozenset({Kind.CREATED, Kind.FENCED, Kind.UNFENCED, *_CHANGES})
"""With ZooKeeper these are lines of whichever broker is the controller."""


@dataclass
class _Thread:
    """What a thread has printed that may go on."""

    held: list[Fact] = field(default_factory=list)
    last: int = 0
    """When it printed last, in the node's own time."""


def _is_of_former(former: Fact, raised: Fact, noted: Fact) -> bool:
    """Whether a rise is that of the former step of a thread that notes a fetch now.

    Mostly a fetch raises to the offset that it asks for. Where another has raised, or others lag, the nearer step counts.
    """
    if raised.kind is not Kind.RAISED or former.kind not in _MAY_RAISE or raised.fields["hw"] == noted.fields["offset"]:
        return False
    return raised.at - former.at < noted.at - raised.at


class Joiner:
    """Makes events of one node's facts, one after the other."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._threads: dict[str, _Thread] = {}
        self._files = node.files
        self._out: list[tuple[int, int, int, int, Event]] = []
        self._number = 0
        self._started = False
        self._before = ""
        self._whole: dict[str, bool] = {}
        """Of each thread that fetches whether its last answer was told to the end."""
        self._takes_first: bool | None = None
        self._end: int | None = None
        self._was_there = False
        self._replicas: dict[str, Any] = {}
        self._last_answer: tuple[Fact, dict[str, Any]] | None = None
        self._is_cut = False
        self._follows_anew = False
        self._asked: dict[str, Any] | None = None
        """Whom a leader last asked to have in the ISR, and what that was."""
        self._dropped: dict[str, Any] | None = None
        """The same where it has replayed a record of the partition since, and no longer knows that it has asked."""
        self._last = self._silent = 0
        self._quiet = 0
        """No thread has printed last before this, in the node's own time."""

    def events(self, facts: Iterable[Fact | None]) -> Iterator[Event | None]:
        """The events, in the order of their times, the earliest of their lines first where times are equal.

        None where the facts are None: for now there is no more. What a thread printed last may go on for some more looks.
        """
        looks = 0
        for fact in facts:
            if fact is None:
                looks += 1
                if looks > LOOKS:
                    self._flush_whole()
                    while self._out and self._out[0][:3] <= self._oldest_held():
                        yield heapq.heappop(self._out)[-1]
                yield None
                continue
            looks = 0
            if fact.at - self._last > PATIENCE:
                self._silent += fact.at - self._last
            self._last = fact.at
            if fact.kind is not None and (moment := fact.at - self._silent - PATIENCE) > self._quiet:
                self._flush_older(moment)
            self._take(fact)
            if fact.thread in self._threads:
                self._threads[fact.thread].last = last = fact.at - self._silent
                self._quiet = min(self._quiet, last)
            while self._out and self._out[0][0] < fact.at - LATE and self._out[0][:3] <= self._oldest_held():
                yield heapq.heappop(self._out)[-1]
        self._flush_all()
        while self._out:
            yield heapq.heappop(self._out)[-1]

    def _oldest_held(self) -> tuple[float, int, int]:
        """The place of the oldest line of those that may still go on; events come out in the order of their lines."""
        held = [self._place(thread.held[0]) for thread in self._threads.values() if thread.held]
        held += [] if self._last_answer is None else [self._place(self._last_answer[0])]
        return min(held, default=(math.inf, 0, 0))

    def _place(self, fact: Fact) -> tuple[int, int, int]:
        """Where a line stands among those of its node: moment, file and line."""
        return fact.at, self._files.index(fact.file), fact.line

    # -- what a fact does to its thread ---------------------------------------------------------------------------------

    def _take(self, fact: Fact) -> None:
        before, self._before = self._before, fact.text
        if before == fact.text and fact.kind not in _AGAIN:
            self._contradict([fact], "the line is there twice, of the same thread and the same millisecond")
            return
        if fact.kind in _ALONE:
            self._take_alone(fact)
            return
        if fact.kind is Kind.STAYED:
            self._dropped, self._asked = self._asked or self._dropped, None
        elif fact.kind is Kind.EXPANDING:
            again = {"again": True} if fact.fields == self._dropped else {}
            self._asked, self._dropped = fact.fields, None
            fact = fact._replace(fields=fact.fields | again)
        if fact.kind is Kind.FOLLOWER and self._is_appending():
            fact = fact._replace(fields={**fact.fields, "appending": True})
        if fact.kind is Kind.REMOVED and not self._follows_anew:
            return  # A broker that leads has it removed first, and at every change of the partition.
        if fact.kind in (Kind.FOLLOWER, Kind.REMOVED):
            self._follows_anew = fact.kind is Kind.FOLLOWER
        thread = self._threads.setdefault(fact.thread, _Thread())
        held = [item.kind for item in thread.held]
        if fact.kind is Kind.RECORDED:
            self._note_fetch(thread, fact)
        elif fact.kind in _CHANGES:
            if not self._goes_on(thread, fact):
                self._flush(thread)
            thread.held.append(fact)
            if fact.kind is Kind.REPLAYED:
                self._flush(thread)
        elif fact.kind is Kind.RAISED:
            if len(held) > 1 or (held and held[0] not in (Kind.EXPANDING, *_MAY_RAISE)):
                self._flush(thread)
            thread.held.append(fact)
        elif fact.kind is Kind.REFUSED and held and held[-1] is Kind.EXPANDING:
            thread.held.append(fact)
        elif fact.kind is Kind.APPENDED and Kind.APPENDED in held and held[0] is Kind.GOT:
            self._contradict([fact], "the line says that records are appended, and so does the one before of the same answer")
        elif held and held[-1] is not Kind.TOOK and held[0] is Kind.GOT and fact.kind in (Kind.APPENDED, Kind.TOOK):
            thread.held.append(fact)
            # An empty answer may tell that the logs have diverged, of which the next line tells.
            if fact.kind is Kind.TOOK and (Kind.APPENDED in held or not self._takes_before_truncating()):
                self._flush(thread)
        elif held and held[0] is Kind.GOT and held[-1] is Kind.TOOK and fact.kind in (Kind.TRUNCATING, Kind.CUT):
            got, took = thread.held[0].fields, thread.held[-1].fields
            told = {"to": fact.fields["to"], "leader": got["leader"], "leader_hw": got["leader_hw"], **took}
            self._emit(thread.held[0], Says.TRUNCATES, told, shown=fact)
            thread.held = []
        elif held and held[0] is Kind.TRUNCATING and fact.kind is Kind.CUT:
            if (to := thread.held[0].fields["to"]) != fact.fields["to"]:
                self._contradict([fact], f"the line says that the log is cut to {fact.fields['to']}, and the one before {to}")
            self._flush(thread)
        else:
            self._flush(thread)
            thread.held.append(fact)

    def _take_alone(self, fact: Fact) -> None:
        """What a line does that is of no step of several."""
        if fact.kind is None:
            self._flush_all()  # What the former process was printing when it ended.
            self._follows_anew = False
            self._asked = self._dropped = None
            self._started, self._end = True, None
            self._whole.clear()
        elif fact.kind is Kind.OPENED:
            self._end = fact.fields["end"]
            self._complete_answer(fact.fields["end"])
        elif fact.kind is Kind.LOADED:
            if self._was_there or (self._started and self._end is not None):
                # Where no log was found that was there before, the disk is another, or the partition was elsewhere meanwhile.
                self._emit(fact, Says.RESTARTS, {"hw": fact.fields["hw"], "end": self._end or 0})
            elif self._end is None and fact.fields["hw"]:
                wrong = f"the line says HW {fact.fields['hw']} of a log of which no line tells that it was loaded"
                self._contradict([fact], wrong)
            self._started, self._end, self._was_there = False, None, True
        elif fact.kind is Kind.BEGINS:
            self._single(fact, None)  # A fetcher prints it before it says what became of the high watermark.
        elif fact.kind is Kind.PLACED:
            self._replicas = fact.fields  # ZooKeeper's controller says in its next line who leads.

    def _takes_before_truncating(self) -> bool:
        """Whether a follower takes the high watermark of an answer that tells it to truncate (to 3.4.0, KAFKA-14704)."""
        if self._takes_first is None and self._node.release is not None:
            self._takes_first = [int(part) for part in RELEASE.findall(self._node.release)[0].split(".")] < [3, 4, 1]
        return bool(self._takes_first)

    def _is_appending(self) -> bool:
        """Whether a fetcher has got an answer and not yet said what became of it."""
        return any(thread.held and thread.held[0].kind is Kind.GOT for thread in self._threads.values())

    def _goes_on(self, thread: _Thread, fact: Fact) -> bool:
        """Whether a controller's line is of the change that the thread's last one is of."""
        if not thread.held or thread.held[-1].kind not in _CHANGES or fact.kind is Kind.ALTERED:
            return False
        last = thread.held[-1].fields
        return "version" not in last or "version" not in fact.fields or bool(last["version"] == fact.fields["version"])

    def _note_fetch(self, thread: _Thread, fact: Fact) -> None:
        """A fetch, and what the same thread has just printed of it."""
        mine: list[Fact] = []
        refused = thread.held.pop() if len(thread.held) > 1 and thread.held[-1].kind is Kind.REFUSED else None
        while thread.held and thread.held[-1].kind in (Kind.RAISED, Kind.EXPANDING) and len(mine) < 2:
            mine.insert(0, thread.held.pop())
        if mine and thread.held and _is_of_former(thread.held[-1], mine[0], fact):
            thread.held.append(mine.pop(0))
        self._flush(thread)
        fields = {"follower": fact.fields["follower"], "offset": fact.fields["offset"]}
        for item in mine:
            if item.kind is Kind.RAISED:
                fields["hw"] = item.fields["hw"]
            else:
                fields |= {"asks_to_add" if name == "follower" else name: told for name, told in item.fields.items()}
        first = mine[0] if mine and mine[0].kind is Kind.EXPANDING else fact
        self._emit(first, Says.NOTES_FETCH, fields, shown=fact)
        if refused is not None:
            self._single(refused, None)

    # -- from a thread's facts to events ----------------------------------------------------------------------------------

    def _flush_older(self, moment: int) -> None:
        for name in [name for name, thread in self._threads.items() if not thread.held or thread.last < moment]:
            self._flush(self._threads.pop(name))
        self._quiet = min((thread.last for thread in self._threads.values()), default=moment)

    def _flush_whole(self) -> None:
        """What may be whole; a step that has begun and not ended waits for the thread, or for the next start."""
        for name, thread in list(self._threads.items()):
            if not thread.held or thread.held[0].kind not in (Kind.GOT, Kind.RAISED, Kind.EXPANDING):
                self._flush(self._threads.pop(name))

    def _flush_all(self) -> None:
        """At the end of a process, which may have come between two lines of one step."""
        self._is_cut = True
        for thread in self._threads.values():
            self._flush(thread)
        self._threads.clear()
        self._is_cut = False

    def _flush(self, thread: _Thread) -> None:
        held, thread.held = thread.held, []
        if not held:
            return
        first, rest = held[0], held[1:]
        raised = next((item.fields["hw"] for item in rest if item.kind is Kind.RAISED), None)
        match first.kind:
            case Kind.GOT:
                self._answer(first, rest)
            case Kind.EXPANDING:
                told = {} if raised is None else {"hw": raised}
                self._emit(first, Says.ASKS_TO_EXPAND, first.fields | told | self._interruption())
                for refused in (item for item in rest if item.kind is Kind.REFUSED):
                    self._single(refused, None)
            case Kind.RAISED:
                self._emit(first, Says.RAISES_HW, {"hw": first.fields["hw"], **self._interruption()})
            case Kind.TRUNCATING | Kind.CUT:
                self._emit(first, Says.TRUNCATES, first.fields)
            case Kind.ALTERED | Kind.CHANGED | Kind.REPLAYED:
                self._change(held)
            case Kind.TOOK if self._whole.get(first.thread, self._was_there):
                self._contradict([first], "the line says what became of an answer, and none before that there was one")
            case Kind.TOOK:
                pass  # Of an answer whose beginning was not printed, as the file begins here, or that took long.
            case _:
                self._single(first, raised)

    def _interruption(self) -> dict[str, bool]:
        return {"cut": True} if self._is_cut else {}

    def _contradict(self, facts: list[Fact], wrong: str) -> None:
        """Lines that say against one another what one step did: nothing explains them."""
        version = {name: value for fact in facts for name, value in fact.fields.items() if name == "version"}
        self._emit(facts[0], Says.CONTRADICTS, {"wrong": wrong, **version}, shown=facts[-1])

    def _single(self, fact: Fact, raised: int | None) -> None:
        assert fact.kind is not None
        if fact.kind is Kind.APPENDED and (wrong := _wrong_append(fact)):
            self._contradict([fact], wrong)
            return
        says = _SAYS[fact.kind]
        dropped = ("last",) if says is Says.APPENDS else ()
        fields = {name: value for name, value in fact.fields.items() if name not in dropped}
        if says is Says.CREATES:
            fields = self._replicas | fields
        if says is Says.APPENDS:
            fields |= {} if raised is None else {"hw": raised}
        elif says in (Says.LEADS, Says.LEARNS_ISR):
            fields["raised"] = raised
        self._emit(fact, says, fields)

    def _answer(self, got: Fact, rest: list[Fact]) -> None:
        fields = {name: got.fields[name] for name in ("leader", "offset", "leader_hw")}
        append = next((item for item in rest if item.kind is Kind.APPENDED), None)
        if append is not None and (wrong := _wrong_append(append, got.fields["offset"], self._node.compacts)):
            self._contradict([got, append], wrong)
            return
        took = next((item.fields for item in rest if item.kind is Kind.TOOK), {})
        self._whole[got.thread] = bool(took)
        if (carried := took.get("leader_hw", fields["leader_hw"])) != fields["leader_hw"]:
            wrong = f"the line says that the leader's HW was {carried}, and the one of the answer says {fields['leader_hw']}"
            self._contradict([got, *rest], wrong)
            return
        fields["records"] = 0 if append is None else append.fields["next"] - got.fields["offset"]
        if "hw" in took:
            fields["hw"] = took["hw"]
        elif self._is_cut:
            if not fields["records"]:
                self._last_answer = (got, fields)  # The next start tells whether it was appended.
                return
            fields |= self._interruption()
        self._emit(got, Says.TAKES_ANSWER, fields)

    def _complete_answer(self, end: int) -> None:
        """Of an answer with which the process ended: what the log has of it now."""
        if self._last_answer is not None:
            got, fields = self._last_answer
            self._last_answer = None
            if end > fields["offset"]:
                self._emit(got, Says.TAKES_ANSWER, {**fields, "records": end - fields["offset"], "cut": True})

    def _change(self, held: list[Fact]) -> None:
        told: dict[str, Any] = {}
        for item in held:
            says_leader = item.kind is not Kind.ALTERED and item.fields.get("leader", -1) >= -1
            fields = {name: value for name, value in item.fields.items() if name != "leader" or says_leader}
            if differs := [name for name in fields.keys() & told.keys() if fields[name] != told[name]]:
                values = f"{value_in_words(fields[differs[0]])}, and the one before says {value_in_words(told[differs[0]])}"
                self._contradict(held, f"the line says of the same change {differs[0]} {values}")
                return
            told |= fields
        says = Says.COMMITS_ISR if held[0].kind is Kind.ALTERED else Says.CHANGES
        if says is Says.COMMITS_ISR:
            if (elected := told.pop("leader", None)) is not None:
                told["elects"] = elected
            told |= {name: value for name, value in held[0].fields.items() if name == "leader"}
        if "version" not in told:
            return  # To 3.9 a controller that stands by prints the committed record alone, and the active one more.
        self._emit(held[0], says, told)

    def _emit(self, fact: Fact, says: Says, fields: dict[str, Any], shown: Fact | None = None) -> None:
        by = CONTROLLER if fact.kind in _BY_CONTROLLER else self._node.number
        where = shown or fact
        if by is None:
            raise SpecUnreadable(
                f"{where.file}:{where.line}: no line of this file up to here says which node it is of; give it together with "
                "the earlier files of its node"
            )
        self._number += 1
        event = Event(fact.at, by, says, fields, where.file, where.line, where.text)
        heapq.heappush(self._out, (*self._place(fact), self._number, event))


def _wrong_append(fact: Fact, fetched: int | None = None, compacts: bool = False) -> str | None:
    """What the line of an append says against itself, or against the fetch that brought the records, if anything.

    Offsets have gaps only in what a follower fetches of a compacted log.
    """
    first, following, last = fact.fields["offset"], fact.fields["next"], fact.fields["last"]
    if last != following - 1:
        return f"the line says last offset {last} and next offset {following}"
    if fetched is not None and (first < fetched or (first > fetched and not compacts)):
        return f"the line says first offset {first}, and the one of the answer that its log ended at {fetched}"
    return None
