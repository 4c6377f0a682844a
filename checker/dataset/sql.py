"""SQL over a dataset of states: Spark SQL on the views `states`, `transitions`, `levels` and `actions`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import open_file
from acked.checker.dataset.parquet import FORMAT
from acked.checker.spark.hadoop import HadoopFolder
from acked.checker.spark.session import SparkDriver, reason

if TYPE_CHECKING:
    import pyarrow as pa

VIEWS = ("states", "transitions", "levels", "actions")
CONF = {
    # A query over many rows is Java's own work, which is worth being compiled well.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    # An index past the end of a log is NULL rather than an error.
    "spark.stage.maxConsecutiveAttempts": "4",  # as Spark has it; a search has one
    "spark.sql.ansi.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def about(dataset: Path) -> dict[str, Any]:
    """What a dataset says about itself; `ConfigurationError` if the folder is not one."""
    try:
        with open_file(dataset / "about.json") as file:
            text = file.read().decode()
    except (OSError, ValueError):
        text = ""
    return _read_about(text, str(dataset))


def _read_about(text: str, place: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        raise ConfigurationError(
            f"{place} is not a dataset of states; make one with `acked states SPEC --out {place}`"
        ) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ConfigurationError(f"{place}/about.json is not of the format {FORMAT}; make the dataset anew")
    return body


def place_of(dataset: Path, view: str) -> Path:
    """Where the rows of a view are, if it has any: a folder of files, or one file."""
    folder = dataset / view
    return folder if folder.is_dir() else dataset / f"{view}.parquet"


def open_views(driver: SparkDriver, dataset: str) -> Any:
    """A Spark session in which the tables of the dataset in a folder, by its path or URI, are views."""
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    folder = HadoopFolder(driver, dataset)
    _read_about(folder.read_text("about.json") if folder.has("about.json") else "", dataset)
    # It would print every error a second time, with Java's stack, as JSON.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    session = SparkSession(driver.context)
    for name in VIEWS:
        for place in (name, f"{name}.parquet"):
            if folder.has_rows(place):
                session.read.parquet(folder.child(place)).createOrReplaceTempView(name)
    return session


def answer_sql(driver: SparkDriver, dataset: str, sql: str, most: int | None = None) -> pa.Table:
    """The table that a query yields, or its first `most` rows; `ConfigurationError` says what is wrong with the query."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    session = open_views(driver, dataset)
    try:
        rows = session.sql(sql)
        return (rows if most is None else rows.limit(most)).toArrow()
    except (AnalysisException, ParseException) as error:
        lacks = "transitions" in sql.lower() and not session.catalog.tableExists("transitions")
        hint = "; this dataset has no transitions, make it with --transitions" if lacks else ""
        raise ConfigurationError(f"Spark cannot run this query: {reason(error)}{hint}") from None
    except (Py4JError, PySparkException) as error:
        driver.note_failure(str(error))
        raise SystemFailure(f"the query failed: {reason(error)}; what Spark said is in {driver.log}") from None
