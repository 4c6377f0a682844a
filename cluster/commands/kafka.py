"""The command `kafka`: the releases of Kafka that can be started here, and their jars."""

from __future__ import annotations

import click

from acked.cluster.commands.exercise import exercise
from acked.cluster.commands.observe import observe
from acked.cluster.commands.reproduce_options import startable_releases
from acked.cluster.commands.validate import validate
from acked.cluster.releases.jars import release_jars, zookeeper_jars
from acked.cluster.releases.release import Mode, release
from acked.reports.shell.groups import Paragraphs
from acked.reports.shell.options import shows, shows_without_progress
from acked.reports.shell.output import Output, say


@click.group(
    cls=Paragraphs,
    short_help="Releases; whether a real cluster did what the model allows.",
    epilog="""\
Examples:

  acked kafka list          which releases can be started, and which are on this machine
  acked kafka fetch 4.1.0   fetch the jars of one, with what it needs to start
  acked kafka observe --kafka-version 4.1 --topic orders   how brokers are told to log what is needed
  acked kafka validate logs/ --topic orders                is what they did a behaviour of the model?
  acked kafka exercise --kafka 4.1.0 --minutes 10          the same of a cluster that is disturbed at random
""",
)
def kafka() -> None:
    """Real Kafka: the releases that `acked reproduce` starts, and whether a cluster did what the model allows."""


@kafka.command("list")
@shows_without_progress
def list_(output: Output) -> None:
    """List the releases that can be started, the modes that they have, and which of them are on this machine."""
    from acked.cluster.reports.reproductions.releases import print_releases, releases_document

    output.emit(releases_document, print_releases)


@kafka.command()
@click.argument("releases", metavar="RELEASE...", nargs=-1, required=True, shell_complete=startable_releases)
@shows
def fetch(releases: tuple[str, ...], output: Output) -> None:
    """Fetch the jars of releases with Maven into the cache, and compare them with their checksums.

    Those that are there already are only compared. A release that keeps its metadata in ZooKeeper gets a ZooKeeper server
    as well.
    """
    from acked.cluster.reports.reproductions.releases import fetched_document, print_fetched

    chosen = [release(version) for version in releases]

    def progress(line: str) -> None:
        if not output.quiet:
            say(f"  {line}")

    got = []
    for one in chosen:
        got.append((one, release_jars(one, None, progress)))
        if Mode.ZOOKEEPER in one.modes:
            zookeeper_jars(progress)
    output.emit(lambda: fetched_document(got), lambda console: print_fetched(console, got))


for _command in (observe, validate, exercise):
    kafka.add_command(_command)
