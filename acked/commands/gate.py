"""The command `gate`: every spec under some paths against what it expects."""

from __future__ import annotations

import difflib
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable, read_text, write_text
from acked.base.frozen import frozen
from acked.base.names import near
from acked.base.version import __version__
from acked.checker.gate.gate import Candidate, GateEntry, GateReport, Selection, choose, judge, parse_shard, run_gate
from acked.checker.spec.spec import parse_spec
from acked.checker.spec.variants import file_and_variant
from acked.reports.gate.annotations import commands
from acked.reports.gate.failures import Failure, failure_of
from acked.reports.gate.gate import GateProgress, gate_document, print_gate
from acked.reports.gate.job_summary import gate_markdown
from acked.reports.gate.junit import junit_xml
from acked.reports.gate.sarif import sarif_document
from acked.reports.pages.page import render, trace_data
from acked.reports.runs.still import still
from acked.reports.shell.batches import BatchOptions, searches_many_anywhere
from acked.reports.shell.bundled import all_bundled, bundled_specs, full_name
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import collects, option, shows_without_progress
from acked.reports.shell.output import Output, json_text, make_folder, say
from acked.reports.shell.specs import bundled_spec


@frozen
class GateFiles:
    """What is written besides the terminal."""

    artifacts: Path | None
    junit: Path | None
    sarif: Path | None
    markdown: Path | None

    def check(self) -> None:
        """Fails before long work if one of them cannot be written."""
        for path, what in ((self.junit, "JUnit file"), (self.sarif, "SARIF file"), (self.markdown, "summary")):
            check_writable(path, what)
        if self.artifacts is not None:
            make_folder(self.artifacts)


_writes_files = collects(
    "files",
    GateFiles,
    artifacts=option("--artifacts", type=click.Path(path_type=Path), metavar="DIR",
                     help="Write the trace, page and picture of every unexpected violation into this folder."),
    junit=option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML."),
    sarif=option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF 2.1.0."),
    markdown=option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write a summary in Markdown."),
)  # fmt: skip


@click.command(short_help="Run specs in CI, and fail unless every answer is as expected.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", shell_complete=bundled_or_file)
@click.option("--select", "patterns", multiple=True, metavar="PATTERN", help="Only specs whose name or path matches.")
@click.option("--shard", metavar="I/N", help="Only every N-th spec, beginning with the I-th.")
@click.option("--slow", is_flag=True, help="Also specs with slow = true.")
@click.option("--up-to", "most_states", type=click.IntRange(1), metavar="STATES",
              help="Without specs that expect more distinct states; one that is named by its path is run.")  # fmt: skip
@searches_many_anywhere
@click.option("--update", is_flag=True, help="Write what was measured into the [expect] of the specs.")
@click.option("--accept-violations", is_flag=True, help="With --update: a spec that held may become violated.")
@_writes_files
@shows_without_progress
def gate(
    paths: tuple[str, ...],
    patterns: tuple[str, ...],
    shard: str | None,
    slow: bool,
    most_states: int | None,
    batch: BatchOptions,
    update: bool,
    accept_violations: bool,
    files: GateFiles,
    output: Output,
) -> int:
    """Run every spec under PATHs (files, folders, patterns, names of bundled specs), and fail unless each is as expected.

    The gate is red for a verdict other than the [expect] of a spec, another violated property, a longer or shorter
    counterexample, another pinned count, fewer states than a pinned floor, an action that never fired, a vacuous property
    (its antecedent holds in no reachable state), a spec without [expect], and if there is no spec.

    \b
    acked gate specs/ --junit gate.xml             in CI
    acked gate claims/acks-1-loses claims          bundled ones, by name and by folder
    acked gate my.toml --update                    write what was measured into the spec

    Exit code 0 if it is green, 1 if not, 150 if a file could not be read.
    """
    started = time.perf_counter()
    if accept_violations and not update:
        raise ConfigurationError("--accept-violations needs --update; add --update or leave it out")
    files.check()
    selection = Selection(patterns, None if shard is None else parse_shard(shard), slow, most_states)
    chosen = choose([_place(text) for text in paths], selection)
    if chosen.refusal:
        chosen = replace(chosen, refusal=chosen.refusal + _hint(paths))
    runner, cache = batch.runner(), batch.cache()
    with GateProgress(sys.stdout, is_silent=output.is_json) as progress:
        report = run_gate(chosen, runner, cache, progress.observer, asks_all=update)
    if update:
        entries = tuple(_updated_entry(entry, accept_violations) for entry in report.entries)
        report = replace(report, entries=entries)
    report = replace(report, seconds=time.perf_counter() - started)
    _finish(report, files, output)
    if report.has_unreadable:
        return int(ExitCode.SPEC_UNREADABLE)
    return int(ExitCode.HOLDS if report.is_green else ExitCode.UNMET_EXPECTATION)


def _place(text: str) -> str:
    """A path as it is; a name stands for a bundled spec, as everywhere, or a folder of them, unless a folder has it."""
    found = None if os.path.isdir(text) else bundled_spec(text)
    if found is None and not os.path.lexists(text) and (folder := bundled_specs() / text).is_dir():
        return str(folder)
    return text if found is None else str(found)


def _hint(paths: tuple[str, ...]) -> str:
    """What was meant by the first name that is neither here nor bundled."""
    for text in paths:
        if not os.path.lexists(text) and not set(text) & set("*?[") and _place(text) == text:
            inside = [full_name(item) for item in all_bundled()]
            return near(text, inside if "/" in text else [name.rpartition("/")[2] for name in inside])
    return ""


# -- what is written ----------------------------------------------------------------------------------------------------


def _finish(report: GateReport, files: GateFiles, output: Output) -> None:
    told = [failure_of(entry) for entry in report.red]
    written: dict[Path, list[str]] = {}
    if files.artifacts is not None:
        written = {item.entry.candidate.path: _write_artifacts(item, files.artifacts) for item in told}
    if files.junit is not None:
        write_text(files.junit, junit_xml(report, told), "JUnit file")
    if files.sarif is not None:
        write_text(files.sarif, json_text(sarif_document(report, told, __version__)), "SARIF file")
    if files.markdown is not None:
        write_text(files.markdown, gate_markdown(report, told, written), "summary")
    output.emit(lambda: gate_document(report, told), lambda console: print_gate(console, report, told))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in commands(report, told):
            click.echo(line, err=output.is_json)


def _write_artifacts(item: Failure, folder: Path) -> list[str]:
    """The trace, the page and the last picture of every violated promise of a red spec; their paths."""
    spec = item.entry.candidate.spec
    assert spec is not None or not item.violations
    names = []
    for violation in item.violations:
        assert spec is not None
        named = item.entry.candidate.path.with_name(item.entry.candidate.name)
        base = re.sub(r"[^\w.-]+", "-", f"{named.as_posix()}-{violation.promise.name}")
        page = render(trace_data(violation.found))
        texts = {
            "json": json_text(violation.document()),
            "html": page,
            "svg": still(violation.view, len(violation.view.steps) - 1),
        }
        for ending, text in texts.items():
            path = folder / f"{base.lstrip('-.')}.{ending}"
            write_text(path, text, "artifact")
            names.append(path.as_posix())
    return names


# -- --update ------------------------------------------------------------------------------------------------------------


def _updated_entry(entry: GateEntry, accept_violations: bool) -> GateEntry:
    """Rewrites the spec whose expectation was not met, and judges it again."""
    from acked.checker.gate.update import updated_text

    spec, outcome, path = entry.candidate.spec, entry.outcome, entry.candidate.path
    if spec is None or outcome is None or entry.is_green or spec.count_only:
        return entry
    file, _ = file_and_variant(path)
    old = read_text(file, "spec file")
    try:
        new = updated_text(old, spec, outcome, accept_violations)
    except ConfigurationError as error:
        say(f"not updated: {error}")
        return entry
    if new != old:
        before, after = old.splitlines(), new.splitlines()
        for line in difflib.unified_diff(before, after, str(file), str(file), "before", "after", lineterm=""):
            say(line)
        changed = parse_spec(new, path)  # Before it is written: what acked itself refuses must not replace a spec.
        write_text(file, new, "spec file")
        return replace(entry, candidate=Candidate(path, changed), departures=tuple(judge(changed, outcome)))
    return entry
