"""A question and its answer as plain data, for other processes and for files.

`Task` and `Outcome`, both of them data that `base/plain.py` makes JSON of.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum, unique
from typing import TYPE_CHECKING, Any

from acked.base.frozen import frozen
from acked.base.plain import to_plain
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Probe, Question
from acked.checker.question.result import ActionCount, Result, Run, StopReason, Verdict, Words
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.resolve import protocol_named
from acked.invariants.property import Kind, Property
from acked.model.language.domain import Plain
from acked.model.language.protocol import Instance
from acked.model.language.tracings import Tracings

if TYPE_CHECKING:
    from acked.checker.spec.spec import Spec


@unique
class Probing(Enum):
    """What a search looks for besides violations."""

    NOTHING = "nothing"
    VACUITY = "vacuity"
    COVERAGE = "coverage"


@frozen
class Task:
    """A question to be searched in another process: its text, and how to search it.

    `every_property` has the search go on after a violation, with `until_decided` only while a property is not violated yet;
    `max_depth` and `max_states` bound it.
    """

    asked: QuestionText
    every_property: bool = False
    probing: Probing = Probing.NOTHING
    max_depth: int | None = None
    max_states: int | None = None
    until_decided: bool = False

    @classmethod
    def of(cls, spec: Spec, probing: Probing = Probing.NOTHING) -> Task:
        """What a spec asks."""
        asked = spec.asked
        if probing is Probing.COVERAGE:
            # What is looked for in one action instance must not be looked for in another one instead.
            asked = replace(asked, symmetry=False)
        return cls(asked, spec.wants_every_property, probing)

    def question(self, tracings: Tracings | None = None) -> Question:
        """The question with its expressions; `ModelError` or `ConfigurationError` if there cannot be one.

        `tracings` has what it has in common with questions before it.
        """

        def probes(instance: Instance, properties: tuple[Property, ...]) -> tuple[Probe, ...]:
            match self.probing:
                case Probing.VACUITY:
                    from acked.checker.question.vacuity import vacuity_probes

                    return vacuity_probes(properties)
                case Probing.COVERAGE:
                    from acked.checker.question.coverage import coverage_probes

                    return coverage_probes(instance)
            return ()

        return self.asked.question(probes=probes, tracings=tracings, besides=self.probing.value)

    def question_about(self, broken: FoundViolation) -> tuple[Question, Run]:
        """The question about one violated property with its run, of which no other actions are traced: to tell it."""
        protocol = protocol_named(self.asked.protocol)
        (violated,) = (item for item in self.asked.resolve(protocol) if item.name == broken.property)
        instance = Instance(protocol, dict(self.asked.constants), frozenset(self.asked.drop), is_lazy=True)
        actions = tuple(instance.action_instance(name, arguments) for name, arguments in broken.fired)
        return Question(instance, (violated,)), Run(broken.states, actions, broken.loop)

    @property
    def kin(self) -> object:
        """What it has in common with questions that mostly differ from it in few constants."""
        return self.asked.protocol, self.asked.properties

    @property
    def twin(self) -> object:
        """What it has in common with questions about the same instance, but for clauses that are left out."""
        return self.asked.protocol, self.asked.constants

    @property
    def policy(self) -> StopPolicy:
        """When the search stops."""
        if not self.every_property:
            return StopPolicy.FIRST_VIOLATION
        return StopPolicy.UNTIL_DECIDED if self.until_decided else StopPolicy.EVERY_PROPERTY

    def document(self) -> dict[str, Any]:
        """As JSON."""
        document: dict[str, Any] = to_plain(self)
        return document


@frozen
class FoundViolation:
    """A violated property and its canonical shortest run: packed states, and numbers of the instance's actions.

    `fired` are the same actions by name, with their arguments, so that a run can be told without tracing all others.
    """

    property: str
    kind: Kind
    states: tuple[Words, ...]
    steps: tuple[int, ...]
    loop: int | None = None
    fired: tuple[tuple[str, Mapping[str, Plain]], ...] = ()

    @builtins.property  # the field of that name hides the decorator here
    def trace_length(self) -> int:
        """States in the run."""
        return len(self.states)

    def run(self, question: Question) -> Run:
        """The run, of the question that was asked."""
        return Run(self.states, tuple(question.instance.actions[step] for step in self.steps), self.loop)


@frozen
class Outcome:
    """What `Result` says, as plain data; `fingerprint` is the question's, `seconds` what the search took when it was made."""

    verdict: Verdict
    stopped: StopReason
    distinct_states: int
    generated_states: int
    depth: int
    actions: Mapping[str, ActionCount]
    violations: tuple[FoundViolation, ...]
    probes: Mapping[str, int | None]
    seconds: float
    fingerprint: str
    notes: tuple[str, ...] = field(default=())
    besides: Mapping[str, int] = field(default_factory=dict)
    """What else the runs of the violations violate: see `Result.violated`."""
    is_shipped: bool = False
    """Whether it came with acked (`shipped.py`), and was not searched here."""

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """The plain data of a result."""
        number = {id(step): at for at, step in enumerate(result.question.instance.actions)} if result.violations else {}
        violations = tuple(
            FoundViolation(
                item.property.name,
                item.property.kind,
                item.run.states,
                tuple(number[id(step)] for step in item.run.actions),
                item.run.loop,
                tuple((step.action.name, dict(step.arguments)) for step in item.run.actions),
            )
            for item in result.violations
        )
        return cls(
            result.verdict,
            result.stopped,
            result.distinct_states,
            result.generated_states,
            result.depth,
            dict(result.actions),
            violations,
            dict(result.probes),
            result.seconds,
            result.question.fingerprint,
            result.notes,
            {name: length for name, length in result.violated.items() if name not in result.reported},
        )

    @property
    def reported(self) -> dict[str, int]:
        """The states of the run of every violation."""
        return {item.property: item.trace_length for item in self.violations}

    @property
    def violated(self) -> dict[str, int]:
        """The states of the shortest run of every violated property."""
        return {**self.reported, **self.besides}

    @property
    def never_fired(self) -> list[str]:
        """Actions that were enabled nowhere in what was covered."""
        return [name for name, count in self.actions.items() if count.enabled == 0]

    @property
    def is_repeatable(self) -> bool:
        """Whether another machine would have found the same."""
        return self.stopped not in (StopReason.MEMORY, StopReason.INTERRUPTED)
