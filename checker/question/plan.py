"""What a kernel evaluates, before there is machine code: guards, violated-conditions, checks of steps, and their limits."""

from __future__ import annotations

import hashlib
from functools import cached_property

from acked.base.frozen import frozen
from acked.checker.symmetry.check import signature
from acked.checker.symmetry.orbits import renamed_sorts
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance

BATCH = 1024
"""States that one call of the kernel handles at most; a multiple of every number that it decides about at a time."""

MAX_ACTIONS = (1 << 16) - 1
"""Candidates carry the number of their action in 16 bits."""
MAX_CHECK_BIT = 63
"""The checks of a step are bits of one word."""


@frozen
class StepCheck:
    """A condition under which action instance `action` is in error: bit `bit` of its flags."""

    action: int
    bit: int
    violated: Expr


@frozen
class KernelPlan:
    """What the kernel evaluates: the protocol, violated-conditions of state properties, and checks of steps."""

    instance: Instance
    state_violations: tuple[Expr, ...]
    step_checks: tuple[StepCheck, ...]
    is_symmetric: bool = False
    """Whether every successor is replaced by the representative of its orbit (`symmetry/orbits.py`)."""

    def __post_init__(self) -> None:
        if len(self.instance.actions) > MAX_ACTIONS:
            raise ModelError(
                f"{self.instance.protocol.name} has {len(self.instance.actions)} action instances under these constants and "
                f"{MAX_ACTIONS} are supported; choose smaller constants"
            )
        if any(check.bit > MAX_CHECK_BIT for check in self.step_checks):
            raise ModelError(f"more than {MAX_CHECK_BIT} step properties are asked at once; ask them in several specs")

    @property
    def rows(self) -> int:
        """Rows of bits that `guards` writes."""
        return len(self.instance.actions) + self.properties

    @property
    def properties(self) -> int:
        """How many conditions of states there are."""
        return len(self.state_violations)

    @property
    def checks(self) -> int:
        """1 + the highest bit that a check of steps uses."""
        return 1 + max((check.bit for check in self.step_checks), default=0)

    @cached_property
    def code(self) -> str:
        """What its compiled code goes by, beside the compiler and the processor: a hash of all that is evaluated."""
        expressions = [*self.state_violations, *(check.violated for check in self.step_checks)]
        parts = [self.instance.fingerprint(expressions), str([(check.action, check.bit) for check in self.step_checks])]
        if self.is_symmetric:
            parts += [signature(self.instance, sort) for sort in renamed_sorts(self.instance)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
