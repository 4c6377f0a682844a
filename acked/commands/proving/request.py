"""What the commands below `acked prove` are asked with: limits of solvers, how one spec is proved, where queries go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable
from acked.base.processes import Limits
from acked.invariants.proofs import all_lemmas, lemmas_for
from acked.invariants.property import Property
from acked.reports.shell.output import make_folder

if TYPE_CHECKING:
    from acked.checker.spec.spec import Spec


EXPLORED_STATES = 2_000_000
"""Distinct states at which the search for a counterexample to induction ends, if the user says nothing else."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
        every = all_lemmas(spec.protocol, spec.constants)
        known = [item.name for item in every]
        for name in self.without:
            if name not in known:
                choices = ", ".join(known) or "none"
                raise ConfigurationError(f"--without: {spec.protocol.name} has no lemma {name!r}; its lemmas: {choices}")
        used = lemmas_for(spec.protocol, spec.properties, spec.constants)
        return [item for item in (every if used is None else used) if item.name not in self.without]


def make_query_folder(folder: Path | None) -> None:
    """The folder of --smt2, made if it is missing; `ConfigurationError` if it holds queries already."""
    if folder is None:
        return
    make_folder(folder)
    check_writable(folder / "query.smt2", "SMT-LIB files")
    if any(folder.glob("*.smt2")):
        raise ConfigurationError(f"{folder} already holds SMT-LIB files; choose an empty folder")
