"""Options are declared once, collected into values, and mean the same in every command that has them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from acked.commands.exporting.export import MODULE, SCRIPT
from acked.reports.exports import catalogue, graphs
from acked.reports.shell.options import Binding, KeyValue, MemorySize, asks_spec, collects, option
from tools.parts.commands import commands

COMMANDS = {path.removeprefix("acked "): command for path, command, _ in commands()}
OWN = {
    "--ask", "--bootstrap-server", "--cache", "--command-config", "--constant", "--control-plane", "--explore", "--faults",
    "--format", "--from", "--full", "--html", "--jobs",
    "--kafka-version", "--levels", "--log-size", "--markdown", "--master", "--max-states", "--memory", "--minutes",
    "--out", "--partition",
    "--partitions", "--policy", "--producer", "--records",
    "--run-dir", "--seed", "--select", "--set", "--slow", "--stories", "--symmetry", "--timeout", "--to", "--topic",
    "--time-limit", "--trace-out", "--trust", "--workers",
}  # fmt: skip
"""Options that do not do the same in every command: their help says what they do there."""


@dataclass(frozen=True)
class Pair:
    """Two options together."""

    left: int
    right: str


def test_options_that_belong_together_arrive_as_one_value_beside_the_others() -> None:
    @click.command()
    @click.argument("first")
    @collects("pair", Pair, left=option("-l", "--left", type=int, default=3), right=option("--right", default="r"))
    @click.option("--last", is_flag=True)
    def command(first: str, pair: Pair, last: bool) -> None:
        click.echo(f"{first} {pair} {last}")

    assert CliRunner().invoke(command, ["a", "--last", "-l", "7"]).output == f"a {Pair(7, 'r')} True\n"
    assert [item.name for item in command.params] == ["first", "left", "right", "last"]


def test_an_option_of_several_commands_has_one_help_text_unless_it_does_something_else_there() -> None:
    texts: dict[str, set[str | None]] = defaultdict(set)
    for command in COMMANDS.values():
        for item in command.params:
            if isinstance(item, click.Option):
                texts[item.opts[-1]].add(item.help)
    assert {name for name, known in texts.items() if len(known) > 1} == OWN


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"new", "kafka fetch", "kafka list"}))
def test_every_help_page_has_an_example(name: str) -> None:
    shown = CliRunner().invoke(COMMANDS[name], ["--help"], max_content_width=200).output
    assert re.search(rf"\n +acked {name} ", shown.partition("\n")[2])


def test_a_constant_that_is_given_twice_is_refused_by_every_command() -> None:
    @click.command()
    @asks_spec
    def command(asked: object) -> None:
        asked.load()  # type: ignore[attr-defined]

    done = CliRunner().invoke(command, ["kip320", "-c", "replicas=2", "-c", "replicas=3"])
    assert "constant replicas is given twice" in str(done.exception)


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (MemorySize(), "x", "'x' is not a memory size; use e.g. 800MB or 4GB"),
        (Binding(), "replicas", "'replicas' does not set a constant; use NAME=VALUE, e.g. replicas=2"),
        (KeyValue("acks=1"), "acks", "'acks' is not a setting; use KEY=VALUE, e.g. acks=1"),
    ],
)
def test_a_value_that_is_not_valid_is_refused_with_an_example(kind: click.ParamType, text: str, sentence: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(text, None, None)
    assert refused.value.message == sentence


@pytest.mark.parametrize(
    ("command", "formats"), [("export", (*catalogue.FORMATS, SCRIPT, MODULE)), ("states graph", tuple(graphs.FORMATS))]
)
def test_a_new_format_is_a_choice_without_being_named_again(command: str, formats: tuple[str, ...]) -> None:
    (to,) = (item for item in COMMANDS[command].params if item.name == "form")
    assert isinstance(to.type, click.Choice)
    assert to.type.choices == formats
