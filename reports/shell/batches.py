"""Commands that ask many questions: where their searches run, and whether answers that were found before count.

The options alone; what they stand for is imported when it is wanted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.cache import cache_folder
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.version import __version__
from acked.reports.shell.options import CACHE, JOBS, MEMORY, collects, option, warn_without_cache

if TYPE_CHECKING:
    from acked.checker.batch.cache import ResultCache
    from acked.checker.batch.local import BatchLimits, Runner

MEMORY_EACH = MEMORY.saying("Memory for the visited states of each search, e.g. 2GB; default: a share of what is free.")
MASTER = option("--master", help="Search in tasks of this Spark instead of here, e.g. local[2] or spark://HOST:PORT.")


@frozen
class BatchOptions:
    """Where many searches run, and whether answers that were found before count."""

    jobs: int | None = None
    memory: int | None = None
    master: str | None = None
    use_cache: bool = True
    use_shipped: bool = True

    @property
    def limits(self) -> BatchLimits:
        """Processes of this machine."""
        from acked.checker.batch.local import BatchLimits

        return BatchLimits.default(self.jobs, self.memory)

    def runner(self) -> Runner:
        """Processes of this machine, or tasks of the Spark that --master names."""
        if self.master is None:
            return self.limits
        from acked.checker.batch.spark import SparkBatch
        from acked.checker.spark.session import SparkSettings
        from acked.reports.shell.engines import spark_driver

        if self.jobs is not None:
            raise ConfigurationError("--jobs is for processes here; Spark's slots are chosen by --master, e.g. local[2]")
        settings = SparkSettings(self.master)
        return SparkBatch(lambda: spark_driver(settings), self.memory)

    def cache(self, shipped: Path | None = None) -> ResultCache | None:
        """Where answers are kept between runs, and before it those that ship in a file, unless the user wants none of them.

        None with --no-cache and, with a warning, where nothing can be kept and nothing ships.
        """
        if not self.use_cache:
            return None
        from acked.checker.batch.cache import ResultCache
        from acked.checker.batch.shipped import ShippedAnswers

        warn_without_cache()
        folder = cache_folder("results")
        answers = ShippedAnswers(shipped) if shipped is not None and self.use_shipped else None
        return None if folder is None and answers is None else ResultCache(folder, __version__, answers)


SHIPPED = option("--shipped/--no-shipped", default=True,
                 help="Use answers that ship with acked; with --no-shipped search them here.")  # fmt: skip
searches_many = collects("batch", BatchOptions, jobs=JOBS, memory=MEMORY_EACH, use_cache=CACHE)
searches_what_ships = collects(
    "batch", BatchOptions, jobs=JOBS, memory=MEMORY_EACH, use_cache=CACHE, use_shipped=SHIPPED
)
searches_many_anywhere = collects("batch", BatchOptions, jobs=JOBS, master=MASTER, memory=MEMORY_EACH, use_cache=CACHE)
