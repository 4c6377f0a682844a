"""The commands `check` and `show`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.asking.engines import EngineOptions, answer
from acked.asking.options import FORMATS, STARTED, Binding, KeyValue, MemorySize, say, warn_without_cache
from acked.asking.specs import changed, find_spec, with_symmetry
from acked.asking.stories import Story, more_of, stories_document
from acked.checker.errors import ConfigurationError, ExitCode
from acked.checker.files import check_writable, write_text
from acked.checker.spec.spec import Spec

if TYPE_CHECKING:
    from acked.checker.question.result import Result


@click.command(short_help="Explore every reachable state of a spec.")
@click.argument("spec")
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of the spec.")
@click.option("-w", "--workers", type=click.IntRange(1, 256), help="Threads that search; default: one per core.")
@click.option("--continue", "go_on", is_flag=True, help="Go on after a violation; one shortest trace per property.")
@click.option("--deadlock", is_flag=True, help="Also ask whether some action is enabled in every reachable state.")
@click.option("--symmetry", is_flag=True, help="Visit states that differ only in the names of brokers once.")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after so many levels.")
@click.option("--max-states", type=click.IntRange(1), help="Stop when more distinct states are known.")
@click.option("--memory", type=MemorySize(), help="Bytes for the visited states, e.g. 4GB; default: most of what is free.")
@click.option("--engine", type=click.Choice(["auto", "local", "spark"]), default="auto", show_default=True,
              help="Where to search; auto: here, and over a --master's executors once memory is full.")  # fmt: skip
@click.option("--master", help="Spark's master: local[2], spark://HOST:PORT, …; with --engine spark default local[*].")
@click.option("--run-dir", type=click.Path(path_type=Path), help="Keep every completed level in this new folder.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on after the completed levels of a run directory.")
@click.option("--buckets", type=int, help="Parts that the states are dealt into, many more than tasks; default: 64.")
@click.option("--conf", type=KeyValue(), multiple=True, help="A setting for Spark, e.g. spark.executor.memory=2g.")
@click.option("--easiest", is_flag=True, help="Of all shortest violating runs show the one that is easiest to tell.")
@click.option("--explain", is_flag=True, help="Also tell which events a violation takes, and the nearest run without it.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the shortest violating run to this file.")
@click.option("--format", "form", type=FORMATS, default="text", help="What stdout gets.", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def check(
    spec: str,
    constants: tuple[tuple[str, int], ...],
    workers: int | None,
    go_on: bool,
    deadlock: bool,
    symmetry: bool,
    max_depth: int | None,
    max_states: int | None,
    memory: int | None,
    engine: str,
    master: str | None,
    run_dir: Path | None,
    resume: Path | None,
    buckets: int | None,
    conf: tuple[tuple[str, str], ...],
    easiest: bool,
    explain: bool,
    trace_out: Path | None,
    form: str,
    quiet: bool,
) -> int:
    """Explore every reachable state of SPEC, a TOML file or the name of a bundled spec.

    Level by level from the initial state; the properties are decided in every state and on every step, and the first
    violation is the shortest there is. Once all states are known: whether the cluster can always get back
    (recoverable), and whether it does so in every fair run ([liveness.NAME]); a run that never does is shown with the
    steps that repeat. The exit code tells the verdict: 0 only if everything was seen and holds.
    """
    from acked.checker.bounds import Bounds, default_memory, default_workers
    from acked.checker.question.ledger import StopPolicy
    from acked.reports.progress import ProgressReporter

    options = EngineOptions(spec, engine, master, run_dir, resume, buckets, conf, memory)
    options.check(has_workers=workers is not None)
    warn_without_cache()
    chosen = find_spec(spec)
    if repeated := {name for name, _ in constants if [other for other, _ in constants].count(name) > 1}:
        raise ConfigurationError(f"constant {', '.join(sorted(repeated))} is given twice; give each once")
    if constants or deadlock:
        chosen = changed(chosen, dict(constants), deadlock)
    if symmetry and not chosen.symmetry:
        chosen = with_symmetry(chosen)
    if trace_out is not None:
        check_writable(trace_out, "trace")
    bounds = Bounds(workers or default_workers(), memory or default_memory(), max_depth, max_states)
    policy = StopPolicy.EVERY_PROPERTY if go_on or chosen.wants_every_property else StopPolicy.FIRST_VIOLATION
    question = chosen.question()
    for warning in chosen.warnings:
        say(f"warning: {chosen.where('constants')}{warning}")
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = answer(question, options, bounds, policy, observer)
        stories = more_of(result, bounds, observer, easiest, explain)
    seconds = time.perf_counter() - STARTED
    differences = chosen.expect.differences(result) if chosen.expect else None
    if trace_out is not None and stories:
        from acked.checker.question.result import Counterexample
        from acked.reports.runs.document import trace_document

        document = trace_document(Counterexample.of(chosen.title, question, stories[0].violation))
        write_text(trace_out, json.dumps(document, indent=1) + "\n", "trace")
    if form == "json":
        _print_json(spec, chosen, result, stories, seconds, differences)
    else:
        _print_text(chosen, result, stories, seconds, differences)
        if trace_out is not None:
            say(f"the trace is in {trace_out}" if result.violations else "nothing is violated, so no trace was written")
    code = result.exit_code
    return int(ExitCode.UNMET_EXPECTATION if differences and code == ExitCode.HOLDS else code)


def _print_json(
    name: str, spec: Spec, result: Result, stories: list[Story], seconds: float, differences: list[str] | None
) -> None:
    from acked.reports.runs.document import check_document

    expectation = None if differences is None else {"met": not differences, "differences": differences}
    document = check_document(name, spec.title, result, seconds, expectation)
    click.echo(json.dumps({**document, **stories_document(spec.title, result, stories)}, indent=1))


def _print_text(
    spec: Spec, result: Result, stories: list[Story], seconds: float, differences: list[str] | None
) -> None:
    from acked.checker.question.result import Counterexample
    from acked.reports.console import open_console
    from acked.reports.runs.terminal import print_trace
    from acked.reports.runs.view import view_of
    from acked.reports.tables.summary import print_expectation, print_result

    console = open_console(sys.stdout)
    for story in stories:
        violation = story.violation
        print_trace(console, view_of(Counterexample.of(spec.title, result.question, violation)))
        if story.easiest is not None:
            from acked.reports.tables.necessity import print_easiest

            console.print()
            print_easiest(console, story.easiest)
        if story.necessity is not None:
            from acked.reports.tables.necessity import print_necessity

            print_necessity(console, result.question, violation, story.necessity)
        console.print()
    print_result(console, spec.title, result, seconds)
    if differences is not None:
        print_expectation(console, differences)


@click.command(short_help="Show a trace that check wrote.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--spec", metavar="SPEC", help="What TRACE is a run of, if it is of TLC or Apalache, or of your own protocol.")
@click.option("--trust", is_flag=True, help="Run the protocol file that TRACE names, if its protocol is not shipped.")
@click.option("--format", "form", type=FORMATS, default="text", help="What stdout gets.", show_default=True)
def show(trace: Path, spec: str | None, trust: bool, form: str) -> None:
    """Show a trace that `check --trace-out` wrote.

    The run is replayed with the plain evaluator first: a file that is not a run of its protocol is refused, with the step
    and the clause that forbids it.
    """
    from acked.asking.runs import read_checked_trace, trace_of

    shown = read_checked_trace(trace, trusts=trust) if spec is None else trace_of(trace, spec)
    if form == "json":
        from acked.reports.runs.document import trace_document

        click.echo(json.dumps(trace_document(shown), indent=1))
        return
    from acked.reports.console import open_console
    from acked.reports.runs.terminal import print_trace
    from acked.reports.runs.view import view_of

    print_trace(open_console(sys.stdout), view_of(shown))
