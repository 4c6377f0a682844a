"""The gate in the terminal and as a JSON document.

A line per finished spec (on a terminal above a live table of what is being searched), the stories of what is red, and the
document.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from acked.checker.batch.local import Under
from acked.checker.gate.gate import Candidate, Chosen, GateEntry, GateObserver, GateReport
from acked.reports import units
from acked.reports.console import Console, clean, glyphs_of, harmless, put, put_paragraph
from acked.reports.gate.failures import FailedProperty, Failure, answer_in_words
from acked.reports.gate.job_summary import headline
from acked.reports.progress import LiveDisplay
from acked.reports.runs.terminal import print_trace

if TYPE_CHECKING:
    from rich.table import Table as RichTable

GATE_FORMAT = "acked-gate/1"
"""What the gate's document says in `format`."""


class GateProgress(LiveDisplay):
    """Shows entries as they are finished; use it in a `with` block. `is_silent` shows nothing."""

    def __init__(self, stream: IO[str] | None = None, is_silent: bool = False) -> None:
        super().__init__(sys.stdout if stream is None else stream, is_silent)
        self._running: dict[str, Under] = {}
        self._latest = ""
        self._done, self._all = 0, 0

    @property
    def observer(self) -> GateObserver:
        """What a gate reports to."""
        return GateObserver(self._begins, self._finished, self._progress)

    def _begins(self, chosen: Chosen) -> None:
        self._all = len(chosen.candidates)

    def _finished(self, entry: GateEntry) -> None:
        self._done += 1
        self._running.pop(entry.candidate.path.as_posix(), None)
        self.above(lambda console: print_entry(console, entry))

    def _progress(self, candidate: Candidate, under: Under) -> None:
        self._latest = candidate.path.as_posix()
        self._running[self._latest] = under
        self.update()

    def line(self) -> str:
        """`specs/kip320.toml: depth 12, 277 distinct states so far`."""
        under = self._running.get(self._latest)  # None before the first is compiled, and between two.
        if under is None:
            return f"{self._done} of {self._all} specs"
        now = under.progress
        states = units.short_count(now.distinct_states)
        return f"{harmless(self._latest)}: depth {now.depth}, {states} distinct states so far"

    def draw(self, console: Console) -> RichTable:
        """A row for every spec that is being searched."""
        from rich.table import Table

        grid = Table.grid(padding=(0, 2))
        grid.add_row(f"{self._done} of {self._all} specs")
        for name, under in list(self._running.items()):
            now = under.progress
            texts = (f"depth {now.depth}", f"{units.short_count(now.distinct_states)} states", units.duration(now.seconds))
            grid.add_row(clean(name, console), *texts)
        return grid


def print_entry(console: Console, entry: GateEntry) -> None:
    """One line of a finished spec, and a line for everything that is not as expected."""
    glyphs, outcome = glyphs_of(console), entry.outcome
    sign, style = (glyphs.good, "green") if entry.is_green else (glyphs.bad, "bold red")
    parts = []
    if outcome is not None:
        parts = [answer_in_words(outcome), f"{units.count(outcome.distinct_states)} distinct states"]
        parts.append("cached" if entry.is_cached else units.duration(outcome.seconds))
    name = clean(entry.candidate.path.as_posix(), console)
    put(console, [(f"{sign} ", style), (name, style), ("".join(f"  {part}" for part in parts), "")])
    for departure in entry.departures:
        put_paragraph(console, f"{departure.reason.value}: {departure.sentence}", "red", "    ", "      ")


def print_gate(console: Console, report: GateReport, failures: Sequence[Failure]) -> None:
    """A counterexample for each red spec that has one, and the last line."""
    for item in failures:
        for violation in item.violations[:1]:
            put(console, [])
            put_paragraph(console, item.entry.candidate.path.as_posix(), "bold underline")
            print_trace(console, violation.view)
    for candidate in report.left_out:
        why = "it is slow: {} (--slow runs it)" if candidate.is_slow else "it is large: {} (without --up-to it is run)"
        put_paragraph(console, f"skipped because {why.format(candidate.path)}", "dim")
    for warning in report.warnings:
        put_paragraph(console, f"warning: {warning}", "yellow")
    if report.entries:
        put(console, [])
    glyphs = glyphs_of(console)
    sign, style = (glyphs.good, "bold green") if report.is_green else (glyphs.bad, "bold red")
    put_paragraph(console, f"{headline(report)}, in {units.duration(report.seconds)}", style, f"{sign} ", "  ")


def gate_document(report: GateReport, failures: Sequence[Failure]) -> dict[str, object]:
    """The gate's report as JSON; an `outcome` is null where there was no answer, `stories` are those of `failures`."""
    stories = {item.entry.candidate.path: [_story(part) for part in item.violations] for item in failures}
    return {
        "format": GATE_FORMAT,
        "green": report.is_green,
        "refusal": report.refusal or None,
        "seconds": report.seconds,
        "specs": [_entry(entry, stories.get(entry.candidate.path, [])) for entry in report.entries],
        "left_out": [candidate.path.as_posix() for candidate in report.left_out],
        "warnings": list(report.warnings),
    }


def _story(item: FailedProperty) -> dict[str, object]:
    return {"property": item.promise.name, "trace_length": item.broken.trace_length, "story": item.story}


def _entry(entry: GateEntry, stories: Sequence[dict[str, object]]) -> dict[str, object]:
    spec, outcome = entry.candidate.spec, entry.outcome
    answer = None
    if outcome is not None:
        answer = {
            "verdict": outcome.verdict.value,
            "stopped": outcome.stopped.name.lower(),
            "violations": [{"property": name, "trace_length": length} for name, length in outcome.violated.items()],
            "distinct_states": outcome.distinct_states,
            "generated_states": outcome.generated_states,
            "depth": outcome.depth,
            "never_fired": outcome.never_fired,
            "seconds": outcome.seconds,
        }
    return {
        "path": entry.candidate.path.as_posix(),
        "title": None if spec is None else spec.title,
        "green": entry.is_green,
        "departures": [{"reason": item.reason.value, "sentence": item.sentence} for item in entry.departures],
        "cached": entry.is_cached,
        "outcome": answer,
        "stories": list(stories),
    }
