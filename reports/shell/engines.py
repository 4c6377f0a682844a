"""Which engine answers a question: the engines by name, the options of `acked check` that choose one, and the handover.

`ENGINES`, `EngineOptions`, `answer`, and the run directory and Spark driver that they need. What an engine supports stands
with the engine (`Capabilities`).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.bounds import Bounds
from acked.base.cache import cache_folder
from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.names import repeats
from acked.base.observer import Observer
from acked.checker.question.engine import Engine, Storage
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason

if TYPE_CHECKING:
    from acked.checker.spark.session import SparkDriver, SparkSettings
    from acked.checker.store.run_directory import RunDirectory


@dataclass(frozen=True)
class EngineOptions:
    """What the command line says about engines; `spec` is what the user called the spec, `memory` is None if not given."""

    spec: str
    engine: str = "auto"
    master: str | None = None
    run_dir: Path | str | None = None
    resume: Path | str | None = None
    disk: Path | None = None
    buckets: int | None = None
    conf: tuple[tuple[str, str], ...] = ()
    memory: int | None = None
    ship: bool | None = None

    def check(self, has_workers: bool) -> None:
        """Refuses options that contradict each other."""
        engine = self.chosen.capabilities
        uses_spark = engine.is_distributed or self.hands_over
        if self.master is not None and self.engine != AUTO and not engine.is_distributed:
            raise ConfigurationError(f"--master is for Spark, but --engine is {self.engine}; leave one of them out")
        if self.conf and not uses_spark:
            raise ConfigurationError("--conf is for Spark; add --engine spark, or a --master other than local")
        if uses_spark and self.master == "yarn" and self.memory is None:
            raise ConfigurationError(
                "--master yarn: YARN ends containers that take more memory than was asked for; name --memory, for each task, "
                "and as much is asked for"
            )
        if self.ship is not None and not uses_spark:
            raise ConfigurationError("--ship is for Spark; add --engine spark, or a --master other than local")
        if engine.is_distributed and has_workers:
            raise ConfigurationError("--workers is for the local search; Spark's slots are chosen by --master, e.g. local[2]")
        if self.run_dir is not None and self.resume is not None:
            raise ConfigurationError("--run-dir begins a run and --resume continues one; give one of them")
        if self.disk is not None and (self.run_dir is not None or self.resume is not None):
            raise ConfigurationError("--disk begins a run and continues it, so leave --run-dir and --resume out")
        if self.disk is not None and uses_spark:
            raise ConfigurationError("--disk is for one machine, and Spark for several; leave --disk or --master out")
        if self.buckets is not None and self.resume is not None:
            raise ConfigurationError("--buckets is fixed when a run begins; leave it out with --resume")
        if self.buckets is not None and not uses_spark and self.run_dir is None and self.disk is None:
            raise ConfigurationError("--buckets is for runs that are stored; add --run-dir, --disk or --engine spark")
        if twice := repeats(name for name, _ in self.conf):
            raise ConfigurationError(f"--conf {', '.join(twice)} is given twice; give each once")
        if uses_spark:
            _ = self.settings
        if isinstance(self.keeps, str) and not engine.is_distributed:
            raise ConfigurationError(f"{self.keeps} is a place of Spark's; add --engine spark, or name a folder")

    @property
    def chosen(self) -> Engine[RunDirectory]:
        """The engine that begins."""
        return ENGINES[FIRST_OF_AUTO if self.engine == AUTO else self.engine](self)

    @property
    def hands_over(self) -> bool:
        """Whether another engine may continue where the first one has reached its memory budget."""
        return self.engine == AUTO and self.master is not None and not self.settings.is_local

    @property
    def successor(self) -> Engine[RunDirectory]:
        """That other engine."""
        return ENGINES[SECOND_OF_AUTO](self)

    @property
    def settings(self) -> SparkSettings:
        """Where Spark runs."""
        from acked.checker.spark.session import SparkSettings

        return SparkSettings(self.master or "local[*]", dict(self.conf), self.ship, self.memory)

    @property
    def keeps(self) -> Path | str | None:
        """The run directory that stays; a text is a place in a file system of Spark's."""
        return self.run_dir or self.resume or self.disk


def _local(options: EngineOptions) -> Engine[RunDirectory]:
    from acked.checker.search.local import LocalEngine

    return LocalEngine()


def _spark(options: EngineOptions) -> Engine[RunDirectory]:
    from acked.checker.spark.driver import SparkEngine

    keeps = options.keeps if isinstance(options.keeps, Path) else None
    return SparkEngine(lambda: spark_driver(options.settings, keeps), options.memory)


ENGINES: Mapping[str, Callable[[EngineOptions], Engine[RunDirectory]]] = {"local": _local, "spark": _spark}
"""What makes an engine, by its name; it is imported when it is chosen."""
AUTO, FIRST_OF_AUTO, SECOND_OF_AUTO = "auto", "local", "spark"
ENGINE_CHOICES = (AUTO, *ENGINES)
"""What `--engine` may be."""


def answer(
    question: Question, options: EngineOptions, bounds: Bounds, policy: StopPolicy, observer: Observer
) -> Result:
    """Has the chosen engine answer, and another one continue if the options say so and memory ends the search."""
    engine = options.chosen
    supports = engine.capabilities
    is_stored = supports.storage is Storage.REQUIRED or options.keeps is not None or options.hands_over
    supports.check(question, is_stored)
    if isinstance(options.keeps, str):
        return _answer_elsewhere(options.keeps, question, options, bounds, policy, observer)
    bounds = replace(bounds, beyond_memory=options.disk is not None)
    with _run_directory(question, options, options.keeps) if is_stored else nullcontext() as stored:
        result = engine.search(question, bounds, policy, observer, stored)
        if result.stopped is not StopReason.MEMORY or not options.hands_over:
            return _add_resume_hint(result, options, stored)
        successor = options.successor
        note = f"the local search reached its memory budget at level {result.depth}; Spark continued from there"
        over = _add_resume_hint(successor.search(question, bounds, policy, observer, stored), options, stored)
        return replace(over, seconds=result.seconds + over.seconds, notes=(note, *over.notes))


def _answer_elsewhere(
    uri: str, question: Question, options: EngineOptions, bounds: Bounds, policy: StopPolicy, observer: Observer
) -> Result:
    """Has Spark answer, with a run directory in a file system of its own."""
    from acked.checker.dataset.searched import temporary_folder
    from acked.checker.spark.driver import SparkEngine
    from acked.checker.spark.hadoop import HadoopRun
    from acked.checker.store.run_directory import DEFAULT_BUCKETS, RunDirectory

    observer.phase("starting Spark")
    with spark_driver(options.settings) as driver, temporary_folder("acked-run-") as folder, HadoopRun(driver, uri) as kept:
        if options.resume is not None:
            kept.fetch(folder)
            run = RunDirectory.open(folder, question)
        else:
            kept.begin(folder)
            run = RunDirectory.create(folder, question, options.buckets or DEFAULT_BUCKETS)
        with run as stored:
            stored.copy = kept.copy
            engine = SparkEngine(lambda: nullcontext(driver), options.memory)
            result = engine.search(question, bounds, policy, observer, stored)
            observer.phase(f"writing to {uri}")
    return _add_resume_hint(result, options, None)


@contextmanager
def spark_driver(settings: SparkSettings, folder: Path | None = None) -> Iterator[SparkDriver]:
    """A Spark driver whose log is in a folder, or in the cache, where it stays only if something went wrong."""
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
def _run_directory(question: Question, options: EngineOptions, keeps: Path | None) -> Iterator[RunDirectory]:
    from acked.checker.store.run_directory import DEFAULT_BUCKETS, RunDirectory

    goes_on = options.disk is not None and RunDirectory.is_begun(options.disk)
    if goes_on and options.buckets is not None:
        raise ConfigurationError(f"{options.disk} holds a run, whose --buckets were fixed when it began; leave them out")
    if keeps is not None and (goes_on or options.resume is not None):
        with RunDirectory.open(keeps, question) as stored:
            yield stored
        return
    buckets = DEFAULT_BUCKETS if options.buckets is None else options.buckets
    if keeps is not None:
        with RunDirectory.create(keeps, question, buckets) as stored:
            yield stored
        return
    temporary = _temporary_folder()
    with RunDirectory.create(temporary, question, buckets) as stored:
        stored.is_temporary = True
        try:
            yield stored
        finally:
            if stored.is_temporary:
                shutil.rmtree(temporary, ignore_errors=True)


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="acked-run-"))
    except OSError as error:
        raise SystemFailure(f"cannot create a run directory ({error.strerror}); name a place with --run-dir") from None


def _add_resume_hint(result: Result, options: EngineOptions, stored: RunDirectory | None) -> Result:
    """Adds the command that resumes an incomplete search."""
    if result.violations or result.stopped not in (StopReason.MEMORY, StopReason.INTERRUPTED):
        return result
    place = options.keeps or (stored.path if stored is not None and stored.keep() else None)
    if result.stopped is StopReason.MEMORY:
        spark = f"--engine spark --master {options.master or 'spark://HOST:PORT'}"
        if place is not None:
            hint = (
                f"to continue on this disk: acked check {options.spec} --disk {place}; "
                f"over more machines: acked check {options.spec} --resume {place} {spark}"
            )
        elif ENGINES[result.engine](options).capabilities.is_distributed:
            hint = "give each task more --memory, or name a --master with more executors"
        else:
            hint = (
                f"to go on when memory is full: acked check {options.spec} --disk DIR; over more machines: acked check "
                f"{options.spec} --run-dir DIR --master spark://HOST:PORT"
            )
    elif place is not None:
        option = "--disk" if options.disk is not None else "--resume"
        hint = f"to continue: acked check {options.spec} {option} {place}"
    else:
        return result
    return replace(result, notes=(*result.notes, hint))
