"""Which runs of `partition` can be played on real brokers: actions that cannot be, and what a real cluster does at once.

The model leaves open when somebody gets round to something; a controller elects at once, a leader asks for another ISR at
once. Here that becomes further clauses of the actions, so a search finds the shortest run that can be played, and of a given
run the first clause that is false is the reason why it cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.nodes.leadership import moves_only_in_sync
from acked.cluster.playing.protocol import without_steps
from acked.cluster.playing.script import Refusal, first_refusal
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.driver import ACTIONS, HEARS
from acked.cluster.wire.client import FOLLOWERS_SERVE
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.model.language.quantify import each, every, truth
from acked.model.language.semantics import Guard
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Bool
from acked.model.partition.common import presumes_leadership
from acked.model.partition.protocol import partition
from acked.model.partition.rules.controllers import are_many
from acked.model.partition.rules.settings import assigned, caught_up_stay
from acked.model.partition.state import Candidate, Replica, State
from acked.model.partition.vocabulary.candidates import is_in_charge

_WAITS = "whether the high watermark waits for a follower outside the ISR depends on how long ago that one had caught up"
_RACE = "it is a race inside one broker, which drops the connection when its role changes"
_REMOVAL = "nothing outside a broker comes between its new leader epoch and the removal of its fetcher"
_LATE = "no step of the driver holds an answer to a fetch while its follower hears who leads; exercises came to it by chance"
_ASKS_WHEN_FETCHED = "a leader asks when it is fetched from, and by that fetch it would learn more than it knows here"
_REASONS: Mapping[str, str] = {
    "ProduceWhileHwWaits": _WAITS,
    "FetchWhileHwWaits": _WAITS,
    "LearnIsrWhileHwWaits": _WAITS,
    "ShrinkIsrWhileHwWaits": _WAITS,
    "FetchLate": _LATE,
    "FetchLateWhileHwWaits": _LATE,
    "LateRecordsCount": _LATE,
    "LateRecordsAreMixed": "nothing outside a broker comes between the parts of an answer that it sends",
    "FetchDivergingLate": _RACE,
    "LateAnswerCounts": _RACE,
    "LateAnswerIsDropped": _RACE,
    "BecomeFollowerBeforeRemoval": _REMOVAL,
    "BecomeFollowerAsToldBeforeRemoval": _REMOVAL,
    "RemoveFormerFetcher": _REMOVAL,
    "ReadBeforeTruncation": "nothing outside a broker comes between its new high watermark and the truncation right after it",
    "RestartUnnoticed": "a broker cannot register again before its former session has ended",
    "ReturnWithEmptyDisk": "a broker cannot register again before its former session has ended",
    "LoseAnswer": "a leader asks again when its connection to the controller breaks",
    "Halt": "the process ends, and starts again only by hand",
    "MoveDirectory": "brokers here have one log directory each",
    "ChangeConfiguration": "no step of the driver sets a topic's configuration",
    **dict.fromkeys(
        (
            *("CancelMove", "CancelMoveUncleanly", "DeleteReplica"),
            *("ReassignInZookeeper", "CancelInZookeeper", "CompleteInZookeeper", "RemoveFromIsr"),
        ),
        "of reassignments the driver has the start alone, with KRaft; brokers hear of the rest together with everything else",
    ),
    **dict.fromkeys(
        (
            *("TakeOutAsController", "ElectAsController", "ElectUncleanlyAsController", "FailToTakeEpoch"),
            *("RefuseOldController", "StopReplicaLate", "AnswerFromBehind"),
        ),
        "of several controllers the driver has who is the controller, a move of leadership by one that is it no longer, and "
        "what brokers hear from the one that is",
    ),
}
"""By action why no step of the driver brings it about, where more can be said than that."""
NOT_PLAYED = without_steps(partition, ACTIONS, _REASONS)
"""By action why it is not played. All others are, if the clauses of `_Clauses` hold."""
TIMED: Mapping[str, str] = dict.fromkeys(
    ("ShrinkIsr", "AskToShrink"), "how slow is too slow is decided by the leader's clock (replica.lag.time.max.ms)"
)
"""Actions that are played, but end by time, so a search does without them if it can."""

_MAY_WAIT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Produce", "Retry"), ("ProduceWhileHwWaits",)),
    **dict.fromkeys(("FetchRecord", "FetchAtOnce", "FetchNothingNew", "FetchUnanswered"), ("FetchWhileHwWaits",)),
    "LearnIsr": ("LearnIsrWhileHwWaits",),
    "ShrinkIsr": ("ShrinkIsrWhileHwWaits",),
}
"""By action those that are the same but for a high watermark that waits."""

REPORTS = "ReportDirectory"
ELECTIONS = ("ElectLeader", "ElectUncleanly")
_RACES = ("CreateControllerNode", "TakeControllerEpoch", "BecomeController")
_HEARS_OF_CONTROLLER = ("HearOfController", "BecomeLeaderAsTold", "BecomeFollowerAsTold")
_BROKERS_LIVE = ("Crash", "ShutDown", "Restart", "LoseSession", "RegainSession", "ReplaceDisk", "ReturnWithEmptyDisk")


@frozen
class _Clause:
    """What must hold for a step to be played, beside its own guard, and what to say if it does not."""

    reason: str
    condition: Expr


def playable(question: Question, brokers: Brokers, is_timed: bool = False) -> Question:
    """The question about the runs that can be played: fewer actions, further clauses; `is_timed`: also those of `TIMED`."""
    _check_protocol(question, brokers.chosen_mode)
    made = question.instance.protocol.instantiate(question.instance.constants, question.instance.dropped)
    clauses = _Clauses(made, brokers)
    made.actions = tuple(
        _add_clauses(made, step, clauses.gather(step))
        for step in made.actions
        if step.action.name not in NOT_PLAYED and step.action.name != "FetchRecord"
        and (is_timed or step.action.name not in TIMED)
    )
    return Question(made, question.properties)


def refusal(question: Question, run: Run, brokers: Brokers) -> Refusal | None:
    """The first step of a run that cannot be played; None if all can."""
    _check_protocol(question, brokers.chosen_mode)
    clauses = _Clauses(question.instance, brokers)

    def reason(at: int) -> str | None:
        step = run.actions[at]
        name = step.action.name
        if name in NOT_PLAYED:
            return NOT_PLAYED[name]
        codes = question.instance.schema.unpack(run.states[at])
        for clause in clauses.gather(step):
            if not Evaluator([clause.condition])(codes)[0]:
                return clause.reason
        before = run.actions[at - 1] if at else None
        is_late = name == "AskToExpand" and not _is_asked_by(step, before) and _knows_less(question.instance, codes, step)
        return _ASKS_WHEN_FETCHED if is_late else None

    return first_refusal(run, reason)


def _is_asked_by(step: ActionInstance, before: ActionInstance | None) -> bool:
    """Whether the step before is the fetch that makes the leader ask."""
    names = ("follower", "leader")
    return (
        before is not None
        and before.action.name.startswith("Fetch")
        and all(before.arguments[key] == step.arguments[key] for key in names)
    )


def _knows_less(instance: Instance, codes: Sequence[int], step: ActionInstance) -> bool:
    """Whether another fetch would tell the leader more of the follower's log end than it knows."""
    state = instance.schema.decode(codes)
    leader, follower = cast(int, step.arguments["leader"]), cast(int, step.arguments["follower"])
    return bool(state["known_end"][leader][follower] != state["log"][follower]["end"])


def _check_protocol(question: Question, mode: Mode) -> None:
    found, constants = question.instance.protocol, question.instance.constants
    if found is not partition:
        raise ConfigurationError(f"real brokers play traces of {partition.name}, and this one is of {found.name}")
    if are_many(constants) and mode is not Mode.ZOOKEEPER:
        raise ConfigurationError("several controllers are there with ZooKeeper alone; name a release to 3.9 with --kafka")
    first, brokers = constants[assigned.name], constants["replicas"]
    if 0 < first < brokers:
        raise ConfigurationError(
            f"the partition begins with {first} replicas on {brokers} brokers, and the driver gives every broker one"
        )


def _add_clauses(instance: Instance, step: ActionInstance, clauses: Iterable[_Clause]) -> ActionInstance:
    guards = tuple(Guard(clause.reason, clause.condition, step.action.file, step.action.line) for clause in clauses)
    return replace(
        step,
        guards=(*step.guards, *guards),
        guard=instance.pool.all([step.guard, *(guard.condition for guard in guards)]),
    )


class _Clauses:
    """The further clauses of steps, over the states of one instance."""

    def __init__(self, instance: Instance, brokers: Brokers) -> None:
        self._instance, self._brokers = instance, brokers
        pool = instance.pool
        steps = instance.actions
        election = pool.any(step.guard for step in steps if step.action.name in ELECTIONS)
        asked = pool.any(step.guard for step in steps if step.action.name == "AskToExpand")
        heard = pool.any(self._heard_at_once(step) for step in steps if step.action.name in HEARS)
        self._nobody_elected = _Clause("there is no leader, and a controller elects one at once", pool.not_(election))
        self._nothing_asked = _Clause("a leader asks for a follower that has caught up at once", pool.not_(asked))
        self._nothing_heard = _Clause(
            "with KRaft a broker that restarts follows the metadata before it is in office, so it hears at once who leads",
            pool.not_(heard),
        )
        reported = pool.any(step.guard for step in steps if step.action.name == REPORTS)
        self._candidates = _OfCandidates(instance) if are_many(instance.constants) else None
        self._nothing_reported = _Clause("a broker tells of its new directory at once", pool.not_(reported))
        self._is_kraft = brokers.chosen_mode is Mode.KRAFT

    def gather(self, step: ActionInstance) -> list[_Clause]:
        """The clauses of a step."""
        name = step.action.name
        if name in ELECTIONS:
            return []
        clauses = [self._nobody_elected]
        if self._candidates is not None:
            clauses += self._candidates.gather(step)
        if name in HEARS:
            return clauses
        if self._is_kraft:
            clauses.append(self._nothing_heard)
        if name == REPORTS:
            return clauses
        clauses.append(self._nothing_reported)
        if name != "AskToExpand":
            clauses.append(self._nothing_asked)
        if name in TIMED:
            reason = "a leader removes all at once that are too slow, which here are all followers that lag"
            clauses.append(_Clause(reason, self._removes_all_too_slow(step)))
        if name == "MoveLeadership" and moves_only_in_sync(self._brokers.release, self._brokers.chosen_mode):
            reason = "to 2.3 leadership is moved by a reassignment, which waits for all replicas to be in sync"
            state_predicate = self._instance.state_predicate
            in_sync = state_predicate("playable", lambda s: every(Replica, lambda r: s.controller.isr.contains(r)))
            clauses.append(_Clause(reason, in_sync))
        if name == "Read" and self._brokers.release.number < FOLLOWERS_SERVE:
            leads = self._predicate(lambda s, r: presumes_leadership(s, r), step.arguments["broker"])
            clauses.append(_Clause("followers answer consumers since 2.4 (KIP-392)", leads))
        return clauses + self._fetch_clauses(step) + self._mark_clauses(step)

    def _mark_clauses(self, step: ActionInstance) -> list[_Clause]:
        """A high watermark may rise only where it cannot wait, either, for a follower outside the ISR (KAFKA-4485)."""
        named = [key for key in ("leader", "follower", "record") if key in step.arguments]
        twins = [
            other.guard
            for other in self._instance.actions
            if other.action.name in _MAY_WAIT.get(step.action.name, ())
            and all(other.arguments[key] == step.arguments[key] for key in named)
        ]
        return [_Clause(_WAITS, self._instance.pool.not_(self._instance.pool.any(twins)))] if twins else []

    def _removes_all_too_slow(self, step: ActionInstance) -> Expr:
        leader, removed = step.arguments["leader"], cast(list[int], step.arguments["followers"])
        others = [other for other in range(self._instance.constants["replicas"]) if other != leader]
        slow = {other: self._predicate(partial(self._is_too_slow, other), leader) for other in others}
        return self._instance.pool.all(
            slow[other] if other in removed else self._instance.pool.not_(slow[other]) for other in others
        )

    def _is_too_slow(self, follower: int, s: State, leader: Replica) -> Bool:
        """Whether a member of the leader's ISR lags; to 2.0 whoever does not fetch is too slow, caught up or not."""
        other = each(Replica)[follower]
        lags = s.known_end[leader][other] < s.log[leader].end
        always = truth(not self._instance.constants[caught_up_stay.name])
        return s.broker[leader].isr.contains(other) & (always | lags)

    def _fetch_clauses(self, step: ActionInstance) -> list[_Clause]:
        arguments, name = step.arguments, step.action.name
        if name == "FetchAtOnce":
            return [_Clause("a fetch brings one record here, which is how these brokers are set up", self._brings_one(step))]
        if name == "FetchRecord":
            # What it brings is the high watermark from after the fetch; a record that is there already comes at once.
            pool, names = self._instance.pool, ("follower", "leader")
            at_once = [
                pool.and_(self._brings_one(twin), pool.eq(self._mark_after(step), self._mark_after(twin)))
                for twin in self._instance.actions
                if twin.action.name == "FetchAtOnce" and all(twin.arguments[key] == arguments[key] for key in names)
            ]
            reason = "the record is there before the fetch, so it is answered at once, with the high watermark from before"
            return [_Clause(reason, pool.any(at_once))]
        return []

    def _brings_one(self, step: ActionInstance) -> Expr:
        end = step.arguments["end"]
        return self._predicate(lambda s, r: s.log[r].end + 1 == end, step.arguments["follower"])

    def _mark_after(self, step: ActionInstance) -> Expr:
        """The follower's high watermark after a fetch."""
        names = [leaf.name for leaf in self._instance.schema.leaves]
        at = names.index(f"broker[{step.arguments['follower']}].hw")
        return dict(step.updates).get(at, self._instance.fields[at])

    def _heard_at_once(self, step: ActionInstance) -> Expr:
        """Whether the step is possible and its broker, which has restarted, knows of no leader epoch yet."""
        broker = step.arguments[HEARS[step.action.name]]
        unknown = self._predicate(lambda s, r: s.broker[r].leader_epoch.is_none, broker)
        return self._instance.pool.and_(step.guard, unknown)

    def _predicate(self, predicate: Callable[[Any, Replica], Bool], broker: Any) -> Expr:
        return self._instance.state_predicate("playable", lambda s: predicate(s, each(Replica)[broker]))


class _OfCandidates:
    """The further clauses where there may be several controllers."""

    def __init__(self, instance: Instance) -> None:
        pool, self._instance = instance.pool, instance
        races = pool.any(step.guard for step in instance.actions if step.action.name in _RACES and not _shrinks(step))
        self._nobody_races = _Clause("there is no controller, and another broker becomes it at once", pool.not_(races))
        self._nobody_resigns = {
            c: _Clause(
                "an old controller that has done what it had begun hears at once that it is the controller no longer",
                pool.not_(self._predicate(_has_sent_in_vain, c)),
            )
            for c in range(instance.constants["candidates"])
        }

    def gather(self, step: ActionInstance) -> list[_Clause]:
        """The clauses of a step."""
        name, candidate = step.action.name, cast(int, step.arguments.get("controller", -1))
        resigns = candidate if name == "ResignAsController" else None
        clauses = [clause for other, clause in self._nobody_resigns.items() if other != resigns]
        if name not in _RACES:
            clauses.append(self._nobody_races)
        elif _shrinks(step):
            clauses.append(self._never("a new controller leaves followers that are gone in the ISR"))
        if name in _BROKERS_LIVE:
            clauses.append(self._never("the driver ends no broker where there may be several controllers"))
        if name == "MoveLeadershipAsController":
            reason = "of moves of leadership the driver has what the first controller had begun while it was in office"
            is_old = _Clause(reason, self._instance.pool.not_(self._predicate(is_in_charge, candidate)))
            clauses.append(is_old if candidate == 0 else self._never(reason))
        if name in _HEARS_OF_CONTROLLER:
            reason = "what an old controller has sent comes to nothing, as its connections end when it resigns"
            clauses.append(_Clause(reason, self._predicate(is_in_charge, candidate)))
        return clauses

    def _never(self, reason: str) -> _Clause:
        return _Clause(reason, self._instance.state_predicate("playable", lambda s: truth(False)))

    def _predicate(self, predicate: Callable[[Any, Candidate], Bool], candidate: int) -> Expr:
        return self._instance.state_predicate("playable", lambda s: predicate(s, each(Candidate)[candidate]))


def _has_sent_in_vain(s: State, c: Candidate) -> Bool:
    """Whether somebody who is the controller no longer has written something, and no broker has heard of it."""
    return s.candidate[c].active & ~is_in_charge(s, c) & ~s.candidate[c].due.is_empty


def _shrinks(step: ActionInstance) -> bool:
    return bool(step.arguments.get("shrinks", False))

