"""The command `prove check`: a certificate, made again and confirmed by a second solver."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.checker.allconstants.certificate import read_certificate
from acked.checker.allconstants.verification import verify
from acked.checker.question.result import Verdict
from acked.commands.proving.demands import expectation, passed_over, refuse_unmade, unmet
from acked.commands.proving.options import Solver, limits_solver
from acked.reports.console import Console
from acked.reports.proofs.all_constants import print_verification
from acked.reports.proofs.proof import ProofReporter
from acked.reports.shell.groups import STARTED
from acked.reports.shell.options import SPEC, AskedSpec, changing, collects, shows
from acked.reports.shell.output import Output
from acked.reports.tables.summary import print_expectation, print_notes


@click.command(short_help="Check the certificate of a proof with a second solver.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@collects("asked", AskedSpec.from_options, name=SPEC.having(required=False, default="", metavar="[SPEC]"), **changing)
@limits_solver
@shows
def check(folder: Path, asked: AskedSpec, solver: Solver, output: Output) -> int:
    """Check the certificate in DIR, which `acked prove all-constants --certificate` wrote.

    Its obligations are made again and compared, and a second solver (cvc5) confirms each. With SPEC: only if it is about
    SPEC.

    \b
    acked prove check DIR
    acked prove check DIR kip320
    """
    if not asked.name and not asked.changes.are_none:
        text = "a certificate has settings of its own; name the SPEC that yours are of, or leave them out"
        raise ConfigurationError(text)
    spec = asked.load() if asked.name else None
    certificate = read_certificate(folder)
    if spec is not None:
        refuse_unmade(spec, folder, certificate)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        found = verify(folder, solver.limits, observer.obligation_decided, certificate)
    seconds = time.perf_counter() - STARTED
    notes = () if spec is None else passed_over(spec)
    verdict = Verdict.HOLDS if found.holds else Verdict.INCOMPLETE
    # A folder that is no certificate, and a solver that disagrees, say nothing of the spec.
    says_something = found.verdict in ("verified", "incomplete") and not found.interrupted
    differing = unmet(spec, verdict) if spec is not None and says_something else None

    def show(console: Console) -> None:
        print_verification(console, found, seconds)
        print_notes(console, notes)
        if differing is not None:
            print_expectation(console, verdict, differing)

    output.emit(lambda: {**found.document(), "expectation": expectation(differing), "notes": [*notes]}, show)
    return int(ExitCode.UNMET_EXPECTATION if differing and found.holds else found.exit_code)
