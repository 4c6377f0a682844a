"""Guards and successors of a question that has no code of its own: formulas of single bits, computed as a program says.

Functions in the subset of `language.py`. Every step of a program makes one bit of all states of a batch, so that reading it
takes no longer than doing it; a question so is answered without any compilation, and one that is asked for long goes on with
code. `native/programs.py` writes programs, and has how they are laid out.
"""

from __future__ import annotations

from acked.checker.loops import slots
from acked.checker.loops.language import KINDS, P16, P64, U64, at, combine, copy, p16, p64, unrolled
from acked.checker.loops.slots import W
from acked.checker.question.plan import BATCH

ROW = BATCH // 64
"""Words of a bit of every state of a batch."""
WORD = 64
"""Rows of each word of a state, before all others."""
AND, ANDN, OR, XOR = range(len(KINDS))
NEGATED = 15
"""The bit of a number in a program that says: the opposite."""
GUARDS, ACTIONS = 1, 2
"""Numbers in a program's head: before them how many rows it fills; where guards begin, and where each action does."""


def compute(bits: P64, program: P16, target: U64) -> U64:
    """Computes formulas, round by round, into the rows from `target` on; how many numbers of the program that takes."""
    read = 1
    for _ in range(program[0]):
        counts = at(program, read)
        read += AND + XOR + 1
        for kind in unrolled(XOR + 1):
            for step in range(counts[kind]):
                operands = at(program, read + 2 * step)
                combine(kind, at(bits, (target + step) * ROW), at(bits, operands[0] * ROW), at(bits, operands[1] * ROW))
            target += counts[kind]
            read += 2 * counts[kind]
    return read


def decide(context: P64) -> None:
    """Fills ROWS for a batch whose bits are in COLUMNS; a row of ones is behind the columns, after one of zeros.

    Where code has filled them, it writes the same again for the formulas that actions share.
    """
    context[slots.DECIDED] = 1
    program = p64(context[slots.PROGRAM])
    code = p16(context[slots.PROGRAM] + program[GUARDS])
    bits = p64(context[slots.COLUMNS])
    rows = p64(context[slots.ROWS])
    for word in unrolled(ROW):
        bits[(W * WORD + 1) * ROW + word] = slots.NOWHERE
    roots = at(code, compute(bits, code, W * WORD + 2))
    for row in range(context[slots.ACTIONS] + context[slots.PROPERTIES]):
        combine(XOR, at(rows, row * ROW), at(bits, roots[2 * row] * ROW), at(bits, roots[2 * row + 1] * ROW))


def bit_of(row: P64, state: U64) -> U64:
    """The bit of a state of the batch."""
    return (row[state >> 6] >> (state & 63)) & 1


def fire_formulas(context: P64, action: U64, here: P64, picked: P16, m: U64, out: P64) -> U64:
    """The successors of the m listed states of a batch for which `decide` was called; returns and writes as `fire_k`."""
    program = p64(context[slots.PROGRAM])
    code = p16(context[slots.PROGRAM] + program[ACTIONS + action])
    bits = p64(context[slots.COLUMNS])
    flags = p64(context[slots.FLAGS])
    changes = at(code, compute(bits, at(code, 1), code[0]) + 1)
    for j in range(m):
        copy(at(out, j * W), at(here, picked[j] * W), W)
    for change in range(changes[0]):
        row = at(bits, changes[1 + 2 * change] * ROW)
        place = changes[2 + 2 * change]
        negated = place >> NEGATED
        word = (place & ((1 << NEGATED) - 1)) // WORD
        for j in range(m):
            out[j * W + word] = out[j * W + word] ^ ((bit_of(row, picked[j]) ^ negated) << (place & (WORD - 1)))
    checks = at(changes, 1 + 2 * changes[0])
    seen = 0
    if checks[0] != 0:
        for j in range(m):
            flags[j] = 0
        for check in range(checks[0]):
            row = at(bits, checks[1 + 2 * check] * ROW)
            place = checks[2 + 2 * check]
            for j in range(m):
                flags[j] = flags[j] | ((bit_of(row, picked[j]) ^ (place >> NEGATED)) << (place & (WORD - 1)))
        for j in range(m):
            seen = seen | flags[j]
    return seen


FUNCTIONS = (compute, decide, bit_of, fire_formulas)
"""Everything that is translated, callees first."""
