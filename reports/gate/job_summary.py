"""The gate's report as Markdown, for the summary page of a CI job: the table, the first story, links to pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from acked.checker.gate.gate import Entry, GateReport
from acked.reports import units
from acked.reports.console import harmless
from acked.reports.gate.failures import Told

_MOST_GREEN = 200
"""Rows of green specs; the summary page of a job has a limited size."""


def gate_markdown(report: GateReport, told: Sequence[Told], files: Mapping[Path, Sequence[str]]) -> str:
    """The document; `files` names by spec what was written of it to the artifacts."""
    lines = ["## acked gate", "", cell(headline(report)), ""]
    ordered = [*report.red, *[entry for entry in report.entries if entry.is_green][:_MOST_GREEN]]
    if ordered:
        lines += ["| | spec | answer | distinct states | time |", "|---|---|---|--:|--:|"]
        lines += [_row(entry) for entry in ordered]
    if (more := len(report.entries) - len(ordered)) > 0:
        lines += ["", f"… and {more} more that are as expected."]
    for number, item in enumerate(told):
        lines += ["", f"### ✗ {cell(item.entry.candidate.path.as_posix())}", ""]
        lines += [f"- **{departure.reason.value}**: {cell(departure.sentence)}" for departure in item.entry.departures]
        links = [f"[{cell(Path(name).name)}](<{name}>)" for name in files.get(item.entry.candidate.path, ())]
        if links:
            lines += ["", "In the artifacts: " + ", ".join(links)]
        if item.violations and number == next(at for at, other in enumerate(told) if other.violations):
            first = item.violations[0]
            lines += ["", f"The shortest run that breaks {cell(first.promise.name)}:", ""]
            lines += ["```text", *(text.replace("```", "'''") for text in first.story), "```"]
    if report.left_out:
        names = ", ".join(f"`{item.path.as_posix()}`" for item in report.left_out)
        lines += ["", f"Left out because they are slow: {names}."]
    return "\n".join(lines) + "\n"


def headline(report: GateReport) -> str:
    """One line: is it green, and how many specs were run."""
    if report.refusal:
        return f"red: {report.refusal}"
    number = len(report.entries)
    cached = sum(entry.is_cached for entry in report.entries)
    told = f" ({units.count(cached)} from the cache)" if cached else ""
    slow = f"; {units.plural(len(report.left_out), 'slow spec')} left out" if report.left_out else ""
    if report.is_green:
        return f"green: {units.plural(number, 'spec')} as expected{told}{slow}"
    return f"red: {units.count(len(report.red))} of {units.plural(number, 'spec')} not as expected{told}{slow}"


def _row(entry: Entry) -> str:
    outcome = entry.outcome
    name = entry.candidate.path.as_posix()
    if outcome is None:
        return f"| ✗ | {cell(name)} | {cell(entry.departures[0].reason.value)} | | |"
    answer = outcome.verdict.value
    if outcome.violations:
        answer += ": " + ", ".join(f"{key} in {length} states" for key, length in outcome.violated.items())
    time = "cached" if entry.is_cached else units.duration(outcome.seconds)
    mark = "✓" if entry.is_green else "✗"
    return f"| {mark} | {cell(name)} | {cell(answer)} | {units.count(outcome.distinct_states)} | {time} |"


def cell(text: str) -> str:
    """Text that Markdown and HTML leave alone."""
    clean = harmless(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()#|!" else letter for letter in clean)
