"""The numbers of a kernel: all that a worker needs to know about the question besides object code.

`Shape`, small enough to travel to another process, which so needs neither the protocol nor its properties.
"""

from __future__ import annotations

from acked.base.frozen import frozen
from acked.checker.native.slices import used_bits
from acked.checker.question.plan import KernelPlan


@frozen
class Shape:
    """Sizes that a kernel was made for; `checks` is 1 + the highest bit that a check of steps uses.

    `word_bits` are the bits that leaves use of every word. `is_symmetric`: the kernel has `representatives`, which successors
    go through.
    """

    words: int
    actions: int
    properties: int
    checks: int
    word_bits: tuple[int, ...]
    is_symmetric: bool = False

    @property
    def rows(self) -> int:
        """Rows of bits that the guards of a batch fill."""
        return self.actions + self.properties


def shape_of(plan: KernelPlan) -> Shape:
    """The shape of a plan."""
    schema = plan.instance.schema
    return Shape(
        words=schema.words,
        actions=len(plan.instance.actions),
        properties=plan.properties,
        checks=plan.checks,
        word_bits=tuple(used_bits(schema)),
        is_symmetric=plan.is_symmetric,
    )
