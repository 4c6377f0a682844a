"""SQL over a dataset of states: Spark SQL on the views `states`, `transitions`, `levels` and `actions`.

`open_views`, `answer_sql`, and `keep_where`, which thins a dataset out.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import open_file
from acked.checker.dataset.parquet import FORMAT
from acked.checker.spark.session import SparkDriver

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
            body = json.loads(file.read().decode())
    except (OSError, ValueError):
        raise ConfigurationError(
            f"{dataset} is not a dataset of states; make one with `acked states SPEC --out {dataset}`"
        ) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ConfigurationError(f"{dataset / 'about.json'} is not of the format {FORMAT}; make the dataset anew")
    return body


def place_of(dataset: Path, view: str) -> Path:
    """Where the rows of a view are, if it has any: a folder of files, or one file."""
    folder = dataset / view
    return folder if folder.is_dir() else dataset / f"{view}.parquet"


def open_views(driver: SparkDriver, dataset: Path) -> Any:
    """A Spark session in which the dataset's tables are views."""
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    about(dataset)
    # It would print every error a second time, with Java's stack, as JSON.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    session = SparkSession(driver.context)
    for name in VIEWS:
        place = place_of(dataset, name)
        if place.exists() and (place.is_file() or any(place.glob("*.parquet"))):
            session.read.parquet(str(place.resolve())).createOrReplaceTempView(name)
    return session


def answer_sql(driver: SparkDriver, dataset: Path, sql: str, most: int | None = None) -> pa.Table:
    """The table that a query yields, or its first `most` rows; `ConfigurationError` says what is wrong with the query."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    session = open_views(driver, dataset)
    try:
        rows = session.sql(sql)
        return (rows if most is None else rows.limit(most)).toArrow()
    except (AnalysisException, ParseException) as error:
        hint = _hint(sql, dataset)
        raise ConfigurationError(f"Spark cannot run this query: {_first_line(str(error))}{hint}") from None
    except (Py4JError, PySparkException) as error:
        driver.note_failure(str(error))
        raise SystemFailure(f"the query failed: {_first_line(str(error))}; what Spark said is in {driver.log}") from None


def _hint(sql: str, dataset: Path) -> str:
    if "transitions" in sql.lower() and not (dataset / "transitions").is_dir():
        return "; this dataset has no transitions, make it with --transitions"
    return ""


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].partition(" SQLSTATE")[0].rstrip(". ;") if lines else "no reason given"


def keep_where(driver: SparkDriver, dataset: Path, predicate: str, out: Path) -> int:
    """Writes the part of a dataset whose states satisfy a predicate, with the transitions between what is kept; how many."""
    from pyspark.errors import AnalysisException, ParseException

    session = open_views(driver, dataset)
    try:
        kept = session.table("states").where(predicate)
    except (AnalysisException, ParseException) as error:
        raise ConfigurationError(f"--where {predicate!r} is not a condition on states: {_first_line(str(error))}") from None
    kept.write.parquet(str((out / "states").resolve()))
    session.read.parquet(str((out / "states").resolve())).createOrReplaceTempView("kept")
    if (dataset / "transitions").is_dir():
        session.sql(
            "SELECT t.* FROM transitions t LEFT SEMI JOIN kept a ON t.source = a.id LEFT SEMI JOIN kept b ON t.target = b.id"
        ).write.parquet(str((out / "transitions").resolve()))
    count = session.table("kept").count()
    for name in ("levels.parquet", "actions.parquet"):
        shutil.copyfile(dataset / name, out / name)
    body = {**about(dataset), "where": predicate, "states": count}
    (out / "about.json").write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    for leftover in [*out.rglob("_SUCCESS"), *out.rglob(".*.crc")]:
        os.unlink(leftover)
    return int(count)
