"""The command `observe`: how brokers and controllers are told to log what `acked validate` needs."""

from __future__ import annotations

import click

from acked.asking.completion import known_releases
from acked.asking.output import put_text, say
from acked.checker.errors import ConfigurationError


@click.command(short_help="Print the logging configuration that `acked validate` needs.")
@click.option(
    "--kafka-version", "version", metavar="V", required=True, shell_complete=known_releases,
    help="The release of the brokers.",
)
@click.option("-t", "--topic", required=True, help="The topic that is to be observed.")
@click.option(
    "--format", "form", type=click.Choice(["log4j", "log4j2", "broker-loggers"]),
    help="A file for the release's logging library, or commands for a cluster that runs; default: the file.",
)
@click.option("-q", "--quiet", is_flag=True, help="Nothing on stderr.")
def observe(version: str, topic: str, form: str | None, quiet: bool) -> None:
    """Print how brokers and controllers are told to log what `acked validate` needs, and on stderr what it costs.

    Five loggers, a layout that names the thread, and filters for lines that come often and are not needed.

    \b
    acked observe --kafka-version 3.9 --topic orders > observe.properties
    acked observe --kafka-version 4.1 --topic orders --format broker-loggers

    Exit code 0, or 151 for usage.
    """
    from acked.checker.observation.subject import rules_of
    from acked.cluster.lines.configuration import COST, Format, configuration

    rules_of(version)
    numbers = tuple(int(part) for part in version.split("-")[0].split("."))
    if numbers < (3, 3):
        raise ConfigurationError(
            f"the lines of Kafka {version} are not known; validation reads those of KRaft clusters, from 3.3 on"
        )
    put_text(configuration(numbers, None if form is None else Format(form), topic), None, "the configuration")
    if not quiet:
        say(COST)
