"""Run directories in a file system that Spark has: `hdfs:`, `s3a:`, `file:` and what else its classes know.

`HadoopRun`: the run directory stays a folder of the driver's machine; whatever is completed there is copied, by Spark's Java
process, in the order in which it was completed. So a run that is killed at any moment resumes from what has been copied.
"""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.spark.session import SparkDriver, reason_in
from acked.checker.store.run_directory import ABOUT, PARTS


class HadoopRun:
    """A run in a file system of Spark's, for a `with` block, whose end waits until everything is there.

    Any method may raise `SystemFailure`, which names the place and Java's reason.
    """

    def __init__(self, driver: SparkDriver, uri: str) -> None:
        self.uri = uri.rstrip("/")
        self._jvm = driver.context._jvm
        self._waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._failure: SystemFailure | None = None
        self._home = Path()
        configuration = driver.context._jsc.hadoopConfiguration()
        self._files: Any = self._ask(self._path().getFileSystem, configuration)
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self, home: Path) -> None:
        """Makes a new run of what is completed in a folder from now on."""
        if self._exists(ABOUT):
            raise ConfigurationError(f"{self.uri} already holds a run; resume it with --resume, or name another place")
        for part in PARTS:
            self._ask(self._files.mkdirs, self._path(part))
        self._home = home

    def fetch(self, home: Path) -> None:
        """Brings the run into a folder, in which it goes on."""
        if not self._exists(ABOUT):
            raise SystemFailure(f"there is no run at {self.uri}; a search with --run-dir {self.uri} would make it")
        for name in (ABOUT, "commits", "levels"):
            self._ask(self._files.copyToLocalFile, False, self._path(name), self._local(home / name), True)
        self._home = home

    def copy(self, path: Path) -> None:
        """Has a file of the folder copied, after those that came before it."""
        if self._failure is not None:
            raise self._failure
        self._waiting.put(path)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._waiting.put(None)
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _work(self) -> None:
        while (path := self._waiting.get()) is not None:
            try:
                self._put(path)
            except SystemFailure as failure:
                self._failure = failure
                return

    def _put(self, path: Path) -> None:
        """What others would read appears in one step; who finds that another search has been there writes nothing more."""
        name = str(path.relative_to(self._home))
        half = self._path(f"scratch/{path.name}")
        self._ask(self._files.copyFromLocalFile, False, True, self._local(path), half)
        if self._exists(name) or not self._ask(self._files.rename, half, self._path(name)):
            raise SystemFailure(f"{self.uri}/{name} is there already: another search is at work there; wait for it or end it")

    def _exists(self, name: str) -> bool:
        return bool(self._ask(self._files.exists, self._path(name)))

    def _path(self, name: str = "") -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.uri}/{name}")

    def _local(self, path: Path) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path.resolve().as_uri())

    def _ask(self, method: Any, *arguments: Any) -> Any:
        from py4j.protocol import Py4JError

        try:
            return method(*arguments)
        except Py4JError as error:
            raise SystemFailure(f"Spark cannot use {self.uri}: {reason_in(str(error))}") from None
