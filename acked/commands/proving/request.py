"""What the command line of `acked prove` asks for: which of its programs, with which options, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable
from acked.base.processes import Limits
from acked.checker.proof.result import Method
from acked.invariants.proofs import all_lemmas, lemmas_for
from acked.invariants.property import Property
from acked.reports.shell.output import make_folder

if TYPE_CHECKING:
    from acked.checker.spec.spec import Spec


class Program(Enum):
    """What `acked prove` does."""

    INSTANCE = "one spec"
    SUGGEST = "conjuncts for an incomplete proof"
    ALL_CONSTANTS = "one protocol, for all constants"
    MATRIX = "all variants"
    RELEASES = "all releases of Kafka"
    CHECK = "a certificate, by a second solver"


_OF_ONE_INSTANCE = (
    "--method", "--depth", "--k", "--minimize", "--without", "--suggest", "--symmetry", "--explore", "--trace-out",
)  # fmt: skip

REFUSED: tuple[tuple[Program | Method, tuple[str, ...], str], ...] = (
    (Program.RELEASES, ("SPEC", "--constant"),
     "--releases asks every release the same; leave SPEC and -c out, or name one release with --kafka-version"),
    (Program.RELEASES,
     (*_OF_ONE_INSTANCE, "--smt2", "--all-constants", "--lemma-sets", "--certificate", "--check", "--matrix"),
     "{given} cannot be combined with --releases; leave one of them out"),
    *((program, ("--markdown",), "--markdown needs --releases; leave it out")
      for program in (Program.MATRIX, Program.ALL_CONSTANTS, Program.SUGGEST, Program.CHECK)),
    *((program, ("--cache",), "--cache and --no-cache need --releases; leave them out")
      for program in (Program.MATRIX, Program.ALL_CONSTANTS, Program.SUGGEST, Program.CHECK)),
    (Program.INSTANCE, ("--markdown",), "--markdown needs --releases; add that, or leave it out"),
    (Program.INSTANCE, ("--cache",), "--cache and --no-cache need --releases; add that, or leave them out"),
    (Program.CHECK, (*_OF_ONE_INSTANCE, "--smt2", "--all-constants", "--lemma-sets", "--certificate", "--matrix"),
     "{given} cannot be combined with --check; leave one of them out"),
    (Program.MATRIX, ("SPEC", "--constant", "--kafka-version", "--control-plane"),
     "--matrix proves every shipped variant; leave SPEC, -c and --kafka-version out"),
    (Program.MATRIX, (*_OF_ONE_INSTANCE, "--smt2", "--all-constants", "--lemma-sets", "--certificate"),
     "{given} cannot be combined with --matrix; leave one of them out"),
    (Program.ALL_CONSTANTS, _OF_ONE_INSTANCE, "{given} cannot be combined with --all-constants; leave one of them out"),
    (Program.SUGGEST, ("--method", "--depth", "--k", "--minimize", "--symmetry", "--smt2", "--trace-out"),
     "{given} cannot be combined with --suggest; leave one of them out"),
    (Program.SUGGEST, ("--lemma-sets",), "--lemma-sets needs --all-constants; leave it out"),
    (Program.SUGGEST, ("--certificate",), "--certificate needs --all-constants; leave it out"),
    (Program.INSTANCE, ("--certificate",), "--certificate needs --all-constants; add that, or leave it out"),
    (Program.INSTANCE, ("--lemma-sets",), "--lemma-sets needs --all-constants; add that, or leave it out"),
    (Method.BMC, ("--k", "--minimize", "--without"),
     "{given} cannot be combined with bounded model checking (bmc); leave them out, or use --method induction"),
    (Method.INDUCTION, ("--depth",), "--depth cannot be combined with induction; leave it out, or use --method bmc"),
)  # fmt: skip
"""What does not go together: a program or engine, the options that mean nothing beside it, and the sentence to say so."""


def refuse_beside(chosen: Program | Method) -> None:
    """`ConfigurationError` for options on the command line that mean nothing beside what is chosen."""
    context = click.get_current_context()
    given = [
        item.opts[-1] if isinstance(item, click.Option) else item.make_metavar(context).strip("[]")
        for item in context.command.params
        if item.name is not None and context.get_parameter_source(item.name) is ParameterSource.COMMANDLINE
    ]
    for refusing, options, sentence in REFUSED:
        if refusing is chosen and (beside := [name for name in options if name in given]):
            raise ConfigurationError(sentence.format(given=", ".join(beside)))


@dataclass(frozen=True)
class Programs:
    """The options that choose a program other than the proof of one spec."""

    suggest: bool
    matrix: bool
    all_constants: bool
    lemma_sets: Path | None
    releases: bool
    markdown: Path | None
    use_cache: bool
    certificate: Path | None
    check: Path | None

    @property
    def chosen(self) -> Program:
        """The program; of several the one that refuses the others."""
        if self.releases:
            return Program.RELEASES
        if self.check is not None:
            return Program.CHECK
        if self.matrix:
            return Program.MATRIX
        if self.all_constants:
            return Program.ALL_CONSTANTS
        return Program.SUGGEST if self.suggest else Program.INSTANCE


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
    """How one spec is proved."""

    method: str
    depth: int | None
    k: int
    minimize: bool
    without: tuple[str, ...]
    symmetry: bool
    explore: int
    smt2: Path | None

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
