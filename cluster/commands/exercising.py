"""Exercising what `acked kafka exercise` asks for: brokers, round after round, or a quorum of controllers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from acked.base.errors import AckedError, ConfigurationError, ExitCode, SystemFailure
from acked.cluster.exercising.exercise import DATA, TOPIC, Exercise, acknowledged_file, exercise
from acked.cluster.exercising.quorum import QuorumExercise, exercise_quorum
from acked.cluster.reports.observations.exercising import ExerciseProgress, Round, exercise_document, print_rounds
from acked.cluster.reports.observations.quorum import exercise_document as quorum_exercise_document
from acked.cluster.reports.observations.quorum import print_exercised
from acked.cluster.validating.judge import Asked, Judged, judge
from acked.cluster.validating.quorum import judge_quorum
from acked.reports.shell.output import Output, say

__all__ = ["Exercise", "QuorumExercise", "exercise_brokers", "exercise_controllers"]


def exercise_brokers(asked: Exercise, out: Path | None, output: Output) -> int:
    """The exit code, once brokers were disturbed, every round's lines explained, and its disks compared."""
    rounds: list[Round] = []

    with _folder(out) as logs, ExerciseProgress(output.quiet) as shown:

        def validated(folder: Path, topic: str, partition: int) -> Judged:
            acknowledged = folder / acknowledged_file(partition)
            kept = Asked((str(folder),), topic, partition, asked.version, {}, (folder / DATA,), acknowledged)
            return judge(kept, lambda events: shown(f"{topic}-{partition}: {events:,} events are explained"))

        for done in exercise(asked, logs, shown):
            rounds.append(Round(done, tuple(validated(done.logs, done.topic, number) for number in range(asked.partitions))))
            if asked.hours is not None and rounds[-1].is_valid:
                shutil.rmtree(done.logs)

    output.emit(lambda: exercise_document(asked, rounds), lambda console: print_rounds(console, rounds))
    if out is not None and asked.hours is None:
        producers = out / acknowledged_file(0)
        kept_in = f"acked kafka validate {out} --topic {TOPIC} --data {out / DATA} --acknowledged {producers}"
        say(f"what nodes and clients wrote is in {out}: {kept_in}")
    return int(ExitCode.HOLDS if all(one.is_valid for one in rounds) else ExitCode.INVARIANT)


def exercise_controllers(asked: QuorumExercise, out: Path | None, output: Output) -> int:
    """The exit code, once controllers were disturbed and their lines judged."""
    with _folder(out) as logs:
        with ExerciseProgress(output.quiet) as shown:
            done = exercise_quorum(asked, logs, shown)
        judged = judge_quorum([str(logs)])
    output.emit(lambda: quorum_exercise_document(done, judged), lambda console: print_exercised(console, done, judged))
    return int(ExitCode.HOLDS if judged.is_valid and not done.missing else ExitCode.INVARIANT)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder that is asked for, or one that goes with the command; what a failure has left in it stays."""
    if out is not None:
        _make(out)
        yield out
        return
    folder = Path(mkdtemp(prefix="acked-exercise-"))
    is_of_use = False
    try:
        yield folder
    except AckedError:
        is_of_use = any(folder.iterdir())
        raise
    finally:
        if not is_of_use:
            shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigurationError(f"--out {folder} is not empty, and old logs would be read with the new ones; empty it")
    except OSError as error:
        raise SystemFailure(f"cannot make the folder {folder}: {error.strerror}") from None
