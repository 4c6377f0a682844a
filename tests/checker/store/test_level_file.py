"""Level files: what is written is what is read, whole, by buckets or by turns; and who writes the levels of a search."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from acked.checker.native import compile as compiling
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape, shape_of
from acked.checker.question.question import Question
from acked.checker.shards.shard import address, numbers
from acked.checker.store import level_file, recorder
from acked.checker.store.level_file import DamagedFile, LevelFile, LevelWriter, Records, StateCodec, exchange_code
from acked.checker.store.recorder import Recorder
from acked.checker.store.run_directory import OLDER, RunDirectory
from tests.checker.search.test_delayed import in_memory, least_memory, on_disk, wide
from tests.checker.store.test_checkpoint import cut, question, recorded, resumed, search
from tests.checker.toys import always, answer, ask, counters

BUCKETS = 7
LEVEL = 3
WIDTHS = ((9,), (64, 23), (64, 63, 3), (1, 64))
"""Bits of the words of states: of a toy, of `kip320`, of `partition`, and with a first word of which one byte is used."""

State = tuple[int, ...]


def shape(bits: Sequence[int]) -> Shape:
    known = shape_of(question().plan)
    return replace(known, word_bits=tuple(bits), words=len(bits))


def codec(bits: Sequence[int]) -> StateCodec:
    of = shape(bits)
    return StateCodec(of, BUCKETS, Kernel(exchange_code(of)))


def neighbours(bits: Sequence[int], count: int) -> list[State]:
    """States of which each has most of its bytes from the one before, some none, and some all."""
    draw, state, found = random.Random(len(bits)), [0] * len(bits), []
    for number in range(count):
        for _ in range(number % 5):
            word = draw.randrange(len(bits))
            state[word] ^= draw.getrandbits(bits[word]) & 0xFF << 8 * draw.randrange(8)
        if number % 50 == 49:
            state = [draw.getrandbits(width) for width in bits]
        found.append(tuple(word & (1 << width) - 1 for word, width in zip(state, bits, strict=True)))
    return found


def write(path: Path, by: StateCodec, states: Sequence[State], packs: bool, together: int = 1000) -> LevelFile:
    words = numbers(word for state in states for word in state)
    file = LevelWriter(path, LEVEL, packs)
    for begin in range(0, len(states), together):
        file.add(by, address(words) + 8 * by.words * begin, min(together, len(states) - begin))
    return file.close()


def states_of(by: StateCodec, read: Sequence[Records]) -> list[State]:
    found: list[State] = []
    for records in read:
        words = list(by.unpack(records))
        found += [tuple(words[at * by.words : (at + 1) * by.words]) for at in range(records.count)]
    return found


@pytest.mark.parametrize("bits", WIDTHS)
def test_packed_states_are_read_in_their_order_and_by_buckets(tmp_path: Path, bits: Sequence[int]) -> None:
    by, states = codec(bits), neighbours(bits, 2500)
    packed = write(tmp_path / "packed", by, states, packs=True)
    grouped = write(tmp_path / "grouped", by, states, packs=False)
    assert states_of(by, list(by.read(tmp_path / "packed", LEVEL, packed))) == states
    wanted = [bucket in (0, 2, 3, 6) for bucket in range(BUCKETS)]
    for chosen in (wanted, [not one for one in wanted]):
        here, there = (
            sorted(states_of(by, list(by.read(path, LEVEL, file, chosen))))
            for path, file in ((tmp_path / "packed", packed), (tmp_path / "grouped", grouped))
        )
        assert here == there
        assert 0 < len(here) < len(states)


@pytest.mark.slow
@pytest.mark.parametrize("bits", WIDTHS)
def test_every_processor_writes_the_same_bytes(tmp_path: Path, bits: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    states = neighbours(bits, 300)
    write(tmp_path / "here", codec(bits), states, packs=True)
    monkeypatch.setattr(compiling, "_processor_literals", lambda: {"COMPRESSES": 0, "EXTRACTS": 0})
    write(tmp_path / "elsewhere", codec(bits), states, packs=True)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "elsewhere").read_bytes()


def test_of_a_state_like_the_one_before_it_only_that_is_written(tmp_path: Path) -> None:
    by = codec((64, 23))
    state = (0x123456789ABCDEF0, 0x112233)
    header = len(by.pack(LEVEL, address(numbers(state)), 1)[0])
    assert write(tmp_path / "one", by, [state], packs=True).size == header + 2 + 11
    assert write(tmp_path / "same", by, [state] * 4, packs=True).size == header + 2 + 11 + 3 * 2
    assert write(tmp_path / "near", by, [state, (state[0] ^ 1 << 40, state[1])], packs=True).size == header + 2 + 11 + 2 + 1


@pytest.mark.parametrize("packs", [True, False])
def test_workers_that_take_turns_read_every_block_once(tmp_path: Path, packs: bool) -> None:
    by, states = codec((64, 23)), neighbours((64, 23), 1000)
    file = write(tmp_path / "file", by, states, packs, together=300)
    turns = ([True, False, False, True], [False, True, True, False])
    first, second = (states_of(by, list(by.read(tmp_path / "file", LEVEL, file, turns=iter(mine)))) for mine in turns)
    assert (len(first), len(second)) == (400, 600)
    assert sorted(first + second) == sorted(states)


def test_another_file_of_the_same_level_and_length_is_refused(tmp_path: Path) -> None:
    by = codec((64, 23))
    one = write(tmp_path / "one", by, [(1, 0)], packs=True)
    other = write(tmp_path / "other", by, [(2, 0)], packs=True)
    assert (one.size, one.states) == (other.size, other.states)
    with pytest.raises(DamagedFile, match="not the one that was written"):
        list(by.read(tmp_path / "one", LEVEL, other))


def kinds(run: Path) -> set[bytes]:
    return {path.read_bytes()[:8] for path in (run / "levels").iterdir()}


def test_a_run_of_the_older_format_goes_on_in_it(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "run", question(), 5) as run:
        run.format = OLDER
        search(run, 2)
    cut(tmp_path / "run", 6)
    expected = answer(search())
    assert answer(resumed(tmp_path / "run", 2)) == expected
    assert kinds(tmp_path / "run") == {level_file.MAGIC}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["format"] == OLDER
    assert answer(resumed(tmp_path / "run")) == expected


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_with_packed_levels_goes_on_beyond_memory(tmp_path: Path, workers: int) -> None:
    with RunDirectory.create(tmp_path / "run", wide(), 5) as run:
        on_the_way = search_of(wide(), run)
    assert kinds(tmp_path / "run") == {level_file.PACKED}
    cut(tmp_path / "run", 9)
    result = on_disk(tmp_path / "run", wide(), least_memory(workers), workers)
    assert any("the visited states were on disk" in note for note in result.notes)
    assert answer(result) == on_the_way == in_memory(wide())
    assert kinds(tmp_path / "run") == {level_file.PACKED, level_file.MAGIC}


def search_of(asked: Question, run: RunDirectory) -> dict[str, object]:
    from acked.base.bounds import Bounds
    from acked.checker.search.local import LocalSearch

    return answer(LocalSearch(asked, Bounds(2, 64 << 20), stored=run).run())


# -- who writes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "BLOCK_STATES", 4)
    monkeypatch.setattr(recorder, "BEHIND", 0)


@pytest.mark.usefixtures("_small_blocks")
def test_workers_write_what_is_behind_and_states_stay_until_they_are_written(tmp_path: Path) -> None:
    asked = ask(counters(3, 6), always("Any", lambda s: s.n0 >= 0))
    words = numbers(range(30))
    begin = address(words)
    with RunDirectory.create(tmp_path / "run", asked, 5) as run, ThreadPoolExecutor(2) as pool:
        writes = Recorder(run, shape_of(asked.plan), 2, packs=True)  # whose own thread has no processor
        writes.record(None, [(begin, 10), (begin + 8 * 20, 6)], 8)
        assert [writes.first_unwritten(worker) for worker in (0, 1)] == [begin, begin + 8 * 20]
        writes.catch_up(16, pool)
        assert [writes.first_unwritten(worker) for worker in (0, 1)] == [begin, begin + 8 * 20], "nothing is behind"
        writes.catch_up(9, pool)
        assert [writes.first_unwritten(worker) for worker in (0, 1)] == [begin + 8 * 4, begin + 8 * 24]
        writes.catch_up(0, pool)
        assert [writes.first_unwritten(worker) for worker in (0, 1)] == [None, None]
        assert not writes.is_done
        with writes:
            pass
        assert writes.is_done
        assert run.known_levels == 1
        by, files = writes.codecs[0], run.files_of(1)
        stored = [state for file in files for state in states_of(by, list(by.read(run.level_path(file), 1, file)))]
    assert sorted(stored) == [(number,) for number in (*range(10), *range(20, 26))]


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("workers", [1, 3])
def test_levels_that_workers_wrote_are_as_good(tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "BEHIND", -(10**9))
    expected = answer(search())
    assert answer(recorded(tmp_path / "run", workers)) == expected
    writers = {name.rpartition("-")[2] for name in os.listdir(tmp_path / "run" / "levels")}
    assert writers - {f"{workers}.states"}, "workers wrote some"
    cut(tmp_path / "run", 8)
    assert answer(resumed(tmp_path / "run", 2)) == expected


@pytest.mark.usefixtures("_small_blocks")
def test_what_a_worker_could_not_write_ends_the_search_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorder, "BEHIND", -(10**9))
    monkeypatch.setattr(level_file, "write_all", refuse)
    with pytest.raises(Exception, match=r"cannot write .*: No space left on device; make room"):
        recorded(tmp_path / "run", 2)
    assert not [name for name in os.listdir(tmp_path / "run" / "levels") if name.endswith(".states")]
