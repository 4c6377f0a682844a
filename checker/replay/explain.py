"""Why a clause or a promise is false in a state: the comparisons that decide it, with the values they compare.

The walk from a false expression to the fields that make it so. Those fields suffice: whatever the others were, the expression
would have the same value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.marks import false_guards
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.evaluate import Evaluator, leaves_of
from acked.model.formulas.expr import Expr, Op, operands
from acked.model.language.domain import SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.storage.layout import Leaf
from acked.model.language.tracings import ActionInstance

Values = Mapping[int, int]
"""A node's value, by its id."""


@frozen
class FalseClause:
    """A labelled clause that does not hold, and the comparisons that decide so, in words."""

    label: str
    reasons: tuple[str, ...]


@frozen
class Refusal:
    """An action instance that is not enabled, and every clause that forbids it."""

    step: ActionInstance
    clauses: tuple[FalseClause, ...]


class Explainer:
    """Explains expressions of one instance in any number of its states."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._leaves = instance.schema.leaves
        self._supports: dict[int, tuple[int, ...]] = {}
        self._told: dict[tuple[int, tuple[int, ...]], tuple[str, ...]] = {}

    @cached_property
    def _guards(self) -> Evaluator:
        return Evaluator([guard.condition for step in self._instance.actions for guard in step.guards])

    def refusals(self, codes: Sequence[int]) -> list[Refusal]:
        """Every action instance that is not enabled in a state, in the protocol's order, with its false clauses."""
        values = iter(self._guards(codes))
        found = []
        for step in self._instance.actions:
            false = [guard for guard in step.guards if not next(values)]
            if false:
                clauses = tuple(FalseClause(guard.label, self.why(guard.condition, codes)) for guard in false)
                found.append(Refusal(step, clauses))
        return found

    def refusal(self, step: ActionInstance, codes: Sequence[int]) -> Refusal:
        """The false clauses of one action instance; none if it is enabled."""
        false = false_guards(step, codes)
        return Refusal(step, tuple(FalseClause(guard.label, self.why(guard.condition, codes)) for guard in false))

    def why(self, root: Expr, codes: Sequence[int]) -> tuple[str, ...]:
        """What decides a Bool's value in a state: comparisons in words, each once; empty for a literal."""
        key = (root.id, tuple(codes[leaf] for leaf in self._support(root)))
        if key not in self._told:
            values = _values(root, codes)
            atoms = _decisive(root, values)
            self._told[key] = tuple(dict.fromkeys(self._text(atom, values, codes) for atom in atoms))
        return self._told[key]

    def failing_conjuncts(self, root: Expr, codes: Sequence[int]) -> list[tuple[str, ...]]:
        """Of a false conjunction, every conjunct that is false, as what decides it; empty if it holds."""
        values = _values(root, codes)
        return list(dict.fromkeys(self.why(part, codes) for part in operands(root, Op.AND) if not values[part.id]))

    def _support(self, root: Expr) -> tuple[int, ...]:
        if root.id not in self._supports:
            self._supports[root.id] = tuple(sorted(leaves_of(root)))
        return self._supports[root.id]

    # -- words ----------------------------------------------------------------------------------------------------

    def _text(self, atom: Expr, values: Values, codes: Sequence[int]) -> str:
        holds = bool(values[atom.id])
        if atom.op in (Op.EQ, Op.LT):
            told = self._about_one_field(atom, holds, codes) or self._about_members(atom, codes)
            if told is not None:
                return told
            if atom.op is Op.LT and all(side.op is Op.FIELD for side in atom.args):
                less, more = (self._is(side.value, codes) for side in atom.args)
                return f"{less}, {'' if holds else 'not '}below {more.replace(' is ', ' = ')}"
        return " and ".join(self._is(leaf, codes) for leaf in sorted(_fields_of(atom, values)))

    def _is(self, leaf: int, codes: Sequence[int]) -> str:
        return f"{self._leaves[leaf].name} is {self._plain(self._leaves[leaf], codes[leaf])}"

    def _plain(self, leaf: Leaf, code: int) -> str:
        return in_words(leaf.domain.to_plain(code, self._instance.constants))

    def _about_one_field(self, atom: Expr, holds: bool, codes: Sequence[int]) -> str | None:
        """`log[0].end is 2, not below 2`, where a field is compared with a value of its own domain."""
        first, second = atom.args
        if {first.op, second.op} != {Op.FIELD, Op.CONST}:
            return None
        field, constant = (first, second) if first.op is Op.FIELD else (second, first)
        leaf = self._leaves[field.value]
        text = self._is(field.value, codes)
        if not 0 <= constant.value < leaf.cardinality:
            return text
        other = self._plain(leaf, constant.value)
        if atom.op is Op.EQ:
            return text if holds else f"{text}, not {other}"
        word = "below" if field is first else "above"
        return f"{text}, {'' if holds else 'not '}{word} {other}"

    def _about_members(self, atom: Expr, codes: Sequence[int]) -> str | None:
        """`quorum.isr is {0, 1}, without 2`, where bits of a set are tested."""
        first, second = atom.args
        if atom.op is not Op.EQ or first.op is not Op.BITAND or second.op is not Op.CONST:
            return None
        pair = {side.op: side for side in first.args}
        if set(pair) != {Op.FIELD, Op.CONST}:
            return None
        leaf = self._leaves[pair[Op.FIELD].value]
        if not isinstance(leaf.domain, SetDomain):
            return None
        mask, code = pair[Op.CONST].value, codes[pair[Op.FIELD].value]
        there, missing = self._plain(leaf, code & mask), self._plain(leaf, mask & ~code)
        text = self._is(pair[Op.FIELD].value, codes)
        return f"{text}, with {there.strip('{}')}" if code & mask else f"{text}, without {missing.strip('{}')}"


def in_words(value: Any) -> str:
    """A decoded value as text: `none`, `{0, 2}`, `true`, `7`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(in_words, value)) + "}"
    return str(value)


# -- the walk ----------------------------------------------------------------------------------------------------------


def _values(root: Expr, codes: Sequence[int]) -> Values:
    order = evaluation_order([root])
    return dict(zip((node.id for node in order), Evaluator(order)(codes), strict=True))


def _decisive(root: Expr, values: Values) -> list[Expr]:
    """Comparisons (and Bool fields) whose values alone decide the root's; where one operand suffices, the shorter story."""
    chosen: dict[int, list[Expr]] = {}
    for node in evaluation_order([root]):
        if not node.is_bool or node.op is Op.CONST:
            chosen[node.id] = []
            continue
        if node.op is Op.NOT:
            chosen[node.id] = chosen[node.args[0].id]
        elif node.op in (Op.AND, Op.OR):
            stops = int(node.op is Op.OR)
            if values[node.id] == stops:
                enough = [chosen[arg.id] for arg in node.args if values[arg.id] == stops]
                chosen[node.id] = min(enough, key=len)
            else:
                chosen[node.id] = _union(chosen[arg.id] for arg in node.args)
        elif node.op is Op.ITE:
            taken = node.args[1] if values[node.args[0].id] else node.args[2]
            chosen[node.id] = _union((chosen[node.args[0].id], chosen[taken.id]))
        elif node.op is Op.EQ and node.args[0].is_bool:
            chosen[node.id] = _union(chosen[arg.id] for arg in node.args)
        else:
            chosen[node.id] = [node]
    return chosen[root.id]


def _union(parts: Any) -> list[Expr]:
    return list({node.id: node for part in parts for node in part}.values())


def _fields_of(atom: Expr, values: Values) -> set[int]:
    """The leaves that a comparison's value depends on, along the branches taken in this state."""
    found: set[int] = set()
    pending = [atom]
    while pending:
        node = pending.pop()
        if node.op is Op.FIELD:
            found.add(node.value)
        elif node.op is Op.ITE:
            pending += [node.args[0], node.args[1] if values[node.args[0].id] else node.args[2]]
        else:
            pending += node.args
    return found
