"""What one event may be in the model: steps of `partition`, and what must be so after them.

`Explainer.ways` gives every way to explain an event in a state, likeliest first; `Explainer.reasons` says of an event that
has none which clause forbids it, or what the line tells that is not so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acked.cluster.observation.brokers import Brokers, IsrLines
from acked.cluster.observation.deciding import Decisions
from acked.cluster.observation.describing import cuts_far_enough, involved_in_words, step_in_words
from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.lanes import Rises
from acked.cluster.observation.moves import NOT_ASKED, PASSED_OVER, Move, Plan, Statement, Way, both, move
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State
from acked.model.concrete.reading import Step
from acked.model.language.domain import Plain

FIRST = "BecomeFollowerBeforeRemoval"


class Explainer(Brokers):
    """Explains events about the brokers of one subject; `rises` are those of high watermarks of which lines tell, `without`
    names actions that it may not use.
    """

    def __init__(self, subject: Subject, rises: Rises, without: frozenset[str] = frozenset()) -> None:
        super().__init__(subject, rises)
        self._without = without
        self._found: list[str] | None = None
        self._steps: dict[tuple[str, tuple[tuple[str, Plain], ...]], Step | None] = {}
        decisions, isr = Decisions(subject), IsrLines(subject, rises)
        self._plans: dict[Says, Callable[[Event, State], Iterator[Plan]]] = {
            Says.APPENDS: self._appends,
            Says.NOTES_FETCH: self._notes_fetch,
            Says.TAKES_ANSWER: self._takes_answer,
            Says.LEADS: self._leads,
            Says.FOLLOWS: self._follows,
            Says.REMOVES_FETCHER: self._removes_fetcher,
            Says.LEARNS_ISR: isr.learns_isr,
            Says.ASKS_TO_SHRINK: isr.asks_to_shrink,
            Says.ASKS_TO_EXPAND: isr.asks_to_expand,
            Says.GIVES_UP_ISR: isr.gives_up_isr,
            Says.RAISES_HW: self._raises_hw,
            Says.DELETES: self._deletes,
            Says.TRUNCATES: self._truncates,
            Says.RESTARTS: self._restarts,
            Says.CONTRADICTS: lambda event, state: iter((((), lambda *_: event["wrong"]),)),
            Says.CHANGES: decisions.changes,
            Says.COMMITS_ISR: decisions.commits_isr,
            Says.FENCES: decisions.fences,
            Says.UNFENCES: decisions.unfences,
        }

    def ways(self, event: Event, state: State) -> Iterator[Way]:
        """Every way to explain an event in a state."""
        for moves, told in self._plans[event.says](event, state):
            yield from self._follow(moves, state, told)

    def joint_ways(self, noted: Event, answer: Event, state: State) -> Iterator[Way]:
        """Every way in which the lines of a leader and a follower tell of one fetch, answered before it was noted."""
        if not self.reads_too_far(answer, state):
            yield from self._answered_at_once(noted, answer, state, self._note(noted))

    def _answered_at_once(self, noted: Event, answer: Event, state: State, leader_tells: Statement) -> Iterator[Way]:
        follower, leader = self.me(answer), self.me(noted)
        end = answer["offset"] + answer["records"]
        told = both(leader_tells, self._answer(answer, by_itself=False))
        for action in ("FetchAtOnce", "FetchWhileHwWaits"):
            fetch = move(action, end, follower=follower, leader=leader)
            yield from self._follow((fetch, *self._expansion(noted, leader, state)), state, told)

    def before_removal(self, event: Event, state: State) -> Iterator[Way]:
        """Every way to explain that a follower hears who leads while its fetcher goes on with the former leader."""
        for moves, told in self._follows(event, state, FIRST):
            yield from self._follow(moves, state, told)

    def departing_ways(self, event: Event, answer: Event, state: State, goes_on: bool = False) -> Iterator[Way]:
        """Every way to explain a leader's note of a fetch, or what its follower hears, after an answer has departed.

        `goes_on`: the follower's fetcher goes on with the former leader.
        """
        if answer.says is Says.TRUNCATES:
            yield from self._departing_truncations(event, answer, state)
            return
        follower, leader = self.subject.index[answer.by], self.subject.index.get(answer["leader"], -1)
        theirs, took = self.subject.at[leader], answer["leader_hw"]
        read = self.is_code(theirs.hw, took, "that the leader's HW was", took, before=True)
        plans = list(self._follows(event, state, FIRST) if goes_on else self._plans[event.says](event, state))
        if event.says is Says.NOTES_FETCH:
            plans = [(self._expansion(event, leader, state), self._note(event))]
        else:
            read = both(read, lambda was, now: None if was[theirs.hw] == now[theirs.hw] else "the HW rises untold")
        for action in ("FetchLate", "FetchLateWhileHwWaits"):
            departs = move(action, answer["offset"] + answer["records"], follower=follower, leader=leader)
            for moves, told in plans:
                yield from self._follow((departs, *moves), state, both(read, told))

    def _departing_truncations(self, event: Event, truncates: Event, state: State) -> Iterator[Way]:
        me, place = self.mine(truncates)
        departs = move("FetchDivergingLate", follower=me, leader=state[place.leader] - 1)
        to = self.is_code(place.late_cut, 1 + truncates["to"], "that the log is cut to", truncates["to"])
        for moves, told in list(self._plans[event.says](event, state)):
            yield from self._follow((departs, *moves), state, both(to, self._carries(place.late_hw, truncates), told))

    def is_told_to_truncate(self, broker: int, state: State) -> bool:
        """Whether the broker's log diverges from its leader's, so that an answer may tell it to truncate."""
        leader = state[self.subject.at[broker].leader] - 1
        departs = move("FetchDivergingLate", follower=broker, leader=leader)
        return leader not in (-1, broker) and self._take(departs, state) is not None

    def reasons(self, event: Event, state: State) -> tuple[str, ...]:
        """Why an event has no explanation in a state; empty if it has one."""
        self._found = []
        try:
            for _ in self.ways(event, state):
                return ()
            return tuple(dict.fromkeys(self._found)) or ("the rules have no such step",)
        finally:
            self._found = None

    # -- following a plan -----------------------------------------------------------------------------------------------

    def _follow(self, moves: tuple[Move, ...], state: State, told: Statement) -> Iterator[Way]:
        """The plan if it can be followed, and what the line tells of the states before and after it is true."""
        reached, taken = state, moves
        for number, item in enumerate(moves):
            after = self._take(item, reached)
            if after is None and (removal := self._removal(item, reached)) is not None:
                between = self._take(removal, reached)
                after = None if between is None else self._take(item, between)
                at = number + len(taken) - len(moves)
                taken = (*taken[:at], removal, *taken[at:])
            if after is None:
                return
            reached = after
        wrong = told(state, reached)
        if wrong is None:
            yield Way(taken, reached)
        elif self._found is not None:
            steps = ", then ".join(step_in_words(self.subject, item) for item in moves)
            self._found.append(f"after {steps}: {wrong}" if steps else wrong)

    def _removal(self, item: Move, state: State) -> Move | None:
        """The removal of a fetcher that goes on, which comes before the step at the latest: not every log tells of it."""
        for name, broker in item.bound:
            if name in ("follower", "leader", "broker") and isinstance(broker, int) and state[self.subject.at[broker].former]:
                return move("RemoveFormerFetcher", follower=broker)
        return None

    def _take(self, item: Move, state: State) -> State | None:
        if item.action == PASSED_OVER:
            epoch, [wanted] = self.subject.epoch, item.numbers
            return (*state[:epoch], max(state[epoch], wanted), *state[epoch + 1 :])
        if item.action == NOT_ASKED:
            pending = self.subject.at[item.numbers[0]].pending
            return (*state[:pending], 0, *state[pending + 1 :]) if state[pending] else None
        key = (item.action, item.bound)
        step = self._steps.get(key)
        if step is None:
            if item.action in self._without or not self.subject.concrete.has(item.action):
                return None
            if key not in self._steps:
                self._steps[key] = step = self.subject.concrete.step(item.action, **dict(item.bound))
        if step is None:
            if self._found is not None:
                self._found.append(f"{step_in_words(self.subject, item)} is never possible")
            return None
        after = step.take(state, *item.numbers)
        if not isinstance(after, int):
            return after
        if self._found is not None:
            self._found.append(self._refusal(item, step, state))
        return None

    def _refusal(self, item: Move, step: Step, state: State) -> str:
        holds = step.holds(state, *item.numbers)
        labels = [f"“{guard.label}”" for guard, so in zip(step.guards, holds, strict=True) if not so]
        step_named, held = step_in_words(self.subject, item), involved_in_words(self.subject, item, state)
        return f"{step_named} is forbidden: {', '.join(labels)} is not so ({held})"

    # -- what brokers' lines tell ---------------------------------------------------------------------------------------

    def _appends(self, event: Event, state: State) -> Iterator[Plan]:
        me, place = self.mine(event)
        batch = event["next"] - event["offset"]
        first = self.is_code(place.end, event["offset"], "first offset", event["offset"], before=True)
        told = both(first, self.hw_rises(event))
        if batch < 1:
            yield (), lambda *_: f"the line says that {batch} records were appended"
            return
        for action in ("Produce", "ProduceWhileHwWaits"):
            yield (move(action, batch, leader=me, answered=True),), told

    def _note(self, event: Event) -> Statement:
        follower = self.subject.index.get(event["follower"])
        if follower is None:
            return self.stranger(event["follower"])
        told = both(self._fetches_at(event), self.hw_rises(event))
        asks = event.get("asks_to_add")
        if asks is None:
            return told
        _, place = self.mine(event)

        def pending(before: State, after: State) -> str | None:
            wanted = before[place.isr] | self.subject.mask([asks])
            return None if after[place.pending] == wanted else f"the line says that broker {asks} is to join the ISR"

        return both(told, self.from_isr(event), pending)

    def _fetches_at(self, event: Event) -> Statement:
        end = self.subject.at[self.subject.index[event["follower"]]].end
        return self.is_code(end, event["offset"], f"that broker {event['follower']} fetches at", event["offset"], before=True)

    def _expansion(self, event: Event, leader: int, state: State) -> tuple[Move, ...]:
        asks = event.get("asks_to_add")
        if asks is None or self.is_in_flight(event, asks, state):
            return ()
        return (move("AskToExpand", leader=leader, follower=self.subject.index.get(asks, -1)),)

    def _notes_fetch(self, event: Event, state: State) -> Iterator[Plan]:
        leader, follower = self.me(event), self.subject.index.get(event["follower"])
        told = self._note(event)
        if follower is None:
            yield (), told
            return
        end, expands = state[self.subject.at[follower].end], self._expansion(event, leader, state)
        yield (move("FetchUnanswered", follower=follower, leader=leader), *expands), told
        # The high watermark waits; whatever the answer brings comes with a line of its own.
        yield (move("FetchWhileHwWaits", end, follower=follower, leader=leader), *expands), told

    def _answer(self, event: Event, by_itself: bool) -> Statement:
        leader = self.subject.index.get(event["leader"])
        if leader is None:
            return self.stranger(event["leader"])
        (_, place), end = self.mine(event), event["offset"] + event["records"]
        theirs = self.subject.at[leader]
        leaves = (theirs.hw, theirs.isr, theirs.pending, *theirs.known)
        took = event["leader_hw"]

        def check(before: State, after: State) -> str | None:
            if before[place.end] != event["offset"]:
                return f"the line says log end {event['offset']}, and by the rules it is {before[place.end]}"
            if after[place.end] != end:
                return f"the line says that the log then ends at {end}, and by the rules it is {after[place.end]}"
            if before[theirs.hw] != took:
                return f"the line says that the leader's HW was {took}, and by the rules it was {before[theirs.hw]}"
            if by_itself and any(before[leaf] != after[leaf] for leaf in leaves):
                return f"broker {event['leader']} has not noted a fetch at {event['offset']}"
            return None

        return check if event.get("cut") else both(check, self.hw_moves(event))

    def reads_too_far(self, answer: Event, state: State) -> bool:
        """Whether an answer has more than its leader's log: most ways that lead nowhere end here, before any is made.

        Where it is asked why, they are made, so that the clause that forbids them is named.
        """
        leader = self.subject.index.get(answer["leader"])
        if leader is None or self._found is not None:
            return False
        return bool(state[self.subject.at[leader].end] < answer["offset"] + answer["records"])

    def _takes_answer(self, event: Event, state: State) -> Iterator[Plan]:
        leader, (me, place) = self.subject.index.get(event["leader"]), self.mine(event)
        if self.reads_too_far(event, state) and not state[place.late_leader]:
            return
        told = self._answer(event, by_itself=True)
        if leader is None:
            yield (), told
            return
        end = event["offset"] + event["records"]
        if state[place.late_leader] == leader + 1:
            yield (move("LateRecordsCount", follower=me),), both(
                self.is_code(place.end, event["offset"], "log end", event["offset"], before=True),
                self.is_code(place.end, end, "that the log then ends at", end),
                self.is_code(place.late_hw, event["leader_hw"], "that the leader's HW was", event["leader_hw"], before=True),
                self.hw_moves(event),
            )
        for action in ("FetchAtOnce", "FetchWhileHwWaits"):
            yield (move(action, end, follower=me, leader=leader),), told

    def _leads(self, event: Event, state: State) -> Iterator[Plan]:
        me, place = self.mine(event)
        yield (move("BecomeLeader", leader=me),), both(
            self.is_code(place.end, event["offset"], "log end", event["offset"], before=True),
            self.is_code(place.hw, event["hw"], "HW", event["hw"], before=True),
            self.is_code(place.epoch, 1 + event["epoch"], "leader epoch", event["epoch"]),
            self.is_code(place.isr, self.subject.mask(event["isr"]), "ISR", event["isr"]),
            self.hw_rises(event, "raised"),
        )
        yield from self._hears_former_epoch(event, state)

    def _removes_fetcher(self, event: Event, state: State) -> Iterator[Plan]:
        me, place = self.mine(event)
        yield ((move("RemoveFormerFetcher", follower=me),) if state[place.former] else ()), lambda *_: None

    def _follows(self, event: Event, state: State, action: str = "BecomeFollower") -> Iterator[Plan]:
        me, place = self.mine(event)
        named = event.get("leader")
        if named is None:  # Before KRaft the line does not say who leads.
            named = self.subject.brokers[state[self.subject.leader] - 1] if state[self.subject.leader] else -1
        if named < 0:  # Nobody leads, of which the model's brokers hear nothing.
            yield (), self.is_code(place.end, event["offset"], "log end", event["offset"])
            return
        leader = self.subject.index.get(named)
        told = self.is_code(place.epoch, 1 + event["epoch"], "leader epoch", event["epoch"])
        if not event.get("appending"):  # Else log end and high watermark may be those before or after.
            told = both(
                self.is_code(place.end, event["offset"], "log end", event["offset"]),
                self.is_code(place.hw, event["hw"], "HW", event["hw"]),
                told,
            )
        if leader is None:
            yield (), self.stranger(named)
        else:
            follows = move(action, follower=me, leader=leader)
            yield (follows,), told
            if state[self.subject.gone] >> me & 1 and not state[place.down]:
                # In a controlled shutdown the controller gives a broker's part to others and tells it so.
                yield (move("RegainSession", broker=me), follows), told
        yield from self._hears_former_epoch(event, state)

    def _hears_former_epoch(self, event: Event, state: State) -> Iterator[Plan]:
        """A broker that starts again hears of former epochs first, from its own copy of the metadata log (KRaft).

        That is no step: the model's brokers have the newest metadata at once. What it did in such a part is not explained.
        """
        _, place = self.mine(event)
        if state[place.epoch] == 0 and event["epoch"] < state[self.subject.epoch]:
            yield (), self.is_code(place.end, event["offset"], "log end", event["offset"])

    def _deletes(self, event: Event, state: State) -> Iterator[Plan]:
        """Retention, and requests to delete records, take what is below the high watermark (`maybeIncrementLogStartOffset`).

        The model's logs begin at 0: what is deleted counts as there.
        """
        _, place = self.mine(event)
        wanted = event["from"]
        yield (), lambda was, _: None if wanted <= was[place.hw] else (
            f"the line says that what is below {wanted} is deleted, and by the rules HW is {was[place.hw]}"
        )

    def _raises_hw(self, event: Event, state: State) -> Iterator[Plan]:
        me, place = self.mine(event)
        told = self.is_code(place.hw, event["hw"], "HW", event["hw"])
        yield (), told
        if event.get("cut"):
            for follower in range(len(self.subject.brokers)):
                if follower != me:
                    yield (move("FetchUnanswered", follower=follower, leader=me),), told

    def _truncates(self, event: Event, state: State) -> Iterator[Plan]:
        me, place = self.mine(event)
        told = both(cuts_far_enough(event), self.is_code(place.end, event["to"], "that the log is cut to", event["to"]))
        from_whom = place.former if state[place.former] else place.leader
        leader = state[from_whom] - 1
        if leader >= 0 and event.get("leader") is not None:
            follows = self.is_code(from_whom, 1 + self.subject.index.get(event["leader"], -1), "leader", event["leader"])
            told = both(follows, told)
        if leader >= 0 and leader != me:
            if self.subject.concrete.has("TruncateByEpoch"):
                yield (move("TruncateByEpoch", follower=me, leader=leader),), told
            if event["to"] < state[place.end]:
                hw = event.get("hw")
                took = told if hw is None else both(told, self.is_code(place.hw, min(hw, event["to"]), "HW", hw))
                if state[place.late_cut]:
                    late = self._carries(place.late_hw, event, before=True)
                    yield (move("LateAnswerCounts", follower=me),), both(late, took)
                read = self._carries(self.subject.at[leader].hw, event, before=True)
                yield (move("FetchDiverging", follower=me, leader=leader),), both(read, took)
        yield (), told

    def _carries(self, leaf: int, truncates: Event, before: bool = False) -> Statement:
        """That the answer that tells to truncate had this high watermark, which is told to 3.4.0 (KAFKA-14704)."""
        carried = truncates.get("leader_hw")
        if carried is None:
            return lambda *_: None
        return self.is_code(leaf, carried, "that the leader's HW was", carried, before)

    def _restarts(self, event: Event, state: State) -> Iterator[Plan]:
        me, place = self.mine(event)
        end = state[place.end] if event.get("end") is None else event["end"]
        told = both(self.is_code(place.hw, event["hw"], "HW", event["hw"]), self.is_code(place.end, end, "log end", end))
        crash: tuple[Move, ...] = () if state[place.down] else (move("Crash", end, event["hw"], broker=me),)
        if crash and state[place.leader] == me + 1 and end > state[place.end]:
            # Killed between an append and its line, which come under one lock (`UnifiedLog.append`): so it was one batch.
            crash = (move("Produce", end - state[place.end], leader=me, answered=True), *crash)
        for clean in (True, False):
            yield (*crash, move("Restart", broker=me, is_clean=clean)), told
        if crash and self.subject.concrete.has("RestartUnnoticed"):
            yield (move("RestartUnnoticed", end, event["hw"], broker=me),), told
