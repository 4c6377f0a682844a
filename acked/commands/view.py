"""The commands `view` and `show`: a trace as one HTML page, and in the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable, write_text
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Verdict
from acked.checker.replay.retrace import under
from acked.checker.replay.trace_file import read_trace, trace_document
from acked.checker.spec.resolve import protocol_named
from acked.checker.spec.variants import name_of
from acked.cluster.commands.reproductions import is_reproduction, read_saved
from acked.model.formulas.errors import ModelError
from acked.reports.pages.checking import check_data, kept_page
from acked.reports.pages.page import pair_data, render, trace_data
from acked.reports.runs.answers import subject_in_words
from acked.reports.runs.refusals import blocked_in_words
from acked.reports.runs.terminal import only_changes, print_trace
from acked.reports.runs.view import view_of
from acked.reports.shell.completion import bundled_or_file, shipped_protocols
from acked.reports.shell.options import QUIET, SpecChanges, TraceSource, changes_spec, reads_trace, shows_without_progress
from acked.reports.shell.output import Output, say
from acked.reports.shell.runs import answer_of, is_trace, run_of, shortest_in, trace_of


@click.command(short_help="Make one HTML page of a trace, to step through.")
@click.argument("target", metavar="TRACE|SPEC", shell_complete=bundled_or_file)
@click.argument("other", metavar="[TRACE|SPEC]", required=False, shell_complete=bundled_or_file)
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE",
              help="The page; default: the target's name with .html.")  # fmt: skip
@click.option("--against", metavar="PROTOCOL", shell_complete=shipped_protocols,
              help="Show beside it the same trace under another protocol, up to the step that it forbids.")  # fmt: skip
@changes_spec
@reads_trace
@QUIET.under("quiet")
def view(
    target: str,
    other: str | None,
    out: Path | None,
    against: str | None,
    changes: SpecChanges,
    source: TraceSource,
    quiet: bool,
) -> None:
    """Make one self-contained HTML page of a trace, to step through in a browser.

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest counterexample is searched first. Of one that
    holds, the page tells how large its space of states is, and visits all of them again in the browser. The page shows
    the brokers' logs, the messages, the properties with the conjunct that fails, and at every step which actions were
    enabled and which guard clause disabled the others. It needs no network. A second trace or spec is shown beside the
    first. TRACE may also be what `reproduce --format json` wrote: the page then has the real brokers beside the model.

    \b
    acked view truncate-to-hw                     the shortest counterexample of a bundled spec
    acked view trace.json --against kip320        what KIP-320 would have prevented
    """
    if other is not None and against is not None:
        raise ConfigurationError("name a second trace or --against, not both")
    if other is not None and source.spec is not None:
        raise ConfigurationError("--spec names the spec of one trace; leave the second one out, or use --trust")
    page = out if out is not None else Path(f"{name_of(Path(target))}.html")
    check_writable(page, "page")
    if is_reproduction(target):
        if other is not None or against is not None or not changes.are_none or source.spec is not None:
            raise ConfigurationError(f"{target} is a reproduction, shown as it was played; leave everything else out")
        _write(page, _reproduction(target))
        return
    is_alone = other is None and against is None and source.spec is None and not is_trace(target)
    if is_alone:
        spec, result = answer_of(target, changes, quiet)
        if result.verdict is Verdict.HOLDS:
            _write(page, kept_page(spec.title, subject_in_words(result.question.instance), result))
            return
        shown = shortest_in(target, spec, result)
        check = check_data(result, StopPolicy.FIRST_VIOLATION, result.violations[0])
    else:
        shown, check = run_of(target, changes, source, quiet), {}
    data = {**trace_data(shown, decides=True), **check}
    if other is not None:
        second = run_of(other, changes, replace(source, mapping=None), quiet)
        beside = trace_data(second, decides=True)
        data = pair_data(data, beside, f"On the left {shown.title}, on the right {second.title}.")
    elif against is not None:
        data = _against(shown, against, data)
    _write(page, render(data))


def _reproduction(target: str) -> str:
    """The page of a reproduction that was saved."""
    answer, _ = read_saved(target)
    from acked.cluster.reports.reproductions.page import reproduction_page

    return reproduction_page(answer)


def _write(page: Path, text: str) -> None:
    write_text(page, text, "page")
    say(f"the page is {page} ({page.stat().st_size / 1e6:.2f} MB); open it in a browser")


def _against(shown: Counterexample, name: str, first: dict[str, Any]) -> dict[str, Any]:
    """The same trace under other rules, as far as these allow it, beside the page's own."""
    protocol, instance = protocol_named(name), shown.question.instance
    if protocol.state is not instance.protocol.state:
        raise ConfigurationError(f"{name} has other fields than {instance.protocol.name}, so it cannot follow the same trace")
    try:
        other = protocol.instantiate(instance.constants)
    except ModelError as error:
        raise ConfigurationError(f"{name} cannot have these constants: {error}") from None
    found = under(other, instance, shown.run)
    second = trace_data(Counterexample(shown.title, Question(other, shown.question.properties), found.run))
    if found.blocked is None:
        return pair_data(first, second, f"The rules of {name} allow the whole trace.")
    why = blocked_in_words(found.blocked)
    note = f"The same trace under {name}: step {found.blocked.index} does not happen, because {why}."
    return pair_data(first, second, note, why)


@click.command(short_help="Show a trace that check wrote.")
@click.argument("trace", type=click.Path(path_type=Path))
@changes_spec
@reads_trace
@click.option("--changes", "is_brief", is_flag=True, help="Of each step show what it changed, and not the whole state.")
@shows_without_progress
def show(trace: Path, changes: SpecChanges, source: TraceSource, is_brief: bool, output: Output) -> None:
    """Show a trace that `check --trace-out` wrote.

    The trace is first replayed step by step: a file that is not a trace of its protocol is refused, with the first step that
    the protocol does not allow and the guard that forbids it. Traces of TLC and Apalache are replayed with --spec: model
    values such as r1 are ids, and a mapping file says which of their variables is which field (docs/tla.md). TRACE may also
    be what `reproduce --format json` wrote.

    \b
    acked show trace.json
    acked show trace.json --changes                what each step changed, field by field
    acked show tlc.json --spec my.toml -c replicas=2
    acked show tlc.json --spec my.toml --map theirs.toml
    """
    if source.spec is None and not changes.are_none:
        raise ConfigurationError("-c and --kafka-version change the spec of another tool's trace; name that with --spec")
    if source.spec is None and is_reproduction(str(trace)):
        answer, left_out = read_saved(str(trace))
        from acked.cluster.reports.reproductions.document import answer_document
        from acked.cluster.reports.reproductions.terminal import print_answer

        output.emit(lambda: answer_document(answer, left_out), lambda console: print_answer(console, answer))
        return
    if source.spec is None:
        shown = read_trace(trace, trusts=source.trusts)
    else:
        shown = trace_of(trace, source.spec, changes, source.mapping)
    output.emit(
        lambda: trace_document(shown),
        lambda console: print_trace(console, only_changes(view_of(shown)) if is_brief else view_of(shown)),
    )
