"""A question and its answer as plain data, for other processes and for files.

`Task`, `Outcome`, and an outcome as a JSON document and back.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum, unique
from typing import Any

from acked.checker.question.coverage import coverage_probes
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import ActionCount, Result, Run, StopReason, Verdict, Words
from acked.checker.question.user_properties import (
    check_written,
    liveness,
    reach_probes,
    recoverable_named,
    sought,
    written_invariant,
)
from acked.checker.question.vacuity import vacuity_probes
from acked.checker.spec.spec import Spec, property_named, protocol_named
from acked.invariants.property import Kind


@unique
class Probing(Enum):
    """What a search looks for besides violations."""

    NOTHING = "nothing"
    VACUITY = "vacuity"
    COVERAGE = "coverage"


@dataclass(frozen=True)
class Task:
    """A question of a shipped protocol by names; constants are complete and checked (`Protocol.bind`).

    `max_depth` and `max_states` bound the search, `every_property` has it go on after a violation.
    """

    protocol: str
    constants: tuple[tuple[str, int], ...]
    properties: tuple[str, ...]
    drop: tuple[tuple[str, str], ...] = ()
    every_property: bool = False
    probing: Probing = Probing.NOTHING
    max_depth: int | None = None
    max_states: int | None = None
    symmetry: bool = False
    written: tuple[tuple[str, str, str], ...] = ()
    """Invariants that a spec writes: name, predicate, document."""
    reach: tuple[tuple[str, str], ...] = ()
    """What a spec looks for: name, predicate."""
    liveness: tuple[tuple[str, str | None, str, str], ...] = ()
    """Promises of liveness that a spec writes: name, trigger, goal, document."""
    fairness: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """What they are under: actions with weak fairness, with strong fairness."""

    @classmethod
    def of(cls, spec: Spec, probing: Probing = Probing.NOTHING) -> Task:
        """What a spec asks."""
        return cls(
            spec.protocol.reference,
            tuple(spec.constants.items()),
            tuple(item.name for item in spec.properties),
            tuple(sorted(spec.drop)),
            spec.wants_every_property,
            probing,
            # What is looked for in one action instance must not be looked for in another one instead.
            symmetry=spec.symmetry and probing is not Probing.COVERAGE,
            written=tuple(
                (item.name, item.text, item.promise)
                for item in spec.properties
                if item.text is not None and item.kind is not Kind.RECOVERABLE
            ),
            reach=tuple((item.name, item.text) for item in spec.reach if item.text is not None),
            liveness=tuple(
                (item.name, item.liveness.trigger_text, item.liveness.goal_text, item.promise)
                for item in spec.properties
                if item.liveness is not None
            ),
            fairness=next(
                (
                    (item.liveness.weak, item.liveness.strong)
                    for item in spec.properties
                    if item.liveness is not None
                ),
                ((), ()),
            ),
        )

    def question(self) -> Question:
        """The question with its expressions; `ModelError` or `ConfigurationError` if there is none such."""
        protocol = protocol_named(self.protocol)
        written = [written_invariant(name, text, doc) for name, text, doc in self.written]
        written += [made for name in self.properties if (made := recoverable_named(name)) is not None]
        written += [liveness(name, trigger, goal, self.fairness, doc) for name, trigger, goal, doc in self.liveness]
        properties = tuple(property_named(protocol, name, written) for name in self.properties)
        instance = protocol.instantiate(dict(self.constants), self.drop)
        wanted = [sought(name, text) for name, text in self.reach]
        check_written([*written, *wanted], instance)
        probes = reach_probes(wanted)
        if self.probing is Probing.VACUITY:
            probes += vacuity_probes(properties)
        elif self.probing is Probing.COVERAGE:
            probes += coverage_probes(instance)
        question = Question(instance, properties, probes, self.symmetry)
        question.refuse_asymmetry()
        return question

    @property
    def policy(self) -> StopPolicy:
        """When the search stops."""
        return StopPolicy.EVERY_PROPERTY if self.every_property else StopPolicy.FIRST_VIOLATION

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "probing": self.probing.value}


@dataclass(frozen=True)
class Broken:
    """A violated property and its canonical shortest run: packed states, and numbers of the instance's actions."""

    property: str
    kind: Kind
    states: tuple[Words, ...]
    steps: tuple[int, ...]
    loop: int | None = None

    @builtins.property  # the field of that name hides the decorator here
    def trace_length(self) -> int:
        """States in the run."""
        return len(self.states)

    def run(self, question: Question) -> Run:
        """The run, of the question that was asked."""
        return Run(self.states, tuple(question.instance.actions[step] for step in self.steps), self.loop)


@dataclass(frozen=True)
class Outcome:
    """What `Result` says, as plain data; `fingerprint` is the question's, `seconds` what the search took when it was made."""

    verdict: Verdict
    stopped: StopReason
    distinct_states: int
    generated_states: int
    depth: int
    actions: Mapping[str, ActionCount]
    violations: tuple[Broken, ...]
    probes: Mapping[str, int | None]
    seconds: float
    fingerprint: str
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """The plain data of a result."""
        number = {id(step): at for at, step in enumerate(result.question.instance.actions)}
        violations = tuple(
            Broken(
                item.property.name,
                item.property.kind,
                item.run.states,
                tuple(number[id(step)] for step in item.run.actions),
                item.run.loop,
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
        )

    @property
    def violated(self) -> dict[str, int]:
        """The states of the shortest run of every violated property."""
        return {item.property: item.trace_length for item in self.violations}

    @property
    def never_fired(self) -> list[str]:
        """Actions that were enabled nowhere in what was covered."""
        return [name for name, count in self.actions.items() if count.enabled == 0]

    @property
    def is_repeatable(self) -> bool:
        """Whether another machine would have found the same."""
        return self.stopped not in (StopReason.MEMORY, StopReason.INTERRUPTED)


def to_document(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON."""
    return {
        "verdict": outcome.verdict.value,
        "stopped": outcome.stopped.name,
        "distinct_states": outcome.distinct_states,
        "generated_states": outcome.generated_states,
        "depth": outcome.depth,
        "actions": {name: [count.enabled, count.new] for name, count in outcome.actions.items()},
        "violations": [
            {
                "property": item.property,
                "kind": item.kind.name,
                "states": [list(words) for words in item.states],
                "steps": list(item.steps),
                "loop": item.loop,
            }
            for item in outcome.violations
        ],
        "probes": dict(outcome.probes),
        "seconds": outcome.seconds,
        "fingerprint": outcome.fingerprint,
        "notes": list(outcome.notes),
    }


def from_document(document: Mapping[str, Any]) -> Outcome:
    """The outcome of a JSON document; `KeyError`, `TypeError` or `ValueError` if it is none."""
    return Outcome(
        Verdict(document["verdict"]),
        StopReason[document["stopped"]],
        int(document["distinct_states"]),
        int(document["generated_states"]),
        int(document["depth"]),
        {str(name): ActionCount(*map(int, counts)) for name, counts in document["actions"].items()},
        tuple(
            Broken(
                str(item["property"]),
                Kind[item["kind"]],
                tuple(tuple(map(int, words)) for words in item["states"]),
                tuple(map(int, item["steps"])),
                None if item["loop"] is None else int(item["loop"]),
            )
            for item in document["violations"]
        ),
        {str(name): None if met is None else int(met) for name, met in document["probes"].items()},
        float(document["seconds"]),
        str(document["fingerprint"]),
        tuple(map(str, document["notes"])),
    )
