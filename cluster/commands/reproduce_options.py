"""The options of `reproduce`, as three values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.base.files import check_writable
from acked.base.frozen import frozen
from acked.cluster.releases.release import releases
from acked.reports.shell.completion import completions
from acked.reports.shell.options import CONSTANT, KAFKA_VERSION, OUT, Constants, collects, option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def startable_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The releases that `acked kafka list` names, for the shell."""
    return completions((one.version for one in releases()), incomplete)


@frozen
class Machine:
    """On which brokers, and with what limits."""

    kafka: str
    control_plane: str | None
    home: Path | None
    control: str | None
    keep: bool
    expire: bool
    timed: bool
    time_limit: int


chooses_machine = collects(
    "machine",
    Machine,
    kafka=option("--kafka", metavar="RELEASE", required=True, shell_complete=startable_releases,
                 help="The release of the brokers, e.g. 4.1.0; see `acked kafka list`."),
    control_plane=option("--control-plane", type=click.Choice(["zookeeper", "kraft"]),
                         help="Where the brokers keep their metadata; default: as in the trace's rules, if the release can."),
    home=option("--kafka-home", type=click.Path(path_type=Path), metavar="DIR",
                help="An unpacked release to take the jars from, in the place of the cache and Maven."),
    control=option("--control", metavar="RELEASE|KEY=VALUE",
                   help="Play the same steps again on a release that is fixed, or with another setting of Kafka."),
    keep=option("--keep", is_flag=True, help="Leave the brokers' files and say where they are."),
    expire=option("--expire", is_flag=True,
                  help="With KRaft: wait until a dead broker's session expires, rather than tell the controller."),
    timed=option("--timed", is_flag=True,
                 help="Search among steps that end by time too: a leader finds a follower too slow. Else only if need be."),
    time_limit=option("--time-limit", type=click.IntRange(10, 86_400), default=600, show_default=True, metavar="SECONDS",
                      help="Give up and stop everything after so many seconds."),
)  # fmt: skip


@frozen
class Asked:
    """What is changed in a spec, or whether all specs are asked."""

    constants: Constants
    version: str | None
    all_of_release: bool
    slow: bool


@frozen
class Written:
    """Files beside the answer."""

    page: Path | None
    out: Path | None

    def check(self) -> None:
        """Fails before long work if they cannot be written."""
        for path, what in ((self.page, "page"), (self.out, "answer")):
            check_writable(path, what)


asks = collects(
    "asked",
    Asked,
    constants=CONSTANT,
    version=KAFKA_VERSION.saying("The rules of this release in the place of the spec's; --kafka says which brokers start."),
    all_of_release=option("--all", is_flag=True, help="Play all claims and bugs that the model predicts of the release."),
    slow=option("--slow", is_flag=True, help="With --all: also specs with slow = true."),
)
writes = collects(
    "written",
    Written,
    page=option("--html", type=click.Path(path_type=Path), metavar="FILE",
                help="Also write a page to step through: the model and the brokers side by side, with their log lines."),
    out=OUT.saying("With --all: keep the JSON of what was played in this file; the same command goes on from there."),
)  # fmt: skip
