"""The command `view`: a trace as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable, write_text
from acked.checker.question.result import Counterexample
from acked.checker.spec.variants import name_of
from acked.cluster.commands.reproductions import is_reproduction, read_saved
from acked.reports.shell.completion import bundled_or_file, shipped_protocols
from acked.reports.shell.options import QUIET, SpecChanges, TraceSource, changes_spec, reads_trace
from acked.reports.shell.output import say
from acked.reports.shell.runs import run_of


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

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest counterexample is searched first. The page shows
    the brokers' logs, the messages, the properties with the conjunct that fails, and at every step which actions were
    enabled and which guard clause disabled the others. It needs no network. A second trace or spec is shown beside the
    first. TRACE may also be what `reproduce --format json` wrote: the page then has the real brokers beside the model.

    \b
    acked view truncate-to-hw                     the shortest counterexample of a bundled spec
    acked view trace.json --against kip320        what KIP-320 would have prevented
    """
    from acked.reports.pages.page import pair_data, render, trace_data

    if other is not None and against is not None:
        raise ConfigurationError("name a second trace or --against, not both")
    if other is not None and source.spec is not None:
        raise ConfigurationError("--spec names the spec of one trace; leave the second one out, or use --trust")
    page = out if out is not None else Path(f"{name_of(Path(target))}.html")
    check_writable(page, "page")
    if is_reproduction(target):
        if other is not None or against is not None or not changes.are_none or source.spec is not None:
            raise ConfigurationError(f"{target} is a reproduction, shown as it was played; leave everything else out")
        _write(page, _reproduced(target))
        return
    shown = run_of(target, changes, source.spec, quiet=quiet, trusts=source.trusts)
    data = trace_data(shown, decides=True)
    if other is not None:
        second = run_of(other, changes, quiet=quiet, trusts=source.trusts)
        beside = trace_data(second, decides=True)
        data = pair_data(data, beside, f"On the left {shown.title}, on the right {second.title}.")
    elif against is not None:
        data = _against(shown, against, data)
    _write(page, render(data))


def _reproduced(target: str) -> str:
    """The page of a reproduction that was saved."""
    answer, _ = read_saved(target)
    from acked.cluster.reports.reproductions.page import reproduction_page

    return reproduction_page(answer)


def _write(page: Path, text: str) -> None:
    write_text(page, text, "page")
    say(f"the page is {page} ({page.stat().st_size / 1e6:.2f} MB); open it in a browser")


def _against(shown: Counterexample, name: str, first: dict[str, Any]) -> dict[str, Any]:
    """The same trace under other rules, as far as these allow it, beside the page's own."""
    from acked.checker.question.question import Question
    from acked.checker.replay.retrace import under
    from acked.checker.spec.resolve import protocol_named
    from acked.model.formulas.errors import ModelError
    from acked.reports.pages.page import pair_data, trace_data
    from acked.reports.runs.blocked import blocked_in_words

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
