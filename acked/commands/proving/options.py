"""The options that `acked prove` and the commands below it share, and the values that they are collected into."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable
from acked.base.frozen import frozen
from acked.base.processes import Limits
from acked.checker.spec.spec import Spec
from acked.invariants.proofs import all_lemmas, lemmas_for
from acked.invariants.property import Property
from acked.reports.shell.options import JOBS, MEMORY, asks_spec, collects, option, shows, writes_trace
from acked.reports.shell.output import make_folder

EXPLORED_STATES = 2_000_000
"""Distinct states at which the search for a counterexample to induction ends, if the user says nothing else."""


@frozen
class Solver:
    """What the solver processes may take."""

    timeout: float
    memory: int | None
    jobs: int | None

    @property
    def limits(self) -> Limits:
        """With the defaults of this machine; `ConfigurationError` for a time that is not finite."""
        if not math.isfinite(self.timeout):
            raise ConfigurationError(f"--timeout {self.timeout:g} is not a number of seconds; use e.g. 86400 for a day")
        return Limits.sharing(self.jobs, self.timeout, self.memory)


@frozen
class ProofOptions:
    """How one spec is proved by induction."""

    k: int = 1
    minimize: bool = False
    without: tuple[str, ...] = ()
    symmetry: bool = True
    explore: int = EXPLORED_STATES
    smt2: Path | None = None

    def lemmas(self, spec: Spec) -> list[Property]:
        """The lemmas for the spec's properties, or all of its protocol, except those of --without."""
        every = (*all_lemmas(spec.protocol, spec.constants), *spec.lemmas)
        known = [item.name for item in every]
        for name in self.without:
            if name not in known:
                choices = ", ".join(known) or "none"
                raise ConfigurationError(f"--without: {spec.protocol.name} has no lemma {name!r}; its lemmas: {choices}")
        used = lemmas_for(spec.protocol, spec.properties, spec.constants)
        return [item for item in (every if used is None else (*used, *spec.lemmas)) if item.name not in self.without]


SYMMETRY = option("--symmetry/--no-symmetry", default=True,
                   help="Use that brokers are interchangeable, where that can be checked.")  # fmt: skip
SMT2 = option("--smt2", type=click.Path(path_type=Path), metavar="DIR",
               help="Write every query as an SMT-LIB file into this folder.")  # fmt: skip
WITHOUT = option("--without", metavar="LEMMA", multiple=True, help="Leave this lemma out, to see what it is needed for.")
EXPLORE = option("--explore", type=click.IntRange(0), default=EXPLORED_STATES, show_default=True,
                  help="States up to which a search decides whether a counterexample to induction is reachable.")  # fmt: skip
limits_solver = collects(
    "solver",
    Solver,
    timeout=option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
                   help="Seconds for one query; one that takes longer is left undecided."),
    memory=MEMORY.saying("Memory for each solver process, e.g. 4GB; default: a share of what is free."),
    jobs=JOBS.saying("Solver processes at a time; default: one per core."),
)  # fmt: skip
inducts = collects(
    "options",
    ProofOptions,
    k=option("--k", type=click.IntRange(1, 20), default=1, show_default=True,
             help="Assume the properties in k states in a row (k-induction)."),
    minimize=option("--minimize", is_flag=True, help="Also find out which lemmas the proof really uses."),
    without=WITHOUT,
    symmetry=SYMMETRY,
    explore=EXPLORE,
    smt2=SMT2,
)  # fmt: skip


def asks_induction(command: Callable[..., int]) -> Callable[..., Any]:
    """The options of a command that proves by induction."""
    text = "Draw what breaks a property as a page: a run, or the first counterexample to induction."
    page = click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help=text)
    return asks_spec(inducts(limits_solver(writes_trace(page(shows(command))))))


def make_query_folder(folder: Path | None) -> None:
    """The folder of --smt2, made if it is missing; `ConfigurationError` if it holds queries already."""
    if folder is None:
        return
    make_folder(folder)
    check_writable(folder / "query.smt2", "SMT-LIB files")
    if any(folder.glob("*.smt2")):
        raise ConfigurationError(f"{folder} already holds SMT-LIB files; choose an empty folder")
