"""The command `export`: a trace in another tool's format."""

from __future__ import annotations

from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable
from acked.checker.wasm.script import script_of
from acked.reports.exports.catalogue import FORMATS
from acked.reports.exports.subject import Exported
from acked.reports.runs.view import view_of
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import OUT, QUIET, SpecChanges, TraceSource, changes_spec, reads_trace
from acked.reports.shell.output import put_text
from acked.reports.shell.runs import is_trace, run_of
from acked.reports.shell.specs import find_spec

SCRIPT = "wasm"
"""The format of the search itself, which is made of a spec and not of a trace."""


@click.command(short_help="Write a trace for other tools, or as a picture.")
@click.argument("target", metavar="TRACE|SPEC", shell_complete=bundled_or_file)
@click.option("--to", "form", type=click.Choice((*FORMATS, SCRIPT)), required=True, help="The format.")
@OUT.under("out")
@click.option("--step", type=click.IntRange(0), help="With --to svg: the step that is drawn; default: the last.")
@changes_spec
@reads_trace
@QUIET.under("quiet")
def export(
    target: str, form: str, out: Path | None, step: int | None, changes: SpecChanges, source: TraceSource, quiet: bool
) -> None:
    """Write a trace as ITF (Apalache), TLC's JSON, a ShiViz log, Mermaid, SVG, Graphviz, Markdown or CSV.

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest counterexample is searched first. With --to wasm
    the search of a SPEC itself becomes one script: it visits every state, or finds the shortest counterexample, in a worker
    of a web page or in Node, without acked.

    \b
    acked export truncate-to-hw --to mermaid -o trace.mmd
    acked export trace.json --to svg --step 5 -o step5.svg
    acked export kip320 --to wasm -o kip320.js && node kip320.js
    """
    check_writable(out, "export")
    if step is not None and form != "svg":
        raise ConfigurationError(f"--step chooses the step that svg draws; {form} has all steps, so leave it out")
    if form == SCRIPT:
        put_text(_script(target, changes, source), out, "export")
        return
    shown = run_of(target, changes, source.spec, quiet, source.trusts)
    view = view_of(shown, decides=form == "markdown")
    last = len(view.steps) - 1
    if step is not None and step > last:
        raise ConfigurationError(f"there is no step {step}; the trace has the steps 0 to {last}")
    text = FORMATS[form](Exported(view, shown, last if step is None else step))
    put_text(text, out, "export")


def _script(target: str, changes: SpecChanges, source: TraceSource) -> str:
    """The search of a spec as a script."""
    if source.spec is not None or is_trace(target):
        raise ConfigurationError(f"{target} is a trace, and {SCRIPT} is the search of a spec; name the spec")
    spec = changes.put_into(find_spec(target, not changes.are_none))
    return script_of(spec.question(), spec.policy)
