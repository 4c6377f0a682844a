"""Machine code that decides guards and invariants, a bit of many states at a time.

- `unpack(states, columns, blocks)`: the bits of packed states in columns, one for each bit of a state, which has that bit of
  state n as its own bit n. A column has room for BATCH states.
- `guards(columns, rows, blocks)`: row r is a bit per state: for r < actions whether action r is enabled, then for each state
  property whether the state *violates* it. Without a branch, and every formula once for all of them (`bits.py`).

A block is 64 states for each of some lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.checker.native.bits import Bit, Bits, Formula
from acked.checker.native.instructions import Code, loop
from acked.checker.question.plan import BATCH, KernelPlan
from acked.model.language.storage.layout import Schema

WORD = 64
ROWS = 8
"""Rows of a square of bits that are turned together: eight that stand eight apart, then eight neighbours."""


def slices_ir(plan: KernelPlan, lanes: int) -> str:
    """LLVM IR of both functions."""
    return "\n".join([unpack_ir(used_bits(plan.instance.schema), lanes), _guards(plan, lanes)])


def unpack_ir(used: Sequence[int], lanes: int, name: str = "unpack") -> str:
    """LLVM IR of `unpack`, or what it is to be called, for states that have so many bits in every word.

    What it calls is internal: of two objects, LLVM's loader takes constants from the wrong place if the first names a symbol.
    """
    groups = ROWS * (len(used) - 1) + max(-(-used[-1] // ROWS), 1)
    both = f"""\
define i64 @{name}(ptr noalias %states, ptr noalias %columns, i64 %count) nounwind {{
  %rows = mul nuw nsw i64 %count, {ROWS}
  %first = call i64 @unpack_apart(ptr %states, ptr %columns, i64 %rows)
  %groups = mul nuw nsw i64 %count, {groups}
  %second = call i64 @unpack_near(ptr %columns, i64 %groups)
  ret i64 0
}}
"""
    return "\n".join([_turn_apart(used, lanes), _turn_near(groups, lanes), both])


def used_bits(schema: Schema) -> list[int]:
    """Of every word how many bits, from the lowest on, leaves have."""
    used = [0] * schema.words
    for leaf in schema.leaves:
        if leaf.bits:
            used[leaf.word] = max(used[leaf.word], leaf.shift + leaf.bits)
    return used


def _turn_apart(used: Sequence[int], lanes: int) -> str:
    """Of every block, rows that are eight apart: row s of a lane begins as a word of its state s."""
    code, words = Code("i64", lanes), len(used)
    block, row = code.let("lshr i64 %i, 3"), code.let("and i64 %i, 7")
    first = code.let(f"mul nuw nsw i64 {code.let(f'add nuw nsw i64 {_product(code, block, WORD * lanes)}, {row}')}, {words}")
    state = code.let(f"getelementptr inbounds i64, ptr %states, i64 {first}")
    target = _column(code, block, row, lanes)
    for word, bits in enumerate(used):
        rows = []
        for at in range(ROWS):
            row_text = "poison"
            for lane in range(lanes):
                place = (WORD * lane + ROWS * at) * words + word
                one = code.let(f"load i64, ptr {code.let(f'getelementptr inbounds i64, ptr {state}, i64 {place}')}, align 8")
                row_text = code.let(f"insertelement {code.int_type} {row_text}, i64 {one}, i64 {lane}")
            rows.append(row_text)
        rows = _turned(code, rows, ROWS)
        for at in range(-(-bits // ROWS)):
            _store(code, rows[at], target, WORD * word + ROWS * at)
    return loop("@unpack_apart(ptr noalias %states, ptr noalias %columns, i64 %count)", code.lines, linkage="internal ")


def _turn_near(groups: int, lanes: int) -> str:
    """Of every block, so many groups of rows that are neighbours."""
    code = Code("i64", lanes)
    block, group = code.let(f"udiv i64 %i, {groups}"), code.let(f"urem i64 %i, {groups}")
    target = _column(code, block, _product(code, group, ROWS), lanes)
    rows = [_load(code, target, at) for at in range(ROWS)]
    for at, row in enumerate(_turned(code, rows, 1)):
        _store(code, row, target, at)
    return loop("@unpack_near(ptr noalias %columns, i64 %count)", code.lines, linkage="internal ")


def _turned(code: Code, rows: Sequence[str], apart: int) -> list[str]:
    """Eight rows that are so far apart, after the bits of their numbers and those of places in them are exchanged.

    (Warren: Hacker's Delight, 7-3, "Transposing a bit matrix".)
    """
    rows, distance = list(rows), ROWS // 2
    while distance:
        by = distance * apart
        mask = ((1 << WORD) - 1) // ((1 << by) + 1)
        for at in range(ROWS):
            if at & distance == 0:
                low, high = rows[at], rows[at + distance]
                differ = code.op("and", code.op("xor", code.op("lshr", low, by), high), mask)
                rows[at], rows[at + distance] = code.op("xor", low, code.op("shl", differ, by)), code.op("xor", high, differ)
        distance //= 2
    return rows


def _guards(plan: KernelPlan, lanes: int) -> str:
    code, schema = Code("i64", lanes), plan.instance.schema
    bits = Bits([leaf.bits for leaf in schema.leaves])
    roots = bits.numbers([*(item.guard for item in plan.instance.actions), *plan.state_violations])
    columns, rows = (
        code.let(f"getelementptr inbounds {code.int_type}, ptr {place}, i64 %i") for place in ("%columns", "%rows")
    )
    names: dict[int, str] = {}
    for row, (root,) in enumerate(roots):
        for number in bits.needed([root], names):
            names[number] = _emitted(code, bits.formulas[number], names, columns, schema)
        _store(code, _operand(code, root, names), rows, row)
    return loop("@guards(ptr noalias %columns, ptr noalias %rows, i64 %count)", code.lines)


def _emitted(code: Code, formula: Formula, names: dict[int, str], columns: str, schema: Schema) -> str:
    if formula.kind == "leaf":
        leaf = schema.leaves[formula.first]
        return _load(code, columns, WORD * leaf.word + leaf.shift + formula.second)
    first, second = names[formula.first], names[formula.second]
    if formula.kind == "andn":
        return code.op("and", first, code.op("xor", second, (1 << WORD) - 1))
    return code.op(formula.kind, first, second)


def _operand(code: Code, bit: Bit, names: dict[int, str]) -> str:
    ones = (1 << WORD) - 1
    if bit < 2:
        return code.literal(ones * bit)
    return code.op("xor", names[bit >> 1], ones) if bit & 1 else names[bit >> 1]


# -- columns ------------------------------------------------------------------------------------------------------------


def _product(code: Code, number: str, factor: int) -> str:
    return code.let(f"mul nuw nsw i64 {number}, {factor}")


def _column(code: Code, block: str, column: str, lanes: int) -> str:
    """Where a block stands in a column."""
    lane = code.let(f"add nuw nsw i64 {_product(code, column, BATCH // WORD)}, {_product(code, block, lanes)}")
    return code.let(f"getelementptr inbounds i64, ptr %columns, i64 {lane}")


def _place(code: Code, base: str, at: int) -> str:
    return code.let(f"getelementptr inbounds i8, ptr {base}, i64 {at * BATCH // 8}")


def _load(code: Code, base: str, at: int) -> str:
    return code.let(f"load {code.int_type}, ptr {_place(code, base, at)}, align 8")


def _store(code: Code, value: str, base: str, at: int) -> None:
    code.do(f"store {code.int_type} {value}, ptr {_place(code, base, at)}, align 8")
