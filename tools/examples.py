"""Runs the console blocks of README and docs/, and records their output anew where it has changed.

    python tools/examples.py                     compare every page, and say what differs
    python tools/examples.py --write             rewrite the output of what differs, in place
    python tools/examples.py --write docs/sql.md the same, of one page

In a ```console block, a line that begins with `$ ` is a command and the lines up to the next one are its output, both
streams. `…` stands for any text within a line, and alone on a line for any number of lines; both are kept where the
new output still fits around them. A command may go on after a backslash at the end of its line; `$?` is the exit code of the
command before. The blocks of one page share a temporary directory and run in order, except those directly below
`<!-- not run -->`. A block of any kind directly below `<!-- file: NAME -->` is that file, written when its turn comes.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^(?P<indent> *)```console\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^<!-- file: (?P<name>[\w./-]+) -->\n+```\w*\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = "<!-- not run -->"
ANYTHING = "…"
SCRIPTS = sysconfig.get_path("scripts")


@dataclass(frozen=True)
class Example:
    """A command, the output that is shown, the line of its document, and where its output lies among the lines (from 0)."""

    line: int
    command: str
    expected: tuple[str, ...]
    indent: str = ""
    first: int = 0


def pages() -> list[Path]:
    """README and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


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
            yield Example(first + start, command, tuple(output), indent, first + at - len(output) - 1)


def agrees(expected: Sequence[str], actual: str) -> bool:
    """Whether the output is as shown, but for wildcards, spaces at line ends and empty lines at its end."""
    pattern = ""
    for line in "\n".join(expected).rstrip("\n").split("\n"):
        if line.strip() == ANYTHING:
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split(ANYTHING)) + r"\n"
    lines = [line.rstrip() for line in actual.splitlines()]
    return re.fullmatch(pattern, "\n".join(lines).rstrip("\n") + "\n") is not None


def run(command: str, directory: Path, before: int, scripts: str = SCRIPTS) -> tuple[int, str]:
    """The exit code and output of a command, `acked` being the one in `scripts`, else of this environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join((scripts, SCRIPTS, os.environ["PATH"]))
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


def answers(
    text: str, directory: Path, leave_out: Collection[str] = (), scripts: str = SCRIPTS
) -> Iterator[tuple[Example, int, str]]:
    """Runs a document's commands in a directory: each with its exit code and output. Files are written in their turn."""
    code = 0
    files = [(text.count("\n", 0, match.start()) + 1, match["name"], match["body"]) for match in FILE.finditer(text)]
    for example in examples(text):
        while files and files[0][0] < example.line:
            _, name, body = files.pop(0)
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(body, "utf-8")
        if example.command in leave_out:
            continue
        code, output = run(example.command, directory, code, scripts)
        yield example, code, output


def recorded(expected: Sequence[str], actual: str) -> list[str]:
    """The output as it is to be shown now: what was left out before is left out again, as far as it can be told."""
    lines = [line.rstrip() for line in actual.rstrip("\n").splitlines()]
    if agrees(expected, actual):
        return list(expected)
    shown = [at for at, line in enumerate(expected) if line.strip() != ANYTHING]
    pairs = dict(_aligned([expected[at] for at in shown], lines))
    partner = {shown[at]: line for at, line in pairs.items()}
    made: list[str] = []
    done, elided = 0, False
    for at, line in enumerate(expected):
        if line.strip() == ANYTHING:
            elided = True
            gap = line
            continue
        if at not in partner:
            continue
        if elided:
            made.append(gap)
        else:
            made += lines[done : partner[at]]
        made.append(_with_gaps(line, lines[partner[at]]))
        done, elided = partner[at] + 1, False
    made += [gap] if elided else lines[done:]
    return made if agrees(made, actual) else lines


def _aligned(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Which line of the old output has become which of the new, in order, so that they resemble each other most."""
    best: list[list[float]] = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    alike = [[_likeness(a, b) for b in new] for a in old]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + alike[i][j])
    pairs, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if alike[i][j] > 0 and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: str, new: str) -> float:
    """From 0 to 2: whether the lines agree, else how far they resemble each other; too little counts as not at all."""
    if agrees([old], new):
        return 2.0 if old.strip(ANYTHING + " ") else 0.1
    ratio = difflib.SequenceMatcher(None, old, new, autojunk=False).ratio()
    return ratio if ratio > 0.5 else 0.0


def _with_gaps(old: str, new: str) -> str:
    """The new line, with `…` where the old one had it and its neighbours are still there."""
    if agrees([old], new):
        return old
    made, at = "", 0
    for before, after in itertools.pairwise(old.split(ANYTHING)):
        left, right = before[-6:], after[:6]
        while len(left) > 2 and left not in new[at:]:
            left = left[1:]
        while len(right) > 2 and right not in new[at:]:
            right = right[:-1]
        start = new.find(left, at)
        end = new.find(right, start + len(left)) if right and start >= 0 else len(new)
        if start >= 0 and end >= 0:
            made += new[at : start + len(left)] + ANYTHING
            at = end
    return made + new[at:]


def rewritten(text: str, directory: Path) -> tuple[str, list[Example]]:
    """A document with the output of its commands as it is now, and the examples that had another one."""
    changed = [
        (example, output) for example, _, output in answers(text, directory) if not agrees(example.expected, output)
    ]
    lines = text.splitlines(keepends=True)
    for example, output in reversed(changed):
        new = [f"{example.indent}{line}".rstrip() + "\n" for line in recorded(example.expected, output)]
        lines[example.first : example.first + len(example.expected)] = new
    return "".join(lines), [example for example, _ in changed]


def main() -> int:
    """Compares or rewrites; 1 if something differs and was not written."""
    parser = argparse.ArgumentParser(description="Run the console blocks of README and docs/.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; default: all")
    parser.add_argument("--write", action="store_true", help="rewrite the output of what differs")
    chosen = parser.parse_args()
    differs = False
    for page in [path.resolve() for path in chosen.pages] or pages():
        text = page.read_text("utf-8")
        with tempfile.TemporaryDirectory() as directory:
            new, changed = rewritten(text, Path(directory))
        for example in changed:
            differs = True
            print(f"{page.relative_to(ROOT)}:{example.line}: {example.command}", flush=True)
        if chosen.write and changed:
            page.write_text(new, "utf-8")
        elif changed:
            sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), new.splitlines(True), str(page), "now"))
    return int(differs and not chosen.write)


if __name__ == "__main__":
    sys.exit(main())
