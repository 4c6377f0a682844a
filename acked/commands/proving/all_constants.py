"""The command `prove all-constants`: a protocol's proof for all sizes, such as any number of brokers, offsets and epochs.

Of the spec's constants it keeps the switches; sizes are open. What is proved is what the spec asks, or it is refused. Of a
protocol of one's own a search at the spec's sizes comes first: what is false there needs no solver.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable
from acked.base.frozen import frozen
from acked.checker.allconstants.certificate import write_certificate
from acked.checker.allconstants.counterparts import broken_rules
from acked.checker.allconstants.proof import AllConstantsOptions, prove_all_constants
from acked.checker.solver.lemma_sets import CoreFile, shipped_file
from acked.checker.spec.spec import Spec
from acked.commands.proving.demands import expectation, passed_over, refuse_unprovable, unmet
from acked.commands.proving.options import EXPLORE, SMT2, Solver, limits_solver, make_query_folder
from acked.commands.proving.own import own_clauses, refuse_uncovered, search_first, show_violation
from acked.invariants.proofs import Argument
from acked.reports.console import Console
from acked.reports.proofs.all_constants import all_constants_document, print_all_constants
from acked.reports.proofs.proof import ProofReporter
from acked.reports.shell.groups import STARTED
from acked.reports.shell.options import AskedSpec, asks_spec, collects, option, shows, writes_trace
from acked.reports.shell.output import Output, TraceFile, say
from acked.reports.tables.summary import print_expectation, print_notes


@frozen
class ProofFiles:
    """What is to be written beside the answer: a folder of queries, a file of lemma sets, a folder for a certificate."""

    smt2: Path | None = None
    lemma_sets: Path | None = None
    certificate: Path | None = None


@click.command("all-constants", short_help="Prove a spec for all sizes: any number of brokers, offsets, epochs.")
@asks_spec
@collects(
    "files",
    ProofFiles,
    smt2=SMT2,
    lemma_sets=option("--lemma-sets", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                      help="Use the lemma sets in this file, and write those that it lacks into it."),
    certificate=option("--certificate", type=click.Path(path_type=Path), metavar="DIR",
                       help="Write a proof that holds into this folder, for `acked prove check`."),
)  # fmt: skip
@click.option("--only", metavar="STEP: CLAUSE", multiple=True, help="Ask this obligation alone, e.g. one that is left open.")
@EXPLORE.saying("States of the search that comes first, for a protocol of your own.").under("explore")
@limits_solver
@writes_trace
@shows
def all_constants(
    asked: AskedSpec,
    files: ProofFiles,
    only: tuple[str, ...],
    explore: int,
    solver: Solver,
    trace_out: TraceFile,
    output: Output,
) -> int:
    """Prove what SPEC asks, under SPEC's switches, for all sizes: any number of brokers, offsets, records and leader epochs.

    It is refused where the argument of SPEC's protocol does not prove it. The lemma sets (unsat cores) come with acked. When
    rules or lemmas have changed, --lemma-sets FILE finds again those that FILE lacks, all of them if there is no such file.

    Of a protocol of your own the invariants of SPEC are proved, with the lemmas that it writes under [lemmas.NAME], for any
    value of the constants that are neither switches nor choices. A search at SPEC's sizes comes first: what is false there is
    shown with its trace, and is not put to the solver.

    \b
    acked prove all-constants paxos-holds            at most one value is chosen, for any number of acceptors
    acked prove all-constants kip320
    acked prove all-constants acks-all-min-2-clean   the same of Kafka as a spec configures it
    acked prove all-constants kip279                 which of its rules break KIP-320's argument, and why
    acked prove all-constants kip320 --certificate DIR
    acked prove all-constants controllers-leader-has-all --only "Elect: LaterLogsHaveIt"
    """
    spec = asked.load()
    promises = tuple(item.name for item in spec.properties)
    own = own_clauses(spec)
    if only and files.lemma_sets is not None:
        raise ConfigurationError("--lemma-sets is a file for all obligations, and --only asks some; leave one of the two out")
    keys = tuple(name.replace(": ", "|", 1) for name in only)
    options = AllConstantsOptions(smt2=files.smt2, only=keys, asked=promises, own=own)
    argument = options.argument(spec.protocol, spec.switches)
    if own is None:
        if trace_out.path is not None:
            raise ConfigurationError("--trace-out is of the search that comes first for a protocol of your own; leave it out")
        _refuse_shipped(asked, spec, argument)
    elif files.certificate is not None:
        raise ConfigurationError("a certificate is of a protocol that ships; --smt2 DIR writes the proof of one of your own")
    make_query_folder(files.smt2)
    make_query_folder(files.certificate)
    trace_out.check()
    known = _lemma_sets(argument, files.lemma_sets)
    searched = None
    if own is not None:
        refuse_uncovered(spec)
        searched = search_first(spec, explore, output)
        if searched.violations:
            return show_violation(asked.name, spec, searched, trace_out, output)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        options = replace(options, cores=known)
        proof = prove_all_constants(
            spec.protocol, solver.limits, options, spec.drop, observer.obligation_decided, spec.switches
        )
        rules = broken_rules(
            spec.protocol, spec.drop, [item.counterexample for item in proof.refuted if item.counterexample is not None]
        )
    if files.lemma_sets is not None and not proof.interrupted:
        proof.cores(known).save(files.lemma_sets)
    if files.certificate is not None and proof.holds:
        write_certificate(proof, spec.name, files.certificate)
    seconds = time.perf_counter() - STARTED
    differing = None if proof.interrupted or only else unmet(spec, proof.verdict)

    def show(console: Console) -> None:
        print_all_constants(console, spec.protocol, proof, rules, seconds, argument, searched)
        print_notes(console, passed_over(spec))
        if differing is not None:
            print_expectation(console, proof.verdict, differing)

    besides = {"asked": list(promises), "expectation": expectation(differing), "notes": [*passed_over(spec)]}
    output.emit(lambda: {**all_constants_document(proof, rules, searched), **besides}, show)
    if files.certificate is not None and not output.is_json:
        told = f"is in {files.certificate}; acked prove check DIR confirms it"
        say(f"the certificate {told if proof.holds else 'was not written, because the proof is incomplete'}")
    return int(ExitCode.UNMET_EXPECTATION if differing and proof.holds else proof.exit_code)


def _refuse_shipped(asked: AskedSpec, spec: Spec, argument: Argument) -> None:
    """`ConfigurationError` for what the argument of a shipped protocol does not prove."""
    refuse_unprovable(spec, [item.name for item in argument.provable], argument.least)
    if sizes := [name for name, _ in asked.changes.constants if name in spec.protocol.sizes]:
        raise ConfigurationError(
            f"a proof for all constants is about every value of the constants {', '.join(spec.protocol.sizes)}; leave -c "
            f"{' and -c '.join(sizes)} out"
        )


def _lemma_sets(argument: Argument, path: Path | None) -> CoreFile:
    """The lemma sets of the user's file, or those that ship; what is not such a file must not be overwritten."""
    if path is None:
        return CoreFile.load(shipped_file(argument))
    check_writable(path, "lemma sets")
    known = CoreFile.load(path)
    if path.exists() and not known.fingerprint:
        raise ConfigurationError(f"{path} holds no lemma sets and would be overwritten; name another file or remove it")
    return known
