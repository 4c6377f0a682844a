"""`acked prove check DIR`: a certificate, made again and confirmed by a second solver."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from acked.base.errors import ExitCode
from acked.base.observer import ProofProgress
from acked.base.processes import Limits
from acked.checker.allconstants.certificate import read_certificate
from acked.checker.allconstants.proof import ObligationResult
from acked.checker.allconstants.verification import verify
from acked.checker.question.result import Verdict
from acked.checker.spec.spec import Spec
from acked.commands.proving.asked import expectation, passed_over, refuse_unmade, unmet
from acked.reports.console import Console
from acked.reports.proofs.certificate import print_verification
from acked.reports.proofs.proof import ProofReporter
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output
from acked.reports.tables.summary import print_expectation, print_notes


def check_certificate(folder: Path, spec: Spec | None, limits: Limits, output: Output) -> int:
    """Checks the certificate in a folder, prints the answer and returns the exit code.

    With a spec, `ConfigurationError` for a certificate that is about another protocol, other switches or other properties.
    """
    certificate = read_certificate(folder)
    if spec is not None:
        refuse_unmade(spec, folder, certificate)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:

        def report(result: ObligationResult, done: int, total: int) -> None:
            subject = f"{result.subject}: {result.clause}"
            observer.decided(ProofProgress(subject, result.verdict.value, result.seconds, done, total))

        found = verify(folder, limits, report, certificate)
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

