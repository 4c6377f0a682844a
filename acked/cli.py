"""The command line: the commands by name; every foreseen failure becomes one sentence and an exit code.

A command's module is imported when it is asked for, so that `--help` and small specs answer at once.

Floor 10.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from acked.base.errors import AckedError, ExitCode
from acked.base.version import __version__
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.reports.shell.groups import Paragraphs

_TASKS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("Begin here", (
        ("audit", "audit.commands.audit", "Check what your own Kafka settings guarantee for acknowledged records."),
        ("check", "commands.check", "Explore every reachable state of a spec."),
        ("view", "commands.view", "Make one HTML page of a trace, to step through."),
        ("explore", "commands.explore", "Walk through the states in a browser."),
        ("list", "commands.list", "List protocols, properties, constants or specs."),
    )),
    ("Operate Kafka", (
        ("matrix", "audit.commands.durability",
         "Table of Kafka releases and settings: where can acknowledged records be lost?"),
        ("reproduce", "cluster.commands.reproduce", "Play a counterexample on real Kafka brokers."),
        ("kafka", "cluster.commands.kafka", "List and fetch the Kafka releases that `acked reproduce` starts."),
        ("observe", "cluster.commands.observe", "Print the logging configuration that `acked validate` needs."),
        ("validate", "cluster.commands.validate",
         "Hold the logs of a real cluster against the model: is what it did a behaviour?"),
        ("exercise", "cluster.commands.exercise",
         "Disturb a real cluster at random, and hold what it did against the model."),
    )),
    ("Look into a protocol", (
        ("find", "commands.find", "Find the shortest trace to a state of your choice."),
        ("show", "commands.view", "Show a trace that check wrote."),
        ("diff", "commands.diff", "Compare the rules of two specs: what one allows and the other forbids."),
        ("ablate", "commands.ablate", "Drop each guard clause in turn and report which properties break."),
        ("coverage", "commands.ablate", "Report which actions and guard clauses ever mattered."),
        ("simulate", "commands.simulate", "Look for a violation in random traces, for constants that no search reaches."),
        ("prove", "commands.prove", "Prove a spec with z3, for traces of any length."),
    )),
    ("Write your own, and keep it right", (
        ("new", "commands.new", "Write a small working protocol or spec to start from."),
        ("gate", "commands.gate", "Run specs in CI, and fail unless every answer is as expected."),
    )),
    ("States, graphs and pictures for other tools", (
        ("states", "commands.data", "Write the reachable states as Parquet."),
        ("query", "commands.data", "Query the reachable states with SQL."),
        ("stats", "commands.data", "Show the levels, actions and growth of a finished search."),
        ("graph", "commands.graph", "Write a small state space as a graph."),
        ("export", "commands.export", "Write a trace for other tools, or as a picture."),
        ("gallery", "commands.gallery", "Write a static site of all claims and bugs."),
    )),
)  # fmt: skip
"""The commands by what people want, a newcomer's first: each with its module and short help, so that help imports none."""

_COMMANDS = {name: module for _, commands in _TASKS for name, module, _ in commands}


class _Commands(Paragraphs):
    """All commands; a module is imported when one of its commands is asked for, so that the others cost no time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _COMMANDS))
        for task, commands in _TASKS:
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), text) for name, _, text in commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            module = import_module(f"acked.{_COMMANDS[cmd_name]}")
            self.add_command(getattr(module, f"{cmd_name}_" if cmd_name == "list" else cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\
Examples:

  acked audit server.properties          can your own settings lose acknowledged records?
  acked check kip320                     explore every reachable state of a bundled spec
  acked check truncate-to-hw             ... of one that fails: the shortest counterexample
  acked check my.toml --trace-out t.json keep the counterexample, and
  acked show t.json                      show it again (it is replayed step by step first)
  acked view t.json                      ... or in a browser, as one HTML page
  acked check kip320 -c replicas=2       the same spec with other constants
  acked check acks-1-loses --kafka-version 3.6  ... of `partition` with the rules of a release
  acked find kip320 "quorum.isr == {0}"  the shortest trace to a state of your choice
  acked list specs acks                  what can be checked by name, here of all that is about acks
  acked list protocols                   the protocols with their constants and actions
  acked new protocol mine --from kip320  a working copy of one, to change a rule and see what breaks

A spec is a TOML file that asks one question:

  title    = "KIP-320 fencing keeps every committed record"
  protocol = "kip320"
  [constants]
  replicas = 3
  log_size = 2
  max_records = 2
  max_leader_epoch = 2
  [check]
  invariants = ["WeakIsr", "StrongIsr"]
  [expect]
  verdict = "holds"

Instead of, or besides, invariants: [liveness.NAME] leads_to = ["TRIGGER", "GOAL"] or eventually = "GOAL", under
[fairness] weak = ["Action"], strong = ["Action(parameter)"]; [check] recoverable = ["GOAL"].

Exit codes: 0 holds, 11 deadlock, 12 invariant violated, 13 step property, liveness or recoverability violated,
14 real brokers did as the model says, and no promise was seen broken, 1 holds but not as expected, 152 incomplete,
130 interrupted, 150 file unreadable, 151 usage or configuration (also `acked` alone, which prints this), 153 system.""",
)
@click.version_option(__version__, prog_name="acked")
def cli() -> None:
    """Does your Kafka keep what it acknowledged?

    acked explores every reachable state of Kafka's partition replication protocol and answers with a verdict and, where a
    promise (an invariant or another property) is violated, with a shortest counterexample, step by step.

    The documentation is in docs/ of the repository, and of the source archive (sdist) of a release.
    """


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; every foreseen failure is one sentence on stderr and its exit code, never a traceback."""
    try:
        code = cli.main(arguments, prog_name="acked", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return _fail("interrupted", ExitCode.INTERRUPTED)
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
    except KeyboardInterrupt:
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


def _fail(message: str, code: ExitCode) -> int:
    click.echo("acked: " + "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message), err=True)
    return int(code)
