"""Native random runs: many walkers at once, each with random numbers of its own.

A walker's random numbers come from the seed and the number of its run alone, so that neither its neighbours nor the number of
threads matter. Arrays are by walker; those "by step and walker" have BATCH places a step.
"""

from __future__ import annotations

from acked.checker.loops import formulas, slots
from acked.checker.loops.expansion import deal, evaluate, fill_group, fire
from acked.checker.loops.language import P64, U64, at, copy, high_product, p16, p64, trailing_zeros
from acked.checker.loops.table import hash_rest, hash_state
from acked.checker.question.plan import BATCH

# The literal that the loops are compiled with; the value here only names it.
W = 1

# Slots of what a batch of walkers works on: states now and after the step; random numbers; the sum of weights so far and the
# action chosen (plus 1); the length of the run when it ended and how; by step and walker action and hash of the state;
# weights by action; heads and links of the lists of walkers by action.
HERE, NEXT, RANDOM, SUM, CHOICE, LENGTH, ENDING, ACTIONS_TAKEN, HASHES, WEIGHTS, HEAD, LINK = range(12)
WALK_SLOTS = 12

# How a run ended: not at all (it is as long as allowed), nothing was possible, or 2 + the number of what it violates: state
# properties by kernel position, then checks of steps by bit.
ALIVE, STUCK, BROKEN = range(3)


def mix(x: U64) -> U64:
    """A well-mixed number."""
    y = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    z = (y ^ (y >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


def judge(context: P64, walk: P64, n: U64, t: U64) -> None:
    """Ends the runs whose states violate something."""
    rows = p64(context[slots.ROWS])
    picked = p16(context[slots.LIST])
    length = p64(walk[LENGTH])
    ending = p64(walk[ENDING])
    for p in range(context[slots.PROPERTIES]):
        m = deal(at(rows, (context[slots.ACTIONS] + p) * (BATCH // 64)), n, picked)
        for i in range(m):
            j = picked[i]
            if ending[j] == ALIVE:
                ending[j] = BROKEN + p
                length[j] = t


def choose(context: P64, walk: P64, n: U64) -> None:
    """Chooses an enabled action for every walker, each with a chance in proportion to its weight."""
    rows = p64(context[slots.ROWS])
    picked = p16(context[slots.LIST])
    random = p64(walk[RANDOM])
    total = p64(walk[SUM])
    choice = p64(walk[CHOICE])
    weights = p64(walk[WEIGHTS])
    for j in range(n):
        total[j] = 0
        choice[j] = 0
    for k in range(context[slots.ACTIONS]):
        if weights[k] != 0:
            m = deal(at(rows, k * (BATCH // 64)), n, picked)
            for i in range(m):
                j = picked[i]
                total[j] += weights[k]
                random[j] += 0x9E3779B97F4A7C15
                if high_product(mix(random[j]), total[j]) < weights[k]:
                    choice[j] = k + 1


def take(context: P64, walk: P64, n: U64, t: U64) -> U64:
    """Takes the chosen steps; returns how many walkers continue."""
    here = p64(walk[HERE])
    after = p64(walk[NEXT])
    choice = p64(walk[CHOICE])
    length = p64(walk[LENGTH])
    ending = p64(walk[ENDING])
    taken = p16(walk[ACTIONS_TAKEN])
    hashes = p64(walk[HASHES])
    head = p64(walk[HEAD])
    link = p64(walk[LINK])
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    flags = p64(context[slots.FLAGS])
    enabled = p64(context[slots.ENABLED])
    going = 0
    for k in range(context[slots.ACTIONS]):
        head[k] = 0
    for j in range(n):
        hashes[t * BATCH + j] = 0
        if ending[j] == ALIVE:
            if choice[j] == 0:
                ending[j] = STUCK
                length[j] = t
            else:
                link[j] = head[choice[j] - 1]
                head[choice[j] - 1] = j + 1
                taken[t * BATCH + j] = choice[j] - 1
                going += 1
    for k in range(context[slots.ACTIONS]):
        m = 0
        walker = head[k]
        while walker != 0:
            picked[m] = walker - 1
            m += 1
            walker = link[walker - 1]
        if m != 0:
            fill_group(picked, m)
            enabled[k] += m
            seen = fire(context, k, here, picked, m, out)
            for i in range(m):
                j = picked[i]
                copy(at(after, j * W), at(out, i * W), W)
                hashes[t * BATCH + j] = hash_state(at(after, j * W)) | 1
                if seen != 0 and flags[i] != 0:
                    ending[j] = BROKEN + context[slots.PROPERTIES] + trailing_zeros(flags[i])
                    length[j] = t + 1
    for j in range(n):
        if ending[j] == ALIVE:
            copy(at(here, j * W), at(after, j * W), W)
    return going


def walk_on(context: P64, walk: P64, n: U64, depth: U64) -> U64:
    """Lets n walkers go up to `depth` steps; returns how many steps some walker could take."""
    ending = p64(walk[ENDING])
    length = p64(walk[LENGTH])
    t = 0
    going = n
    while t < depth and going != 0:
        evaluate(context, p64(walk[HERE]), n)
        judge(context, walk, n, t)
        # `judge` uses the rows of the properties only, `choose` those of the actions.
        choose(context, walk, n)
        going = take(context, walk, n, t)
        if going != 0:
            t += 1
    evaluate(context, p64(walk[HERE]), n)
    judge(context, walk, n, t)
    for j in range(n):
        if ending[j] == ALIVE:
            length[j] = t
    return t


FUNCTIONS = (*formulas.FUNCTIONS, hash_rest, hash_state, fill_group, deal, fire, mix, evaluate, judge, choose, take, walk_on)
"""Everything that is translated, callees first."""
