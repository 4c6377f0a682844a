"""Symmetry reduction: of all states that differ only in the names of interchangeable ids, one is visited.

The representative of a state (the least packed state over all renamings), as machine code for many states at once and in
plain Python, and the way back from a run of representatives to a run of the protocol.

All renamings of n ids are reached one from the other by n! − 1 swaps of neighbouring ids (plain changes, as bell ringers
know them). A swap moves the blocks of two ids and renames what fields hold; both are a few operations on whole words, because
all fields of a word are treated at once. So the code has no branch, and eight states go through it side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import factorial, prod

from acked.checker.question.renaming import IdKind, kinds_of, places
from acked.checker.question.symmetry import renamed_state
from acked.model.language.domain import IdDomain
from acked.model.language.protocol import Instance
from acked.model.language.values import Id

LANES = 8
"""States that go side by side through the machine code."""

MAX_RENAMINGS = 120
"""Renamings that the machine code tries for every state: five brokers. The code for six takes minutes to compile."""

Words = tuple[int, ...]


@dataclass(frozen=True)
class _Move:
    """Exchanges the bits `mask` of word `low` with those `distance` higher (lower if negative) in word `high`."""

    low: int
    high: int
    distance: int
    mask: int


@dataclass(frozen=True)
class _Exchange:
    """Exchanges codes `a` and `b` in the fields of `bits` bits whose lowest bits in a word are `mask`."""

    word: int
    bits: int
    a: int
    b: int
    mask: int


def too_many(instance: Instance) -> str:
    """A sentence if no sort has so few renamings that they are worth trying, else nothing."""
    if renamed_sorts(instance):
        return ""
    sorts = instance.protocol.symmetric
    sizes = " and ".join(f"{_size(instance, sort)} {sort.type_name}s" for sort in sorts)
    count = prod(factorial(_size(instance, sort)) for sort in sorts)
    return f"{sizes} can be renamed in {count:,} ways, and symmetry reduction tries at most {MAX_RENAMINGS}"


def renamed_sorts(instance: Instance) -> tuple[type[Id], ...]:
    """The sorts that are renamed: of those that are interchangeable as many as together have at most `MAX_RENAMINGS`."""
    sorts = instance.protocol.symmetric
    chosen = (kept for count in range(len(sorts), 0, -1) for kept in combinations(sorts, count))
    few = [(prod(factorial(_size(instance, sort)) for sort in kept), kept) for kept in chosen]
    return max((pair for pair in few if pair[0] <= MAX_RENAMINGS), key=lambda pair: pair[0], default=(0, ()))[1]


def _size(instance: Instance, sort: type[Id]) -> int:
    return IdDomain(sort).cardinality(instance.constants)


def _sizes(instance: Instance) -> list[int]:
    return [_size(instance, sort) for sort in renamed_sorts(instance)]


# -- in plain Python --------------------------------------------------------------------------------------------------


class Orbits:
    """The representatives of an instance's states, in plain Python."""

    def __init__(self, instance: Instance) -> None:
        self._schema = instance.schema
        every = [list(permutations(range(size))) for size in _sizes(instance)]
        self._renamings: list[list[tuple[list[int], list[IdKind], tuple[int, ...]]]] = []
        for chosen in product(*every):
            self._renamings.append(
                [
                    (places(instance, sort, to), kinds_of(instance, sort), to)
                    for sort, to in zip(renamed_sorts(instance), chosen, strict=True)
                ]
            )

    def images(self, state: Words) -> Iterator[Words]:
        """The state under every renaming, itself among them."""
        codes = self._schema.unpack(state)
        for renaming in self._renamings:
            image = list(codes)
            for place, kinds, to in renaming:
                image = renamed_state(image, place, kinds, to)
            yield self._schema.pack(image)

    def representative(self, state: Words) -> Words:
        """The least of the state's images."""
        return min(self.images(state))


# -- as machine code --------------------------------------------------------------------------------------------------


def _swaps(size: int) -> list[int]:
    """Which neighbours (k, k + 1) are exchanged, one after the other, so that every order of `size` things is met once."""
    if size < 2:
        return []
    inner = _swaps(size - 1)
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
    for sort, size in zip(renamed_sorts(instance), _sizes(instance), strict=True):
        mine = [(sort, at) for at in _swaps(size)]
        there, back = tour, tour[::-1]
        longer = list(there)
        for number, swap in enumerate(mine):
            longer += [swap, *(back if number % 2 == 0 else there)]
        tour = longer
    return tour


def _swap_plan(instance: Instance, sort: type[Id], at: int) -> tuple[list[_Move], list[_Exchange]]:
    """What exchanging ids `at` and `at + 1` does to the words of a state: first the moves, then the exchanges of codes."""
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


class _Emitter:
    """Emits instructions on vectors of words."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._counter = 0

    def let(self, text: str) -> str:
        self._counter += 1
        self.lines.append(f"  %v{self._counter} = {text}")
        return f"%v{self._counter}"

    def op(self, name: str, a: str, b: str | int) -> str:
        """`a op b` on words; a number stands for itself in every lane."""
        if isinstance(b, int):
            b = f"splat (i64 {b - (1 << 64) if b >> 63 else b})"
        return self.let(f"{name} {_WORDS} {a}, {b}")

    def shifted(self, word: str, by: int) -> str:
        """Up, or down if negative."""
        if by == 0:
            return word
        return self.op("shl" if by > 0 else "lshr", word, abs(by))


_WORDS = f"<{LANES} x i64>"
_BITS = f"<{LANES} x i1>"


def _apply(code: _Emitter, words: list[str], moves: Sequence[_Move], exchanges: Sequence[_Exchange]) -> None:
    for move in moves:
        differ = code.op("xor", code.shifted(words[move.high], -move.distance), words[move.low])
        differ = code.op("and", differ, move.mask)
        words[move.low] = code.op("xor", words[move.low], differ)
        words[move.high] = code.op("xor", words[move.high], code.shifted(differ, move.distance))
    for item in exchanges:
        word = words[item.word]
        bits = [code.shifted(word, -bit) for bit in range(item.bits)]
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
                word = code.op("xor", word, code.shifted(either, bit))
        words[item.word] = word


def _least(code: _Emitter, best: list[str], words: list[str]) -> list[str]:
    """Of two states in every lane the one that comes first as a tuple of words."""
    before: str | None = None
    for kept, new in zip(reversed(best), reversed(words), strict=True):
        less = code.let(f"icmp ult {_WORDS} {new}, {kept}")
        if before is not None:
            same = code.let(f"icmp eq {_WORDS} {new}, {kept}")
            less = code.let(f"or {_BITS} {less}, {code.let(f'and {_BITS} {same}, {before}')}")
        before = less
    pairs = zip(best, words, strict=True)
    return [code.let(f"select {_BITS} {before}, {_WORDS} {new}, {_WORDS} {old}") for old, new in pairs]


def representatives_ir(instance: Instance) -> str:
    """LLVM IR of `representatives(states, groups)`: every state of so many groups of `LANES` becomes its representative."""
    count = instance.schema.words
    code = _Emitter()
    whole = f"<{LANES * count} x i64>"
    start = code.let(f"mul nuw nsw i64 %i, {LANES * count}")
    place = code.let(f"getelementptr inbounds i64, ptr %states, i64 {start}")
    loaded = code.let(f"load {whole}, ptr {place}, align 8")
    words = []
    for word in range(count):
        picks = ", ".join(f"i32 {lane * count + word}" for lane in range(LANES))
        words.append(code.let(f"shufflevector {whole} {loaded}, {whole} poison, <{LANES} x i32> <{picks}>"))
    best = list(words)
    plans: dict[tuple[type[Id], int], tuple[list[_Move], list[_Exchange]]] = {}
    for sort, at in _tour(instance):
        if (sort, at) not in plans:
            plans[sort, at] = _swap_plan(instance, sort, at)
        _apply(code, words, *plans[sort, at])
        best = _least(code, best, words)
    # Back into the order of memory: all words in one vector, which is then shuffled.
    parts, size = list(best), LANES
    while len(parts) > 1:
        if len(parts) % 2:
            parts.append("poison")
        order = ", ".join(f"i32 {k}" for k in range(2 * size))
        kind = f"<{size} x i64>"
        parts = [
            code.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * size} x i32> <{order}>")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        size *= 2
    picks = ", ".join(f"i32 {k % count * LANES + k // count}" for k in range(LANES * count))
    mixed = code.let(f"shufflevector <{size} x i64> {parts[0]}, <{size} x i64> poison, <{LANES * count} x i32> <{picks}>")
    code.lines.append(f"  store {whole} {mixed}, ptr {place}, align 8")
    return _FUNCTION.format(body="\n".join(code.lines))


_FUNCTION = """\
define i64 @representatives(ptr noalias %states, i64 %groups) nounwind {{
entry:
  %any = icmp ne i64 %groups, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %groups
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}}
"""
