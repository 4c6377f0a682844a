"""The command `validate`: whether what a real cluster's own logs say is a behaviour of `partition`."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.base.errors import AckedError, ConfigurationError, ExitCode
from acked.base.files import write_text
from acked.cluster.reports.observations.counting import EventsExplained
from acked.reports.shell.completion import known_releases
from acked.reports.shell.options import CONSTANT, Constants, bound, shows
from acked.reports.shell.output import Output, say

STDIN, QUORUM_TOPIC = "-", "__cluster_metadata"

if TYPE_CHECKING:
    from acked.cluster.validating.judge import Asked, Judged, Live

@click.command(short_help="Hold the logs of a real cluster against the model: is what it did a behaviour?")
@click.argument("logs", metavar="LOGS...", nargs=-1, required=True)
@click.option("-t", "--topic", "topics", required=True, multiple=True, help="The topic; several with --partitions.")
@click.option("-p", "--partition", type=click.IntRange(0), default=0, show_default=True, help="The partition's number.")
@click.option(
    "--partitions", metavar="WHICH",
    help="Which partitions of the topics, with files that are read once: all, or numbers such as 0-9,12.",
)
@click.option(
    "--kafka-version", "version", metavar="V", shell_complete=known_releases,
    help="The release whose rules are meant; default: the one that the brokers' start-up lines name.",
)
@CONSTANT.saying(
    "A setting or rule of `partition`, e.g. -c min_insync_replicas=2; default: what start-up lines say, else the release's."
).under("constants")
@click.option(
    "--data", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
    help="Copies of nodes' data directories (log.dirs), or a folder of such: the metadata log is the controller's order, and "
    "at the end disks are compared with one another and with the lines.",
)
@click.option(
    "--acknowledged", type=click.Path(path_type=Path), metavar="FILE",
    help="What producers were acknowledged, CSV or JSON lines with offset and, if known, value: every record is looked for.",
)
@click.option(
    "--follow", is_flag=True,
    help="The cluster still runs: go on as the files grow, with a line of verdict every minute, until Ctrl-C.",
)
@click.option(
    "--refuse-unknown", is_flag=True,
    help="Refuse logs (150) with a line about the partition that is not understood; else the verdict is without it.",
)
@click.option(
    "--coordinators", is_flag=True,
    help="Read what the coordinators on the topic log (loads, unloads, groups' generations), and not its replicas.",
)
@click.option(
    "--html", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Where a line is not explained or a promise does not hold, write a page of the steps before it.",
)
@shows
def validate(
    logs: tuple[str, ...], topics: tuple[str, ...], partition: int, partitions: str | None, version: str | None,
    constants: Constants, data: tuple[Path, ...], acknowledged: Path | None, follow: bool, refuse_unknown: bool,
    coordinators: bool, page: Path | None, output: Output,
) -> int:  # fmt: skip
    """Say whether the logs of a cluster are a behaviour of the model, or which line no behaviour explains.

    LOGS are the files of all brokers and controllers, one node a file, rotated and compressed ones too, folders of them, or
    `-` for one node's lines on stdin, from the creation of the topic on, written with the configuration that `acked kafka
    observe` prints. Every line about the partition is explained as steps of `partition`, in an order in which they may
    have happened, and promises are checked on the way. If no behaviour explains a line, the answer names it, with the
    clause of the rules that forbids it and what else might come next. Lines about the partition that are not understood are
    passed over and counted, and the verdict says without how many it is.

    \b
    acked kafka observe --kafka-version 4.1 --topic orders          how brokers are told to log it
    acked kafka validate logs/ --topic orders --partition 0
    acked kafka validate b0.log b1.log.gz b2.log c.log -t orders -c min_insync_replicas=2
    acked kafka validate logs/ -t orders --data copies/ --acknowledged producer.csv
    acked kafka validate logs/ -t orders -t payments --partitions all
    acked kafka validate logs/ -t orders --follow                   while the cluster runs
    acked kafka validate controllers/ -t __cluster_metadata         the controllers' quorum
    acked kafka validate logs/ -t __consumer_offsets --coordinators

    Of the topic __cluster_metadata the controllers' own lines are read, in any layout, for leaders, epochs, high watermarks
    and voters, and held against promises of `kraft`; with --coordinators those of the brokers that coordinate groups, and
    held against promises of `coordinator`.

    With --follow it ends at the first line that is not explained, or at Ctrl-C with the verdict up to there.

    Exit code 0 valid; 12 if a line is not explained, a promise does not hold, disks differ from the lines or from one
    another, or an acknowledged record is missing; 150 if a file cannot be read or the logs lack what is needed, 151 for
    usage, 153 system. There is no 152: where no order was found within the slack of times and the number of steps that
    are tried, ten times as much the second time, the line counts as not explained.
    """
    from acked.cluster.lines.facts import Ununderstood
    from acked.cluster.reports.observations.document import judged_document
    from acked.cluster.reports.observations.terminal import print_judged
    from acked.cluster.validating.judge import Asked, judge

    if topics == (QUORUM_TOPIC,):
        return _validate_quorum(logs, output)
    if coordinators:
        return _validate_coordinators(logs, topics[0], output)
    ununderstood = Ununderstood.REFUSED if refuse_unknown else Ununderstood.COUNTED
    asked = Asked(logs, topics[0], partition, version, bound(constants), data, acknowledged, ununderstood)
    if partitions is not None or len(topics) > 1:
        if follow or page is not None:
            raise ConfigurationError("--follow and --html show one partition; name it with --topic and --partition")
        return _validate_all(asked, topics, partitions or str(partition), output)
    if follow:
        judged = _follow(asked, output)
    else:
        with EventsExplained(output.quiet) as progress:
            judged = judge(asked, progress, _tell)
    output.emit(
        lambda: judged_document(judged, topics[0], partition), lambda console: print_judged(console, judged)
    )
    if page is not None:
        _write_page(page, judged)
    return int(ExitCode.HOLDS if judged.is_valid else ExitCode.INVARIANT)


def _validate_quorum(logs: tuple[str, ...], output: Output) -> int:
    """The exit code: 12 if what controllers logged contradicts a promise of `kraft`."""
    from acked.cluster.reports.observations.quorum import print_quorum, quorum_document
    from acked.cluster.validating.quorum import judge_quorum

    judged = judge_quorum(logs)
    output.emit(lambda: quorum_document(judged), lambda console: print_quorum(console, judged))
    return int(ExitCode.HOLDS if judged.is_valid else ExitCode.INVARIANT)


def _validate_coordinators(logs: tuple[str, ...], topic: str, output: Output) -> int:
    """The exit code: 12 if what coordinators logged contradicts a promise of `coordinator`."""
    from acked.cluster.reports.observations.coordinators import coordinators_document, print_coordinators
    from acked.cluster.validating.coordinators import judge_coordinators

    judged = judge_coordinators(logs, topic)
    output.emit(lambda: coordinators_document(judged, topic), lambda console: print_coordinators(console, judged))
    return int(ExitCode.HOLDS if judged.is_valid else ExitCode.INVARIANT)


def _validate_all(asked: Asked, topics: tuple[str, ...], partitions: str, output: Output) -> int:
    """The exit code: 12 if a partition is not valid, else 150 if one could not be read."""
    from acked.cluster.reports.observations.document import all_document
    from acked.cluster.reports.observations.terminal import print_all
    from acked.cluster.validating.judge import judge_all

    with EventsExplained(output.quiet) as progress:
        found = list(judge_all(asked, dict.fromkeys(topics), _numbers(partitions), progress, _tell))
    output.emit(lambda: all_document(found), lambda console: print_all(console, found))
    if any(not isinstance(one, AckedError) and not one.is_valid for _, one in found):
        return int(ExitCode.INVARIANT)
    return int(next((one.exit_code for _, one in found if isinstance(one, AckedError)), ExitCode.HOLDS))


def _numbers(partitions: str) -> set[int] | None:
    """Partitions by their numbers; None of all."""
    if partitions.strip() == "all":
        return None
    found: set[int] = set()
    for span in partitions.split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", span)
        if ends is None:
            raise ConfigurationError(f"--partitions takes all, or numbers such as 0-9,12, and not {partitions!r}")
        found |= set(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return found


def _tell(line: str) -> None:
    say(f"acked: {line}")


def _follow(asked: Asked, output: Output) -> Judged:
    """Follows the files until Ctrl-C, which is how it is meant to end; a second one interrupts."""
    from acked.cluster.reports.observations.words import so_far
    from acked.cluster.validating.judge import Live, judge

    if STDIN in asked.logs:
        raise ConfigurationError("--follow reads files that grow, and stdin is none; name the nodes' files")
    if asked.data or asked.acknowledged is not None:
        raise ConfigurationError("--follow does not compare disks and acknowledged records; validate with them afterwards")
    live = Live(lambda now: None if output.quiet else say(so_far(now)))
    before = signal.signal(signal.SIGINT, lambda number, frame: _stop(live, before))
    try:
        return judge(asked, None, _tell, live)
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(live: Live, before: signal._HANDLER) -> None:
    live.stop.set()
    signal.signal(signal.SIGINT, before)


def _write_page(page: Path, judged: Judged) -> None:
    from acked.cluster.reports.observations.page import has_page, observation_page

    if not has_page(judged.verdict):
        say("every line is explained, so there is nothing to show: no page is written")
        return
    write_text(page, observation_page(judged.verdict, judged.about), "page")
