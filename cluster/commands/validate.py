"""The command `validate`: whether what a real cluster's own logs say is a behaviour of `partition`."""

from __future__ import annotations

from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.reports.shell.completion import known_releases
from acked.reports.shell.options import CONSTANT, Constants, bound, shows
from acked.reports.shell.output import Output

QUORUM_TOPIC = "__cluster_metadata"


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
    from acked.cluster.commands.validation import (
        Asked,
        Ununderstood,
        validate_all,
        validate_coordinators,
        validate_one,
        validate_quorum,
    )

    if topics == (QUORUM_TOPIC,):
        return validate_quorum(logs, output)
    if coordinators:
        return validate_coordinators(logs, topics[0], output)
    ununderstood = Ununderstood.REFUSED if refuse_unknown else Ununderstood.COUNTED
    asked = Asked(logs, topics[0], partition, version, bound(constants), data, acknowledged, ununderstood)
    if partitions is not None or len(topics) > 1:
        if follow or page is not None:
            raise ConfigurationError("--follow and --html show one partition; name it with --topic and --partition")
        return validate_all(asked, topics, partitions or str(partition), output)
    return validate_one(asked, follow, page, output)
