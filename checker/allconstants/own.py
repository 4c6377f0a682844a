"""The argument for all constants of a protocol of one's own: what its spec asks, with the lemmas that the spec writes."""

from __future__ import annotations

from acked.checker.question.user_properties import written_invariant
from acked.checker.solver.tasks import OwnClauses
from acked.invariants.proofs import Argument
from acked.model.language.protocol import Protocol

SMALL = 2
"""What every size is on the smallest instance, if the protocol allows it."""


def own_argument(protocol: Protocol, own: OwnClauses) -> Argument:
    """The claim that lemmas and invariants together are kept by every action, whatever the sizes."""
    clauses = tuple(written_invariant(*item) for item in (*own.lemmas, *own.invariants))
    limits = {item.name: (item.lo, item.hi) for item in protocol.constants}
    small = {name: max(limits[name][0], min(SMALL, limits[name][1])) for name in protocol.sizes}
    instances = (small,) if small == dict(own.sizes) else (small, dict(own.sizes))
    return Argument(clauses, (), tuple(name for name, *_ in own.invariants), instances, "", is_exact=True)
