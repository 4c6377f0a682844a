"""`acked prove all-constants SPEC`: a protocol's proof for any number of brokers, offsets, records and leader epochs.

Of the spec's constants it keeps the switches; sizes are open. What is proved is what the spec asks, or it is refused.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable
from acked.base.observer import ProofProgress
from acked.base.processes import Limits
from acked.checker.allconstants.certificate import write_certificate
from acked.checker.allconstants.counterparts import broken_rules
from acked.checker.allconstants.proof import AllConstantsOptions, ObligationResult, covering_argument, prove_all_constants
from acked.checker.solver.lemma_sets import CoreFile, shipped_file
from acked.checker.spec.spec import Spec
from acked.commands.proving.asked import expectation, passed_over, refuse_unprovable, unmet
from acked.commands.proving.request import make_query_folder
from acked.invariants.proofs import Argument
from acked.reports.console import Console
from acked.reports.proofs.all_constants import all_constants_document, print_all_constants
from acked.reports.proofs.proof import ProofReporter
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output, say
from acked.reports.tables.summary import print_expectation, print_notes


@dataclass(frozen=True)
class ProofFiles:
    """What is to be written beside the answer: a folder of queries, a file of lemma sets, a folder for a certificate."""

    smt2: Path | None = None
    lemma_sets: Path | None = None
    certificate: Path | None = None


def prove_for_all_constants(
    spec: Spec, changed: Iterable[str], files: ProofFiles, limits: Limits, output: Output
) -> int:
    """Proves the spec's protocol, prints the answer and returns the exit code; writes the files, if any.

    `changed` are the constants that the command line sets: they must be switches.
    """
    argument = covering_argument(spec.protocol, spec.switches)
    refuse_unprovable(spec, [item.name for item in argument.provable], argument.least)
    if sizes := [name for name in changed if name in spec.protocol.sizes]:
        raise ConfigurationError(
            f"a proof for all constants is about every value of the constants {', '.join(spec.protocol.sizes)}; leave -c "
            f"{' and -c '.join(sizes)} out"
        )
    make_query_folder(files.smt2)
    make_query_folder(files.certificate)
    known = _lemma_sets(argument, files.lemma_sets)
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:

        def report(result: ObligationResult, done: int, total: int) -> None:
            subject = f"{result.subject}: {result.clause}"
            observer.decided(ProofProgress(subject, result.verdict.value, result.seconds, done, total))

        asked = tuple(item.name for item in spec.properties)
        options = AllConstantsOptions(cores=known, smt2=files.smt2, asked=asked)
        proof = prove_all_constants(spec.protocol, limits, options, spec.drop, report, spec.switches)
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

    besides = {"asked": list(asked), "expectation": expectation(differing), "notes": [*passed_over(spec)]}
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
