"""The order of a hunt: questions by cost, deeper where nothing is decided, and again without what is known.

What is asked in which order, and which walks are drawn, depends on the questions, the seed and the answers of whole rounds
before, and on neither the clock nor the number of processes; time decides how far it goes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from acked.base.frozen import frozen
from acked.base.plain import from_plain, to_plain
from acked.base.processes import Done, Limits, Lost, Note, ProcessPool
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import ROOM_FOR_CODE, BatchLimits
from acked.checker.batch.outcome import Task
from acked.checker.spec.question_text import QuestionText
from acked.hunt.known.losses import KnownLoss
from acked.hunt.known.mend import Replayed
from acked.hunt.questions.spaces import HuntQuestion
from acked.hunt.search.task import HUNTER, Effort, HuntAnswer, HuntTask, Loss
from acked.model.catalogue import PROTOCOLS

EFFORTS = (
    Effort(30_000, walks=20_000), Effort(400_000), Effort(1, walks=200_000, depth=100, is_playable=True), Effort(4_000_000)
)  # fmt: skip
"""How far a question is gone into, one after the other until it is decided."""

MOST_RARE = 8
"""How many times as often a walk takes the rarest action."""

_KEPT = "hunt"


@frozen
class Unit:
    """A question to be gone into: how far, and without which known losses, by id."""

    question: HuntQuestion
    level: int = 0
    mended: tuple[str, ...] = ()

    @property
    def round(self) -> int:
        """Cheap ones first: what is asked at once, how far, and how often again."""
        return self.question.cost + self.level + len(self.mended)


@frozen
class Sighting:
    """A loss as a question shows it, and the known loss that explains it; None: nothing known does."""

    question: HuntQuestion
    loss: Loss
    known: KnownLoss | None


@dataclass
class Tally:
    """What a hunt has done: units begun of those planned, those from the cache, decided ones, states, walks, steps."""

    planned: int = 0
    asked: int = 0
    kept: int = 0
    decided: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    states: int = 0
    walks: int = 0
    steps: int = 0
    seconds: float = 0.0
    round: int = 0

    def add(self, answer: HuntAnswer, is_kept: bool) -> None:
        """Counts one more answer."""
        self.asked += 1
        self.kept += is_kept
        self.decided += answer.is_decided
        self.states += answer.states
        self.walks += answer.walks
        self.steps += answer.steps
        self.seconds += answer.seconds
        if answer.refused:
            self.refused[answer.refused] += 1


@frozen
class Listener:
    """Told of every answer, of a sighting as soon as it is new to the hunt, and of states or walks of what is under way."""

    answered: Callable[[Tally], None] = lambda tally: None
    seen: Callable[[Sighting], None] = lambda sighting: None
    under_way: Callable[[int], None] = lambda number: None


class Hunt:
    """One hunt; `sightings` and `tally` say what was found so far, whenever it is stopped."""

    def __init__(
        self, questions: Sequence[HuntQuestion], known: Sequence[KnownLoss], all_known: Sequence[KnownLoss], seed: int = 0,
        efforts: Sequence[Effort] = EFFORTS, brokers: tuple[str, str] = ("", ""),
    ) -> None:  # fmt: skip
        """`known` counts as known; answers say of all known losses which explain a loss, so they are kept for any choice."""
        self._all_known, self._known = tuple(all_known), {row.id: row for row in known}
        self._seed, self._efforts, self._brokers = seed, tuple(efforts), brokers
        self._rounds: dict[int, dict[Unit, None]] = {}
        self._taken: Counter[str] = Counter()
        self._passed: set[str] = set()
        self.sightings: dict[tuple[str, ...], Sighting] = {}
        self.counts: Counter[tuple[str, ...]] = Counter()
        self.tally = Tally()
        for question in questions:
            self._plan(Unit(question))

    def run(
        self, limits: BatchLimits, cache: ResultCache | None = None, listener: Listener | None = None,
        most_rounds: int | None = None,
    ) -> None:  # fmt: skip
        """Goes on until every question is decided or given up; whoever stops it earlier loses nothing that was answered."""
        listener = listener or Listener()
        with ProcessPool(Limits(limits.jobs, float("inf"), 2 * limits.memory + ROOM_FOR_CODE), HUNTER) as pool:
            pool.load((limits.memory, self._all_known))
            while self._rounds and (most_rounds is None or min(self._rounds) < most_rounds):
                self.tally.round = min(self._rounds)
                units = sorted(self._rounds.pop(self.tally.round), key=self._order)
                tasks = [self.task(unit) for unit in units]
                answers: dict[int, HuntAnswer] = {}
                for at, answer, is_kept in answers_of(pool, tasks, cache, self._all_known, listener):
                    answers[at] = answer
                    self.tally.add(answer, is_kept)
                    for sighting in self._sightings(units[at], answer):
                        self._see(sighting, listener)
                    listener.answered(self.tally)
                for at in sorted(answers):
                    self._follow_up(units[at], answers[at])

    def task(self, unit: Unit) -> HuntTask:
        """What a process is given for a unit."""
        mends = [row.mend for row in self._all_known if row.id in unit.mended]
        constants = dict(unit.question.constants)
        for mend in mends:
            constants |= mend.changes(constants)
        asked = QuestionText(unit.question.protocol, tuple(constants.items()), unit.question.promises, symmetry=True)
        effort = self._efforts[unit.level]
        rare = self._rare(unit.question.protocol) if unit.level else ()
        bars = tuple(bar for mend in mends for bar in mend.bars)
        return HuntTask(asked, bars, effort, self._draw(unit), rare, self._brokers)

    # -- what comes next --------------------------------------------------------------------------------------------------

    def _plan(self, unit: Unit) -> None:
        self._rounds.setdefault(unit.round, {})[unit] = None
        self.tally.planned += 1

    def _order(self, unit: Unit) -> tuple[int, int, int]:
        """What most people run first, of that what needs the fewest faults, and by the seed."""
        return unit.question.unusual, len(unit.question.faults), self._draw(unit)

    def _draw(self, unit: Unit) -> int:
        question = unit.question
        asked = (question.protocol, question.constants, question.promises, unit.level, unit.mended)
        text = json.dumps([self._seed, to_plain(asked)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")

    def _rare(self, protocol: str) -> tuple[tuple[str, int], ...]:
        """Actions by how much more often walks take them: the rarer so far, and those of no trace of a known loss twice."""
        actions = PROTOCOLS[protocol].actions
        most = max((self._taken[item.name] for item in actions), default=0)
        weights = {}
        for item in actions:
            ratio = most / max(self._taken[item.name], 1)
            weights[item.name] = min(1 + int(ratio).bit_length() // 2, MOST_RARE) * (1 if item.name in self._passed else 2)
        return tuple(sorted(weights.items()))

    def _follow_up(self, unit: Unit, answer: HuntAnswer) -> None:
        self._taken.update(answer.taken)
        broken = {loss.promise for loss in answer.losses}
        left = tuple(name for name in unit.question.promises if name not in broken)
        if not answer.is_decided and not answer.refused and left and unit.level + 1 < len(self._efforts):
            self._plan(replace(unit, question=replace(unit.question, promises=left), level=unit.level + 1))
        mended: dict[str, list[str]] = {}
        for sighting in self._sightings(unit, answer):
            if sighting.known is not None:
                self._passed |= {name for name, _ in sighting.loss.run.fired}
                if sighting.known.is_open and not self._is_fault(sighting):
                    mended.setdefault(sighting.known.id, []).append(sighting.loss.promise)
        if mended:
            again = tuple(name for name in unit.question.promises if any(name in names for names in mended.values()))
            self._plan(Unit(replace(unit.question, promises=again), 0, (*unit.mended, *sorted(mended))))

    def _is_fault(self, sighting: Sighting) -> bool:
        """Whether only a fault that does not happen prevents the loss: without that, it is another question."""
        assert sighting.known is not None
        return bool(set(sighting.known.mend.constants) & set(sighting.question.possible_faults))

    # -- what was seen ----------------------------------------------------------------------------------------------------

    def _sightings(self, unit: Unit, answer: HuntAnswer) -> Iterator[Sighting]:
        for loss in answer.losses:
            if not self._happens(unit, loss):
                continue
            known = (self._known[name] for name in loss.known_as if name in self._known and name not in unit.mended)
            yield Sighting(unit.question, loss, next(known, None))

    def _happens(self, unit: Unit, loss: Loss) -> bool:
        """Whether a loss that was found with the rules of a mend happens with those of the release, too."""
        own = dict(unit.question.constants)
        rules = {name for row in self._all_known if row.id in unit.mended for name in row.mend.constants}
        if not rules:
            return True
        asked = QuestionText(unit.question.protocol, loss.constants, (loss.promise,))
        question, run = Task(asked).question_about(loss.run)
        return Replayed(question, run).breaks_under({name: own[name] for name in rules})

    def _see(self, sighting: Sighting, listener: Listener) -> None:
        key = key_of(sighting)
        self.counts[key] += 1
        before = self.sightings.get(key)
        if before is None or _rank(sighting) < _rank(before):
            self.sightings[key] = sighting
        if before is None:
            listener.seen(sighting)


def key_of(sighting: Sighting) -> tuple[str, ...]:
    """What makes two sightings one: the promise and the known loss; of what is new the actions of the run."""
    name = sighting.question.protocol
    if sighting.known is not None:
        return name, sighting.loss.promise, sighting.known.id, *faults_of(sighting)
    return name, sighting.loss.promise, "", *sorted({action for action, _ in sighting.loss.run.fired})


def faults_of(sighting: Sighting) -> tuple[str, ...]:
    """What goes wrong in the reduced run, by the constants that allow it, with their value where it is not just on."""
    declared = {item.name: item for item in PROTOCOLS[sighting.question.protocol].constants}
    constants = {name: value for name, value in sighting.loss.constants if name in sighting.question.possible_faults}
    return tuple(
        f"{name}={declared[name].show(value)}" if declared[name].names else name for name, value in constants.items() if value
    )


def _rank(sighting: Sighting) -> tuple[int, int, str]:
    return sighting.loss.run.trace_length, len(faults_of(sighting)), json.dumps(sighting.loss.constants)


# -- answers, new and kept ------------------------------------------------------------------------------------------------


def answers_of(
    pool: ProcessPool, tasks: Sequence[HuntTask], cache: ResultCache | None, known: Sequence[KnownLoss], listener: Listener
) -> Iterator[tuple[int, HuntAnswer, bool]]:
    """The answers of tasks by their number, and whether they were kept from before; those first."""
    rows = json.dumps(to_plain(known), sort_keys=True)
    texts = [json.dumps(to_plain(task), sort_keys=True) for task in tasks]
    open_ = []
    for at, text in enumerate(texts):
        kept = None if cache is None else cache.recall(_KEPT, rows, text)
        if kept is None:
            open_.append(at)
        else:
            yield at, from_plain(HuntAnswer, kept), True
    for reply in pool.run([tasks[at] for at in open_]):
        if isinstance(reply, Note):
            listener.under_way(reply.value)
            continue
        answer = reply.value if isinstance(reply, Done) else _lost(reply)
        if cache is not None and isinstance(reply, Done):
            cache.keep(_KEPT, to_plain(answer), rows, texts[open_[reply.task]])
        yield open_[reply.task], answer, False


def _lost(reply: Lost) -> HuntAnswer:
    return HuntAnswer(False, 0, 0, 0, 0.0, (), {}, reply.reason)
