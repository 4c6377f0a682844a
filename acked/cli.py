"""The command line: the commands by name; every foreseen failure becomes one sentence and an exit code.

A command's module is imported when it is asked for, so that `--help` and small specs answer at once.

Floor 10.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

import click

from acked.base.errors import AckedError, ExitCode
from acked.base.optional import optional_packages
from acked.base.version import __version__
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.reports.shell.groups import Branching, Paragraphs

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TASKS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("Begin here", (
        ("audit", "audit.commands.audit", "Check what your own settings guarantee; plan, upgrade, matrix."),
        ("roll", "roll.commands.roll", "Ask whether a broker may go down now, and in what order all may."),
        ("watch", "watch.watch", "Audit running clusters all the time: metrics, alerts, a page."),
        ("check", "commands.check", "Explore every reachable state of a spec."),
        ("view", "commands.view", "Make one HTML page of a trace, to step through."),
        ("explore", "commands.explore", "Walk through the states in a browser."),
        ("list", "commands.list", "List protocols, properties, constants, specs or findings."),
        ("mcp", "agents.mcp", "Serve agents (MCP, stdio) with audit, roll, check and others."),
    )),
    ("On real brokers", (
        ("hunt", "hunt.commands.hunt", "Look for unknown losses of a release, and play them."),
        ("reproduce", "cluster.commands.reproduce", "Play a counterexample on real Kafka brokers."),
        ("kafka", "cluster.commands.kafka", "Releases; whether a real cluster did what the model allows."),
    )),
    ("Write your own, and keep it right", (
        ("new", "commands.new", "Write a small working protocol or spec to start from."),
        ("prove", "commands.proving.prove", "Prove a spec with z3, for traces of any length."),
        ("gate", "commands.gate", "Run specs in CI, and fail unless every answer is as expected."),
    )),
    ("Look into a protocol", (
        ("find", "commands.find", "Find the shortest trace to a state of your choice."),
        ("simulate", "commands.simulate", "Look for a violation in random traces, where no search ends."),
        ("diff", "commands.diff", "Compare two specs: what one allows and the other forbids."),
        ("ablate", "commands.ablate", "Drop each guard clause in turn; which properties break?"),
        ("coverage", "commands.ablate", "Report which actions and guard clauses ever mattered."),
    )),
    ("States and traces for other tools", (
        ("states", "commands.exporting.data", "Write the reachable states as Parquet; query, stats, graph."),
        ("show", "commands.view", "Show a trace that check wrote."),
        ("export", "commands.exporting.export", "Write a trace for other tools, or as a picture."),
        ("gallery", "commands.exporting.gallery", "Write a static site of all claims and bugs."),
    )),
)  # fmt: skip
"""The commands by what people want, a newcomer's first: each with its module and short help, so that help imports none."""

_COMMANDS = {name: module for _, commands in _TASKS for name, module, _ in commands}

MOVED = {
    "matrix": "audit", "observe": "kafka", "validate": "kafka", "exercise": "kafka", "query": "states", "stats": "states",
    "graph": "states",
}  # fmt: skip
"""Commands that stand below another, and answer to their name alone, too, as they once did."""


class _Commands(Paragraphs):
    """All commands; a module is imported when one of its commands is asked for, so that the others cost no time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _COMMANDS))
        for task, commands in _TASKS:
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), text) for name, _, text in commands])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands with their short helps from the table, so that none is imported, and the options beside them."""
        from click.shell_completion import CompletionItem

        known = sorted((name, text) for _, commands in _TASKS for name, _, text in commands)
        found = [CompletionItem(name, help=text) for name, text in known if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in MOVED:
            above = self.get_command(ctx, MOVED[cmd_name])
            return above.branches[cmd_name] if isinstance(above, Branching) else cast(click.Group, above).commands[cmd_name]
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            module = import_module(f"acked.{_COMMANDS[cmd_name]}")
            self.add_command(getattr(module, f"{cmd_name}_" if cmd_name == "list" else cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\
  acked audit server.properties          can your own settings lose acknowledged records?
  acked check truncate-to-hw             the shortest counterexample of a bundled spec

Exit codes: 0 holds, 12 violated, 152 incomplete, 151 usage (also `acked` alone); all: `acked check --help`.""",
)
@click.version_option(__version__, prog_name="acked")
def cli() -> None:
    """Does your Kafka keep what it acknowledged? acked tries all reachable states."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; every foreseen failure is one sentence on stderr and its exit code, never a traceback."""
    try:
        with optional_packages():
            code = cli.main(arguments, prog_name="acked", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return int(ExitCode.CONFIGURATION)  # Nothing was asked, so a script that forgot its question must not pass.
    except click.UsageError as error:
        hint = f"; try `{error.ctx.command_path} --help`" if error.ctx else ""
        # Click breaks the line where it lists the choices of an option that is missing.
        message = " ".join(error.format_message().split())
        return _fail(f"{message.rstrip('.')}{hint}", ExitCode.CONFIGURATION)
    except click.ClickException as error:
        return _fail(error.format_message(), ExitCode.CONFIGURATION)
    except AckedError as error:
        return _fail(str(error), error.exit_code)
    except DomainOverflow as error:
        return _fail(str(error), ExitCode.ASSUMPTION)
    except ModelError as error:
        return _fail(str(error), ExitCode.CONFIGURATION)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout has gone; nothing is wrong, but Python must not try to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.SYSTEM)
    except RecursionError:
        return _fail("the input is nested too deeply", ExitCode.SPEC_UNREADABLE)
    except MemoryError:
        return _fail("out of memory; use smaller constants or lower --memory", ExitCode.SYSTEM)
    except OSError as error:
        return _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ExitCode.SYSTEM)
    except Exception as error:
        return _internal(error)


def _internal(error: Exception) -> int:
    """A defect of ours, reported in one sentence; ACKED_DEBUG=1 shows where it happened."""
    if os.environ.get("ACKED_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return _fail(f"internal error ({what}); please report it with what `ACKED_DEBUG=1 acked …` prints", ExitCode.OTHER)


_LONG_WORD = re.compile(r"\S{400,}")
"""No name, number or path that a person would read to its end."""


def _fail(message: str, code: ExitCode) -> int:
    message = _LONG_WORD.sub(lambda found: f"{found[0][:80]}… ({len(found[0]):,} characters)", message)
    click.echo("acked: " + "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message), err=True)
    return int(code)
