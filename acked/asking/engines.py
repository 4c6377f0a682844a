"""Which engine answers a question: the options of `acked check` that choose it, and the way from one to the other.

`EngineOptions`, `answer`, and the run directory and Spark driver that they need; and what searches for the commands that ask
many questions.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from acked.checker.errors import ConfigurationError, SystemFailure

if TYPE_CHECKING:
    from acked.checker.batch.local import Runner
    from acked.checker.bounds import Bounds
    from acked.checker.observer import Observer
    from acked.checker.question.ledger import StopPolicy
    from acked.checker.question.question import Question
    from acked.checker.question.result import Result
    from acked.checker.spark.session import SparkDriver, SparkSettings
    from acked.checker.store.run_directory import RunDirectory

ENGINES = ("auto", "local", "spark")


@dataclass(frozen=True)
class EngineOptions:
    """What the command line says about engines; `spec` is what the user called the spec, `memory` is None if not given."""

    spec: str
    engine: str = "auto"
    master: str | None = None
    run_dir: Path | None = None
    resume: Path | None = None
    buckets: int | None = None
    conf: tuple[tuple[str, str], ...] = ()
    memory: int | None = None

    def check(self, has_workers: bool) -> None:
        """Refuses options that contradict each other."""
        uses_spark = self.engine == "spark" or self.hands_over
        if self.engine == "local" and self.master is not None:
            raise ConfigurationError("--master is for Spark, but --engine is local; leave one of them out")
        if self.conf and not uses_spark:
            raise ConfigurationError("--conf is for Spark; add --engine spark, or a --master other than local")
        if self.engine == "spark" and has_workers:
            raise ConfigurationError("--workers is for the local search; Spark's slots are chosen by --master, say local[2]")
        if self.run_dir is not None and self.resume is not None:
            raise ConfigurationError("--run-dir begins a run and --resume goes on with one; give one of them")
        if self.buckets is not None and self.resume is not None:
            raise ConfigurationError("--buckets is fixed when a run begins; leave it out with --resume")
        if self.buckets is not None and not uses_spark and self.run_dir is None:
            raise ConfigurationError("--buckets is for runs that are stored; add --run-dir or --engine spark")
        if repeated := sorted({name for name, _ in self.conf if [other for other, _ in self.conf].count(name) > 1}):
            raise ConfigurationError(f"--conf {', '.join(repeated)} is given twice; give each once")
        if uses_spark:
            _ = self.settings

    @property
    def hands_over(self) -> bool:
        """Whether a local search may go on over Spark."""
        return self.engine == "auto" and self.master is not None and not self.settings.is_local

    @property
    def settings(self) -> SparkSettings:
        """Where Spark runs."""
        from acked.checker.spark.session import SparkSettings

        return SparkSettings(self.master or "local[*]", dict(self.conf))

    @property
    def keeps(self) -> Path | None:
        """The run directory that stays."""
        return self.run_dir or self.resume


def answer(
    question: Question, options: EngineOptions, bounds: Bounds, policy: StopPolicy, observer: Observer
) -> Result:
    """Has the chosen engine answer."""
    if options.engine == "spark":
        question.refuse_graph_properties("over Spark", "use --engine local")
    elif options.keeps is not None or options.hands_over:
        question.refuse_graph_properties("in a stored run", "leave --run-dir, --resume and --master out")
    if options.engine == "spark":
        with _run_directory(question, options) as stored:
            return _over_spark(question, options, bounds, policy, observer, stored)
    from acked.checker.search.local import search

    if options.keeps is None and not options.hands_over:
        return _with_the_way_on(search(question, bounds, policy, observer), options)
    with _run_directory(question, options) as stored:
        result = search(question, bounds, policy, observer, stored)
        if not _met_memory(result) or not options.hands_over:
            return _with_the_way_on(result, options)
        note = f"the local search reached its memory budget at level {result.depth}; Spark went on from there"
        over = _over_spark(question, options, bounds, policy, observer, stored)
        return replace(over, seconds=result.seconds + over.seconds, notes=(note, *over.notes))


def _over_spark(
    question: Question,
    options: EngineOptions,
    bounds: Bounds,
    policy: StopPolicy,
    observer: Observer,
    stored: RunDirectory,
) -> Result:
    from acked.checker.spark.driver import SparkSearch

    observer.phase("starting Spark")
    with spark_driver(options.settings, options.keeps) as driver:
        search = SparkSearch(
            question,
            stored,
            driver,
            policy,
            observer,
            memory=options.memory,
            max_depth=bounds.max_depth,
            max_states=bounds.max_states,
        )
        return _with_the_way_on(search.run(), replace(options, engine="spark"))


def batch_runner(jobs: int | None, memory: int | None, master: str | None) -> Runner:
    """What searches for a command that asks many questions: processes here, or tasks of a Spark."""
    from acked.checker.batch.local import BatchLimits

    if master is None:
        return BatchLimits.default(jobs, memory)
    from acked.checker.batch.spark import SparkBatch
    from acked.checker.spark.session import SparkSettings

    if jobs is not None:
        raise ConfigurationError("--jobs is for processes here; Spark's slots are chosen by --master, say local[2]")
    settings = SparkSettings(master)
    return SparkBatch(lambda: spark_driver(settings), memory)


@contextmanager
def spark_driver(settings: SparkSettings, folder: Path | None = None) -> Iterator[SparkDriver]:
    """A Spark driver whose log is in a folder, or in the cache, where it stays only if something went wrong."""
    from acked.checker.cache import cache_folder
    from acked.checker.spark.session import SparkDriver

    if folder is not None:
        with SparkDriver(settings, folder.resolve() / "spark.log") as driver:
            yield driver
        return
    try:
        place = Path(tempfile.mkdtemp(prefix="acked-spark-log-", dir=cache_folder("spark-logs")))
    except OSError:
        place = Path(tempfile.mkdtemp(prefix="acked-spark-log-"))
    with SparkDriver(settings, place / "spark.log") as driver:
        yield driver
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _run_directory(question: Question, options: EngineOptions) -> Iterator[RunDirectory]:
    from acked.checker.store.run_directory import DEFAULT_BUCKETS, RunDirectory

    if options.resume is not None:
        with RunDirectory.open(options.resume, question) as stored:
            yield stored
        return
    buckets = DEFAULT_BUCKETS if options.buckets is None else options.buckets
    if options.run_dir is not None:
        with RunDirectory.create(options.run_dir, question, buckets) as stored:
            yield stored
        return
    try:
        temporary = Path(tempfile.mkdtemp(prefix="acked-run-"))
    except OSError as error:
        raise SystemFailure(f"there is no room for a run directory ({error.strerror}); name a place with --run-dir") from None
    try:
        with RunDirectory.create(temporary, question, buckets) as stored:
            yield stored
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _met_memory(result: Result) -> bool:
    from acked.checker.question.result import StopReason

    return result.stopped is StopReason.MEMORY


def _with_the_way_on(result: Result, options: EngineOptions) -> Result:
    """An incomplete answer with the command that would go on."""
    from acked.checker.question.result import StopReason

    if result.violations or result.stopped not in (StopReason.MEMORY, StopReason.INTERRUPTED):
        return result
    place = options.keeps
    if result.stopped is StopReason.MEMORY:
        spark = f"--engine spark --master {options.master or 'spark://HOST:PORT'}"
        if place is not None:
            way = f"to go on over more machines: acked check {options.spec} --resume {place} {spark}"
        elif options.engine == "spark":
            way = "give each task more --memory, or name a --master with more executors"
        else:
            way = f"to go on over Spark when memory is full: acked check {options.spec} --run-dir DIR --master spark://HOST:PORT"
    elif place is not None:
        way = f"to go on: acked check {options.spec} --resume {place}"
    else:
        return result
    return replace(result, notes=(*result.notes, way))
