"""What the command line of an audit wants: which questions, what decides the exit code, and what is written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click

from acked.audit.decision.faults import Faults, read_faults
from acked.audit.decision.questions import AuditQuestion
from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.base.release import Release, release
from acked.reports.shell.options import FORMAT, QUIET, collects, option
from acked.reports.shell.output import Output

ALL = "all"
LOSS = "loss"


@dataclass(frozen=True)
class Wanted:
    """Which questions are asked, and which of them decide the exit code."""

    ask: str
    require: str
    advice: bool
    fix: Path | None
    baseline: Path | None
    pages: Path | None
    trace_out: Path | None
    show_settings: bool = False
    prove_it: bool = False
    upgrade_to: str | None = None

    def check(self, form: str) -> None:
        """Refuses forms and options that do not go with what is wanted."""
        if self.prove_it and (form not in ("text", "json") or self.show_settings):
            raise click.UsageError("--prove-it is text or JSON, and goes without --show-settings")
        if self.prove_it and (self.fix is not None or self.pages is not None or self.trace_out is not None):
            raise click.UsageError("--prove-it plays the story of a yes; ask for --fix, --pages and --trace-out without it")

    @cached_property
    def target(self) -> Release | None:
        """The release of `audit upgrade --to`; `ConfigurationError` for one that is not known."""
        return None if self.upgrade_to is None else release(self.upgrade_to)

    @cached_property
    def questions(self) -> tuple[AuditQuestion, ...]:
        """What is asked."""
        return _questions(self.ask, "--ask")

    @cached_property
    def decisive(self) -> tuple[tuple[AuditQuestion, tuple[Faults, ...]], ...]:
        """The faults that --require names for a question, `loss=one-machine`, instead of those of --faults."""
        found: dict[AuditQuestion, list[Faults]] = {}
        for part in self.require.split(","):
            name, separator, faults = part.partition("=")
            if separator:
                for asked in _questions(name, "--require"):
                    found.setdefault(asked, []).append(read_faults(faults.replace("+", ",")))
        return tuple((asked, tuple(dict.fromkeys(faults))) for asked, faults in found.items())

    @cached_property
    def required(self) -> tuple[AuditQuestion, ...]:
        """The questions whose answer must be no; `ConfigurationError` if one of them is not asked."""
        required = _questions(",".join(part.partition("=")[0] for part in self.require.split(",")), "--require")
        if self.require == ALL or (self.require == LOSS and self.ask != ALL):
            required = self.questions  # What is asked and not required would be asked for nothing.
        if missing := [item.value for item in required if item not in self.questions]:
            raise ConfigurationError(f"--require {missing[0]} is not among the questions of --ask; ask it too")
        return required


_ASKS = {
    "ask": option("--ask", metavar="Q,…", default=ALL, help="Ask only these questions; default: all."),
    "require": option("--require", metavar="Q[=F],…", default=LOSS, show_default=True,
                   help="Exit with 0 only if the answer to these is no: loss, duplicates, reordering, vanishing, writes, "
                   "or all; of a question under one fault only: loss=one-machine, loss=one-lossy+zombies."),
    "advice": option("--advice/--no-advice", default=True, help="Find the settings that cause a yes, and the smallest fix."),
    "baseline": option("--baseline", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                    help="An earlier audit (--format json): only what got worse since is red, and text has only what "
                    "changed."),
    "pages": option("--pages", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
                 help="Write the audit as index.html into DIR, and beside it a page for every counterexample, which of the "
                 "shortest is the easiest to follow."),
    "trace_out": option("--trace-out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                     help="Write the trace of the first required yes, for acked view, explore or reproduce."),
    "fix": option("--fix", metavar="OUT", type=click.Path(path_type=Path, file_okay=False),
               help="Write copies of FILE..., with the recommended change made, into the folder OUT; "
               "of several topics, for one --topic."),
}  # fmt: skip
asks = collects(
    "wanted",
    Wanted,
    **_ASKS,
    show_settings=option("--show-settings", is_flag=True,
                         help="Say what is read, with files and lines, and ask nothing (text or JSON)."),
    prove_it=option("--prove-it", is_flag=True, help="Play the story of a yes on a throw-away cluster of your release, with "
                    "your settings (text or JSON)."),
)  # fmt: skip
asks_upgrade = collects(
    "wanted",
    Wanted,
    **_ASKS,
    upgrade_to=option("--to", metavar="V", required=True, help="The release to which the brokers are upgraded."),
)
shows = collects(
    "output",
    Output,
    form=FORMAT.with_(
        type=click.Choice(["text", "markdown", "html", "json", "sarif", "junit"]), help="The form of the answer."
    ),
    quiet=QUIET,
)


def _questions(text: str, option: str) -> tuple[AuditQuestion, ...]:
    names = [item.value for item in AuditQuestion]
    wanted = [part.strip() for part in text.split(",")]
    for name in wanted:
        if name not in (*names, ALL):
            raise ConfigurationError(
                f"{option}: there is no question {name!r}{near(name, names)}; choose from {', '.join(names)}, {ALL}"
            )
    return tuple(item for item in AuditQuestion if item.value in wanted or ALL in wanted)
