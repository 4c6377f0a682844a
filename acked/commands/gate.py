"""The command `gate`: every spec under some paths against what it expects."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked import __version__
from acked.asking.engines import batch_runner
from acked.asking.options import MemorySize, warn_without_cache
from acked.asking.specs import bundled_spec
from acked.checker.errors import ConfigurationError, ExitCode, SystemFailure
from acked.checker.files import check_writable, read_text, write_text

if TYPE_CHECKING:
    from acked.checker.batch.cache import ResultCache
    from acked.checker.gate.gate import Entry, GateReport
    from acked.reports.gate.failures import Failure


@dataclass(frozen=True)
class Files:
    """What is written besides the terminal."""

    junit: Path | None
    sarif: Path | None
    markdown: Path | None
    artifacts: Path | None


@click.command(short_help="Run specs, and fail unless all are as expected.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--select", "patterns", multiple=True, metavar="PATTERN", help="Only specs whose name or path matches.")
@click.option("--shard", metavar="I/N", help="Only every N-th spec, beginning with the I-th.")
@click.option("--slow", is_flag=True, help="Also specs that say slow = true.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Searches at a time; default: one per core.")
@click.option("--master", help="Search in tasks of this Spark, such as local[2] or spark://HOST:PORT.")
@click.option("--memory", type=MemorySize(), help="Bytes of states for each search, e.g. 2GB.")
@click.option("--update", is_flag=True, help="Write what was measured into the specs' [expect].")
@click.option("--accept-violations", is_flag=True, help="With --update: a spec that held may become violated.")
@click.option("--no-cache", is_flag=True, help="Search everything anew, and keep nothing.")
@click.option("--artifacts", type=click.Path(path_type=Path), metavar="DIR", help="Runs and pages of what is red.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="JUnit XML.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="SARIF 2.1.0.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="A summary in Markdown.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What stdout gets.")
def gate(
    paths: tuple[str, ...],
    patterns: tuple[str, ...],
    shard: str | None,
    slow: bool,
    jobs: int | None,
    master: str | None,
    memory: int | None,
    update: bool,
    accept_violations: bool,
    no_cache: bool,
    artifacts: Path | None,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    form: str,
) -> int:
    """Run every spec under files, folders and patterns, and fail unless each is as it expects.

    A name that is no path is that of a bundled spec.

    A gate is red for another verdict, another violated promise, a longer or shorter shortest run, another pinned count, fewer
    states than a pinned floor, an action that never fired, a promise that says nothing in any reachable state, a spec without
    expectation, and if there is no spec. Exit code 0 if it is green, 1 if not, 150 if a file could not be read.
    """
    from acked.checker.gate.gate import Selection, choose, parse_shard, run_gate
    from acked.reports.gate.gate import GateProgress

    started = time.perf_counter()
    if accept_violations and not update:
        raise ConfigurationError("--accept-violations says what --update may write; add --update or leave it out")
    files = Files(junit, sarif, markdown, artifacts)
    _check_places(files)
    selection = Selection(patterns, None if shard is None else parse_shard(shard), slow)
    chosen = choose([_place(text) for text in paths], selection)
    cache = None if no_cache else result_cache()
    runner = batch_runner(jobs, memory, master)
    with GateProgress(sys.stdout, is_silent=form == "json") as progress:
        report = run_gate(chosen, runner, cache, progress.observer, asks_all=update)
    if update:
        report = _updated(report, accept_violations)
    report = replace(report, seconds=time.perf_counter() - started)
    _finish(report, files, form)
    if report.has_unreadable:
        return int(ExitCode.SPEC_UNREADABLE)
    return int(ExitCode.HOLDS if report.is_green else ExitCode.UNMET_EXPECTATION)


def _place(text: str) -> str:
    """A path as it is; a name stands for a bundled spec, as everywhere, unless a folder has it."""
    found = None if os.path.isdir(text) else bundled_spec(text)
    return text if found is None else str(found)


def result_cache() -> ResultCache | None:
    """Where answers are kept between runs; None, with a word about it, where nothing can be kept."""
    from acked.checker.batch.cache import ResultCache
    from acked.checker.cache import cache_folder

    warn_without_cache()
    folder = cache_folder("results")
    return None if folder is None else ResultCache(folder, __version__)


def _check_places(files: Files) -> None:
    for path, what in ((files.junit, "JUnit file"), (files.sarif, "SARIF file"), (files.markdown, "summary")):
        if path is not None:
            check_writable(path, what)
    if files.artifacts is not None:
        try:
            files.artifacts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SystemFailure(f"cannot make the folder {files.artifacts}: {error.strerror}; choose another place") from None


# -- what is written ----------------------------------------------------------------------------------------------------


def _finish(report: GateReport, files: Files, form: str) -> None:
    from acked.reports.console import open_console
    from acked.reports.gate.annotations import commands
    from acked.reports.gate.failures import failure_of
    from acked.reports.gate.gate import gate_document, print_gate

    told = [failure_of(entry) for entry in report.red]
    written: dict[Path, list[str]] = {}
    if files.artifacts is not None:
        written = {item.entry.candidate.path: _write_artifacts(item, files.artifacts) for item in told}
    if files.junit is not None:
        from acked.reports.gate.junit import junit_xml

        write_text(files.junit, junit_xml(report, told), "JUnit file")
    if files.sarif is not None:
        from acked.reports.gate.sarif import sarif_document

        write_text(files.sarif, json.dumps(sarif_document(report, told, __version__), indent=1) + "\n", "SARIF file")
    if files.markdown is not None:
        from acked.reports.gate.job_summary import gate_markdown

        write_text(files.markdown, gate_markdown(report, told, written), "summary")
    if form == "json":
        click.echo(json.dumps(gate_document(report, told), indent=1))
    else:
        print_gate(open_console(sys.stdout), report, told)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in commands(report, told):
            click.echo(line, err=form == "json")


def _write_artifacts(item: Failure, folder: Path) -> list[str]:
    """The trace, the page and the last picture of every violated promise of a red spec; their paths."""
    from acked.reports.pages.page import render, trace_data
    from acked.reports.runs.still import still

    spec = item.entry.candidate.spec
    assert spec is not None or not item.violations
    names = []
    for violation in item.violations:
        assert spec is not None
        base = re.sub(r"[^\w.-]+", "-", f"{item.entry.candidate.path.with_suffix('').as_posix()}-{violation.promise.name}")
        page = render(trace_data(violation.found))
        texts = {
            "json": json.dumps(violation.document(), indent=1) + "\n",
            "html": page,
            "svg": still(violation.view, len(violation.view.steps) - 1),
        }
        for ending, text in texts.items():
            path = folder / f"{base.lstrip('-.')}.{ending}"
            write_text(path, text, "artifact")
            names.append(path.as_posix())
    return names


# -- --update ------------------------------------------------------------------------------------------------------------


def _updated(report: GateReport, accept_violations: bool) -> GateReport:
    """Rewrites the specs whose expectation was not met, and judges them again."""
    return replace(report, entries=tuple(_updated_entry(entry, accept_violations) for entry in report.entries))


def _updated_entry(entry: Entry, accept_violations: bool) -> Entry:
    from acked.checker.gate.gate import Candidate, judge
    from acked.checker.gate.update import updated_text
    from acked.checker.spec.spec import parse_spec

    spec, outcome, path = entry.candidate.spec, entry.outcome, entry.candidate.path
    if spec is None or outcome is None or entry.is_green or spec.count_only:
        return entry
    old = read_text(path, "spec file")
    try:
        new = updated_text(old, spec, outcome, accept_violations)
    except ConfigurationError as error:
        click.echo(f"not updated: {error}", err=True)
        return entry
    if new != old:
        before, after = old.splitlines(), new.splitlines()
        for line in difflib.unified_diff(before, after, str(path), str(path), "before", "after", lineterm=""):
            click.echo(line, err=True)
        changed = parse_spec(new, path)  # Before it is written: what acked itself refuses must not replace a spec.
        write_text(path, new, "spec file")
        return replace(entry, candidate=Candidate(path, changed), departures=tuple(judge(changed, outcome)))
    return entry
