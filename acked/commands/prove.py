"""The command `prove`: the same questions, answered by a solver instead of a search.

z3 is imported by solver processes only.
"""

from __future__ import annotations

from pathlib import Path

import click

from acked.asking.options import CACHE, JOBS, MEMORY, SPEC, AskedSpec, changing, collects, option, shows, writes_trace
from acked.asking.output import Output, TraceFile
from acked.checker.errors import ConfigurationError
from acked.checker.proof.result import DEFAULT_DEPTH
from acked.commands.proving.request import Program, Programs, ProofOptions, Solver, make_query_folder, refuse_beside

EXPLORED_STATES = 2_000_000
"""Distinct states at which that search ends, if the user says nothing else."""

_asks_spec = collects("asked", AskedSpec.given, name=SPEC.with_(required=False, default="", metavar="[SPEC]"), **changing)
_proves = collects(
    "options",
    ProofOptions,
    method=option("--method", type=click.Choice(["auto", "bmc", "induction"]), default="auto", show_default=True,
                  help="Induction or bounded model checking; auto: induction where lemmas are known, and for your own "
                  "protocols."),
    depth=option("--depth", type=click.IntRange(0), help=f"For bmc: steps of the longest trace; default {DEFAULT_DEPTH}."),
    k=option("--k", type=click.IntRange(1, 20), default=1, show_default=True,
             help="For induction: assume the properties in k states in a row (k-induction)."),
    minimize=option("--minimize", is_flag=True, help="Also find out which lemmas the proof really uses."),
    without=option("--without", metavar="LEMMA", multiple=True, help="Leave this lemma out, to see what it is needed for."),
    symmetry=option("--symmetry/--no-symmetry", default=True,
                    help="Use that brokers are interchangeable, where that can be checked."),
    explore=option("--explore", type=click.IntRange(0), default=EXPLORED_STATES, show_default=True,
                   help="States up to which a search decides whether a counterexample to induction is reachable."),
    smt2=option("--smt2", type=click.Path(path_type=Path), metavar="DIR",
                help="Write every query as an SMT-LIB file into this folder."),
)  # fmt: skip
_limits_solver = collects(
    "solver",
    Solver,
    timeout=option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
                   help="Seconds for one query; one that takes longer is left undecided."),
    memory=MEMORY.saying("Memory for each solver process, e.g. 4GB; default: a share of what is free."),
    jobs=JOBS.saying("Solver processes at a time; default: one per core."),
)  # fmt: skip
_chooses_program = collects(
    "programs",
    Programs,
    suggest=option("--suggest", is_flag=True, help="Where induction fails, suggest conjuncts that could complete the proof."),
    matrix=option("--matrix", is_flag=True, help="Instead of SPEC: every shipped variant against every named property."),
    all_constants=option("--all-constants", is_flag=True,
                         help="Prove what SPEC asks, under SPEC's switches, for any number of brokers, offsets, records and "
                         "leader epochs; refused where the argument of SPEC's protocol does not prove it."),
    lemma_sets=option("--lemma-sets", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                      help="With --all-constants: use the lemma sets in this file, and write those that it lacks into it."),
    releases=option("--releases", is_flag=True,
                    help="Instead of SPEC: releases of Kafka, what may go wrong, and which promises are proved for all "
                    "constants, refuted, or open; one release with --kafka-version."),
    markdown=option("--markdown", type=click.Path(path_type=Path), metavar="FILE",
                    help="With --releases: also write the table as a page in Markdown."),
    use_cache=CACHE.saying("With --releases: reuse answers that were found before; with --no-cache ask all anew and store "
                           "nothing."),
    certificate=option("--certificate", type=click.Path(path_type=Path), metavar="DIR",
                       help="With --all-constants: write a proof that holds into this folder, for --check."),
    check=option("--check", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                 help="Instead of proving: make the obligations of the certificate in this folder again, compare, and have "
                 "a second solver (cvc5) confirm each. With SPEC: only if it is about SPEC."),
)  # fmt: skip


@click.command(short_help="Prove a spec with z3, for traces of any length.")
@_asks_spec
@_proves
@_limits_solver
@_chooses_program
@writes_trace
@shows
def prove(
    asked: AskedSpec,
    options: ProofOptions,
    solver: Solver,
    programs: Programs,
    trace_out: TraceFile,
    output: Output,
) -> int:
    """Prove SPEC with z3, for traces of any length, or find the shortest counterexample.

    Induction shows action by action that the properties are preserved, with the lemmas they need; where that fails, a
    counterexample to induction shows which action breaks which property. Bounded model checking (bmc) finds the shortest
    violation within a number of steps; finding none is not a proof, and exits with 152. So does whatever a solver leaves
    undecided.

    \b
    acked prove kip320                         induction with the lemmas that ship
    acked prove kip101 --depth 10              the shortest counterexample, by bmc
    acked prove kip320 --all-constants         for any number of brokers, offsets, records, epochs
    acked prove acks-all-min-2-clean --all-constants  the same of Kafka as a spec configures it
    acked prove kip279 --all-constants         which of its rules break KIP-320's argument, and why
    acked prove kip320 --without LogMatching   what a lemma is needed for
    acked prove SPEC --suggest                 conjuncts that could complete a proof that fails
    acked prove SPEC --smt2 DIR                every query, for a solver of your own
    acked prove kip320 --all-constants --certificate DIR  the proof as files
    acked prove --check DIR                    those files, confirmed by a second solver
    acked prove --matrix                       every variant against every named property
    acked prove --releases                     which Kafka keeps which promises; --kafka-version 3.9 for one

    The lemma sets (unsat cores) of --all-constants come with acked. When rules or lemmas have changed,
    --all-constants --lemma-sets FILE finds again those that FILE lacks, all of them if there is no such file.
    """
    from acked.commands.proving.all_constants import ProofFiles, prove_for_all_constants
    from acked.commands.proving.asked import refuse_unasked
    from acked.commands.proving.certificate import check_certificate
    from acked.commands.proving.instance import prove_spec
    from acked.commands.proving.releases import prove_releases
    from acked.commands.proving.suggestion import suggest_conjuncts
    from acked.commands.proving.variants import prove_variants

    limits, program = solver.limits, programs.chosen
    refuse_beside(program)
    if program is Program.MATRIX:
        return prove_variants(limits, output)
    if program is Program.RELEASES:
        changes = asked.changes
        return prove_releases(changes.version, changes.control_plane, programs, solver, output)
    if programs.check is not None:
        if not asked.name and not asked.changes.are_none:
            text = "--check has the settings of the certificate; name the SPEC that yours are of, or leave them out"
            raise ConfigurationError(text)
        return check_certificate(programs.check, asked.load() if asked.name else None, limits, output)
    if not asked.name:
        raise click.UsageError("Missing argument 'SPEC'.")
    spec = asked.load()
    if program is Program.ALL_CONSTANTS:
        names = [name for name, _ in asked.changes.constants]
        files = ProofFiles(options.smt2, programs.lemma_sets, programs.certificate)
        return prove_for_all_constants(spec, names, files, limits, output)
    refuse_unasked(spec)
    trace_out.check()
    make_query_folder(options.smt2)
    if program is Program.SUGGEST:
        return suggest_conjuncts(asked.name, spec, options, limits, output)
    return prove_spec(asked.name, spec, options, limits, trace_out, output)
