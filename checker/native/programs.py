"""What decides guards and makes successors before there is code for them: programs of formulas of single bits.

`program_of` writes what `loops/formulas.py` reads, for a question that is new in a tenth of the time in which the quickest
code is compiled. Of few actions new values are so much more work by single bits that code is made for them all the same.

A row is a bit of every state of a batch. First come those of packed states, 64 for each word, then one of zeros and one of
ones, then what guards and properties are made of, and behind that, each in the place of the others, what actions are made of.
In a program, numbers of 64 bits tell how many rows there are, and where guards and each action begin, 0 where an action has
code; all others have 16:

- *formulas*: how many rounds; of each round how many of every kind of `KINDS`, and two rows for each of these. What a round
  computes is made of earlier rounds.
- *guards*: formulas; of every action and property its row, and the row of ones if it is to be negated, else that of zeros.
- *action*: its first row; formulas; how many bits it changes, and a row and a place for each, those of bits that are negated
  then; how many checks it has, and a row and a bit for each. NEGATED of a place says that the row is to be negated.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import chain
from threading import Lock

from acked.checker.loops.formulas import ACTIONS, NEGATED, ROW, WORD
from acked.checker.loops.language import KINDS
from acked.checker.native.bits import NO, Bit, Bits, resized, width_of
from acked.checker.question.plan import KernelPlan, StepCheck
from acked.model.formulas.expr import Expr, Op

MOST_ROWS = 1 << 16
"""More a program cannot name."""
MOST_WORK = 500
"""Bits that the new values of an action are made of, about, and that it has code from."""


_WRITING = Lock()
"""Held while a program is written, for threads may write of one pool, whose formulas are numbered one after the other."""


def words_of(program: bytes) -> int:
    """How many 64-bit words the rows of a program have; 0 of no program."""
    return int.from_bytes(program[:8], sys.byteorder) * ROW


def actions_without(program: bytes, actions: int) -> list[int]:
    """Which of so many actions a program leaves to code."""
    head = array("Q", program[: 8 * (ACTIONS + actions)])
    return [at for at in range(actions) if head[ACTIONS + at] == 0]


def program_of(plan: KernelPlan) -> bytes:
    """The program of a plan; empty if it would need more rows than there can be."""
    with _WRITING:
        return _written(plan)


def _written(plan: KernelPlan) -> bytes:
    instance, schema = plan.instance, plan.instance.schema
    bits = Bits.of(instance.pool, tuple(leaf.bits for leaf in schema.leaves))
    writer = _Writer(bits, [WORD * leaf.word + leaf.shift for leaf in schema.leaves], schema.words * WORD)
    guards = bits.numbers([*(item.guard for item in instance.actions), *plan.state_violations])
    sections = [writer.guards([root for (root,) in guards])]
    for item, (own, roots) in zip(instance.actions, steps_of(plan), strict=True):
        if not _is_little(roots, bits.work):
            sections.append([])
            continue
        values = iter(bits.numbers(roots))
        changes = []
        for at, new in item.updates:
            leaf = schema.leaves[at]
            changed = map(bits.xor, resized(next(values), new.lo < 0, leaf.bits), bits.leaf(at))
            changes += [(bit, WORD * leaf.word + leaf.shift + k) for k, bit in enumerate(changed) if bit != NO]
        sections.append(writer.action(changes, [(next(values)[0], check.bit) for check in own]))
    if writer.rows > MOST_ROWS:
        return b""
    head = [writer.rows]
    place = 8 * (1 + len(sections))
    for section in sections:
        head.append(place if section else 0)
        place += 2 * len(section)
    return array("Q", head).tobytes() + b"".join(array("H", section).tobytes() for section in sections)


def steps_of(plan: KernelPlan) -> list[tuple[list[StepCheck], list[Expr]]]:
    """Of every action its checks, and what a step computes: new values in the order of the updates, then what is checked."""
    checks: list[list[StepCheck]] = [[] for _ in plan.instance.actions]
    for check in plan.step_checks:
        checks[check.action].append(check)
    return [
        (own, [*(new for _, new in item.updates), *(check.violated for check in own)])
        for item, own in zip(plan.instance.actions, checks, strict=True)
    ]


def _is_little(roots: Sequence[Expr], known: dict[int, int]) -> bool:
    """Whether the formulas of the roots are few enough; `known` has what was counted of nodes before."""
    count = 0
    seen: set[int] = set()
    stack = [*roots]
    while stack:  # In any order, so that nothing is looked at behind what is too much.
        node = stack.pop()
        number = node.id
        if number in seen:
            continue
        seen.add(number)
        work = known.get(number)
        if work is None:
            work = known[number] = _work(node)
        count += work
        if count > MOST_WORK:
            return False
        stack += node.args
    return True


def _work(node: Expr) -> int:
    """About how many formulas of single bits a node is, beside those of its arguments."""
    if node.op in (Op.CONST, Op.FIELD):
        return 0
    width = max(width_of(arg) for arg in node.args)
    if node.op in (Op.MUL, Op.DIV, Op.MOD):
        return width * width_of(node.args[1])
    if node.op in (Op.SHL, Op.SHR):
        return 0 if node.args[1].is_const else width_of(node) * width_of(node.args[1])
    return width


class _Writer:
    """Writes sections; `rows` is how many there are so far, and where each leaf's are is given."""

    def __init__(self, bits: Bits, columns: Sequence[int], zeros: int) -> None:
        self._bits, self._columns = bits, columns
        self._zeros = zeros
        self._first = zeros + 2
        self._rows: dict[int, int] = {}
        self.rows = self._first

    def guards(self, roots: Sequence[Bit]) -> list[int]:
        """The section of guards and properties, whose formulas actions can use."""
        code, self._first = self._formulas(roots, self._first)
        for root in roots:
            row, is_negated = self._row(root)
            code += [row, self._zeros + is_negated]
        return code

    def action(self, changes: Sequence[tuple[Bit, int]], checks: Sequence[tuple[Bit, int]]) -> list[int]:
        """The section of an action, whose rows others take again."""
        before = len(self._rows)
        code, _ = self._formulas([bit for bit, _ in (*changes, *checks)], self._first)
        code = [self._first, *code]
        for placed in (changes, checks):
            code.append(len(placed))
            for bit, place in placed:
                row, is_negated = self._row(bit)
                code += [row, is_negated << NEGATED | place]
        for _ in range(before, len(self._rows)):
            self._rows.popitem()
        return code

    def _formulas(self, roots: Sequence[Bit], first: int) -> tuple[list[int], int]:
        """The formulas that the roots are made of, into the rows from `first` on, and the first row behind them."""
        rounds: list[dict[str, list[int]]] = []
        depths: dict[int, int] = {}
        formulas, rows = self._bits.formulas, self._rows
        for number in self._bits.needed(roots, rows):
            kind, one, other = formulas[number]
            if kind == "leaf":
                rows[number] = self._columns[one] + other
                continue
            depth = max(depths.get(one, 0), depths.get(other, 0))
            depths[number] = depth + 1
            if depth == len(rounds):
                rounds.append({kind: [] for kind in KINDS})
            rounds[depth][kind].append(number)
        code = [len(rounds)]
        for kinds in rounds:
            code += map(len, kinds.values())
            for number in chain.from_iterable(kinds.values()):
                _, one, other = formulas[number]
                code.append(rows[one])
                code.append(rows[other])
                rows[number] = first
                first += 1
        self.rows = max(self.rows, first)
        return code, first

    def _row(self, bit: Bit) -> tuple[int, int]:
        return (self._zeros, bit) if bit < 2 else (self._rows[bit >> 1], bit & 1)
