"""Commands are there by name, and cost nothing until they are asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from acked.checker.spec.variants import name_of
from acked.cli import _TASKS, MOVED, cli
from acked.reports.shell.bundled import all_bundled
from acked.reports.shell.groups import Branching
from tests.places import CHECKOUT

_FOLDERS = ("acked/commands", "acked/cluster/commands", "acked/audit/commands", "acked/hunt/commands", "acked/roll/commands",
            "acked/agents", "acked/watch")  # fmt: skip
MODULES = [
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
    for folder in _FOLDERS
    for path in (CHECKOUT / folder).rglob("[!_]*.py")
]


def names() -> list[str]:
    """All commands, as --help lists them."""
    return cli.list_commands(click.Context(cli, **cli.context_settings))


@pytest.mark.parametrize("name", names())
def test_every_listed_command_answers_to_its_name(name: str) -> None:
    command = cli.get_command(click.Context(cli, **cli.context_settings), name)
    assert command is not None
    assert command.name == name
    [said] = [text for _, commands in _TASKS for listed, _, text in commands if listed == name]
    assert command.get_short_help_str(100) == said


@pytest.mark.parametrize(("name", "above"), MOVED.items())
def test_a_command_that_stands_below_another_answers_to_its_name_alone(name: str, above: str) -> None:
    alone, below = (CliRunner().invoke(cli, [*words, "--help"]).output for words in ([name], [above, name]))
    assert f"Usage: cli {name} [OPTIONS]" in alone
    assert alone == below.replace(f"Usage: cli {above} {name} ", f"Usage: cli {name} ")


@pytest.mark.slow
def test_every_command_that_a_module_defines_is_listed() -> None:
    found = [item for stem in MODULES for item in vars(import_module(stem)).values()]
    commands = [item for item in found if isinstance(item, click.Command) and item is not cli]
    below = [item.commands for item in commands if isinstance(item, click.Group)]
    below += [item.branches for item in commands if isinstance(item, Branching)]
    inside = {id(item) for known in below for item in known.values()}
    assert {item.name for item in commands if id(item) not in inside} == set(names())


def test_the_command_line_imports_neither_other_commands_nor_what_they_need() -> None:
    program = "import sys, acked.cli; print(*sys.modules)"
    command = [sys.executable, "-P", "-c", program]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split())
    assert "acked.reports.shell.groups" in loaded
    assert not [name for name in loaded if name.startswith("acked.commands.")]


HEAVY = (
    "asyncio", "confluent_kafka", "cvc5", "hcl2", "javaproperties", "jinja2", "kazoo", "kio", "llvmlite", "networkx", "numpy",
    "playwright", "pyarrow", "pyspark", "rich", "scipy", "sqlglot", "tomlkit", "yaml", "z3",
)  # fmt: skip
"""Packages that take long to import: of them a module of commands imports only what every use of it needs."""
NEEDED = {"commands.explore": ["numpy"], "commands.simulate": ["numpy"], "hunt.commands.hunt": ["numpy"]}


@pytest.mark.slow
@pytest.mark.parametrize("needed", [[], ["numpy"]], ids=["nothing", "numpy"])
def test_a_command_begins_without_the_packages_that_only_some_of_its_uses_need(needed: list[str]) -> None:
    known = {module for _, commands in _TASKS for _, module, _ in commands}
    modules = ", ".join(f"acked.{module}" for module in sorted(known) if NEEDED.get(module, []) == needed)
    program = f"import sys, {modules}; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    command = [sys.executable, "-P", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout == f"{needed}\n"


UNUSED = ("audit.commands.plan", "audit.commands.durability", "audit.commands.requests", "audit.decision.upgrade",
          "audit.formats.reading", "audit.reports.pages", "audit.reports.sarif", "checker.search", "checker.native",
          "model.compaction", "model.coordinator", "model.kraft", "model.share", "model.transactions.protocol",
          "reports.pictures", "reports.runs.view")  # fmt: skip
"""Of an audit what only some of its uses need: other commands and forms, readers of files, the search, other protocols."""


@pytest.mark.slow
def test_an_audit_that_was_asked_before_imports_nothing_of_what_only_others_need(tmp_path: Path) -> None:
    settings = ("replication.factor=3", "min.insync.replicas=2", "eligible.leader.replicas.version=1")
    asked = ["audit", *(word for one in settings for word in ("--set", one)), "--kafka-version", "4.1", "-q", "-j", "1"]
    program = f"import sys; from acked.cli import main; code = main({asked!r}); print(code, *sys.modules, file=sys.stderr)"
    command = [sys.executable, "-P", "-c", program]
    environment = {**os.environ, "ACKED_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # At first what happens is put into words.
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=environment)
    code, *loaded = done.stderr.split()
    assert code in ("0", "12")
    assert "acked.audit.commands.summary" in loaded
    assert [name for name in UNUSED for one in loaded if f"{one}.".startswith(f"acked.{name}.")] == []


def test_bundled_specs_come_from_the_top_down() -> None:
    depths = [len(path.parts) for path in all_bundled()]
    assert depths == sorted(depths)
    assert len(depths) == len({name_of(path) for path in all_bundled()}) > 100
