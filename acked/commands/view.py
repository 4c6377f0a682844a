"""The command `view`: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked.asking.runs import run_of
from acked.checker.errors import ConfigurationError
from acked.checker.files import check_writable, write_text

if TYPE_CHECKING:
    from acked.checker.question.result import Counterexample


@click.command(short_help="Make one HTML page of a run, to step through.")
@click.argument("target", metavar="TRACE|SPEC")
@click.argument("other", metavar="[TRACE|SPEC]", required=False)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The page; default: the target's name with .html.")
@click.option("--against", metavar="PROTOCOL", help="Beside it, the same run under other rules: where they forbid it.")
@click.option("--spec", metavar="SPEC", help="What TRACE is a run of, if it is of TLC or Apalache, or of your own protocol.")
@click.option("--trust", is_flag=True, help="Run the protocol file that TRACE names, if its protocol is not shipped.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def view(
    target: str, other: str | None, out: Path | None, against: str | None, spec: str | None, trust: bool, quiet: bool
) -> None:
    """Make one self-contained HTML page of a run, to step through in a browser.

    TRACE is a file that `check --trace-out` wrote; of a SPEC the shortest violating run is searched first. The page shows the
    log grid, who told whom, the promises with the conjunct that fails, and at every step which actions were possible and
    which clause forbade the others. It needs no network. A second trace or spec is shown beside the first.
    """
    from acked.reports.pages.page import pair_data, render, trace_data

    if other is not None and against is not None:
        raise ConfigurationError("name a second trace or --against, not both")
    if other is not None and spec is not None:
        raise ConfigurationError("--spec says what one trace is a run of; leave the second one out, or use --trust")
    page = out if out is not None else Path(f"{Path(target).stem}.html")
    check_writable(page, "page")
    shown = run_of(target, spec=spec, quiet=quiet, trusts=trust)
    data = trace_data(shown, decides=True)
    if other is not None:
        second = run_of(other, quiet=quiet, trusts=trust)
        beside = trace_data(second, decides=True)
        data = pair_data(data, beside, f"On the left {shown.title}, on the right {second.title}.")
    elif against is not None:
        data = _against(shown, against, data)
    write_text(page, render(data), "page")
    click.echo(f"the page is {page} ({page.stat().st_size / 1e6:.2f} MB); open it in a browser", err=True)


def _against(shown: Counterexample, name: str, first: dict[str, Any]) -> dict[str, Any]:
    """The same run under other rules, as far as these allow it, beside the page's own."""
    from acked.checker.question.question import Question
    from acked.checker.question.result import Counterexample
    from acked.checker.replay.retrace import under
    from acked.checker.spec.resolve import protocol_named
    from acked.model.formulas.errors import ModelError
    from acked.reports.pages.page import pair_data, trace_data
    from acked.reports.runs.blocked import blocked_in_words

    protocol, instance = protocol_named(name), shown.question.instance
    if protocol.state is not instance.protocol.state:
        raise ConfigurationError(f"{name} has another state than {instance.protocol.name}, so it cannot follow the same run")
    try:
        other = protocol.instantiate(instance.constants)
    except ModelError as error:
        raise ConfigurationError(f"{name} cannot have these constants: {error}") from None
    found = under(other, instance, shown.run)
    second = trace_data(Counterexample(shown.title, Question(other, shown.question.properties), found.run))
    if found.blocked is None:
        return pair_data(first, second, f"The rules of {name} allow the whole run.")
    why = blocked_in_words(found.blocked)
    note = f"The same run under {name}: step {found.blocked.index} does not happen, because {why}."
    return pair_data(first, second, note, why)
