"""The commands `ablate` and `coverage`: what the clauses of a protocol are for, and which of them ever mattered."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import click

from acked.asking.options import MemorySize, say
from acked.asking.specs import find_spec
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.errors import ConfigurationError, ExitCode, SystemFailure
from acked.checker.files import check_writable, write_text
from acked.checker.question.coverage import ClauseCoverage
from acked.checker.question.result import ActionCount, StopReason
from acked.checker.spec.spec import load_spec
from acked.commands.gate import result_cache


@click.command(short_help="What each guard clause is for: leave it out, and see.")
@click.argument("spec")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Searches at a time; default: one per core.")
@click.option("--memory", type=MemorySize(), help="Bytes of states for each search, e.g. 2GB.")
@click.option("--max-states", type=click.IntRange(1), help="Give a search up when it knows more distinct states.")
@click.option("--stories", is_flag=True, help="The shortest run for every clause, not only the shortest of all.")
@click.option("--no-cache", is_flag=True, help="Search everything anew, and keep nothing.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="The table and all stories in Markdown.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What stdout gets.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def ablate(
    spec: str,
    jobs: int | None,
    memory: int | None,
    max_states: int | None,
    stories: bool,
    no_cache: bool,
    markdown: Path | None,
    form: str,
    quiet: bool,
) -> int:
    """Leave out each guard clause of SPEC's protocol in turn, and tell which promises then break.

    The shortest run that a clause prevents is what that line of the protocol is for. A clause that no promise of the spec
    needs is listed, too. Exit code 0 if every clause was decided, 152 if one was not.
    """
    from acked.checker.batch.local import BatchLimits
    from acked.checker.gate.ablation import ablate as run
    from acked.reports.console import open_console
    from acked.reports.gate.ablation import ablation_document, ablation_markdown, print_ablation

    if markdown is not None:
        check_writable(markdown, "table")
    chosen = find_spec(spec)
    if chosen.count_only:
        raise ConfigurationError(f"{spec} asks nothing, so no clause can be missed; name invariants in [check]")

    def tell(done: int, total: int) -> None:
        if not quiet and (done == total or done % 10 == 0):
            say(f"{done} of {total} searches done")

    found = run(chosen, BatchLimits.default(jobs, memory), None if no_cache else result_cache(), max_states, tell)
    if markdown is not None:
        write_text(markdown, ablation_markdown(found), "table")
    if form == "json":
        click.echo(json.dumps(ablation_document(found), indent=1))
    else:
        print_ablation(open_console(sys.stdout), found, stories)
    decided = all(item.broken or item.is_idle or item.is_bound for item in found.clauses)
    return int(ExitCode.HOLDS if decided else ExitCode.TOO_LARGE)


@click.command(short_help="Which actions and guard clauses ever mattered.")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC…")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Searches at a time; default: one per core.")
@click.option("--memory", type=MemorySize(), help="Bytes of states for each search, e.g. 2GB.")
@click.option("--no-cache", is_flag=True, help="Search everything anew, and keep nothing.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="The tables as a page.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What stdout gets.")
def coverage(
    specs: tuple[str, ...], jobs: int | None, memory: int | None, no_cache: bool, html: Path | None, form: str
) -> int:
    """Tell which actions fired and which guard clauses ever mattered in SPECs, files, folders or names of bundled specs.

    A clause was decisive if in some reachable state it alone forbade its action. Searches go on after a violation, and what
    they found is merged by protocol. Exit code 0 if every search saw all states, 152 if not.
    """
    from acked.reports.console import open_console
    from acked.reports.tables.coverage import coverage_document, coverage_page, print_coverage

    if html is not None:
        check_writable(html, "page")
    found, is_complete = _covered(specs, jobs, memory, no_cache)
    if html is not None:
        write_text(html, coverage_page(specs, found), "page")
    if form == "json":
        click.echo(json.dumps(coverage_document(specs, found), indent=1))
    else:
        console = open_console(sys.stdout)
        for protocol, (actions, clauses) in found.items():
            print_coverage(console, protocol, actions, clauses)
    return int(ExitCode.HOLDS if is_complete else ExitCode.TOO_LARGE)


def _covered(
    specs: tuple[str, ...], jobs: int | None, memory: int | None, no_cache: bool
) -> tuple[dict[str, tuple[dict[str, ActionCount], list[ClauseCoverage]]], bool]:
    from acked.checker.batch.local import BatchLimits, answer_all
    from acked.checker.gate.gate import Selection, choose
    from acked.checker.question.coverage import clause_coverage, merged

    chosen = []
    for name in specs:
        if Path(name).is_dir():
            under = choose([name], Selection())
            if under.refusal:
                raise ConfigurationError(under.refusal)
            chosen += [load_spec(item.path) for item in under.candidates]
        else:
            chosen.append(find_spec(name))
    tasks = [replace(Task.of(spec, Probing.COVERAGE), every_property=True) for spec in chosen]
    parts: dict[str, list[Outcome]] = {}
    is_complete = True
    for answered in answer_all(tasks, BatchLimits.default(jobs, memory), None if no_cache else result_cache()):
        spec = chosen[answered.task]
        if answered.outcome is None:
            raise SystemFailure(f"{spec.name} has no answer: {answered.failure}")
        if answered.outcome.stopped is not StopReason.COMPLETE:
            say(f"{spec.name} is incomplete: {answered.outcome.stopped.value}")
            is_complete = False
        parts.setdefault(spec.protocol.name, []).append(answered.outcome)
    return {
        name: (_summed(outcomes), merged(clause_coverage(item.probes) for item in outcomes))
        for name, outcomes in sorted(parts.items())
    }, is_complete


def _summed(outcomes: list[Outcome]) -> dict[str, ActionCount]:
    counts: dict[str, ActionCount] = {}
    for outcome in outcomes:
        for name, count in outcome.actions.items():
            old = counts.get(name, ActionCount())
            counts[name] = ActionCount(old.enabled + count.enabled, old.new + count.new)
    return counts
