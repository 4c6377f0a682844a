"""The documentation's examples are run: what the README and docs/ show is what the command does.

In a ```console block, a line that begins with `$ ` is a command and the lines up to the next one are its output: both
streams, as on a terminal. `…` stands for any text within a line, and alone on a line for any number of lines. A command may
go on after a backslash at the end of its line; `$?` is the exit code of the command before. The blocks of one document, or of
one section of the README, share a temporary directory and run in order, except those directly below `<!-- not run -->`. A
block of any kind directly below `<!-- file: NAME -->` is that file, written when its turn comes.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.places import CHECKOUT

DOCUMENTS = sorted((CHECKOUT / "docs").rglob("*.md"))
README = CHECKOUT / "README.md"
HEADING = re.compile(r"^## ", re.MULTILINE)
SPARK = re.compile(r"^\$ acked (query|.*--(engine spark|master))", re.MULTILINE)
QUICK = ("Quick start", "Seeing why")
"""Sections whose examples take no more than a few seconds."""
BLOCK = re.compile(r"^(?P<indent> *)```console\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
FILE = re.compile(
    r"^<!-- file: (?P<name>[\w./-]+) -->\n+```\w*\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL
)
NOT_RUN = "<!-- not run -->"
ANYTHING = "…"
SCRIPTS = sysconfig.get_path("scripts")


@dataclass(frozen=True)
class Example:
    """A command, the output it should have, and the line of its document."""

    line: int
    command: str
    expected: tuple[str, ...]


def examples(text: str) -> Iterator[Example]:
    """The commands of a document's console blocks, in order."""
    for block in BLOCK.finditer(text):
        if text[: block.start()].rstrip().endswith(NOT_RUN):
            continue
        first = text.count("\n", 0, block.start("body")) + 1
        indent = block["indent"]
        lines = [line.removeprefix(indent).rstrip() for line in block["body"].splitlines()]
        if not lines or not lines[0].startswith("$ "):
            raise ValueError(f"line {first}: a console block begins with a command, “$ …”")
        at = 0
        while at < len(lines):
            start, command = at, lines[at].removeprefix("$ ")
            while command.endswith("\\") and at + 1 < len(lines):
                at += 1
                command += "\n" + lines[at].removeprefix("> ")
            at += 1
            output = []
            while at < len(lines) and not lines[at].startswith("$ "):
                output.append(lines[at])
                at += 1
            yield Example(first + start, command, tuple(output))


def agrees(expected: tuple[str, ...], actual: str) -> bool:
    """Whether the output is as shown, but for wildcards, spaces at line ends and empty lines at its end."""
    pattern = ""
    for line in "\n".join(expected).rstrip("\n").split("\n"):
        if line.strip() == ANYTHING:
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split(ANYTHING)) + r"\n"
    lines = [line.rstrip() for line in actual.splitlines()]
    return re.fullmatch(pattern, "\n".join(lines).rstrip("\n") + "\n") is not None


def run(command: str, directory: Path, before: int) -> tuple[int, str]:
    """The exit code and output of a command, `acked` being the one of this environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = SCRIPTS + os.pathsep + os.environ["PATH"]
    environment |= {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", f"(exit {before})\n{command}"],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout


def try_examples(document: Path, text: str, line: int, directory: Path) -> None:
    """Runs the examples of a text that begins behind so many lines of its document."""
    code = 0
    files = [(text.count("\n", 0, match.start()) + 1, match["name"], match["body"]) for match in FILE.finditer(text)]
    for example in examples(text):
        while files and files[0][0] < example.line:
            _, name, body = files.pop(0)
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(body, "utf-8")
        code, output = run(example.command, directory, code)
        if not agrees(example.expected, output):
            difference = "\n".join(difflib.ndiff(example.expected, output.splitlines()))
            place = f"{document.relative_to(CHECKOUT)}:{line + example.line}"
            pytest.fail(f"{place}: $ {example.command}\n(exit code {code})\n{difference}", pytrace=False)


def sections(text: str) -> Iterator[Any]:
    """The parts of a text from one heading of the second level to the next, each with the lines before it, as parameters."""
    starts = [0, *(match.start() for match in HEADING.finditer(text)), len(text)]
    for begin, end in itertools.pairwise(starts):
        part = text[begin:end]
        if any(examples(part)):
            title = part.splitlines()[0].lstrip("# ")
            marks = [pytest.mark.spark] * bool(SPARK.search(part)) + [pytest.mark.slow] * (title not in QUICK)
            yield pytest.param(part, text.count("\n", 0, begin), id=title, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(CHECKOUT).as_posix())
def test_the_examples_of_a_document_do_what_it_shows(document: Path, tmp_path: Path) -> None:
    try_examples(document, document.read_text("utf-8"), 0, tmp_path)


@pytest.mark.parametrize(("section", "line"), list(sections(README.read_text("utf-8"))))
def test_the_examples_of_the_readme_do_what_it_shows(section: str, line: int, tmp_path: Path) -> None:
    try_examples(README, section, line, tmp_path)


def test_commands_and_outputs_are_told_apart() -> None:
    text = "# T\n\n```console\n$ one \\\n>   two\nout\n\n$ three\n```\n\n```sh\n$ ignored\n```\n"
    assert list(examples(text)) == [Example(4, "one \\\n  two", ("out", "")), Example(8, "three", ())]


def test_a_block_below_the_mark_is_not_run() -> None:
    text = f"{NOT_RUN}\n```console\n$ one\n```\n\n```console\n$ two\n```\n"
    assert [example.command for example in examples(text)] == ["two"]


def test_an_indented_block_is_read_without_its_indent() -> None:
    assert list(examples("1. x\n\n   ```console\n   $ one\n     out\n   ```\n")) == [Example(4, "one", ("  out",))]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ((), ""),
        (("a",), "a\n"),
        (("a …s",), "a 0.31 s\n"),
        (("a", "…", "b"), "a\nb\n"),
        (("a", "…", "b"), "a\nx\n\ny\nb\n"),
        (("…",), ""),
        (("a", ""), "a  \n\n\n"),
        (("(1+1)* …",), "(1+1)* 2"),
    ],
)
def test_output_as_shown_agrees(expected: tuple[str, ...], actual: str) -> None:
    assert agrees(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [((), "a\n"), (("a",), ""), (("a",), "a\nb\n"), (("a…b",), "a\nb\n"), (("a", "…"), "b\n"), (("1.1",), "101\n")],
)
def test_output_unlike_the_one_shown_does_not_agree(expected: tuple[str, ...], actual: str) -> None:
    assert not agrees(expected, actual)


def test_the_exit_code_before_and_the_acked_of_this_environment_are_at_hand(tmp_path: Path) -> None:
    assert run("echo $?", tmp_path, 12) == (0, "12\n")
    assert run("command -v acked", tmp_path, 0) == (0, str(Path(SCRIPTS) / "acked") + "\n")
