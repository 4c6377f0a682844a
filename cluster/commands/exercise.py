"""The command `exercise`: a real cluster under load and disturbances, and whether what it did is a behaviour."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import click

from acked.base.errors import AckedError, ConfigurationError, ExitCode, SystemFailure
from acked.base.names import near
from acked.base.optional import optional_packages
from acked.cluster.exercising.course import Kind
from acked.cluster.reports.observations.counting import EventsExplained
from acked.reports.console import Console
from acked.reports.shell.completion import known_releases
from acked.reports.shell.options import shows
from acked.reports.shell.output import Output, say

_KINDS = "kill,shutdown,pause,session,slow,answer,isr,move"
_EXPENSIVE = "cache"


@click.command(short_help="Disturb a real cluster at random, and hold what it did against the model.")
@click.option(
    "--kafka", "version", metavar="V", required=True, shell_complete=known_releases,
    help="The release of the brokers, e.g. 4.1.0; see `acked kafka list`.",
)
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), default=2.0, show_default=True, metavar="M",
    help="How long the cluster is disturbed.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Which disturbances come, and when.")
@click.option(
    "--faults", default=_KINDS, show_default=True, metavar="LIST",
    help=f"What is done to brokers, of {_KINDS} and {_EXPENSIVE}: a machine that loses what was not on disk, after which "
    "acknowledged records may be missing.",
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, metavar="N",
    help="Records that are sent a second, one a request.",
)
@click.option(
    "--min-insync-replicas", type=click.IntRange(1, 3), default=2, show_default=True, help="The topic's, of three replicas."
)
@click.option(
    "--kafka-home", "home", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="An unpacked release to take the jars from, in the place of the cache and Maven.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Keep the nodes' logs and data directories, and what was acknowledged, in this folder, for `acked kafka validate`.",
)
@shows
def exercise(
    version: str, minutes: float, seed: int, faults: str, rate: float, min_insync_replicas: int, home: Path | None,
    out: Path | None, output: Output,
) -> int:  # fmt: skip
    """Start three brokers and a controller, write to them while they are disturbed at random, and validate their logs.

    Brokers are killed, shut down, paused, lose their sessions or answers to fetches, get them late, have their ISR changes
    held up, and leadership moves, in an order that the seed decides; how the brokers' threads run is theirs, so two runs of
    one seed differ. Releases from 3.3 on run with KRaft, 2.8 with ZooKeeper. At the end all brokers run, their replicas are
    equal, and every acknowledged record is looked for. Then the logs are explained as steps of the model, and the disks
    compared, as by `acked kafka validate`.

    \b
    acked kafka exercise --kafka 4.1.0 --minutes 10 --seed 7
    acked kafka exercise --kafka 3.9.1 --faults kill,cache --out logs/

    Brokers listen on loopback only and end with the command. Exit code 0 valid, and no acknowledged record is missing; 12 if
    a line is not explained, a promise does not hold, or a record is missing; 150 if a line is worded in a way that is not
    known, 151 for usage and for a release that is not read (before 3.3 all but 2.8), 153 if the cluster does not start or
    does not come back: logs, data directories, acknowledged records and the course up to then stay in the folder that the
    sentence names.
    """
    with optional_packages():
        from acked.cluster.exercising.exercise import ACKNOWLEDGED, DATA, TOPIC, Exercise
        from acked.cluster.exercising.exercise import exercise as run_exercise
    from acked.cluster.reports.observations.exercising import ExerciseProgress, exercise_document, print_exercise
    from acked.cluster.reports.observations.terminal import print_judged
    from acked.cluster.validating.judge import Asked, judge

    asked = Exercise(version, minutes, seed, _kinds(faults), rate, min_insync_replicas, home)
    with _folder(out) as logs:
        with ExerciseProgress(output.quiet) as shown:
            done = run_exercise(asked, logs, shown)
        with EventsExplained(output.quiet) as progress:
            kept = Asked((str(logs),), TOPIC, 0, version, {}, (logs / DATA,), logs / ACKNOWLEDGED)
            judged = judge(kept, progress)

    def show(console: Console) -> None:
        print_exercise(console, done)
        print_judged(console, judged)

    output.emit(lambda: exercise_document(done, judged, TOPIC), show)
    if out is not None:
        kept_in = f"acked kafka validate {out} --topic {TOPIC} --data {out / DATA} --acknowledged {out / ACKNOWLEDGED}"
        say(f"what nodes and producer wrote is in {out}: {kept_in}")
    return int(ExitCode.HOLDS if judged.is_valid and not done.missing else ExitCode.INVARIANT)


def _kinds(text: str) -> tuple[Kind, ...]:
    known = {kind.value: kind for kind in Kind}
    wanted = [part.strip() for part in text.split(",")]
    for name in wanted:
        if name not in known:
            raise ConfigurationError(
                f"--faults: there is no fault {name!r}{near(name, list(known))}; choose from {', '.join(known)}"
            )
    return tuple(known[name] for name in dict.fromkeys(wanted))


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
