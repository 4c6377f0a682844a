"""Which engine answers a question: the engines by name, and the options of `acked check` that choose one.

What an engine supports stands with the engine (`Capabilities`); `answering.py` has it answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.cache import cache_folder
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import repeats

if TYPE_CHECKING:
    from acked.checker.question.engine import Engine
    from acked.checker.spark.session import SparkDriver, SparkSettings
    from acked.checker.store.run_directory import RunDirectory


@frozen
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


@contextmanager
def spark_driver(settings: SparkSettings, folder: Path | None = None) -> Iterator[SparkDriver]:
    """A Spark driver whose log is in a folder, or in the cache, where it stays only if something went wrong."""
    import shutil
    import tempfile

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
