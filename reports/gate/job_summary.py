"""The gate's report as Markdown, for the summary page of a CI job: the table, the first story, links to pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from acked.checker.gate.gate import Candidate, GateEntry, GateReport
from acked.reports import units
from acked.reports.escaping import md_block, md_code, md_text
from acked.reports.gate.failures import Failure, answer_in_words
from acked.reports.table import Mark, Table, TableCell, numbers, table, table_markdown

_MAX_GREEN = 200
"""Rows of green specs; the summary page of a job has a limited size."""


def gate_markdown(report: GateReport, failures: Sequence[Failure], files: Mapping[Path, Sequence[str]]) -> str:
    """The document; `files` names by spec what was written of it to the artifacts."""
    lines = ["## acked gate", "", md_text(headline(report)), ""]
    ordered = [*report.red, *[entry for entry in report.entries if entry.is_green][:_MAX_GREEN]]
    if ordered:
        lines += table_markdown(entries_table(ordered))
    if (more := len(report.entries) - len(ordered)) > 0:
        lines += ["", f"… and {more} more that are as expected."]
    for number, item in enumerate(failures):
        lines += ["", f"### ✗ {md_text(item.entry.candidate.path.as_posix())}", ""]
        lines += [f"- **{departure.reason.value}**: {md_text(departure.sentence)}" for departure in item.entry.departures]
        links = [f"[{md_text(Path(name).name)}](<{name}>)" for name in files.get(item.entry.candidate.path, ())]
        if links:
            lines += ["", "In the artifacts: " + ", ".join(links)]
        if item.violations and number == next(at for at, other in enumerate(failures) if other.violations):
            first = item.violations[0]
            lines += ["", f"The shortest counterexample to {md_text(first.promise.name)}:", ""]
            lines += md_block(first.story)
    for kind, left_out in _left_out(report):
        names = ", ".join(md_code(item.path.as_posix()) for item in left_out)
        lines += ["", f"Skipped because they are {kind}: {names}."]
    return "\n".join(lines) + "\n"


def headline(report: GateReport) -> str:
    """One line: is it green, and how many specs were run."""
    if report.refusal:
        return f"red: {report.refusal}"
    number = len(report.entries)
    cached = sum(entry.is_cached for entry in report.entries)
    reused = f" ({units.count(cached)} from the cache)" if cached else ""
    skipped = "".join(f"; {units.plural(len(items), f'{kind} spec')} skipped" for kind, items in _left_out(report))
    if report.is_green:
        return f"green: {units.plural(number, 'spec')} as expected{reused}{skipped}"
    return f"red: {units.count(len(report.red))} of {units.plural(number, 'spec')} not as expected{reused}{skipped}"


def _left_out(report: GateReport) -> Iterator[tuple[str, list[Candidate]]]:
    """What was left out because it is slow, then what was because it is large, as far as there is any."""
    for kind, is_slow in (("slow", True), ("large", False)):
        if items := [item for item in report.left_out if item.is_slow == is_slow]:
            yield kind, items


def entries_table(entries: Iterable[GateEntry]) -> Table:
    """A row per spec: is it as expected, the answer, how many states, and how long it took."""
    return table(("", "spec", "answer", numbers("distinct states"), numbers("time")), map(_row, entries))


def _row(entry: GateEntry) -> tuple[TableCell | str, ...]:
    mark = TableCell("", mark=Mark.GOOD if entry.is_green else Mark.BAD)
    name, outcome = entry.candidate.path.as_posix(), entry.outcome
    if outcome is None:
        return mark, name, entry.departures[0].reason.value, "", ""
    time = "cached" if entry.is_cached else units.duration(outcome.seconds)
    return mark, name, answer_in_words(outcome), units.count(outcome.distinct_states), time
