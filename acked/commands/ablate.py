"""The commands `ablate` and `coverage`: what the guards of a protocol are for, and which of them ever mattered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.base.errors import ConfigurationError, ExitCode, SystemFailure
from acked.base.files import check_writable
from acked.checker.batch.local import answer_all
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.gate.ablation import ablate as run
from acked.checker.gate.gate import Selection, choose
from acked.checker.question.coverage import ClauseCoverage, clause_coverage, merge_coverage
from acked.checker.question.result import ActionCount, StopReason
from acked.checker.spec.spec import Spec, load_spec
from acked.reports.console import Console
from acked.reports.gate.ablation import ablation_document, ablation_markdown, print_ablation
from acked.reports.shell.batches import BatchOptions, searches_many
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import AskedSpec, asks_spec, shows
from acked.reports.shell.output import Output, put_text, say
from acked.reports.shell.specs import find_spec
from acked.reports.tables.coverage import coverage_document, coverage_page, print_coverage

if TYPE_CHECKING:
    from collections.abc import Callable


Covered = dict[str, tuple[dict[str, ActionCount], list[ClauseCoverage]]]
"""By protocol: how often each action was enabled, and what each clause of a guard decided."""


@click.command(short_help="Drop each guard clause in turn; which properties break?")
@asks_spec
@searches_many
@click.option("--max-states", type=click.IntRange(1),
              help="Leave a clause undecided once its search knows more distinct states.")  # fmt: skip
@click.option("--stories", is_flag=True, help="Show the shortest counterexample of every clause, not only of one.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the table and all counterexamples in Markdown.")  # fmt: skip
@shows
def ablate(
    asked: AskedSpec, batch: BatchOptions, max_states: int | None, stories: bool, markdown: Path | None, output: Output
) -> int:
    """Drop each guard clause of SPEC's protocol in turn and report which properties break (mutation testing of the protocol).

    The shortest counterexample that appears without a clause is what that line of the protocol is for. A clause without
    which every property of the spec still holds is listed, too.

    \b
    acked ablate kip320

    Exit code 0 if every clause was decided, 152 if one was not.
    """
    check_writable(markdown, "table")
    chosen = asked.load()
    if chosen.count_only:
        raise ConfigurationError(f"{asked.name} asks for no property, so no clause can be missed; name invariants in [check]")

    with output.batch_progress("searches") as progress:
        found = run(chosen, batch.limits, batch.cache(), max_states, progress)
    if markdown is not None:
        put_text(ablation_markdown(found), markdown, "table")
    output.emit(lambda: ablation_document(found), lambda console: print_ablation(console, found, stories))
    decided = all(item.broken or item.is_idle or item.is_bound for item in found.clauses)
    return int(ExitCode.HOLDS if decided else ExitCode.TOO_LARGE)


@click.command(short_help="Report which actions and guard clauses ever mattered.")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC…", shell_complete=bundled_or_file)
@searches_many
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write the tables as a page.")
@shows
def coverage(specs: tuple[str, ...], batch: BatchOptions, html: Path | None, output: Output) -> int:
    """Report which actions fired and which guard clauses ever mattered in SPECs: files, folders or names of bundled specs.

    A clause was decisive if in some reachable state it alone disabled its action. Searches go on after a violation, and their
    figures are added up by protocol.

    \b
    acked coverage kip279 kip320

    Exit code 0 if every search saw all reachable states, 152 if not.
    """
    def show(console: Console) -> None:
        for protocol, (actions, clauses) in found.items():
            print_coverage(console, protocol, actions, clauses)

    check_writable(html, "page")
    with output.batch_progress("searches") as progress:
        found, is_complete = _cover(specs, batch, progress)
    if html is not None:
        put_text(coverage_page(specs, found), html, "page")
    output.emit(lambda: coverage_document(specs, found), show)
    return int(ExitCode.HOLDS if is_complete else ExitCode.TOO_LARGE)


def _load_specs(specs: tuple[str, ...]) -> list[Spec]:
    """The specs of these names, and those in folders of these names."""
    chosen = []
    for name in specs:
        if Path(name).is_dir():
            under = choose([name], Selection())
            if under.refusal:
                raise ConfigurationError(under.refusal)
            chosen += [load_spec(item.path) for item in under.candidates]
        else:
            chosen.append(find_spec(name))
    return chosen


def _cover(
    specs: tuple[str, ...], batch: BatchOptions, progress: Callable[[int, int], None]
) -> tuple[Covered, bool]:

    chosen = _load_specs(specs)
    tasks = [replace(Task.of(spec, Probing.COVERAGE), every_property=True) for spec in chosen]
    parts: dict[str, list[Outcome]] = {}
    is_complete = True
    for done, answered in enumerate(answer_all(tasks, batch.limits, batch.cache()), 1):
        progress(done, len(tasks))
        spec = chosen[answered.task]
        if answered.outcome is None:
            raise SystemFailure(f"{spec.name} has no answer: {answered.failure}")
        if answered.outcome.stopped is not StopReason.COMPLETE:
            say(f"{spec.name} is incomplete: {answered.outcome.stopped.value}")
            is_complete = False
        parts.setdefault(spec.protocol.name, []).append(answered.outcome)
    return {
        name: (_add_counts(outcomes), merge_coverage(clause_coverage(item.probes) for item in outcomes))
        for name, outcomes in sorted(parts.items())
    }, is_complete


def _add_counts(outcomes: list[Outcome]) -> dict[str, ActionCount]:
    counts: dict[str, ActionCount] = {}
    for outcome in outcomes:
        for name, count in outcome.actions.items():
            old = counts.get(name, ActionCount())
            counts[name] = ActionCount(old.enabled + count.enabled, old.new + count.new)
    return counts
