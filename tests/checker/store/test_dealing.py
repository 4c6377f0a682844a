"""By which bits states are dealt to tasks: most steps stay within one, parts are even, and no engine minds."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.native.compile import Kernel, load_kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.shards.shard import address, alone, begin_level, numbers, reserve
from acked.checker.store.dealing import MOST_LEVELS, Sample, steady_masks
from acked.checker.store.level_file import ALL_BITS, StateCodec, exchange_code
from acked.checker.store.run_directory import RunDirectory
from tests.checker.toys import always, answer, ask, counters

PARTS = 3


def codec_for(question: Question) -> StateCodec:
    shape = shape_of(question.plan)
    return StateCodec(shape, PARTS, Kernel(exchange_code(shape)))


def masks_for(question: Question, codec: StateCodec, tasks: int) -> list[int]:
    return steady_masks(question, shape_of(question.plan), load_kernel(question.plan), codec, tasks)


def judged(question: Question, codec: StateCodec) -> tuple[float, float]:
    """Of the whole space: which share of steps leaves its part, and how much larger than even the largest parts are."""
    shape = shape_of(question.plan)
    shard = alone(shape, load_kernel(question.plan), 1 << 28)
    shard.insert(question.initial)
    levels, begin, steps, largest = list[tuple[int, int]](), 0, 0, 0
    while begin < shard.count:
        levels.append((begin, shard.count))
        begin_level([shard])
        begin, _ = shard.count, shard.expand(*levels[-1])
        steps += sum(shard.enabled)
    edges, acts, verdicts = reserve(steps), reserve(steps // 4 + 1), reserve(shape.properties * (begin // 64 + 64))
    assert shard.link(0, begin, address(edges), address(acts), address(verdicts)) == steps
    parts = reserve(begin // 4 + 1)
    for first, end in levels:
        counts, states = numbers([0] * PARTS), address(shard.states) + 8 * shape.words * first
        codec.native.function("count_buckets", 6)(
            states, end - first, address(codec.steady), PARTS, address(parts) + 2 * first, address(counts)
        )
        largest += max(counts)
    leaving = codec.native.function("count_leaving", 3)(address(parts), address(edges), steps)
    return leaving / steps, largest * PARTS / begin


@pytest.mark.parametrize("name", ["kip320-3222", "kip101"])
def test_most_steps_stay_in_a_part_and_parts_are_even(name: str) -> None:
    question = load_spec(name).question()
    codec = codec_for(question)
    leaving, skew = judged(question, codec)
    assert 0.6 < leaving < 0.72, "by all bits, two thirds of the steps lead to another of three parts"
    codec.deal_by(masks_for(question, codec, PARTS))
    stays, uneven = judged(question, codec)
    assert stays < 0.45, (stays, uneven, skew)
    assert uneven < max(1.15, 1.05 * skew), (stays, uneven, skew)


def test_states_without_steps_and_fields_that_always_change_are_dealt_by_some_bits() -> None:
    for question in (ask(counters(1, 0), always("Any", lambda s: s.n0 >= 0)), ask(counters(1, 500))):
        masks = masks_for(question, codec_for(question), PARTS)
        assert len(masks) == 1


def test_steps_of_a_sample_are_between_states_that_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    question = ask(counters(6, 9), always("Any", lambda s: s.n0 >= 0))
    whole = {1, MOST_LEVELS}
    levels = set[int]()
    for kilobytes in (16, 24, 32, 48, 64, 96):
        monkeypatch.setattr("acked.checker.store.dealing.SAMPLE_BYTES", kilobytes << 10)
        sample = Sample(question, shape_of(question.plan), load_kernel(question.plan))
        targets = [edge & 0xFFFFFFFF for edge in sample.edges[: sample.steps]]
        assert max(targets, default=0) < sample.levels[-1][-1][1]
        levels.add(len(sample.levels))
    assert levels - whole, "memory must have been full within a level"


def test_a_layout_names_its_bits_and_one_without_them_has_all() -> None:
    question = ask(counters(3, 3), always("Any", lambda s: s.n0 >= 0))
    codec, other = codec_for(question), codec_for(question)
    plain = codec.fingerprint
    assert len(plain.split()) == 3
    other.adopt(plain)
    assert list(other.steady)[:1] == [ALL_BITS]
    codec.deal_by([0b101])
    assert codec.fingerprint == f"{plain} 5"
    other.adopt(codec.fingerprint)
    assert other.fingerprint == codec.fingerprint


def test_the_local_search_goes_on_with_a_run_whatever_its_bits(tmp_path: Path) -> None:
    question = ask(counters(4, 5), always("Any", lambda s: s.n0 >= 0))
    with RunDirectory.create(tmp_path / "run", question) as run:
        codec = StateCodec(shape_of(question.plan), run.buckets, codec_for(question).native)
        codec.deal_by([0b111])
        run.agree_on_layout(codec)
        search(question, Bounds(2, 1 << 26, max_depth=7), stored=run)
    with RunDirectory.open(tmp_path / "run", question) as run:
        assert run.layout == codec.fingerprint
        again = search(question, Bounds(2, 1 << 26), stored=run)
    assert again.stored_levels == 7
    assert answer(again) == answer(search(question, Bounds(1, 1 << 26)))
