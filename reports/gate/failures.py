"""What there is to tell of a red spec, before anybody decides where: stories, places in the source, text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acked.checker.batch.outcome import Broken, Outcome, Task
from acked.checker.gate.gate import Entry
from acked.checker.question.result import Counterexample
from acked.invariants.property import Property
from acked.model.language.protocol import Instance
from acked.reports.console import harmless
from acked.reports.runs.document import trace_document
from acked.reports.runs.view import TraceView, view_of
from acked.reports.units import plural


@dataclass(frozen=True)
class Place:
    """A line of a file; `what` says what stands there."""

    file: str
    line: int
    what: str

    @property
    def shown(self) -> str:
        """The path from here if the file is below here, else as it is."""
        relative = os.path.relpath(self.file)
        return Path(self.file if relative.startswith("..") else relative).as_posix()


@dataclass(frozen=True)
class ToldViolation:
    """A violated promise of a red spec with its shortest run; `places` are lines of the protocol's source."""

    broken: Broken
    promise: Property
    found: Counterexample
    view: TraceView
    places: tuple[Place, ...]

    @property
    def story(self) -> list[str]:
        """The run as lines of text."""
        story = self.view.story
        opening = [story.promised, story.happened] if story is not None else []
        if story is not None and story.prevented is not None:
            opening.append(story.prevented)
        steps = [f"{step.index:>3}  {' '.join(filter(None, (step.sentence, step.remark)))}" for step in self.view.steps]
        return [harmless(line) for line in [*opening, self.view.subject, *steps]]

    def document(self) -> dict[str, Any]:
        """The trace document of the run."""
        return trace_document(self.found)


@dataclass(frozen=True)
class Told:
    """A red entry and what its search found violated."""

    entry: Entry
    violations: tuple[ToldViolation, ...]

    @property
    def spec_place(self) -> Place:
        """The spec's line that speaks of the first departure."""
        return spec_place(self.entry, self.entry.departures[0].key)

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


def tell(entry: Entry) -> Told:
    """What there is to tell of a red entry."""
    spec, outcome = entry.candidate.spec, entry.outcome
    if spec is None or outcome is None or not outcome.violations:
        return Told(entry, ())
    question = Task.of(spec).question()
    named = {item.name: item for item in question.properties}
    violations = []
    for broken in outcome.violations:
        promise = named[broken.property]
        found = Counterexample(spec.title, question, broken.run(question), promise)
        violations.append(ToldViolation(broken, promise, found, view_of(found), _places(question.instance, broken)))
    return Told(entry, tuple(violations))


def answer_in_words(outcome: Outcome) -> str:
    """`holds`, or `violated: WeakIsr in 8 steps`."""
    if not outcome.violations:
        return outcome.verdict.value
    broken = ", ".join(f"{name} in {plural(length - 1, 'step')}" for name, length in outcome.violated.items())
    return f"{outcome.verdict.value}: {broken}"


def spec_place(entry: Entry, key: str) -> Place:
    """The line of a spec's key, or of the table that it belongs into, or the first."""
    spec = entry.candidate.spec
    lines = spec.line_of if spec is not None else {}
    line = lines.get(key) or lines.get(key.partition(".")[0]) or 1
    return Place(str(entry.candidate.path), line, key or "the spec")


def _places(instance: Instance, broken: Broken) -> tuple[Place, ...]:
    """The clauses that the spec leaves out, else the action of the last step."""
    places = []
    if instance.dropped:
        whole = instance.protocol.instantiate(instance.constants)
        dropped = {
            (step.action.name, guard.label): Place(guard.file, guard.line, f"{step.action.name}: {guard.label}")
            for step in whole.actions
            for guard in step.guards
            if (step.action.name, guard.label) in instance.dropped
        }
        places += [place for _, place in sorted(dropped.items())]
    if broken.steps:
        action = instance.actions[broken.steps[-1]].action
        places.append(Place(action.file, action.line, action.name))
    return tuple(places)
