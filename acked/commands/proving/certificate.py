"""`acked prove --check DIR`: a certificate, made again and confirmed by a second solver."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from acked.asking.options import STARTED
from acked.asking.output import Output
from acked.checker.errors import ConfigurationError
from acked.checker.spec.spec import Spec

if TYPE_CHECKING:
    from acked.checker.allconstants.certificate import Certificate
    from acked.checker.processes import Limits


def check_certificate(folder: Path, spec: Spec | None, limits: Limits, output: Output) -> int:
    """Checks the certificate in a folder, prints the answer and returns the exit code.

    With a spec, `ConfigurationError` for a certificate that is about another protocol or other switches.
    """
    from acked.checker.allconstants.certificate import read_certificate
    from acked.checker.allconstants.proof import ObligationResult
    from acked.checker.allconstants.verification import verify
    from acked.checker.observer import ProofProgress
    from acked.reports.proofs.certificate import print_verification
    from acked.reports.proofs.proof import ProofReporter

    certificate = read_certificate(folder)
    if spec is not None:
        _refuse_another(folder, certificate, spec)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:

        def report(result: ObligationResult, done: int, total: int) -> None:
            subject = f"{result.subject}: {result.clause}"
            observer.decided(ProofProgress(subject, result.verdict.value, result.seconds, done, total))

        found = verify(folder, limits, report, certificate)
    seconds = time.perf_counter() - STARTED
    output.emit(found.document, lambda console: print_verification(console, found, seconds))
    return int(found.exit_code)


def _refuse_another(folder: Path, told: Certificate, spec: Spec) -> None:
    if told.protocol != spec.protocol.name:
        about = f"the certificate in {folder} is about {told.protocol}"
        raise ConfigurationError(f"{about}, and {spec.name} about {spec.protocol.name}")
    if told.drop != tuple(spec.drop):
        raise ConfigurationError(f"the certificate in {folder} leaves out other guard clauses than {spec.name}")
    mine, theirs = spec.switches, told.switches
    constants = [item for item in spec.protocol.constants if item.name in mine]
    if differing := [item for item in constants if theirs.get(item.name) != mine[item.name]]:
        rules = ", ".join(f"{item.name} ({item.show(mine[item.name])} in {spec.name})" for item in differing)
        raise ConfigurationError(f"the certificate in {folder} is about other switches than {spec.name}: {rules}")
