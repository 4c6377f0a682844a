"""The command `export`: a run in another tool's format."""

from __future__ import annotations

from pathlib import Path

import click

from acked.asking.options import Binding
from acked.asking.runs import run_of
from acked.checker.errors import ConfigurationError
from acked.checker.files import check_writable, write_text

_NAMES = ["itf", "tlc", "shiviz", "mermaid", "svg", "dot", "markdown", "csv"]


@click.command(short_help="Write a run for other tools, or as a picture.")
@click.argument("target", metavar="TRACE|SPEC")
@click.option("--to", "form", type=click.Choice(_NAMES), required=True, help="The format.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write to this file; default: stdout.")
@click.option("--step", type=click.IntRange(0), help="The step that a still picture shows; default: the last.")
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of the spec.")
@click.option("--spec", metavar="SPEC", help="What TRACE is a run of, if it is of TLC or Apalache, or of your own protocol.")
@click.option("--trust", is_flag=True, help="Run the protocol file that TRACE names, if its protocol is not shipped.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def export(
    target: str,
    form: str,
    out: Path | None,
    step: int | None,
    constants: tuple[tuple[str, int], ...],
    spec: str | None,
    trust: bool,
    quiet: bool,
) -> None:
    """Write a run as ITF (Apalache), TLC's JSON, a ShiViz log, Mermaid, SVG, Graphviz, Markdown or CSV.

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest violating run is searched first.
    """
    from acked.reports.exports.catalogue import FORMATS
    from acked.reports.exports.exported import Exported
    from acked.reports.runs.view import view_of

    if out is not None:
        check_writable(out, "export")
    if step is not None and form != "svg":
        raise ConfigurationError(f"--step chooses the step of a still picture; {form} has all steps")
    shown = run_of(target, constants, spec, quiet, trust)
    view = view_of(shown, decides=form == "markdown")
    last = len(view.steps) - 1
    if step is not None and step > last:
        raise ConfigurationError(f"there is no step {step}; the run has the steps 0 to {last}")
    text = FORMATS[form](Exported(view, shown, last if step is None else step))
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text, "export")
