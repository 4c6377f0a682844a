"""A folder of any file system that Spark has, through Hadoop's own classes: `hdfs:`, `s3a:`, `file:` and others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.spark.session import SparkDriver


def is_uri(place: str) -> bool:
    """Whether a place is named by a URI, so that it is not a path of this machine."""
    return re.match(r"[a-z][a-z0-9+.-]*://?", place) is not None


class HadoopFolder:
    """A folder, which need not exist, by its path or URI."""

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

    def make(self, name: str) -> None:
        """A folder in it, if there is none."""
        with self._telling("write"):
            self._system.mkdirs(self._path(name))

    def put(self, file: Path, name: str) -> None:
        """Copies a file of this machine into it."""
        with self._telling("write"):
            self._system.copyFromLocalFile(self._jvm.org.apache.hadoop.fs.Path(file.as_uri()), self._path(name))

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
        return self._jvm.org.apache.hadoop.fs.Path(self.child(name) if name else self.uri)

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        from py4j.protocol import Py4JError

        try:
            yield
        except Py4JError as error:
            raise SystemFailure(f"cannot {what} {self.place}: {reason(error)}") from None


def reason(error: Exception) -> str:
    """The line of an error of Spark's or Java's that names the cause: what an executor of ours said, else the last cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.strip().startswith("at ")]
    ours = [line.partition(": ")[2] for line in lines if re.match(r"acked\.[\w.]+: ", line)]
    causes = [line for line in lines if re.match(r"(: |Caused by: )?[\w.$]+(Exception|Error): ", line)]
    chosen = (ours or causes or (lines or ["no reason given"])[:1])[-1]
    said = re.sub(r"^(: |Caused by: )?(?:[\w$]+\.)+[\w$]+: ", "", chosen)
    return said.partition(" SQLSTATE")[0].rstrip(". ;")[:300]
