"""Searches that several questions share, and asking none twice.

`Searches` answers tasks of one property each. Two of them become one search where one exploration decides both exactly:

- Loss and vanishing: a consumer remembers what it read, and nobody but its own reads asks or changes that. So the model with
  a consumer makes the steps of the one without, and reads besides; what is lost, and in how many steps, is the same.
- Duplicates and writes of an idempotent producer: both have one record, and writes are asked about with the larger log.

A shared search ends once all its properties are violated, and has the states of both for its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from acked.audit.decision.questions import QUESTIONS, AuditQuestion
from acked.base.files import PACKAGE
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Answered, Runner, answer_all
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.question.result import StopReason, Verdict
from acked.checker.spec.question_text import QuestionText
from acked.model.partition.rules import settings

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

_LEAST = {settings.consumer.name: settings.NO_CONSUMER, settings.log_size.name: 1}
"""What the first has there."""


@dataclass(frozen=True)
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
    _known: dict[Task, Decided] = field(default_factory=dict, init=False)

    def decide(self, tasks: Iterable[Task | None]) -> None:
        """Searches those that are not known yet, what takes long first."""
        wanted = [task for task in dict.fromkeys(tasks) if task is not None and task not in self._known]
        if not wanted:
            return
        shared = join(wanted)
        open_ = self._search(wanted, shared)
        # Its own bound allows more than the shared search had for it.
        self._search(open_, {task: task for task in open_})

    def __getitem__(self, task: Task) -> Decided:
        return self._known[task]

    def _search(self, wanted: Sequence[Task], by: Mapping[Task, Task]) -> list[Task]:
        """Has all tasks answered, each by the search of another or its own; those that may be decided by their own."""
        searched = sorted(dict.fromkeys(by[task] for task in wanted), key=_weight, reverse=True)
        open_: list[Task] = []
        for done, answered in enumerate(answer_all(searched, self.runner, self.cache), 1):
            search = searched[answered.task]
            for task in wanted:
                if by[task] == search:
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


def _weight(task: Task) -> int:
    """The larger the more states, roughly."""
    constants = dict(task.asked.constants)
    return constants.get("replicas", 1) * constants.get("log_size", 1) * constants.get("records", 1)


# -- what a shared search says of each ----------------------------------------------------------------------------------


def _decision(task: Task, search: Task, answered: Answered) -> Decided:
    if search == task or answered.outcome is None:
        return Decided(task, answered.outcome, answered.failure)
    alone = replace(search, asked=replace(search.asked, properties=task.asked.properties))
    return Decided(alone, part_of_outcome(answered.outcome, *task.asked.properties))


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
