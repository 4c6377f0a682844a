"""`acked prove variants`: every shipped variant against every named property."""

from __future__ import annotations

import sys
import time

from acked.base.errors import ExitCode
from acked.base.processes import Limits
from acked.checker.proof.variants import prove_matrix
from acked.reports.proofs.proof import ProofReporter
from acked.reports.proofs.variants import matrix_document, print_matrix
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output


def prove_variants(limits: Limits, output: Output) -> int:
    """Proves all of them, prints the table and returns the exit code."""
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        matrix = prove_matrix(limits, observer)
    seconds = time.perf_counter() - STARTED
    output.emit(lambda: matrix_document(matrix, seconds), lambda console: print_matrix(console, matrix, seconds))
    return int(ExitCode.HOLDS if matrix.is_decided else ExitCode.TOO_LARGE)
