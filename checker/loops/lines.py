"""How a slot of a table without states is laid out: which of its bits are whose, for a width of states and a size of table.

A line is 512 bits, a cache line. Its first `slots` words are a slot's *word* each; the words behind them hold a *field* for
each slot. The fewer bits a state has beyond what the place of its slot tells, the more slots a line has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log

from acked.base.frozen import frozen
from acked.checker.loops.quotient import BLOCK, LOW_BITS

HASH_HALF = 32
MOST_REST_BITS = 127
"""More bits beyond its first word a state may not have to be kept without itself."""
FIRST_LINES, MOST_FIRST_LINES = 1 << 9, 1 << 17
"""Lines of a new part: as few as a layout allows, and where the first would take more memory than this, none is used."""
DISPLACEMENT_BITS = 8
"""How far from its line an entry may stand, in bits."""
SMALL_LINES = {5: 1 << 17, 6: 1 << 18, 7: 1 << 19}
"""Parts of fewer lines do with so many bits of displacement."""
FAR_ENOUGH = {5: 22, 6: 22, 7: 23, 8: 30}
"""How rare entries are that stand further than so many bits can tell: one in exp(this) at most."""
LEVEL_BITS, MOST_LEVEL_BITS = 8, 24
"""Fewest and most bits of a level."""


@frozen
class LineKind:
    """What the code of a table is compiled for: slots of a line, fields in each of its other words, bits of a field."""

    slots: int
    fields: int
    field_bits: int

    @property
    def literals(self) -> dict[str, int]:
        """By the names in `slots.py` and `quotient.py`."""
        # Of narrow states half a block of lines is as far ahead, and more of it stays near.
        block = BLOCK // 2 if self.fields > 1 else BLOCK
        return {"LINE_SLOTS": self.slots, "FIELDS": self.fields, "FIELD_BITS": self.field_bits, "BLOCK": block}


KINDS = (LineKind(6, 3, 21), LineKind(5, 2, 32), LineKind(4, 1, 64))


@frozen
class Lines:
    """The layout of one part of a table: its kind, how many lines it has, and the bits of levels and of displacements."""

    kind: LineKind
    lines: int
    level_bits: int
    displacement_bits: int

    @property
    def share(self) -> int:
        """How many bits of the hash the number of a line tells."""
        return self.lines.bit_length() - 1

    @property
    def slots(self) -> int:
        """Slots of the part, without its padding."""
        return self.lines * self.kind.slots

    @property
    def percent(self) -> int:
        """How full the part may be before it grows."""
        return _percent(self.kind.slots, self.displacement_bits)

    @property
    def levels(self) -> int:
        """Levels that can be told apart, from 1 on."""
        return (1 << self.level_bits) - 1


@cache
def _percent(slots: int, displacement_bits: int) -> int:
    """How full a table may be, in percent.

    Entries stand where there was room when they came, so as far from their line as runs of full lines are long. At a load of
    a, one in exp(k (a - 1 - ln a)) runs has k slots and more (Knuth, The Art of Computer Programming 3, 6.4; Pittel 1987).
    """
    rare = FAR_ENOUGH[displacement_bits] / (slots << displacement_bits)
    return next(percent for percent in range(99, 0, -1) if percent / 100 - 1 - log(percent / 100) >= rare)


def lines_for(word_bits: Sequence[int], lines: int, levels: int) -> Lines | None:
    """The narrowest layout of a part of so many lines for states of words of so many bits, on so many levels; None if none
    has room."""
    rest = sum(word_bits[1:])
    if len(word_bits) > 3 or rest > MOST_REST_BITS:
        return None
    for kind in KINDS:
        share = lines.bit_length() - 1
        room = kind.field_bits - max(rest + HASH_HALF - share - LOW_BITS, 0)
        fewest = next((bits for bits, small in SMALL_LINES.items() if lines < small), DISPLACEMENT_BITS)
        displacement = max(min(DISPLACEMENT_BITS, room - max(LEVEL_BITS, levels.bit_length())), fewest)
        level = min(room - displacement, MOST_LEVEL_BITS)
        if level >= LEVEL_BITS and (1 << level) - 1 >= levels:
            return Lines(kind, lines, level, displacement)
    return None


def first_lines(word_bits: Sequence[int], most: int = MOST_FIRST_LINES, fewest: int = 0) -> Lines | None:
    """The layout that a table of such states begins with, of no fewer lines if possible; None if it is better kept with its
    states."""
    lines = max(FIRST_LINES, 1 << min(fewest, most).bit_length() >> 1)
    while lines <= most:
        found = lines_for(word_bits, lines, 1)
        if found is not None:
            return found
        lines *= 2
    return None
