"""`acked prove SPEC`: one spec, by induction or by bounded model checking."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from acked.base.errors import ExitCode
from acked.base.observer import Observer
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import PROOF, ProofResult
from acked.checker.question.result import Counterexample
from acked.checker.spec.spec import Spec
from acked.commands.proving.asked import passed_over, refuse_unasked
from acked.commands.proving.request import ProofOptions, make_query_folder
from acked.invariants.proofs import has_induction
from acked.reports.console import Console
from acked.reports.proofs.proof import ProofReporter, differences, print_proof, proof_document
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output, TraceFile
from acked.reports.tables.summary import print_expectation


def prove_spec(
    name: str, spec: Spec, options: ProofOptions | Bound, limits: Limits, trace_out: TraceFile, output: Output
) -> int:
    """Proves a spec by induction, or searches up to a bound; prints the answer and returns the exit code.

    `name` is what the user called the spec.
    """
    refuse_unasked(spec)
    trace_out.check()
    make_query_folder(options.smt2)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        result = _answer(spec, options, limits, observer)
    result = replace(result, notes=(*result.notes, *passed_over(spec)))
    seconds = time.perf_counter() - STARTED
    is_open = result.interrupted and not result.violations  # Then what is not proved yet says nothing.
    unmet = differences(spec.expect, result) if spec.expect and not is_open else None
    expectation = None if unmet is None else {"met": not unmet, "differences": unmet}
    if result.violations:
        trace_out.write(Counterexample.of(spec.title, result.question, result.violations[0]))

    def show(console: Console) -> None:
        print_proof(console, spec.title, result, seconds)
        if unmet is not None:
            print_expectation(console, result.verdict, unmet)

    output.emit(lambda: proof_document(name, spec.title, result, seconds, expectation), show)
    trace_out.announce(output, bool(result.violations))
    code = result.exit_code
    return int(ExitCode.UNMET_EXPECTATION if unmet and code == ExitCode.HOLDS else code)


def _answer(spec: Spec, options: ProofOptions | Bound, limits: Limits, observer: Observer) -> ProofResult:
    question = spec.question()
    PROOF.check(question)
    if isinstance(options, Bound):
        return check_bounded(question, options, limits, observer)
    induction = InductionOptions(
        options.k,
        options.minimize,
        every_claim=True,
        use_symmetry=options.symmetry,
        smt2=options.smt2,
        explore=options.explore,
    )
    return prove_by_induction(question, options.lemmas(spec), limits, induction, observer)


def is_for_bmc(spec: Spec, options: ProofOptions) -> bool:
    """Whether bounded model checking says more of a spec: there are no lemmas, and no option is about induction."""
    is_plain = options.k == 1 and not options.minimize and not options.without
    return is_plain and not has_induction(spec.protocol, spec.properties, spec.constants)
