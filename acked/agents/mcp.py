"""The command `mcp`: a server for agents."""

from __future__ import annotations

from pathlib import Path

import click

from acked.agents.offers import OFFERS, Permissions
from acked.base.errors import ConfigurationError
from acked.reports.shell.options import MEMORY


@click.command(short_help="Serve agents (MCP, stdio) with audit, roll, check and others.")
@click.option("--root", type=click.Path(path_type=Path, file_okay=False, exists=True), default=".", metavar="DIR",
              help="Read files below this folder only; default: the working directory.")  # fmt: skip
@click.option("--bootstrap-server", "bootstrap", metavar="HOST:PORT,…",
              help="Let agents read this running cluster, and no other; nothing in it is changed.")  # fmt: skip
@click.option("--command-config", "config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="The client's properties for --bootstrap-server; agents do not see them.")  # fmt: skip
@click.option("--allow-brokers", is_flag=True, help="Let agents play counterexamples on brokers that acked starts here.")
@click.option("--trust", is_flag=True, help="Run the protocol files that specs name: Python, with your rights.")
@click.option("--time-limit", type=click.IntRange(1, 86_400), default=120, show_default=True, metavar="SECONDS",
              help="The most for one answer.")  # fmt: skip
@MEMORY.having(default="4GB", show_default=True, help="The most for the visited states of a question.").under("memory")
@click.pass_context
def mcp(
    context: click.Context, root: Path, bootstrap: str | None, config: Path | None, allow_brokers: bool, trust: bool,
    time_limit: int, memory: int,
) -> None:  # fmt: skip
    """Serve agents over standard input and output, by the Model Context Protocol.

    An agent that is connected asks as people do: its tools are audit, roll, check, explain, diff and list, its resources the
    gallery of bugs, the claims about Kafka, what was found, and the text of every bundled spec. An answer is the JSON
    document of the command. Agents read files below --root, and change nothing but acked's cache; whatever else they
    may do is an option here, of the user who starts the server.

    \b
    acked mcp                                              what an agent's configuration starts
    acked mcp --root kafka/ --bootstrap-server kafka:9092  also reads this cluster
    acked mcp --allow-brokers --time-limit 600             also plays counterexamples on real brokers
    """
    if config is not None and bootstrap is None:
        raise ConfigurationError("--command-config is about a running cluster; name it with --bootstrap-server")
    from acked.agents.server import Desk, serve

    named = {"--bootstrap-server": bootstrap, "--command-config": config and config.absolute()}
    cluster = tuple(f"{option}={value}" for option, value in named.items() if value is not None)
    assert context.parent is not None
    group = context.parent.command
    assert isinstance(group, click.Group)
    commands = {name: command for offer in OFFERS if (command := group.get_command(context, name := offer.command))}
    serve(Desk(commands, Permissions(root.absolute(), trust, allow_brokers, cluster, memory), time_limit))
