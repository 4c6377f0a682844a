"""The command `audit`: what settings promise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from acked.audit.clusters.live import with_producers
from acked.audit.clusters.several import Asked, Audited, audit_groups, worst_of_groups
from acked.audit.clusters.topics import groups_of, left_out
from acked.audit.commands.asked import FILES, Assumed, ClusterFacts, assumes, describes_cluster
from acked.audit.commands.durability import matrix
from acked.audit.commands.output_files import check_fixable, read_before, since, write_fixes, write_pages, write_trace
from acked.audit.commands.plan import plan
from acked.audit.decision.faults import Faults, read_faults
from acked.audit.decision.gather import Given, settle
from acked.audit.decision.questions import AuditQuestion
from acked.audit.reports.document import audit_document, with_hinges
from acked.audit.reports.listing import print_settings, settings_document
from acked.audit.reports.page import audit_page, topics_page
from acked.audit.reports.terminal import audit_markdown, print_audit
from acked.audit.reports.topics import print_topics, topics_document, topics_markdown
from acked.audit.reports.upgrading import upgrade_part, verdict_with
from acked.base.errors import ConfigurationError, ExitCode
from acked.base.files import check_writable
from acked.base.names import near
from acked.base.optional import optional_packages
from acked.base.release import Release, release
from acked.base.version import __version__
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import KeptProcesses
from acked.cluster.vocabulary.entry import Scope
from acked.reports.console import harmless
from acked.reports.shell.batches import BatchOptions, searches_many
from acked.reports.shell.groups import Branching
from acked.reports.shell.options import FORMAT, OUT, QUIET, collects, option
from acked.reports.shell.output import Output, json_text, put_drawn, put_text

ALL = "all"
LOSS = "loss"


@dataclass(frozen=True)
class Wanted:
    """Which questions are asked, and which of them decide the exit code."""

    ask: str
    require: str
    advice: bool
    fix: Path | None
    baseline: Path | None
    pages: Path | None
    trace_out: Path | None
    show_settings: bool = False
    prove_it: bool = False
    upgrade_to: str | None = None

    def check(self, form: str) -> None:
        """Refuses forms and options that do not go with what is wanted."""
        if self.prove_it and (form not in ("text", "json") or self.show_settings):
            raise click.UsageError("--prove-it is text or JSON, and goes without --show-settings")
        if self.prove_it and (self.fix is not None or self.pages is not None or self.trace_out is not None):
            raise click.UsageError("--prove-it plays the story of a yes; ask for --fix, --pages and --trace-out without it")

    @cached_property
    def target(self) -> Release | None:
        """The release of `audit upgrade --to`; `ConfigurationError` for one that is not known."""
        return None if self.upgrade_to is None else release(self.upgrade_to)

    @cached_property
    def questions(self) -> tuple[AuditQuestion, ...]:
        """What is asked."""
        return _questions(self.ask, "--ask")

    @cached_property
    def decisive(self) -> tuple[tuple[AuditQuestion, tuple[Faults, ...]], ...]:
        """The faults that --require names for a question, `loss=one-machine`, instead of those of --faults."""
        found: dict[AuditQuestion, list[Faults]] = {}
        for part in self.require.split(","):
            name, separator, faults = part.partition("=")
            if separator:
                for asked in _questions(name, "--require"):
                    found.setdefault(asked, []).append(read_faults(faults.replace("+", ",")))
        return tuple((asked, tuple(dict.fromkeys(faults))) for asked, faults in found.items())

    @cached_property
    def required(self) -> tuple[AuditQuestion, ...]:
        """The questions whose answer must be no; `ConfigurationError` if one of them is not asked."""
        required = _questions(",".join(part.partition("=")[0] for part in self.require.split(",")), "--require")
        if self.require == ALL or (self.require == LOSS and self.ask != ALL):
            required = self.questions  # What is asked and not required would be asked for nothing.
        if missing := [item.value for item in required if item not in self.questions]:
            raise ConfigurationError(f"--require {missing[0]} is not among the questions of --ask; ask it too")
        return required


_ASKS = {
    "ask": option("--ask", metavar="Q,…", default=ALL, help="Ask only these questions; default: all."),
    "require": option("--require", metavar="Q[=F],…", default=LOSS, show_default=True,
                   help="Exit with 0 only if the answer to these is no: loss, duplicates, reordering, vanishing, writes, "
                   "or all; of a question under one fault only: loss=one-machine, loss=one-lossy+zombies."),
    "advice": option("--advice/--no-advice", default=True, help="Find the settings that cause a yes, and the smallest fix."),
    "baseline": option("--baseline", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                    help="An earlier audit (--format json): only what got worse since is red, and text has only what "
                    "changed."),
    "pages": option("--pages", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
                 help="Write the audit as index.html into DIR, and beside it a page for every counterexample, which of the "
                 "shortest is the easiest to follow."),
    "trace_out": option("--trace-out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                     help="Write the trace of the first required yes, for acked view, explore or reproduce."),
    "fix": option("--fix", metavar="OUT", type=click.Path(path_type=Path, file_okay=False),
               help="Write copies of FILE..., with the recommended change made, into the folder OUT; "
               "of several topics, for one --topic."),
}  # fmt: skip
_wants = collects(
    "wanted",
    Wanted,
    **_ASKS,
    show_settings=option("--show-settings", is_flag=True,
                         help="Say what is read, with files and lines, and ask nothing (text or JSON)."),
    prove_it=option("--prove-it", is_flag=True, help="Play the story of a yes on a throw-away cluster of your release, with "
                    "your settings (text or JSON)."),
)  # fmt: skip
_wants_upgrade = collects(
    "wanted",
    Wanted,
    **_ASKS,
    upgrade_to=option("--to", metavar="V", required=True, help="The release to which the brokers are upgraded."),
)
_shows = collects(
    "output",
    Output,
    form=FORMAT.with_(
        type=click.Choice(["text", "markdown", "html", "json", "sarif", "junit"]), help="The form of the answer."
    ),
    quiet=QUIET,
)


@click.command(
    cls=Branching,
    moved={"--plan": "acked audit plan PLAN FILE...", "--upgrade-to": "acked audit upgrade FILE... --to V"},
    short_help="Check what your own settings guarantee; plan, upgrade, matrix.",
)
@FILES.under("files")
@describes_cluster
@assumes
@_wants
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
    """Check what your Kafka's settings guarantee for acknowledged records: of a running cluster, or of FILE...

    FILEs are what you have: properties of brokers, producers and consumers; the output of `kafka-configs --describe`,
    `kafka-topics --describe` and `kafka-features describe`; Strimzi's Kafka, KafkaNodePool and KafkaTopic, ConfigMaps and
    workloads of Kubernetes; docker-compose and files of variables (KAFKA_…, KAFKA_CFG_…); Helm values; Terraform
    (kafka_topic, aws_msk_…); Spring's application.yml and .properties; librdkafka's names; JSON; folders of these; - for the
    standard input. What is not understood is refused, and never passed over. With --bootstrap-server a cluster is read, as
    kafka-configs.sh --describe reads it, and nothing in it is changed.

    The table comes first. Its rows: can an acknowledged record be lost, duplicated, reordered, or read and then vanish, and
    can the partition stop accepting writes with one broker down? Its columns: what goes wrong, such as processes or
    machines that die. Every cell is decided on a model of Kafka's replication, by trying every order of events (requests,
    answers that come late, crashes, elections) with a few records; one that takes too long is undecided, never a no. Below,
    every yes has the shortest sequence of events, the settings that cause it, and the smallest change that makes it a no,
    itself checked. Several topics are told in groups of equal settings. If nothing names the release, the required
    questions are asked about every release in use, and the worst answer counts.

    \b
    acked audit server.properties producer.properties --kafka-version 3.6
    acked audit --bootstrap-server kafka:9092 --command-config client.properties
    acked audit --set acks=1 --set replication.factor=3 --ask loss
    acked audit docker-compose.yml --show-settings
    acked audit server.properties --set acks=1 --kafka-version 3.9.1 --prove-it
    kubectl get kafka,kafkanodepool,kafkatopic -o yaml | acked audit - --topic orders

    Exit codes (--require says what is required): 0 if every required answer is no, 12 if one is yes, 152 if one is
    undecided or may not be read, 150 for a file that cannot be read or has no known setting, 151 for settings that Kafka
    refuses, that contradict each other, or that look misspelt, 153 for a cluster that does not answer. With --prove-it 12 if
    the yes was seen on real brokers, 14 if they did as the model says and it was not, 1 if they do something else than the
    model, 153 if they do not start.
    """
    return _audit(files, cluster, assumed, wanted, batch, output, out)


@click.command(short_help="Ask the same while brokers are upgraded, and afterwards.")
@FILES.under("files")
@describes_cluster
@assumes
@_wants_upgrade
@searches_many
@collects("output", Output, quiet=QUIET,
          form=FORMAT.with_(type=click.Choice(["text", "markdown", "json"]), help="The form of the answer."))  # fmt: skip
@OUT.under("out")
def upgrade(
    files: tuple[Path, ...],
    cluster: ClusterFacts,
    assumed: Assumed,
    wanted: Wanted,
    batch: BatchOptions,
    output: Output,
    out: Path | None,
) -> int:
    """Ask what `acked audit` asks while brokers are upgraded to another release, and afterwards.

    It says which answers change, by which rule, and whether one is worse in between. FILEs and exit codes are those of
    `acked audit`.

    \b
    acked audit upgrade server.properties --kafka-version 2.4 --to 2.5
    """
    return _audit(files, cluster, assumed, wanted, batch, output, out)


for _branch in (plan, upgrade, matrix):
    audit.add(_branch)


def _audit(
    files: tuple[Path, ...],
    cluster: ClusterFacts,
    assumed: Assumed,
    wanted: Wanted,
    batch: BatchOptions,
    output: Output,
    out: Path | None,
) -> int:
    if not files and not cluster.overrides and cluster.bootstrap is None:
        raise click.UsageError("nothing to audit: name a FILE..., - for the standard input, --set or --bootstrap-server")
    questions, required = wanted.questions, wanted.required
    wanted.check(output.form)
    for path, what in ((out, "audit"), (wanted.trace_out, "trace")):
        if path is not None:
            check_writable(path, what)
    assumptions = replace(assumed.assumptions(), decisive=wanted.decisive)
    before = None if wanted.baseline is None else read_before(wanted.baseline)
    found = cluster.recognised(files)
    if wanted.show_settings:
        return _show_settings(settle(found, cluster.topic, cluster.entities), output.form, out)
    groups = groups_of(found, cluster.topic, cluster.entities, cluster.internal)
    if cluster.bootstrap is not None and not any(entry.scope is Scope.PRODUCER for entry in found.known):
        groups = with_producers(groups)
    check_fixable(groups, wanted.fix)
    cache = batch.cache()
    with output.batch_progress("searches") as progress, KeptProcesses(batch.limits) as runner:
        asked = Asked(questions, required, assumptions, wanted.advice, cluster.version, cluster.control_plane, runner,
                      cache, progress, wanted.target)  # fmt: skip
        audited = audit_groups(groups, asked)
    document = _document(audited, required, left_out(found, groups), cache)
    verdict = worst_of_groups(audited, required).value
    if before is not None:
        document, verdict = since(document, before, wanted.baseline)
    if wanted.prove_it:
        audits = [item.audit for item in audited if item.audit is not None]
        with optional_packages():
            from acked.audit.commands.prove_it import prove_first

        if output.form == "text":
            _show(document, output.form, out, [])
        code, proof = prove_first(audits, required, _CODES[verdict], output)
        if output.form == "json":
            _show({**document, **proof}, output.form, out, [])
        return code
    _show(document, output.form, out, [str(file) for file in files])
    if wanted.pages is not None:
        write_pages(audited, document, wanted.pages)
    if wanted.trace_out is not None:
        write_trace(audited, required, wanted.trace_out)
    write_fixes(audited, wanted.fix)
    return _CODES[verdict]


_CODES = {"no": ExitCode.HOLDS, "yes": ExitCode.INVARIANT, "undecided": ExitCode.TOO_LARGE}


def _document(
    audited: list[Audited], required: tuple[AuditQuestion, ...], left_out: list[str], cache: ResultCache | None
) -> dict[str, Any]:
    """The audit of one group as it is, of several with their table."""
    one = audited[0]
    if len(audited) == 1 and one.audit is not None and one.contexts is not None:
        document = audit_document(one.audit, required, one.contexts, cache, one.group.topics) | upgrade_part(one.upgrade)
        return verdict_with(with_hinges(document, one.hinges), one.upgrade, required)
    return topics_document(audited, required, left_out, cache)


def _show_settings(given: Given, form: str, out: Path | None) -> int:
    """Tells what was read, and that nothing was decided is no failure."""
    if form not in ("text", "json"):
        raise click.UsageError(f"--show-settings is text or JSON, and --format says {form}; leave one out")
    document = settings_document(given)
    if form == "json":
        put_text(json_text(document), out, "settings")
    else:
        put_drawn(lambda console: print_settings(console, document), out, "settings")
    return ExitCode.HOLDS


def _questions(text: str, option: str) -> tuple[AuditQuestion, ...]:
    names = [item.value for item in AuditQuestion]
    wanted = [part.strip() for part in text.split(",")]
    for name in wanted:
        if name not in (*names, ALL):
            raise ConfigurationError(
                f"{option}: there is no question {name!r}{near(name, names)}; choose from {', '.join(names)}, {ALL}"
            )
    return tuple(item for item in AuditQuestion if item.value in wanted or ALL in wanted)


def _show(document: dict[str, Any], form: str, out: Path | None, files: list[str]) -> None:
    if form == "text" and "baseline" in document:
        lines = [one["in_words"] for one in document["baseline"]["differences"]]
        put_text("".join(f"{harmless(line)}\n" for line in lines), out, "audit")
        return
    if form == "text":
        shown = print_topics if "groups" in document else print_audit
        put_drawn(lambda console: shown(console, document), out, "audit")
        return
    put_text(_rendered(document, form, files), out, "audit")


def _rendered(document: dict[str, Any], form: str, files: list[str]) -> str:
    is_one = "groups" not in document
    if form == "markdown":
        return audit_markdown(document) if is_one else topics_markdown(document)
    if form == "html":
        return audit_page(document) if is_one else topics_page(document)
    if form == "sarif":
        from acked.audit.reports.sarif import audit_sarif

        return json_text(audit_sarif(document, files, __version__))
    if form == "junit":
        from acked.audit.reports.junit import audit_junit

        return audit_junit(document)
    return json_text(document)
