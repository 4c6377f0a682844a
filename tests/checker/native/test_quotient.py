"""The table without states: what goes in comes out, whole and on its level, whatever the layout and however it grew."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from acked.base.bounds import Bounds
from acked.checker.loops import lines, slots
from acked.checker.loops.lines import LineKind, first_lines, lines_for
from acked.checker.loops.quotient import LINE
from acked.checker.native.compile import Kernel, compile_kernel, load_kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Words
from acked.checker.search import local
from acked.checker.search.local import LocalSearch, search
from acked.checker.shards import compact, forgetting, shard
from acked.checker.shards.compact import FORGET_FROM, CompactShard, compact_lines, compact_team
from acked.checker.shards.forgetting import Forgetting
from acked.checker.shards.shard import Shard, address, make_room, numbers, states_for
from acked.checker.store.run_directory import RunDirectory
from acked.invariants.property import Property
from tests.checker.toys import always, answer, ask, counters

MEMORY = 1 << 28


@pytest.fixture
def _keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches without states from the beginning, as if what is stored would not fit."""
    monkeypatch.setattr(local, "states_for", lambda *_: -1)


SHAPES = [(1, 1 << 20), (1, 1 << 62), (5, 1 << 14), (2, 1 << 40), (3, 1 << 33), (65, 4), (6, 1 << 20)]
"""Counters, and how many values each has: one word to three, few bits beyond the first and many, the second word full."""


def question_of(count: int, values: int) -> Question:
    """So many counters of so many values."""
    return ask(counters(count, values - 1), always("Small", lambda s: s.n0 < values))


def shards_of(question: Question, workers: int) -> Sequence[CompactShard]:
    """The shards of a table without states."""
    shape = shape_of(question.plan)
    first = compact_lines(shape, workers, MEMORY)
    assert first is not None
    return compact_team(shape, load_kernel(question.plan, first.kind), workers, MEMORY, first)


def insert(shards: Sequence[CompactShard], states: Sequence[Words], worker: int) -> None:
    """Inserts states, making room first."""
    assert make_room(shards, len(states))
    words = numbers(word for state in states for word in state)
    assert shards[worker].take(address(words), len(states))


def states_on(shards: Sequence[CompactShard], level: int) -> list[Words]:
    """What the table has on a level; the arrays of states are used for it."""
    found = []
    for one in shards:
        found += [tuple(one.states[at * one.words : (at + 1) * one.words]) for at in range(*one.collect(level))]
    return found


def drawn(question: Question, seed: int, count: int) -> list[Words]:
    """Different packed states, most of them near each other."""
    chance = random.Random(seed)
    schema = question.instance.schema
    found: dict[Words, None] = {}
    while len(found) < count:
        codes = [chance.randrange(min(leaf.cardinality, 1 << chance.choice([2, 8, 62]))) for leaf in schema.leaves]
        found[schema.pack(codes)] = None
    return list(found)


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("count", "values"), SHAPES)
def test_what_goes_in_comes_out_whole_on_its_level(count: int, values: int, workers: int) -> None:
    question = question_of(count, values)
    shards = shards_of(question, workers)
    states = drawn(question, 7, 30_000)
    chance = random.Random(8)
    kept: list[list[Words]] = []
    for level in range(1, 6):
        fresh = states[6_000 * (level - 1) : 6_000 * level]
        again = chance.sample(states[: 6_000 * level], 3_000)
        for worker in range(workers):
            part = fresh[worker::workers] + again
            chance.shuffle(part)
            insert(shards, part, worker)
        kept.append(fresh)
        for one in shards:
            one.begin_level()
    assert sum(one.count for one in shards) == len(states), "what was there was not inserted again"
    for level, expected in enumerate(kept, start=1):
        assert sorted(states_on(shards, level)) == sorted(expected)
    assert states_on(shards, 6) == []


@pytest.mark.parametrize("together", [0, 40, 1 << 18])
def test_levels_are_had_back_together_and_alone(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "TOGETHER", together)
    question = question_of(2, 1 << 40)
    shards = shards_of(question, 2)
    states = drawn(question, 4, 210)
    kept = [states[level * (level - 1) // 2 : level * (level + 1) // 2] for level in range(1, 21)]
    for fresh in kept:
        insert(shards, fresh, len(fresh) % 2)
        for one in shards:
            one.begin_level()
    calls: list[int] = []

    def counted(collect: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: int) -> int:
            calls.append(arguments[2])
            return collect(*arguments)

        return call

    for one in shards:
        monkeypatch.setattr(one, "_collect", counted(one._collect))
    for level in range(20, 0, -1):
        assert sorted(states_on(shards, level)) == sorted(kept[level - 1])
    assert (len(calls) == 40) == (together == 0)
    assert (len(calls) == 2) == (together > 210)


@pytest.mark.slow
def test_a_table_changes_its_layout_while_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    question = question_of(5, 1 << 14)
    monkeypatch.setattr(lines, "KINDS", (LineKind(6, 3, 16), LineKind(5, 2, 32)))
    shards = shards_of(question, 1)
    seen = [shards[0]._lines]
    states = drawn(question, 9, 20_000)
    for begin in range(0, len(states), 500):
        insert(shards, states[begin : begin + 500], 0)
        if shards[0]._lines != seen[-1]:
            seen.append(shards[0]._lines)
    assert [item.kind.slots for item in (seen[0], seen[-1])] == [5, 6]
    assert sorted(states_on(shards, 1)) == sorted(states)


@pytest.mark.slow
def test_the_first_word_is_had_back_from_the_hash_and_the_others() -> None:
    question = question_of(3, 1 << 33)
    kernel = load_kernel(question.plan, LineKind(4, 1, 64))
    mixed, rest, back = kernel.function("hash_state", 1), kernel.function("hash_rest", 1), kernel.function("unhash", 2)
    chance = random.Random(1)
    for _ in range(2_000):
        state = numbers(chance.randrange(1 << chance.choice([1, 33, 64])) for _ in range(3))
        assert back(mixed(address(state)), rest(address(state))) == state[0]


@pytest.mark.slow
@pytest.mark.parametrize("words", [2, 3])
def test_whichever_bits_states_differ_in_hardly_any_have_the_same_place(words: int) -> None:
    """All values of twelve bits: the last ones of each word and of its halves, and some drawn ones."""
    plan = question_of(words, 1 << 40).plan
    assert shape_of(plan).words == words
    kernel = load_kernel(plan)
    hash_all = kernel.function("hash_all", 3)
    chance = random.Random(words)
    last = [64 * word + half + 31 - bit for bit in range(4) for half in (0, 32) for word in range(words)]
    several = [chance.sample(bits, 12) for bits in (last, range(64 * words)) for _ in range(9)]
    for bits in (last[:12], last[-12:], *several):
        states = [sum((number >> k & 1) << bit for k, bit in enumerate(bits)) for number in range(1 << 12)]
        given = numbers(state >> 64 * word & (1 << 64) - 1 for state in states for word in range(words))
        hashes = numbers([0] * len(states))
        hash_all(address(given), address(hashes), len(states))
        assert len({h >> 32 for h in hashes}) >= len(states) - 2


@pytest.mark.parametrize("count", [512, 513, 767, 768, 1000, 1 << 17, (1 << 20) + 12345, (1 << 31) - 1])
def test_line_and_offset_tell_the_upper_half_of_the_hash(count: int) -> None:
    kernel: Kernel = load_kernel(question_of(1, 1 << 20).plan, LineKind(6, 3, 21))
    tag_in, inverse = kernel.function("tag_in", 5), kernel.function("inverse_of", 1)(count)
    share = count.bit_length() - 1
    chance = random.Random(count)
    ends = [0, 1, (1 << 32) - 1]
    for tag in ends + [chance.randrange(1 << 32) for _ in range(1_000)]:
        product = tag * count
        assert tag_in(product >> 32, (product & 0xFFFF_FFFF) >> share, count, share, inverse) == tag


def test_line_and_offset_tell_the_hash_for_every_number_of_lines() -> None:
    """The same arithmetic with 7 bits in place of 32, for every number of lines and every hash."""
    for count in range(1, 1 << 7):
        share = count.bit_length() - 1
        places = {((tag * count) >> 7, ((tag * count) & 127) >> share) for tag in range(1 << 7)}
        assert len(places) == 1 << 7
        for tag in range(1 << 7):
            home, offset = (tag * count) >> 7, ((tag * count) & 127) >> share
            assert ((home << 7) + (offset << share) + count - 1) // count == tag


@pytest.mark.slow
@pytest.mark.usefixtures("_keeps_none")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_deeper_than_levels_have_bits_gets_a_layout_with_more(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ask(counters(1, 700), always("Short", lambda s: s.n0 < 650))
    monkeypatch.setattr(lines, "KINDS", (LineKind(6, 3, 15), LineKind(5, 2, 32)))
    run = LocalSearch(question, Bounds(workers, MEMORY))
    [violation] = run.run().violations
    assert [state[0] for state in violation.run.states] == list(range(651))
    assert first_lines((10,)) == lines_for((10,), 512, 255)
    assert first_lines((10,)) != lines_for((10,), 512, 256)


@pytest.mark.slow
@pytest.mark.usefixtures("_keeps_none")
def test_a_search_too_deep_for_any_layout_says_that_it_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "KINDS", (LineKind(6, 3, 13),))
    result = search(ask(counters(1, 700), always("Short", lambda s: s.n0 <= 700)), Bounds(1, MEMORY))
    assert result.stopped is StopReason.MEMORY
    assert result.level_sizes == (1,) * result.depth
    assert 250 < result.depth <= 255


def test_states_too_wide_for_remainders_are_kept_themselves() -> None:
    assert first_lines((64, 63, 3)) is not None
    assert first_lines((64, 64, 40)) is None
    assert first_lines((64, 1, 1, 1)) is None


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("_keeps_none")
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_both_tables_have_the_same_answers(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = always("Sum", lambda s: (s.n0 + s.n1 + s.n2 + s.n3 + s.n4) < 17)
    without = answer(search(ask(counters(5, 7), sums), Bounds(workers, MEMORY)))
    monkeypatch.setattr(local, "states_for", states_for)
    assert answer(search(ask(counters(5, 7), sums), Bounds(workers, MEMORY))) == without


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("_keeps_none")
@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 5])
def test_whether_a_level_fits_does_not_depend_on_who_was_first(workers: int) -> None:
    question = ask(counters(6, 7), always("Small", lambda s: s.n0 <= 7))
    whole = search(question, Bounds(1, MEMORY)).level_sizes
    depths = []
    for memory in range(300_000 * workers, 7_000_000, 700_000):
        results = [search(question, Bounds(workers, memory)) for _ in range(3)]
        assert len({(item.stopped, item.level_sizes) for item in results}) == 1
        assert results[0].level_sizes == whole[: results[0].depth]
        assert (results[0].stopped is StopReason.COMPLETE) == (results[0].level_sizes == whole)
        depths.append(results[0].depth)
    assert depths == sorted(depths)
    assert depths[0] < depths[-1] == len(whole)


@pytest.mark.usefixtures("_keeps_none")
def test_expanded_states_give_their_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(shard, "_forget", lambda begin, size: given.append((begin, size)))
    monkeypatch.setattr(shard, "PAGE", 4096)
    monkeypatch.setattr(compact, "PAGE", 4096)
    run = LocalSearch(ask(counters(6, 6), always("Small", lambda s: s.n0 <= 6)), Bounds(1, MEMORY))
    result = run.run()
    assert sum(size for _, size in given) > 8 * result.distinct_states - 3 * 4096 - 8 * max(result.level_sizes) * 2
    ends = [begin + size for begin, size in given]
    assert [begin for begin, _ in given[1:]] == ends[:-1], "one after the other, nothing twice"


def test_a_worker_that_finds_a_slot_taken_looks_again() -> None:
    """Two workers' states of the same line, one after the other, as if each had thought the slot free."""
    question = question_of(1, 1 << 20)
    shards = shards_of(question, 2)
    states = drawn(question, 3, 2_000)
    for at in range(0, len(states), 2):
        for worker in (0, 1):
            insert(shards, states[at : at + 2], worker)
    assert sum(one.count for one in shards) == len(states)
    assert shards[0].context[slots.LEVEL] == 1


def test_a_worker_waits_for_the_word_of_a_slot_whose_field_another_has_taken() -> None:
    """Else two workers that find one state at once would both count it."""
    question = question_of(1, 1 << 20)
    shards = shards_of(question, 2)
    states = drawn(question, 4, 1)
    insert(shards, states, 0)
    table, part, held = shards[0]._visited.table, shards[0]._visited.stride // 8, shards[0]._lines
    lines = (part * worker + LINE * line for worker in (0, 1) for line in range(held.lines))
    places = (line + slot for line in lines for slot in range(held.kind.slots))
    (place,) = (place for place in places if table[place])
    word, table[place] = table[place], 0
    begun = Event()

    def begin() -> None:
        begun.set()
        insert(shards, states, 1)

    with ThreadPoolExecutor(1) as other:
        inserted = other.submit(begin)
        assert begun.wait(60)
        with pytest.raises(TimeoutError):
            inserted.result(0.05)
        table[place] = word
        inserted.result(60.0)
    assert [one.count for one in shards] == [1, 0]


TOP = (1 << 33) - 1


# -- searches whose memory is full -------------------------------------------------------------------------------------


def budget(question: Question, share: float, workers: int) -> int:
    """Bytes in which about so many of a question's states fit with a table that keeps them."""
    states = search(question, Bounds(1, MEMORY)).distinct_states
    memory = 1 << 16
    while states_for(question.instance.schema.words, workers, memory) < share * states:
        memory += 1 << 16
    return memory


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(("workers", "share"), [(1, 0.95), (2, 0.85), (5, 0.95)])
def test_a_search_whose_memory_is_full_goes_on_without_states(
    workers: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "FORGET_FROM", 1 << 40)
    small = ask(counters(6, 8), always("Small", lambda s: s.n0 <= 8))
    for question in (small, ask(counters(5, 13), every_sum(60))):
        whole = search(question, Bounds(workers, MEMORY))
        listener = Phases()
        part = search(question, Bounds(workers, budget(question, share, workers)), observer=listener)
        assert answer(part) == answer(whole)
        assert listener.phases.count("going on without the states of expanded levels") == 1


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_large_search_goes_on_without_states_before_its_memory_is_full(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def is_ready(_: Forgetting, shards: Sequence[Shard], *__: object) -> bool:
        seen.append(isinstance(shards[0], CompactShard))
        return sum(shard.found for shard in shards) >= 10_000  # at once, whatever has been compiled

    for question in (ask(counters(5, 7), always("Small", lambda s: s.n0 <= 8)), ask(counters(5, 7), every_sum(30))):
        whole = search(question, Bounds(workers, MEMORY))
        with monkeypatch.context() as patch:
            patch.setattr(Forgetting, "is_ready", is_ready)
            assert answer(search(question, Bounds(workers, MEMORY))) == answer(whole)
        assert (seen[0], seen[-1]) == (False, True)
        seen.clear()


BELL = (1, 6, 30, 138, 366, 1170, 2715, 5673, 10836, 18648, 28818, 40629, 53691, 66432, 77400)
"""The first levels of kip320, which has 737,794 states."""


@pytest.mark.parametrize(
    ("sizes", "is_over"),
    [
        (BELL, True),  # 306,553 states
        (BELL[:-3], False),  # 162,721
        (BELL[:4], False),  # too few to tell
        ((100,) * 50, False),
        ((100,) * 5 + (50, 25, 12, 6), True),
        ((1, 2, 4, 8, 16, 32), False),
        ((5, 0, 0, 0, 0, 0), False),  # a worker's part
    ],
)
def test_the_end_of_a_search_is_told_by_its_levels(sizes: Sequence[int], is_over: bool) -> None:
    assert forgetting.is_nearly_over(sizes) == is_over


def test_a_search_that_is_nearly_over_keeps_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "FORGET_FROM", 16_000)
    question = ask(counters(5, 7), always("Small", lambda s: s.n0 <= 7))
    for is_over in (True, False):
        told: list[int] = []

        def tell(sizes: Sequence[int], told: list[int] = told, answer: bool = is_over) -> bool:
            told.append(sum(sizes))
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(forgetting, "is_nearly_over", tell)
            searching = LocalSearch(question, Bounds(1, MEMORY))
            assert searching.run().distinct_states == 8**5
        assert (searching._forgetting._code is None) == is_over
        assert told[-1] == 8**5 if is_over else told  # Once it does without states, it is not asked again.


def test_where_address_space_is_limited_states_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "address_space_limit", lambda: 1 << 33)
    monkeypatch.setattr(forgetting, "without_states", None)  # an error if it is called
    question = ask(counters(5, 13), always("Small", lambda s: s.n0 <= 13))
    assert search(question, Bounds(1, MEMORY)).distinct_states == 14**5 > FORGET_FROM


def test_where_there_is_no_address_space_states_are_kept_and_it_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def reserve(*_: object) -> None:
        tried.append(True)
        raise OSError(12, "Cannot allocate memory")

    question = ask(counters(5, 7), always("Small", lambda s: s.n0 <= 7))
    whole = search(question, Bounds(1, MEMORY))
    monkeypatch.setattr(Forgetting, "is_ready", lambda self, shards, *_: self.lines(shards) is not None)
    monkeypatch.setattr(compact.CompactMemory, "__init__", reserve)
    assert answer(search(question, Bounds(1, MEMORY))) == answer(whole)
    assert len(tried) == 1


def test_what_a_search_needs_to_go_on_without_states_is_compiled_beside_it() -> None:
    question = ask(counters(5, 13), always("Small", lambda s: s.n0 <= 13))
    searching = LocalSearch(question, Bounds(1, MEMORY), keeps_states=True)
    assert searching.run().distinct_states > FORGET_FROM
    plan = question.plan
    compiled = partial(compile_kernel, plan)
    with ThreadPoolExecutor(1) as compiler:
        waiting = Forgetting(shape_of(plan), MEMORY, compiled)
        assert not waiting.is_ready(searching.shards, compiler)  # It has only been asked for.
        compiler.submit(int).result()  # behind it
        assert waiting.is_ready(searching.shards, compiler)
        never = Forgetting(shape_of(plan), MEMORY, compiled, is_allowed=False)
        assert [never.is_ready(searching.shards, compiler) for _ in range(2)] == [False, False]
        small = Forgetting(shape_of(plan), 1 << 16, compiled)
        assert [small.is_ready(searching.shards, compiler) for _ in range(2)] == [False, False]


@pytest.mark.slow
def test_wide_states_go_on_as_well() -> None:
    question = ask(counters(3, TOP, start=TOP - 80), always("Small", lambda s: s.n0 <= TOP))
    memory = budget(question, 0.97, 1)
    part = search(question, Bounds(1, memory))
    assert answer(part) == answer(search(question, Bounds(1, MEMORY)))
    assert part.depth == 241
    assert part.memory_bytes < memory + shard.PAGE  # Memory is given back in whole pages.


@pytest.mark.slow
def test_it_goes_on_only_if_that_helps_and_the_question_lets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    question = ask(counters(6, 8), always("Small", lambda s: s.n0 <= 8))
    memory = budget(question, 0.85, 1)
    kept = LocalSearch(question, Bounds(1, memory), keeps_states=True).run()
    assert kept.stopped is StopReason.MEMORY
    monkeypatch.setattr(compact, "WORTH", 100.0)
    assert answer(search(question, Bounds(1, memory))) == answer(kept)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_what_went_on_without_states_is_recorded_and_taken_up_again(workers: int, tmp_path: Path) -> None:
    question = ask(counters(6, 8), always("Small", lambda s: s.n0 <= 8))
    whole = search(question, Bounds(workers, MEMORY))
    bounds = Bounds(workers, budget(question, 0.85, workers))
    with RunDirectory.create(tmp_path / "run", question) as run:
        assert search(question, replace(bounds, max_depth=40), stored=run).depth == 40
    with RunDirectory.open(tmp_path / "run", question) as run:
        again = search(question, bounds, stored=run)
    assert (again.stored_levels, answer(again)) == (40, answer(whole))


def every_sum(most: int) -> Property:
    """A sum of five counters that is too great in the end."""
    return always("Sum", lambda s: (s.n0 + s.n1 + s.n2 + s.n3 + s.n4) < most)


class Phases(Observer):
    """What a search says that it does."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def phase(self, name: str) -> None:
        self.phases.append(name)
