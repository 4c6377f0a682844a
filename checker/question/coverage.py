"""Which guard clauses ever mattered: whether each was false somewhere, and whether it alone disabled its action somewhere.

Probes for every clause, and what searches found of them, merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acked.base.frozen import frozen
from acked.checker.question.question import Probe
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance

_FALSE, _DECISIVE, _FIXED = "false: ", "decisive: ", "fixed: "


@frozen
class ClauseCoverage:
    """What a guard clause of an action did in the reachable states.

    >>> coverage(ask(toylog, nothing_lost, brokers=2, records=1))[0]
    ClauseCoverage(action='Append', label='records are left', was_false=True, was_decisive=True, is_fixed=False)
    """

    action: str
    """Of which action it is."""
    label: str
    """Its words, as `require` has them."""
    was_false: bool
    """Whether it was false in some state."""
    was_decisive: bool
    """Whether in some state it alone disabled the action."""
    is_fixed: bool = False
    """Whether it only restricts the bindings of the parameters: for those that remain it is true in every state."""

    @property
    def name(self) -> str:
        """As spec files name it."""
        return f"{self.action}: {self.label}"


def clauses_of(instance: Instance) -> list[tuple[str, str]]:
    """Every guard clause as (action, label), in the protocol's order."""
    return list(dict.fromkeys((step.action.name, guard.label) for step in instance.actions for guard in step.guards))


def coverage_probes(instance: Instance) -> tuple[Probe, ...]:
    """Two probes per clause of the instance, or one that is never met if the parameters alone decide the clause."""
    varying = {
        (step.action.name, guard.label) for step in instance.actions for guard in step.guards if not guard.condition.is_const
    }
    made = []
    for action, label in clauses_of(instance):
        if (action, label) in varying:
            made += [_probe(_FALSE, action, label), _probe(_DECISIVE, action, label)]
        else:
            made.append(Probe(f"{_FIXED}{action}: {label}", in_state=lambda instance: instance.pool.false))
    return tuple(made)


def clause_coverage(probes: Mapping[str, int | None]) -> list[ClauseCoverage]:
    """What a search found of every clause."""
    found = []
    for name, met in probes.items():
        kind, clause = name.split(": ", 1)
        action, _, label = clause.partition(": ")
        if f"{kind}: " == _FALSE:
            found.append(ClauseCoverage(action, label, met is not None, probes[_DECISIVE + clause] is not None))
        elif f"{kind}: " == _FIXED:
            found.append(ClauseCoverage(action, label, False, False, is_fixed=True))
    return found


def merge_coverage(parts: Iterable[Iterable[ClauseCoverage]]) -> list[ClauseCoverage]:
    """A clause counts as false, or decisive, if it was so in any of the searches."""
    together: dict[str, ClauseCoverage] = {}
    for item in (item for part in parts for item in part):
        old = together.get(item.name, item)
        together[item.name] = ClauseCoverage(
            item.action,
            item.label,
            old.was_false or item.was_false,
            old.was_decisive or item.was_decisive,
            old.is_fixed and item.is_fixed,
        )
    return list(together.values())


def _probe(kind: str, action: str, label: str) -> Probe:
    def in_state(instance: Instance) -> Expr:
        pool, met = instance.pool, []
        for step in instance.actions:
            for guard in step.guards if step.action.name == action else ():
                if guard.label == label:
                    others = [other.condition for other in step.guards if other is not guard] if kind == _DECISIVE else []
                    met.append(pool.all([*others, pool.not_(guard.condition)]))
        return pool.any(met)

    return Probe(f"{kind}{action}: {label}", in_state=in_state)
