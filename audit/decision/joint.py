"""Searches that several questions share, and asking none twice.

`Searches` answers tasks of one property each. Two of them become one search where one exploration decides both exactly:

- Loss and vanishing: a consumer remembers what it read, and nobody but its own reads asks or changes that. So the model with
  a consumer makes the steps of the one without, and reads besides; what is lost, and in how many steps, is the same.
- Duplicates and writes of an idempotent producer: both have one record, and writes are asked about with the larger log.

A shared search ends once all its properties are violated, and has the states of both for its bound. What a proof for all
constants decides is not searched where answers that ship count, else a proof decides where a search meets its bound; that of
an answer which is asked for besides is then a tenth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

from acked.audit.decision.faults import MAX_STATES_BESIDES, AuditQuestion, Faults, read_faults
from acked.audit.decision.questions import QUESTIONS, without_effect
from acked.base.files import PACKAGE
from acked.base.frozen import frozen
from acked.base.plain import from_plain, to_plain
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Answered, Runner, answer_all
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.question.result import StopReason, Verdict
from acked.checker.spec.question_text import QuestionText
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings

T = TypeVar("T")

OnDecided = Callable[[int, int], None]
"""Told how many searches are done, of how many."""

SHIPPED = PACKAGE / "audit" / "decision" / "shipped.xz"
"""The answers that ship, which `tools/answers/shipped.py` makes."""

_PROPERTY = {question.asked: question.property for question in QUESTIONS}

_JOINED: tuple[tuple[AuditQuestion, AuditQuestion, str], ...] = (
    (AuditQuestion.LOSS, AuditQuestion.VANISHING, settings.consumer.name),
    (AuditQuestion.WRITES, AuditQuestion.DUPLICATES, settings.log_size.name),
)
"""The first is decided by the search of the second, which differs from its own in the constant named, where it has more."""

_PART = 10
"""What part of its bound a search has whose answers decide nothing, and are a no by a proof wherever it ends."""

_LEAST = {settings.consumer.name: settings.NO_CONSUMER, settings.log_size.name: 1}
"""What the first has there."""


@frozen
class Decided:
    """What became of a task: what was searched, as a task of its property alone, and the outcome, or why there is none."""

    task: Task
    outcome: Outcome | None
    failure: str = ""


@dataclass
class Searches:
    """Decides searches, none of them twice; `runner` is what searches, by default a process a core."""

    runner: Runner | None = None
    cache: ResultCache | None = None
    on_decided: OnDecided = lambda done, total: None
    besides: int | None = MAX_STATES_BESIDES
    """The bound of what decides nothing, if it is another than that of what does."""
    _known: dict[Task, Decided] = field(default_factory=dict, init=False)

    def decide(self, tasks: Iterable[Task | None]) -> None:
        """Searches those that are not known yet, what takes long first."""
        wanted = [task for task in dict.fromkeys(tasks) if task is not None and task not in self._known]
        if not wanted:
            return
        shared = join(wanted)
        for task in wanted:
            if self.cache is not None and self.cache.ships and is_proved(task) and self.cache.get(shared[task]) is None:
                self._known[task] = Decided(task, _PROVED)
        left = [task for task in wanted if task not in self._known]
        open_ = self._search(left, self._within(join(left)))
        # Its own bound allows more than the shared search had for it.
        self._search(open_, {task: task for task in open_})

    def _within(self, searches: Mapping[Task, Task]) -> Mapping[Task, Task]:
        """For each task its search, within fewer states where proofs decide all of it and it was only asked for besides."""
        whole = {search for task, search in searches.items() if task.max_states != self.besides or not is_proved(task)}
        if self.cache is not None:
            whole |= {search for search in {*searches.values()} - whole if self.cache.get(search) is not None}
        return {task: search if search in whole else _part(search) for task, search in searches.items()}

    def __getitem__(self, task: Task) -> Decided:
        return self._known[task]

    def kept(self, kind: type[T], inputs: object, find: Callable[[], T]) -> T:
        """What `find` makes of inputs and of what searches decide: read, if any machine would find what was found before."""
        if self.cache is None:
            return find()
        name, key = kind.__name__.lower(), json.dumps([self.cache.ships, to_plain(inputs)])
        known = self.cache.recall(name, key)
        if known is not None:
            return from_plain(kind, known)
        found = find()
        if all(one.outcome is not None and one.outcome.is_repeatable for one in self._known.values()):
            self.cache.keep(name, to_plain(found), key)
        return found

    def _search(self, wanted: Sequence[Task], by: Mapping[Task, Task]) -> list[Task]:
        """Has all tasks answered, each by the search of another or its own; those that may be decided by their own."""
        decides: dict[Task, list[Task]] = {}
        for task in wanted:
            decides.setdefault(by[task], []).append(task)
        searched = sorted(decides, key=_weight, reverse=True)
        open_: list[Task] = []
        for done, answered in enumerate(answer_all(searched, self.runner, self.cache), 1):
            search = searched[answered.task]
            for task in decides[search]:
                decided = self._known[task] = _decision(task, search, answered)
                open_ += [task] if _wants_its_own(task, search, decided.outcome) else []
            self.on_decided(done, len(searched))
        return open_


# -- which questions share a search -------------------------------------------------------------------------------------


def join(tasks: Sequence[Task]) -> Mapping[Task, Task]:
    """For each task the one that is searched for it: itself, or that of two questions."""
    found = {task: task for task in tasks}
    by_text = {task.asked: task for task in reversed(tasks)}
    for larger in tasks:
        for first, second, constant in _JOINED:
            if not _asks(larger, second) or not _may_share(larger, constant):
                continue
            same = (by_text.get(text) for text in _smaller(larger.asked, first, constant))
            smaller = next((task for task in same if task is not None), None)
            if smaller is not None:
                found[smaller] = found[larger] = _both(smaller, larger)
    return found


def _asks(task: Task, question: AuditQuestion) -> bool:
    return task.asked.properties == (_PROPERTY[question],)


def _smaller(larger: QuestionText, first: AuditQuestion, constant: str) -> Iterator[QuestionText]:
    """What the first question may ask where the second asks this."""
    for least in (_LEAST[constant], dict(larger.constants)[constant]):
        constants = tuple((name, least if name == constant else value) for name, value in larger.constants)
        yield replace(larger, constants=constants, properties=(_PROPERTY[first],))


def _may_share(larger: Task, constant: str) -> bool:
    """Without idempotence a log with room for more has many more states, which writes do not need."""
    return constant != settings.log_size.name or bool(dict(larger.asked.constants)[settings.idempotence.name])


def _both(smaller: Task, larger: Task) -> Task:
    bounds = [task.max_states for task in (smaller, larger) if task.max_states is not None]
    return replace(
        larger,
        asked=replace(larger.asked, properties=(*smaller.asked.properties, *larger.asked.properties)),
        every_property=True,
        until_decided=True,
        max_states=2 * min(bounds) if bounds else None,
    )


def _part(search: Task) -> Task:
    return replace(search, max_states=None if search.max_states is None else search.max_states // _PART)


def _weight(task: Task) -> int:
    """The larger the more states, roughly."""
    constants = dict(task.asked.constants)
    return constants.get("replicas", 1) * constants.get("log_size", 1) * constants.get("records", 1)


# -- what a shared search says of each ----------------------------------------------------------------------------------


def _decision(task: Task, search: Task, answered: Answered) -> Decided:
    if search == task or answered.outcome is None:
        return Decided(task, with_proof(task, answered.outcome), answered.failure)
    alone = replace(search, asked=replace(search.asked, properties=task.asked.properties))
    return Decided(alone, with_proof(task, part_of_outcome(answered.outcome, *task.asked.properties)))


def part_of_outcome(outcome: Outcome, name: str) -> Outcome:
    """What a search of several properties says of one, whose violations do not end it."""
    violations = tuple(item for item in outcome.violations if item.property == name)
    if violations:
        return replace(outcome, verdict=Verdict.VIOLATED, violations=violations)
    is_whole = outcome.stopped is StopReason.COMPLETE
    return replace(outcome, verdict=Verdict.HOLDS if is_whole else Verdict.INCOMPLETE, violations=())


def _wants_its_own(task: Task, search: Task, outcome: Outcome | None) -> bool:
    if search == task:
        return False
    if outcome is None:
        return True
    if outcome.verdict is not Verdict.INCOMPLETE:
        return False
    is_larger = search.max_states is not None and (task.max_states is None or 2 * task.max_states > search.max_states)
    return is_larger or outcome.stopped is StopReason.MEMORY


# -- what a proof says where a search met its bound ---------------------------------------------------------------------

# `proved.json` has, of docs/releases.json, the releases and the faults under which no record is lost, read and gone, doubled
# or out of order, for any number of brokers, offsets, records and elections. A question is covered if it has the rules of a
# release of these, the same of what users configure, and nothing more going wrong: what may happen and does not is as if it
# could not.

_CONFIGURED: Mapping[str, int] = {
    settings.acks.name: settings.ACKS_ALL, settings.unclean_election.name: 0, settings.retries.name: 1,
    settings.idempotence.name: 1, settings.delivery_timeout.name: 1,
}  # fmt: skip
"""What the proofs are about besides a release: a producer that may do all that one without retries does, and more."""

_CRASHES = (settings.crashes.name, settings.lossy_crashes.name, settings.kills.name)

_MAY_BE_LESS = frozenset(
    {item.name for item in settings.CIRCUMSTANCES} - {*_CRASHES, settings.consumer.name}
    | {settings.retries.name, settings.delivery_timeout.name}
)
"""What may happen there and need not: it only adds steps."""

_LEAST_IN_SYNC = 2
"""Replicas, and of them in sync, where one machine may die: with fewer nothing is proved."""

_PROVED = Outcome(Verdict.HOLDS, StopReason.MAX_STATES, 0, 0, 0, {}, (), {}, 0.0, "")
"""Of a question of which no state was looked at."""

_PROMISES = {question.property: question.asked for question in QUESTIONS}


def with_proof(task: Task, outcome: Outcome | None) -> Outcome | None:
    """The outcome, which holds where the search met its bound and a proof covers the question."""
    if outcome is None or outcome.verdict is not Verdict.INCOMPLETE or not is_proved(task):
        return outcome
    return replace(outcome, verdict=Verdict.HOLDS)


def is_by_proof(outcome: Outcome) -> bool:
    """Whether an outcome holds by a proof: its search did not see all."""
    return outcome.verdict is Verdict.HOLDS and outcome.stopped is not StopReason.COMPLETE


def is_proved(task: Task) -> bool:
    """Whether a proof for all constants covers what a task of one property asks."""
    if task.asked.protocol != partition.name or len(task.asked.properties) > 1:
        return False
    asked = dict(task.asked.constants)
    promise = _PROMISES.get(task.asked.properties[0])
    if asked[settings.min_insync_replicas.name] > asked[settings.replicas.name]:
        return False  # A search says that nothing is accepted, which is no promise that is kept.
    if promise is AuditQuestion.VANISHING and asked[settings.consumer.name] != settings.FROM_LEADER:
        return False
    alike = tuple(asked[name] for name in _exact_names())
    return any(_covers(cell, asked) for cell in _cells().get((promise, alike), ()))


@cache
def _exact_names() -> tuple[str, ...]:
    """Constants that a question and the proof that covers it have in common."""
    others = {*partition.sizes, *_CRASHES, *_MAY_BE_LESS, settings.consumer.name}
    return tuple(item.name for item in partition.constants if item.name not in others)


@cache
def _cells() -> Mapping[tuple[AuditQuestion | None, tuple[int, ...]], Sequence[Mapping[str, int]]]:
    """The constants of every proof, by what it shows and what it has in common with questions."""
    told = json.loads(SHIPPED.with_name("proved.json").read_text("utf-8"))
    found: dict[tuple[AuditQuestion | None, tuple[int, ...]], list[Mapping[str, int]]] = {}
    for promise, by_faults in told.items():
        for faults, releases in by_faults.items():
            for cell in (_constants(release, read_faults(faults)) for release in releases):
                alike = tuple(cell[name] for name in _exact_names())
                found.setdefault((AuditQuestion(promise), alike), []).append(cell)
    return found


@cache
def _constants(release: str, faults: Faults) -> Mapping[str, int]:
    version, plane = release.split()
    profile = {name: setting.value for name, setting in partition.profile(version, plane).items()}
    return without_effect(partition.bind({**profile, **_CONFIGURED, **faults.constants(False)}))


def _covers(cell: Mapping[str, int], asked: Mapping[str, int]) -> bool:
    if any(asked[name] > cell[name] for name in _MAY_BE_LESS):
        return False
    least = min(asked[settings.replicas.name], asked[settings.min_insync_replicas.name])
    if cell[settings.crashes.name] == settings.LOSSY_CRASHES and least < _LEAST_IN_SYNC:
        return False
    return asked[settings.crashes.name] == settings.NO_CRASHES or all(asked[name] == cell[name] for name in _CRASHES)
