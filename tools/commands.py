"""Writes docs/commands.md, the reference of all commands and options, from the commands themselves.

    python tools/commands.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.reports.shell.groups import Branching  # noqa: E402

PAGE = ROOT / "docs" / "commands.md"

HEAD = """\
# Commands

Every command with all its options, for everyone who uses the command line. `acked COMMAND --help` prints the same;
this page is made from it by `python tools/commands.py`.

| exit code | meaning |
|---|---|
| 0 | the properties hold; or what was asked for was found or written |
| 1 | everything holds, but not as the spec expects; two specs differ; a state is unreachable; the gate is red |
| 10 | an action leaves the domain of a field: the protocol is wrong |
| 11 | deadlock |
| 12 | an invariant is violated; the answer of an audit is yes |
| 13 | a step property, liveness or recoverability is violated |
| 14 | real brokers did as the model says, and the promise was not seen broken |
| 130 | interrupted |
| 150 | a file cannot be read as what it should be |
| 151 | a mistake in options, names, constants or settings |
| 152 | incomplete: a bound ended the search before it could decide |
| 153 | the system refuses something: a path, a disk, memory, a missing package |
| 255 | a defect of acked |

The Tab key completes commands and options after `eval "$(_ACKED_COMPLETE=bash_source acked)"` (in zsh `zsh_source`); in fish
after `_ACKED_COMPLETE=fish_source acked | source`.
"""


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its full name, those of groups after their group."""
    from acked.cli import cli

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


def page() -> str:
    """The page."""
    listed = list(commands())
    parts = [HEAD, "| command | what it does |", "|---|---|"]
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
            parts += ["", "```text", command.epilog, "```"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)) + "\n"


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


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {sum(1 for _ in commands())} commands")
