"""Assumptions dropped one at a time: which promises break without, in two small questions of a release that else hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from acked.base.frozen import frozen
from acked.base.processes import Limits, ProcessPool
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import ROOM_FOR_CODE, BatchLimits
from acked.checker.spec.question_text import QuestionText
from acked.hunt.assumptions.evidence import Evidence, evidence_of, read_evidence
from acked.hunt.known.losses import KnownLoss
from acked.hunt.questions.spaces import HuntedRelease, HuntQuestion, questions_of
from acked.hunt.search.hunt import Listener, answers_of
from acked.hunt.search.task import HUNTER, Effort, HuntAnswer, HuntTask
from acked.model.partition.protocol import partition

EFFORT = Effort(30_000, walks=20_000)
FAULTS = ("clean", "zombies", "leadership_moves")
"""What goes wrong in the questions: processes die, sessions are lost, leadership moves."""

_TOPICS = (
    {"acks": "all", "replicas": 2, "min_insync_replicas": 1, "unclean_election": False},
    {"acks": "all", "replicas": 3, "min_insync_replicas": 2, "unclean_election": False},
)


@frozen
class Assumption:
    """A guard clause, or a sentence, and what breaks without: by promise the steps of the shortest trace that was found.

    `is_bound`: without it a field leaves its domain, so it bounds the model. `is_decided`: nothing else breaks in the
    questions that were asked.
    """

    name: str
    evidence: Evidence
    broken: tuple[tuple[str, int], ...]
    is_bound: bool
    is_decided: bool

    @property
    def weight(self) -> tuple[int, int]:
        """The more promises rest on it, and the sooner they break, the heavier; to sort the heaviest first."""
        return -len(self.broken), min((steps for _, steps in self.broken), default=0)


def drop_assumptions(
    hunted: HuntedRelease, known: Sequence[KnownLoss], limits: BatchLimits, cache: ResultCache | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Assumption]:  # fmt: skip
    """Every assumption as soon as it is answered everywhere, first those that the model has no switch for.

    `told` hears how many searches are done.
    """
    names, tasks = [], []
    evidence = read_evidence()
    # Both questions about one assumption together: where the time ends, some have their whole answer.
    for name, task in sorted(_tasks(hunted, known, evidence), key=lambda pair: pair[0]):
        names.append(name)
        tasks.append(task)
    for item in evidence:
        if item.sentence and item.drop is None:
            yield Assumption(item.sentence, item, (), False, False)
    answers: dict[str, list[HuntAnswer]] = {}
    with ProcessPool(Limits(limits.jobs, float("inf"), 2 * limits.memory + ROOM_FOR_CODE), HUNTER) as pool:
        pool.load((limits.memory, known))
        for done, (at, answer, _) in enumerate(answers_of(pool, tasks, cache, known, Listener()), 1):
            told(done, len(tasks))
            mine = answers.setdefault(names[at], [])
            mine.append(answer)
            if len(mine) == names.count(names[at]):
                yield _assumption(names[at], evidence, mine)


def _tasks(
    hunted: HuntedRelease, known: Sequence[KnownLoss], evidence: Sequence[Evidence]
) -> Iterator[tuple[str, HuntTask]]:
    for question in _questions(hunted):
        constants = dict(question.constants)
        concerned = (
            row for row in known
            if row.is_open and any(row.concerns(partition.name, constants, name) for name in question.promises)
        )  # fmt: skip
        mends = [row.mend for row in concerned if not set(row.mend.constants) & set(question.possible_faults)]
        for mend in mends:
            constants |= mend.changes(constants)
        asked = QuestionText(partition.name, tuple(constants.items()), question.promises, symmetry=True)
        bars = tuple(bar for mend in mends for bar in mend.bars)
        for action, labels in partition.labels_under(constants).items():
            for label in dict.fromkeys(labels):
                yield f"{action}: {label}", HuntTask(asked.without((action, label)), bars, EFFORT, 1)
        for item in evidence:
            if item.drop is not None:
                changed = {name: _value(name, value) for name, value in item.drop.items()}
                other = replace(asked, constants=tuple({**constants, **changed}.items()))
                yield item.sentence, HuntTask(other, bars, EFFORT, 1)


def _value(name: str, value: object) -> int:
    return next(item for item in partition.constants if item.name == name).read(value)


def _questions(hunted: HuntedRelease) -> list[HuntQuestion]:
    """For each topic the smallest question in which all of the faults may happen."""
    found = []
    for topic in _TOPICS:
        asked = [item for item in questions_of(hunted, (partition.name,), FAULTS) if dict(item.settings) == topic]
        found.append(min(asked, key=lambda item: (-len(item.faults), item.cost)))
    return found


def _assumption(name: str, known: tuple[Evidence, ...], answers: Sequence[HuntAnswer]) -> Assumption:
    broken: dict[str, int] = {}
    for loss in (loss for answer in answers for loss in answer.losses if not loss.known_as):
        broken[loss.promise] = min(broken.get(loss.promise, 1 << 30), len(loss.run.fired))
    told = next((item for item in known if item.sentence == name), None) or evidence_of(name, known)
    is_bound = any("domain" in answer.refused for answer in answers)
    return Assumption(name, told, tuple(broken.items()), is_bound, all(answer.is_decided for answer in answers))
