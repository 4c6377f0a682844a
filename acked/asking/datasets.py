"""Reachable states as data: written as a dataset, and asked with SQL, here or by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.errors import ConfigurationError
from acked.base.files import is_uri
from acked.checker.dataset.counting import NeedsSpark, count
from acked.checker.dataset.executors import Wanted, write_on_spark
from acked.checker.dataset.mistakes import refuse_mistakes, views_of_dataset, views_of_question
from acked.checker.dataset.parquet import Condition, Written, refuse_occupied, write_dataset
from acked.checker.dataset.searched import searched, temporary_folder
from acked.checker.dataset.sql import CONF, about, answer_sql
from acked.checker.predicate.parse import PredicateError
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.spark.session import SparkSettings
from acked.checker.spec.spec import Spec
from acked.checker.store.run_directory import RunDirectory
from acked.reports.shell.engines import spark_driver
from acked.reports.shell.options import AskedSpec, SpecChanges
from acked.reports.shell.output import Output

if TYPE_CHECKING:
    import pyarrow as pa


def write_states(
    chosen: Spec, out: str, transitions: bool, levels: frozenset[int] | None, where: str | None, run_dir: Path | None,
    master: str | None, quiet: bool,
) -> Written:  # fmt: skip
    """A new dataset at `out`, a folder or, with Spark, a URI; `where` is a predicate or SQL.

    `ConfigurationError` where it is neither, where the place is taken, and where executors would see no run directory.
    """
    spark = _settings(master) if master is not None or is_uri(out) else None
    if spark is None:
        refuse_occupied(Path(out))
    elif run_dir is None and not spark.is_local:
        raise ConfigurationError("--master names executors, which need a run directory that they see; add --run-dir DIR")
    plain = _without_symmetry(chosen)  # Data is about every state.
    question = plain.question().without_graph_properties()
    condition, refusal = (None, "") if where is None else _condition(question, where)
    if where is not None and condition is None:
        _refuse_condition(question, where, refusal)
        spark = spark or _settings(None)
    with Output(quiet=quiet).progress() as observer, _run_directory(question, run_dir, observer) as run:
        observer.phase("writing states")
        if spark is None:
            return write_dataset(question, run, Path(out), levels, transitions, where=condition)
        ours, sql = (where, None) if condition is not None else (None, where)
        wanted = Wanted(levels, transitions, ours, sql)
        observer.phase("starting Spark")
        with spark_driver(spark) as driver:
            return write_on_spark(driver, plain.asked, run, out, wanted, observer)


def _condition(question: Question, where: str) -> tuple[Condition | None, str]:
    """The condition as a predicate of ours; if it is none, the reason, and then it may still be SQL."""
    try:
        return Condition(question, where), ""
    except PredicateError as error:
        return None, str(error)


def _refuse_condition(question: Question, where: str, refusal: str) -> None:
    """Refuses what is neither a predicate nor SQL before anything is searched."""
    try:
        refuse_mistakes(f"SELECT id FROM states WHERE {where}", views_of_question(question))
    except ConfigurationError as error:
        raise ConfigurationError(f"--where {where!r}: {error}; and as a predicate: {refusal}") from None


def answer_query(
    source: str, changes: SpecChanges, sql: str, most: int | None, master: str | None, quiet: bool
) -> pa.Table:
    """The first `most` rows, or all, of a query of a spec's states or of a dataset, by its folder or URI."""
    with Output(quiet=quiet).progress() as observer, _dataset(source, changes, sql, master is None, observer) as dataset:
        table = _count(Path(dataset), sql, most, observer) if master is None and not is_uri(dataset) else None
        if table is not None:
            return table
        observer.phase("starting Spark")
        with spark_driver(_settings(master)) as driver:
            observer.phase("running the query")
            return answer_sql(driver, dataset, sql, most)


def _count(dataset: Path, sql: str, most: int | None, observer: Observer) -> pa.Table | None:
    """The answer if the query only counts; None if it is Spark's to answer."""
    observer.phase("counting")
    try:
        return count(dataset, sql, most)
    except NeedsSpark:
        return None


def _settings(master: str | None) -> SparkSettings:
    return SparkSettings(master or "local[*]", CONF)


def _run_directory(question: Question, run_dir: Path | None, observer: Observer) -> AbstractContextManager[RunDirectory]:
    """A run directory with the reachable states: the one that is named, or that of a search made now."""
    return searched(question, observer) if run_dir is None else RunDirectory.open(run_dir, question)


def _without_symmetry(spec: Spec) -> Spec:
    """The spec without symmetry: data is about every state."""
    return replace(spec, asked=replace(spec.asked, symmetry=False))


@contextmanager
def _dataset(source: str, changes: SpecChanges, sql: str, checks: bool, observer: Observer) -> Iterator[str]:
    """A dataset: the one that is named, or one that is made now for a spec, once its query is no mistake (`checks`)."""
    place = Path(source)
    is_there = is_uri(source) or place.is_dir()
    if is_there and not changes.are_none:
        raise ConfigurationError(
            f"{source} is a dataset, whose constants are fixed; leave -c and --kafka-version out, or name a spec"
        )
    if is_there:
        if not is_uri(source):
            about(place)
            if checks:
                refuse_mistakes(sql, views_of_dataset(place))
        yield source
        return
    question = _without_symmetry(AskedSpec(source, changes).load()).question().without_graph_properties()
    if checks:
        refuse_mistakes(sql, views_of_question(question))
    with temporary_folder("acked-states-") as folder:
        with searched(question, observer) as run:
            observer.phase("writing states")
            write_dataset(question, run, folder / "all", transitions="transitions" in sql.lower())
        yield str(folder / "all")
