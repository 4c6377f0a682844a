"""What docs/commands.md is made of: all commands and options, from the commands themselves; `tools/made.py` puts it there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.cli import cli  # noqa: E402
from acked.reports.shell.groups import Branching  # noqa: E402


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its full name, those of groups after their group."""
    context = click.Context(cli, info_name="acked", max_content_width=100)
    yield from _below(cli, context)


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from _with_others(name, command, context)


def _with_others(
    name: str, command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    inner = click.Context(command, parent=context, info_name=name, max_content_width=100)
    yield inner.command_path, command, inner
    if isinstance(command, click.Group):
        yield from _below(command, inner)
    if isinstance(command, Branching):
        for branch, below in command.branches.items():
            yield from _with_others(f"{name} {branch}", below, context)


def reference() -> Iterator[str]:
    """Every command with all its options, as the site has it."""
    listed = list(commands())
    parts = ["| command | what it does |", "|---|---|"]
    for path, item, _ in listed:
        parts.append(f"| [`{path}`](#{path.replace(' ', '-')}) | {_cell(item.get_short_help_str(300))} |")
    for path, command, context in listed:
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        parts += ["", f"## `{path}`", "", "```text", usage, "```", "", *_text(command.help or "")]
        rows = [record for item in command.params if (record := item.get_help_record(context)) and record[1]]
        if rows:
            parts += ["", "| option | what it does |", "|---|---|"]
            parts += [f"| `{_cell(names, in_code=True)}` | {_cell(text)} |" for names, text in rows]
        if command.epilog and not isinstance(command, click.Group):
            parts += ["", *_text(command.epilog)]
    yield from re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).split("\n")


def _cell(text: str, in_code: bool = False) -> str:
    """A text as it can stand in a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    return text if in_code else _escaped(text)


def _text(text: str) -> Iterator[str]:
    """Help in Markdown: paragraphs below click's mark, and lines that are commands, are code."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = paragraph.splitlines()
        if lines[0].strip() == "\b" or all(re.match(r"\s*acked \w+ ", line) for line in lines):
            yield from ("```text", *(line.strip() for line in lines if line.strip() != "\b"), "```", "")
        else:
            yield from (_escaped(" ".join(line.strip() for line in lines)), "")


def _escaped(text: str) -> str:
    """Outside of backticks, what Markdown would take for markup stays text."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([*_\[\]])", r"\\\1", parts[at].replace("<", "&lt;"))
        parts[at] = re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", parts[at])
    return "`".join(parts)

