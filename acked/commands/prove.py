"""The command `prove` and those below it: the same questions, answered by a solver instead of a search.

z3 is imported by solver processes only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from acked.base.errors import ConfigurationError
from acked.checker.proof.bmc import Bound
from acked.checker.proof.result import DEFAULT_DEPTH
from acked.commands.proving.all_constants import ProofFiles, prove_for_all_constants
from acked.commands.proving.certificate import check_certificate
from acked.commands.proving.instance import is_for_bmc, prove_spec
from acked.commands.proving.releases import prove_releases
from acked.commands.proving.request import EXPLORED_STATES, ProofOptions, Solver
from acked.commands.proving.suggestion import suggest_conjuncts
from acked.commands.proving.variants import prove_variants
from acked.reports.shell.groups import Branching
from acked.reports.shell.options import (
    CACHE,
    CONTROL_PLANE,
    JOBS,
    KAFKA_VERSION,
    MEMORY,
    SPEC,
    AskedSpec,
    asks_spec,
    changing,
    collects,
    option,
    shows,
    writes_trace,
)
from acked.reports.shell.output import Output, TraceFile

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
_SYMMETRY = option("--symmetry/--no-symmetry", default=True,
                   help="Use that brokers are interchangeable, where that can be checked.")  # fmt: skip
_SMT2 = option("--smt2", type=click.Path(path_type=Path), metavar="DIR",
               help="Write every query as an SMT-LIB file into this folder.")  # fmt: skip
_WITHOUT = option("--without", metavar="LEMMA", multiple=True, help="Leave this lemma out, to see what it is needed for.")
_EXPLORE = option("--explore", type=click.IntRange(0), default=EXPLORED_STATES, show_default=True,
                  help="States up to which a search decides whether a counterexample to induction is reachable.")  # fmt: skip
_limits_solver = collects(
    "solver",
    Solver,
    timeout=option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
                   help="Seconds for one query; one that takes longer is left undecided."),
    memory=MEMORY.saying("Memory for each solver process, e.g. 4GB; default: a share of what is free."),
    jobs=JOBS.saying("Solver processes at a time; default: one per core."),
)  # fmt: skip
_inducts = collects(
    "options",
    ProofOptions,
    k=option("--k", type=click.IntRange(1, 20), default=1, show_default=True,
             help="Assume the properties in k states in a row (k-induction)."),
    minimize=option("--minimize", is_flag=True, help="Also find out which lemmas the proof really uses."),
    without=_WITHOUT,
    symmetry=_SYMMETRY,
    explore=_EXPLORE,
    smt2=_SMT2,
)  # fmt: skip


def _asks_induction(command: Callable[..., int]) -> Callable[..., Any]:
    return asks_spec(_inducts(_limits_solver(writes_trace(shows(command)))))


@click.command(cls=Branching, moved=_MOVED, short_help="Prove a spec with z3, for traces of any length.")
@_asks_induction
def prove(asked: AskedSpec, options: ProofOptions, solver: Solver, trace_out: TraceFile, output: Output) -> int:
    """Prove SPEC with z3, for traces of any length, or find the shortest counterexample.

    Induction shows action by action that the properties are preserved, with the lemmas they need; where that fails, a
    counterexample to induction shows which action breaks which property. It is tried where lemmas are known and for your own
    protocols; elsewhere bounded model checking (bmc) finds the shortest violation within a number of steps. Finding none is
    not a proof, and exits with 152. So does whatever a solver leaves undecided.

    \b
    acked prove kip320                         induction with the lemmas that ship
    acked prove kip320 --without LogMatching   what a lemma is needed for
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
    return prove_spec(asked.name, spec, how, solver.limits, trace_out, output)


@click.command(short_help="Prove a spec by induction, whether lemmas are known or not.")
@_asks_induction
def induction(asked: AskedSpec, options: ProofOptions, solver: Solver, trace_out: TraceFile, output: Output) -> int:
    """Prove SPEC by induction: every action preserves its properties, with the lemmas that they need.

    \b
    acked prove induction kip320
    acked prove induction kip320 --minimize    which lemmas the proof really uses
    """
    return prove_spec(asked.name, asked.load(), options, solver.limits, trace_out, output)


@click.command(short_help="Find the shortest violation within a number of steps.")
@asks_spec
@collects(
    "bound",
    Bound,
    depth=option("--depth", type=click.IntRange(0), default=DEFAULT_DEPTH, show_default=True,
                 help="Steps of the longest trace."),
    use_symmetry=_SYMMETRY,
    smt2=_SMT2,
)  # fmt: skip
@_limits_solver
@writes_trace
@shows
def bmc(asked: AskedSpec, bound: Bound, solver: Solver, trace_out: TraceFile, output: Output) -> int:
    """Find the shortest violation of SPEC within a number of steps (bounded model checking).

    Finding none is not a proof, and exits with 152.

    \b
    acked prove bmc kip101 --depth 10
    """
    return prove_spec(asked.name, asked.load(), bound, solver.limits, trace_out, output)


@click.command("all-constants", short_help="Prove a spec for any number of brokers, offsets, records and epochs.")
@asks_spec
@collects(
    "files",
    ProofFiles,
    smt2=_SMT2,
    lemma_sets=option("--lemma-sets", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                      help="Use the lemma sets in this file, and write those that it lacks into it."),
    certificate=option("--certificate", type=click.Path(path_type=Path), metavar="DIR",
                       help="Write a proof that holds into this folder, for `acked prove check`."),
)  # fmt: skip
@_limits_solver
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
    names = [name for name, _ in asked.changes.constants]
    return prove_for_all_constants(asked.load(), names, files, solver.limits, output)


@click.command(short_help="Suggest conjuncts that could complete a proof that fails.")
@asks_spec
@collects("options", ProofOptions, without=_WITHOUT, explore=_EXPLORE)
@_limits_solver
@shows
def suggest(asked: AskedSpec, options: ProofOptions, solver: Solver, output: Output) -> int:
    """Suggest conjuncts that could complete the induction of SPEC where it fails.

    \b
    acked prove suggest my.toml
    """
    return suggest_conjuncts(asked.name, asked.load(), options, solver.limits, output)


@click.command(short_help="Prove every shipped variant against every named property.")
@_limits_solver
@shows
def variants(solver: Solver, output: Output) -> int:
    """Prove every shipped variant against every named property, and print the table.

    \b
    acked prove variants --format json
    """
    return prove_variants(solver.limits, output)


@click.command(short_help="Prove which releases of Kafka keep which promises, for all constants.")
@KAFKA_VERSION.saying("Only this release.").under("version")
@CONTROL_PLANE.saying("Only this control plane.").under("control_plane")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Also write the table as a Markdown page.")
@CACHE.saying("Reuse answers that were found before; with --no-cache ask all anew and store nothing.").under("use_cache")
@_limits_solver
@shows
def releases(
    version: str | None, control_plane: str | None, markdown: Path | None, use_cache: bool, solver: Solver, output: Output
) -> int:
    """Releases of Kafka, what may go wrong, and which promises are proved for all constants, refuted, or open.

    \b
    acked prove releases --kafka-version 3.9
    """
    return prove_releases(version, control_plane, markdown, use_cache, solver, output)


@click.command(short_help="Check the certificate of a proof with a second solver.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@collects("asked", AskedSpec.given, name=SPEC.with_(required=False, default="", metavar="[SPEC]"), **changing)
@_limits_solver
@shows
def check(folder: Path, asked: AskedSpec, solver: Solver, output: Output) -> int:
    """Check the certificate in DIR, which `acked prove all-constants --certificate` wrote.

    Its obligations are made again and compared, and a second solver (cvc5) confirms each. With SPEC: only if it is about
    SPEC.

    \b
    acked prove check DIR
    acked prove check DIR kip320
    """
    if not asked.name and not asked.changes.are_none:
        text = "a certificate has settings of its own; name the SPEC that yours are of, or leave them out"
        raise ConfigurationError(text)
    return check_certificate(folder, asked.load() if asked.name else None, solver.limits, output)


for _branch in (induction, bmc, all_constants, suggest, check, variants, releases):
    prove.add(_branch)
