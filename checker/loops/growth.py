"""How a table without states grows, in place, from one layout of its lines to the next.

Functions in the subset of `language.py`, compiled with those of `quotient.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from acked.checker.loops import slots
from acked.checker.loops.language import P8, P64, U64, at, p8, p64, unrolled
from acked.checker.loops.quotient import (
    FUNCTIONS as TABLE_FUNCTIONS,
)
from acked.checker.loops.quotient import (
    LINE,
    LOW_BITS,
    field_of,
    inverse_of,
    kept_of,
    offset_in,
    rest_in,
    tag_in,
    top_of,
    upper_in,
    word_of,
)
from acked.checker.loops.slots import FIELD_BITS, LINE_SLOTS
from acked.checker.loops.table import PAD, SPARE_SLOTS, insert

SPARE_WORDS = 4
"""Words of an entry that is put aside while the table grows: the line, the word, the rest of the field, and the level."""


def place(
    table: P64, fill: P8, home: U64, word: U64, top: U64, level: U64, level_bits: U64, below: U64, far: U64, last: U64,
    room: U64, fields: U64, per: U64, field_bits: U64,
) -> U64:  # fmt: skip
    """Puts an entry, in the next layout, into the first line with room from its own on; 0 if there is none near.

    A division by the number of fields in a word is a product with `per`, shifted by 8. Numbers and no context, so that they
    stay in registers.
    """
    number = home
    k = fill[number]
    while k == room:
        number += 1
        k = fill[number]
    if number - home >= far or number >= last:
        return 0
    fill[number] = k + 1
    field = (top << below) | ((number - home) << level_bits) | level
    at_word = (k * per) >> 8
    line = at(table, number * LINE)
    line[k] = word
    line = at(line, room + at_word)
    line[0] = line[0] | (field << ((k - at_word * fields) * field_bits))
    return 1


def take_line(line: P64, old: P64) -> None:
    """Copies a line and makes it empty."""
    for w in unrolled(LINE):
        old[w] = line[w]
        line[w] = 0


def relocate(context: P64) -> Iterator[tuple[U64, U64, U64, U64, U64]]:
    """Takes out every entry, from the last line on; yields its line, the number of the line that is its own in the next
    layout, its word and top there, and its level.

    Where there will be twice the lines, the first bit of an entry's offset becomes the last of its line's number, and nothing
    else of it changes; else its hash is had back, and its place computed anew.
    """
    table = p64(context[slots.TABLE] + context[slots.WORKER] * context[slots.STRIDE])
    rest_bits = context[slots.REST_BITS]
    share = context[slots.SHARE]
    level_bits = context[slots.LEVEL_BITS]
    level_mask = (1 << level_bits) - 1
    displacement_mask = (1 << context[slots.DISPLACEMENT_BITS]) - 1
    below = level_bits + context[slots.DISPLACEMENT_BITS]
    field_mask = (1 << (FIELD_BITS - 1) << 1) - 1
    lines = context[slots.BUCKETS]
    inverse = inverse_of(lines)
    next_lines = context[slots.NEXT_BUCKETS]
    next_share = context[slots.NEXT_SHARE]
    doubles = next_lines == 2 * lines
    # The first bit of the offset is at one place of what is kept, in the word or in the field.
    first_bit = rest_bits + 31 - share
    word_bit = 1 << (first_bit + 1) if first_bit < LOW_BITS else 0
    top_bit = 0 if first_bit < LOW_BITS else 1 << (first_bit - LOW_BITS)
    old = p64(context[slots.HOMES])
    b = lines + PAD
    while b > 0:
        b -= 1
        take_line(at(table, b * LINE), old)
        for slot in unrolled(LINE_SLOTS):
            word = old[slot]
            if word != 0:
                field = field_of(old, slot) & field_mask
                top = field >> below
                home = b - ((field >> level_bits) & displacement_mask)
                if doubles:
                    home = 2 * home + (((word & word_bit) | (top & top_bit)) != 0)
                    word = word & (word_bit ^ slots.NOWHERE)
                    top = top & (top_bit ^ slots.NOWHERE)
                else:
                    product = tag_in(home, offset_in(rest_bits, word, top), lines, share, inverse) * next_lines
                    home = product >> 32
                    offset = (product & 0xFFFFFFFF) >> next_share
                    kept = kept_of(rest_in(rest_bits, word, top), offset, rest_bits)
                    top = top_of(kept, upper_in(rest_bits, top), offset, rest_bits)
                    word = word_of(word >> 32, kept)
                yield b, home, word, top, field & level_mask


def grow(context: P64) -> U64:
    """Gives the worker's part of the table its next layout, in place; 1 if done, 0 if it failed (STATUS says so)."""
    table = p64(context[slots.TABLE] + context[slots.WORKER] * context[slots.STRIDE])
    fill = p8(context[slots.FILL])
    level_bits = context[slots.NEXT_LEVEL_BITS]
    below = level_bits + context[slots.NEXT_DISPLACEMENT_BITS]
    far = 1 << context[slots.NEXT_DISPLACEMENT_BITS]
    last = context[slots.NEXT_BUCKETS] + PAD - 1
    room = context[slots.NEXT_SLOTS]
    fields = context[slots.NEXT_FIELDS]
    per = 256 // fields + 1
    field_bits = context[slots.NEXT_FIELD_BITS]
    spare = p64(context[slots.SPARE])
    spared = 0
    failed = 0
    for k in range(last + 2):
        fill[k] = 0
    for b, home, word, top, level in relocate(context):
        if home > b:
            done = place(table, fill, home, word, top, level, level_bits, below, far, last, room, fields, per, field_bits)
            failed = failed | (1 - done)
        elif (spared + 1) * SPARE_WORDS > SPARE_SLOTS:
            failed = 1
        else:
            # Lines up to this one may still hold entries that have not moved: only near the start, for a few.
            aside = at(spare, spared * SPARE_WORDS)
            aside[0] = home
            aside[1] = word
            aside[2] = top
            aside[3] = level
            spared += 1
    for k in range(spared):
        entry = at(spare, k * SPARE_WORDS)
        done = place(
            table, fill, entry[0], entry[1], entry[2], entry[3], level_bits, below, far, last, room, fields, per, field_bits
        )
        failed = failed | (1 - done)
    if failed:
        context[slots.STATUS] = slots.BROKEN
    return 1 - failed


FUNCTIONS = (*TABLE_FUNCTIONS, place, take_line, relocate, grow, insert)
"""Everything that is translated of a table without states, callees first."""
