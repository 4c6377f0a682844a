"""A certificate checked: its obligations made again from the protocol and compared, and then put to a second solver.

`verify`, and what became of each obligation (`Verification`). cvc5 answers, in processes of its own; z3 has no part in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from acked.base.errors import ExitCode
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.base.processes import Limits, Lost, Note, ProcessPool, Service
from acked.checker.allconstants.certificate import (
    Certificate,
    Certified,
    Derivation,
    derivation_of,
    faults_of,
    read_certificate,
)
from acked.checker.allconstants.proof import ObligationResult, Progress, SolverVerdict
from acked.checker.solver.tasks import TextTask

SECOND_SOLVER = Service("acked.checker.allconstants.second_solver:SecondSolver", "second solver", ("cvc5",))
"""Processes in which cvc5 decides texts."""


@frozen
class Verification:
    """`faults` say why the folder is no certificate; then no solver was asked. Else what cvc5 answered for each obligation.

    If `interrupted`, answers are missing.
    """

    certificate: Certificate
    faults: tuple[str, ...]
    obligations: tuple[ObligationResult, ...]
    solver: str
    seconds: float
    interrupted: bool = False

    @property
    def verified(self) -> tuple[ObligationResult, ...]:
        """The obligations that the second solver refutes the denial of."""
        return tuple(item for item in self.obligations if item.verdict is SolverVerdict.UNSAT)

    @property
    def open(self) -> tuple[ObligationResult, ...]:
        """Those that it does not decide."""
        return tuple(item for item in self.obligations if item.verdict is SolverVerdict.UNKNOWN)

    @property
    def refuted(self) -> tuple[ObligationResult, ...]:
        """Those of which it finds a model: z3 and cvc5 disagree, and one of them is wrong."""
        return tuple(item for item in self.obligations if item.verdict is SolverVerdict.REFUTED)

    @property
    def holds(self) -> bool:
        """Whether the folder is the whole proof, and every obligation of it was verified."""
        everything = len(self.verified) == len(self.certificate.obligations) > 0
        return everything and not self.faults and not self.interrupted

    @property
    def exit_code(self) -> ExitCode:
        """By verdict."""
        if self.faults or self.refuted:
            return ExitCode.UNMET_EXPECTATION
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.HOLDS if self.holds else ExitCode.TOO_LARGE

    @property
    def verdict(self) -> str:
        """`verified`, `refused` (no certificate), `refuted` or `incomplete`."""
        if self.faults:
            return "refused"
        if self.refuted:
            return "refuted"
        return "verified" if self.holds else "incomplete"

    def document(self) -> dict[str, Any]:
        """The answer as plain data for JSON."""
        told = self.certificate
        return {
            "certificate": {
                "acked": told.acked,
                "spec": told.spec,
                "protocol": told.protocol,
                "promises": list(told.promises),
                "constants": dict(told.constants),
                "drop": [f"{action}: {label}" for action, label in told.drop],
                "fingerprint": told.fingerprint,
                "solver": told.solver,
                "obligations": len(told.obligations),
            },
            "verdict": self.verdict,
            "interrupted": self.interrupted,
            "faults": list(self.faults),
            "solver": self.solver,
            "seconds": round(self.seconds, 3),
            "solver_seconds": round(sum(item.seconds for item in self.obligations), 3),
            "verified": len(self.verified),
            "open": [f"{item.subject}: {item.clause}" for item in self.open],
            "refuted": [f"{item.subject}: {item.clause}" for item in self.refuted],
            "obligations": [
                {
                    "subject": item.subject,
                    "clause": item.clause,
                    "answer": item.verdict.value,
                    "seconds": round(item.seconds, 4),
                }
                for item in self.obligations
            ],
        }


def verify(
    folder: Path,
    limits: Limits,
    on_result: Progress = lambda *_: None,
    certificate: Certificate | None = None,
) -> Verification:
    """Checks the certificate in a folder, every obligation of it; `certificate` is its manifest if read.

    `SystemFailure` where cvc5 is not installed, `SpecUnreadable` where there is no manifest or it is about no such protocol.
    """
    solver = f"cvc5 {_version_of_cvc5()}"
    started = time.perf_counter()
    told = certificate or read_certificate(folder)
    derived = derivation_of(told)
    faults = tuple(faults_of(folder, told, derived))
    results: dict[int, ObligationResult] = {}
    interrupted = False
    if not faults:
        try:
            for number, result in _answers(told.obligations, derived, limits):
                results[number] = result
                on_result(result, len(results), len(told.obligations))
        except KeyboardInterrupt:
            interrupted = True
    made = tuple(results[number] for number in sorted(results))
    return Verification(told, faults, made, solver, time.perf_counter() - started, interrupted)


def _version_of_cvc5() -> str:
    with optional_packages():
        try:
            return version("cvc5")
        except PackageNotFoundError:
            raise ModuleNotFoundError(name="cvc5") from None


def _answers(
    obligations: Sequence[Certified], derived: Derivation, limits: Limits
) -> Iterator[tuple[int, ObligationResult]]:
    """The number and the result of each obligation, as they are decided."""
    with ProcessPool(limits, SECOND_SOLVER) as pool:
        pool.load(None)
        tasks = [TextTask(derived.text(number, item.core) or "") for number, item in enumerate(obligations)]
        for reply in pool.run(tasks):
            if isinstance(reply, Note):
                continue
            item = obligations[reply.task]
            if isinstance(reply, Lost):
                verdict, seconds, way, reason = SolverVerdict.UNKNOWN, 0.0, 0, reply.reason
            else:
                told = reply.value
                verdict, seconds, way, reason = SolverVerdict(told.answer), told.seconds, told.way, told.reason
            yield reply.task, ObligationResult(
                item.subject, item.clause, verdict, seconds, item.core.lemmas, way, reason=reason
            )
