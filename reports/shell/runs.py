"""The trace that a command is about: read from a trace file, or found by searching a spec."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.checker.question.result import Counterexample, Result
from acked.checker.replay.foreign import read_foreign
from acked.checker.replay.mapping import read_mapping
from acked.checker.replay.retrace import retrace
from acked.checker.replay.trace_file import is_ours, read_trace
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec
from acked.reports.progress import ProgressReporter
from acked.reports.runs.answers import verdict_in_words
from acked.reports.runs.refusals import blocked_in_words
from acked.reports.runs.view import steps_of
from acked.reports.shell.options import ANYWHERE, UNCHANGED, AskedSpec, SpecChanges, TraceSource
from acked.reports.shell.specs import find_spec


def run_of(
    target: str,
    changes: SpecChanges = UNCHANGED,
    source: TraceSource = ANYWHERE,
    quiet: bool = False,
) -> Counterexample:
    """The run of a trace file, or the shortest counterexample of a spec."""
    path = Path(target)
    if source.spec is not None:
        return trace_of(path, source.spec, changes, source.mapping)
    if is_trace(target):
        if not changes.are_none:
            raise ConfigurationError(
                f"{target} is a trace, whose constants are fixed; leave -c and --kafka-version out, or name a spec"
            )

        return read_trace(path, trusts=source.trusts)
    return shortest_in(target, *answer_of(target, changes, quiet))


def is_trace(target: str) -> bool:
    """Whether a target is a trace file, and not a spec."""
    path = Path(target)
    return path.suffix == ".json" or (path.is_file() and path.suffix != ".toml")


def trace_of(path: Path, spec_name: str, changes: SpecChanges = UNCHANGED, mapping: Path | None = None) -> Counterexample:
    """A trace file, of ours or of another tool's, as a run of the spec that the user names."""
    if not is_ours(path):
        return _foreign(path, AskedSpec(spec_name, changes).load(), mapping)
    if mapping is not None or not changes.are_none:
        what = f"{path} is a trace that acked wrote, whose fields and constants are fixed"
        raise ConfigurationError(f"{what}; leave --map, -c and --kafka-version out")
    return read_trace(path, find_spec(spec_name).protocol)


def answer_of(name: str, changes: SpecChanges, quiet: bool) -> tuple[Spec, Result]:
    """A spec with its changes, and the answer of the search of it, which ends at a violation."""
    spec = AskedSpec(name, changes).load()
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        return spec, search(spec.question(), observer=observer)


def shortest_in(name: str, spec: Spec, result: Result) -> Counterexample:
    """The shortest counterexample of a search; `ConfigurationError` if it found none."""
    if not result.violations:
        raise ConfigurationError(
            f"{name} has no counterexample ({verdict_in_words(result)}); `acked explore {name}` walks through its states"
        )
    return Counterexample.of(spec.title, result.question, result.violations[0])


def _foreign(path: Path, spec: Spec, mapping: Path | None) -> Counterexample:
    question = spec.question()
    fields = None if mapping is None else read_mapping(mapping, spec.protocol)
    trace = read_foreign(path, question.instance, fields)
    found = retrace(question.instance, trace.states, trace.hints)
    if found.blocked is not None:
        index = found.blocked.index
        what = "the first state" if index == 0 else f"step {index} is not a transition of {spec.protocol.name}"
        why = blocked_in_words(found.blocked)
        raise SpecUnreadable(f"{path}: {what}: {why}" if index else f"{path}: {what} is not the initial state of the spec")
    # A foreign trace names no property; it is shown with the first one that its last state or step violates.
    last = steps_of(question, found.run)[-1]
    violates = next((item for item in question.properties if item.name in last.violated), None)
    return Counterexample(f"{spec.title}: {path.name}", replace(question), found.run, violates)
