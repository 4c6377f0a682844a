"""The representatives of states under symmetry, as machine code for many states at once.

All renamings of n ids are reached one from the other by n! − 1 swaps of neighbouring ids (plain changes, as bell ringers
know them). A swap moves the blocks of two ids and renames what fields hold; both are a few operations on whole words, because
all fields of a word are treated at once. So the code has no branch, and eight states go through it side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.frozen import frozen
from acked.checker.loops.slots import GROUP
from acked.checker.native.instructions import Code, load_states, loop, store_states
from acked.checker.symmetry.orbits import renamed_sorts
from acked.checker.symmetry.renaming import IdKind, kinds_of, places
from acked.model.language.domain import IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.values import Id


@frozen
class _Move:
    """Exchanges the bits `mask` of word `low` with those `distance` higher (lower if negative) in word `high`."""

    low: int
    high: int
    distance: int
    mask: int


@frozen
class _Exchange:
    """Exchanges codes `a` and `b` in the fields of `bits` bits whose lowest bits in a word are `mask`."""

    word: int
    bits: int
    a: int
    b: int
    mask: int


_Swap = tuple[list[_Move], list[_Exchange]]
"""What exchanging two neighbouring ids does to the words of a state: first the moves, then the exchanges of codes."""


def representatives_ir(instance: Instance) -> str:
    """LLVM IR of `representatives(states, count)`: every state of so many groups of `GROUP` becomes its representative."""
    code = Code("i64", GROUP)
    place, words = load_states(code, instance.schema.words)
    best = list(words)
    swaps: dict[tuple[type[Id], int], _Swap] = {}
    for sort, at in _tour(instance):
        if (sort, at) not in swaps:
            swaps[sort, at] = _swap(instance, sort, at)
        _apply(code, words, *swaps[sort, at])
        best = _least(code, best, words)
    store_states(code, best, place)
    return loop("@representatives(ptr noalias %states, i64 %count)", code.lines)


def _neighbours(size: int) -> list[int]:
    """Which neighbours (k, k + 1) are exchanged, one after the other, so that every order of `size` things is met once."""
    if size < 2:
        return []
    inner = _neighbours(size - 1)
    result: list[int] = []
    # The last thing runs through all the others, down and up in turn; in between these make one step of their own.
    for step in range(len(inner) + 1):
        is_down = step % 2 == 0
        result += range(size - 2, -1, -1) if is_down else range(size - 1)
        if step < len(inner):
            result.append(inner[step] + is_down)
    return result


def _tour(instance: Instance) -> list[tuple[type[Id], int]]:
    """Swaps of all sorts that lead through every combination of their renamings."""
    tour: list[tuple[type[Id], int]] = []
    for sort in renamed_sorts(instance):
        there, back = tour, tour[::-1]
        tour = list(there)
        for number, at in enumerate(_neighbours(IdDomain(sort).cardinality(instance.constants))):
            tour += [(sort, at), *(back if number % 2 == 0 else there)]
    return tour


def _swap(instance: Instance, sort: type[Id], at: int) -> _Swap:
    """The swap of ids `at` and `at + 1`."""
    to = list(range(IdDomain(sort).cardinality(instance.constants)))
    to[at], to[at + 1] = at + 1, at
    place, kinds = places(instance, sort, to), kinds_of(instance, sort)
    leaves = instance.schema.leaves
    blocks: dict[tuple[int, int, int], int] = {}
    members: dict[tuple[int, int, int], int] = {}
    codes: dict[tuple[int, int, int], int] = {}
    for number, leaf in enumerate(leaves):
        if not leaf.bits:
            continue
        if place[number] > number:
            other = leaves[place[number]]
            way = (leaf.word, other.word, other.shift - leaf.shift)
            blocks[way] = blocks.get(way, 0) | ((1 << leaf.bits) - 1) << leaf.shift
        if kinds[number] is IdKind.SET:
            way = (leaf.word, leaf.word, 1)
            members[way] = members.get(way, 0) | 1 << (leaf.shift + at)
        elif kinds[number] is not IdKind.PLAIN:
            code = (leaf.word, leaf.bits, at + (kinds[number] is IdKind.OPTIONAL_ID))
            codes[code] = codes.get(code, 0) | 1 << leaf.shift
    moves = [_Move(*way, mask) for way, mask in [*blocks.items(), *members.items()]]
    return moves, [_Exchange(word, bits, a, a + 1, mask) for (word, bits, a), mask in codes.items()]


def _shift(code: Code, word: str, by: int) -> str:
    """Up, or down if negative."""
    if by == 0:
        return word
    return code.op("shl" if by > 0 else "lshr", word, abs(by))


def _apply(code: Code, words: list[str], moves: Sequence[_Move], exchanges: Sequence[_Exchange]) -> None:
    for move in moves:
        differ = code.op("xor", _shift(code, words[move.high], -move.distance), words[move.low])
        differ = code.op("and", differ, move.mask)
        words[move.low] = code.op("xor", words[move.low], differ)
        words[move.high] = code.op("xor", words[move.high], _shift(code, differ, move.distance))
    for item in exchanges:
        word = words[item.word]
        bits = [_shift(code, word, -bit) for bit in range(item.bits)]
        found = []
        for wanted in (item.a, item.b):
            match: str | None = None
            for bit, text in enumerate(bits):
                term = text if wanted >> bit & 1 else code.op("xor", text, (1 << 64) - 1)
                match = term if match is None else code.op("and", match, term)
            assert match is not None
            found.append(match)
        either = code.op("and", code.op("or", *found), item.mask)
        for bit in range(item.bits):
            if (item.a ^ item.b) >> bit & 1:
                word = code.op("xor", word, _shift(code, either, bit))
        words[item.word] = word


def _least(code: Code, best: list[str], words: list[str]) -> list[str]:
    """Of two states in every lane the one that comes first as a tuple of words."""
    before: str | None = None
    for kept, new in zip(reversed(best), reversed(words), strict=True):
        less = code.op("icmp ult", new, kept)
        if before is not None:
            same = code.op("icmp eq", new, kept)
            less = code.let(f"or {code.bool_type} {less}, {code.let(f'and {code.bool_type} {same}, {before}')}")
        before = less
    pairs = zip(best, words, strict=True)
    return [code.let(f"select {code.bool_type} {before}, {code.int_type} {new}, {code.int_type} {old}") for old, new in pairs]
