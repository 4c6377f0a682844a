"""The command `prove` and those below it: the same questions, answered by a solver instead of a search.

z3 is imported by solver processes only.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable, write_text
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import DEFAULT_DEPTH, PROOF, ProofResult
from acked.checker.proof.variants import prove_matrix
from acked.checker.question.observer import Observer
from acked.checker.question.result import Counterexample
from acked.checker.spec.spec import Spec
from acked.commands.proving.demands import passed_over, refuse_unasked
from acked.commands.proving.options import (
    EXPLORE,
    SMT2,
    SYMMETRY,
    WITHOUT,
    ProofOptions,
    Solver,
    asks_induction,
    limits_solver,
    make_query_folder,
)
from acked.invariants.proofs import has_induction
from acked.reports.console import Console
from acked.reports.proofs.proof import ProofReporter, counterexample_page, differences, print_proof, proof_document
from acked.reports.proofs.suggest import print_suggestion, suggestion_document
from acked.reports.proofs.variants import matrix_document, print_matrix
from acked.reports.shell.groups import STARTED, Branching
from acked.reports.shell.options import AskedSpec, asks_spec, collects, option, shows, writes_trace
from acked.reports.shell.output import Output, TraceFile, say
from acked.reports.tables.summary import print_expectation

_HERE = "commands.proving.prove"
_BELOW = {
    "induction": f"{_HERE}:induction", "bmc": f"{_HERE}:bmc", "all-constants": "commands.proving.all_constants:all_constants",
    "suggest": f"{_HERE}:suggest", "check": "commands.proving.certificate:check", "variants": f"{_HERE}:variants",
    "releases": "commands.proving.releases:releases",
}  # fmt: skip

_MOVED = {
    "--releases": "acked prove releases",
    "--matrix": "acked prove variants",
    "--check": "acked prove check DIR",
    "--all-constants": "acked prove all-constants SPEC",
    "--lemma-sets": "acked prove all-constants SPEC --lemma-sets FILE",
    "--certificate": "acked prove all-constants SPEC --certificate DIR",
    "--suggest": "acked prove suggest SPEC",
    "--method": "acked prove induction SPEC` or `acked prove bmc SPEC",
    "--depth": "acked prove bmc SPEC --depth N",
    "--markdown": "acked prove releases --markdown FILE",
    "--cache": "acked prove releases",
    "--no-cache": "acked prove releases --no-cache",
}


@click.command(cls=Branching, branches=_BELOW, moved=_MOVED, short_help="Prove a spec with z3, for traces of any length.")
@asks_induction
def prove(
    asked: AskedSpec, options: ProofOptions, solver: Solver, trace_out: TraceFile, html: Path | None, output: Output
) -> int:
    """Prove SPEC with z3, for traces of any length, or find the shortest counterexample.

    Induction shows action by action that the properties are preserved, with the lemmas they need; where that fails, a
    counterexample to induction shows which action breaks which property. It is tried where lemmas are known and for your own
    protocols; elsewhere bounded model checking (bmc) finds the shortest violation within a number of steps. Finding none is
    not a proof, and exits with 152. So does whatever a solver leaves undecided.

    \b
    acked prove kip320                         induction with the lemmas that ship
    acked prove kip320 --without LogMatching   what a lemma is needed for; --html FILE draws it
    acked prove SPEC --smt2 DIR                every query, for a solver of your own
    acked prove bmc kip101 --depth 10          the shortest counterexample
    acked prove all-constants kip320           for any number of brokers, offsets, records, epochs
    acked prove suggest SPEC                   conjuncts that could complete a proof that fails
    acked prove check DIR                      a proof as files, confirmed by a second solver
    acked prove variants                       every variant against every named property
    acked prove releases                       which Kafka keeps which promises
    """
    spec = asked.load()
    how = Bound(DEFAULT_DEPTH, options.symmetry, options.smt2) if is_for_bmc(spec, options) else options
    return prove_spec(asked.name, spec, how, solver.limits, trace_out, output, html)


@click.command(short_help="Prove a spec by induction, whether lemmas are known or not.")
@asks_induction
def induction(
    asked: AskedSpec, options: ProofOptions, solver: Solver, trace_out: TraceFile, html: Path | None, output: Output
) -> int:
    """Prove SPEC by induction: every action preserves its properties, with the lemmas that they need.

    \b
    acked prove induction kip320
    acked prove induction kip320 --minimize    which lemmas the proof really uses
    """
    return prove_spec(asked.name, asked.load(), options, solver.limits, trace_out, output, html)


@click.command(short_help="Find the shortest violation within a number of steps.")
@asks_spec
@collects(
    "bound",
    Bound,
    depth=option("--depth", type=click.IntRange(0), default=DEFAULT_DEPTH, show_default=True,
                 help="Steps of the longest trace."),
    use_symmetry=SYMMETRY,
    smt2=SMT2,
)  # fmt: skip
@limits_solver
@writes_trace
@shows
def bmc(asked: AskedSpec, bound: Bound, solver: Solver, trace_out: TraceFile, output: Output) -> int:
    """Find the shortest violation of SPEC within a number of steps (bounded model checking).

    Finding none is not a proof, and exits with 152.

    \b
    acked prove bmc kip101 --depth 10
    """
    return prove_spec(asked.name, asked.load(), bound, solver.limits, trace_out, output)


@click.command(short_help="Suggest conjuncts that could complete a proof that fails.")
@asks_spec
@collects("options", ProofOptions, without=WITHOUT, explore=EXPLORE)
@limits_solver
@shows
def suggest(asked: AskedSpec, options: ProofOptions, solver: Solver, output: Output) -> int:
    """Suggest conjuncts that could complete the induction of SPEC where it fails.

    \b
    acked prove suggest my.toml
    """
    from acked.checker.proof.suggest import suggest as find_conjuncts

    spec = asked.load()
    refuse_unasked(spec)
    question = spec.question()
    PROOF.check(question)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        found = find_conjuncts(question, options.lemmas(spec), solver.limits, options.explore, observer)
    seconds = time.perf_counter() - STARTED
    if found is None:
        raise ConfigurationError(
            "induction finds no counterexample here, so there is nothing to suggest; `acked prove` proves it"
        )
    output.emit(
        lambda: suggestion_document(asked.name, question, found, seconds),
        lambda console: print_suggestion(console, spec.title, question, found, seconds),
    )
    return int(ExitCode.TOO_LARGE)


@click.command(short_help="Prove every shipped variant against every named property.")
@limits_solver
@shows
def variants(solver: Solver, output: Output) -> int:
    """Prove every shipped variant against every named property, and print the table.

    \b
    acked prove variants --format json
    """
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        matrix = prove_matrix(solver.limits, observer)
    seconds = time.perf_counter() - STARTED
    output.emit(lambda: matrix_document(matrix, seconds), lambda console: print_matrix(console, matrix, seconds))
    return int(ExitCode.HOLDS if matrix.is_decided else ExitCode.TOO_LARGE)


# -- the program of the first three ----------------------------------------------------------------------------------------


def prove_spec(
    name: str,
    spec: Spec,
    options: ProofOptions | Bound,
    limits: Limits,
    trace_out: TraceFile,
    output: Output,
    html: Path | None = None,
) -> int:
    """Proves a spec by induction, or searches up to a bound; prints the answer and returns the exit code.

    `name` is what the user called the spec; `html` is where a page goes of what breaks a property.
    """
    refuse_unasked(spec)
    trace_out.check()
    check_writable(html, "page")
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

    page = None if html is None else counterexample_page(spec.title, result)
    if html is not None and page is not None:
        write_text(html, page, "page")
    output.emit(lambda: proof_document(name, spec.title, result, seconds, expectation), show)
    if html is not None:
        say(f"the page is {html}" if page is not None else "nothing breaks a property, so no page was written")
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
