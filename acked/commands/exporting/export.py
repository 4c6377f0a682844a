"""The command `export`: a trace in another tool's format, and a question in another tool's language."""

from __future__ import annotations

from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable, write_text
from acked.checker.spec.spec import Spec
from acked.checker.wasm.script import script_of
from acked.reports.exports.catalogue import FORMATS
from acked.reports.exports.subject import Exported
from acked.reports.exports.tla_module import module_of
from acked.reports.runs.view import view_of
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import OUT, QUIET, AskedSpec, SpecChanges, TraceSource, changes_spec, reads_trace
from acked.reports.shell.output import make_folder, put_text, say
from acked.reports.shell.runs import is_trace, run_of

SCRIPT, MODULE = "wasm", "tla"
"""The formats of the question itself, which are made of a spec and not of a trace: its search, and its rules."""


@click.command(short_help="Write a trace for other tools, or as a picture.")
@click.argument("target", metavar="TRACE|SPEC", shell_complete=bundled_or_file)
@click.option("--to", "--format", "form", type=click.Choice((*FORMATS, SCRIPT, MODULE)), required=True, help="The format.")
@OUT.saying("Write to this file; default: stdout. Of tla the folder of its two files; default: here.").under("out")
@click.option("--step", type=click.IntRange(0), help="With --to svg: the step that is drawn; default: the last.")
@changes_spec
@reads_trace
@QUIET.under("quiet")
def export(
    target: str, form: str, out: Path | None, step: int | None, changes: SpecChanges, source: TraceSource, quiet: bool
) -> None:
    """Write a trace in the format of another tool, or as a picture, a text or a table: whatever --to names.

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest counterexample is searched first. With --to wasm
    the search of a SPEC itself becomes one script: it visits every state, or finds the shortest counterexample, in a worker
    of a web page or in Node, without acked. With --to tla the protocol of a SPEC under its constants becomes a TLA+ module
    with its configuration for TLC: state, actions, promises and fairness.

    \b
    acked export truncate-to-hw --to mermaid -o trace.mmd
    acked export trace.json --to svg --step 5 -o step5.svg
    acked export kip320 --to wasm -o kip320.js && node kip320.js
    acked export kip320 -c replicas=2 --to tla -o kip320-tla
    """
    if form != MODULE:
        check_writable(out, "export")
    if step is not None and form != "svg":
        raise ConfigurationError(f"--step chooses the step that svg draws; {form} has all steps, so leave it out")
    if form == SCRIPT:
        spec = _asked(target, changes, source, form)
        put_text(script_of(spec.question(), spec.policy), out, "export")
        return
    if form == MODULE:
        _write_module(_asked(target, changes, source, form), Path() if out is None else out)
        return
    shown = run_of(target, changes, source, quiet)
    view = view_of(shown, decides=form == "markdown")
    last = len(view.steps) - 1
    if step is not None and step > last:
        raise ConfigurationError(f"there is no step {step}; the trace has the steps 0 to {last}")
    text = FORMATS[form](Exported(view, shown, last if step is None else step))
    put_text(text, out, "export")


def _asked(target: str, changes: SpecChanges, source: TraceSource, form: str) -> Spec:
    """The spec that a question is exported of."""
    if source.spec is not None or is_trace(target):
        raise ConfigurationError(f"{target} is a trace, and {form} is made of a spec; name the spec")
    return AskedSpec(target, changes).load()


def _write_module(spec: Spec, folder: Path) -> None:
    module = module_of(spec.question(), spec.title, spec.reach)
    make_folder(folder)
    files = {folder / f"{module.name}.tla": module.text, folder / f"{module.name}.cfg": module.configuration}
    for path in files:
        check_writable(path, "export")
    for path, text in files.items():
        write_text(path, text, "export")
    say(f"the module is {folder / module.name}.tla, and what TLC checks is in {module.name}.cfg beside it")
