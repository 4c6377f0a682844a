"""The reference has every command and option, and none is without words."""

from __future__ import annotations

import re

import click

from tools.parts.commands import commands, reference


def test_every_command_says_what_it_does() -> None:
    bare = [path for path, command, _ in commands() if not command.help or not command.get_short_help_str()]
    assert bare == []


def test_every_option_says_what_it_does() -> None:
    bare = [
        f"{path} {option.opts[0]}"
        for path, command, _ in commands()
        for option in command.params
        if isinstance(option, click.Option) and len(option.help or "") < 10
    ]
    assert bare == []


MEANT = {"PATH": "folders", "DIR": "dataset"}
"""How help speaks of an argument that it does not name."""


def test_the_help_of_a_command_speaks_of_each_of_its_arguments() -> None:
    silent = []
    for path, command, context in commands():
        for item in command.params:
            if isinstance(item, click.Argument):
                words = re.findall(r"[A-Z][A-Z_]+", item.make_metavar(context))
                said = (command.help or "").lower()
                meant = {word: {word.lower(), MEANT.get(word, word.lower())} for word in words}
                silent += [f"{path} {word}" for word in words if not any(other in said for other in meant[word])]
    assert silent == []


def test_the_page_has_a_row_for_every_option() -> None:
    text = "\n".join(reference())
    for path, command, _ in commands():
        part = text.partition(f"\n## `{path}`\n")[2].partition("\n## ")[0]
        names = [name for option in command.params if isinstance(option, click.Option) for name in option.opts]
        assert [name for name in names if name not in part] == [], path
