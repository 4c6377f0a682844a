"""The command `prove releases`: which releases of Kafka keep which promises, for all constants."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import click

from acked.audit.releases.report import print_releases, releases_document, releases_markdown
from acked.audit.releases.table import RELEASES, FaultClass, Kept, Release, ReleaseVerdict, ReleaseWork, fill_table
from acked.base.cache import cache_folder, open_cache
from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable
from acked.base.release import release
from acked.base.version import __version__
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchLimits
from acked.checker.proof.cache import ProofCache
from acked.checker.question.observer import ProofProgress
from acked.commands.proving.options import Solver, limits_solver
from acked.model.formulas.errors import ModelError
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import planes_of, rules_of
from acked.reports.proofs.proof import ProofReporter
from acked.reports.shell.groups import STARTED
from acked.reports.shell.options import CACHE, CONTROL_PLANE, KAFKA_VERSION, shows
from acked.reports.shell.output import Output, put_text


@click.command(short_help="Prove which releases of Kafka keep which promises, for all constants.")
@KAFKA_VERSION.saying("Only this release.").under("version")
@CONTROL_PLANE.saying("Only this control plane.").under("control_plane")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Also write the table as a Markdown page.")
@CACHE.saying("Reuse answers that were found before; with --no-cache ask all anew and store nothing.").under("use_cache")
@limits_solver
@shows
def releases(
    version: str | None, control_plane: str | None, markdown: Path | None, use_cache: bool, solver: Solver, output: Output
) -> int:
    """Releases of Kafka, what may go wrong, and which promises are proved for all constants, refuted, or open.

    \b
    acked prove releases --kafka-version 3.9
    """
    limits = solver.limits
    rows = releases_named(version, control_plane)
    check_writable(markdown, "table")
    store, folder = (open_cache(), cache_folder("results")) if use_cache else (None, None)
    total = len(rows) * len(FaultClass) * len(Kept)
    done = 0
    with ProofReporter(sys.stderr, quiet=output.quiet) as observer:

        def tell(subject: str, verdict: str, seconds: float) -> None:
            observer.decided(ProofProgress(subject, verdict, seconds, done, total))

        def filled(cells: int) -> None:
            nonlocal done
            done = cells

        work = ReleaseWork(
            limits,
            BatchLimits.default(limits.jobs),
            None if store is None else ProofCache(store),
            None if folder is None else ResultCache(folder, __version__),
            tell,
            filled,
        )
        cells = fill_table(rows, tuple(FaultClass), work)
    seconds = time.perf_counter() - STARTED
    if markdown is not None:
        command = written_by(version, control_plane, markdown, use_cache, solver)
        put_text("\n".join(releases_markdown(cells, command)) + "\n", markdown, "table")
    output.emit(lambda: releases_document(cells, seconds), lambda console: print_releases(console, cells, seconds))
    verdicts = {item.verdict for item in cells}
    if ReleaseVerdict.NOT_ASKED in verdicts:
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.TOO_LARGE if ReleaseVerdict.OPEN in verdicts else ExitCode.HOLDS)


def written_by(
    version: str | None, control_plane: str | None, markdown: Path, use_cache: bool, solver: Solver
) -> str:
    """The command line that writes the same page, with all that has a say in what is found."""
    said = ["acked", "prove", "releases", "--markdown", str(markdown)]
    for option, value in (("--kafka-version", version), ("--control-plane", control_plane), ("--jobs", solver.jobs)):
        said += [] if value is None else [option, str(value)]
    said += ["--timeout", f"{solver.timeout:g}"]
    return shlex.join(said if use_cache else [*said, "--no-cache"])


def releases_named(version: str | None, control_plane: str | None) -> tuple[Release, ...]:
    """The rows of the table, or those of one release; `ConfigurationError` if there is no such release or control plane."""
    if version is None:
        rows = RELEASES if control_plane is None else tuple(item for item in RELEASES if item[1] == control_plane)
        if not rows:
            raise ConfigurationError(f"no release runs on control plane {control_plane!r}; it is zookeeper or kraft")
        return rows
    rules = rules_of(release(version))
    try:
        partition.profile(rules, control_plane)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None
    planes = planes_of(rules) if control_plane is None else (control_plane,)
    return tuple((rules, plane) for plane in planes)
