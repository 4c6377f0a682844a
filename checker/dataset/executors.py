"""Reachable states as data, by Spark: executors read the level files of a run, decode them and write Parquet.

`write_on_spark`, the dataset of `parquet.py` in any file system of Hadoop's, with states and transitions in a folder for each
level (`states/level=7/…`). Nothing of them passes through the driver, and a task holds some thousand states at a time.
"""

from __future__ import annotations

import math
import pickle
import socket
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.checker.dataset.level_arrays import chosen_levels, codec_of, states_in
from acked.checker.dataset.parquet import Condition, Rows, Written, write_tables
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.spark.hadoop import HadoopFolder
from acked.checker.spark.jobs import Pages
from acked.checker.spark.session import SparkDriver, reason
from acked.checker.spark.shipping import remote
from acked.checker.spec.question_text import QuestionText
from acked.checker.store.level_file import LevelFile, StateCodec
from acked.checker.store.run_directory import RunDirectory

with optional_packages():
    import pyarrow as pa

PART_STATES = 1 << 20
"""About so many states are a task's: some seconds of work, and a file of some megabytes."""
BATCH_STATES = 1 << 13
"""So many states are decoded at a time."""
LOOK_SECONDS = 0.5


@frozen
class Piece:
    """Blocks of the file of a level: each one of `turns` in a row that has the number `turn`."""

    level: int
    file: LevelFile
    turn: int
    turns: int


@frozen
class Reading:
    """What executors need to make rows of level files; `where` is a predicate of ours."""

    asked: QuestionText
    run: Path
    buckets: int
    where: str | None

    def question(self) -> Question:
        """What the run is about: data is about every state."""
        return self.asked.question().without_graph_properties()


@frozen
class Wanted:
    """What of a run is written: levels (None: all), transitions, and the states for which a predicate, ours or SQL, holds."""

    levels: Collection[int] | None = None
    transitions: bool = False
    where: str | None = None
    sql: str | None = None


def write_on_spark(
    driver: SparkDriver, asked: QuestionText, run: RunDirectory, out: str, wanted: Wanted, observer: Observer
) -> Written:
    """Writes the states of a run under `out`, a folder or a URI; if anything fails, nothing is left there."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    folder = HadoopFolder(driver, out)
    folder.refuse_occupied()
    reading = Reading(asked, run.path.resolve(), run.buckets, wanted.where)
    question = reading.question()
    run.agree_on_layout(codec_of(question, run.buckets))
    try:
        written = _Writing(driver, reading, question, run, folder, wanted, observer).run()
    except BaseException as error:
        driver.cancel()
        folder.remove()
        if isinstance(error, (Py4JError, PySparkException)):
            driver.note_failure(str(error))
            raise SystemFailure(f"cannot write the states to {out}: {reason(error)}; Spark's log is {driver.log}") from None
        raise
    folder.tidy()
    return written


class _Writing:
    """One dataset on its way to its folder."""

    def __init__(
        self,
        driver: SparkDriver,
        reading: Reading,
        question: Question,
        run: RunDirectory,
        folder: HadoopFolder,
        wanted: Wanted,
        observer: Observer,
    ) -> None:
        from pyspark.sql import SparkSession

        self._driver, self._session, self._pages = driver, SparkSession(driver.context), Pages(driver, question)
        self._reading, self._question, self._run = reading, question, run
        self._folder, self._wanted, self._observer = folder, wanted, observer
        self._levels = chosen_levels(run, wanted.levels)

    def run(self) -> Written:
        from pyspark.errors import AnalysisException, ParseException

        states = self._rows("states", self._levels)
        if self._wanted.sql is not None:
            try:
                states = states.where(self._wanted.sql)
            except (AnalysisException, ParseException) as error:
                text = f"--where {self._wanted.sql!r} is not a condition on states: {reason(error)}"
                raise ConfigurationError(text) from None
        count = self._write(states, "states")
        moves = None
        if self._wanted.transitions:
            steps = self._rows("transitions", self._levels)
            if self._wanted.sql is not None:
                kept = self._session.read.schema(states.schema).parquet(self._folder.child("states")).select("id")
                # A step may lead to a level that is not chosen, whose states are nowhere but in the run.
                reached = kept
                if self._wanted.levels is not None:
                    reached = self._rows("states", chosen_levels(self._run, None)).where(self._wanted.sql).select("id")
                for end, ids in (("source", kept), ("target", reached)):
                    steps = steps.join(ids, steps[end] == ids["id"], "left_semi")
            moves = self._write(steps, "transitions")
        with tempfile.TemporaryDirectory(prefix="acked-tables-") as place:
            where, tables = self._wanted.where or self._wanted.sql, Path(place)
            write_tables(self._question, self._run, tables, self._levels, count, moves, where)
            for name in ("levels.parquet", "actions.parquet", "about.json"):  # the last one, which makes it a dataset, last
                self._folder.put(tables / name, name)
        return Written(count, moves or 0, len(self._levels))

    def _rows(self, table: str, levels: Sequence[int]) -> Any:
        """A table of some levels of the run as a DataFrame, which is computed where and when it is read."""
        from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
        from pyspark.sql.pandas.types import from_arrow_schema

        # Classes of a function travel by value, and bytes need no module of ours.
        schema = from_arrow_schema(Rows(self._question).batch(table, 1, _no_states(self._question)).schema)
        parts = [pickle.dumps(part) for part in parts_of(self._run, levels)]
        payload = pickle.dumps((self._reading, table), pickle.HIGHEST_PROTOCOL)
        read = remote("acked.checker.dataset.executors:read_rows", payload)

        class Reader(DataSourceReader):
            def partitions(self) -> Sequence[Any]:
                return [InputPartition(part) for part in parts]

            def read(self, partition: Any) -> Any:
                return read(partition.value)

        class LevelFiles(DataSource):
            @classmethod
            def name(cls) -> str:
                return f"acked_{table}"

            def schema(self) -> Any:
                return schema

            def reader(self, schema: Any) -> Any:
                return Reader()

        self._session.dataSource.register(LevelFiles)
        return self._session.read.format(LevelFiles.name()).load()

    def _write(self, rows: Any, name: str) -> int:
        """Writes a table, and tells how it goes; how many rows it has."""
        place = self._folder.child(name)

        def work() -> int:
            self._pages.describe(f"writes {name} to {place}")
            options = {"compression": "zstd", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
            rows.write.options(**options).partitionBy("level").parquet(place)
            self._folder.make(name)
            return int(self._session.read.schema(rows.schema).parquet(place).count())

        return self._watch(work, f"writing {name}")

    def _watch(self, work: Callable[[], int], title: str) -> int:
        tracker = self._driver.context.statusTracker()
        with ThreadPoolExecutor(1) as thread:
            job = thread.submit(work)
            while True:
                try:
                    return job.result(LOOK_SECONDS)
                except TimeoutError:
                    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                    done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                    total = sum(stage.numTasks for stage in stages if stage is not None)
                    self._observer.phase(f"{title}: {done} of {total} parts" if total else title)
                except KeyboardInterrupt:
                    self._driver.cancel()
                    raise


def parts_of(run: RunDirectory, levels: Sequence[int]) -> list[tuple[Piece, ...]]:
    """The files of some levels, dealt to tasks: small ones together, large ones by their blocks."""
    parts: list[list[Piece]] = []
    room = 0
    for level in levels:
        for file in run.files_of(level):
            turns = math.ceil(file.states / PART_STATES)
            for turn in range(turns):
                if room < file.states // turns:
                    parts.append([])
                    room = PART_STATES
                parts[-1].append(Piece(level, file, turn, turns))
                room -= file.states // turns
    return [tuple(part) for part in parts]


def read_rows(payload: bytes, part: bytes) -> Iterator[pa.RecordBatch]:
    """On an executor: a table's rows of some pieces."""
    reading, table = pickle.loads(payload)
    rows, codec = _reader(payload)
    if not reading.run.is_dir():
        raise SystemFailure(
            f"{socket.gethostname()} does not see the run directory {reading.run}, which executors read; have it where they "
            "all see it, or write with --master local[2]"
        )
    for piece in pickle.loads(part):
        path = reading.run / "levels" / piece.file.name
        turns = cycle(turn == piece.turn for turn in range(piece.turns))
        for states in states_in(codec, path, piece.level, piece.file, turns):
            for begin in range(0, len(states), BATCH_STATES):
                batch = rows.batch(table, piece.level, states[begin : begin + BATCH_STATES])
                if batch.num_rows:
                    yield batch


@cache
def _reader(payload: bytes) -> tuple[Rows, StateCodec]:
    """What makes rows, once per process."""
    reading, _ = pickle.loads(payload)
    question = reading.question()
    where = None if reading.where is None else Condition(question, reading.where)
    return Rows(question, where), codec_of(question, reading.buckets)


def _no_states(question: Question) -> Any:
    return np.zeros((0, question.instance.schema.words), np.uint64)
