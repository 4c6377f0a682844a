"""Folders of any file system that Spark has, through Hadoop's own classes: `hdfs:`, `s3a:`, `file:` and what else they know.

`HadoopFolder`, and `HadoopRun`, a run directory in one: it stays a folder of the driver's machine; whatever is completed
there is copied, by Spark's Java process, in the order in which it was completed. So a run that is killed at any moment
resumes from what has been copied.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import is_uri
from acked.checker.spark.session import SparkDriver, reason
from acked.checker.store.run_directory import ABOUT, PARTS


class HadoopFolder:
    """A folder, which need not exist, by its path or URI.

    Any method may raise `SystemFailure`, which names the place and Java's reason.
    """

    def __init__(self, driver: SparkDriver, place: str) -> None:
        self.place = place.rstrip("/")
        self._local = None if is_uri(place) else Path(place).resolve()
        self.uri = self.place if self._local is None else self._local.as_uri()
        self._jvm = driver.context._jvm
        with self._telling("reach"):
            self._system = self._path("").getFileSystem(driver.context._jsc.hadoopConfiguration())

    def child(self, name: str) -> str:
        """The URI of something in it."""
        return f"{self.uri}/{name}"

    def has(self, name: str) -> bool:
        """Whether something is in it under this name."""
        with self._telling("read"):
            return bool(self._system.exists(self._path(name)))

    def has_rows(self, name: str) -> bool:
        """Whether it has a table: a file, or a folder with something in it."""
        with self._telling("read"):
            at = self._path(name)
            return bool(self._system.exists(at)) and (self._system.isFile(at) or len(self._system.listStatus(at)) > 0)

    def read_text(self, name: str) -> str:
        """The text of a small file."""
        with self._telling("read"):
            stream = self._system.open(self._path(name))
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def fetch(self, name: str, to: Path) -> None:
        """Copies a file or folder in it to this machine."""
        with self._telling("read"):
            self._system.copyToLocalFile(False, self._path(name), self._here(to), True)

    def make(self, name: str) -> None:
        """A folder in it, if there is none."""
        with self._telling("write"):
            self._system.mkdirs(self._path(name))

    def put(self, file: Path, name: str) -> None:
        """Copies a file of this machine into it, over one that is there."""
        with self._telling("write"):
            self._system.copyFromLocalFile(False, True, self._here(file), self._path(name))

    def rename(self, name: str, other: str) -> bool:
        """Gives something in it another name, in one step; whether that could be done."""
        with self._telling("write"):
            return bool(self._system.rename(self._path(name), self._path(other)))

    def refuse_occupied(self) -> None:
        """`ConfigurationError` if something is there already."""
        if self.has("") and self.has_rows(""):
            raise ConfigurationError(f"{self.place} is there already; choose a new folder, or remove it")

    def remove(self) -> None:
        """Removes it with all that is in it."""
        with self._telling("write"):
            self._system.delete(self._path(""), True)

    def tidy(self) -> None:
        """Removes the checksums that Hadoop leaves in folders of this machine."""
        for leftover in [] if self._local is None else [*self._local.rglob(".*.crc")]:
            leftover.unlink()

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.child(name))

    def _here(self, path: Path) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path.resolve().as_uri())

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        from py4j.protocol import Py4JError

        try:
            yield
        except Py4JError as error:
            raise SystemFailure(f"Spark cannot {what} {self.place}: {reason(error)}") from None


class HadoopRun:
    """A run in a folder of a file system of Spark's, for a `with` block, whose end waits until everything is there."""

    def __init__(self, driver: SparkDriver, uri: str) -> None:
        self._folder = HadoopFolder(driver, uri)
        self.uri = self._folder.place
        self._waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._failure: SystemFailure | None = None
        self._home = Path()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self, home: Path) -> None:
        """Makes a new run of what is completed in a folder from now on."""
        if self._folder.has(ABOUT):
            raise ConfigurationError(f"{self.uri} already holds a run; resume it with --resume, or name another place")
        for part in PARTS:
            self._folder.make(part)
        self._home = home

    def fetch(self, home: Path) -> None:
        """Brings the run into a folder, in which it goes on."""
        if not self._folder.has(ABOUT):
            raise SystemFailure(f"there is no run at {self.uri}; a search with --run-dir {self.uri} would make it")
        for name in (ABOUT, "commits", "levels"):
            self._folder.fetch(name, home / name)
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
        half = f"scratch/{path.name}"
        self._folder.put(path, half)
        if self._folder.has(name) or not self._folder.rename(half, name):
            raise SystemFailure(f"{self.uri}/{name} is there already: another search is at work there; wait for it or end it")
