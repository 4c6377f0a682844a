"""Having an engine answer a question, with what it stores its levels in, and the handover to another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.question.engine import Storage
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason
from acked.reports.shell.engines import ENGINES, EngineOptions, spark_driver

if TYPE_CHECKING:
    from acked.checker.store.run_directory import RunDirectory


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
                import shutil

                shutil.rmtree(temporary, ignore_errors=True)


def _temporary_folder() -> Path:
    import tempfile

    try:
        return Path(tempfile.mkdtemp(prefix="acked-run-"))
    except OSError as error:
        raise SystemFailure(f"cannot create a run directory ({error.strerror}); name a place with --run-dir") from None


def _add_resume_hint(result: Result, options: EngineOptions, stored: RunDirectory | None) -> Result:
    """Adds the command that resumes an incomplete search."""
    if result.violations or result.stopped not in (StopReason.MEMORY, StopReason.INTERRUPTED):
        return result
    place = options.keeps or (stored.path if stored is not None and stored.keep() else None)
    if stored is not None and not stored.commits:  # As while it waited for executors: there is nothing to go on from.
        place = None
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
