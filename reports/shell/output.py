"""What commands write: messages on stderr, an answer as text or JSON on stdout, trace files and other files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.base.errors import SystemFailure
from acked.base.files import check_writable, write_text
from acked.base.frozen import frozen
from acked.reports.console import Console, open_console
from acked.reports.progress import BatchProgress, ProgressReporter

if TYPE_CHECKING:
    from acked.checker.question.question import Question
    from acked.checker.question.result import Counterexample
    from acked.checker.spec.spec import Spec

def say(text: str) -> None:
    """Prints a message on stderr."""
    click.echo(text, err=True)


def json_text(document: object) -> str:
    """A document as the JSON that commands write, with a newline at its end."""
    return json.dumps(document, indent=1) + "\n"


def put_text(text: str, out: Path | None, what: str) -> None:
    """Writes a whole text to a file, or to stdout if none is named; `what` is the file's word in an error."""
    if out is None:
        click.echo(text, nl=False)
        return
    write_text(out, text, what)


def put_drawn(draw: Callable[[Console], object], out: Path | None, what: str) -> None:
    """What is drawn on a console, on the terminal's or, 120 columns wide, as the text of a file; `what` as in `put_text`."""
    if out is None:
        draw(open_console(sys.stdout))
        return
    stream = StringIO()
    draw(open_console(stream, width=120))
    put_text(stream.getvalue(), out, what)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it where they are missing; `SystemFailure` if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemFailure(f"cannot make the folder {folder}: {error.strerror}; choose another place") from None


@frozen
class Output:
    """What `--format` and `--quiet` choose: the form of the answer on stdout, and whether stderr has progress."""

    form: str = "text"
    quiet: bool = False

    @property
    def is_json(self) -> bool:
        """Whether stdout gets one JSON document."""
        return self.form == "json"

    def emit(self, document: Callable[[], object], show: Callable[[Console], None]) -> None:
        """Prints the answer: `document` makes it for JSON, `show` writes it to a console; the other one is not called."""
        if self.is_json:
            click.echo(json_text(document()), nl=False)
            return
        show(open_console(sys.stdout))

    def question(self, spec: Spec) -> Question:
        """What a spec asks, with progress on stderr while the rules are read: a large protocol takes its time."""
        with self.progress() as observer:
            observer.phase("building the model")
            return spec.question()

    def progress(self) -> ProgressReporter:
        """Shows on stderr how a search goes; for a `with` block."""
        return ProgressReporter(sys.stderr, quiet=self.quiet)

    def batch_progress(self, noun: str) -> BatchProgress:
        """Shows on stderr how many of many are done; for a `with` block. `noun` says what they are, in the plural."""
        return BatchProgress(noun, sys.stderr, self.quiet)


@frozen
class TraceFile:
    """What `--trace-out` names: the file for the answer's trace, or none."""

    path: Path | None = None

    def check(self) -> None:
        """Fails before long work if the file cannot be written."""
        check_writable(self.path, "trace")

    def write(self, found: Counterexample) -> None:
        """Writes a trace file."""
        if self.path is not None:
            from acked.checker.replay.trace_file import trace_document

            write_text(self.path, json_text(trace_document(found)), "trace")

    def announce(self, output: Output, is_written: bool, otherwise: str = "no property is violated") -> None:
        """Says on stderr where the trace is, or why there is none; beside JSON, which has the trace, nothing."""
        if self.path is not None and not output.is_json:
            say(f"the trace is in {self.path}" if is_written else f"{otherwise}, so no trace was written")
