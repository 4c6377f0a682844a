"""The command `prove all-constants`: a protocol's proof for any number of brokers, offsets, records and leader epochs.

Of the spec's constants it keeps the switches; sizes are open. What is proved is what the spec asks, or it is refused.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable
from acked.checker.allconstants.certificate import write_certificate
from acked.checker.allconstants.counterparts import broken_rules
from acked.checker.allconstants.proof import AllConstantsOptions, covering_argument, prove_all_constants
from acked.checker.solver.lemma_sets import CoreFile, shipped_file
from acked.commands.proving.demands import expectation, passed_over, refuse_unprovable, unmet
from acked.commands.proving.options import SMT2, Solver, limits_solver, make_query_folder
from acked.invariants.proofs import Argument
from acked.reports.console import Console
from acked.reports.proofs.all_constants import all_constants_document, print_all_constants
from acked.reports.proofs.proof import ProofReporter
from acked.reports.shell.groups import STARTED
from acked.reports.shell.options import AskedSpec, asks_spec, collects, option, shows
from acked.reports.shell.output import Output, say
from acked.reports.tables.summary import print_expectation, print_notes


@dataclass(frozen=True)
class ProofFiles:
    """What is to be written beside the answer: a folder of queries, a file of lemma sets, a folder for a certificate."""

    smt2: Path | None = None
    lemma_sets: Path | None = None
    certificate: Path | None = None


@click.command("all-constants", short_help="Prove a spec for any number of brokers, offsets, records and epochs.")
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
@limits_solver
@shows
def all_constants(asked: AskedSpec, files: ProofFiles, solver: Solver, output: Output) -> int:
    """Prove what SPEC asks, under SPEC's switches, for any number of brokers, offsets, records and leader epochs.

    It is refused where the argument of SPEC's protocol does not prove it. The lemma sets (unsat cores) come with acked. When
    rules or lemmas have changed, --lemma-sets FILE finds again those that FILE lacks, all of them if there is no such file.

    \b
    acked prove all-constants kip320
    acked prove all-constants acks-all-min-2-clean   the same of Kafka as a spec configures it
    acked prove all-constants kip279                 which of its rules break KIP-320's argument, and why
    acked prove all-constants kip320 --certificate DIR
    """
    spec = asked.load()
    promises = tuple(item.name for item in spec.properties)
    argument = covering_argument(spec.protocol, spec.switches)
    refuse_unprovable(spec, [item.name for item in argument.provable], argument.least)
    if sizes := [name for name, _ in asked.changes.constants if name in spec.protocol.sizes]:
        raise ConfigurationError(
            f"a proof for all constants is about every value of the constants {', '.join(spec.protocol.sizes)}; leave -c "
            f"{' and -c '.join(sizes)} out"
        )
    make_query_folder(files.smt2)
    make_query_folder(files.certificate)
    known = _lemma_sets(argument, files.lemma_sets)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:
        options = AllConstantsOptions(cores=known, smt2=files.smt2, asked=promises)
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
    differing = None if proof.interrupted else unmet(spec, proof.verdict)

    def show(console: Console) -> None:
        print_all_constants(console, spec.protocol, proof, rules, seconds)
        print_notes(console, passed_over(spec))
        if differing is not None:
            print_expectation(console, proof.verdict, differing)

    besides = {"asked": list(promises), "expectation": expectation(differing), "notes": [*passed_over(spec)]}
    output.emit(lambda: {**all_constants_document(proof, rules), **besides}, show)
    if files.certificate is not None and not output.is_json:
        told = f"is in {files.certificate}; acked prove check DIR confirms it"
        say(f"the certificate {told if proof.holds else 'was not written, because the proof is incomplete'}")
    return int(ExitCode.UNMET_EXPECTATION if differing and proof.holds else proof.exit_code)


def _lemma_sets(argument: Argument, path: Path | None) -> CoreFile:
    """The lemma sets of the user's file, or those that ship; what is not such a file must not be overwritten."""
    if path is None:
        return CoreFile.load(shipped_file(argument))
    check_writable(path, "lemma sets")
    known = CoreFile.load(path)
    if path.exists() and not known.fingerprint:
        raise ConfigurationError(f"{path} holds no lemma sets and would be overwritten; name another file or remove it")
    return known
