"""The command `observe`: how nodes are told to log what `acked kafka validate` needs, and whether recorded logs have it."""

from __future__ import annotations

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.release import LATEST, NEWEST, release
from acked.cluster.lines.checking import check
from acked.cluster.lines.configuration import COST, Format, configuration, is_read
from acked.cluster.reports.observations.checking import checked_document, print_checked
from acked.reports.shell.completion import known_releases
from acked.reports.shell.options import shows
from acked.reports.shell.output import Output, put_text, say


@click.command(short_help="Print the logging configuration that `acked kafka validate` needs.")
@click.argument("logs", metavar="[LOGS...]", nargs=-1)
@click.option(
    "--kafka-version", "version", metavar="V", shell_complete=known_releases, help="The release of the brokers."
)
@click.option("-t", "--topic", required=True, help="The topic that is to be observed.")
@click.option("-p", "--partition", type=click.IntRange(0), default=0, show_default=True, help="With --check: its number.")
@click.option(
    "--log-format", "library", type=click.Choice(["log4j", "log4j2", "broker-loggers"]),
    help="A file for the release's logging library, or commands for a cluster that runs; default: the file.",
)
@click.option("--check", is_flag=True, help="Say whether LOGS have what a validation needs.")
@shows
def observe(
    logs: tuple[str, ...], version: str | None, topic: str, partition: int, library: str | None, check: bool, output: Output
) -> int:
    """Print how brokers and controllers are told to log what `acked kafka validate` needs, and on stderr what it costs.

    Five loggers (of 2.8, which is read with ZooKeeper, other ones), a layout that names the thread, and filters for lines
    that come often and are not needed. With --check no configuration is printed: LOGS, files and folders of all nodes, are
    read, lines are counted by what they tell, and what is missing or not understood is named.

    \b
    acked kafka observe --kafka-version 3.9 --topic orders > observe.properties
    acked kafka observe --kafka-version 4.1 --topic orders --log-format broker-loggers
    acked kafka observe logs/ --topic orders --check

    Exit code 0; 150 if a file cannot be read or, with --check, something is missing; 151 for usage.
    """
    if check:
        return _check(logs, topic, partition, output)
    if logs:
        raise ConfigurationError("LOGS are read with --check; without it only the configuration is printed")
    if version is None:
        raise ConfigurationError("which release the brokers are decides how they log; name it with --kafka-version")
    number = release(version)
    numbers = release(NEWEST).numbers if number.name == LATEST else number.numbers
    if not any(is_read(numbers, with_kraft) for with_kraft in (True, False)):
        raise ConfigurationError(
            f"the lines of Kafka {version} are not known; validation reads those of 2.8 with ZooKeeper and of KRaft "
            "clusters from 3.3 on"
        )
    text = configuration(numbers, None if library is None else Format(library), topic)
    if output.is_json:
        output.emit(lambda: {"format": "acked-logging/1", "configuration": text}, lambda console: None)
    else:
        put_text(text, None, "the configuration")
    if not output.quiet:
        say(COST)
    return int(ExitCode.HOLDS)


def _check(logs: tuple[str, ...], topic: str, partition: int, output: Output) -> int:
    if not logs:
        raise ConfigurationError("--check reads LOGS; name the files or folders of all nodes")
    checked = check(logs, topic, partition)
    output.emit(lambda: checked_document(checked), lambda console: print_checked(console, checked))
    return int(ExitCode.SPEC_UNREADABLE if checked.missing else ExitCode.HOLDS)
