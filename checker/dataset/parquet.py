"""Reachable states as data: a Parquet dataset with one typed, named column per field of the state.

`write_dataset`, from a run directory's level files to Parquet.

    states/level-00007.parquet        id, level, and the fields of the state; a log is a list of records, its end their number
    transitions/level-00007.parquet   source, target, level (of the source), action, arguments
    levels.parquet                    per level: states, and what was fired from it
    actions.parquet                   per level and action: how often it was enabled, and how often that led to a new state
    about.json                        the question, in words

An `id` is the packed state in hexadecimal: the same in every run of the same protocol and constants, whatever found it.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.checker.dataset.level_arrays import chosen_levels, codec_of, levels_of, states_in
from acked.checker.loops import slots
from acked.checker.native.compile import Kernel, compile_kernel
from acked.checker.native.shape import shape_of
from acked.checker.predicate.parse import parse_predicate
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.shards.shard import address, alone
from acked.checker.store.level_file import StateCodec
from acked.checker.store.run_directory import RunDirectory, identity_of
from acked.invariants.property import Kind, Property
from acked.model.language.domain import Domain, LeafDomain
from acked.model.language.domain import Path as FieldPath
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.storage.messages import MessagesDomain
from acked.model.language.values import Bool

with optional_packages():
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT = "acked-states/1"
Number = TypeVar("Number", bound=np.generic)

_TABLE_LIMIT = 1 << 16
"""Up to so many values a leaf's values are listed once and looked up."""

T = TypeVar("T")


@frozen
class Written:
    """What a dataset holds."""

    states: int
    transitions: int
    levels: int


class Columns:
    """Packed states as Arrow columns."""

    def __init__(self, question: Question) -> None:
        self.schema = question.instance.schema
        self._root: StructDomain = self.schema._root
        self._constants = self.schema.constants
        self._tables: dict[int, pa.Array] = {}
        shape = shape_of(question.plan)
        self._widths = [(bits + 7) // 8 for bits in shape.word_bits]
        self._digits = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype="S2")

    def ids(self, words: NDArray[np.uint64]) -> pa.Array:
        """The id of every state; `words` has shape (states, W)."""
        count = len(words)
        parts = [
            words[:, w].astype(">u8").view(np.uint8).reshape(count, 8)[:, 8 - width :]
            for w, width in enumerate(self._widths)
            if width
        ]
        raw = np.concatenate(parts, axis=1) if parts else np.zeros((count, 1), np.uint8)
        text = self._digits[raw]
        offsets = np.arange(count + 1, dtype=np.int32) * (2 * raw.shape[1])
        return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))

    def fields(self, words: NDArray[np.uint64]) -> dict[str, pa.Array]:
        """The top-level fields of every state; `words` has shape (states, W)."""
        return {name: self._column(domain, (name,), words) for name, domain in self._root.struct.domains().items()}

    def _column(self, domain: Domain, path: FieldPath, words: NDArray[np.uint64]) -> pa.Array:
        if isinstance(domain, LeafDomain):
            return self._leaf(path, words)
        if isinstance(domain, StructDomain):
            members = domain.struct.domains()
            parts = [self._column(member, (*path, name), words) for name, member in members.items()]
            return pa.StructArray.from_arrays(parts, names=list(members))
        if isinstance(domain, MessagesDomain):
            return self._messages(domain, path, words)
        if isinstance(domain, ArrayDomain):
            size = domain.index.cardinality(self._constants)
            elements = [self._column(domain.element, (*path, k), words) for k in range(size)]
            return _lists(elements, np.full(len(words), size))
        if isinstance(domain, LogDomain):
            size = domain.end.cardinality(self._constants) - 1
            records = [self._column(domain.content, (*path, LogDomain.RECORDS, k), words) for k in range(size)]
            return _lists(records, self._codes((*path, LogDomain.END), words).astype(np.int64))
        raise ConfigurationError(f"states with a {type(domain).__name__} cannot be written as columns yet")

    def _messages(self, domain: MessagesDomain, path: FieldPath, words: NDArray[np.uint64]) -> pa.Array:
        """Of every state the list of the structs that are there, each as often as it is."""
        known = [*domain.plain(self._constants)]
        counts = np.stack([self._codes((*path, *codes), words) for codes, _ in known], axis=1).astype(np.int64)
        at = np.repeat(np.tile(np.arange(len(known)), len(words)), counts.ravel())
        offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array([value for _, value in known]).take(pa.array(at)))

    def _codes(self, path: FieldPath, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        leaf = self.schema.leaves[self.schema.by_path[path]]
        return (words[:, leaf.word] >> np.uint64(leaf.shift % 64)) & np.uint64((1 << leaf.bits) - 1)

    def _leaf(self, path: FieldPath, words: NDArray[np.uint64]) -> pa.Array:
        number = self.schema.by_path[path]
        leaf = self.schema.leaves[number]
        codes = self._codes(path, words)
        if leaf.cardinality <= _TABLE_LIMIT:
            if number not in self._tables:
                self._tables[number] = self._values(leaf.domain, range(leaf.cardinality))
            return self._tables[number].take(pa.array(codes.astype(np.int64)))
        distinct, at = np.unique(codes, return_inverse=True)
        return self._values(leaf.domain, distinct.tolist()).take(pa.array(at))

    def _values(self, domain: LeafDomain, codes: Sequence[int]) -> pa.Array:
        values = pa.array([domain.to_plain(code, self._constants) for code in codes])
        return values.cast(_narrow(values.type))


def _narrow(kind: pa.DataType) -> pa.DataType:
    """32-bit numbers for what was taken to be 64-bit ones; a field that is always missing is a number too."""
    if pa.types.is_list(kind):
        return pa.list_(_narrow(kind.value_type))
    return pa.int32() if pa.types.is_int64(kind) or pa.types.is_null(kind) else kind


def _lists(elements: Sequence[pa.Array], lengths: NDArray[np.int64]) -> pa.Array:
    """For every row the first `lengths` of its elements, which are given column by column."""
    rows, count = len(lengths), len(elements)
    offsets = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    if not count:
        return pa.ListArray.from_arrays(pa.array(offsets), pa.nulls(0, pa.int32()))
    order = np.arange(rows * count).reshape(count, rows).T
    wanted = order[np.arange(count)[None, :] < lengths[:, None]]
    values = pa.concat_arrays(list(elements)).take(pa.array(wanted))
    return pa.ListArray.from_arrays(pa.array(offsets), values)


class _Batches:
    """A question's kernel, which is given packed states a batch at a time and leaves what it finds in scratch memory."""

    def __init__(self, question: Question) -> None:
        self.shape, self.kernel = shape_of(question.plan), Kernel(compile_kernel(question.plan))
        self._shard = alone(self.shape, self.kernel, BATCH * 8 * (self.shape.words + 2))
        self._evaluate = self.kernel.function("evaluate", 3)
        self.context = address(self._shard.context)

    def evaluate(self, words: NDArray[np.uint64]) -> Iterator[tuple[int, int, int]]:
        """Decides all guards and properties; of every batch where it begins, how many states it has, and where they stand."""
        batch = np.zeros((BATCH, self.shape.words), np.uint64)
        for begin in range(0, len(words), BATCH):
            some = words[begin : begin + BATCH]
            batch[: len(some)] = some
            self._evaluate(self.context, batch.ctypes.data, len(some))
            yield begin, len(some), batch.ctypes.data

    def view(self, slot: int, kind: type[Number], count: int) -> NDArray[Number]:
        """An array of the scratch memory, for as long as nothing else is evaluated."""
        size = count * np.dtype(kind).itemsize
        return np.frombuffer(memoryview((ctypes.c_char * size).from_address(self._shard.context[slot])), kind)


class Edges:
    """The transitions out of packed states, fired by the kernel."""

    def __init__(self, question: Question, columns: Columns) -> None:
        self._batches, self._columns = _Batches(question), columns
        self._fire = self._batches.kernel.function("fire_all", 3)
        steps = question.instance.actions
        self._names = pa.array([step.action.name for step in steps], pa.string())
        parameters = list(dict.fromkeys(name for step in steps for name in step.arguments))
        self._arguments = pa.StructArray.from_arrays(
            [_argument_column([step.arguments.get(name) for step in steps]) for name in parameters], names=parameters
        ) if parameters else None  # fmt: skip

    def edges_from(self, words: NDArray[np.uint64], keep: Condition | None = None) -> dict[str, pa.Array]:
        """The edges out of the states, or those of them whose targets are kept; `words` has a row per state."""
        batches, width, count = self._batches, self._batches.shape.words, self._batches.shape.actions
        sources, targets, actions = [np.zeros(0, np.int64)], [np.zeros((0, width), np.uint64)], [np.zeros(0, np.int64)]
        for begin, size, here in batches.evaluate(words):
            fired = self._fire(batches.context, here, size)
            rows = batches.view(slots.ROWS, np.uint8, count * BATCH // 8).reshape(count, BATCH // 8)
            enabled = np.unpackbits(rows, axis=1, bitorder="little")[:, :size]
            action, position = np.nonzero(enabled)
            assert len(action) == fired, "the kernel fires what its guards enable"
            sources.append(position + begin)
            targets.append(batches.view(slots.OUT, np.uint64, fired * width).reshape(fired, width).copy())
            actions.append(action)
        source, target, number = np.concatenate(sources), np.concatenate(targets), np.concatenate(actions)
        if keep is not None:
            wanted = keep.holds(target)
            source, target, number = source[wanted], target[wanted], number[wanted]
        taken = pa.array(number)
        columns = {
            "source": self._columns.ids(words).take(pa.array(source)),
            "target": self._columns.ids(target),
            "action": self._names.take(taken),
        }
        return columns if self._arguments is None else {**columns, "arguments": self._arguments.take(taken)}


class Condition:
    """A predicate that somebody typed, decided by the kernel for many states at a time; `text` is a predicate."""

    def __init__(self, question: Question, text: str) -> None:
        old = question.instance
        # Of its own, because what is asked of an instance changes the order of its expressions.
        instance = old.protocol.instantiate(old.constants, old.dropped)
        wanted = parse_predicate(text, instance)
        absent = Property("Absent", Kind.STATE, lambda _: ~Bool(wanted), f"not {text}", "asked for", "")
        self.text = text
        self._batches = _Batches(Question(instance, (absent,)))

    def holds(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For every state whether it satisfies the predicate; `words` has shape (states, W), the answer (states,)."""
        found = np.zeros(len(words), bool)
        rows = self._batches.shape.actions + 1
        for begin, size, _ in self._batches.evaluate(words):
            bits = self._batches.view(slots.ROWS, np.uint8, rows * BATCH // 8)[-BATCH // 8 :]
            found[begin : begin + size] = np.unpackbits(bits, bitorder="little")[:size]
        return found


class Rows:
    """Packed states of a level as rows of the tables of a dataset: all, or those for which a condition holds."""

    def __init__(self, question: Question, where: Condition | None = None) -> None:
        self._question, self._where = question, where
        self._columns = Columns(question)
        self._edges: Edges | None = None

    def batch(self, table: str, level: int, words: NDArray[np.uint64]) -> pa.RecordBatch:
        """The rows of "states" or of "transitions" out of them; `words` has shape (states, W)."""
        kept = words if self._where is None else words[self._where.holds(words)]
        if table == "states":
            columns = {"id": self._columns.ids(kept), "level": _level_column(level, len(kept)), **self._columns.fields(kept)}
        else:
            if self._edges is None:
                self._edges = Edges(self._question, self._columns)
            (source, target, *rest) = self._edges.edges_from(kept, self._where).items()
            columns = dict([source, target, ("level", _level_column(level, len(source[1]))), *rest])
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _level_column(level: int, count: int) -> pa.Array:
    return pa.array(np.full(count, level, np.int32))


def _argument_column(values: Sequence[Any]) -> pa.Array:
    """One parameter of every action instance, None where an action has none of that name: numbers, truth values or sets."""
    if any(isinstance(value, list) for value in values):
        return pa.array(values, pa.list_(pa.int32()))
    if any(isinstance(value, bool) for value in values):
        return pa.array(values, pa.bool_())
    return pa.array(values, pa.int32())


def write_dataset(
    question: Question,
    run: RunDirectory,
    out: Path,
    levels: Collection[int] | None = None,
    transitions: bool = False,
    on_level: Callable[[int, int], None] = lambda level, states: None,
    where: Condition | None = None,
) -> Written:
    """Writes the states of a run, all or some, and if asked to their transitions, under `out`.

    With `where`, only states that satisfy it, and transitions between such; with `levels`, only those of these levels, and
    the transitions out of them, whichever level they lead to.

    `out` must not exist or be empty; it appears in one step. `on_level` is told what has been written.
    """
    refuse_occupied(out)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        (temporary / "states").mkdir(parents=True)
        if transitions:
            (temporary / "transitions").mkdir()
        written = _write(question, run, temporary, levels, transitions, on_level, where)
        if out.is_dir():
            out.rmdir()
        os.replace(temporary, out)
    except OSError as error:
        raise SystemFailure(
            f"cannot write the states to {out}: {error.strerror}; make room, or choose another place"
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return written


def refuse_occupied(out: Path) -> None:
    """`ConfigurationError` if something is there already, `SystemFailure` if its folder is not."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} is there already; choose a new folder, or remove it")
    if not out.absolute().parent.is_dir():
        raise SystemFailure(f"cannot write to {out}: the folder {out.parent} does not exist; make it first")


def _write(
    question: Question,
    run: RunDirectory,
    folder: Path,
    levels: Collection[int] | None,
    transitions: bool,
    on_level: Callable[[int, int], None],
    where: Condition | None,
) -> Written:
    codec = codec_of(question, run.buckets)
    run.agree_on_layout(codec)
    rows = Rows(question, where)
    chosen = chosen_levels(run, levels)
    counts = {"states": 0, "transitions": 0}
    with ThreadPoolExecutor(1) as writer:
        for level in chosen:
            tables = {
                name: _Table(writer, folder / name / f"level-{level:05}.parquet")
                for name in ("states", "transitions")[: 1 + transitions]
            }
            with ExitStack() as opened:
                for table in tables.values():
                    opened.enter_context(table)
                for words in _states(run, codec, level):
                    for name, table in tables.items():
                        batch = rows.batch(name, level, words)
                        counts[name] += batch.num_rows
                        table.write(batch)
            on_level(level, counts["states"])
    moves = counts["transitions"] if transitions else None
    write_tables(question, run, folder, chosen, counts["states"], moves, None if where is None else where.text)
    return Written(counts["states"], counts["transitions"], len(chosen))


def write_tables(
    question: Question,
    run: RunDirectory,
    folder: Path,
    levels: Sequence[int],
    states: int,
    transitions: int | None,
    where: str | None,
) -> None:
    """Writes what a dataset has besides states and transitions: levels, actions, and what it is about."""
    _write_levels(question, run, folder, levels_of(run))
    counts = {"levels": levels, "states": states, "transitions": transitions}
    about = {"format": FORMAT, **identity_of(question), **counts, **({} if where is None else {"where": where})}
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _states(run: RunDirectory, codec: StateCodec, level: int) -> Iterator[NDArray[np.uint64]]:
    for file in run.files_of(level):
        yield from states_in(codec, run.level_path(file), level, file)


class _Table:
    """A Parquet file that is written while the next rows are made; no rows, no file."""

    def __init__(self, pool: ThreadPoolExecutor, path: Path) -> None:
        self._pool, self._path = pool, path
        self._writer: pq.ParquetWriter | None = None
        self._pending: Any = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._wait()
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, batch.schema, compression="zstd", compression_level=1)
        self._wait()
        self._pending = self._pool.submit(self._writer.write_batch, batch)

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None


def _write_levels(question: Question, run: RunDirectory, folder: Path, known: Sequence[int]) -> None:
    names = [step.action.name for step in question.instance.actions]
    distinct = list(dict.fromkeys(names))
    reports = run.reports
    levels: dict[str, list[Any]] = {"level": [], "states": [], "generated": [], "new": []}
    actions: dict[str, list[Any]] = {"level": [], "action": [], "enabled": [], "new": []}
    for level in known:
        report = reports[level - 1] if level <= len(reports) else None
        levels["level"].append(level)
        levels["states"].append(sum(file.states for file in run.files_of(level)))
        levels["generated"].append(None if report is None else sum(report.enabled))
        levels["new"].append(None if report is None else report.next_states)
        for name in distinct if report is not None else ():
            assert report is not None
            actions["level"].append(level)
            actions["action"].append(name)
            for key, counts in (("enabled", report.enabled), ("new", report.new)):
                actions[key].append(sum(n for other, n in zip(names, counts, strict=True) if other == name))
    wide = {"level": pa.int32(), "action": pa.string()}
    for name, table in (("levels", levels), ("actions", actions)):
        columns = {key: pa.array(values, wide.get(key, pa.int64())) for key, values in table.items()}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
