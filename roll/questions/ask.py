"""Asks the model what can be lost from a partition's present state on; equal questions once, and answers are kept.

A question is a shape under constants, how the broker stops, and what may fail then. All ways in which the rest of the
partition may be begin one search, breadth first, so the run that shows a loss is a shortest one.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import cached_property

from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.base.plain import from_plain, to_plain
from acked.checker.batch.cache import ResultCache
from acked.checker.question.plan import KernelPlan
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Verdict, Words
from acked.checker.search.local import search
from acked.checker.spec.resolve import property_named
from acked.checker.symmetry.orbits import Orbits
from acked.model.language.tracings import ActionInstance, Tracings
from acked.model.partition.rules import settings
from acked.reports.runs.view import steps_of
from acked.roll.questions.protocol import ANY, DISK, MACHINE, NOTHING, PROCESS, roll
from acked.roll.questions.start import Shape, starts

MAX_STATES = 5_000_000
"""Distinct states of one search; where there are more, the question stays open. Three replicas have some 10,000."""

FEW_REPLICAS = 3
"""With more, a move under way is asked about with one record that is sent once, as the audit asks about moves."""

PROPERTIES = ("AckedRecordsSurvive", "AckedRecordsExist")

_SYMMETRIC_FROM = 4
"""Replicas from which it pays to visit states that differ in brokers' names alone once."""


@unique
class Stop(Enum):
    """How the broker goes down."""

    CLEANLY = "clean"
    BY_KILL = "crash"

    @property
    def action(self) -> str:
        """The action of the model."""
        return "StopCleanly" if self is Stop.CLEANLY else "StopByKill"


@unique
class Failing(Enum):
    """What fails besides, the least first."""

    NOTHING = "nothing"
    PROCESS = "process"
    MACHINE = "machine"
    DISK = "disk"

    @property
    def words(self) -> str:
        """What has to go wrong."""
        return {
            Failing.NOTHING: "with nothing more failing",
            Failing.PROCESS: "if one more process dies",
            Failing.MACHINE: "if one more machine dies, with what it had not flushed",
            Failing.DISK: "if one more disk is lost",
        }[self]

    @property
    def code(self) -> int:
        """As the model has it."""
        return {Failing.NOTHING: NOTHING, Failing.PROCESS: PROCESS, Failing.MACHINE: MACHINE, Failing.DISK: DISK}[self]


@frozen
class Loss:
    """The least that has to fail for a loss, and the shortest run to it, in words over the shape's numbers of replicas."""

    failing: Failing
    steps: tuple[str, ...]


@frozen
class Answer:
    """What can be lost: the `worst`, and every kind of failure by which it can be; nothing if there is none.

    `open_` says why it is not decided, where it is not.
    """

    worst: Loss | None = None
    by: tuple[Failing, ...] = ()
    open_: str = ""


@frozen
class Asked:
    """A question: a shape, how its broker stops (nothing hangs on that where none is stopped), and the constants."""

    shape: Shape
    stop: Stop
    constants: tuple[tuple[str, int], ...]


@frozen
class _Begun(Question):
    """A question that begins in other states than `base`; what is compiled of it does not depend on that."""

    base: Question | None = None

    @classmethod
    def at(cls, base: Question, states: tuple[Words, ...]) -> _Begun:
        """The base, begun in these states."""
        instance = copy.copy(base.instance)
        instance.initial = states
        return cls(instance, base.properties, base.probes, base.is_symmetric, base)

    @cached_property
    def plan(self) -> KernelPlan:
        """What the kernel evaluates."""
        assert self.base is not None
        return self.base.plan

    @cached_property
    def orbits(self) -> Orbits:
        """The representatives of states."""
        assert self.base is not None
        return self.base.orbits

    def refuse_asymmetry(self) -> None:
        """Nothing that the base has not refused."""
        assert self.base is not None
        self.base.refuse_asymmetry()


class _Rules:
    """The protocol under some constants: what all questions under them have in common."""

    def __init__(self, constants: tuple[tuple[str, int], ...], tracings: Tracings) -> None:
        self.instance = roll.instantiate(dict(constants), tracings=tracings)
        properties = tuple(property_named(roll, name) for name in PROPERTIES)
        has = dict(constants)
        is_symmetric = has["replicas"] >= _SYMMETRIC_FROM
        self.question = Question(self.instance, properties, (), is_symmetric)
        self._steps = {step.label: step for step in self.instance.actions}

    def stop(self, stop: Stop, broker: int) -> ActionInstance:
        """The step that stops a broker."""
        return self._steps[f"{stop.action}(broker={broker})"]


@dataclass
class Asker:
    """Answers questions, none of them twice."""

    cache: ResultCache | None = None
    _known: dict[Asked, Answer] = field(default_factory=dict, init=False)
    _rules: dict[tuple[tuple[str, int], ...], _Rules] = field(default_factory=dict, init=False)
    _tracings: Tracings = field(default_factory=Tracings, init=False)

    def answer(self, asked: Asked) -> Answer:
        """The answer, from memory, the cache, or the model."""
        if asked not in self._known:
            self._known[asked] = self._recall(asked) or self._keep(asked, self._decide(asked))
        return self._known[asked]

    def _recall(self, asked: Asked) -> Answer | None:
        found = None if self.cache is None else self.cache.recall("roll", _key(asked))
        return None if found is None else from_plain(Answer, found)

    def _keep(self, asked: Asked, answer: Answer) -> Answer:
        if self.cache is not None and not answer.open_:
            self.cache.keep("roll", to_plain(answer), _key(asked))
        return answer

    def _decide(self, asked: Asked) -> Answer:
        if asked.constants not in self._rules:
            self._rules[asked.constants] = _Rules(asked.constants, self._tracings)
        rules = self._rules[asked.constants]
        found = self._search(rules, asked, ANY)
        if not isinstance(found, Run):
            return Answer(open_=found)
        worst: Loss | None = None
        by = []
        for kind in Failing:
            found = self._search(rules, asked, kind.code)
            if isinstance(found, Run):
                by.append(kind)
                worst = worst or Loss(kind, tuple(step.sentence for step in steps_of(rules.question, found)[1:]))
                if kind is Failing.NOTHING:
                    break  # What more fails changes nothing.
            elif found:
                return Answer(open_=found)
        return Answer(worst, tuple(by))

    def _search(self, rules: _Rules, asked: Asked, failing: int) -> Run | str:
        """A shortest run to a loss; else why that is not decided, and nothing where nothing can be lost."""
        instance, asked_of = rules.instance, asked.shape.asked
        runs = [Run((state,), ()) for state in dict.fromkeys(starts(instance, asked.shape, failing))]
        if asked_of is not None:
            runs = [run.then(instance, rules.stop(asked.stop, asked_of)) for run in runs]
        after = {run.states[-1]: run for run in runs}
        result = search(_Begun.at(rules.question, tuple(after)), Bounds(workers=1, max_states=MAX_STATES))
        if result.verdict is Verdict.VIOLATED:
            run = result.violations[0].run
            first = after[run.states[0]]
            return Run((*first.states, *run.states[1:]), (*first.actions, *run.actions))
        if result.verdict is Verdict.INCOMPLETE:
            return f"{result.distinct_states:,} states were not all: {result.stopped.value}"
        return ""


def _key(asked: Asked) -> str:
    return json.dumps(to_plain(asked), sort_keys=True)


def constants_with(constants: Mapping[str, int], shape: Shape) -> tuple[tuple[str, int], ...]:
    """A configuration's constants as those of a question about this shape."""
    own = {
        settings.replicas: len(shape.roles), settings.log_size: 1, settings.records: 2, settings.max_leader_epoch: 0,
        settings.lossy_crashes: 0, settings.kills: 0, settings.empty_disks: 1, settings.consumer: settings.NO_CONSUMER,
        settings.reassignment: int(shape.is_moving), settings.moves: 1,
        settings.assigned: sum(not role.adding for role in shape.roles) if shape.is_moving else 0,
    }  # fmt: skip
    if shape.is_moving and len(shape.roles) > FEW_REPLICAS:
        own |= {settings.records: 1, settings.retries: 0, settings.idempotence: 0, settings.in_flight: 1}
    return tuple(roll.bind({**constants, **{constant.name: value for constant, value in own.items()}}).items())
