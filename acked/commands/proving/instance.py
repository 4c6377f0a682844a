"""`acked prove SPEC`: one spec, by induction or by bounded model checking."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from acked.base.errors import ExitCode
from acked.base.observer import Observer
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import DEFAULT_DEPTH, PROOF, Method, ProofResult
from acked.checker.question.result import Counterexample
from acked.checker.spec.spec import Spec
from acked.commands.proving.asked import passed_over
from acked.commands.proving.request import ProofOptions, refuse_beside
from acked.invariants.proofs import has_induction
from acked.reports.proofs.proof import ProofReporter, differences, print_proof, proof_document
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output, TraceFile
from acked.reports.tables.summary import print_expectation

if TYPE_CHECKING:
    from rich.console import Console


def prove_spec(
    name: str, spec: Spec, options: ProofOptions, limits: Limits, trace_out: TraceFile, output: Output
) -> int:
    """Proves a spec, prints the answer and returns the exit code; `name` is what the user called the spec."""
    method = _method(spec, options)
    refuse_beside(method)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        result = _answer(spec, method, options, limits, observer)
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


def _method(spec: Spec, options: ProofOptions) -> Method:
    if options.method != "auto":
        return Method(options.method)
    if options.depth is not None:
        return Method.BMC
    has_lemmas = has_induction(spec.protocol, spec.properties, spec.constants)
    return Method.INDUCTION if options.k != 1 or has_lemmas else Method.BMC


def _answer(spec: Spec, method: Method, options: ProofOptions, limits: Limits, observer: Observer) -> ProofResult:
    question = spec.question()
    PROOF.check(question)
    if method is Method.BMC:
        depth = DEFAULT_DEPTH if options.depth is None else options.depth
        return check_bounded(question, Bound(depth, options.symmetry, options.smt2), limits, observer)
    induction = InductionOptions(
        options.k,
        options.minimize,
        every_claim=True,
        use_symmetry=options.symmetry,
        smt2=options.smt2,
        explore=options.explore,
    )
    return prove_by_induction(question, options.lemmas(spec), limits, induction, observer)
