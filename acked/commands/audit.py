"""The command `audit`: what settings promise."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked.asking.options import FORMAT, OUT, QUIET, BatchOptions, KeyValue, collects, option, searches_many
from acked.asking.output import Output, json_text, put_text, say
from acked.checker.errors import ConfigurationError, ExitCode
from acked.checker.files import check_writable
from acked.checker.names import near
from acked.checker.optional import optional_packages
from acked.version import __version__

if TYPE_CHECKING:
    from acked.checker.audit.audit import Audit, Auditor
    from acked.checker.audit.gather import Given
    from acked.checker.audit.questions import Assumptions, AuditQuestion
    from acked.checker.audit.release import Contexts

ALL = "all"
LOSS = "loss"
_PROOF_SECONDS = 600
"""After so long brokers that play a story are stopped."""


@dataclass(frozen=True)
class ClusterFacts:
    """What the command line says about the cluster besides its files."""

    version: str | None
    control_plane: str | None
    topic: str | None
    entities: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...]
    lenient: bool

    def settings(self, files: tuple[Path, ...]) -> Given:
        """The settings of the files and of --set."""
        from acked.checker.audit.entry import OPTION, SettingEntry
        from acked.checker.audit.gather import gather
        from acked.checker.audit.keys import KEYS
        from acked.checker.audit.read import read_all

        entries = read_all(files)
        for key, _ in self.overrides:
            if key not in KEYS:  # In a file it may be none of our business; here it was typed for us.
                raise ConfigurationError(f"--set: {key} is not a setting that the audit uses{near(key, KEYS)}")
        overrides = [SettingEntry(key, value, OPTION, 0) for key, value in self.overrides]
        return gather(entries, self.topic, overrides, self.lenient, self.entities)


@dataclass(frozen=True)
class Assumed:
    """The faults and bounds that the command line chooses."""

    faults: tuple[str, ...]
    log_size: int | None
    records: int | None
    thorough: bool
    max_states: int | None

    def assumptions(self) -> Assumptions:
        """Faults and bounds as the audit takes them; the default of each question where nothing is chosen."""
        from acked.checker.audit.faults import read_faults
        from acked.checker.audit.questions import BY_DEFAULT

        assumptions = replace(BY_DEFAULT, log_size=self.log_size, records=self.records, is_thorough=self.thorough)
        if self.max_states is not None:
            assumptions = replace(assumptions, max_states=self.max_states)
        if self.faults:
            faults = tuple(dict.fromkeys(read_faults(text) for text in self.faults))
            assumptions = replace(assumptions, faults=faults, of_loss=())
        return assumptions


@dataclass(frozen=True)
class Wanted:
    """Which questions are asked, and which of them decide the exit code."""

    ask: str
    require: str
    advice: bool
    show_settings: bool
    prove_it: bool

    def check(self, form: str) -> None:
        """Refuses forms that do not show what is wanted."""
        if self.prove_it and (form not in ("text", "json") or self.show_settings):
            raise click.UsageError("--prove-it is text or JSON, and goes without --show-settings")

    @cached_property
    def questions(self) -> tuple[AuditQuestion, ...]:
        """What is asked."""
        return _questions(self.ask, "--ask")

    @cached_property
    def required(self) -> tuple[AuditQuestion, ...]:
        """The questions whose answer must be no; `ConfigurationError` if one of them is not asked."""
        required = _questions(self.require, "--require")
        if self.require == ALL or (self.require == LOSS and self.ask != ALL):
            required = self.questions  # What is asked and not required would be asked for nothing.
        if missing := [item.value for item in required if item not in self.questions]:
            raise ConfigurationError(f"--require {missing[0]} is not among the questions of --ask; ask it too")
        return required


_describes_cluster = collects(
    "cluster",
    ClusterFacts,
    version=option("--kafka-version", metavar="V",
                   help="The release, e.g. 3.6.1; default: what the files say, or every release in use."),
    control_plane=option("--control-plane", type=click.Choice(["kraft", "zookeeper"]),
                         help="Where the metadata is; default: what the files say, or both."),
    topic=option("--topic", help="The topic to audit, where the files describe several."),
    entities=option("--entity", multiple=True, metavar="NAME",
                    help="The cluster, node, service or profile to audit, where the files describe several that differ."),
    overrides=option("--set", type=KeyValue("replication.factor=3"), multiple=True,
                     help="A setting besides those of the files, or instead of one: replication.factor=3."),
    lenient=option("--lenient", is_flag=True, help="Warn of names that resemble settings instead of refusing them."),
)  # fmt: skip
_assumes = collects(
    "assumed",
    Assumed,
    faults=option("--faults", multiple=True, metavar="F,…",
                  help="What may go wrong: none, clean, outside-isr, one-machine, one-lossy or lossy crashes; zombies, "
                  "moves, producer-restart besides. Repeat the option to ask about each. Default: clean, and for loss "
                  "also one-machine."),
    log_size=option("--log-size", type=click.IntRange(1, 4), help="Offsets in a log, at least."),
    records=option("--records", type=click.IntRange(1, 4), help="Records, at least."),
    thorough=option("--thorough", is_flag=True, help="Check the order of records with all brokers instead of three."),
    max_states=option("--max-states", type=click.IntRange(1),
                      help="Leave a question undecided once its search knows more distinct states."),
)  # fmt: skip
_asks = collects(
    "wanted",
    Wanted,
    ask=option("--ask", metavar="Q,…", default=ALL, help="Ask only these questions; default: all."),
    require=option("--require", metavar="Q,…", default=LOSS, show_default=True,
                   help="Exit with 0 only if the answer to these is no: loss, duplicates, reordering, vanishing, writes, "
                   "or all."),
    advice=option("--advice/--no-advice", default=True, help="Find the settings that cause a yes, and the smallest fix."),
    show_settings=option("--show-settings", is_flag=True,
                         help="Say what is read, with files and lines, and ask nothing (text or JSON)."),
    prove_it=option("--prove-it", is_flag=True, help="Play the story of a yes on a throw-away cluster of your release, with "
                    "your settings (text or JSON)."),
)  # fmt: skip
_shows = collects(
    "output",
    Output,
    form=FORMAT.with_(type=click.Choice(["text", "markdown", "html", "json", "sarif"]), help="The form of the answer."),
    quiet=QUIET,
)


@click.command(short_help="Check what your own Kafka settings guarantee for acknowledged records.")
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@_describes_cluster
@_assumes
@_asks
@searches_many
@_shows
@OUT.under("out")
def audit(
    files: tuple[Path, ...],
    cluster: ClusterFacts,
    assumed: Assumed,
    wanted: Wanted,
    batch: BatchOptions,
    output: Output,
    out: Path | None,
) -> int:
    """Check what the settings in FILE... guarantee for acknowledged records.

    FILEs are what you have: properties of brokers, producers and consumers; the output of `kafka-configs --describe`,
    `kafka-topics --describe` and `kafka-features describe`; Strimzi's Kafka, KafkaNodePool and KafkaTopic, ConfigMaps and
    workloads of Kubernetes; docker-compose and files of variables (KAFKA_…, KAFKA_CFG_…); Helm values; Terraform
    (kafka_topic, aws_msk_…); Spring's application.yml and .properties; librdkafka's names; JSON; folders of these; - for the
    standard input. What is not understood is refused, and never passed over.

    Five questions are decided by exhaustive search: can an acknowledged record be lost, duplicated, reordered, or read and
    then vanish, and can the partition stop accepting writes with one broker down? A yes comes with the shortest sequence of
    events, the settings that cause it, and the smallest change that makes it a no, itself checked. If nothing names the
    release, the required questions are asked about every release in use, and the worst answer counts.

    \b
    acked audit server.properties producer.properties --kafka-version 3.6
    acked audit --set acks=1 --set replication.factor=3 --ask loss
    acked audit docker-compose.yml --show-settings
    acked audit server.properties --set acks=1 --kafka-version 3.9.1 --prove-it
    kubectl get kafka,kafkanodepool,kafkatopic -o yaml | acked audit - --topic orders

    Exit codes: 0 if every required answer is no, 12 if one is yes, 152 if one is undecided, 150 for a file that cannot be
    read or has no known setting, 151 for settings that Kafka refuses, that contradict each other, or that look misspelt.
    With --prove-it 1 if real brokers do something else than the model, 153 if they do not start.
    """
    from acked.checker.audit.audit import Auditor
    from acked.checker.audit.release import contexts
    from acked.reports.audit.document import audit_document

    if not files and not cluster.overrides:
        raise click.UsageError("Missing argument 'FILE...'.")
    questions, required = wanted.questions, wanted.required
    wanted.check(output.form)
    if out is not None:
        check_writable(out, "audit")
    assumptions, given = assumed.assumptions(), cluster.settings(files)
    if wanted.show_settings:
        return _show_settings(given, output.form, out)
    found = contexts(given, cluster.version, cluster.control_plane)
    progress = output.batch_progress("searches")
    first, cache = found.first, batch.cache()
    auditor = Auditor(given, first.release, first.plane, assumptions, batch.limits, cache, progress, found.others)
    with progress:
        result = _run(auditor, found, questions, wanted.advice, required)
    document = audit_document(result, required, found)
    if wanted.prove_it:
        return _prove(result, required, document, output, out)
    _show(document, output.form, out, [str(file) for file in files])
    return _code(document)


def _prove(
    result: Audit, required: tuple[AuditQuestion, ...], document: dict[str, Any], output: Output, out: Path | None
) -> int:
    """Shows the audit, then what real brokers do with the story of its first yes that can be played."""
    with optional_packages():
        from acked.cluster.playing.reproduce import Heed
        from acked.commands.reproducing.audited import prove, to_prove
        from acked.reports.reproductions.document import answer_document
        from acked.reports.reproductions.terminal import print_answer

    if output.form == "text":
        _show(document, output.form, out, [])
    try:
        chosen, why_not = to_prove(result, required, output.quiet), "there is no yes to prove"
    except ConfigurationError as error:
        chosen, why_not = None, str(error)
    if chosen is None:
        say(f"--prove-it: {why_not}")
        if output.form == "json":
            _show({**document, "proof": None, "not_proved": why_not}, output.form, out, [])
        return _code(document)
    if chosen.without_idempotence and not output.quiet:
        say("--prove-it: the producer has no producer id, which makes no difference to what is lost")
    answer = prove(chosen, _PROOF_SECONDS, Heed() if output.quiet else Heed(lambda line: say(f"  {line}")))
    if output.form == "json":
        _show({**document, "proof": answer_document(answer, {})}, output.form, out, [])
    else:
        from acked.reports.console import open_console

        print_answer(open_console(sys.stdout), answer)
    return int(answer.exit_code)


def _code(document: dict[str, Any]) -> ExitCode:
    return {"no": ExitCode.HOLDS, "yes": ExitCode.INVARIANT, "undecided": ExitCode.TOO_LARGE}[document["verdict"]]


def _show_settings(given: Given, form: str, out: Path | None) -> int:
    """Tells what was read, and that nothing was decided is no failure."""
    from io import StringIO

    from acked.reports.audit.listing import print_settings, settings_document
    from acked.reports.console import open_console

    if form not in ("text", "json"):
        raise click.UsageError(f"--show-settings is text or JSON, and --format says {form}; leave one out")
    document = settings_document(given)
    if form == "text" and out is None:
        print_settings(open_console(sys.stdout), document)
        return ExitCode.HOLDS
    stream = StringIO()
    print_settings(open_console(stream, width=120), document)
    put_text(json_text(document) if form == "json" else stream.getvalue(), out, "settings")
    return ExitCode.HOLDS


def _run(
    auditor: Auditor, found: Contexts, questions: tuple[AuditQuestion, ...], advice: bool, demanded: tuple[AuditQuestion, ...]
) -> Audit:
    from acked.checker.audit.settings import RefusedByKafka

    try:
        return auditor.run(questions, advice, demanded)
    except RefusedByKafka as error:
        if found.is_named:
            raise
        raise RefusedByKafka(f"{error} (as of {found.first.words}; nothing names your release, so name it with "
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


def _show(document: dict[str, Any], form: str, out: Path | None, files: list[str]) -> None:
    if form == "text" and out is None:
        from acked.reports.audit.terminal import print_audit
        from acked.reports.console import open_console

        print_audit(open_console(sys.stdout), document)
        return
    put_text(_rendered(document, form, files), out, "audit")


def _rendered(document: dict[str, Any], form: str, files: list[str]) -> str:
    if form == "markdown":
        from acked.reports.audit.terminal import audit_markdown

        return audit_markdown(document)
    if form == "html":
        from acked.reports.audit.page import audit_page

        return audit_page(document)
    if form == "sarif":
        from acked.reports.audit.sarif import audit_sarif

        return json_text(audit_sarif(document, files, __version__))
    if form == "json":
        return json_text(document)
    from io import StringIO

    from acked.reports.audit.terminal import print_audit
    from acked.reports.console import open_console

    stream = StringIO()
    print_audit(open_console(stream, width=120), document)
    return stream.getvalue()
