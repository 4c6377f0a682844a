"""`acked prove`: the same questions, answered by a solver instead of a search.

z3 is imported by solver processes only.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from acked.asking.options import STARTED, Binding, MemorySize, say
from acked.asking.specs import changed, find_spec
from acked.checker.errors import ConfigurationError, ExitCode, SystemFailure
from acked.checker.files import check_writable, write_text
from acked.checker.spec.spec import Spec
from acked.checker.spec.user_protocol import is_reference

if TYPE_CHECKING:
    from acked.checker.observer import Observer
    from acked.checker.processes import Limits
    from acked.checker.proof.result import ProofResult

FORMATS = click.Choice(["text", "json"])
DEFAULT_DEPTH = 8
EXPLORED_STATES = 2_000_000
LEAST_MEMORY = 1 << 30
"""Bytes that a solver process may use even where less is free now, unless the user says otherwise."""


@click.command(short_help="Prove a spec with z3, for runs of any length.")
@click.argument("spec", required=False)
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of the spec.")
@click.option(
    "--method",
    type=click.Choice(["auto", "bmc", "induction"]),
    default="auto",
    show_default=True,
    help="Induction, or bounded model checking; auto: induction where lemmas are known, and of protocols of your own.",
)
@click.option("--depth", type=click.IntRange(0), help=f"Actions of the longest run for bmc; default {DEFAULT_DEPTH}.")
@click.option("--k", "k", type=click.IntRange(1, 20), default=1, show_default=True, help="Assume k states in a row.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds for one query; what takes longer is left open.",
)
@click.option("--memory", type=MemorySize(), help="Bytes for each solver process, e.g. 4GB; default: a share of free memory.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Solver processes at a time; default: one per core.")
@click.option("--minimize", is_flag=True, help="Also find out which lemmas the proof really uses.")
@click.option("--without", metavar="LEMMA", multiple=True, help="Leave a lemma out, to see what it is there for.")
@click.option("--suggest", is_flag=True, help="Where induction fails, propose conjuncts that could complete it.")
@click.option("--symmetry/--no-symmetry", default=True, help="Use that brokers are interchangeable, where a check shows it.")
@click.option(
    "--explore",
    type=click.IntRange(0),
    default=EXPLORED_STATES,
    show_default=True,
    help="States up to which a search says whether a counterexample to induction is reachable.",
)
@click.option("--smt2", type=click.Path(path_type=Path), help="Write every query as an SMT-LIB file into this folder.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the violating run to this file.")
@click.option("--matrix", is_flag=True, help="Instead of SPEC: every variant and every named promise, as a table.")
@click.option(
    "--all-constants",
    is_flag=True,
    help="Prove WeakIsr and StrongIsr of SPEC's protocol for any number of brokers, offsets, records and leader epochs.",
)
@click.option(
    "--lemma-sets",
    type=click.Path(path_type=Path, dir_okay=False),
    help="For --all-constants: use the lemma sets in this file, find those that it lacks, and write it anew.",
)
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="What stdout gets.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def prove(
    spec: str | None,
    constants: tuple[tuple[str, int], ...],
    method: str,
    depth: int | None,
    k: int,
    timeout: float,
    memory: int | None,
    jobs: int | None,
    minimize: bool,
    without: tuple[str, ...],
    suggest: bool,
    symmetry: bool,
    explore: int,
    smt2: Path | None,
    trace_out: Path | None,
    matrix: bool,
    all_constants: bool,
    lemma_sets: Path | None,
    form: str,
    quiet: bool,
) -> int:
    """Prove SPEC with z3, for runs of any length, or find the shortest run that violates it.

    Induction shows action by action that the properties are kept, with the lemmas they need; where that fails, a
    counterexample to induction says which action breaks what. Bounded model checking (bmc) finds the shortest violation up to
    a depth; that there is none up to there is no proof, and exits with 152. So does anything that a solver leaves open.

    \b
    acked prove kip320                         induction with the lemmas that ship
    acked prove kip101 --depth 10              the shortest violation, by bmc
    acked prove kip320 --all-constants         for any number of brokers, offsets, records, epochs
    acked prove kip279 --all-constants         which of its rules break KIP-320's argument, and why
    acked prove kip320 --without LogMatching   what a lemma is there for
    acked prove SPEC --suggest                 conjuncts that could complete a proof that fails
    acked prove SPEC --smt2 DIR                every query, for a solver of your own
    acked prove --matrix                       every variant against every named promise

    The lemma sets of --all-constants stand beside the lemmas, in invariants/*_cores.json. When rules or lemmas have changed,
    --all-constants --lemma-sets FILE finds again what FILE lacks, and all of it if there is no such file.
    """
    from acked.checker.bounds import default_memory, default_workers
    from acked.checker.processes import Limits
    from acked.reports.proofs.proof import ProofReporter

    workers = jobs or default_workers()
    limits = Limits(workers, timeout, memory or max(default_memory() // workers, LEAST_MEMORY))
    if not math.isfinite(timeout):
        raise ConfigurationError(f"--timeout {timeout:g} is no number of seconds; write, say, 86400 for a day")
    if matrix:
        if spec is not None or constants:
            raise ConfigurationError("--matrix asks its own questions; leave SPEC and -c out")
        _refuse_beside("--matrix", (*_OF_ONE_INSTANCE, "smt2", "all_constants", "lemma_sets"))
        return _prove_matrix(limits, form, quiet)
    if spec is None:
        raise click.UsageError("Missing argument 'SPEC'.")
    chosen = find_spec(spec)
    if all_constants:
        if constants:
            raise ConfigurationError("--all-constants speaks of every value of the constants; leave -c out")
        _refuse_beside("--all-constants", _OF_ONE_INSTANCE)
        return _prove_all_constants(chosen, smt2, lemma_sets, limits, form, quiet)
    if lemma_sets is not None:
        raise ConfigurationError("--lemma-sets belongs to --all-constants; leave it out or add that")
    if constants:
        if repeated := {name for name, _ in constants if [other for other, _ in constants].count(name) > 1}:
            raise ConfigurationError(f"constant {', '.join(sorted(repeated))} is given twice; give each once")
        chosen = changed(chosen, dict(constants), False)
    if not chosen.properties:
        raise ConfigurationError(f"{chosen.where('check')}the spec asks nothing to prove; name invariants in [check]")
    if trace_out is not None:
        check_writable(trace_out, "trace")
    if smt2 is not None:
        _make_folder(smt2)
    _check_lemmas(chosen, without)
    if suggest:
        _refuse_beside("--suggest", ("method", "depth", "k", "minimize", "symmetry", "smt2", "trace_out"))
        return _suggest(spec, chosen, without, explore, limits, form, quiet)
    with ProofReporter(sys.stderr, quiet=quiet) as observer:
        result = _answer(chosen, method, depth, k, minimize, without, symmetry, explore, smt2, limits, observer)
    seconds = time.perf_counter() - STARTED
    return _show(spec, chosen, result, seconds, form, trace_out)


def _answer(
    spec: Spec,
    method: str,
    depth: int | None,
    k: int,
    minimize: bool,
    without: tuple[str, ...],
    symmetry: bool,
    explore: int,
    smt2: Path | None,
    limits: Limits,
    observer: Observer,
) -> ProofResult:
    from acked.invariants.proofs import all_lemmas, lemmas_for

    question = spec.question()
    question.refuse_graph_properties("by a proof", "ask `acked check`")
    lemmas = lemmas_for(spec.protocol, spec.properties)
    # Of a protocol of one's own the promises that a spec writes are each other's lemmas.
    is_own = is_reference(spec.protocol.reference)
    if method == "auto" and (depth is not None or (lemmas is None and k == 1 and not is_own)):
        method = "bmc"
    if method == "bmc":
        from acked.checker.proof.bmc import Bound, check_bounded

        if k != 1 or minimize or without:
            raise ConfigurationError("--k, --minimize, --without belong to induction; leave them out, or --method bmc")
        bound = Bound(DEFAULT_DEPTH if depth is None else depth, symmetry, smt2)
        return check_bounded(question, bound, limits, observer)
    if depth is not None:
        raise ConfigurationError("--depth belongs to bmc; leave it out or say --method bmc")
    from acked.checker.proof.induction import Options, prove_by_induction

    options = Options(k, minimize, every_claim=True, use_symmetry=symmetry, smt2=smt2, explore=explore)
    used = lemmas if lemmas is not None else all_lemmas(spec.protocol)
    return prove_by_induction(question, [item for item in used if item.name not in without], limits, options, observer)


def _check_lemmas(spec: Spec, without: tuple[str, ...]) -> None:
    from acked.invariants.proofs import all_lemmas

    known = [item.name for item in all_lemmas(spec.protocol)]
    for name in without:
        if name not in known:
            choices = ", ".join(known) or "none"
            raise ConfigurationError(f"--without: {spec.protocol.name} has no lemma {name!r}; its lemmas: {choices}")


def _suggest(
    name: str, spec: Spec, without: tuple[str, ...], explore: int, limits: Limits, form: str, quiet: bool
) -> int:
    from acked.checker.proof.suggest import suggest
    from acked.invariants.proofs import all_lemmas, lemmas_for
    from acked.reports.proofs.proof import ProofReporter
    from acked.reports.proofs.suggest import print_suggestion, suggestion_document

    known = lemmas_for(spec.protocol, spec.properties)
    lemmas = [item for item in (all_lemmas(spec.protocol) if known is None else known) if item.name not in without]
    question = spec.question()
    question.refuse_graph_properties("by a proof", "ask `acked check`")
    with ProofReporter(sys.stderr, quiet=quiet) as observer:
        found = suggest(question, lemmas, limits, explore, observer)
    seconds = time.perf_counter() - STARTED
    if found is None:
        raise ConfigurationError(
            "--suggest: induction meets no counterexample here, so there is nothing to propose; leave --suggest out"
        )
    if form == "json":
        click.echo(json.dumps(suggestion_document(name, question, found, seconds), indent=1))
    else:
        from acked.reports.console import open_console

        print_suggestion(open_console(sys.stdout), spec.title, question, found, seconds)
    return int(ExitCode.TOO_LARGE)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise SystemFailure(f"cannot make the folder {folder}: {error.strerror}; choose another place") from None
    check_writable(folder / "query.smt2", "SMT-LIB files")
    if any(folder.glob("*.smt2")):
        raise ConfigurationError(f"{folder} holds SMT-LIB files already; choose an empty folder")


def _show(name: str, spec: Spec, result: ProofResult, seconds: float, form: str, trace_out: Path | None) -> int:
    from acked.reports.proofs.proof import differences, print_proof, proof_document

    unmet = differences(spec.expect, result) if spec.expect else None
    if trace_out is not None and result.violations:
        from acked.checker.question.result import Counterexample
        from acked.reports.runs.document import trace_document

        document = trace_document(Counterexample.of(spec.title, result.question, result.violations[0]))
        write_text(trace_out, json.dumps(document, indent=1) + "\n", "trace")
    if form == "json":
        expectation = None if unmet is None else {"met": not unmet, "differences": unmet}
        click.echo(json.dumps(proof_document(name, spec.title, result, seconds, expectation), indent=1))
    else:
        from acked.reports.console import open_console
        from acked.reports.tables.summary import print_expectation

        console = open_console(sys.stdout)
        print_proof(console, spec.title, result, seconds)
        if unmet is not None:
            print_expectation(console, unmet)
        if trace_out is not None:
            say(f"the trace is in {trace_out}" if result.violations else "nothing is violated, so no trace was written")
    code = result.exit_code
    return int(ExitCode.UNMET_EXPECTATION if unmet and code == ExitCode.HOLDS else code)


def _prove_matrix(limits: Limits, form: str, quiet: bool) -> int:
    from acked.checker.proof.variants import prove_matrix
    from acked.reports.proofs.proof import ProofReporter
    from acked.reports.proofs.variants import matrix_document, print_matrix

    with ProofReporter(sys.stderr, quiet=quiet) as observer:
        matrix = prove_matrix(limits, observer)
    seconds = time.perf_counter() - STARTED
    if form == "json":
        click.echo(json.dumps(matrix_document(matrix, seconds), indent=1))
    else:
        from acked.reports.console import open_console

        print_matrix(open_console(sys.stdout), matrix, seconds)
    return int(ExitCode.HOLDS if matrix.is_decided else ExitCode.TOO_LARGE)


_OF_ONE_INSTANCE = ("method", "depth", "k", "minimize", "without", "suggest", "symmetry", "explore", "trace_out")


def _refuse_beside(option: str, others: tuple[str, ...]) -> None:
    """Options that mean nothing beside another are refused rather than overlooked."""
    context = click.get_current_context()
    given = [name for name in others if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigurationError(f"{names} means nothing beside {option}; leave one of them out")


def _prove_all_constants(
    spec: Spec, smt2: Path | None, lemma_sets: Path | None, limits: Limits, form: str, quiet: bool
) -> int:
    from acked.checker.allconstants.counterparts import broken_rules
    from acked.checker.allconstants.proof import ObligationResult, Options, prove_all_constants
    from acked.checker.observer import ProofProgress
    from acked.checker.solver.lemma_sets import CoreFile, shipped_file
    from acked.model.replication.state import State
    from acked.reports.proofs.proof import ProofReporter

    if spec.protocol.state is not State:
        raise ConfigurationError(f"--all-constants knows the lemmas of the replication family, not of {spec.protocol.name}")
    if smt2 is not None:
        _make_folder(smt2)
    if lemma_sets is not None:
        check_writable(lemma_sets, "lemma sets")
    known = CoreFile.load(shipped_file(spec.protocol.name) if lemma_sets is None else lemma_sets)
    if lemma_sets is not None and lemma_sets.exists() and not known.fingerprint:
        raise ConfigurationError(f"{lemma_sets} holds no lemma sets and would be overwritten; name another file or remove it")
    with ProofReporter(sys.stderr, quiet=quiet) as observer:

        def tell(result: ObligationResult, done: int, total: int) -> None:
            subject = f"{result.subject}: {result.clause}"
            observer.decided(ProofProgress(subject, result.verdict.value, result.seconds, done, total))

        options = Options(cores=known, smt2=smt2)
        proof = prove_all_constants(spec.protocol, limits, options, spec.drop, tell)
        rules = broken_rules(
            spec.protocol, spec.drop, [item.counterexample for item in proof.refuted if item.counterexample is not None]
        )
    if lemma_sets is not None and not proof.interrupted:
        proof.cores(known).save(lemma_sets)
    seconds = time.perf_counter() - STARTED
    from acked.reports.proofs.all_constants import all_constants_document, print_all_constants

    if form == "json":
        click.echo(json.dumps(all_constants_document(proof, rules), indent=1))
    else:
        from acked.reports.console import open_console

        print_all_constants(open_console(sys.stdout), spec.protocol, proof, rules, seconds)
    return int(proof.exit_code)
