"""The command `audit`: what settings promise."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked import __version__
from acked.asking.options import KeyValue, MemorySize
from acked.checker.errors import ConfigurationError, ExitCode
from acked.checker.files import check_writable, write_text
from acked.checker.names import near

if TYPE_CHECKING:
    from acked.checker.audit.audit import Audit, Auditor
    from acked.checker.audit.questions import Assumptions, AuditQuestion
    from acked.checker.audit.release import Contexts

FORMATS = ("text", "markdown", "html", "json", "sarif")
ALL = "all"
LOSS = "loss"


@click.command(short_help="What your own settings promise for acknowledged records.")
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--kafka-version", "version", metavar="V",
              help="The release, such as 3.6.1; default: what the files say, or every one in use.")  # fmt: skip
@click.option("--control-plane", type=click.Choice(["kraft", "zookeeper"]), help="Default: what the files say, or both.")
@click.option("--topic", help="The topic that is meant, where the files describe several.")
@click.option("--set", "overrides", type=KeyValue(), multiple=True,
              help="A setting besides, or instead of a file's: replication.factor=3.")  # fmt: skip
@click.option("--lenient", is_flag=True, help="Pass over names that resemble settings, with a warning, not an error.")
@click.option(
    "--faults",
    multiple=True,
    metavar="F,…",
    help="What goes wrong: none, clean, outside-isr, one-machine, one-lossy or lossy crashes; zombies, moves, "
    "producer-restart besides. Several times: each is asked about. Default: clean, and for loss also one-machine.",
)
@click.option("--ask", "asked", metavar="Q,…", default=ALL, help="Ask only these questions; default: all.")
@click.option(
    "--require",
    "required",
    metavar="Q,…",
    default="loss",
    show_default=True,
    help="Exit with 0 only if these are decided no: loss, duplicates, reordering, vanishing, writes, or all.",
)
@click.option("--advice/--no-advice", default=True, help="Find out what a yes hangs on, and the smallest change.")
@click.option("--log-size", type=click.IntRange(1, 4), help="At least so many offsets in a log.")
@click.option("--records", type=click.IntRange(1, 4), help="At least so many records.")
@click.option("--thorough", is_flag=True, help="Ask about the order of records with all brokers, not with three.")
@click.option("--max-states", type=click.IntRange(1), help="Leave a question undecided after so many distinct states.")
@click.option("--memory", type=MemorySize(), help="Bytes for the states of each search, e.g. 2GB.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Searches at a time; default: one per core.")
@click.option("--cache/--no-cache", "use_cache", default=True, help="Take answers that were found before.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What comes out.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write it to this file instead of stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def audit(
    files: tuple[Path, ...],
    version: str | None,
    control_plane: str | None,
    topic: str | None,
    overrides: tuple[tuple[str, str], ...],
    lenient: bool,
    faults: tuple[str, ...],
    asked: str,
    required: str,
    advice: bool,
    log_size: int | None,
    records: int | None,
    thorough: bool,
    max_states: int | None,
    memory: int | None,
    jobs: int | None,
    use_cache: bool,
    form: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """Ask what the settings in FILE... promise for acknowledged records.

    FILEs are server.properties, producer.properties, consumer settings, what `kafka-configs --describe`, `kafka-topics
    --describe` and `kafka-features describe` print, or JSON. Five questions are decided by exhaustive search: can a record
    that was acknowledged be lost, duplicated, reordered, read and then vanish, and can the partition stop accepting writes
    with one broker down? A yes comes with the shortest story, the settings that cause it and the smallest change that makes
    it a no, itself checked. Where neither files nor options name the release, what is required is asked of every release in
    use, and the worst answer counts.

    Exit codes: 0 if what is required is decided no, 12 if an answer is yes, 152 if one is undecided, 150 for a file that
    cannot be read or in which nothing is known, 151 for settings that Kafka refuses, that contradict each other, or whose
    name is nearly that of a setting that counts.
    """
    from acked.checker.audit.audit import Auditor
    from acked.checker.audit.entry import OPTION, Entry
    from acked.checker.audit.gather import gather
    from acked.checker.audit.read import read_settings
    from acked.checker.audit.release import contexts
    from acked.checker.batch.local import BatchLimits
    from acked.commands.gate import result_cache
    from acked.reports.audit.document import audit_document

    if not files and not overrides:
        raise click.UsageError("Missing argument 'FILE...'.")
    questions, demanded = _questions(asked, "--ask"), _questions(required, "--require")
    if required == ALL or (required == LOSS and asked != ALL):
        demanded = questions  # What is asked and not required would be asked for nothing.
    if missing := [item.value for item in demanded if item not in questions]:
        raise ConfigurationError(f"--require {missing[0]} is not among the questions of --ask; ask it too")
    if out is not None:
        check_writable(out, "audit")
    assumed = _scene(faults, log_size, records, thorough, max_states)
    entries = [entry for file in files for entry in read_settings(file)]
    given = gather(entries, topic, [Entry(key, value, OPTION, 0) for key, value in _checked(overrides)], lenient)
    found = contexts(given, version, control_plane)
    auditor = Auditor(
        given,
        found.first.release,
        found.first.plane,
        assumed,
        BatchLimits.default(jobs, memory),
        result_cache() if use_cache else None,
        on_decided=_Progress(quiet),
        others=found.others,
    )
    result = _run(auditor, found, questions, advice, demanded)
    _Progress.end(quiet)
    document = audit_document(result, demanded, found)
    _show(document, form, out, [str(file) for file in files])
    return {"no": ExitCode.HOLDS, "yes": ExitCode.INVARIANT, "undecided": ExitCode.TOO_LARGE}[document["verdict"]]


def _scene(
    faults: tuple[str, ...], log_size: int | None, records: int | None, is_thorough: bool, max_states: int | None
) -> Assumptions:
    from acked.checker.audit.faults import read_faults
    from acked.checker.audit.questions import BY_DEFAULT

    assumed = replace(BY_DEFAULT, log_size=log_size, records=records, is_thorough=is_thorough)
    if max_states is not None:
        assumed = replace(assumed, max_states=max_states)
    if faults:
        assumed = replace(assumed, faults=tuple(dict.fromkeys(read_faults(text) for text in faults)), of_loss=())
    return assumed


def _run(
    auditor: Auditor, found: Contexts, questions: tuple[AuditQuestion, ...], advice: bool, demanded: tuple[AuditQuestion, ...]
) -> Audit:
    from acked.checker.audit.settings import RefusedByKafka

    try:
        return auditor.run(questions, advice, demanded)
    except RefusedByKafka as error:
        if found.is_named:
            raise
        raise RefusedByKafka(f"{error} (so {found.first.words} says; nothing names the release, so name yours with "
                      "--kafka-version)") from None  # fmt: skip


def _questions(text: str, option: str) -> tuple[AuditQuestion, ...]:
    from acked.checker.audit.questions import AuditQuestion as Questions

    names = [item.value for item in Questions]
    wanted = [part.strip() for part in text.split(",")]
    for name in wanted:
        if name not in (*names, ALL):
            raise ConfigurationError(
                f"{option}: there is no question {name!r}{near(name, names)}; choose from {', '.join(names)}, {ALL}"
            )
    return tuple(item for item in Questions if item.value in wanted or ALL in wanted)


def _checked(overrides: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """What --set names must exist: nobody writes there what is none of our business."""
    from acked.checker.audit.keys import KEYS

    for key, _ in overrides:
        if key not in KEYS:
            raise ConfigurationError(f"--set: {key} is none of the settings that count{near(key, KEYS)}")
    return overrides


def _show(document: dict[str, Any], form: str, out: Path | None, files: list[str]) -> None:
    if form == "text" and out is None:
        from acked.reports.audit.terminal import print_audit
        from acked.reports.console import open_console

        print_audit(open_console(sys.stdout), document)
        return
    text = _rendered(document, form, files)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text, "audit")


def _rendered(document: dict[str, Any], form: str, files: list[str]) -> str:
    if form == "markdown":
        from acked.reports.audit.terminal import audit_markdown

        return audit_markdown(document)
    if form == "html":
        from acked.reports.audit.page import audit_page

        return audit_page(document)
    if form == "sarif":
        from acked.reports.audit.sarif import audit_sarif

        return json.dumps(audit_sarif(document, files, __version__), indent=1) + "\n"
    if form == "json":
        return json.dumps(document, indent=1) + "\n"
    from io import StringIO

    from acked.reports.audit.terminal import print_audit
    from acked.reports.console import open_console

    stream = StringIO()
    print_audit(open_console(stream, width=120), document)
    return stream.getvalue()


class _Progress:
    """One line on a terminal that says how many searches are done."""

    def __init__(self, quiet: bool) -> None:
        self._is_shown = not quiet and sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if self._is_shown:
            click.echo(f"\r{done} of {total} searches", nl=False, err=True)

    @staticmethod
    def end(quiet: bool) -> None:
        """Takes the line away."""
        if not quiet and sys.stderr.isatty():
            click.echo("\r\x1b[K", nl=False, err=True)
