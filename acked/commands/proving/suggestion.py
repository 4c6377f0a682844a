"""`acked prove suggest SPEC`: conjuncts that could complete an inductive proof that fails."""

from __future__ import annotations

import sys
import time

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.processes import Limits
from acked.checker.proof.result import PROOF
from acked.checker.spec.spec import Spec
from acked.commands.proving.asked import refuse_unasked
from acked.commands.proving.request import ProofOptions
from acked.reports.proofs.proof import ProofReporter
from acked.reports.proofs.suggest import print_suggestion, suggestion_document
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output


def suggest_conjuncts(name: str, spec: Spec, options: ProofOptions, limits: Limits, output: Output) -> int:
    """Suggests conjuncts and returns the exit code, which is never that of a proof."""
    from acked.checker.proof.suggest import suggest

    refuse_unasked(spec)
    question = spec.question()
    PROOF.check(question)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        found = suggest(question, options.lemmas(spec), limits, options.explore, observer)
    seconds = time.perf_counter() - STARTED
    if found is None:
        raise ConfigurationError(
            "induction finds no counterexample here, so there is nothing to suggest; `acked prove` proves it"
        )
    output.emit(
        lambda: suggestion_document(name, question, found, seconds),
        lambda console: print_suggestion(console, spec.title, question, found, seconds),
    )
    return int(ExitCode.TOO_LARGE)
