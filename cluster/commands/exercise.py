"""The command `exercise`: a real cluster under load and disturbances, and whether what it did is a behaviour."""

from __future__ import annotations

from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.cluster.commands.reproduce_options import startable_releases
from acked.cluster.exercising.course import Kind
from acked.reports.shell.options import shows
from acked.reports.shell.output import Output

_KINDS = ",".join(kind.value for kind in Kind if kind is not Kind.LOSE_CACHE)


@click.command(short_help="Disturb a real cluster at random, and hold what it did against the model.")
@click.option(
    "--kafka", "version", metavar="V", required=True, shell_complete=startable_releases,
    help="The release of the brokers, e.g. 4.1.0; see `acked kafka list`.",
)
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), default=2.0, show_default=True, metavar="M",
    help="How long the cluster is disturbed; with --hours how long a round is.",
)
@click.option(
    "--hours", type=click.FloatRange(min=0, min_open=True), metavar="H",
    help="Round after round on one cluster for so long, each with the next seed and a topic of its own. What a round leaves "
    "is removed when it is valid, so the disk that is taken does not grow; others stay in --out.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Which disturbances come, and when.")
@click.option(
    "--faults", default=_KINDS, show_default=True, metavar="LIST",
    help=f"What is done to brokers: of these, and of {Kind.LOSE_CACHE}, a machine that loses what was not on disk, after "
    "which acknowledged records may be missing.",
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, metavar="N",
    help="Records that are sent a second, one a request.",
)
@click.option(
    "--partitions", type=click.IntRange(1, 200), default=1, show_default=True, metavar="N",
    help="The topic's; the lines of each are validated.",
)
@click.option(
    "--min-insync-replicas", type=click.IntRange(1, 3), default=2, show_default=True, help="The topic's, of three replicas."
)
@click.option(
    "--controllers", type=click.IntRange(3, 5), metavar="N",
    help="Disturb a quorum of so many controllers instead, without brokers, while metadata is written: they are killed, "
    "paused, get empty disks, are removed and added (from 3.9 on; before, voters are static: killed and paused).",
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
    version: str, minutes: float, hours: float | None, seed: int, faults: str, rate: float, partitions: int,
    min_insync_replicas: int, controllers: int | None, home: Path | None, out: Path | None, output: Output,
) -> int:  # fmt: skip
    """Start three brokers and a controller, use them as applications and operators do, and validate their logs.

    A producer without idempotence, an idempotent and a transactional one write to a topic with small segments and
    retention; a group of consumers reads in read_committed. Meanwhile, in an order that the seed decides:

    \b
    kill, shutdown  the process is killed, or shut down, and starts again
    pause, behind   it stands still; or while leadership moves several times
    session         its heartbeats do not arrive, so that it loses its session
    slow, answer    answers to its fetches are late, or lost
    isr             its requests to change the ISR are late
    move, elect     leadership moves; preferred replicas are elected again
    reassign        replicas of another topic move to other brokers
    rolling         a rolling restart: the next one when all are in sync
    disk            it is shut down, and starts again with an empty disk
    cache           not by itself: what was not on disk is lost with its machine

    How the brokers' threads run is theirs, so two runs of one seed differ. Releases from 3.3 on run with KRaft, 2.8 with
    ZooKeeper. At the end all brokers run, their replicas are equal, every acknowledged record is looked for, and the group
    has read every committed one. Then the logs are explained as steps of the model, and the disks compared, as by `acked
    kafka validate`. What was done, and when, is in course.csv.

    \b
    acked kafka exercise --kafka 4.1.0 --minutes 10 --seed 7
    acked kafka exercise --kafka 3.9.1 --faults kill,cache --out logs/
    acked kafka exercise --kafka 4.4.0 --hours 8 --minutes 5 --partitions 50 --out soak/
    acked kafka exercise --kafka 4.4.0 --controllers 3 --minutes 5

    Brokers listen on loopback only and end with the command. Exit code 0 valid, and no acknowledged record is missing; 12
    if a line is not explained, a promise does not hold, a record is missing, or consumers were given what they should not;
    150 if a line is worded in a way that is not known, 151 for usage and for a release that is not read (before 3.3 all but
    2.8), 153 if the cluster does not start or does not come back: logs, data directories, acknowledged records and the
    course up to then stay in the folder that the sentence names.
    """
    from acked.cluster.commands.exercising import Exercise, QuorumExercise, exercise_brokers, exercise_controllers

    if controllers is not None:
        if hours is not None or home is not None or faults != _KINDS:
            raise ConfigurationError("--controllers have faults of their own; leave out --hours, --faults and --kafka-home")
        return exercise_controllers(QuorumExercise(version, controllers, minutes, seed), out, output)
    asked = Exercise(version, minutes, seed, _kinds(faults), rate, min_insync_replicas, home, partitions, hours)
    return exercise_brokers(asked, out, output)


def _kinds(text: str) -> tuple[Kind, ...]:
    known = {kind.value: kind for kind in Kind}
    wanted = [part.strip() for part in text.split(",")]
    for name in wanted:
        if name not in known:
            raise ConfigurationError(
                f"--faults: there is no fault {name!r}{near(name, list(known))}; choose from {', '.join(known)}"
            )
    return tuple(known[name] for name in dict.fromkeys(wanted))
