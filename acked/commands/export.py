"""The command `export`: a trace in another tool's format."""

from __future__ import annotations

from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable
from acked.reports.exports.catalogue import FORMATS
from acked.reports.exports.subject import Exported
from acked.reports.runs.view import view_of
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import OUT, QUIET, SpecChanges, TraceSource, changes_spec, reads_trace
from acked.reports.shell.output import put_text
from acked.reports.shell.runs import run_of


@click.command(short_help="Write a trace for other tools, or as a picture.")
@click.argument("target", metavar="TRACE|SPEC", shell_complete=bundled_or_file)
@click.option("--to", "form", type=click.Choice(tuple(FORMATS)), required=True, help="The format.")
@OUT.under("out")
@click.option("--step", type=click.IntRange(0), help="With --to svg: the step that is drawn; default: the last.")
@changes_spec
@reads_trace
@QUIET.under("quiet")
def export(
    target: str, form: str, out: Path | None, step: int | None, changes: SpecChanges, source: TraceSource, quiet: bool
) -> None:
    """Write a trace as ITF (Apalache), TLC's JSON, a ShiViz log, Mermaid, SVG, Graphviz, Markdown or CSV.

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest counterexample is searched first.

    \b
    acked export truncate-to-hw --to mermaid -o trace.mmd
    acked export trace.json --to svg --step 5 -o step5.svg
    """
    check_writable(out, "export")
    if step is not None and form != "svg":
        raise ConfigurationError(f"--step chooses the step that svg draws; {form} has all steps, so leave it out")
    shown = run_of(target, changes, source.spec, quiet, source.trusts)
    view = view_of(shown, decides=form == "markdown")
    last = len(view.steps) - 1
    if step is not None and step > last:
        raise ConfigurationError(f"there is no step {step}; the trace has the steps 0 to {last}")
    text = FORMATS[form](Exported(view, shown, last if step is None else step))
    put_text(text, out, "export")
