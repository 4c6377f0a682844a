"""The details of a red spec, for every format: counterexamples, lines of the source, text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from acked.base.frozen import frozen
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.checker.gate.gate import GateEntry
from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import trace_document
from acked.checker.spec.variants import file_and_variant
from acked.invariants.property import Property
from acked.model.language.protocol import Instance
from acked.reports.console import harmless
from acked.reports.runs.view import TraceView, view_of
from acked.reports.units import plural


@frozen
class SourceLine:
    """A line of a file; `what` names what stands there."""

    file: str
    line: int
    what: str

    @property
    def shown(self) -> str:
        """The path from here if the file is below here, else as it is."""
        relative = os.path.relpath(self.file)
        return Path(self.file if relative.startswith("..") else relative).as_posix()


@frozen
class FailedProperty:
    """A violated promise of a red spec with its shortest run; `places` are lines of the protocol's source."""

    broken: FoundViolation
    promise: Property
    found: Counterexample
    view: TraceView
    places: tuple[SourceLine, ...]

    @property
    def story(self) -> list[str]:
        """The run as lines of text."""
        story = self.view.story
        opening = [story.promised, story.happened] if story is not None else []
        if story is not None and story.prevented is not None:
            opening.append(story.prevented)
        if others := [name for name in self.view.steps[-1].violated if name != self.promise.name]:
            opening.append(f"The same state violates {', '.join(others)}.")
        steps = [f"{step.index:>3}  {' '.join(filter(None, (step.sentence, step.remark)))}" for step in self.view.steps]
        return [harmless(line) for line in [*opening, self.view.subject, *steps]]

    def document(self) -> dict[str, Any]:
        """The trace document of the run."""
        return trace_document(self.found)


@frozen
class Failure:
    """A red entry and what its search found violated."""

    entry: GateEntry
    violations: tuple[FailedProperty, ...]

    @property
    def sentence(self) -> str:
        """Everything that is not as expected, in one line."""
        return harmless("; ".join(departure.sentence for departure in self.entry.departures))

    @property
    def text(self) -> str:
        """The departures, then the stories."""
        lines = [harmless(departure.sentence) for departure in self.entry.departures]
        for item in self.violations:
            lines += ["", *item.story]
        return "\n".join(lines)


def failure_of(entry: GateEntry) -> Failure:
    """The details of a red entry."""
    spec, outcome = entry.candidate.spec, entry.outcome
    if spec is None or outcome is None or not outcome.violations:
        return Failure(entry, ())
    question = Task.of(spec).question()
    named = {item.name: item for item in question.properties}
    violations = []
    for broken in outcome.violations:
        promise = named[broken.property]
        found = Counterexample(spec.title, question, broken.run(question), promise)
        violations.append(FailedProperty(broken, promise, found, view_of(found), _places(question.instance, broken)))
    return Failure(entry, tuple(violations))


def answer_in_words(outcome: Outcome) -> str:
    """`holds`, or `violated: WeakIsr in 8 steps`."""
    if not outcome.violations:
        return outcome.verdict.value
    broken = ", ".join(f"{name} in {plural(length - 1, 'step')}" for name, length in outcome.violated.items())
    return f"{outcome.verdict.value}: {broken}"


def spec_place(entry: GateEntry, key: str) -> SourceLine:
    """The line of a spec's key, or of the table that it belongs into, or where it cannot be read, or the first."""
    spec = entry.candidate.spec
    lines = spec.line_of if spec is not None else {}
    line = lines.get(key) or lines.get(key.partition(".")[0]) or entry.candidate.line or 1
    return SourceLine(str(file_and_variant(entry.candidate.path)[0]), line, key or "the spec")


def _places(instance: Instance, broken: FoundViolation) -> tuple[SourceLine, ...]:
    """The clauses that the spec leaves out, else the action of the last step."""
    places = []
    if instance.dropped:
        whole = instance.protocol.instantiate(instance.constants)
        dropped = {
            (step.action.name, guard.label): SourceLine(guard.file, guard.line, f"{step.action.name}: {guard.label}")
            for step in whole.actions
            for guard in step.guards
            if (step.action.name, guard.label) in instance.dropped
        }
        places += [place for _, place in sorted(dropped.items())]
    if broken.steps:
        action = instance.actions[broken.steps[-1]].action
        places.append(SourceLine(action.file, action.line, action.name))
    return tuple(places)
