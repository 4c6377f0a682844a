"""A question: a protocol under given constants and the properties asked of it, ready for an engine.

What lives here: `Question` and how its properties become conditions of the kernel. What does not: where questions come
from (`spec.py`) and who answers them (`search.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from checker.kernel import KernelPlan, StepCheck
from invariants.property import Kind, Property
from model.expr import Expr
from model.protocol import ActionInstance, Instance
from model.values import Bool

OVERFLOW_BIT = 0
"""The check of steps that no property asks for: an update leaves its field's domain."""

DEADLOCK = Property(
    "Deadlock",
    Kind.DEADLOCK,
    lambda _: Bool.__new__(Bool),
    "some action is enabled in every reachable state",
    "TLC's deadlock check; decided from the guards",
    "depends on the constants: a bounded model ends when its bounds are spent",
)


@dataclass(frozen=True)
class Question:
    """What is asked: `properties` in the spec's order, which breaks ties between equally short violations."""

    instance: Instance
    properties: tuple[Property, ...]

    @cached_property
    def state_properties(self) -> tuple[int, ...]:
        """Positions of the properties decided in one state, in kernel order."""
        return tuple(i for i, item in enumerate(self.properties) if item.kind is not Kind.STEP)

    @cached_property
    def step_properties(self) -> tuple[int, ...]:
        """Positions of the step properties; the k-th is check bit k + 1."""
        return tuple(i for i, item in enumerate(self.properties) if item.kind is Kind.STEP)

    def holds_in_state(self, position: int) -> Expr:
        """The condition of a STATE or DEADLOCK property."""
        item, instance = self.properties[position], self.instance
        if item.kind is Kind.DEADLOCK:
            return instance.pool.any(step.guard for step in instance.actions)
        return instance.state_predicate(item.name, item.predicate)

    def holds_in_step(self, position: int, step: ActionInstance) -> Expr:
        """The condition of a STEP property on the edges of one action instance, over their sources."""
        item = self.properties[position]
        return self.instance.step_predicate(item.name, item.predicate, step)

    @cached_property
    def plan(self) -> KernelPlan:
        """What the kernel evaluates for this question."""
        pool = self.instance.pool
        violations = tuple(pool.not_(self.holds_in_state(i)) for i in self.state_properties)
        checks: list[StepCheck] = []
        for number, step in enumerate(self.instance.actions):
            overflow = pool.any(bad for _, bad in step.overflows)
            conditions = [overflow, *(pool.not_(self.holds_in_step(i, step)) for i in self.step_properties)]
            checks += [
                StepCheck(number, bit, violated)
                for bit, violated in enumerate(conditions)
                if violated is not pool.false
            ]
        return KernelPlan(self.instance, violations, tuple(checks))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the protocol's and the properties' expressions, constants included.

        Expressions are ordered by when they were made, so ask for `plan` or this before making others in the same instance.
        """
        plan = self.plan
        return self.instance.fingerprint([*plan.state_violations, *(check.violated for check in plan.step_checks)])
