"""The context of a worker: its numbers and addresses, in an array of 64-bit slots that the native loops are given.

Each name is the number of a slot. `Shard` fills them; code that only reads names them as `context[STATES]`.
"""

from __future__ import annotations

# Its own states, and how many it has room for:
STATES, COUNT, ROOM = range(3)
# All workers' states, of which its own are those from index FIRST on. The worker that found a state is the upper half of its
# index times FINDER; BASES has, by that worker, the index from which on states belong to the next level.
ALL_STATES, FIRST, FINDER, BASES = range(3, 7)
# The table: its parts stand STRIDE bytes apart and have BUCKETS each, for LIMIT states together; MAX_STATES and MAX_BUCKETS
# are what the budget allows.
TABLE, STRIDE, BUCKETS, MAX_BUCKETS, LIMIT, MAX_STATES = range(7, 13)
# Workers, what they share, and which candidates a worker deferred until there is room, DEFERRED to DEFERRED_END - 1.
WORKERS, WORKER, SHARED, STATUS, DEFERRED, DEFERRED_END = range(13, 19)
# Scratch of one batch:
COLUMNS, ROWS, LIST, OUT, ACTS, HASHES, FLAGS, SPARE, FILL, SEEN, HOMES, OFFERS = range(19, 31)
# Code, counters, and the least violation found of every property:
UNPACK, GUARDS, FIRES, ENABLED, NEW, BEST_STATES, BEST_STEPS, BEST_SOURCE = range(31, 39)
# How many the protocol has of what the kernel decides, and of how many states at a time:
ACTIONS, PROPERTIES, BLOCK = range(39, 42)
# Code that replaces states by the representatives of their orbits, in groups of GROUP; 0 without symmetry.
REPRESENT = 42
# Whether a worker leaves it to its caller to make the table larger, and defers what it has no room for.
DEFERS = 43
# A table without states: the level of what is inserted now, what the bits of a slot are, and what they will be after growth.
# REST_BITS are those of a state beyond its first word, of which its second has SPLIT.
LEVEL, REST_BITS, SPLIT, SHARE, LEVEL_BITS, DISPLACEMENT_BITS = range(44, 50)
NEXT_BUCKETS, NEXT_SLOTS, NEXT_FIELDS, NEXT_FIELD_BITS, NEXT_SHARE, NEXT_LEVEL_BITS, NEXT_DISPLACEMENT_BITS = range(50, 57)
# While duplicates are decided later: the code that logs the candidates of a batch, 0 if none does; the log, and its entries.
LOG_STEPS, LOG, LOGGED = range(57, 60)
# A program that decides guards and makes successors where there is no code that does (`formulas.py`), 0 where there is; and
# whether it has computed the formulas that the successors of this batch share.
PROGRAM, DECIDED = range(60, 62)
CONTEXT_SLOTS = 62
GROUP = 8

# What a worker offers to be expanded, by itself or by others; OFFERS is the address of all workers' offers, two lines each.
OFFER_NEXT, OFFER_END, OFFER_STATES = range(3)
OFFER_SLOTS = 16
OFFER_CLOSED = 1 << 62
"""The next state of an offer outside of `expand`: past every end."""

# What all workers share: states that are in the table or may be by the end of this batch, and whether it must grow.
BOOKED, NEEDS_GROWTH = range(2)
SHARED_SLOTS = 2

NOWHERE = (1 << 64) - 1
"""The index of a state that has not been found."""

# Values of the STATUS slot.
RUNNING, FULL, BROKEN = range(3)

# The literal that the loops are compiled with, the number of words in a state; the value here only names it.
W = 1

# Whether the processor packs the chosen 16-bit numbers of a vector in one instruction (AVX-512 VBMI2).
COMPRESSES = 0

# Whether the processor packs the chosen bits of a word in one instruction, and soon (BMI2).
EXTRACTS = 0

# Whether the loops know programs; where there is code for every question they need not.
INTERPRETS = 0

# Literals of a layout of lines (`lines.py`): the slots of a line, the fields in each of its other words, and their bits.
LINE_SLOTS = FIELDS = FIELD_BITS = 1

LANES = 4
"""How many times 64 states a kernel decides about at a time: as many as fill a register of 256 bits."""

FIRE_GROUP = 8
"""States that `fire_k` may handle at a time: lists of them are filled up to a multiple of it, and so is what comes out."""
