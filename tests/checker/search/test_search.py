"""The local search: bounds, growth of the visited set, wide states, many actions."""

from __future__ import annotations

import ctypes
from math import comb
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.checker.loops import slots, table
from acked.checker.native.compile import Haste, load_kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search import local
from acked.checker.search.local import LocalSearch, search
from acked.checker.shards import forgetting, shard
from acked.checker.shards.compact import CompactShard
from acked.checker.shards.shard import Shard, alone, team
from acked.checker.spec.spec import load_spec
from tests.checker.toys import always, answer, ask, counters, every_step, traveller
from tests.places import CHECKOUT

MEMORY = 1 << 28


@pytest.fixture
def _keeps_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table with states, though these could do without."""
    monkeypatch.setattr(forgetting, "compact_lines", lambda *_: None)


def grid(count: int, top: int) -> Question:
    """`count` counters up to `top`: (top + 1) ** count states."""
    return ask(counters(count, top), always("Small", lambda s: s.n0 <= top))


# -- counts known by arithmetic ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_a_grid_has_as_many_states_levels_and_firings_as_arithmetic_says(workers: int) -> None:
    result = search(grid(5, 6), Bounds(workers, MEMORY))
    assert (result.verdict, result.distinct_states, result.depth) == (Verdict.HOLDS, 7**5, 31)
    assert result.generated_states == 1 + 5 * 6 * 7**4
    assert result.level_sizes[:4] == (1, 5, comb(6, 2), comb(7, 3))
    assert result.level_sizes == result.level_sizes[::-1]
    for count in result.actions.values():
        assert (count.enabled, count.new) == (6 * 7**4, 6 * 7**4)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_canonical_trace_takes_the_least_state_and_then_the_least_way_back(workers: int) -> None:
    question = ask(counters(2, 3), always("Apart", lambda s: (s.n0 + s.n1) < 3))
    [violation] = search(question, Bounds(workers, MEMORY)).violations
    schema = question.instance.schema
    least = min(schema.pack(schema.encode({"n0": a, "n1": 3 - a})) for a in range(4))
    assert violation.run.states[-1] == least
    assert list(violation.run.states) == sorted(violation.run.states)
    assert len({step.label for step in violation.run.actions}) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_protocol_without_a_step_has_one_state(workers: int) -> None:
    result = search(ask(counters(1, 3, start=3), always("Top", lambda s: s.n0 <= 3)), Bounds(workers, MEMORY))
    assert (result.verdict, result.distinct_states, result.depth, result.generated_states) == (Verdict.HOLDS, 1, 1, 1)


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 7, 100, 1000, 5000, 16806, 16807, 1 << 40])
def test_the_bound_on_states_commits_the_same_levels_on_any_number_of_workers(limit: int) -> None:
    answers = [answer(search(grid(5, 6), Bounds(workers, MEMORY, max_states=limit))) for workers in (1, 2, 3, 5)]
    assert answers[1:] == answers[:1] * 3
    levels, whole = answers[0]["levels"], search(grid(5, 6), Bounds(1, MEMORY)).level_sizes
    assert levels == whole[: len(levels)]
    if limit < 7**5:
        # The last complete level is the first whose successors exceed the bound together with all before.
        assert answers[0]["stopped"] is StopReason.MAX_STATES
        assert sum(whole[: len(levels)]) <= limit < sum(whole[: len(levels) + 1])
    else:
        assert answers[0]["stopped"] is StopReason.COMPLETE


@pytest.mark.parametrize("depth", [1, 2, 10, 30, 31, 32])
def test_the_bound_on_depth_commits_the_same_levels_on_any_number_of_workers(depth: int) -> None:
    answers = [answer(search(grid(5, 6), Bounds(workers, MEMORY, max_depth=depth))) for workers in (1, 2, 3)]
    assert answers[1:] == answers[:1] * 2
    assert len(answers[0]["levels"]) == min(depth, 31)
    assert answers[0]["stopped"] is (StopReason.COMPLETE if depth >= 31 else StopReason.MAX_DEPTH)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("memory", [1, 10_000, 600_000, 3_000_000])
def test_the_memory_budget_commits_whole_levels_and_the_same_ones_each_time(workers: int, memory: int) -> None:
    whole = search(grid(6, 6), Bounds(1, MEMORY)).level_sizes
    results = [search(grid(6, 6), Bounds(workers, memory)) for _ in range(2)]
    assert answer(results[0]) == answer(results[1])
    result = results[0]
    assert result.level_sizes == whole[: result.depth]
    if result.stopped is StopReason.MEMORY:
        assert result.verdict is Verdict.INCOMPLETE
    else:
        assert result.distinct_states == 7**6


@pytest.mark.slow
def test_more_memory_never_covers_less() -> None:
    covered = [search(grid(6, 6), Bounds(2, memory)).distinct_states for memory in range(200_000, 4_000_000, 400_000)]
    assert covered == sorted(covered)
    assert len(set(covered)) > 3


def test_memory_that_cannot_be_reserved_is_refused_with_the_option_to_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int, huge: bool = False) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(shard, "reserve", refuse)
    with pytest.raises(SystemFailure, match="less --memory"):
        search(grid(2, 2), Bounds(1, MEMORY))


def test_a_budget_beyond_what_the_index_can_count_is_no_error() -> None:
    assert search(grid(2, 2), Bounds(1, 1 << 61)).distinct_states == 9


def test_a_violation_is_found_though_the_memory_budget_is_nearly_spent() -> None:
    question = ask(counters(5, 6), always("Sum", lambda s: (s.n0 + s.n1 + s.n2 + s.n3 + s.n4) < 3))
    result = search(question, Bounds(1, 300_000))
    assert [item.trace_length for item in result.violations] == [4]


# -- the visited set ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_keeps_states")
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("buckets", [1, 2, 3, 5])
def test_a_table_that_grows_many_times_forgets_and_repeats_nothing(
    workers: int, buckets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answer(search(grid(6, 6), Bounds(workers, MEMORY)))
    monkeypatch.setattr(shard, "FIRST_BUCKETS", buckets)
    grown = answer(search(grid(6, 6), Bounds(workers, MEMORY)))
    assert grown == whole
    assert sum(grown["levels"]) == 7**6


@pytest.mark.long  # In every run kip320-large has 9,985,570 states, too.
@pytest.mark.parametrize("workers", [1, 2])
def test_a_table_of_millions_forgets_and_repeats_nothing(workers: int) -> None:
    result = search(grid(7, 9), Bounds(workers, 2 << 30))
    assert (result.distinct_states, result.depth) == (10**7, 64)
    assert result.generated_states == 1 + 7 * 9 * 10**6


@pytest.mark.usefixtures("_keeps_states")
def test_a_table_that_grows_until_the_budget_is_reached_gives_whole_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = search(grid(6, 6), Bounds(1, MEMORY)).level_sizes
    monkeypatch.setattr(shard, "FIRST_BUCKETS", 1)
    for memory in (700_000, 1_500_000, 2_500_000):
        result = search(grid(6, 6), Bounds(1, memory))
        assert result.level_sizes == whole[: result.depth]


def test_the_arguments_of_a_native_call_live_as_long_as_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address does not keep its array alive: inserting initial states once read an array that was gone."""
    plan = grid(2, 2).plan
    mine = alone(shape_of(plan), load_kernel(plan), MEMORY)
    seen: list[int] = []

    def receive(context: int, words: int, actions: int, count: int) -> int:
        clutter = [shard.numbers([0xFFFF_FFFF_FFFF_FFFF]) for _ in range(1000)]
        seen.append(ctypes.c_uint64.from_address(actions).value)
        assert len(clutter) == 1000
        return count

    monkeypatch.setattr(mine, "_receive", receive)
    mine.insert([(0,)])
    assert seen == [0]


# -- shares ------------------------------------------------------------------------------------------------------------


def two_shards(question: Question) -> list[Shard]:
    """Two workers' shards with the initial states."""
    plan = question.plan
    shards = team(shape_of(plan), load_kernel(plan), 2, MEMORY)
    shards[0].insert(question.instance.initial)
    return shards


def test_a_worker_without_work_expands_what_another_offers_and_every_state_once() -> None:
    shards = two_shards(grid(3, 9))
    begins, distinct = [0, 0], []
    for level in range(28):
        ends = [one.count for one in shards]
        distinct.append(sum(ends) - sum(begins))
        for one in shards:
            one.begin_level()
        idle = shards[level % 2]
        busy = shards[1 - level % 2]
        # As if the busy one had just been interrupted, with nothing of its share done.
        busy._offer[slots.OFFER_END] = ends[1 - level % 2]
        busy._offer[slots.OFFER_NEXT] = begins[1 - level % 2]
        assert idle.expand(begins[level % 2], ends[level % 2]) == ends[level % 2]
        assert busy._offer[slots.OFFER_NEXT] >= ends[1 - level % 2]
        assert sum(busy.enabled) == 0
        firings = sum(idle.enabled)
        assert firings == expected_firings(level)
        begins = ends
    assert sum(distinct) == sum(one.count for one in shards) == 10**3


def expected_firings(level: int) -> int:
    """Steps from the states of a level of three counters up to 9."""
    digits = [(a, b, level - a - b) for a in range(10) for b in range(10) if 0 <= level - a - b <= 9]
    return sum(3 - state.count(9) for state in digits)


def test_what_a_worker_offered_cannot_be_taken_after_it_has_returned() -> None:
    shards = two_shards(grid(3, 9))
    owner = next(one for one in shards if one.count)
    other = next(one for one in shards if one is not owner)
    assert owner.expand(0, 1) == 1
    fired = sum(owner.enabled)
    assert fired == 3
    other.expand(0, 0)
    assert sum(other.enabled) == 0


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("chunk", [1, 1000, 3000])
def test_rounds_of_any_length_expand_every_state_once(workers: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 3 if chunk == 1 else 6
    whole = answer(search(grid(size, size), Bounds(1, MEMORY)))
    monkeypatch.setattr(local, "CHUNK", chunk)
    assert answer(search(grid(size, size), Bounds(workers, MEMORY))) == whole


# -- shapes ------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("count", "words"), [(2, 2), (3, 3), (5, 5)])
def test_states_of_many_words_are_told_apart(count: int, words: int, workers: int) -> None:
    top = (1 << 45) - 1
    question = ask(
        counters(count, top, start=top - 4),
        always("Short", lambda s: s.n0 < top),
        every_step("Grow", lambda before, after: before.n0 <= after.n0),
    )
    assert question.instance.schema.words == words
    result = search(question, Bounds(workers, MEMORY), StopPolicy.EVERY_PROPERTY)
    assert (result.distinct_states, result.depth) == (5**count, 4 * count + 1)
    [violation] = result.violations
    assert (violation.property.name, violation.trace_length) == ("Short", 5)
    state = question.instance.schema.decode(question.instance.schema.unpack(violation.run.states[-1]))
    assert state == {"n0": top, **{f"n{i}": top - 4 for i in range(1, count)}}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_protocol_of_more_than_a_thousand_action_instances_is_searched(workers: int) -> None:
    question = ask(traveller(), always("Home", lambda s: s.place == s.place))
    assert len(question.instance.actions) > 1000
    result = search(question, Bounds(workers, MEMORY))
    assert (result.distinct_states, result.depth) == (33, 2)
    assert result.generated_states == 1 + 33 * 33
    assert result.actions["Travel"].enabled == 33 * 33
    assert result.actions["Travel"].new == 32


# -- what others are told ----------------------------------------------------------------------------------------------


class Listener(Observer):
    def __init__(self) -> None:
        self.phases: list[str] = []
        self.told: list[Progress] = []

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def progress(self, now: Progress) -> None:
        self.told.append(now)


def test_an_observer_hears_of_phases_and_of_progress_that_never_goes_back() -> None:
    listener = Listener()
    result = search(grid(5, 6), Bounds(1, MEMORY), observer=listener)
    assert listener.phases == ["compiling", "searching"]
    states = [now.distinct_states for now in listener.told]
    assert states == sorted(states)
    assert all(now.frontier >= 0 and 1 <= now.depth <= result.depth for now in listener.told)


class Impatient(Observer):
    """Presses Ctrl-C at the n-th report."""

    def __init__(self, after: int) -> None:
        self.left = after

    def progress(self, now: Progress) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def bytes_for(question: Question, states: int, workers: int) -> int:
    """A budget of exactly so many states."""
    per_state = 8 * question.instance.schema.words + 8 * table.LOAD_DENOMINATOR // table.LOAD_NUMERATOR
    return states * per_state + 8 * table.SLOTS * table.PAD * workers + 1


@pytest.mark.usefixtures("_keeps_states")
@pytest.mark.slow
@pytest.mark.parametrize(("workers", "buckets"), [(1, 512), (2, 1), (5, 512), (16, 1)])
def test_a_level_counts_if_and_only_if_it_fits_whoever_finds_what(
    workers: int, buckets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "FIRST_BUCKETS", buckets)
    # Narrow levels, which one worker finds almost alone, and wide ones.
    for question in (grid(2, 60), grid(5, 6)):
        whole = search(question, Bounds(1, MEMORY)).level_sizes
        assert search(question, Bounds(workers, bytes_for(question, sum(whole), workers))).level_sizes == whole
        for depth in (1, 7, len(whole) // 2, len(whole) - 1):
            for most in (sum(whole[:depth]), sum(whole[: depth + 1]) - 1):
                result = search(question, Bounds(workers, bytes_for(question, most, workers)))
                assert (result.stopped, result.level_sizes) == (StopReason.MEMORY, whole[:depth])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 5, 16])
def test_the_table_holds_every_state_once_and_nothing_else(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "FIRST_BUCKETS", 1)
    monkeypatch.setattr("acked.checker.search.local.CHUNK", 1000)
    run = LocalSearch(grid(5, 6), Bounds(workers, MEMORY), keeps_states=True)
    assert run.run().distinct_states == 7**5
    states = [one.states[at] for one in run.shards for at in range(one.count)]  # one word each
    assert len(states) == len(set(states)) == 7**5
    visited, first = run.shards[0]._visited, run.shards[0].context
    used = 8 * (first[slots.BUCKETS] + table.PAD)
    found: list[int] = []
    for part in range(workers):
        entries = visited.table[visited.stride // 8 * part : visited.stride // 8 * (part + 1)]
        assert not any(entries[used - 8 :]), "the last bucket, and what is behind it, stays empty"
        found += [slot & table.INDEX_MASK for slot in entries[:used] if slot]
    wanted = [one.context[slots.FIRST] + at + 1 for one in run.shards for at in range(one.count)]
    assert sorted(found) == sorted(wanted)
    assert visited.shared[slots.BOOKED] == 7**5


@pytest.mark.parametrize("workers", [1, 2])
def test_loops_without_states_are_changed_between_levels(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answer(search(grid(5, 6), Bounds(workers, MEMORY)))
    monkeypatch.setattr(forgetting.Forgetting, "is_ready", lambda _, shards, *__: not isinstance(shards[0], CompactShard))
    monkeypatch.setattr("acked.checker.search.tiers.QUICK_UNTIL", 0)
    monkeypatch.setattr(Shard, "haste", Haste.SOME)
    bound: list[type[Shard]] = []
    use = Shard.use_loops
    monkeypatch.setattr(Shard, "use_loops", lambda shard, loops: (bound.append(type(shard)), use(shard, loops))[1])
    assert answer(search(grid(5, 6), Bounds(workers, MEMORY))) == expected
    assert CompactShard in bound


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_first_search_has_the_answer_of_those_that_follow_and_compiles_their_loops(
    workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    for question in (grid(5, 6), load_spec(CHECKOUT / "specs" / "truncate-to-hw.toml").question()):
        monkeypatch.setattr("acked.checker.search.tiers.FEW_BITS", question.instance.schema.bits)
        first = answer(search(question, Bounds(workers, MEMORY)))
        assert load_kernel(question.plan, most=Haste.MOST).haste is Haste.MOST, "so small a search leaves it to others"
        for until, haste in (("FIRST_UNTIL", Haste.SOME), ("QUICK_UNTIL", Haste.NONE)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(f"acked.checker.search.tiers.{until}", 0)
                assert answer(search(question, Bounds(workers, MEMORY))) == first
            assert load_kernel(question.plan, most=Haste.MOST).haste is haste
            assert answer(search(question, Bounds(workers, MEMORY))) == first
        for suffix in ("loops", "quick", "first"):
            for path in tmp_path.glob(f"*-{suffix}.o"):
                path.unlink()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("after", [1, 5, 20])
def test_a_key_press_ends_a_search_with_the_levels_it_completed(workers: int, after: int) -> None:
    whole = search(grid(5, 6), Bounds(1, MEMORY)).level_sizes
    result = LocalSearch(grid(5, 6), Bounds(workers, MEMORY), observer=Impatient(after)).run()
    assert (result.verdict, result.stopped) == (Verdict.INCOMPLETE, StopReason.INTERRUPTED)
    assert result.level_sizes == whole[: after - 1]

